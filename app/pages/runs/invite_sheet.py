"""The sheet with a run's link, as text and as QR code; its organiser gives a token with it where the run needs one."""

from functools import partial

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import mark, told, tr
from app.pages.runs.description import SHOWN, built_in
from app.pages.settings.setting_controls import NumberControl
from app.theme import theme
from app.widgets.basics import ElidedLabel, Label, Notice, Panel
from app.widgets.boxes import STRETCH, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.inputs import Field
from app.widgets.qr_picture import QrPicture
from app.window.focus_ring import FocusRing, order_focus
from app.window.sheet import Sheet
from app.worker.client import WorkerClient
from core.contracts.access import LONGEST_DAYS
from core.contracts.control import GrantParams
from core.contracts.errors import HearthError
from core.contracts.run_details import RunDetails

WIDTH = 520
ADDRESS, NAME = 1024, 64
"""Characters, as `GrantParams` takes them."""
DAYS = 90


ASKS = mark(
    "Only people whom you invite can take part in the run “{run}”. The link that you make here lets one PC in. Ask the "
    "person for the address of their PC: it is on their page Network."
)
COMES_ALONG = mark(
    "Every Hearth has this run, so no link is needed. Send the address of this PC; "
    "on the other PC, add it on the page Network."
)
ORGANISER_ONLY = mark(
    "The run “{run}” is by invitation only. Only its organiser can invite, on the PC with the key {key}. The link "
    "below shows others what the run is. To take part, they must send the organiser the address on their page Network."
)


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
        self.form = self._asked()
        self.link = ElidedLabel("", "cap")
        self.link.setFont(theme().mono("cap"))
        self.code = QrPicture(tr("The link as QR code"))
        self.copy = Button(tr("Copy the link"), "primary", "copy", clicked=self._copy)
        self.shown = QWidget()
        box = Panel("sunken", "border", look.RADIUS_CONTROL)
        vbox(self.link, margins=(look.M, look.S, look.M, look.S), within=box)
        vbox(hbox((box, 1), self.copy, spacing=look.S), self.code, spacing=look.M, within=self.shown)
        heading = Label(tr("Invite others"), "title", wrap=True)
        self.fill(heading, self.close_button, self.said, self.form, self.notice, self.shown)

    def _asked(self) -> QWidget:
        """Whom the organiser lets in, and for how long."""
        self.peer, self.name = Field(), Field()
        self.peer.setAccessibleName(tr("Address of their PC"))
        self.peer.setMaxLength(ADDRESS)
        self.name.setAccessibleName(tr("Their name"))
        self.name.setMaxLength(NAME)
        self.days = NumberControl(tr("Valid for"), tr("days"), 1, 1, LONGEST_DAYS)
        self.days.show_value(DAYS)
        self.make = Button(tr("Make the link"), "primary", "key", clicked=self._make)
        form = QWidget()
        rows = [
            part
            for field in (self.peer, self.name)
            for part in (Label(field.accessibleName(), "cap_strong", "text2"), field)
        ]
        days = hbox(Label(tr("Valid for"), "body"), self.days, STRETCH, spacing=look.M)
        vbox(*rows, days, hbox(self.make, STRETCH), spacing=look.S, within=form)
        return form

    def open_for(self, run_id: str) -> None:
        """Show the link to a run, or ask whom it is for."""
        self._run_id = run_id
        for part in (self.form, self.shown):
            part.hide()
        self.notice.set_text("")
        self.said.setText(tr("Asking the worker for the link."))
        self.open(self.close_button)
        self._client.run_details(run_id, self._ask, partial(self._fail, run_id))

    def _ask(self, run: RunDetails) -> None:
        if run.id != self._run_id:
            return
        if run.id in built_in():
            self.said.setText(tr(COMES_ALONG))
            self._client.network(0, lambda network: self._show(run.id, network.address), partial(self._refuse, run.id))
            return
        if run.invites:
            for field in (self.peer, self.name):
                field.clear()
            self.said.setText(tr(ASKS, run=run.id))
            self.form.show()
            order_focus(self.panel)
            self.peer.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        words = tr(
            "Whoever has this link can join the run “{run}”: they paste it under Add a run, or open it. It leads "
            "to this PC and the peers that the run names; one of them must be on.",
            run=run.id,
        )
        if run.manifest.access == "tokens":
            words = tr(ORGANISER_ONLY, run=run.id, key=str(run.manifest.organiser)[:SHOWN])
        failed = partial(self._fail, run.id)
        self._client.run_link(run.id, lambda linked: self._show(run.id, linked.link, words), failed)

    def _make(self) -> None:
        """Give the token, if there is to whom."""
        name, peer = self.name.text().strip(), self.peer.text().strip()
        try:
            asked = msgspec.convert(
                {"run": self._run_id, "peer": peer, "name": name, "days": self.days.spin.value()}, GrantParams
            )
        except msgspec.ValidationError:
            self.notice.set_text(tr("Fill in the address of their PC and their name."))
            return
        words = tr(
            "This link lets {name} in for %Ln day(s), and nobody else. Send it to them: they paste it under Add a run, "
            "or open it. To let them in for longer, make another one.",
            asked.days,
            name=name,
        )
        self.notice.set_text("")
        self.make.setEnabled(False)
        refused = partial(self._refuse, asked.run)
        self._client.grant(asked, lambda linked: self._show(asked.run, linked.link, words), refused)

    def _show(self, run_id: str, text: str, words: str = "") -> None:
        """Show a link with its words, or this PC's address beneath those that are there."""
        self.make.setEnabled(True)
        if run_id != self._run_id:
            return
        self.form.hide()
        if words:
            self.said.setText(words)
            self.code.show_text(text)
        self.code.setVisible(bool(words))  # an address is added by hand
        self.link.setText(text)
        self.copy.setText(tr("Copy the link") if words else tr("Copy the address"))
        self.shown.show()
        order_focus(self.panel)

    def _refuse(self, run_id: str, error: HearthError) -> None:
        """The token was not given; what was typed stays."""
        self.make.setEnabled(True)
        if run_id == self._run_id:
            self.notice.set_text(told(error.notice))

    def _fail(self, run_id: str, error: HearthError) -> None:
        if run_id == self._run_id:
            self.said.setText(tr("There is no link to this run."))
            self.notice.set_text(told(error.notice))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.link.text())
        self.copy.setText(tr("Copied"))
