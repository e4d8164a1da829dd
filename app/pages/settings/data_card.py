"""The data of this PC: how much there is, moved to another folder, backed up, restored, or deleted for good."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QProcess, QProcessEnvironment, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog

from app import theme as look
from app.background import in_background
from app.formats import number
from app.language import mark, told, tr
from app.pages.settings.offer_card import how_far
from app.pages.settings.setting_row import Section, action_row
from app.pages.settings.synonyms import synonyms
from app.widgets.basics import Bar, Divider, Label, Notice, Panel
from app.widgets.boxes import STRETCH, add, grid_box, hbox, vbox
from app.widgets.buttons import Button, Switch
from app.worker.supervisor import DETACHED, hearth
from core.contracts.notices import FAULTS_AS_NOTICES, fault_of
from core.contracts.words import size
from core.store.sizes import KINDS, sizes

LABELS = {
    "checkpoints": mark("Checkpoints of runs"),
    "copies": mark("Copies kept for other peers"),
    "shards": mark("Data of runs"),
    "own": mark("Data of your own runs"),
    "packs": mark("GPU packs"),
    "ledger": mark("Ledger and history"),
    "logs": mark("Log"),
    "other": mark("Key, settings and the rest"),
}
MOVE = mark("To another folder, such as one on a larger disk. The worker ends and starts again there.")
BACK_UP = mark(
    "Key, ledger, settings and runs in one file. It contains this PC's secret key: whoever has the file can "
    "impersonate this PC. Keep it to yourself."
)
RESTORE = mark("Brings back what a backup holds. Everything that is here now is deleted.")
DELETE = mark(
    "Key, ledger, settings, runs, checkpoints, the start at login and the links. Without a backup or the recovery "
    "words, this PC's key and its credit are lost for good. The program stays."
)
SURE = {
    "restore": mark("Delete all data here and restore the backup?"),
    "delete": mark("Delete everything now and quit Hearth?"),
}
ARCHIVES = mark("Backups (*.zip)")


class DataCard(Section):
    """Asks a process of its own to do it, and shows how far that is.

    Args:
        folder: the data folder.
    """

    stopped = Signal()
    """The worker will end, and must not be started again meanwhile."""
    failed = Signal()
    """Nothing has changed; the worker may run again."""
    replaced = Signal()
    """The data are other ones, or elsewhere: the window must start anew."""
    deleted = Signal()
    """They are being deleted: the window must go."""
    _sized = Signal(dict)

    def __init__(self, folder: Path) -> None:
        words = map(tr, (*LABELS.values(), MOVE, BACK_UP, RESTORE, DELETE))
        super().__init__(tr("Data"), " ".join([*words, synonyms("data")]))
        self.folder = self.start = folder
        self._process: QProcess | None = None
        self._then: Callable[[], object] = lambda: None
        self._sure: Callable[[], object] = lambda: None
        self.deleting: subprocess.Popen[bytes] | None = None
        self.place = Label(str(folder), "cap", "text2", wrap=True, selectable=True)
        self.figures = {kind: Label("", "body") for kind in (*LABELS, "total")}
        self.move_button = Button(tr("Move…"), name=tr("Move all data to another folder"), clicked=self._choose_folder)
        self.backup_button = Button(tr("Back up…"), name=tr("Back up the data"), clicked=self._choose_backup)
        self.with_checkpoints = Switch(tr("With checkpoints"))
        self.restore_button = Button(tr("Restore…"), name=tr("Restore a backup"), clicked=self._choose_restored)
        self.delete_button = Button(tr("Delete everything…"), clicked=self._ask_to_delete)
        self.progress, self.left = Bar(), Label("", "cap", "text2")
        self.notice, self.done = Notice(), Notice("ok", "check")
        self._sized.connect(self._show_sizes)
        self._build_question()
        self._build()
        self._show_progress(None)

    def _build(self) -> None:
        grid = grid_box(look.XL, 2)
        for at, (kind, figure) in enumerate(self.figures.items()):
            grid.addWidget(Label(tr(LABELS[kind]) if kind in LABELS else tr("In total"), "body", "text2"), at, 0)
            grid.addWidget(figure, at, 1, Qt.AlignmentFlag.AlignRight)
        grid.setColumnStretch(2, 1)
        also = hbox(Label(tr("With checkpoints"), "body"), self.with_checkpoints, STRETCH, spacing=look.S)
        backing = vbox(action_row(tr("Back up"), tr(BACK_UP), self.backup_button), also, spacing=look.S)
        moving = action_row(tr("Move"), tr(MOVE), self.move_button)
        add(self.body, self.place, grid, Divider(), moving, Divider(), backing)
        add(self.body, Divider(), action_row(tr("Restore"), tr(RESTORE), self.restore_button), Divider())
        add(self.body, action_row(tr("Delete everything"), tr(DELETE), self.delete_button), self.question)
        add(self.body, self.progress, self.left, self.notice, self.done)

    def _build_question(self) -> None:
        self.question = Panel("sunken", "line", look.RADIUS_CONTROL)
        self.asks = Label("", "strong", wrap=True)
        self.keep = Button(tr("Cancel"), clicked=self.question.hide)
        self.sure = Button("", clicked=self._go_on)
        row = hbox(STRETCH, self.keep, self.sure, spacing=look.S)
        vbox(self.asks, row, spacing=look.S, margins=(look.L, look.M, look.L, look.M), within=self.question)
        self.question.hide()

    # what is asked for

    def _choose_folder(self) -> None:
        if name := QFileDialog.getExistingDirectory(self, tr("An empty folder for Hearth's data")):
            self.move_to(Path(name))

    def _choose_backup(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Save a backup"), "hearth-backup.zip", tr(ARCHIVES))
        if name:
            self.back_up_to(Path(name))

    def _choose_restored(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Restore a backup"), "", tr(ARCHIVES))
        if name:
            self.ask_to_restore(Path(name))

    def move_to(self, folder: Path) -> None:
        """Move all data there; the window starts anew."""
        self._replace("move", str(folder))

    def back_up_to(self, file: Path) -> None:
        """Write a backup, in the place of a file that the user was asked about."""
        also = ["--checkpoints"] if self.with_checkpoints.isChecked() else []
        self._run(lambda: self._say(tr("Saved as {path}.", path=file)), "backup", str(file), "--force", *also)

    def ask_to_restore(self, file: Path) -> None:
        """Ask once more before a backup replaces all data; the window starts anew then."""
        self._ask(tr(SURE["restore"]), tr("Restore"), lambda: self._replace("restore", str(file), "--force"))

    def _ask_to_delete(self) -> None:
        self._ask(tr(SURE["delete"]), tr("Delete and quit"), self._delete)

    def _delete(self) -> None:
        """By a process that outlives this one, and waits until it has gone."""
        command = hearth(self.start, "data", "purge", "--yes")
        null = subprocess.DEVNULL
        self.deleting = subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, start_new_session=True, creationflags=DETACHED
        )
        self.deleted.emit()

    def _ask(self, question: str, answer: str, then: Callable[[], object]) -> None:
        self._sure = then
        self.asks.setText(question)
        self.sure.setText(answer)
        self.sure.setAccessibleName(answer)
        self.question.show()
        self.keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _go_on(self) -> None:
        self.question.hide()
        self._sure()

    # the process

    def _replace(self, *words: str) -> None:
        if self._process is None:  # else nobody would say when the worker may run again
            self.stopped.emit()
            self._run(self.replaced.emit, *words)

    def _run(self, then: Callable[[], object], *words: str) -> None:
        if self._process is not None:
            return
        self._then = then
        self.question.hide()  # it is about what cannot be done meanwhile
        self.notice.set_text("")
        self._say("")
        process = self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        for name, value in FAULTS_AS_NOTICES.items():
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._ended)
        process.errorOccurred.connect(lambda: self._ended(-1))
        program, *arguments = hearth(self.start, "data", *words, "--progress")
        process.start(program, arguments)
        self._enable(False)

    def end(self) -> None:
        """The window goes; a move or a restore that is killed loses nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.waitForFinished()

    def _read(self) -> None:
        while self._process is not None and self._process.canReadLine():
            line = bytes(self._process.readLine().data()).decode("utf-8", "replace")
            if line.startswith("{"):
                self._show_progress(json.loads(line))

    def _show_progress(self, told: dict[str, float] | None) -> None:
        self.progress.setVisible(told is not None)
        self.left.setVisible(told is not None)
        if told is not None:
            self.progress.set_value(told["done"] / max(told["total"], 1))
            self.left.setText(how_far(told))

    def _ended(self, code: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace").strip().splitlines()
        process.deleteLater()
        self._show_progress(None)
        self._enable(True)
        if code == 0:
            self._then()
            return
        self.notice.set_text(told(fault_of(said[-1])) if said else tr("That did not work. Try again."))
        self.failed.emit()

    def _enable(self, enabled: bool) -> None:
        buttons = (self.move_button, self.backup_button, self.restore_button, self.delete_button)
        for button in (*buttons, self.with_checkpoints):
            button.setEnabled(enabled)

    def _say(self, text: str) -> None:
        self.done.set_text(text)
        if text:
            self._look()

    # how much there is

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    def _look(self) -> None:
        in_background("sizes", lambda: sizes(self.folder), self._sized.emit)

    def _show_sizes(self, found: dict[str, int]) -> None:
        for kind in KINDS:
            if kind in self.figures:
                self.figures[kind].setText(size(found[kind], number))
        self.figures["total"].setText(size(sum(found.values()), number))
