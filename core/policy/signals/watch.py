"""All signals, watched: who reads them never waits, whatever the sources do (`core.policy.signals.slot`)."""

import dataclasses
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.policy.signals import hardware, nvml, plausible, portable
from core.policy.signals.reading import Open, Power, Signals
from core.policy.signals.slot import PRESENT_S, Clock, RealClock, Rule, Slot, Wake


def _differs(before: Any, after: Any) -> bool:
    return bool(before != after)


def _came_back(before: float, after: float) -> bool:
    return before >= PRESENT_S and after < before


def _plugged(before: Power, after: Power) -> bool:
    return before.mains != after.mains


RULES: dict[str, Rule] = {
    "idle_s": Rule("idle_s", 1.0, plausible.idle_s, _came_back, hurries=True),
    "locked": Rule("locked", 2.0, plausible.flag, _differs),
    "front": Rule("front", 2.0, plausible.front, _differs),
    "desktop": Rule("desktop", 10.0, plausible.flag, _differs),
    "power": Rule("power", 5.0, plausible.power, _plugged),
    "cpu_others": Rule("cpu_others", 1.0, plausible.share),
    "memory_free": Rule("memory_free", 2.0, plausible.amount),
    "disk_free": Rule("disk_free", 10.0, plausible.amount),
    "gpus": Rule("gpus", 2.0, plausible.gpus),
    "celsius": Rule("celsius", 2.0, plausible.celsius),
    "hot": Rule("hot", 5.0, plausible.flag, _differs),
    "watts": Rule("watts", 5.0, plausible.watts),
    "metered": Rule("metered", 10.0, plausible.flag, _differs),
    "programs": Rule("programs", 10.0, plausible.programs),
}


class Watch:
    """All signals of this PC.

    Args:
        wake: called, from any thread, when a reading changed so that deciding anew cannot wait.
        folder: where `disk_free` is measured.
        pids: of Hearth's own processes; their children count as Hearth's too.
        sources: what to ask for each signal, by the names of `Signals`; what this system has if None.
        clock: time.
    """

    def __init__(
        self,
        wake: Wake,
        folder: Path,
        pids: Callable[[], Collection[int]],
        sources: Mapping[str, Sequence[Open[Any]]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if sources is None:
            sources = system_sources(folder, pids)
        time_ = clock or RealClock()
        self._slots = {name: Slot(rule, sources.get(name, ()), wake, time_) for name, rule in RULES.items()}

    def read(self) -> Signals:
        """Everything as known now. Never blocks; `idle_s` grows by its age between two measurements."""
        readings = {name: slot.read() for name, slot in self._slots.items()}
        idle = readings["idle_s"]
        if idle.value is not None:
            readings["idle_s"] = dataclasses.replace(idle, value=idle.value + idle.age_s)
        return Signals(**readings)

    def hurry(self, computing: bool) -> None:
        """While computing, the user's return is noticed within about 50 ms; otherwise within 1 s."""
        self._slots["idle_s"].hurry(computing)

    def close(self) -> None:
        """End the threads, without waiting for them: one that hangs in its source is left behind (a daemon)."""
        for slot in self._slots.values():
            slot.close()


def watched(name: str, wake: Wake) -> Slot:
    """One signal of this system's desktop alone, for a program that needs no other; to be closed."""
    return Slot(RULES[name], _desktop().get(name, ()), wake, RealClock())


def system_sources(folder: Path, pids: Callable[[], Collection[int]]) -> dict[str, list[Open[Any]]]:
    """What this system offers for each signal, best first."""
    desktop, others = _desktop(), {**portable.sources(folder, pids), **hardware.sources()}
    gpus = [*desktop.get("gpus", []), lambda wake: nvml.Nvml(pids)]
    return {**desktop, **others, "gpus": gpus}


def _desktop() -> dict[str, list[Open[Any]]]:
    if sys.platform == "win32":
        from core.policy.signals.windows import sources
    elif sys.platform == "darwin":
        from core.policy.signals.macos import sources
    else:
        from core.policy.signals.linux.sources import sources
    return sources()
