"""The sheet with a run's link, as text and as QR code."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import told, tr
from app.theme import theme
from app.widgets.basics import ElidedLabel, Label, Notice, Panel
from app.widgets.boxes import STRETCH, hbox, scrolling, vbox
from app.widgets.buttons import Button
from app.widgets.qr_picture import QrPicture
from app.window.focus_ring import FocusRing
from app.window.sheet import Sheet
from app.worker.client import WorkerClient
from core.contracts.control import RunLinked
from core.contracts.errors import HearthError

WIDTH = 520


class InviteSheet(Sheet):
    """Asks the worker for a link whenever it is opened.

    Args:
        window: see `Sheet`.
        ring: see `Sheet`.
        client: the worker.
    """

    def __init__(self, window: QWidget, ring: FocusRing, client: WorkerClient) -> None:
        super().__init__(window, ring, WIDTH)
        self._client, self._run_id = client, ""
        self.setAccessibleName(tr("Invite others"))
        self.close_button = Button(tr("Close"), clicked=self.close_sheet)
        self.said = Label("", "body", "text2", wrap=True)
        self.notice = Notice()
        self.link = ElidedLabel("", "cap")
        self.link.setFont(theme().mono("cap"))
        self.code = QrPicture(tr("The link as QR code"))
        self.copy = Button(tr("Copy the link"), "primary", "copy", clicked=self._copy)
        self.shown = QWidget()
        box = Panel("sunken", "border", look.RADIUS_CONTROL)
        vbox(self.link, margins=(look.M, look.S, look.M, look.S), within=box)
        vbox(hbox((box, 1), self.copy, spacing=look.S), self.code, spacing=look.M, within=self.shown)
        content = QWidget()
        vbox(
            self.said,
            self.notice,
            self.shown,
            STRETCH,
            spacing=look.M,
            margins=(0, 0, look.XL, look.XL),
            within=content,
        )
        head = hbox(
            (Label(tr("Invite others"), "title", wrap=True), 1),
            (self.close_button, Qt.AlignmentFlag.AlignTop),
            margins=(0, 0, look.XL, 0),
        )
        margins = (look.XL, look.XL, 0, 0)
        vbox(head, (scrolling(content), 1), spacing=look.M, margins=margins, within=self.panel)

    def open_for(self, run_id: str) -> None:
        """Show the link to a run."""
        self._run_id = run_id
        self.shown.hide()
        self.notice.set_text("")
        self.said.setText(tr("Asking the worker for the link."))
        self.open(self.close_button)
        self._client.run_link(run_id, lambda linked: self._show(run_id, linked), lambda error: self._fail(error))

    def _show(self, run_id: str, linked: RunLinked) -> None:
        if run_id != self._run_id:
            return
        self.said.setText(
            tr(
                "Whoever has this link can join the run “{run}”: they paste it under Add a run, or open it. It leads "
                "to this PC and the peers that the run names; one of them must be on.",
                run=run_id,
            )
        )
        self.link.setText(linked.link)
        self.code.show_text(linked.link)
        self.copy.setText(tr("Copy the link"))
        self.shown.show()

    def _fail(self, error: HearthError) -> None:
        self.said.setText(tr("There is no link to this run."))
        self.notice.set_text(told(error.notice))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.link.text())
        self.copy.setText(tr("Copied"))
