"""All signals, watched: who reads them never waits, whatever the sources do (`core.policy.signals.slot`)."""

import dataclasses
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.policy.signals import hardware, nvml, plausible, portable
from core.policy.signals.reading import Open, Power, Signals
from core.policy.signals.slot import PRESENT_S, Clock, Notice, RealClock, Rule, Slot


def _differs(before: Any, after: Any) -> bool:
    return bool(before != after)


def _came_back(before: float, after: float) -> bool:
    return before >= PRESENT_S and after < before


def _plugged(before: Power, after: Power) -> bool:
    return before.mains != after.mains


RULES: dict[str, Rule] = {
    "idle_s": Rule("Idle time", 1.0, plausible.idle_s, _came_back, hurries=True),
    "locked": Rule("The lock of the session", 2.0, plausible.flag, _differs),
    "front": Rule("What fills the screen", 2.0, plausible.front, _differs),
    "desktop": Rule("Whether somebody can be at a screen", 10.0, plausible.flag, _differs),
    "power": Rule("The power source", 5.0, plausible.power, _plugged),
    "cpu_others": Rule("Other programs' use of the processor", 1.0, plausible.share),
    "memory_free": Rule("Free memory", 2.0, plausible.amount),
    "disk_free": Rule("Free disk space", 10.0, plausible.amount),
    "gpus": Rule("The use of graphics processors", 2.0, plausible.gpus),
    "celsius": Rule("The processor's temperature", 2.0, plausible.celsius),
    "hot": Rule("What the system itself says of heat", 5.0, plausible.flag, _differs),
    "watts": Rule("The processor's power", 5.0, plausible.watts),
    "metered": Rule("The price of the network", 10.0, plausible.flag, _differs),
    "network_others": Rule("Other programs' use of the network", 2.0, plausible.rate),
    "programs": Rule("The list of running programs", 10.0, plausible.programs),
}


class Watch:
    """All signals of this PC.

    Args:
        notice: called, from any thread, when a reading changed so that deciding anew cannot wait.
        folder: where `disk_free` is measured.
        pids: of Hearth's own processes; their children count as Hearth's too.
        counters: bytes (in, out) that Hearth itself moved so far.
        sources: what to ask for each signal, by the names of `Signals`; what this system has if None.
        clock: time.
    """

    def __init__(
        self,
        notice: Notice,
        folder: Path,
        pids: Callable[[], Collection[int]],
        counters: Callable[[], tuple[int, int]],
        sources: Mapping[str, Sequence[Open[Any]]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if sources is None:
            sources = system_sources(folder, pids, counters)
        time_ = clock or RealClock()
        self._slots = {name: Slot(rule, sources.get(name, ()), notice, time_) for name, rule in RULES.items()}

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


def watched(name: str, notice: Notice) -> Slot:
    """One signal of this system's desktop alone, for a program that needs no other; to be closed."""
    return Slot(RULES[name], _desktop().get(name, ()), notice, RealClock())


def system_sources(
    folder: Path, pids: Callable[[], Collection[int]], counters: Callable[[], tuple[int, int]]
) -> dict[str, list[Open[Any]]]:
    """What this system offers for each signal, best first."""
    desktop, others = _desktop(), {**portable.sources(folder, pids, counters), **hardware.sources()}
    gpus = [*desktop.get("gpus", []), *nvml.sources(pids)["gpus"]]
    return {**desktop, **others, "gpus": gpus}


def _desktop() -> dict[str, list[Open[Any]]]:
    if sys.platform == "win32":
        from core.policy.signals.windows import sources
    elif sys.platform == "darwin":
        from core.policy.signals.macos import sources
    else:
        from core.policy.signals.linux.sources import sources
    return sources()
