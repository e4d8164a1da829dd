"""What the colours of a plot mean."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.icons import placed, rounded, smooth
from app.theme import theme
from app.widgets.bar_plot import Part, color_of
from app.widgets.basics import Label
from app.widgets.boxes import discard, grid_box, hbox


class Legend(QWidget):
    """A swatch and a word for each part, in as many lines as it takes; nothing where there is only one."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = grid_box(look.M, look.XS, within=self)
        self._shown: list[QWidget] = []
        self._columns = 0

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Of what the bars are made."""
        discard(self._shown)
        self._shown = [_Entry(part) for part in parts] if len(parts) > 1 else []
        self._columns = 0
        self._place()

    def minimumSizeHint(self) -> QSize:
        widest = max((entry.sizeHint().width() for entry in self._shown), default=0)
        return QSize(widest, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """As many side by side as there is room for, all as wide as the widest."""
        widest = self.minimumSizeHint().width() + look.M
        columns = min(len(self._shown), max(1, (self.width() + look.M) // max(1, widest)))
        if columns == self._columns:
            return
        for at in range(self._grid.columnCount()):
            self._grid.setColumnStretch(at, 0)
        self._columns = columns
        for at, entry in enumerate(self._shown):
            self._grid.addWidget(entry, at // columns, at % columns)
            entry.show()
        self._grid.setColumnStretch(columns, 1)


class _Entry(QWidget):
    def __init__(self, part: Part) -> None:
        super().__init__()
        self._tone = part.tone
        self._side = theme().px(12)
        row = hbox(margins=None, within=self)
        mirrored = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        row.setContentsMargins(0 if mirrored else self._side + 6, 0, self._side + 6 if mirrored else 0, 0)
        row.addWidget(Label(part.name, "cap", "text2"))

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        swatch = QRectF(0, (self.height() - self._side) / 2, self._side, self._side)
        rounded(painter, placed(self, swatch), 3, color_of(self._tone))
