"""A text as a QR code, for a phone or another PC to read from the screen."""

import segno
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import theme

QUIET = 4
"""Modules of white around it, which readers need (ISO 18004)."""
SIDE = 420
"""Pixels that it takes at most."""


class QrPicture(QWidget):
    """Dark on white in both themes: many readers know it no other way.

    Args:
        name: accessible name.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._rows: tuple[bytearray, ...] = ()
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumSize(theme().px(200), theme().px(200))

    def show_text(self, text: str) -> None:
        """Encode a text, with as much correction of errors as fits into the same size."""
        self._rows = segno.make_qr(text, error="l").matrix
        self.setAccessibleDescription(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(SIDE), theme().px(SIDE))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(width, theme().px(SIDE))

    def module_px(self) -> int:
        """The side of a module, device pixels: whole ones, or the picture would be blurred."""
        across = len(self._rows) + 2 * QUIET
        return int(min(self.width(), self.height()) * self.devicePixelRatioF()) // across

    def paintEvent(self, event: QPaintEvent) -> None:
        module = self.module_px()
        if not self._rows or not module:
            return
        painter = QPainter(self)
        ratio = self.devicePixelRatioF()
        painter.scale(1 / ratio, 1 / ratio)
        side = module * (len(self._rows) + 2 * QUIET)
        left = int(self.width() * ratio - side) if self.layoutDirection() is Qt.LayoutDirection.RightToLeft else 0
        painter.fillRect(QRect(left, 0, side, side), Qt.GlobalColor.white)
        for y, row in enumerate(self._rows, QUIET):
            for x, dark in enumerate(row, QUIET):
                if dark:
                    painter.fillRect(left + x * module, y * module, module, module, Qt.GlobalColor.black)
