"""Where the electricity comes from: UPower, else what the kernel says of its power supplies."""

import math
from pathlib import Path

from core.contracts.notices import notice
from core.policy.signals.linux.bus import Object, OnBus
from core.policy.signals.reading import Power, SourceError, Stateless

UPOWER = Object.main("UPower", "org.freedesktop.UPower")
DISPLAY = UPOWER.at("/org/freedesktop/UPower/devices/DisplayDevice", "org.freedesktop.UPower.Device")
"""All batteries of the PC in one, as its panel shows them."""
_STORES = (2, 3)
"""UpDeviceKind: battery, uninterruptible power supply."""

SUPPLIES = Path("/sys/class/power_supply")
MAX_SUPPLIES = 64
FILE_BYTES = 64


class UPower(OnBus):
    """Power source and charge as the desktop's panel shows them."""

    name = "UPower"
    watched = UPOWER

    def read(self) -> Power:
        on_battery = self._bus.get(UPOWER, "OnBattery", "b")
        if not self._bus.get(DISPLAY, "IsPresent", "b") or self._bus.get(DISPLAY, "Type", "u") not in _STORES:
            return Power(mains=not on_battery)
        percent = self._bus.get(DISPLAY, "Percentage", "d")
        if not (math.isfinite(percent) and 0 <= percent <= 100):
            raise SourceError(notice("power.upower_odd"))
        return Power(mains=not on_battery, charge=percent / 100)


class PowerSupplies(Stateless):
    """The kernel's list of power supplies.

    Args:
        folder: a folder for each supply, in it a file for each of its properties.
    """

    name = "the kernel's power supplies"

    def __init__(self, folder: Path = SUPPLIES) -> None:
        self._folder = folder

    def read(self) -> Power:
        try:
            supplies = sorted(self._folder.iterdir())[:MAX_SUPPLIES]
        except OSError:
            raise SourceError(notice("power.kernel_none")) from None
        cables, batteries, damaged = [], [], 0
        for supply in supplies:
            kind = _text(supply / "type")
            if kind == "":
                damaged += 1
            elif kind in ("Battery", "UPS"):
                # A mouse or a headset has a battery too, which does not feed the PC.
                if _text(supply / "scope") != "Device" and _text(supply / "present") != "0":
                    batteries.append(supply)
            elif (online := _text(supply / "online")) in ("0", "1", "2"):
                cables.append(online != "0")
        if damaged and not cables and not batteries:
            raise SourceError(notice("power.kernel_unreadable"))
        return Power(_mains(cables, batteries), _charge(batteries))


def _mains(cables: list[bool], batteries: list[Path]) -> bool:
    """A cable that is on, or, without one that says so, a battery that is not being used up."""
    if cables:
        return any(cables)
    states = [_text(battery / "status") for battery in batteries]
    if batteries and not any(states):
        raise SourceError(notice("power.kernel_unknown"))
    return "Discharging" not in states


def _charge(batteries: list[Path]) -> float | None:
    """Of all batteries together, by what they hold where each says so."""
    held = [_held(battery) for battery in batteries]
    if held and all(full for now, full in held):
        return sum(now for now, full in held) / sum(full for now, full in held)
    percents = [percent for battery in batteries if (percent := _number(battery / "capacity", 100)) is not None]
    return sum(percents) / len(percents) / 100 if percents else None


def _held(battery: Path) -> tuple[float, float]:
    """Energy (µWh) in a battery, and when it is full; zeros if it does not say."""
    now, full = _number(battery / "energy_now"), _number(battery / "energy_full")
    if now is None or not full:
        return 0.0, 0.0
    return min(now, full), full  # a worn battery may hold more than it says it can


def _number(path: Path, high: float = 1e12) -> float | None:
    text = _text(path)
    if not (text.isascii() and text.isdigit()):
        return None
    return value if (value := float(text)) <= high else None


def _text(path: Path) -> str:
    """First line of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return ""
