"""What the colours of a plot mean."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.icons import placed, rounded, smooth
from app.theme import theme
from app.widgets.bar_plot import Part, color_of
from app.widgets.basics import Label
from app.widgets.boxes import discard, hbox


class Legend(QWidget):
    """A swatch and a word for each part; nothing where there is only one."""

    def __init__(self) -> None:
        super().__init__()
        self._row = hbox(spacing=look.M, within=self)
        self._shown: list[QWidget] = []

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Of what the bars are made."""
        discard(self._shown)
        self._shown = [_Entry(part) for part in parts] if len(parts) > 1 else []
        for entry in self._shown:
            self._row.addWidget(entry)
            entry.show()


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
