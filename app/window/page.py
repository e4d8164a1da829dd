"""The base of a page: what the window asks of it, and a scrolling body with the page's margins."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app import theme as look
from app.theme import theme
from app.widgets.basics import Label, Pair
from core.contracts.status import CurvePoint, Status

NARROW = 780
"""Pages narrower than this stack their pairs."""


class Page(QWidget):
    """A page of the window. Put its content into `body`; it scrolls under the fixed footer.

    Args:
        name: by which `Actions.open_page` finds it.
        title: word in the sidebar.
        icon: a file of `resources/icons`.
        heading: the page's own title, "" for none.
        subtitle: a sentence under the heading.
    """

    def __init__(self, name: str, title: str, icon: str, heading: str = "", subtitle: str = "") -> None:
        super().__init__()
        self.name, self.title, self.icon = name, title, icon
        self.listed = True
        """Whether the sidebar has it; others are reached from pages. They come last."""
        self._narrow = False
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._set_margins)
        canvas = _Canvas()
        self._scroll.setWidget(canvas)
        self.body = QVBoxLayout(canvas.column)
        self.body.setSpacing(look.CARD_GAP)
        self._set_margins()
        more = QWidget()
        self.head = QHBoxLayout(more)
        """Beside the heading, at its right."""
        self.head.setContentsMargins(0, 0, 0, 0)
        if heading:
            words = QWidget()
            texts = QVBoxLayout(words)
            texts.setContentsMargins(0, 0, 0, 0)
            texts.setSpacing(2)
            texts.addWidget(Label(heading, "title"))
            self.subtitle = Label(subtitle, "body", "text2", wrap=True)
            self.subtitle.setVisible(bool(subtitle))
            texts.addWidget(self.subtitle)
            self.body.addWidget(Pair(words, more, (1, 0), early=False))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._scroll)

    def _set_margins(self, low: int = 0, high: int = 0) -> None:
        # The bar takes its width from the margin, so that showing it moves nothing.
        bar = self._scroll.verticalScrollBar().sizeHint().width() if high > low else 0
        left, right = look.PAGE_MARGIN, look.PAGE_MARGIN - bar
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            left, right = right, left
        self.body.setContentsMargins(left, 22, right, look.M)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < theme().px(NARROW)
        if narrow != self._narrow:
            self._narrow = narrow
            self.set_narrow(narrow)

    def set_narrow(self, narrow: bool) -> None:
        """Stack pairs of cards, or put them side by side; a page with other layouts extends this."""
        for pair in self.findChildren(Pair):
            pair.set_narrow(narrow)

    def update_status(self, status: Status) -> None:
        """A new status has come, about once a second."""

    def update_curve(self, points: list[CurvePoint]) -> None:
        """All evaluations so far, oldest first."""

    def set_connected(self, connected: bool, sentence: str) -> None:
        """The worker is reachable or not; `sentence` says what happens. Old figures stay, marked with their time."""


class _Canvas(QWidget):
    """Centres the page's column and keeps it from getting wider than `CONTENT_WIDTH`."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("canvas", "true")
        self.column = QWidget()
        self.column.setMaximumWidth(look.CONTENT_WIDTH + 2 * look.PAGE_MARGIN)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(self.column, 1000)
        row.addStretch(1)

    def minimumSizeHint(self) -> QSize:
        return self.column.minimumSizeHint()
