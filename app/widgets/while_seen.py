"""Looking at the worker's figures while a widget is seen, and only then."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget


class WhileSeen(QTimer):
    """Calls `look` when a widget is shown, and every so many `ms` from then on until it is hidden."""

    def __init__(self, widget: QWidget, ms: int, look: Callable[[], None]) -> None:
        super().__init__(widget, interval=ms)
        self._look = look
        self.timeout.connect(look)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self.start()
            self._look()
        elif event.type() == QEvent.Type.Hide:
            self.stop()
        return False
