"""Electricity for training, metered while the worker runs (`core.policy.energy` says what is counted)."""

import os
import time
from collections.abc import Callable, Collection, Mapping

from core.community.days import day, month
from core.community.ledger import Ledger
from core.contracts.ledger import Amounts
from core.contracts.settings import Settings
from core.contracts.status import EnergyStatus, EnergyUse
from core.policy import energy
from core.policy.energy import CPU, Draw
from core.policy.signals.processes import Own
from core.policy.signals.reading import Signals

STEP_S = 5.0
"""Between two measurements; shorter than `core.policy.energy.GAP_S`."""


class Energy:
    """The meter of one worker. What it measures is kept by the ledger."""

    def __init__(
        self,
        ledger: Ledger,
        pids: Callable[[], Collection[int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            ledger: keeps what is measured.
            pids: Hearth's own processes.
            clock: seconds of a clock that only grows.
        """
        self._ledger, self._clock = ledger, clock
        self._own = Own(pids)
        self._cores = os.cpu_count() or 1
        self._worked: dict[str, float] = {}
        self._stepped = clock()
        self.load: float | None = None
        """Share of all cores that Hearth used in the last seconds, 0 to 1."""
        self._day = self._month = Amounts()
        self._sum()

    @property
    def kwh_month(self) -> float:
        """Used in this calendar month."""
        return self._month.kwh

    def step(
        self, works: Mapping[str, float], signals: Signals, settings: Settings, gpus: Collection[str] = ()
    ) -> None:
        """Count what was used since the last time. To be called about once a second.

        Args:
            works: the runs that compute is at work for, and their shares of the time. At rest Hearth takes next to
                nothing, and a PC at rest that is on anyway is not counted as Hearth's.
            signals: what each device draws.
            settings: what the user says of it.
            gpus: the graphics processors on which it computes, if any.
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
            draws |= energy.gpu_draws(signals.gpus.value or (), gpus)
        for device, amounts in energy.used(draws, seconds).items():
            for run, part in self._parts().items():
                self._ledger.add(run, device, _times(amounts, part))
        self._worked = {**works}
        self._sum()

    def _parts(self) -> dict[str, float]:
        whole = sum(self._worked.values()) or 1.0
        return {run: share / whole for run, share in self._worked.items()}

    def _sum(self) -> None:
        """The sums of today and this month, as `step` has left them."""
        now, days = time.time(), self._ledger.days
        self._day, self._month = days.sum(day(now)), days.sum(month(now))

    def status(self, settings: Settings) -> EnergyStatus:
        """Today and this month, with what they cost once the user has told a price."""
        return EnergyStatus(_use(self._day, settings), _use(self._month, settings))


def _times(amounts: Amounts, part: float) -> Amounts:
    return Amounts(kwh=amounts.kwh * part, kwh_measured=amounts.kwh_measured * part)


def _use(used: Amounts, settings: Settings) -> EnergyUse:
    return EnergyUse(
        used.kwh,
        min(1.0, used.kwh_measured / used.kwh) if used.kwh else 1.0,
        used.kwh * settings.price_kwh if settings.price_kwh else None,
        used.kwh * settings.co2_g_kwh / 1000 if settings.co2_g_kwh else None,
    )
