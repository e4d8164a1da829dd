"""What each run needs of the disk space, and which runs have no room for it: sums, no file is opened here."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from core.contracts.files import TRUNK, PartFile
from core.store.checkpoint_files import CHECKPOINTS, SUFFIX, on_disk
from core.store.disk_use import File
from core.store.writing import PARTIAL

STAGES = 8
"""A checkpoint is saved in so many, or a few more, where there is no room for all of it beside the one before."""


class Needs(NamedTuple):
    """What a run needs of the space."""

    states: Mapping[str, PartFile] = {}
    """The newest state of each part in compute's checkpoints."""
    largest: int = 0
    """Bytes of the largest file that is there."""
    working: int = 0
    """To be left free for states that take the place of others, as soon as there are experts."""
    state: int = 0
    """What an expert's state takes, with its share of that; 0: not known yet."""
    files: Mapping[str, int] = {}
    """Bytes of each file of parts in compute's checkpoints, be it finished or not, by path."""


class Promise(NamedTuple):
    """First states of experts that a run was promised room for."""

    experts: frozenset[str] = frozenset()
    least: int = 0
    """How many of these the run cannot do without."""


class Claim(NamedTuple):
    """What a run needs, with what it was promised."""

    needs: Needs
    promise: Promise

    @property
    def first(self) -> int:
        """How many of the experts that were promised room have no state yet."""
        return sum(uid not in self.needs.states for uid in self.promise.experts)

    @property
    def first_bytes(self) -> int:
        return self.needs.state * self.first

    @property
    def begun(self) -> bool:
        """Whether there are states of experts, or shall be."""
        return bool(self.promise.experts) or any(part != TRUNK for part in self.needs.states)

    @property
    def working(self) -> int:
        """Bytes to be left free for states that take the place of others."""
        return self.needs.working if self.begun else self.needs.largest

    @property
    def next_file(self) -> int:
        """Bytes of the largest file that is likely to be written."""
        return max(self.needs.largest, self.needs.state if self.begun else 0)

    @property
    def least(self) -> int:
        """Bytes of the first states that it cannot do without."""
        return self.needs.state * min(self.promise.least, self.first)


class Wait(NamedTuple):
    """Why a run waits."""

    needed: int
    """Bytes that it cannot do without, beside all that is there."""
    lacking: int
    """Bytes of these that there is no room for."""


def waiting(claims: Iterable[tuple[Path, Claim, bool]], free: int, headroom: int) -> dict[Path, Wait]:
    """Which runs have no room: what one cannot do without goes before what later ones need.

    A run waits if its next file does not fit beside all that is there, or if its first states do not, though the others
    did with as few as they can. It takes nothing from those behind it.

    Args:
        claims: The folder of each run, in the order in which they were joined, what it needs, and whether it may leave
            some of it to other peers: then it need not wait.
        free: Bytes beside all that is there, and the headroom; negative: so many are too much.
        headroom: Bytes that nothing large gets, but for one file.
    """
    found, left = dict[Path, Wait](), free
    for folder, claim, leaves in claims:
        needed = claim.least + claim.working
        lacking = max(claim.next_file - headroom - free, needed - left if claim.least else 0)
        if lacking > 0 and not leaves:
            found[folder] = Wait(needed if claim.least else claim.next_file, lacking)
        else:
            left -= needed
    return found


def needs_of(folder: Path, expert_bytes: int, states: Mapping[str, PartFile], files: Mapping[str, File]) -> Needs:
    """What a run needs.

    Args:
        folder: The run's.
        expert_bytes: What an expert takes, if none has a state yet; 0: not known.
        states: The newest state of each part.
        files: All that are there, by path.
    """
    start = f"{folder}{os.sep}"
    own = {path: file.size for path, file in files.items() if path.startswith(start)}
    largest = max((size for path, size in own.items() if path.endswith(SUFFIX)), default=0)
    state = max((on_disk(file.size) for part, file in states.items() if part != TRUNK), default=expert_bytes)
    state += state // STAGES
    working = max(state, largest, sum(on_disk(file.size) for file in states.values()) // STAGES)
    start = f"{folder / CHECKPOINTS}{os.sep}"
    parts = {path: size for path, size in own.items() if path.startswith(start) and path.endswith((SUFFIX, PARTIAL))}
    return Needs(states, largest, working, state, parts)
