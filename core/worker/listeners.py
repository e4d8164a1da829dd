"""Who is told what happens: each of the run that it chose, and as often as it wants to be."""

import dataclasses
from collections.abc import Callable, Collection
from typing import Any, Literal

from core.contracts.status import Status

Told = Literal["status", "curve", "log", "settings", "bye"]
Listener = Callable[[Told, Any], None]


@dataclasses.dataclass
class _Ear:
    run: str
    """Id of the run that it is told of."""
    every_s: float = 0.0
    told: float = -1e9
    """When it was told the status last."""


class Listeners:
    """At first of nobody."""

    def __init__(self) -> None:
        self._ears: dict[Listener, _Ear] = {}

    def add(self, listener: Listener, run: str) -> None:
        """Call it with each event from now on.

        Args:
            listener: one that listens already hears of another run now, as often as before.
            run: id of the run that it is told of.
        """
        self._ears.setdefault(listener, _Ear(run)).run = run

    def remove(self, listener: Listener) -> None:
        """Call it no more."""
        self._ears.pop(listener, None)

    def pace(self, listener: Listener, every_s: float) -> None:
        """Tell it the status no more often, but for what it is told at once; the next one comes soon.

        Args:
            listener: one that listens.
            every_s: seconds between two.
        """
        if ear := self._ears.get(listener):
            ear.every_s, ear.told = every_s, -1e9

    def tell(self, event: Told, data: Any, run: str | None = None) -> None:
        """Tell all of them, or those of one run."""
        for listener, ear in [*self._ears.items()]:
            if run in (None, ear.run):
                listener(event, data)

    def tell_status(
        self, status: Callable[[str], Status], runs: Collection[str], first: str, now: float, at_once: bool
    ) -> None:
        """Tell the status to those who wait for it.

        Args:
            status: of a run, by its id.
            runs: ids of all runs.
            first: who listens to one that is gone, hears of this one from now on.
            now: time.monotonic().
            at_once: to all of them.
        """
        made: dict[str, Status] = {}
        for listener, ear in [*self._ears.items()]:
            if ear.run not in runs:
                ear.run = first
            if at_once or now - ear.told >= ear.every_s:
                ear.told = now
                if ear.run not in made:
                    made[ear.run] = status(ear.run)
                listener("status", made[ear.run])
