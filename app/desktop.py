"""The app's composition root: worker, window, tray and what happens between them."""

import functools
import logging
import logging.handlers
import time

from PySide6.QtCore import QByteArray, QObject, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence, QSessionManager, QShortcut
from PySide6.QtWidgets import QApplication

from app.actions import Actions
from app.app_log import AppLog
from app.first_run.first_run import FirstRun
from app.language import mark, speak, told, tr
from app.notifications import Notifier
from app.pages.contribution.contribution_page import ContributionPage
from app.pages.experts.experts_page import ExpertsPage
from app.pages.help_page import HelpPage
from app.pages.home.home_page import HomePage
from app.pages.log_page import LogPage, PageHandler
from app.pages.model.history_sheet import HistorySheet
from app.pages.model.model_page import ModelPage
from app.pages.network.network_page import NetworkPage
from app.pages.runs.invite_sheet import InviteSheet
from app.pages.runs.join_sheet import JoinSheet
from app.pages.runs.runs_page import RunsPage
from app.pages.settings.settings_page import SettingsPage
from app.pages.trust_page import TrustPage
from app.screensaver.idle_start import IdleStart
from app.system.reduced_motion import motion
from app.system.signal_watch import SignalWatch
from app.system.single_instance import Instance
from app.theme import mode_of, theme
from app.tray.tray import Tray
from app.window.main_window import MainWindow
from app.window.pause_button import Pausable
from app.window.view_settings import view_settings
from app.window.whereabouts import Whereabouts
from app.worker.course import Course
from app.worker.shown import Shown
from app.worker.supervision import Phase, Report
from app.worker.supervisor import Supervisor
from core import consent
from core.contracts.control import Bye, Snapshot
from core.contracts.errors import HearthError
from core.contracts.notices import notice
from core.contracts.status import CurvePoint, Status
from core.update import trial

logger = logging.getLogger(__name__)

LOG_LINES = 1000
NO_WORKER = mark("The worker has stopped and has not come back by itself so far. Open Hearth to see why.")
ASKING = mark("Nothing runs until you have agreed to it.")
NOT_FROM_HERE = mark("Quit Hearth on the other PC and start it again there. It cannot be started from here.")


class Desktop(QObject):
    """Everything of the app that lives as long as the process.

    Args:
        supervisor: of this folder's worker, which it looks for already if the user has agreed to that.
        instance: this folder's single app.
        started: `time.monotonic()` at which the process began to run.
        in_tray: do not open the window; where there is no tray, it is minimised if the desktop can do so.
    """

    def __init__(self, supervisor: Supervisor, instance: Instance, started: float, in_tray: bool = False) -> None:
        super().__init__()
        self.supervisor, self.client, self.folder = supervisor, supervisor.client, supervisor.folder
        self.restarts = False
        """Another app shall start in the place of this one."""
        self._keeps_view = True
        """What the window remembers is written at its end; not where its folder has gone."""
        try:
            self._open(instance, in_tray)
        except BaseException:
            supervisor.close()  # or it would start another
            if self.supervisor.process is not None:
                self.supervisor.process.terminate()  # nobody would see it, or could quit it
            raise
        QTimer.singleShot(0, self, lambda: logger.info("app ready after %.2f s", time.monotonic() - started))
        QTimer.singleShot(0, self, lambda: trial.came_up("app"))

    def _open(self, instance: Instance, in_tray: bool) -> None:
        self.view = view_settings(self.folder)
        theme().set_mode(mode_of(self.view.value("theme")))
        speak(str(self.view.value("language", "system")))
        self.actions = Actions()
        self._course = Course()
        self._last: Status | None = None
        self._as_shown = Shown()
        self.first_run: FirstRun | None = None
        self._asked_run = ""
        """That was asked for during the first run."""
        self._build_window()
        self.tray = Tray(self.actions, self)
        self.notifier = Notifier(self.client, self.view, self.tray.tell, self._is_seen)
        self._whereabouts = Whereabouts(self.window, self.tray, self.view, self.notifier.answer)
        self._wire(instance)
        if self.supervisor.elsewhere:
            self._name_the_other_pc()
        elif consent.read(self.folder) is None:
            self._begin_first_run()
        self._signals = SignalWatch(self.actions.quit.emit)
        self._show_report(self.supervisor.report)
        self._whereabouts.begin(hidden=in_tray and not self.first_run)
        self._start_log()

    def close(self) -> None:
        """After the event loop: take the icon away and remember the window's place. The worker is left as it is."""
        if self.screensaver is not None:  # nobody is away from here because nobody touches another PC
            self.screensaver.close()
        self.notifier.close()
        self.settings_page.data.end()
        self.supervisor.close()
        self.tray.hide()
        if self._keeps_view:
            self.view.setValue("geometry", self.window.saveGeometry())
            self.view.sync()
        self._signals.close()
        self._log.close()

    # building

    def _build_window(self) -> None:
        self.settings_page = SettingsPage(self.client, self.actions)
        self.log_page = LogPage(self.folder)
        self.runs_page, self.model_page = RunsPage(self.client, self.actions), ModelPage(self.client)
        pages = [
            HomePage(self.actions, self.client),
            self.model_page,
            ContributionPage(self.client),
            self.runs_page,
            NetworkPage(self.client, self.actions),
            ExpertsPage(self.client),
            self.settings_page,
            self.log_page,
            HelpPage(),
            TrustPage(self.client),
        ]
        self.window = MainWindow(pages, self.actions)
        geometry = self.view.value("geometry")
        if isinstance(geometry, QByteArray):  # a spoilt file may hold anything
            self.window.restoreGeometry(geometry)

    @functools.cached_property
    def join_sheet(self) -> JoinSheet:
        """Made when somebody joins a run, as is the next one: most days nobody does."""
        sheet = JoinSheet(self.window, self.window.ring, self.client)
        sheet.said.connect(lambda words: self.window.tell(words))
        sheet.setting_asked.connect(self.actions.show_setting)
        if self._last is not None:
            sheet.update_status(self._last)
        return sheet

    @functools.cached_property
    def history_sheet(self) -> HistorySheet:
        return HistorySheet(self.window, self.window.ring, self.model_page)

    @functools.cached_property
    def invite_sheet(self) -> InviteSheet:
        return InviteSheet(self.window, self.window.ring, self.client)

    def _begin_first_run(self) -> None:
        """Until the user has agreed, no worker is looked for or started."""
        first = self.first_run = FirstRun(self.folder, self.client)
        first.declined.connect(self.actions.quit)
        first.start_worker.connect(self.supervisor.start)
        first.restart_worker.connect(self.supervisor.restart)
        first.speed.retry_asked.connect(self.supervisor.retry)
        first.finished.connect(self._end_first_run)
        self.window.cover(first)

    def _name_the_other_pc(self) -> None:
        """The folder is called as its user calls that PC. What belongs to a folder of one's own does nothing in it."""
        page, self.tray.name = self.settings_page, self.folder.name
        self.window.setWindowTitle(f"Hearth: {self.folder.name}")
        for row in (page.login, page.links, page.words, page.consent.withdraw):
            row.setEnabled(False)

    def _end_first_run(self) -> None:
        assert self.first_run is not None
        self._asked_run = self.first_run.lend.linked() or self._asked_run
        self.first_run = None
        self.window.uncover()
        self._settings_applied(self.settings_page.values)
        if self._asked_run:
            self.add_run(self._asked_run)

    def _wire(self, instance: Instance) -> None:
        client, actions, app = self.client, self.actions, QGuiApplication.instance()
        client.log.connect(self.log_page.add)
        client.settings.connect(self.settings_page.set_values)
        actions.change_settings.connect(self.settings_page.apply)
        self.settings_page.applied.connect(self._settings_applied)
        self.settings_page.restart_asked.connect(self._restart_worker)
        data = self.settings_page.data
        self.settings_page.updates.found.connect(self.notifier.tell_update)
        data.stopped.connect(self._let_data_go)
        data.failed.connect(self._go_on)
        data.replaced.connect(self._restart_window)
        data.deleted.connect(self._leave_nothing)
        self.settings_page.window_restart_asked.connect(self._restart_window)
        client.keep_pace(seen=False)
        self.window.sight.changed.connect(client.keep_pace)
        self.window.close_requested.connect(self._close_window)
        QShortcut(QKeySequence("Ctrl+Q"), self.window).activated.connect(actions.quit)
        actions.add_run.connect(self.add_run)
        self.model_page.former_asked.connect(lambda: self.history_sheet.open_list())
        actions.invite.connect(lambda run: self.invite_sheet.open_for(run))
        self.runs_page.done.connect(lambda words: self.window.tell(words))
        client.connected.connect(self._connected)
        client.shown.connect(self._shown)
        client.status.connect(self._status)
        client.curve.connect(self._point)
        client.bye.connect(self._bye)
        self.supervisor.changed.connect(self._show_report)
        self.supervisor.ended.connect(self._exit)
        actions.pause.connect(lambda seconds: client.pause(seconds, self._refused))
        actions.pause_gpu.connect(lambda: client.pause_gpu(self._refused))
        actions.resume.connect(lambda: client.resume(self._refused))
        actions.start_now.connect(lambda: client.start_now(self._refused))
        actions.lift.connect(lambda rule: client.lift(rule, self._refused))
        actions.end_lift.connect(lambda rule: client.end_lift(rule, self._refused))
        actions.show_run.connect(client.show_run)
        actions.retry.connect(self.supervisor.retry)
        actions.quit.connect(self._quit)
        self.screensaver = None if self.supervisor.elsewhere else IdleStart(self.folder, client, self)
        self.tray.open_asked.connect(self.raise_window)
        self.notifier.lent.connect(self.tray.show_today)
        self.notifier.reached.connect(self._as_shown.note)
        instance.raise_asked.connect(self.raise_window)
        instance.page_asked.connect(actions.open_page)
        instance.link_asked.connect(self.add_run)
        QTimer.singleShot(0, instance, instance.listen)
        assert isinstance(app, QApplication)
        app.commitDataRequest.connect(self._session_ends)

    def _start_log(self) -> None:
        """The app's own lines go to its page and to a small file; the worker's log is the worker's."""
        self._log = AppLog(self.folder, PageHandler(lambda line: self.log_page.add(line)))

    # from the worker

    def _connected(self, snapshot: Snapshot) -> None:
        logger.info("connected to the worker, pid %s", self.client.pid)
        self.settings_page.set_values(snapshot.settings)
        self.window.set_connected(True, "")
        self._shown(snapshot)
        self.client.log_lines(LOG_LINES, self.log_page.fill)

    def _shown(self, snapshot: Snapshot) -> None:
        self._course.curve = list(snapshot.curve)
        self.window.update_curve(self._course.curve)
        self._status(snapshot.status)

    def _status(self, status: Status) -> None:
        self._last = status
        self._follow(status)
        self.notifier.happened(status.events)
        status = self._as_shown.of(status, self.supervisor.report.phase)
        self.window.update_status(status)
        self.tray.show_state(status.state, told(status.reason), Pausable.of(status))
        reasons = [told(status.reason)] if status.state == "attention" else []
        self.notifier.trouble([*reasons, *map(told, status.attention)])

    def add_run(self, source: str) -> None:
        """Show a run and ask whether to join it; after the first run of Hearth, if that is not through yet.

        Args:
            source: see `Actions.add_run`.
        """
        if self.first_run is not None:
            self._asked_run = source
            return
        if not self.join_sheet.isVisible():
            self.actions.open_page.emit("runs")
        self.join_sheet.open_for(source)

    def _follow(self, status: Status) -> None:
        if self._course.cut(status.step):
            self.window.update_curve(self._course.curve)
        if lost := self._course.lost(self.client.pid, status):
            logger.info("restarted; %d steps since the last checkpoint are done again", lost)
            said = tr("Restarted. %Ln step(s) since the last checkpoint is (are) done again.", lost)
            self.window.tell(said)
            self._as_shown.note(said)

    def _point(self, point: CurvePoint) -> None:
        self._course.add(point)
        self.window.update_curve(self._course.curve)

    def _bye(self, bye: Bye) -> None:
        logger.info("the worker says goodbye: %s", bye.reason)

    def _show_report(self, report: Report) -> None:
        if self.first_run:
            self.first_run.speed.show_report(report)
            if self.supervisor.report.phase is Phase.LOOKING:
                self.tray.show_state("waiting", tr(ASKING))
                return
        if self.client.is_connected:
            if report.phase is Phase.LEAVING and self._last is not None:
                self._status(self._last)
            return
        sentence = told(report.notice) if report.notice else ""
        if report.trouble or self._last is not None:
            self.window.set_connected(False, sentence, calm=not report.trouble)
        self.tray.show_state(report.state, sentence)
        if report.trouble:
            # while it counts down to the next try, the sentence is another one each second
            self.notifier.trouble([sentence if report.phase is Phase.FAILED else tr(NO_WORKER)])

    def _refused(self, error: HearthError) -> None:
        self.window.tell(told(error.notice))

    def _settings_applied(self, values: dict[str, object]) -> None:
        mode = mode_of(values.get("theme"))
        theme().set_mode(mode)
        self.view.setValue("theme", mode)
        motion().unwanted = bool(values.get("reduced_motion"))
        self.notifier.choose(values)
        self.settings_page.updates.may_look = bool(values.get("check_updates", True))
        self.view.setValue("language", str(values.get("language")))

    # the window, the tray and the end

    def _is_seen(self) -> bool:
        return self.window.isActiveWindow()

    def raise_window(self) -> None:
        """Show the window in front of the others."""
        self._whereabouts.bring()

    def _close_window(self) -> None:
        if self.first_run and not self.first_run.has_agreed:
            self._quit()
        else:
            self._whereabouts.close()

    def _quit(self) -> None:
        """Leave; asked for a second time, at once."""
        if self.supervisor.report.phase is Phase.LEAVING:
            self._exit()
        else:
            self.supervisor.leave()

    def _session_ends(self, manager: QSessionManager) -> None:
        """The desktop ends us; the worker saves by itself once it was asked to quit."""
        manager.setRestartHint(QSessionManager.RestartHint.RestartNever)
        self.supervisor.leave()
        self.window.may_close = True

    def _restart_worker(self) -> None:
        if self.supervisor.elsewhere:
            self.window.tell(tr(NOT_FROM_HERE))
        else:
            self.supervisor.restart()

    def _restart_window(self) -> None:
        """Who runs the event loop starts another app after it."""
        self.restarts = True
        self._exit()

    def _let_data_go(self) -> None:
        """Show no figures as if they were of now while the data are moved or restored, which can take long. Who quits
        meanwhile loses nothing."""
        self._keeps_view = False
        self.supervisor.close()
        sentence = told(notice("worker.restarting"))
        self.window.set_connected(False, sentence, calm=True)
        self.tray.show_state("preparing", sentence)

    def _go_on(self) -> None:
        """Look for the worker again, or start one, after nothing was moved."""
        self._keeps_view = True
        if not self.client.is_connected:
            self.supervisor.start()

    def _leave_nothing(self) -> None:
        self._keeps_view = False
        self._quit()

    def _exit(self) -> None:
        self.window.may_close = True
        QGuiApplication.quit()
