"""The recovery words of this PC's key: shown only when asked for, never kept by the window."""

from pathlib import Path

from PySide6.QtCore import QProcess, QProcessEnvironment, Qt
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import mark, told, tr
from app.theme import theme
from app.widgets.basics import Label, Notice, Panel
from app.widgets.boxes import STRETCH, grid_box, hbox, vbox
from app.widgets.buttons import Button
from app.worker.supervisor import hearth
from core.contracts.notices import FAULTS_AS_NOTICES, fault_of

WHAT = mark(
    "Peers know this PC by a key. If its disk fails, “hearth identity import” and these 24 words bring the key and its "
    "credit back. Write them down: whoever has them can impersonate this PC."
)


class RecoveryWords(QWidget):
    """A button that shows the words, and hides them again; hiding the page hides them too.

    Args:
        folder: the data folder with the key. It is made if there is none yet.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._process: QProcess | None = None
        self.words: list[str] = []
        self.button = Button(tr("Show the recovery words"), "plain", "key", clicked=self._toggle)
        self.copy = Button(
            tr("Copy"),
            "link",
            "copy",
            name=tr("Copy the recovery words"),
            clicked=lambda: QGuiApplication.clipboard().setText(" ".join(self.words)),
        )
        self._notice = Notice()
        self._panel = Panel("sunken", "line", look.RADIUS_CONTROL)
        self._grid = grid_box(look.XL, look.S, margins=(look.L, look.M, look.L, look.M), within=self._panel)
        self._cells = [Label("", "body", selectable=True) for _ in range(24)]
        for number, cell in enumerate(self._cells):
            cell.setFont(theme().mono("body"))
            cell.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self._grid.addWidget(cell, number % 6, number // 6)
        vbox(
            Label(tr(WHAT), "body", "text2", wrap=True),
            self._panel,
            self._notice,
            hbox(self.button, self.copy, STRETCH, spacing=look.L),
            spacing=look.M,
            within=self,
        )
        self._show([])

    def _toggle(self) -> None:
        if self.words:
            self._show([])
        elif self._process is None:
            self._ask()

    def _ask(self) -> None:
        """The key is read by a process of its own: the window neither waits for it nor holds it."""
        self._notice.set_text("")
        self.button.setEnabled(False)
        process = self._process = QProcess(self)
        program, *arguments = hearth(self._folder, "identity", "export")
        environment = QProcessEnvironment.systemEnvironment()
        for name, value in FAULTS_AS_NOTICES.items():
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        process.finished.connect(self._done)
        process.errorOccurred.connect(lambda: self._done(-1))
        process.start(program, arguments)

    def _done(self, code: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        words = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace").split()
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace").strip().splitlines()
        process.deleteLater()
        self.button.setEnabled(True)
        if code == 0 and len(words) == len(self._cells):
            self._show(words if self.isVisible() else [])  # the page may have been left meanwhile
        else:
            self._notice.set_text(told(fault_of(said[-1])) if said else tr("The key could not be read. Try again."))

    def _show(self, words: list[str]) -> None:
        self.words = words
        for number, cell in enumerate(self._cells):
            cell.setText(f"{number + 1:2}  {words[number]}" if words else "")
        self._panel.setAccessibleName(" ".join(words))
        self._panel.setVisible(bool(words))
        self.copy.setVisible(bool(words))
        self.button.setText(tr("Hide the words") if words else tr("Show the recovery words"))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._show([])
