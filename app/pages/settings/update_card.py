"""Updates: which version runs, whether there is a newer one, and the click that installs it."""

import json
import os
import subprocess
from pathlib import Path

from PySide6.QtCore import QTimer, Signal

from app.background import in_background
from app.formats import number
from app.language import mark, told, tr
from app.pages.settings.setting_row import Section, action_row
from app.pages.settings.synonyms import synonyms
from app.widgets.basics import Bar, Label, Notice
from app.widgets.boxes import add
from app.widgets.buttons import Button
from app.worker.supervisor import DETACHED, hearth
from core.contracts.build import this_build
from core.contracts.notices import FAULTS_AS_NOTICES, fault_of
from core.contracts.words import size
from core.update.installation import hindrance

FIRST_LOOK_MS, LOOK_MS = 60_000, 86_400_000
"""After the start, and from then on."""
KEPT = mark(
    "Nothing is installed without your click. Hearth restarts then; if the new version does not start, the one that "
    "runs now comes back."
)


class UpdateCard(Section):
    """Looks once a day, if the settings allow it, and when asked.

    Args:
        folder: the data folder.
    """

    found = Signal(str)
    """A version that may be installed, told once."""
    _answered = Signal(dict)
    _progressed = Signal(dict)
    _ended = Signal(str)
    """What went wrong, or "" if all went well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(tr("Updates"), f"{tr(KEPT)} {synonyms('updates')}")
        self.start = folder
        self.may_look = True
        """As the settings say."""
        self._told = ""
        self._busy = False
        runs = tr("This is Hearth {version}.", version=this_build().version)
        self.says, self.notes = Label("", "body", "text2", wrap=True), Label("", "cap", "text2", wrap=True)
        self.look_now = Button(tr("Look now"), name=tr("Look for updates now"), clicked=self.look)
        self.install = Button(tr("Install"), "primary", name=tr("Install the update"), clicked=self._install)
        self.bar, self.notice = Bar(), Notice()
        self.top = action_row(runs, tr(KEPT), self.look_now)
        add(self.body, self.top, self.says, self.notes, self.install, self.bar, self.notice)
        for part in (self.install, self.bar, self.notes):
            part.hide()
        self._answered.connect(self._show_answer)
        self._progressed.connect(self._show_progress)
        self._ended.connect(self._show_end)
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look_if_allowed)
        if (why := hindrance()) is not None:
            self.says.setText(told(why))
            self.look_now.setEnabled(False)
        else:
            self._timer.start()
            QTimer.singleShot(FIRST_LOOK_MS, self, self._look_if_allowed)

    def _look_if_allowed(self) -> None:
        if self.may_look and not self._busy:
            self.look()

    def look(self) -> None:
        """Ask the feed."""
        self._begin(tr("Looking for a newer version…"))
        in_background("updates", self._asked, self._answered.emit)

    def _begin(self, says: str) -> None:
        self._busy = True
        self.look_now.setEnabled(False)
        self.install.setEnabled(False)
        self.notice.set_text("")
        self.says.setText(says)

    def _asked(self) -> dict[str, object]:
        """What there is, or under "fault" why nobody knows."""
        done = subprocess.run(
            hearth(self.start, "update", "--check", "--json"),
            capture_output=True,
            env={**os.environ, **FAULTS_AS_NOTICES},
            check=False,
        )
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        if done.returncode:
            return {"fault": lines[-1] if lines else ""}
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    def _show_answer(self, answer: dict[str, object]) -> None:
        self._busy = False
        self.look_now.setEnabled(True)
        self.says.setText("")
        if "fault" in answer:
            self.notice.set_text(told(fault_of(str(answer["fault"]))))
            return
        available, version = bool(answer["available"]), str(answer["version"])
        self.install.setVisible(available)
        self.install.setEnabled(available)
        self.notes.setText(str(answer["notes"]))
        self.notes.setVisible(available and bool(answer["notes"]))
        if not available:
            self.says.setText(tr("This is the newest version."))
            return
        amount = size(float(str(answer["size"])), number)
        self.says.setText(tr("Hearth {version} is there, {size} to fetch.", version=version, size=amount))
        if answer["failed"]:
            self.notice.set_text(tr("Hearth {version} was installed here and did not start.", version=version))
        elif version != self._told:
            self._told = version
            self.found.emit(version)

    def _install(self) -> None:
        """By a process that outlives this one: it ends the app and starts the new one."""
        self._begin(tr("Fetching the update. Hearth restarts then."))
        in_background("update", self._installed, self._ended.emit)

    def _installed(self) -> str:
        process = subprocess.Popen(
            hearth(self.start, "update", "--progress"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **FAULTS_AS_NOTICES},
            start_new_session=True,
            creationflags=DETACHED,
        )
        last = ""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                last = line.strip() or last
                if line.startswith("{"):
                    self._progressed.emit(json.loads(line))
        return last if process.wait() else ""

    def _show_progress(self, progress: dict[str, float]) -> None:
        self.bar.show()
        self.bar.set_value(progress["done"] / max(progress["total"], 1))

    def _show_end(self, fault: str) -> None:
        self._busy = False
        self.bar.hide()
        self.look_now.setEnabled(True)
        self.install.setEnabled(True)
        self.says.setText("")
        self.notice.set_text(told(fault_of(fault)) if fault else "")
