"""A text as a QR code, for a phone or another PC to read from the screen."""

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

QUIET = 4
"""Modules of white around it, which readers need (ISO 18004)."""
SIDE = 460
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
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        """Encode a text, with as much correction of errors as fits into the same size."""
        import segno  # it brings Python's modules for the web: 3 MB, which a window without a code does not need

        self._rows = segno.make_qr(text, error="l").matrix
        side = math.ceil(self._module() * self._across / self.devicePixelRatioF())
        self.setFixedSize(side, side)
        self.setAccessibleDescription(text)
        self.update()

    @property
    def _across(self) -> int:
        return len(self._rows) + 2 * QUIET

    def _module(self) -> int:
        """The side of a module, device pixels: whole ones, or the picture would be blurred."""
        return max(1, int(SIDE * self.devicePixelRatioF()) // self._across)

    def paintEvent(self, event: QPaintEvent) -> None:
        module, painter = self._module(), QPainter(self)
        ratio = self.devicePixelRatioF()
        painter.scale(1 / ratio, 1 / ratio)
        painter.fillRect(0, 0, module * self._across, module * self._across, Qt.GlobalColor.white)
        for y, row in enumerate(self._rows, QUIET):
            for x, dark in enumerate(row, QUIET):
                if dark:
                    painter.fillRect(x * module, y * module, module, module, Qt.GlobalColor.black)
