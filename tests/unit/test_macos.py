"""macOS' signals over recorded answers of its functions. Not run on macOS yet."""

import ctypes
import platform
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.policy.signals import macos, plausible
from core.policy.signals.foreign import Table
from core.policy.signals.macos_api import SIGNATURES, Rect
from core.policy.signals.reading import Front, Power, SourceError
from tests.unit.recorded_calls import at, recorded

U32 = ctypes.c_uint32
KINDS: list[type] = [str, float, bool, dict, list]


class CoreFoundation:
    """Core Foundation over Python values: references are numbers, and what is not released is found out.

    As the real one, it ends the process (here: the test) when a value is asked as what it is not.
    """

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self.owned: list[int] = []
        self.errors: list[str] = []

    def new(self, value: Any) -> int:
        ref = 0x1000 + len(self.values)
        self.values[ref] = float(value) if type(value) is int else value
        return ref

    def copy(self, value: Any) -> int | None:
        """What a function called Copy or Create returns."""
        if value is None:
            return None
        self.owned.append(self.new(value))
        return self.owned[-1]

    def value(self, ref: int, kind: type) -> Any:
        if type(self.values[ref]) is not kind:
            self.errors.append(f"{self.values[ref]!r} asked as {kind}")
            return kind()
        return self.values[ref]

    def _release(self, ref: int) -> None:
        if ref not in self.owned:
            self.errors.append(f"{ref} released, but not owned")
            return
        self.owned.remove(ref)

    def _string(self, allocator: int | None, text: bytes, encoding: int) -> int:
        assert encoding == 0x08000100
        return self.new(text.decode())

    def _c_string(self, ref: int, buffer: int, size: int, encoding: int) -> int:
        data = self.value(ref, str).encode() + b"\0"
        ctypes.memmove(buffer, data, min(len(data), size))
        return int(len(data) <= size)

    def _number(self, ref: int, kind: int, out: int) -> int:
        assert kind == 6
        at(ctypes.c_double, out).value = self.value(ref, float)
        return 1

    def _lookup(self, dictionary: int, key: int) -> int | None:
        found = self.value(dictionary, dict).get(self.values[key])
        return None if found is None else self.new(found)

    def functions(self) -> dict[str, Callable[..., Any]]:
        functions: dict[str, Callable[..., Any]] = {
            "CFStringCreateWithCString": self._string,
            "CFStringGetCString": self._c_string,
            "CFGetTypeID": lambda ref: KINDS.index(type(self.values[ref])),
            "CFNumberGetValue": self._number,
            "CFBooleanGetValue": lambda ref: int(self.value(ref, bool)),
            "CFDictionaryGetValue": self._lookup,
            "CFArrayGetCount": lambda ref: len(self.value(ref, list)),
            "CFArrayGetValueAtIndex": lambda ref, index: self.new(self.value(ref, list)[index]),
            "CFRelease": self._release,
        }
        for number, name in enumerate(("String", "Number", "Boolean", "Dictionary", "Array")):
            functions[f"CF{name}GetTypeID"] = lambda number=number: number
        return {f"CoreFoundation.{name}": function for name, function in functions.items()}


@pytest.fixture
def core() -> Iterator[CoreFoundation]:
    made = CoreFoundation()
    yield made
    assert (made.errors, made.owned) == ([], [])


def table(core: CoreFoundation, **functions: Callable[..., Any]) -> Table:
    named = {name.split(".")[1]: name for name in SIGNATURES}
    return recorded(SIGNATURES, {**core.functions(), **{named[name]: call for name, call in functions.items()}})


def devices(core: CoreFoundation, idle: Any, released: list[int]) -> dict[str, Callable[..., Any]]:
    def release(service: int) -> int:
        released.append(service)
        return 0

    return {
        "IOServiceMatching": lambda name: 0x77 if name == b"IOHIDSystem" else None,
        "IOServiceGetMatchingService": lambda port, matching: 0x99 if matching == 0x77 else 0,
        "IORegistryEntryCreateCFProperty": lambda service, key, allocator, options: core.copy(
            {"HIDIdleTime": idle}.get(core.values[key])
        ),
        "IOObjectRelease": release,
    }


@pytest.mark.parametrize(
    ("nanoseconds", "events_s", "idle_s"),
    [
        (12.5e9, 40.0, 12.5),
        (500e9, 3.0, 3.0),
        (None, 3.0, 3.0),
        ("soon", 4.0, 4.0),
        (2e9, float("nan"), 2.0),
        (2e9, -1.0, 2.0),
    ],
)
def test_idle_time_is_the_shorter_of_two(
    core: CoreFoundation, nanoseconds: Any, events_s: float, idle_s: float
) -> None:
    def events(state: int, kind: int) -> float:
        assert (state, kind) == (0, 0xFFFFFFFF)
        return events_s

    released: list[int] = []
    calls = devices(core, nanoseconds, released)
    assert macos.Idle(table(core, CGEventSourceSecondsSinceLastEventType=events, **calls)).read() == idle_s
    assert released == [0x99]


def test_idle_time_that_nothing_tells(core: CoreFoundation) -> None:
    calls = devices(core, None, [])
    with pytest.raises(SourceError, match="does not report when"):
        macos.Idle(table(core, **calls)).read()
    calls["IOServiceGetMatchingService"] = lambda port, matching: 0
    with pytest.raises(SourceError, match="does not report when"):
        macos.Idle(table(core, **calls)).read()


@pytest.mark.parametrize(
    ("session", "locked"),
    [
        ({"kCGSSessionOnConsoleKey": True}, False),
        ({"kCGSSessionOnConsoleKey": True, "CGSSessionScreenIsLocked": True}, True),
        ({"CGSSessionScreenIsLocked": 1.0}, True),
        ({"kCGSSessionOnConsoleKey": False}, True),
        ({}, False),
        (None, None),
    ],
)
def test_the_session_lock(core: CoreFoundation, session: dict[str, Any] | None, locked: bool | None) -> None:
    source = macos.SessionLock(table(core, CGSessionCopyCurrentDictionary=lambda: core.copy(session)))
    if locked is None:
        with pytest.raises(SourceError, match="outside of a desktop session"):
            source.read()
    else:
        assert source.read() is locked


def window(owner: str, x: float, y: float, width: float, height: float, layer: float = 0.0) -> dict[str, Any]:
    bounds = {"X": x, "Y": y, "Width": width, "Height": height}
    return {"kCGWindowOwnerName": owner, "kCGWindowLayer": layer, "kCGWindowAlpha": 1.0, "kCGWindowBounds": bounds}


MENU_BAR = window("Window Server", 0, 0, 1512, 37, 24.0)
DOCK = window("Dock", 0, 0, 1512, 982, 20.0)
OVERLAY = window("Flux", 0, 0, 1512, 982) | {"kCGWindowAlpha": 0.0}


@pytest.mark.parametrize(
    ("windows", "front"),
    [
        ([MENU_BAR, DOCK, window("Safari", 20, 60, 900, 700)], Front("window", "safari")),
        ([window("Keynote", 0, 0, 1512, 982)], Front("fullscreen", "keynote")),
        ([window("Hearth", 0, 0, 1512, 982)], Front("window", "hearth")),
        ([window("Safari", 0, 37, 1512, 945)], Front("fullscreen", "safari")),  # below the notch
        ([MENU_BAR, window("Safari", 0, 37, 1512, 945)], Front("window", "safari")),  # a large window
        ([MENU_BAR, window("Game", 1512, 0, 1920, 1080, 2147483628.0)], Front("fullscreen", "game")),
        ([OVERLAY, DOCK, window("Mail", 0, 90, 800, 600)], Front("window", "mail")),
        ([window("Mail", 0, 90, 800, 600), window("Film", 1512, 0, 1920, 1080)], Front("window", "mail")),
        ([{"kCGWindowLayer": "zero"}, {"kCGWindowLayer": 0.0, "kCGWindowBounds": 7.0}], Front("window", "")),
        ([], Front("window", "")),
        (None, None),
    ],
)
def test_what_is_in_front(core: CoreFoundation, windows: list[dict[str, Any]] | None, front: Front | None) -> None:
    def displays(room: int, found: int, count: int) -> int:
        at(U32 * 2, found)[:] = [5, 8]
        at(U32, count).value = 2
        return 0

    def bounds(display: int) -> Rect:
        return {5: Rect(0, 0, 1512, 982), 8: Rect(1512, 0, 1920, 1080)}[display]

    source = macos.InFront(
        table(
            core,
            CGWindowListCopyWindowInfo=lambda options, relative: core.copy(windows) if options == 17 else None,
            CGGetActiveDisplayList=displays,
            CGDisplayBounds=bounds,
        )
    )
    if front is None:
        with pytest.raises(SourceError, match="outside of a desktop session"):
            source.read()
    else:
        assert source.read() == front


BATTERY = {"Type": "InternalBattery", "Current Capacity": 81.0, "Max Capacity": 100.0}


@pytest.mark.parametrize(
    ("providing", "sources", "power"),
    [
        ("AC Power", [], Power(True)),
        ("AC Power", [BATTERY], Power(True, 0.81)),
        ("Battery Power", [BATTERY], Power(False, 0.81)),
        ("Battery Power", [BATTERY | {"Max Capacity": 0.0}], Power(False)),
        ("UPS Power", [{"Type": "UPS", "Current Capacity": 3000.0, "Max Capacity": 2000.0}], Power(False, 1.0)),
        (
            "Battery Power",
            [{"Type": "Mouse", "Current Capacity": 5.0, "Max Capacity": 100.0}, BATTERY],
            Power(False, 0.81),
        ),
        ("Sun", [], None),
    ],
)
def test_the_power_source(core: CoreFoundation, providing: str, sources: list[Any], power: Power | None) -> None:
    source = macos.PowerSource(
        table(
            core,
            IOPSCopyPowerSourcesInfo=lambda: core.copy({}),
            IOPSGetProvidingPowerSourceType=lambda info: core.new(providing),
            IOPSCopyPowerSourcesList=lambda info: core.copy(sources),
            IOPSGetPowerSourceDescription=lambda info, each: each,
        )
    )
    if power is None:
        with pytest.raises(SourceError, match="does not know"):
            source.read()
    else:
        assert source.read() == power


@pytest.mark.parametrize(("level", "hot"), [(0, False), (1, False), (2, True), (3, True), (99, None)])
def test_heat(core: CoreFoundation, level: int, hot: bool | None) -> None:
    def register(name: bytes, token: int) -> int:
        assert name == b"com.apple.system.thermalpressurelevel"
        at(ctypes.c_int32, token).value = 6
        return 0

    def state(token: int, out: int) -> int:
        at(ctypes.c_uint64, out).value = level
        return 0 if token == 6 else 1

    cancelled: list[int] = []

    def cancel(token: int) -> int:
        cancelled.append(token)
        return 0

    functions: dict[str, Callable[..., Any]] = {
        "notify_register_check": register,
        "notify_get_state": state,
        "notify_cancel": cancel,
    }
    source = macos.Pressure(table(core, **functions))
    if hot is None:
        with pytest.raises(SourceError, match="does not know"):
            source.read()
    else:
        assert source.read() is hot
    source.close()
    assert cancelled == [6]
    with pytest.raises(SourceError, match="does not report"):
        macos.Pressure(table(core, **functions | {"notify_register_check": lambda name, token: 1_000_000}))


def test_a_rectangle_is_as_large_as_on_64_bit_macos_and_every_signal_has_a_source(core: CoreFoundation) -> None:
    assert ctypes.sizeof(Rect) == 32
    assert set(macos.sources(table(core))) == {"idle_s", "locked", "front", "power", "hot", "gpus"}


def test_apples_own_chips_have_a_graphics_processor_and_others_are_asked_of_nvml(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    found = macos.AppleGpu().read()
    assert [gpu.id for gpu in found] == ["mps"] and plausible.gpus(found)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(SourceError, match="no Apple chip"):
        macos.AppleGpu()
