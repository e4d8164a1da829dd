"""Windows' signals over recorded answers of its functions. Not run on Windows yet."""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import pytest

from core.policy.signals import windows
from core.policy.signals.reading import Front, Power, SourceError
from core.policy.signals.windows_api import (
    SIGNATURES,
    Guid,
    LastInput,
    Monitor,
    Pad,
    PowerStatus,
    Rect,
    Session,
    SessionLevel1,
)
from tests.unit.recorded_calls import at, recorded

U32, U16, PTR = ctypes.c_uint32, ctypes.c_uint16, ctypes.c_void_p


def test_structures_are_as_large_as_on_64_bit_windows() -> None:
    sizes = {LastInput: 8, Pad: 16, PowerStatus: 12, Rect: 16, Monitor: 40, Session: 232, Guid: 16}
    assert {kind: ctypes.sizeof(kind) for kind in sizes} == sizes
    assert (Session.Data.offset, Session.Data.offset + SessionLevel1.SessionFlags.offset) == (8, 16)
    assert bytes(windows.guid(windows.NETWORK_LIST_MANAGER)).hex() == "010cb0dc0f579b4a8d69199fdba5723b"


def input_at(ticks: int, now: int, pads: Callable[[int, int], int] | None = None) -> dict[str, Callable[..., Any]]:
    def last_input(info: int) -> int:
        assert at(LastInput, info).cbSize == 8
        at(LastInput, info).dwTime = ticks
        return 1

    calls: dict[str, Callable[..., Any]] = {
        "user32.GetLastInputInfo": last_input,
        "kernel32.GetTickCount": lambda: now,
    }
    if pads:
        calls["xinput1_4.XInputGetState"] = pads
    return calls


@pytest.mark.parametrize(
    ("ticks", "now", "idle_s"),
    [
        (1_000, 61_000, 60.0),
        (5, 5, 0.0),
        (2**32 - 4_000, 6_000, 10.0),  # the counter wrapped after 49.7 days
        (61_016, 61_000, 0.0),  # the input's time is a tick ahead
        (0, 2**32 - 100_000, 4294867.296),
    ],
)
def test_idle_time(ticks: int, now: int, idle_s: float) -> None:
    assert windows.Idle(recorded(SIGNATURES, input_at(ticks, now))).read() == idle_s


def test_idle_time_that_windows_does_not_tell() -> None:
    table = recorded(SIGNATURES, {"user32.GetLastInputInfo": lambda info: 0})
    with pytest.raises(SourceError, match="does not report"):
        windows.Idle(table).read()
    with pytest.raises(SourceError, match=r"no function user32\.GetLastInputInfo"):
        windows.Idle(recorded(SIGNATURES, {})).read()


def test_a_game_pad_is_use_and_its_wandering_sticks_are_none() -> None:
    asked: list[int] = []
    pads: dict[int, Pad] = {}
    clock = [50.0]

    def get_state(index: int, state: int) -> int:
        asked.append(index)
        if index not in pads:
            return 1167  # ERROR_DEVICE_NOT_CONNECTED
        ctypes.memmove(state, ctypes.byref(pads[index]), ctypes.sizeof(Pad))
        return 0

    source = windows.Idle(recorded(SIGNATURES, input_at(0, 600_000, get_state)), lambda: clock[0])
    assert source.read() == 600.0 and asked == [0, 1, 2, 3]
    pads[2] = Pad(dwPacketNumber=1)
    assert source.read() == 600.0 and asked == [0, 1, 2, 3]  # those that are absent are not asked at once
    clock[0] += windows.ABSENT_S
    assert source.read() == 600.0
    pads[2] = Pad(dwPacketNumber=2, sThumbLX=1200, sThumbRY=-3000, bLeftTrigger=4)
    assert source.read() == 600.0
    pads[2] = Pad(dwPacketNumber=3, sThumbLX=-32768)
    assert source.read() == 0.0
    clock[0] += 2.0
    assert source.read() == 2.0  # held, and the pad sends nothing
    for number, pad in enumerate((Pad(wButtons=0x1000), Pad(), Pad(bRightTrigger=200), Pad(sThumbRX=20_000))):
        pad.dwPacketNumber = 4 + number
        pads[2] = pad
        clock[0] += 1.0
        assert source.read() == 0.0
    del pads[2]
    clock[0] += 3.0
    assert source.read() == 3.0


def test_older_windows_has_another_library_for_pads_or_none() -> None:
    calls = input_at(0, 1000)
    assert windows.Idle(recorded(SIGNATURES, calls)).read() == 1.0
    calls["xinput9_1_0.XInputGetState"] = lambda index, state: 1167
    source = windows.Idle(recorded(SIGNATURES, calls))
    assert source.read() == 1.0 and source._pads.idle_s() == math.inf


@pytest.mark.parametrize(("flags", "locked"), [(0, True), (1, False), (-1, None)])
def test_the_session_lock(flags: int, locked: bool | None) -> None:
    session = Session(Level=1)
    session.Data.SessionFlags = flags
    freed: list[int] = []

    def query(server: int | None, number: int, what: int, buffer: int, size: int) -> int:
        assert (server, number, what) == (None, 0xFFFFFFFF, 25)
        at(PTR, buffer).value, at(U32, size).value = ctypes.addressof(session), ctypes.sizeof(session)
        return 1

    table = recorded(
        SIGNATURES, {"wtsapi32.WTSQuerySessionInformationW": query, "wtsapi32.WTSFreeMemory": freed.append}
    )
    if locked is None:
        with pytest.raises(SourceError, match="does not know"):
            windows.SessionLock(table).read()
    else:
        assert windows.SessionLock(table).read() is locked
    assert freed == [ctypes.addressof(session)]


def test_the_input_desktop_is_out_of_reach_while_locked() -> None:
    closed: list[int] = []

    def close(desktop: int) -> int:
        closed.append(desktop)
        return 1

    calls = {
        "user32.OpenInputDesktop": lambda *a: 0x44,
        "user32.CloseDesktop": close,
    }
    assert windows.InputDesktop(recorded(SIGNATURES, calls)).read() is False and closed == [0x44]
    assert windows.InputDesktop(recorded(SIGNATURES, {"user32.OpenInputDesktop": lambda *a: None})).read() is True


def front(
    state: int,
    rect: tuple[int, int, int, int] = (100, 100, 900, 700),
    style: int = 0x14CF0000,
    class_name: str = "Chrome_WidgetWin_1",
    window: int | None = 0x10,
    program: str = "C:\\Games\\Hades II\\Hades2.EXE",
) -> Front:
    def put(text: str, address: int) -> int:
        data = text.encode("utf-16-le")
        ctypes.memmove(address, data, len(data))
        return len(text)

    def notification_state(address: int) -> int:
        at(ctypes.c_int32, address).value = state
        return 0 if state else -2147467259

    def window_rect(handle: int, address: int) -> int:
        ctypes.memmove(address, ctypes.byref(Rect(*rect)), 16)
        return 1

    def monitor_info(monitor: int, address: int) -> int:
        assert monitor == 0x99 and at(Monitor, address).cbSize == 40
        at(Monitor, address).rcMonitor = Rect(-1920, 0, 0, 1080)
        return 1

    def pid_of(handle: int, address: int) -> int:
        at(U32, address).value = 777
        return 1

    def image(process: int, flags: int, address: int, size: int) -> int:
        assert at(U32, size).value == 1024
        at(U32, size).value = put(program, address)
        return 1

    def close(handle: int) -> int:
        closed.append(handle)
        return 1

    closed: list[int] = []
    calls: dict[str, Callable[..., Any]] = {
        "shell32.SHQueryUserNotificationState": notification_state,
        "user32.GetForegroundWindow": lambda: window,
        "user32.GetShellWindow": lambda: 0x1,
        "user32.GetDesktopWindow": lambda: 0x2,
        "user32.GetClassNameW": lambda handle, text, size: put(class_name, text),
        "user32.GetWindowLongW": lambda handle, index: style,
        "user32.GetWindowRect": window_rect,
        "user32.MonitorFromWindow": lambda handle, flags: 0x99 if flags == 2 else None,
        "user32.GetMonitorInfoW": monitor_info,
        "user32.GetWindowThreadProcessId": pid_of,
        "kernel32.OpenProcess": lambda access, inherit, pid: 0x55 if (access, pid) == (0x1000, 777) else None,
        "kernel32.QueryFullProcessImageNameW": image,
        "kernel32.CloseHandle": close,
    }
    found = windows.InFront(recorded(SIGNATURES, calls)).read()
    assert closed == ([0x55] if window else [])
    return found


FULL = (-1920, 0, 0, 1080)


def test_what_is_in_front() -> None:
    borderless = -0x7C000000  # WS_POPUP | WS_VISIBLE ..., negative as LONG
    assert front(5) == Front("window", "hades2")
    assert front(3) == Front("game", "hades2")
    assert front(4) == Front("presentation", "hades2")
    assert front(2) == Front("fullscreen", "hades2")
    assert front(5, FULL, borderless) == Front("fullscreen", "hades2")
    assert front(0, FULL, borderless) == Front("fullscreen", "hades2")
    assert front(5, (-1928, -8, 8, 1088)) == Front("window", "hades2")  # maximised over a task bar that hides
    assert front(5, FULL, borderless, "WorkerW").kind == "window"
    assert front(5, FULL, borderless, window=0x1).kind == "window"
    assert front(1, window=None) == Front("window", "")
    assert front(1, FULL, borderless) == Front("window", "hades2")  # a screensaver, or the lock
    for own in ("C:\\Program Files\\Hearth\\Hearth.exe", "C:\\Windows\\Hearth.scr"):
        assert front(2, FULL, borderless, program=own) == Front("window", "hearth")


@pytest.mark.parametrize(
    ("ac", "flag", "percent", "power"),
    [
        (1, 8, 80, Power(True, 0.8)),
        (0, 1, 65, Power(False, 0.65)),
        (1, 128, 255, Power(True)),
        (0, 128, 255, Power(True)),
        (0, 255, 255, Power(False)),
        (255, 8, 40, Power(True, 0.4)),
        (255, 128, 255, Power(True)),
        (255, 255, 255, None),
        (0, 4, 200, Power(False)),
    ],
)
def test_the_power_source(ac: int, flag: int, percent: int, power: Power | None) -> None:
    def status(address: int) -> int:
        ctypes.memmove(address, ctypes.byref(PowerStatus(ac, flag, percent)), 12)
        return 1

    source = windows.PowerSource(recorded(SIGNATURES, {"kernel32.GetSystemPowerStatus": status}))
    if power is None:
        with pytest.raises(SourceError, match="does not know"):
            source.read()
    else:
        assert source.read() == power


class CostManager:
    """A COM object in memory: its first word points to the table of its methods."""

    def __init__(self, cost: int, result: int = 0) -> None:
        def get_cost(this: int, out: int, destination: int | None) -> int:
            assert this == ctypes.addressof(self.this) and destination is None
            at(U32, out).value = cost
            return result

        def release(this: int) -> int:
            self.released += 1
            return 0

        self.released = self.uninitialized = 0
        self._get_cost = windows.METHOD(ctypes.c_int32, PTR, PTR, PTR)(get_cost)
        self._release = windows.METHOD(U32, PTR)(release)
        methods = (ctypes.cast(method, PTR) for method in (self._release, self._get_cost))
        self._methods = (PTR * 6)(None, None, *methods)
        self.this = PTR(ctypes.addressof(self._methods))

    def create(self, class_: int, outer: int | None, context: int, interface: int, out: int) -> int:
        assert at(Guid, class_).Data1 == 0xDCB00C01 and at(Guid, interface).Data1 == 0xDCB00008
        at(PTR, out).value = ctypes.addressof(self.this)
        return 0

    def count(self) -> None:
        self.uninitialized += 1


@pytest.mark.parametrize(
    ("cost", "metered"),
    [(1, False), (2, True), (4, True), (0x10002, True), (0x40001, True), (0x20001, False), (0, None)],
)
def test_the_price_of_the_network(cost: int, metered: bool | None) -> None:
    manager = CostManager(cost)
    calls: dict[str, Callable[..., Any]] = {
        "ole32.CoInitializeEx": lambda reserved, model: 0,
        "ole32.CoCreateInstance": manager.create,
        "ole32.CoUninitialize": manager.count,
    }
    source = windows.NetworkCost(recorded(SIGNATURES, calls))
    if metered is None:
        with pytest.raises(SourceError, match="does not know"):
            source.read()
    else:
        assert source.read() is metered
    source.close()
    source.close()
    assert (manager.released, manager.uninitialized) == (1, 1)


def test_a_windows_without_a_cost_manager() -> None:
    ended: list[int] = []
    calls: dict[str, Callable[..., Any]] = {
        "ole32.CoInitializeEx": lambda reserved, model: 0,
        "ole32.CoCreateInstance": lambda *arguments: -2147221164,  # REGDB_E_CLASSNOTREG
        "ole32.CoUninitialize": lambda: ended.append(1),
    }
    with pytest.raises(SourceError, match="does not report what the network costs"):
        windows.NetworkCost(recorded(SIGNATURES, calls))
    assert ended == [1]


def test_every_signal_has_its_sources_in_order() -> None:
    opened = {signal: len(opens) for signal, opens in windows.sources(recorded(SIGNATURES, {})).items()}
    assert opened == {"idle_s": 1, "locked": 2, "front": 1, "power": 1, "metered": 1}
