"""Trust: what leaves this PC and to whom, byte for byte as the ledger counts it, and which program it is that runs."""

import itertools
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent

from app import program_files
from app import theme as look
from app.background import in_background
from app.formats import NONE, data_size
from app.icons import Icon
from app.language import mark, tr
from app.pages.contribution.history import day_name, device_name
from app.program_files import Build, Library
from app.theme import theme
from app.widgets.basics import Card, Facts, Figure, Figures, Label, Pair
from app.widgets.boxes import STRETCH, add, grid_box, vbox
from app.widgets.table import Column, Table, TableModel
from app.window.page import LookingPage
from app.worker.client import WorkerClient
from core.contracts.ledger import Totals
from core.contracts.status import Status

EVERY_MS = 10_000
"""Between two looks at the ledger, while the page is seen."""
KIND = "network."
"""Before a kind of traffic, among the devices of the ledger."""
ASKING = mark("Appears as soon as the worker has sent its figures.")
NOTHING = mark("Nothing has left this PC yet.")
READING = mark("Reading the program's files.")
ON_THE_LAN = mark(
    "In your local network this PC also announces its id, its port, and its runs with their organisers' keys. "
    "“Find peers on this network” turns that off. Nothing is sent to the makers of Hearth."
)


class Kind(NamedTuple):
    """A kind of traffic."""

    icon: str
    what: str
    whom: str


KINDS = {
    "expert": Kind(
        "experts",
        mark("Tensors: what experts are given, what they answer, gradients"),
        mark("peers that train with you"),
    ),
    "file": Kind(
        "disk",
        mark("Weights and optimizer state of experts"),
        mark("peers that keep copies or take over"),
    ),
    "data": Kind("disk", mark("Pieces of the run's data"), mark("trainers of the run")),
    "pack": Kind("disk", mark("Files of a GPU pack, if you keep them for others"), mark("peers of your runs that ask")),
    "dht": Kind(
        "globe",
        mark("Which experts are here, their versions and load, your address and key, signed"),
        mark("peers that keep the directory"),
    ),
    "credit": Kind(
        "check",
        mark("Whose experts did how much for whom, signed; your name and team, if you have set them"),
        mark("any peer of the run that asks"),
    ),
    "telemetry": Kind(
        "globe",
        mark("Whether you are there, how training goes, your credit, signed; your name and team, if you have set them"),
        mark("the brokers and boards that the run names"),
    ),
    "trunk": Kind("chart", mark("What the trunk has learned, compressed"), mark("trainers of the run")),
    "access": Kind(
        "key", mark("Tokens or work that let a key in, and which tokens were revoked"), mark("peers of the run")
    ),
    "run": Kind("runs", mark("What the run is, signed by its organiser"), mark("peers of the run")),
    "line": Kind("up", mark("Bytes without content, to measure how fast your line sends"), mark("peers of the run")),
    "host": Kind("person", mark("Names and versions of experts"), mark("peers of the run")),
    "reach": Kind(
        "network", mark("Addresses, and knocks that open a way through routers"), mark("peers that help others to meet")
    ),
    "relay": Kind("lock", mark("Encrypted traffic of two others, which this PC cannot read"), mark("those two peers")),
    "other": Kind("info", mark("Packet headers, acknowledgements, what is under way"), mark("all of these")),
}
ALIKE = {"blob": "file", "net": "reach"}
"""Kinds in the ledger that are shown as another one; "blob" is what version 0.1.0 wrote."""
UNKNOWN = Kind("question", mark("From a newer version of the worker"), mark("peers of the run"))
FACTS = [
    (
        "shield",
        mark("Numbers and messages, no code"),
        mark(
            "Peers exchange numbers and short typed messages, whose sizes are checked before anything is read. "
            "What others send is never run, and nothing is ever unpickled. The one exception is a GPU pack: "
            "each of its files must have the hash that Hearth's makers have signed."
        ),
    ),
    (
        "lock",
        mark("Encrypted from peer to peer"),
        mark("Each connection proves both keys (QUIC, TLS 1.3). Whoever passes your traffic on cannot read it."),
    ),
    (
        "key",
        mark("No name, no account"),
        mark(
            "Others see this PC's public key and internet address. Your files, your keystrokes and your screen are not "
            "read. Hearth checks which programs run, to give way to them; that stays here."
        ),
    ),
]


class TrafficCard(Card):
    """Bytes by kind, each with what it is and who gets it."""

    def __init__(self) -> None:
        super().__init__(tr("What leaves this PC, and to whom"))
        names = tr("Sent today"), tr("Received today"), tr("Sent in total"), tr("Received in total")
        self._figures = [Figure(name) for name in names]
        self.words = Label(tr(ASKING), "body", "text2", wrap=True)
        self._grid = grid_box(look.L, look.S, stretch={1: 1})
        for column, title in enumerate(("", tr("What, and to whom"), tr("Sent"), tr("Received"))):
            self._grid.addWidget(self._text(title, "cap_strong", "text2", column > 1), 0, column)
        self.rows: dict[str, tuple[Label, Label]] = {}
        """What was sent and received, by kind."""
        for kind in KINDS:
            self._add(kind)
        add(
            self.body, Figures(*self._figures), self.words, self._grid, Label(tr(ON_THE_LAN), "cap", "text2", wrap=True)
        )

    @staticmethod
    def _text(text: str, role: str, tone: str, right: bool = False) -> Label:
        label = Label(
            text,
            role,
            tone,
            wrap=not right,
            tabular=right,
            align=Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft,
        )
        return label

    def _add(self, kind: str) -> None:
        shown, row = KINDS.get(kind, UNKNOWN), self._grid.rowCount()
        self._grid.addWidget(Icon(shown.icon, "text2", 18), row, 0, Qt.AlignmentFlag.AlignTop)
        texts = vbox(Label(device_name(KIND + kind, {}), "strong", wrap=True), spacing=0)
        about = tr("{what}. To: {whom}.", what=tr(shown.what), whom=tr(shown.whom))
        texts.addWidget(Label(about, "cap", "text2", wrap=True))
        self._grid.addLayout(texts, row, 1)
        self.rows[kind] = self._text(NONE, "strong", "text", True), self._text(NONE, "strong", "text", True)
        for column, label in enumerate(self.rows[kind]):
            self._grid.addWidget(label, row, 2 + column)

    def show_totals(self, totals: Totals) -> None:
        today, ever = totals.today.amounts, totals.all.amounts
        counts = today.bytes_out, today.bytes_in, ever.bytes_out, ever.bytes_in
        for figure, count in zip(self._figures, counts, strict=True):
            figure.set(data_size(count))
        kinds: dict[str, tuple[int, int]] = {}
        for device, amounts in totals.all.devices.items():
            if device.startswith(KIND):
                kind = device.removeprefix(KIND)
                kind = ALIKE.get(kind, kind)
                out, into = kinds.get(kind, (0, 0))
                kinds[kind] = out + amounts.bytes_out, into + amounts.bytes_in
        for kind in kinds.keys() - self.rows.keys():
            self._add(kind)
        for kind, (sent, received) in self.rows.items():
            name = device_name(KIND + kind, {})
            gone, come = (data_size(max(0, count)) for count in kinds.get(kind, (0, 0)))
            sent.setText(gone)
            sent.setAccessibleName(tr("{kind}, sent: {size}", kind=name, size=gone))
            received.setText(come)
            received.setAccessibleName(tr("{kind}, received: {size}", kind=name, size=come))
        day = "" if totals.since is None else day_name(totals.since)
        self.words.setText(tr("Counted since {day}, headers included.", day=day) if ever.bytes_out else tr(NOTHING))

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old."""
        for label in (*(figure.value for figure in self._figures), *itertools.chain(*self.rows.values())):
            theme().set_tone(label, "text3" if stale else "text")


class BuildCard(Card):
    """Version and hash of the program."""

    def __init__(self, version: str) -> None:
        super().__init__(tr("This program"))
        self._values: dict[str, Label] = {}
        grid = grid_box(look.L, look.S, stretch={1: 1})
        for row, (name, word) in enumerate({"app": tr("App"), "worker": tr("Worker"), "build": tr("Build")}.items()):
            value = self._values[name] = Label(NONE, "strong", selectable=True)
            grid.addWidget(Label(word, "body", "text2"), row, 0)
            grid.addWidget(value, row, 1)
        self._values["build"].setFont(theme().mono("body"))
        self._words = Label(tr(READING), "cap", "text2", wrap=True)
        add(self.body, grid, self._words, STRETCH)
        self.show_version("app", version)

    def show_version(self, of: str, version: str) -> None:
        self._values[of].setText(f"Hearth {version}")

    def show_build(self, digest: str) -> None:
        self._values["build"].setText(digest)
        self._values["build"].setAccessibleName(tr("Build: {hash}", hash=digest))
        self._words.setText(
            tr(
                "The build is a hash over all files of the program: two PCs with the same files show the same one. "
                "Hearth is free software (Apache 2.0): you can check all of this in its source."
            )
        )

    def fail(self, sentence: str) -> None:
        self._words.setText(sentence)


def _licence(library: Library) -> str:
    return library.licence or tr("not stated")


class LicencesCard(Card):
    """The libraries in use."""

    def __init__(self) -> None:
        super().__init__(tr("Libraries and their licences"))
        self.model = TableModel[Library](
            (
                Column[Library](tr("Library"), lambda one: one.name, lambda one: one.name.casefold()),
                Column[Library](tr("Version"), lambda one: one.version, lambda one: one.version),
                Column[Library](tr("Licence"), _licence, lambda one: one.licence.casefold(), tip=_licence),
            ),
            lambda one: one.name,
        )
        self.table = Table(self.model, tr("Libraries and their licences"), stretched=2)
        self.table.set_widths((180, 110))
        self.table.setMinimumHeight(theme().px(190))
        self.words = Label(tr(READING), "body", "text2", wrap=True)
        add(self.body, self.words, (self.table, 1))
        self.table.hide()

    def show_libraries(self, libraries: list[Library]) -> None:
        self.model.set_rows(libraries)
        self.table.setVisible(bool(libraries))
        self.words.setVisible(not libraries)
        self.words.setText(tr("No library says what it is; their licences are in the program's folder."))

    def fail(self, sentence: str) -> None:
        self.words.setText(sentence)


class TrustPage(LookingPage):
    """Asks the ledger while it is seen; the program's files are read once, beside the window's thread."""

    _read = Signal(object)
    """A `Build`, or the sentence why there is none; from the thread that reads."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(
            client,
            EVERY_MS,
            "trust",
            tr("Trust"),
            "shield",
            tr("What leaves this PC, by its own count, and which program runs here."),
        )
        self.listed = False
        self.traffic, self.build = TrafficCard(), BuildCard(client.version)
        self.licences = LicencesCard()
        add(
            self.body,
            self.traffic,
            Pair(
                Facts(tr("What you can rely on"), "ok", [(icon, tr(short), tr(words)) for icon, short, words in FACTS]),
                self.build,
                (3, 2),
            ),
            (self.licences, 1),
        )
        self._reading = False
        self._read.connect(self._take_build)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._reading:
            self._reading = True
            in_background("build", _read_build, self._read.emit)

    def update_status(self, status: Status) -> None:
        self.build.show_version("worker", status.version)

    def set_stale(self, stale: bool) -> None:
        self.traffic.set_stale(stale)

    def look(self) -> None:
        if self._client.is_connected:
            self._client.totals(self._take, self.failed)

    def _take(self, totals: Totals) -> None:
        self.looked()
        self.traffic.show_totals(totals)

    def _take_build(self, read: Build | str) -> None:
        if isinstance(read, str):
            self.build.fail(read)
            self.licences.fail(read)
        else:
            self.build.show_build(read.digest)
            self.licences.show_libraries(read.libraries)


def _read_build() -> Build | str:
    try:
        return program_files.read()
    except OSError as error:
        return tr("The program's files could not be read: {reason}.", reason=error.strerror or error)
