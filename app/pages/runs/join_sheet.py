"""The sheet by which a run is added: which one, what it is, and whether it is to be joined."""

import time
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from app import theme as look
from app.formats import percent
from app.language import mark, told, tr, tr_run
from app.pages.runs import description
from app.pages.runs.offers import Offers
from app.pages.runs.run_picture import RunPicture
from app.pages.settings.setting_controls import NumberControl
from app.widgets.basics import Facts, Label, Notice
from app.widgets.boxes import STRETCH, discard, hbox, items_of, vbox
from app.widgets.buttons import Button
from app.widgets.inputs import Field
from app.window.focus_ring import FocusRing, order_focus
from app.window.sheet import Sheet
from app.worker.client import RUN_DEADLINE_S, WorkerClient
from core.contracts import manifest as manifests
from core.contracts.errors import HearthError, RunError
from core.contracts.network_status import FoundRun, NetworkParams, NetworkStatus
from core.contracts.notices import Notice as Told
from core.contracts.run_details import RunDetails
from core.contracts.run_link import HEAD, is_link, parse_link
from core.contracts.status import RunStatus, Status

WIDTH = 600
MOST_WEIGHT = 1000
CLOCK_MS = 1000
WHICH = mark(
    "Paste the link that somebody gave you, or open the file of a manifest. You see what the run is before you join it."
)
UNSIGNED = mark(
    "Nobody has signed this run: nobody can say who made it, or whether it was changed on the way. Join it only "
    "if you trust whoever gave it to you."
)
NAMESAKE = mark(
    "Careful: this is not the run “{title}” that this PC has joined ({run}). It only has the same title, and the "
    "organiser of that one has not signed it."
)
NONE_NEARBY = mark("None has been found. Runs show up here as soon as another PC of this network trains them.")
NOT_SOUGHT = mark("“Find peers on this network” is off in Settings, so nobody looks for runs here.")
NO_NETWORK = mark("“Work with other peers” is off in Settings, so nobody looks for runs here.")
JOINED = mark(
    "This PC has joined this run already. Joining it again takes over what its organiser has changed, if this is newer."
)


def reason_against(source: str) -> Told | None:
    """Why something that was pasted, dropped or opened leads to no run; None: the worker may look at it."""
    if manifests.is_path(source) or source in manifests.built_in_runs():
        return None
    try:
        parse_link(source)
    except RunError as error:
        return error.notice
    return None


class JoinSheet(Sheet):
    """Asks which run, has the worker look at it, and asks whether to join it.

    Args:
        window: see `Sheet`.
        ring: see `Sheet`.
        client: the worker.
    """

    said = Signal(str)
    """A sentence about the run that was joined, or why it was not, if nobody looks here any more."""
    setting_asked = Signal(str)
    """The name of a setting that the user wants to see."""

    def __init__(self, window: QWidget, ring: FocusRing, client: WorkerClient) -> None:
        super().__init__(window, ring, WIDTH)
        self._client = client
        self._source = ""
        """The run that is looked at, as the worker's `run_details` takes it."""
        self._number: int | None = None
        """Of the request for that."""
        self._since = 0.0
        self._hindering = ""
        """The setting that keeps runs in the local network from being found."""
        self._status: Status | None = None
        self.setAccessibleName(tr("Add a run"))
        self.heading = Label(tr("Add a run"), "title", wrap=True)
        self.heading.setAccessibleName(tr("Add a run"))
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button = Button(tr("Close"), clicked=self.close_sheet)
        self.notice = Notice()
        self.which, self.waiting, self.consent = self._which(), self._waiting(), self._consent()
        parts = self.notice, self.which, self.waiting, self.consent
        self.fill(self.heading, self.close_button, *parts, foot=(self.answers,))
        self._clock = QTimer(self, interval=CLOCK_MS)
        self._clock.timeout.connect(self._tick)
        client.connected.connect(lambda _: self._go_on())
        client.status.connect(self.update_status)
        client.shown.connect(lambda snapshot: self.update_status(snapshot.status))
        client.connected.connect(lambda snapshot: self.update_status(snapshot.status))

    # building

    def _which(self) -> QWidget:
        self.line = Field()
        self.line.setAccessibleName(tr("Link to a run"))
        self.line.setPlaceholderText(f"{HEAD}…")
        self.line.setClearButtonEnabled(True)
        self.line.returnPressed.connect(self._look_at_line)
        self.look_button = Button(tr("Look at this run"), "primary", clicked=self._look_at_line)
        self.paste = Button(tr("Paste"), icon="copy", name=tr("Paste a link"), clicked=self._paste)
        self.file = Button(tr("Open a file…"), icon="folder", clicked=self._ask_for_file)
        self.nearby, self.offers = Offers(tr("Runs in your local network")), Offers(tr("Runs that come with Hearth"))
        self.nearby.setting.clicked.connect(lambda: self.setting_asked.emit(self._hindering))
        part = QWidget()
        vbox(
            Label(tr(WHICH), "body", "text2", wrap=True),
            self.line,
            hbox(self.look_button, self.paste, self.file, STRETCH, spacing=look.S),
            look.M,
            self.nearby,
            self.offers,
            spacing=look.M,
            within=part,
        )
        return part

    def _waiting(self) -> QWidget:
        self.waits_for = Label("", "body", wrap=True)
        self.elapsed = Label("", "body", "text2", tabular=True)
        self.cancel = Button(tr("Cancel"), clicked=self._cancel)
        part = QWidget()
        vbox(self.waits_for, self.elapsed, hbox(self.cancel, STRETCH), spacing=look.M, within=part)
        return part

    def _consent(self) -> QWidget:
        self.warning, self.about = Notice("warn", "alert"), Label("", "body", wrap=True)
        self._facts, self.picture = vbox(spacing=look.M), RunPicture()
        self.weight = NumberControl(tr("Weight"), "", 1, 1, MOST_WEIGHT)
        self.share = Label("", "body", "text2", wrap=True)
        self.weight.spin.valueChanged.connect(self._say_share)
        part = QWidget()
        weight = hbox(Label(tr("Weight"), "body"), self.weight, (self.share, 1), spacing=look.M)
        told_of = hbox((self.picture, Qt.AlignmentFlag.AlignTop), (self.about, 1), spacing=look.M)
        vbox(self.warning, told_of, self._facts, weight, spacing=look.M, within=part)
        self.join = Button(tr("Join this run"), "primary", clicked=self._join)
        self.decline = Button(tr("Not now"), clicked=self.close_sheet)
        self.answers = QWidget()
        hbox(self.decline, self.join, STRETCH, spacing=look.S, margins=(4, 0, look.XL, look.S), within=self.answers)
        return part

    # which run

    def open_for(self, source: str = "") -> None:
        """Ask which run to add, or look at this one; not in the place of one that the user is deciding on: whoever
        sends links could time one for the click."""
        if self.consent.isVisible():
            self.notice.set_text(tr("Another link has arrived. Open it again when you have decided on this run."))
            return
        self.open(self.heading)
        if source:
            self.look_at(source)
        else:
            self._ask()

    def _ask(self, words: str = "") -> None:
        """Let the user choose; `words` say what was wrong with the last choice."""
        self._source, self._number = "", None
        self.heading.setText(tr("Add a run"))
        self.heading.setAccessibleName(tr("Add a run"))
        self.notice.set_text(words)
        self._show_offers()
        self._show_part(self.which)
        self.line.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_offers(self) -> None:
        joined = {run.id for run in self._status.runs} if self._status else set()
        names = [name for run_id, name in description.built_in().items() if run_id not in joined]
        self.offers.show_offers([(tr_run(manifests.load(name).title), "", name) for name in names], self.look_at)
        self.nearby.show_offers([], self.look_at)
        self._client.found_runs(self._show_nearby, lambda error: None)  # without an answer, none is offered
        self._client.request("network", NetworkParams(peers=0), NetworkStatus, self._say_nearby, self._say_alone)
        order_focus(self.panel)

    def _show_nearby(self, found: list[FoundRun]) -> None:
        """What the local network says; the worker believes none of it before the manifest has come."""
        offers = []
        for run in found:
            signed = run.organiser[: description.SHOWN]
            about = tr("%Ln PC(s) here say(s) to train it; signed by {key}", run.peers, key=signed)
            offers.append((run.run_id, about, run.link))
        self.nearby.show_offers(offers, self.look_at)
        order_focus(self.panel)

    def _say_nearby(self, network: NetworkStatus) -> None:
        self._hindering = "lan"
        self.nearby.say_none(tr(NONE_NEARBY if network.lan else NOT_SOUGHT), not network.lan)
        order_focus(self.panel)

    def _say_alone(self, error: HearthError) -> None:
        if error.code == "network":
            self._hindering = "peers"
            self.nearby.say_none(tr(NO_NETWORK), True)
            order_focus(self.panel)

    def _look_at_line(self) -> None:
        self.look_at(self.line.text())

    def _paste(self) -> None:
        self.line.setText(QGuiApplication.clipboard().text().strip()[:4096])
        self._look_at_line()

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self, tr("The organiser's manifest"), "", tr("Manifests (*.toml *.json)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.look_at)
        dialog.open()

    # what it is

    def look_at(self, source: str) -> None:
        """Have the worker fetch and check a run's manifest; nothing is joined by that."""
        source = source.strip()
        self._forget()
        if against := reason_against(source):
            self.line.setText(source[:4096])
            self._ask(told(against))
            return
        self._source, self._since = source, time.monotonic()
        self.notice.set_text("")
        self.heading.setText(tr("Add a run"))
        self.heading.setAccessibleName(tr("Add a run"))
        self._show_part(self.waiting)
        self.cancel.show()
        self.cancel.setFocus(Qt.FocusReason.OtherFocusReason)
        self._clock.start()
        self._go_on()

    def _go_on(self) -> None:
        """Ask the worker, as soon as it is there."""
        if not self._source or self._number is not None or self.waiting.isHidden():
            return
        if not self._client.is_connected:
            self.waits_for.setText(tr("Waiting for the worker to look at the run."))
        else:
            asking = tr("Asking the peers in the link what this run is. That does not join it.")
            reading = tr("Reading what this run is. That does not join it.")
            self.waits_for.setText(asking if is_link(self._source) else reading)
            source = self._source
            self._number = self._client.run_details(source, partial(self._show, source), partial(self._fail, source))
        self._tick()

    def _tick(self) -> None:
        seconds = int(time.monotonic() - self._since)
        most = int(RUN_DEADLINE_S)
        self.elapsed.setText(tr("{seconds} s; gives up after {most} s.", seconds=seconds, most=most))

    def _cancel(self) -> None:
        self._forget()
        self._ask()

    def _forget(self) -> None:
        """Wait for no answer any more."""
        number, self._number, self._source = self._number, None, ""
        self._clock.stop()
        if number is not None:
            self._client.stop(number)

    def _fail(self, source: str, error: HearthError) -> None:
        if source != self._source:  # another run is looked at by now, or none
            self.said.emit(told(error.notice))
            return
        self._forget()
        if is_link(source):
            self.line.setText(source)
            self.line.setCursorPosition(0)
        self._ask(told(error.notice))

    def _show(self, source: str, run: RunDetails) -> None:
        """Say what a run is, and ask."""
        if source != self._source:
            return
        self._number = None
        self._clock.stop()
        title = description.title_of(run)
        self.heading.setText(title)
        self.heading.setAccessibleName(tr("Join “{run}”?", run=title))
        self.warning.set_text(self._warnings(run, title))
        self.about.setText(run.manifest.description)
        self.about.setVisible(bool(run.manifest.description))
        self.picture.show_run(run)
        discard(card for item in items_of(self._facts) if (card := item.widget()) is not None)
        self._facts.addWidget(Facts(tr("Before you join"), "text2", self._told_of(run)))
        self._say_share()
        self._show_part(self.consent)
        order_focus(self.panel)
        self.heading.setFocus(Qt.FocusReason.OtherFocusReason)

    def _warnings(self, run: RunDetails, title: str) -> str:
        said = []
        if run.joined:
            said.append(tr(JOINED))
        if run.namesake:
            said.append(tr(NAMESAKE, title=title, run=run.namesake))
        if run.manifest.organiser is None and run.id not in description.built_in():
            said.append(tr(UNSIGNED))
        return " ".join(said)

    def _told_of(self, run: RunDetails) -> list[tuple[str, str, str]]:
        return [
            ("key", tr("Who signs it"), description.signs(run)),
            ("model", tr("What it learns"), description.learns(run)),
            ("disk", tr("On which data"), description.data(run)),
            ("lock", tr("Who may take part"), description.access(run)),
            ("memory", tr("What it needs"), description.needs(run)),
            ("up", tr("What leaves this PC"), description.leaves(run)),
            ("shield", tr("What it cannot do"), tr("Run code here: a manifest is numbers and names that are checked.")),
        ]

    # joining

    def _join(self) -> None:
        source = self._source
        self._since = time.monotonic()
        self.waits_for.setText(tr("Joining. The run begins beside the others."))
        self._show_part(self.waiting)
        self.cancel.hide()  # the worker is at it
        self._clock.start()
        self._tick()
        self.heading.setFocus(Qt.FocusReason.OtherFocusReason)
        self._client.join_run(
            source, self.weight.spin.value(), partial(self._joined, source), partial(self._fail, source)
        )

    def _joined(self, source: str, run: RunStatus) -> None:
        self.said.emit(tr("Joined “{run}” with weight {weight}.", run=tr_run(run.title), weight=run.weight))
        if self._source == source:
            self._forget()
            self.line.clear()
            self.close_sheet()

    def update_status(self, status: Status) -> None:
        self._status = status

    def _say_share(self) -> None:
        others = sum(run.weight for run in self._status.runs) if self._status else 0
        weight = self.weight.spin.value()
        share = percent(weight / (others + weight), 0)
        self.share.setText(tr("{share} of the time that this PC computes", share=share))

    def _show_part(self, part: QWidget) -> None:
        for one in (self.which, self.waiting, self.consent):
            one.setVisible(one is part)
        self.answers.setVisible(part is self.consent)

    def close_sheet(self, *, leads_on: bool = False) -> None:
        """Who closes it joins nothing, unless the worker is at it."""
        self._forget()
        super().close_sheet(leads_on=leads_on)
