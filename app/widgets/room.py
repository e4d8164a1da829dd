"""A window is no larger than its screen, also where that shows everything larger: it scrolls instead."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

FRAME = QSize(8, 40)
"""What the desktop may put round a window, pixels."""


def fit(window: QWidget) -> None:
    """Make a window smaller where it is larger than its screen has room."""
    if not (window.isMaximized() or window.isFullScreen()):
        window.resize(window.size().boundedTo(window.screen().availableSize() - FRAME))
