"""The processor's temperature and power as Linux tells them: hwmon, thermal zones, RAPL.

Other systems tell neither to programs without special rights.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.contracts.notices import notice
from core.policy.signals.reading import Open, SourceError, Stateless

SYS_CLASS = Path("/sys/class")
CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "cputemp", "via_cputemp")
"""hwmon's names of chips that measure the processor."""
ZONES = ("x86_pkg_temp", "cpu", "soc")
"""Beginnings of the types of thermal zones that do. Not acpitz: on many PCs it says 27.8 degrees for ever."""
COLD, HOT = 0.0, 150.0
"""A sensor that says this or less, or this or more, is broken or absent."""
FIRST_S = 0.5
GAP_S = 60.0
"""Counters of energy wrap after minutes; after a gap that is longer (the PC slept) a new measurement begins."""


def sources() -> dict[str, list[Open[Any]]]:
    """By the names of `Signals`."""
    if sys.platform != "linux":
        return {}
    return {"celsius": [lambda wake: Temperature()], "watts": [lambda wake: Rapl()]}


def _text(file: Path) -> str:
    try:
        return file.read_text("utf8", "replace").strip()
    except OSError:
        return ""


class Temperature(Stateless):
    """The hottest of the processor's sensors.

    Where a sensor of the whole package is known only that one is read: reading a core's wakes the core.
    """

    def __init__(self, root: Path = SYS_CLASS) -> None:
        chip, self._files = _hwmon(root) or _zones(root)
        self.name = chip
        if not self._files:
            raise SourceError(notice("celsius.none"))

    def read(self) -> float:
        """Degrees Celsius."""
        found = [celsius for file in self._files if (celsius := _celsius(file)) is not None]
        if not found:
            raise SourceError(notice("celsius.sensor_silent", sensor=self.name))
        return max(found)


def _celsius(file: Path) -> float | None:
    try:
        celsius = int(file.read_bytes()) / 1000
    except (OSError, ValueError):  # the chip sleeps, was unplugged, or its driver is broken
        return None
    return celsius if COLD < celsius < HOT else None


def _hwmon(root: Path) -> tuple[str, list[Path]] | None:
    chips = {folder: _text(folder / "name") for folder in sorted((root / "hwmon").glob("hwmon*"))}
    for wanted in CHIPS:
        files: list[Path] = []
        for folder in (folder for folder, name in chips.items() if name == wanted):
            sensors = {file: _label(file) for file in sorted(folder.glob("temp*_input"))}
            files += _best(sensors)
        if any(_celsius(file) is not None for file in files):
            return wanted, files
    return None


def _label(sensor: Path) -> str:
    return _text(sensor.with_name(sensor.name.replace("_input", "_label")))


def _best(sensors: dict[Path, str]) -> list[Path]:
    """Of one chip: the package if it has one; not Tctl, which some AMD processors set 27 degrees too high, if it has
    the true Tdie."""
    for beginning in ("Package", "Tdie", "Tctl"):
        if found := [file for file, label in sensors.items() if label.startswith(beginning)]:
            return found
    return list(sensors)


def _zones(root: Path) -> tuple[str, list[Path]]:
    for zone in sorted((root / "thermal").glob("thermal_zone*")):
        kind = _text(zone / "type")
        if kind.startswith(ZONES) and _celsius(zone / "temp") is not None:
            return kind, [zone / "temp"]
    return "", []


class Rapl(Stateless):
    """Watts of the processors' packages and their memory, by Intel's and AMD's counters of energy.

    Linux lets only root read them since 2020, as they tell secrets of other programs (CVE-2020-8694).
    """

    name = "RAPL"

    def __init__(
        self,
        root: Path = SYS_CLASS,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now = now
        self._zones = {zone: int(_text(zone / "max_energy_range_uj") or 0) for zone in _domains(root / "powercap")}
        if not self._zones:
            raise SourceError(notice("watts.none"))
        self._at, self._before = now(), self._sample()
        self._watts = 0.0
        sleep(FIRST_S)
        self.read()

    def _sample(self) -> dict[Path, int]:
        try:
            return {zone: int((zone / "energy_uj").read_bytes()) for zone in self._zones}
        except PermissionError:
            raise SourceError(notice("watts.forbidden")) from None

    def read(self) -> float:
        """Mean since the last call."""
        at, after = self._now(), self._sample()
        seconds, before = at - self._at, self._before
        self._at, self._before = at, after
        if 0.0 < seconds < GAP_S:
            joules = sum(
                (after[zone] - before[zone] + (span if after[zone] < before[zone] else 0)) / 1e6
                for zone, span in self._zones.items()
            )
            self._watts = joules / seconds
        return self._watts


def _domains(powercap: Path) -> Iterator[Path]:
    """Packages, and the memory beside them; what is within a package (cores) is counted with it."""
    for zone in sorted(powercap.glob("intel-rapl:*")):
        name = _text(zone / "name")
        if name.startswith("package") or name == "dram":
            yield zone
