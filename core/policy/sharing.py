"""How several runs share a PC by weight: its memory, and its time by a controller that looks at what each has used.

A share of the time bounds what a process may use, but not what it uses: one spends more of its time beside its kernels
than another, or waits for a busy processor. So each run has a virtual time, as in fair queueing (Demers et al., 1989):
the seconds of its kernels divided by its weight. Who is ahead of the last one is slowed down until that has caught up.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

EASE_S = 0.5
"""So far ahead, in seconds of a run of weight 1, a run gets half of its share."""
LEAD_S = 2.0
"""No run is ever more ahead than this: what one could not use for long is not kept for it."""
STALLED = 5
"""Looks without any kernel, as while experts of other peers are waited for, after which nobody waits for a run."""


class Used(NamedTuple):
    """What the controller sees of a run."""

    weight: int
    seconds: float
    """Of its kernels, ever; only grows."""
    competes: bool
    """Whether it would use its share now."""


@dataclasses.dataclass(frozen=True)
class Sharing:
    """What is remembered between two looks."""

    seen: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Kernel seconds of each run at the last look."""
    leads: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """By how much each competing run is ahead of the last one, seconds of a run of weight 1."""
    stalled: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Looks for which each has used nothing."""

    def portion(self, run: str, runs: Mapping[str, Used]) -> float:
        """The part of the time that a run may use, over 0 and at most 1.

        Args:
            run: its id; one that does not compete gets what it would if it did.
            runs: all of this PC, by id.
        """
        others = sum(used.weight for id, used in runs.items() if used.competes and id != run)
        weight = runs[run].weight
        return weight / (weight + others) / (1 + self.leads.get(run, 0.0) / EASE_S)


def follow(sharing: Sharing, runs: Mapping[str, Used]) -> Sharing:
    """What to remember now. To be called about once a second.

    Args:
        sharing: what was remembered.
        runs: all of this PC, by id. One that is new, or did not compete, begins level with the last one.
    """
    leads, stalled = dict[str, float](), dict[str, int]()
    for id, used in runs.items():
        if used.competes:
            spent = max(0.0, used.seconds - sharing.seen.get(id, used.seconds))
            stalled[id] = 0 if spent else sharing.stalled.get(id, 0) + 1
            if id in sharing.leads:
                leads[id] = sharing.leads[id] + spent / used.weight
    last = min((lead for id, lead in leads.items() if stalled[id] < STALLED), default=0.0)
    leads = {id: min(LEAD_S, max(0.0, leads.get(id, last) - last)) for id in stalled}
    return Sharing({id: used.seconds for id, used in runs.items()}, leads, stalled)


def split(whole: int, least: int, weights: Mapping[str, int]) -> dict[str, int]:
    """What each run may have of `whole`, no more than that in all.

    Args:
        whole: such as the bytes of memory for all of them; less than nothing: so much is too much.
        least: what each gets before the rest is shared by weight, as far as there is enough for all.
        weights: by id.
    """
    least = min(least, whole // len(weights))
    rest = whole - least * len(weights)
    return {id: least + rest * weight // sum(weights.values()) for id, weight in weights.items()}
