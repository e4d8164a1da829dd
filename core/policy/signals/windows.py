"""Windows: idle time with game pads, lock, what is in front, power, metered network. Not yet run on Windows.

By ctypes alone, and importable everywhere: `core.policy.signals.foreign.Table` finds the functions.
"""

import ctypes
import time
import uuid
from collections.abc import Callable
from typing import Any

from core.contracts.notices import notice
from core.policy.signals.foreign import Table, windows
from core.policy.signals.reading import OWN, Front, Open, Power, SourceError, Stateless
from core.policy.signals.windows_api import (
    DWORD,
    LONG,
    OUT,
    POINTER,
    SIGNATURES,
    WORD,
    Guid,
    LastInput,
    Monitor,
    Pad,
    PowerStatus,
    Rect,
    Session,
)


def sources(table: Table | None = None) -> dict[str, list[Open[Any]]]:
    """By the fields of `Signals`."""
    find = table or windows(SIGNATURES)
    return {
        "idle_s": [lambda wake: Idle(find)],
        "locked": [lambda wake: SessionLock(find), lambda wake: InputDesktop(find)],
        "front": [lambda wake: InFront(find)],
        "power": [lambda wake: PowerSource(find)],
        "metered": [lambda wake: NetworkCost(find)],
    }


class _Stateless(Stateless):
    def __init__(self, find: Table) -> None:
        self._find = find


class Idle(_Stateless):
    """The shorter of: since the last key or mouse, since the last use of a game pad."""

    name = "GetLastInputInfo"

    def __init__(self, find: Table, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(find)
        self._pads = Pads(find, now)

    def read(self) -> float:
        last = LastInput(cbSize=ctypes.sizeof(LastInput))
        if not self._find("user32.GetLastInputInfo")(ctypes.byref(last)):
            raise SourceError(notice("idle.windows_not_told"))
        ticks: int = (self._find("kernel32.GetTickCount")() - last.dwTime) % WRAP  # both count milliseconds in 32 bits
        if ticks > WRAP - AHEAD_MS:
            ticks = 0
        return min(ticks / 1000, self._pads.idle_s())


WRAP = 1 << 32
"""49.7 days of milliseconds."""
AHEAD_MS = 60_000
"""The time of the last input may be a little ahead of the clock that it is compared with."""

PADS = 4
ABSENT_S = 5.0
"""How soon a game pad that is not there is asked for again: that takes Windows milliseconds."""
STICK_LEFT, STICK_RIGHT, TRIGGER = 7849, 8689, 30
"""XInput's own dead zones: sticks at rest wander, and change the packet number all the time."""


class Pads:
    """Use of game pads, which Windows does not count as input."""

    def __init__(self, find: Table, now: Callable[[], float]) -> None:
        self._find, self._now = find, now
        self._get = next(filter(None, map(self._found, ("xinput1_4", "xinput9_1_0"))), None)
        self._due = [now()] * PADS
        self._before: list[Pad | None] = [None] * PADS
        self._used = float("-inf")

    def _found(self, library: str) -> Callable[..., Any] | None:
        try:
            return self._find(library + ".XInputGetState")
        except SourceError:
            return None

    def idle_s(self) -> float:
        """Seconds since one was used; infinite if none was yet."""
        now = self._now()
        for index in range(PADS):
            if self._get is None or now < self._due[index]:
                continue
            pad = Pad()
            if self._get(index, ctypes.byref(pad)):
                self._due[index], self._before[index] = now + ABSENT_S, None
                continue
            before, self._before[index] = self._before[index], pad
            if before is not None and _touched(before, pad):
                self._used = now
        return now - self._used


def _touched(before: Pad, pad: Pad) -> bool:
    if pad.dwPacketNumber == before.dwPacketNumber:
        return False
    return bool(
        pad.wButtons != before.wButtons
        or max(pad.bLeftTrigger, pad.bRightTrigger) > TRIGGER
        or max(abs(pad.sThumbLX), abs(pad.sThumbLY)) > STICK_LEFT
        or max(abs(pad.sThumbRX), abs(pad.sThumbRY)) > STICK_RIGHT
    )


CURRENT_SESSION, SESSION_INFO_EX = 0xFFFFFFFF, 25
LOCKED, UNLOCKED = 0, 1
"""WTS_SESSIONSTATE_LOCK and _UNLOCK (Windows 7 had them the wrong way round)."""


class SessionLock(_Stateless):
    """Whether the session is locked, as the session manager says."""

    name = "WTSSessionInfoEx"

    def read(self) -> bool:
        buffer, size = ctypes.c_void_p(), DWORD()
        ok = self._find("wtsapi32.WTSQuerySessionInformationW")(
            None, CURRENT_SESSION, SESSION_INFO_EX, ctypes.byref(buffer), ctypes.byref(size)
        )
        if not ok or not buffer.value:
            raise SourceError(notice("locked.windows_not_told"))
        try:
            if size.value < ctypes.sizeof(Session):
                raise SourceError(notice("locked.windows_too_little"))
            session = Session.from_address(buffer.value)
            level, flags = session.Level, session.Data.SessionFlags
        finally:
            self._find("wtsapi32.WTSFreeMemory")(buffer)
        if level != 1 or flags not in (LOCKED, UNLOCKED):
            raise SourceError(notice("locked.windows_unknown"))
        return bool(flags == LOCKED)


class InputDesktop(_Stateless):
    """Whether the session is locked, by whether its input may be seen: not while the lock screen or a question for the
    administrator is shown."""

    name = "OpenInputDesktop"

    def read(self) -> bool:
        desktop = self._find("user32.OpenInputDesktop")(0, 0, DESKTOP_READOBJECTS)
        if desktop:
            self._find("user32.CloseDesktop")(desktop)
        return not desktop


DESKTOP_READOBJECTS = 1
ABSENT, BUSY, GAME, PRESENTATION = 1, 2, 3, 4
"""QUNS_NOT_PRESENT (a screensaver or the lock is shown), QUNS_BUSY (something fills the screen),
QUNS_RUNNING_D3D_FULL_SCREEN, QUNS_PRESENTATION_MODE."""
GWL_STYLE, WS_CAPTION, NEAREST_MONITOR = -16, 0x00C00000, 2
QUERY_LIMITED = 0x1000
PATH_CHARACTERS = 1024
SHELL = {"Progman", "WorkerW", "Shell_TrayWnd"}
"""Classes of the desktop's own windows, which fill the screen too."""


class InFront(_Stateless):
    """What the shell says that the user does, and whether the window in front covers its monitor."""

    name = "SHQueryUserNotificationState"

    def read(self) -> Front:
        state = LONG()
        if self._find("shell32.SHQueryUserNotificationState")(ctypes.byref(state)) < 0:
            state.value = 0  # no shell: the window is looked at all the same
        window = self._find("user32.GetForegroundWindow")()
        program = self._program(window)
        if state.value == ABSENT or program in (OWN, f"{OWN}w"):
            return Front("window", program)
        if state.value == GAME:
            return Front("game", program)
        if state.value == PRESENTATION:
            return Front("presentation", program)
        return Front("fullscreen" if state.value == BUSY or self._covers(window) else "window", program)

    def _covers(self, window: int | None) -> bool:
        if not window or window in (self._find("user32.GetShellWindow")(), self._find("user32.GetDesktopWindow")()):
            return False
        name = (WORD * 256)()
        length = self._find("user32.GetClassNameW")(window, name, len(name))
        if _text(name, length) in SHELL:
            return False
        style = self._find("user32.GetWindowLongW")(window, GWL_STYLE)
        if style & WS_CAPTION == WS_CAPTION:  # a title bar: maximised, and the task bar hides
            return False
        rect, monitor = Rect(), Monitor(cbSize=ctypes.sizeof(Monitor))
        screen = self._find("user32.MonitorFromWindow")(window, NEAREST_MONITOR)
        if not self._find("user32.GetWindowRect")(window, ctypes.byref(rect)):
            return False
        if not self._find("user32.GetMonitorInfoW")(screen, ctypes.byref(monitor)):
            return False
        all_ = monitor.rcMonitor
        return bool(
            rect.left <= all_.left and rect.top <= all_.top and rect.right >= all_.right and rect.bottom >= all_.bottom
        )

    def _program(self, window: int | None) -> str:
        pid, name, length = DWORD(), (WORD * PATH_CHARACTERS)(), DWORD(PATH_CHARACTERS)
        if not window or not self._find("user32.GetWindowThreadProcessId")(window, ctypes.byref(pid)):
            return ""
        process = self._find("kernel32.OpenProcess")(QUERY_LIMITED, 0, pid.value)
        if not process:
            return ""
        try:
            ok = self._find("kernel32.QueryFullProcessImageNameW")(process, 0, name, ctypes.byref(length))
        finally:
            self._find("kernel32.CloseHandle")(process)
        path = _text(name, length.value) if ok else ""
        return path.replace("/", "\\").rsplit("\\", 1)[-1].lower().removesuffix(".exe").removesuffix(".scr")


def _text(characters: Any, length: int) -> str:
    return bytes(characters)[: 2 * max(0, length)].decode("utf-16-le", "replace")


ONLINE, OFFLINE = 1, 0
CHARGING, NO_BATTERY, UNKNOWN_BYTE = 8, 128, 255


class PowerSource(_Stateless):
    """Mains or battery."""

    name = "GetSystemPowerStatus"

    def read(self) -> Power:
        status = PowerStatus()
        if not self._find("kernel32.GetSystemPowerStatus")(ctypes.byref(status)):
            raise SourceError(notice("power.windows_not_told"))
        flag = 0 if status.BatteryFlag == UNKNOWN_BYTE else status.BatteryFlag
        known = status.BatteryLifePercent <= 100 and not flag & NO_BATTERY
        charge = status.BatteryLifePercent / 100 if known else None
        if status.ACLineStatus in (ONLINE, OFFLINE):
            # a PC without a battery is on mains whatever it says
            return Power(status.ACLineStatus == ONLINE or bool(flag & NO_BATTERY), charge)
        if flag & (CHARGING | NO_BATTERY):
            return Power(True, charge)
        raise SourceError(notice("power.windows_unknown"))


NETWORK_LIST_MANAGER = "DCB00C01-570F-4A9B-8D69-199FDBA5723B"
NETWORK_COST_MANAGER = "DCB00008-570F-4A9B-8D69-199FDBA5723B"
MULTITHREADED, ALL_CONTEXTS = 0, 23
RELEASE, GET_COST = 2, 3
"""Places in the table of methods of INetworkCostManager, after QueryInterface and AddRef."""
COSTS_UNKNOWN = 0
COSTS_MONEY = 0x2 | 0x4 | 0x10000 | 0x40000
"""NLM_CONNECTION_COST: FIXED, VARIABLE, OVERDATALIMIT, ROAMING."""
METHOD = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)


def guid(text: str) -> Guid:
    """A GUID from its text."""
    return Guid.from_buffer_copy(uuid.UUID(text).bytes_le)


class NetworkCost:
    """Whether bytes cost money, as Windows or the user said of this network (INetworkCostManager).

    COM binds it to the thread that made it, which is the source's own.
    """

    name = "INetworkCostManager"

    def __init__(self, find: Table) -> None:
        self._find = find
        self._initialized = find("ole32.CoInitializeEx")(None, MULTITHREADED) >= 0
        self._manager = ctypes.c_void_p()
        class_, interface = guid(NETWORK_LIST_MANAGER), guid(NETWORK_COST_MANAGER)
        made = find("ole32.CoCreateInstance")(
            ctypes.byref(class_), None, ALL_CONTEXTS, ctypes.byref(interface), ctypes.byref(self._manager)
        )
        if made < 0 or not self._manager.value:
            self._manager.value = None
            self.close()
            raise SourceError(notice("metered.windows_not_told"))

    def _method(self, place: int, *types: Any) -> Callable[..., Any]:
        """A method of the object: its first word points to the table of its methods."""
        table = ctypes.cast(self._manager, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
        method: Callable[..., Any] = METHOD(*types)(table[place] or 0)
        return method

    def read(self) -> bool:
        cost = DWORD()
        result = self._method(GET_COST, LONG, POINTER, OUT, POINTER)(self._manager, ctypes.byref(cost), None)
        if result < 0 or cost.value == COSTS_UNKNOWN:
            raise SourceError(notice("metered.windows_unknown"))
        return bool(cost.value & COSTS_MONEY)

    def close(self) -> None:
        if self._manager.value:
            self._method(RELEASE, DWORD, POINTER)(self._manager)
            self._manager.value = None
        if self._initialized:
            self._initialized = False
            self._find("ole32.CoUninitialize")()
