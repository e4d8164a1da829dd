"""What signals mean by the settings, and for how long: a condition that comes and goes does not start and stop compute.

A condition stops at once (other programs' work after 3 s: starting a program is no use of the PC worth a pause) and is
over when it has been gone for its time.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from core.contracts.settings import Settings
from core.policy.signals.reading import Reading, Signals

MEMORY_BAND, DISK_BAND = 1.5, 1.1
"""What has been too little is enough again at so many times the limit: ending compute itself frees some."""
CHARGE_BAND = 3
"""Percent that a battery must be above its limit to go on."""


def number(reading: Reading[float], low: float = 0.0, high: float = math.inf) -> float | None:
    """A reading's value; None if it is unknown or cannot be."""
    value = reading.value
    return None if value is None or not math.isfinite(value) or not low <= value <= high else value


def names(programs: tuple[str, ...]) -> dict[str, str]:
    """Programs as `Signals.programs` names them, and as the user wrote them."""
    return {name.strip().lower().removesuffix(".exe"): name.strip() for name in programs}


def running(signals: Signals, programs: tuple[str, ...]) -> str:
    """The first of `programs` that runs, as the user wrote it; "" if none is known to."""
    now = signals.programs.value or frozenset()
    return next((name for key, name in names(programs).items() if key in now), "")


def _battery(signals: Signals, settings: Settings, on: bool) -> bool:
    power = signals.power.value
    if power is None or power.mains:
        return False
    if not settings.on_battery:
        return True
    charge = number(Reading(power.charge, ""), 0, 1)
    limit = settings.battery_percent + CHARGE_BAND * on
    return settings.battery_percent > 0 and (charge is None or charge * 100 < min(limit, 100))


def _game(signals: Signals, settings: Settings, on: bool) -> bool:
    front = signals.front.value
    if front is None or settings.game_stops == "nothing" or signals.locked.value:  # a lock or screensaver is no game
        return False
    return front.kind == "game" or (settings.game_is == "fullscreen" and front.kind != "window")


def _busy(signals: Signals, settings: Settings, on: bool) -> bool:
    others = number(signals.cpu_others, 0, 1)
    return settings.busy_cpu_percent > 0 and others is not None and others * 100 > settings.busy_cpu_percent


def _gpu_busy(signals: Signals, settings: Settings, on: bool) -> bool:
    """There is one, and none that others leave free."""
    found = [gpu.others for gpu in signals.gpus.value or () if gpu.id not in settings.gpus_off]
    shares = [number(Reading(share, ""), 0, 1) for share in found]
    limit = settings.busy_cpu_percent
    return limit > 0 and bool(shares) and all(share is not None and share * 100 > limit for share in shares)


def _short(reading: Reading[int], limit_mb: int, band: float) -> bool:
    free = number(reading)
    return free is not None and free < limit_mb * band * 2**20


class Condition(NamedTuple):
    """One thing that stops something."""

    holds: Callable[[Signals, Settings, bool], bool]
    """Whether signals and settings say so now; the last argument tells whether it has held."""
    after_s: float
    """For how long they must say so until it counts."""
    gone_s: float
    """For how long they must say otherwise until it is over."""


CONDITIONS: dict[str, Condition] = {
    "idle_unknown": Condition(lambda signals, _, __: number(signals.idle_s) is None, 0, 10),
    "battery": Condition(_battery, 0, 10),
    "programs": Condition(lambda signals, settings, _: bool(running(signals, settings.exclusive_programs)), 0, 10),
    "game": Condition(_game, 0, 10),
    "cpu_busy": Condition(_busy, 3, 20),
    "memory": Condition(
        lambda signals, settings, on: _short(signals.memory_free, settings.memory_free_mb, MEMORY_BAND if on else 1),
        0, 60,
    ),
    "disk": Condition(
        lambda signals, settings, on: _short(signals.disk_free, settings.disk_free_mb, DISK_BAND if on else 1), 0, 60
    ),
    "hot": Condition(lambda signals, settings, _: bool(signals.hot.value) and settings.cpu_celsius > 0, 0, 60),
    "metered": Condition(lambda signals, settings, _: bool(signals.metered.value) and not settings.on_metered, 0, 10),
    "gpu_busy": Condition(_gpu_busy, 3, 20),
    "gpu_programs": Condition(
        lambda signals, settings, _: bool(running(signals, settings.exclusive_gpu_programs)), 0, 10
    ),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Latch:
    """A condition as it counts."""

    on: bool = False
    otherwise_since: float | None = None
    """Unix time since which the signals say the opposite."""


@dataclasses.dataclass(frozen=True)
class Held:
    """What is remembered of earlier signals."""

    latches: Mapping[str, Latch] = dataclasses.field(default_factory=dict)
    last_input: float | None = None
    """Unix time of the latest input that was ever seen: a source that forgets it makes nobody be away sooner."""

    def on(self, name: str) -> bool:
        return name in self.latches and self.latches[name].on

    def ends(self, name: str) -> float | None:
        """Unix time at which a condition that is gone stops counting; None while it holds."""
        latch = self.latches.get(name)
        if latch is None or not latch.on or latch.otherwise_since is None:
            return None
        return latch.otherwise_since + CONDITIONS[name].gone_s

    def under(self, settings: Settings, signals: Signals) -> "Held":
        """For new settings: what they say counts at once; what holds by them too goes on as it was."""
        still = {
            name: latch
            for name, latch in self.latches.items()
            if latch.on and CONDITIONS[name].holds(signals, settings, True)
        }
        return Held(still, self.last_input)


def hold(signals: Signals, settings: Settings, held: Held, now: float) -> Held:
    """What is to be remembered after these signals. Pure; to be called with each reading that is decided by.

    Args:
        now: unix time; if it was set back, times begin anew.
    """
    idle = number(signals.idle_s)
    last = held.last_input if held.last_input is not None and held.last_input <= now else None
    if idle is not None:
        last = now - idle if last is None else max(last, now - idle)
    latches = {}
    for name, condition in CONDITIONS.items():
        before = held.latches.get(name, Latch())
        latches[name] = _step(before, condition, condition.holds(signals, settings, before.on), now)
    if last is None and not held.on("idle_unknown"):  # it was never known, so it is not lost
        latches["idle_unknown"] = Latch()
    return Held(latches, last)


def _step(latch: Latch, condition: Condition, holds: bool, now: float) -> Latch:
    if holds == latch.on:
        return Latch(latch.on)
    since = now if latch.otherwise_since is None else min(latch.otherwise_since, now)
    needed = condition.gone_s if latch.on else condition.after_s
    return Latch(holds) if now - since >= needed else Latch(latch.on, since)


def counts(name: str, signals: Signals, settings: Settings, held: Held) -> bool:
    """Whether a condition stops something now: it is held, or it stops at once."""
    condition = CONDITIONS[name]
    return held.on(name) or (condition.after_s == 0 and condition.holds(signals, settings, False))
