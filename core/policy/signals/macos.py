"""macOS: idle time, lock, what is in front, power, heat, Apple's graphics processor. Not yet run on macOS.

By ctypes alone, and importable everywhere: `core.policy.signals.foreign.Table` finds the functions. Whether the network
is expensive is not told: only Network.framework knows, by blocks, which ctypes cannot make safely.
"""

import ctypes
import math
import platform
from typing import Any

from core.contracts.notices import notice
from core.policy.signals.foreign import Table
from core.policy.signals.macos_api import I32, U32, U64, Core, Rect, system
from core.policy.signals.reading import OWN, Front, Gpu, Open, Power, SourceError, Stateless


def sources(table: Table | None = None) -> dict[str, list[Open[Any]]]:
    """By the fields of `Signals`."""
    find = table or system()
    return {
        "idle_s": [lambda wake: Idle(find)],
        "locked": [lambda wake: SessionLock(find)],
        "front": [lambda wake: InFront(find)],
        "power": [lambda wake: PowerSource(find)],
        "hot": [lambda wake: Pressure(find)],
        "gpus": [lambda wake: AppleGpu()],
    }


class _Source(Stateless):
    """A source that reads values of Core Foundation."""

    def __init__(self, find: Table) -> None:
        self._find, self._core = find, Core(find)


COMBINED_SESSION, ANY_INPUT = 0, 0xFFFFFFFF
"""kCGEventSourceStateCombinedSessionState, kCGAnyInputEventType."""


class Idle(_Source):
    """The shorter of what the input devices and the session's events say."""

    name = "HIDIdleTime"

    def read(self) -> float:
        found = [seconds for seconds in (self._devices(), self._events()) if seconds is not None]
        if not found:
            raise SourceError(notice("idle.macos_not_told"))
        return min(found)

    def _devices(self) -> float | None:
        find = self._find
        # IOServiceGetMatchingService releases the description that it is given
        service = find("IOKit.IOServiceGetMatchingService")(0, find("IOKit.IOServiceMatching")(b"IOHIDSystem"))
        if not service:
            return None
        try:
            value = find("IOKit.IORegistryEntryCreateCFProperty")(service, self._core.key("HIDIdleTime"), None, 0)
            with self._core.owned(value):
                nanoseconds = self._core.number(value)
        finally:
            find("IOKit.IOObjectRelease")(service)
        return None if nanoseconds is None else nanoseconds / 1e9

    def _events(self) -> float | None:
        try:
            seconds = self._find("CoreGraphics.CGEventSourceSecondsSinceLastEventType")(COMBINED_SESSION, ANY_INPUT)
        except SourceError:
            return None
        return float(seconds) if math.isfinite(seconds) and seconds >= 0 else None


class SessionLock(_Source):
    """Whether the screen is locked or another user's session is shown. Apple names the key nowhere; it is old."""

    name = "CGSession"

    def read(self) -> bool:
        core = self._core
        with core.owned(self._find("CoreGraphics.CGSessionCopyCurrentDictionary")()) as session:
            if session is None:
                raise SourceError(notice("desktop.outside"))
            shown = core.flag(core.get(session, "kCGSSessionOnConsoleKey"))
            return bool(core.flag(core.get(session, "CGSSessionScreenIsLocked"))) or shown is False


ON_SCREEN, NO_DESKTOP = 1, 16
NORMAL_LAYER, MENU_BAR_LAYER, SHIELD_LAYER = 0, 24, 1000
DISPLAYS = 16
NOTCH = 40.0
"""Points at the top of some displays where no full-screen window is shown."""
PARTS_OF_MACOS = {"Window Server", "Dock", "WindowManager", "Control Center", "Notification Center", "loginwindow"}


class InFront(_Source):
    """The first window, if it covers its display."""

    name = "CGWindowList"

    def read(self) -> Front:
        core = self._core
        listed = self._find("CoreGraphics.CGWindowListCopyWindowInfo")(ON_SCREEN | NO_DESKTOP, 0)
        with core.owned(listed):
            if listed is None:
                raise SourceError(notice("desktop.outside"))
            windows = list(core.items(listed))
            menu_bar = any(self._layer(window) == MENU_BAR_LAYER for window in windows)
            for window in windows:
                owner = core.text(core.get(window, "kCGWindowOwnerName"))
                layer, alpha = self._layer(window), core.number(core.get(window, "kCGWindowAlpha"))
                ordinary = layer == NORMAL_LAYER or layer >= SHIELD_LAYER
                if ordinary and owner not in PARTS_OF_MACOS and (alpha is None or alpha > 0.05):
                    full = self._covers(core.get(window, "kCGWindowBounds"), menu_bar) and owner.lower() != OWN
                    return Front("fullscreen" if full else "window", owner.lower())
        return Front("window")

    def _layer(self, window: int) -> float:
        layer = self._core.number(self._core.get(window, "kCGWindowLayer"))
        return -1.0 if layer is None else layer

    def _covers(self, bounds: int | None, menu_bar: bool) -> bool:
        """Whether a window fills a display; below a notch only if the menu bar is gone, else it is a large window."""
        core = self._core
        x, y, width, height = (core.number(core.get(bounds, name)) or 0.0 for name in ("X", "Y", "Width", "Height"))
        displays, count = (U32 * DISPLAYS)(), U32()
        self._find("CoreGraphics.CGGetActiveDisplayList")(DISPLAYS, displays, ctypes.byref(count))
        for display in displays[: min(count.value, DISPLAYS)]:
            all_: Rect = self._find("CoreGraphics.CGDisplayBounds")(display)
            wide = x <= all_.x and x + width >= all_.x + all_.width
            to_the_end = y + height >= all_.y + all_.height
            if wide and to_the_end and (y <= all_.y or (y <= all_.y + NOTCH and not menu_bar)):
                return True
        return False


class PowerSource(_Source):
    """Mains or battery."""

    name = "IOPowerSources"

    def read(self) -> Power:
        find, core = self._find, self._core
        with core.owned(find("IOKit.IOPSCopyPowerSourcesInfo")()) as info:
            if info is None:
                raise SourceError(notice("power.macos_not_told"))
            source = core.text(find("IOKit.IOPSGetProvidingPowerSourceType")(info))
            if source not in ("AC Power", "Battery Power", "UPS Power"):
                raise SourceError(notice("power.macos_unknown"))
            with core.owned(find("IOKit.IOPSCopyPowerSourcesList")(info)) as listed:
                described = (find("IOKit.IOPSGetPowerSourceDescription")(info, each) for each in core.items(listed))
                charges = [charge for each in described if (charge := self._charge(each)) is not None]
        return Power(source == "AC Power", min(charges, default=None))

    def _charge(self, source: int | None) -> float | None:
        core = self._core
        if core.text(core.get(source, "Type")) not in ("InternalBattery", "UPS"):
            return None
        now, full = (core.number(core.get(source, f"{name} Capacity")) for name in ("Current", "Max"))
        return min(1.0, now / full) if now is not None and full else None


PRESSURE = b"com.apple.system.thermalpressurelevel"
HEAVY, SLEEPING = 2, 4
"""kOSThermalPressureLevel: nominal, moderate, heavy, trapping, sleeping."""


class Pressure:
    """Whether macOS slows this Mac down because it is hot (`core.policy.limits.heat_cpu` stops then)."""

    name = "thermal pressure"

    def __init__(self, find: Table) -> None:
        self._find = find
        self._token = I32()
        if find("System.notify_register_check")(PRESSURE, ctypes.byref(self._token)):
            raise SourceError(notice("hot.macos_not_told"))

    def read(self) -> bool:
        level = U64()
        if self._find("System.notify_get_state")(self._token.value, ctypes.byref(level)) or level.value > SLEEPING:
            raise SourceError(notice("hot.macos_unknown"))
        return level.value >= HEAVY

    def close(self) -> None:
        self._find("System.notify_cancel")(self._token.value)


class AppleGpu(Stateless):
    """The graphics processor of Apple's own chips: there always is one. Who uses it is told to no program that does not
    run as root."""

    name = "Apple's chip"

    def __init__(self) -> None:
        if platform.machine() != "arm64":
            raise SourceError(notice("gpus.no_apple_chip"))

    def read(self) -> tuple[Gpu, ...]:
        return (Gpu("mps", "Apple GPU"),)
