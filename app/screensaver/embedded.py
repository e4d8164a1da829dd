"""In a window of another program: a desktop's screensaver, the preview in its settings, or the background."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QWindow

from app.screensaver.options import ROOT
from app.screensaver.view import View
from core.contracts.errors import HearthError
from core.contracts.notices import notice

LOOK_MS = 500
"""Between two looks at the other window: it may be resized, or be gone."""
VIRTUAL_ROOT = "__SWM_VROOT"
"""On the window that serves as the background, where that is not the root window."""


class Host(Protocol):
    """The other program's window."""

    window: int
    background: bool
    """It is the background of the screen: nothing may be covered."""

    def size(self) -> tuple[int, int] | None:
        """Pixels; None: it is gone."""


class XHost:
    """A window of an X server.

    Raises:
        HearthError: there is no X server.
    """

    def __init__(self, window: int) -> None:
        from Xlib import display, error  # on Linux only

        try:
            self._display = display.Display()
        except (error.DisplayError, error.XauthError, OSError) as failure:
            raise HearthError(notice("screensaver.no_x11", reason=str(failure))) from None
        self._gone = (error.BadWindow, error.BadDrawable, error.ConnectionClosedError)
        root = self._display.screen().root
        self.background = window == ROOT
        self.window = self._background(root) if self.background else window
        self._window = self._display.create_resource_object("window", self.window)

    def size(self) -> tuple[int, int] | None:
        try:
            found = self._window.get_geometry()
        except self._gone:
            return None
        return found.width, found.height

    def _background(self, root: Any) -> int:
        """The window that programs like this one are to draw into: the root, or one that says that it serves as it."""
        wanted = self._display.intern_atom(VIRTUAL_ROOT)
        for child in root.query_tree().children:
            with contextlib.suppress(*self._gone):
                found = child.get_full_property(wanted, 0)
                if found is not None and found.format == 32 and found.value:
                    return int(found.value[0])
        return int(root.id)


class WindowsHost:
    """A window of Windows'. Not yet run on Windows."""

    background = False

    def __init__(self, window: int) -> None:
        self.window = window

    def size(self) -> tuple[int, int] | None:
        user = ctypes.WinDLL("user32")  # type: ignore[attr-defined,unused-ignore]
        rect = (ctypes.c_int32 * 4)()
        handle = ctypes.c_void_p(self.window)
        if not user.IsWindow(handle) or not user.GetClientRect(handle, ctypes.byref(rect)):
            return None
        return rect[2] - rect[0], rect[3] - rect[1]


def host_of(window: int) -> Host:
    """The other program's window.

    Raises:
        HearthError: this system has no such windows, or not this one.
    """
    if sys.platform == "darwin" or (sys.platform == "win32" and window == ROOT):
        raise HearthError(notice("screensaver.no_such_windows"))
    host: Host = WindowsHost(window) if sys.platform == "win32" else XHost(window)
    if host.size() is None:
        raise HearthError(notice("screensaver.no_window", window=f"{window:#x}"))
    return host


def use_x11() -> None:
    """Before Qt starts: windows of other programs are drawn into on X11 only, also where a Wayland desktop runs."""
    if sys.platform == "linux" and os.environ.get("DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "xcb")


class Embedded(QObject):
    """A view in the window of another program, as large as that one; it takes no input, which is the other program's.

    Args:
        ended: called when the window is gone.
    """

    def __init__(self, view: View, host: Host, ended: Callable[[], None]) -> None:
        super().__init__(view)
        self._view, self._host, self._ended = view, host, ended
        flags = Qt.WindowType.FramelessWindowHint | Qt.WindowType.WindowTransparentForInput
        if host.background:
            flags |= Qt.WindowType.BypassWindowManagerHint | Qt.WindowType.WindowStaysOnBottomHint
        view.setWindowFlags(flags)
        view.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        view.winId()  # makes its window
        parent = QWindow.fromWinId(host.window)
        window = view.windowHandle()
        assert window is not None and parent is not None
        self._parent = parent  # Qt's object has to live as long as the child's
        window.setParent(parent)
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._fit)
        self._timer.start()
        self._fit()
        view.show()
        if host.background:
            view.lower()

    @property
    def views(self) -> list[View]:
        return [self._view]

    def close(self) -> None:
        self._timer.stop()
        self._view.hide()

    def _fit(self) -> None:
        size = self._host.size()
        if size is None:
            self._timer.stop()
            self._ended()
            return
        ratio = self._view.devicePixelRatioF()
        self._view.setGeometry(0, 0, round(size[0] / ratio), round(size[1] / ratio))
