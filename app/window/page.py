"""The base of a page: what the window asks of it, and a scrolling body with the page's margins."""

import time
from datetime import datetime

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.language import clock, told, tr
from app.theme import theme
from app.widgets.basics import Label, Notice, Pair
from app.widgets.boxes import STRETCH, hbox, holding, scrolling, vbox
from app.widgets.while_seen import WhileSeen
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.status import CurvePoint, Status

NARROW = 780
"""Pages narrower than this stack their pairs."""


class Page(QWidget):
    """A page of the window. Put its content into `body`; it scrolls under the fixed footer.

    Args:
        name: by which `Actions.open_page` finds it.
        title: word in the sidebar, and the heading of a page with a subtitle.
        icon: a file of `resources/icons`.
        subtitle: a sentence under the heading; "" for neither.
    """

    def __init__(self, name: str, title: str, icon: str, subtitle: str = "") -> None:
        super().__init__()
        self.name, self.title, self.icon = name, title, icon
        self.listed = True
        """Whether the sidebar has it; others are reached from pages. They come last."""
        self._narrow = False
        canvas = _Canvas()
        self._scroll = scrolling(canvas)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._set_margins)
        self.body = vbox(spacing=look.CARD_GAP, margins=None, within=canvas.column)
        self._set_margins()
        more = QWidget()
        self.head = hbox(within=more)
        """Beside the heading, at its right."""
        if subtitle:
            self.subtitle = Label(subtitle, "body", "text2", wrap=True)
            words = vbox(Label(title, "title"), self.subtitle, spacing=2)
            self.body.addWidget(Pair(holding(words), more, (1, 0), early=False))
        vbox(self._scroll, within=self)

    def _set_margins(self, low: int = 0, high: int = 0) -> None:
        # The bar takes its width from the margin, so that showing it moves nothing.
        bar = self._scroll.verticalScrollBar().sizeHint().width() if high > low else 0
        left, right = look.PAGE_MARGIN, look.PAGE_MARGIN - bar
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            left, right = right, left
        self.body.setContentsMargins(left, 22, right, look.M)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.is_narrow()
        if narrow != self._narrow:
            self._narrow = narrow
            self.set_narrow(narrow)

    def is_narrow(self) -> bool:
        """Whether there is too little room for pairs side by side."""
        return self.width() < theme().px(NARROW)

    def set_narrow(self, narrow: bool) -> None:
        """Stack pairs of cards, or put them side by side; a page with other layouts extends this."""
        for pair in self.findChildren(Pair):
            pair.set_narrow(narrow)

    def update_status(self, status: Status) -> None:
        """A new status has come, about once a second."""

    def update_curve(self, points: list[CurvePoint]) -> None:
        """All evaluations so far, oldest first."""

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        """As of `MainWindow`. Old figures stay, marked with their time."""


class LookingPage(Page):
    """A page that asks the worker for its figures while it is seen.

    Args:
        client: the worker.
        every_ms: between two looks.
        name: as of `Page`, as are the following.
        title: word in the sidebar, and the heading.
        icon: a file of `resources/icons`.
        subtitle: a sentence under the heading.
    """

    def __init__(self, client: WorkerClient, every_ms: int, name: str, title: str, icon: str, subtitle: str) -> None:
        super().__init__(name, title, icon, subtitle)
        self._client, self._every_s = client, every_ms // 1000
        self.notice = Notice()
        self.body.addWidget(self.notice)
        self._seen_at: float | None = None
        self._timer = WhileSeen(self, every_ms, self.look)

    def look(self) -> None:
        """Ask for all that is shown; `looked` or `failed` follows."""
        raise NotImplementedError

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old; or they are new again."""
        raise NotImplementedError

    def looked(self) -> None:
        """The figures are those of now."""
        self._seen_at = time.time()
        self.notice.set_text("")

    def failed(self, error: HearthError) -> None:
        """Tell why there are no new figures; without a connection the window says it."""
        if self._client.is_connected:
            sentence = tr(
                "{error} The page asks again in {seconds} s.", error=told(error.notice), seconds=self._every_s
            )
            self.notice.set_text(sentence)

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        old = ""
        if self._seen_at is not None:
            old = tr("The figures are from {time}.", time=clock(datetime.fromtimestamp(self._seen_at)))
        self.notice.set_text("" if connected else f"{sentence.rstrip('.')}. {old}".strip(), calm)
        self.set_stale(not connected)
        if connected and self.isVisible():
            self.look()


class _Canvas(QWidget):
    """Centres the page's column and keeps it from getting wider than `CONTENT_WIDTH`."""

    def __init__(self) -> None:
        super().__init__()
        self.column = QWidget()
        self.column.setMaximumWidth(look.CONTENT_WIDTH + 2 * look.PAGE_MARGIN)
        hbox(STRETCH, (self.column, 1000), STRETCH, within=self)

    def minimumSizeHint(self) -> QSize:
        return self.column.minimumSizeHint()
