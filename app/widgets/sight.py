"""Whether anybody can see a window, which need not be so while it is shown."""

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QWindow
from PySide6.QtWidgets import QWidget


class Sight(QObject):
    """Watches a window. One that is minimised, lies on another workspace or, on some desktops, behind all others is
    still shown for Qt: the desktop tells that nothing of it is exposed."""

    changed = Signal(bool)
    """The window can be seen from now on, or no longer."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.seen = False
        """As far as is known: a window that is shown counts, until the desktop says otherwise."""
        self._window = window
        self._handle: QWindow | None = None
        window.installEventFilter(self)
        self._look(window.isVisible())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window:
            if kind in (QEvent.Type.Show, QEvent.Type.Hide):
                self._look(kind == QEvent.Type.Show)
        elif kind == QEvent.Type.Expose and self._handle is not None:
            self._set(self._window.isVisible() and self._handle.isExposed())
        return False

    def _look(self, shown: bool) -> None:
        handle = self._window.windowHandle()
        if handle is not None and handle is not self._handle:
            self._handle = handle
            handle.installEventFilter(self)
        self._set(shown)

    def _set(self, seen: bool) -> None:
        if seen != self.seen:
            self.seen = seen
            self.changed.emit(seen)


def sight(widget: QWidget) -> Sight:
    """Of the window that a widget is in."""
    window = widget.window()
    return window.findChild(Sight) or Sight(window)
