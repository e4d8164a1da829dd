"""The sheet with what was tried before: to be opened again, copied and deleted, and whether anything is kept at all."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import tip
from app.language import mark, tr, tr_run
from app.pages.model.conversation import parts
from app.pages.model.model_page import ModelPage
from app.pages.model.text_block import Part
from app.pages.model.tried_texts import MOST, Tried
from app.pages.network.events_card import when
from app.widgets.basics import Divider, ElidedLabel, Label, Notice, Panel
from app.widgets.boxes import STRETCH, add, discard, hbox, vbox
from app.widgets.buttons import Button, Switch
from app.window.focus_ring import FocusRing, order_focus
from app.window.sheet import Sheet

WIDTH = 520
NAMED = 40
"""Characters of a text by which its buttons name it."""
KEPT = mark(
    "The newest {most} texts stay in the data folder of this PC. Turned off, nothing more is kept; what is listed "
    "stays until you delete it."
)
EMPTY = mark("Nothing is kept yet. What you try with a model appears here.")
OFF = mark("Nothing is kept. Turn it on to find here what you try from then on.")
NOT_HERE = mark("This PC has not joined the run “{run}”, so its model cannot be shown.")


class HistorySheet(Sheet):
    """Lists the texts whenever it is opened, and when they change.

    Args:
        window: see `Sheet`.
        ring: see `Sheet`.
        page: where they are tried.
    """

    def __init__(self, window: QWidget, ring: FocusRing, page: ModelPage) -> None:
        super().__init__(window, ring, WIDTH)
        self._page, self._tried = page, page.tried
        title = tr("What you tried")
        self.setAccessibleName(title)
        self.close_button = Button(tr("Close"), clicked=self.close_sheet)
        self.keeps = Switch(tr("Keep what I try"))
        self.keeps.clicked.connect(self._tried.keep)
        self.delete_all = Button(tr("Delete all"), "link", "close", clicked=self._ask)
        self.question = Panel("sunken", "line", look.RADIUS_CONTROL)
        self.cancel = Button(tr("Cancel"), clicked=self._answered)
        self.sure = Button(tr("Delete all"), clicked=self._delete_all)
        self.notice = Notice()
        self.empty = Label("", "body", "text2", wrap=True)
        self.rows: list[Row] = []
        self._list = vbox(spacing=look.S)
        self._build(title)
        self._tried.changed.connect(self._fill)

    def _build(self, title: str) -> None:
        row = hbox(STRETCH, self.cancel, self.sure, spacing=look.S)
        words = Label(tr("Delete all that is listed, for good?"), "strong", wrap=True)
        vbox(words, row, spacing=look.S, margins=(look.L, look.M, look.L, look.M), within=self.question)
        self.question.hide()
        kept = Label(tr(KEPT, most=MOST), "cap", "text2", wrap=True)
        keeping = hbox((Label(self.keeps.accessibleName(), "strong", wrap=True), 1), self.keeps, spacing=look.M)
        parts = keeping, kept, self.notice, hbox(self.delete_all, STRETCH), self.question, self.empty, self._list
        self.fill(Label(title, "title", wrap=True), self.close_button, *parts)

    def open_list(self) -> None:
        """Show them."""
        self._answered()
        self._fill(even_unseen=True)
        self.open(self.close_button)

    def _fill(self, even_unseen: bool = False) -> None:
        if not (self.isVisible() or even_unseen):
            return
        here = self.window().focusWidget()
        at = next((place for place, row in enumerate(self.rows) if here is not None and row.isAncestorOf(here)), None)
        discard(self.rows)
        texts = self._tried.newest
        self.rows = [Row(text, self, self._page.can_open(text)) for text in texts]
        add(self._list, *self.rows)
        for row in self.rows:
            row.show()
        self.keeps.setChecked(self._tried.keeps)
        self.notice.set_text(self._tried.trouble)
        self.delete_all.setVisible(bool(texts))
        self.empty.setText("" if texts else tr(EMPTY) if self._tried.keeps else tr(OFF))
        self.empty.setVisible(not texts)
        order_focus(self.panel)
        if at is not None:  # what had the focus has gone
            following = self.rows[min(at, len(self.rows) - 1)].delete if self.rows else self.keeps
            following.setFocus(Qt.FocusReason.OtherFocusReason)

    def open_text(self, text: Tried) -> None:
        """Show a text with its model."""
        self.close_sheet()
        self._page.open_former(text)

    def delete(self, text: Tried) -> None:
        """Keep it no more."""
        self._tried.delete(text)

    def _ask(self) -> None:
        self.question.show()
        order_focus(self.panel)
        self.cancel.setFocus(Qt.FocusReason.OtherFocusReason)

    def _answered(self) -> None:
        if self.question.isVisible():
            self.delete_all.setFocus(Qt.FocusReason.OtherFocusReason)
        self.question.hide()

    def _delete_all(self) -> None:
        self.question.hide()
        self.keeps.setFocus(Qt.FocusReason.OtherFocusReason)
        self._tried.delete_all()


class Row(QWidget):
    """A text: how it begins, when and with whose model, and what can be done with it.

    Args:
        text: the text.
        sheet: in which it is.
        can_open: whether its model is on this PC.
    """

    def __init__(self, text: Tried, sheet: HistorySheet, can_open: bool) -> None:
        super().__init__()
        self.text, run = text, tr_run(text.title)
        begins = " ".join(text.turns[0].content.split())
        name = begins[:NAMED] or run
        about = ", ".join((when(text.began), run, *([tr("%Ln turn(s)", len(text.turns))] if text.chat else [])))
        self.open_button = Button(
            tr("Open"), "link", name=tr("Open: {name}", name=name), clicked=lambda: sheet.open_text(text)
        )
        self.open_button.setEnabled(can_open)
        self.open_button.setToolTip("" if can_open else tip(tr(NOT_HERE, run=run)))
        self.copy = Button(tr("Copy"), "link", name=tr("Copy: {name}", name=name), clicked=self._copy)
        self.delete = Button(
            tr("Delete"), "link", name=tr("Delete: {name}", name=name), clicked=lambda: sheet.delete(text)
        )
        title = ElidedLabel(begins or tr("Without a prompt"), "strong")
        buttons = hbox(self.open_button, self.copy, self.delete, STRETCH, spacing=look.L)
        vbox(Divider(), title, Label(about, "cap", "text2", wrap=True), buttons, spacing=look.XS, within=self)

    def _copy(self) -> None:
        told = parts(self.text.turns) if self.text.chat else [Part(turn.content) for turn in self.text.turns]
        QGuiApplication.clipboard().setText("".join(part.text for part in told))
        self.copy.setText(tr("Copied"))
