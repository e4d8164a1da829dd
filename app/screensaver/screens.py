"""On all screens of this PC, until the first touch."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QScreen
from PySide6.QtWidgets import QApplication

from app.screensaver.view import View

JITTER = 8
"""Pixels that the pointer may move on a desk that shakes."""
SETTLE_MS = 400
"""The pointer may come to rest so long after the start."""
FOCUS_MS = 150
"""Without the focus for so long, somebody else has it: between two of its own windows there is a moment without."""
TOUCHES = {
    QEvent.Type.KeyPress,
    QEvent.Type.MouseButtonPress,
    QEvent.Type.Wheel,
    QEvent.Type.TouchBegin,
    QEvent.Type.TabletPress,
    QEvent.Type.TabletMove,
}


class Screens(QObject):
    """A view on each screen, also on those that come later.

    Args:
        make: makes a view.
        ended: called when there is input, or another program has the focus.
    """

    def __init__(self, app: QApplication, make: Callable[[], View], ended: Callable[[], None]) -> None:
        super().__init__(app)
        self._make, self._ended = make, ended
        self._views: dict[QScreen, View] = {}
        self._pointer = QCursor.pos()
        self._had_focus = False
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._lost = QTimer(self, singleShot=True, interval=FOCUS_MS)
        self._lost.timeout.connect(self._look_at_focus)
        app.installEventFilter(self)
        app.screenAdded.connect(self._add)
        app.screenRemoved.connect(self._remove)
        app.applicationStateChanged.connect(self._focus_changed)
        self._settle.start()
        for screen in app.screens():
            self._add(screen)

    @property
    def views(self) -> list[View]:
        return list(self._views.values())

    def close(self) -> None:
        """Uncover the screens."""
        for view in self.views:
            view.hide()

    def _add(self, screen: QScreen) -> None:
        view = self._views[screen] = self._make()
        view.setWindowFlags(Qt.WindowType.FramelessWindowHint | Qt.WindowType.WindowStaysOnTopHint)
        view.setCursor(Qt.CursorShape.BlankCursor)
        view.setScreen(screen)
        view.setGeometry(screen.geometry())
        screen.geometryChanged.connect(view.setGeometry)
        view.showFullScreen()
        view.raise_()
        view.activateWindow()

    def _remove(self, screen: QScreen) -> None:
        view = self._views.pop(screen, None)
        if view is not None:
            view.hide()
            view.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in TOUCHES:
            self._ended()
            return True
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            place = event.globalPosition().toPoint()
            if self._settle.isActive():
                self._pointer = place
            elif (place - self._pointer).manhattanLength() > JITTER:
                self._ended()
        return False

    def _focus_changed(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._had_focus = True
            self._lost.stop()
        elif self._had_focus:
            self._lost.start()

    def _look_at_focus(self) -> None:
        if QGuiApplication.applicationState() != Qt.ApplicationState.ApplicationActive:
            self._ended()
