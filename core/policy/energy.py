"""Electricity that Hearth used: by day and device, measured where something measures, otherwise an estimate marked so.

What a device takes is shared among programs by the time that they use it: the figure is Hearth's part of it, also of
what the device would take if it did nothing, as nobody else uses it then.
"""

import dataclasses
import logging
import math
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from core.errors import DataFolderError
from core.policy.signals.reading import Gpu
from core.settings_file import write_atomically

log = logging.getLogger(__name__)

FILE = "energy.json"
CPU = "cpu"
WATTS_A_CORE = 5.0
"""A guess: PCs of 16 logical cores take about 80 W for the processor under full load; laptops half, servers alike."""
GPU_WATTS = 120.0
"""A guess for a graphics processor that tells its use but not its power."""
GAP_S = 10.0
"""A longer time between two measurements is not counted: the PC slept, or this process was stopped."""
DAYS = 400
DEVICES = 64
"""Limits of the file; the oldest days go first."""
JOULES_A_KWH = 3.6e6

Joules = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


@dataclasses.dataclass(frozen=True)
class Draw:
    """What a device takes for Hearth at this moment."""

    watts: float
    measured: bool


class Used(msgspec.Struct):
    """Joules of one device on one day."""

    measured: Joules = 0.0
    estimated: Joules = 0.0


class Book(msgspec.Struct):
    """All that was used, by day (local time) and device."""

    version: int = 1
    days: dict[Day, Annotated[dict[Name, Used], msgspec.Meta(max_length=2 * DEVICES)]] = {}

    def kwh(self, period: str = "") -> float:
        """Of a day ("2026-11-21"), a month ("2026-11"), a year, or all time that is kept."""
        return sum(used.measured + used.estimated for used in self._of(period)) / JOULES_A_KWH

    def kwh_by_device(self, period: str = "") -> dict[str, float]:
        """The same, by device."""
        found: dict[str, float] = {}
        for day, devices in self.days.items():
            if day.startswith(period):
                for device, used in devices.items():
                    found[device] = found.get(device, 0.0) + (used.measured + used.estimated) / JOULES_A_KWH
        return found

    def measured_share(self, period: str = "") -> float:
        """How much of it was measured, 0 to 1; below 1 it is to be shown as an estimate."""
        measured = sum(used.measured for used in self._of(period))
        total = measured + sum(used.estimated for used in self._of(period))
        return measured / total if total else 1.0

    def _of(self, period: str) -> Iterable[Used]:
        return (used for day, devices in self.days.items() if day.startswith(period) for used in devices.values())

    def add(self, day: str, device: str, joules: float, measured: bool) -> None:
        """Write down what a device used."""
        devices = self.days.setdefault(day, {})
        if device not in devices and len(devices) >= DEVICES:
            return
        used = devices.setdefault(device, Used())
        if measured:
            used.measured += joules
        else:
            used.estimated += joules
        while len(self.days) > DAYS:
            del self.days[min(self.days)]


class Meter:
    """Adds up what the devices take. Who owns it loads and saves its book."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._at: float | None = None

    def step(self, now: float, wall: float, draws: Mapping[str, Draw]) -> None:
        """Count what the devices took since the last call.

        Args:
            now: seconds of a clock that only grows.
            wall: the time of day, Unix; it decides only which day it is counted to.
            draws: by device, as measured now.
        """
        before, self._at = self._at, now
        seconds = 0.0 if before is None else now - before
        if not 0.0 < seconds <= GAP_S:
            return
        day = time.strftime("%Y-%m-%d", time.localtime(wall))
        for device, draw in draws.items():
            if math.isfinite(draw.watts) and draw.watts > 0.0:
                self.book.add(day, device, draw.watts * seconds, draw.measured)


def month(wall: float) -> str:
    """The period of the calendar month, as `Book.kwh` takes it."""
    return time.strftime("%Y-%m", time.localtime(wall))


def cost(kwh: float, price_kwh: float) -> float:
    """In the currency of the price."""
    return kwh * price_kwh


def co2_kg(kwh: float, g_kwh: float) -> float:
    """Kilograms of carbon dioxide."""
    return kwh * g_kwh / 1000


def over_budget(book: Book, wall: float, budget_kwh: float) -> bool:
    """Whether this month's budget is used up; 0 is none."""
    return budget_kwh > 0 and book.kwh(month(wall)) >= budget_kwh


def cpu_draw(own: float, others: float | None, watts: float | None, estimate_watts: float, cores: int) -> Draw:
    """What the processor takes for Hearth.

    Args:
        own: share of all cores that Hearth uses, 0 to 1.
        others: the others' share; None if unknown.
        watts: of the whole processor as measured; None if nothing measures.
        estimate_watts: what the user says that it takes under full load; 0: a guess from the cores.
        cores: logical ones.
    """
    own = min(1.0, max(0.0, own))
    if own == 0.0:
        return Draw(0.0, watts is not None)
    if watts is not None and others is not None:
        return Draw(watts * own / (own + others), True)
    return Draw((estimate_watts or WATTS_A_CORE * cores) * own, False)


def gpu_draws(gpus: Iterable[Gpu], used: Collection[str]) -> dict[str, Draw]:
    """What graphics processors take for Hearth.

    Args:
        gpus: as read.
        used: ids of those on which Hearth computes at the moment.
    """
    return {gpu.id: _gpu_draw(gpu) for gpu in gpus if gpu.id in used}


def _gpu_draw(gpu: Gpu) -> Draw:
    if gpu.own is None or gpu.others is None:  # the card does not tell whose work it does
        return Draw(GPU_WATTS if gpu.watts is None else gpu.watts, False)
    if gpu.watts is None:
        return Draw(GPU_WATTS * gpu.own, False)
    # between two kernels the card may do nothing at all: then it is still kept awake for Hearth
    return Draw(gpu.watts * gpu.own / (gpu.own + gpu.others) if gpu.own + gpu.others else gpu.watts, True)


def load(folder: Path) -> Book:
    """The book in the data folder; a damaged one is set aside, and a new one begun."""
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Book)
    except FileNotFoundError:
        return Book()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        log.warning("%s could not be read and was set aside: %s", path, error)
        try:
            path.replace(path.with_name(f"energy.bad-{time.strftime('%Y%m%d-%H%M%S')}.json"))
        except OSError:
            pass
        return Book()


def save(folder: Path, book: Book) -> None:
    """Write the book; a failure is logged, and the next call tries again."""
    try:
        write_atomically(folder / FILE, msgspec.json.encode(book))
    except DataFolderError as error:
        log.warning("%s", error)
