"""Looking at the worker's figures while a widget is seen, and only then."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.widgets.sight import Sight, sight


class WhileSeen(QTimer):
    """Calls `look` when a widget comes into sight, and every so many `ms` from then on until it leaves it."""

    def __init__(self, widget: QWidget, ms: int, look: Callable[[], None]) -> None:
        super().__init__(widget, interval=ms)
        self._widget, self._look = widget, look
        self._sight: Sight | None = None
        self.timeout.connect(look)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._sight = sight(self._widget)
            self._sight.changed.connect(self._follow)
            self._follow(self._sight.seen)
        elif event.type() == QEvent.Type.Hide:
            if self._sight is not None:
                self._sight.changed.disconnect(self._follow)
                self._sight = None
            self.stop()
        return False

    def _follow(self, seen: bool) -> None:
        if seen:
            self.start()
            self._look()
        else:
            self.stop()
