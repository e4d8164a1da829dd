"""Electricity for training, metered while the worker runs (`core.policy.energy` says what is counted)."""

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

from core.control.messages import EnergyStatus, EnergyUse
from core.policy import energy
from core.policy.energy import CPU, Draw, Meter
from core.policy.signals.processes import Own
from core.policy.signals.reading import Signals
from core.settings import Settings

STEP_S = 5.0
"""Between two measurements; shorter than `core.policy.energy.GAP_S`."""
SAVE_S = 300.0
"""Between two times that the book is written: the most that a crash forgets."""


class Energy:
    """The meter of one data folder."""

    def __init__(
        self, folder: Path, pids: Callable[[], Collection[int]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args: data folder, Hearth's own processes, seconds of a clock that only grows."""
        self._folder, self._clock = folder, clock
        self._meter = Meter(energy.load(folder))
        self._own = Own(pids)
        self._cores = os.cpu_count() or 1
        self._worked = self._dirty = False
        self._stepped = self._saved = clock()
        self.load: float | None = None
        """Share of all cores that Hearth used in the last seconds, 0 to 1."""
        self._day = self._month = (0.0, 1.0)
        self._sum()

    @property
    def kwh_month(self) -> float:
        """Used in this calendar month."""
        return self._month[0]

    def step(self, works: bool, signals: Signals, settings: Settings) -> None:
        """Count what was used since the last time. To be called about once a second.

        Args:
            works: compute is at work. At rest Hearth takes next to nothing, and a PC at rest that is on anyway is not
                counted as Hearth's.
        """
        self._worked |= works
        now = self._clock()
        seconds = now - self._stepped
        if seconds < STEP_S:
            return
        self._stepped = now
        self.load = min(1.0, self._own.step() / (seconds * self._cores))
        draws: dict[str, Draw] = {}
        if self._worked:
            others, watts = signals.cpu_others.value, signals.watts.value
            draws[CPU] = energy.cpu_draw(self.load, others, watts, settings.cpu_watts_estimate, self._cores)
        self._meter.step(now, time.time(), draws)
        self._dirty |= self._worked
        self._worked = works
        self._sum()
        if self._dirty and now - self._saved >= SAVE_S:
            self.save()

    def _sum(self) -> None:
        """The sums of today and this month, as `step` has left them."""
        book, now = self._meter.book, time.time()
        day, month = time.strftime("%Y-%m-%d", time.localtime(now)), energy.month(now)
        self._day = book.kwh(day), book.measured_share(day)
        self._month = book.kwh(month), book.measured_share(month)

    def status(self, settings: Settings) -> EnergyStatus:
        """Today and this month, with what they cost once the user has told a price."""
        return EnergyStatus(_use(*self._day, settings), _use(*self._month, settings))

    def save(self) -> None:
        """Write the book, if there is anything new in it."""
        self._saved = self._clock()
        if self._dirty:
            energy.save(self._folder, self._meter.book)
            self._dirty = False


def _use(kwh: float, measured: float, settings: Settings) -> EnergyUse:
    priced, told = settings.price_kwh != Settings.price_kwh, settings.co2_g_kwh != Settings.co2_g_kwh
    return EnergyUse(
        kwh,
        measured,
        energy.cost(kwh, settings.price_kwh) if priced else None,
        energy.co2_kg(kwh, settings.co2_g_kwh) if told else None,
    )
