"""Contract of the pipe about parts that compute takes on: experts to be hosted and let go, trunks to be gone on with.

What other peers gave is only offered: compute tries it, and tells what is of no use.
"""

from typing import Literal

import msgspec

from core.contracts.notices import Notice
from core.contracts.pipe import Carrier, Message, Method, Whole
from core.contracts.trunk import Part


class Reach(msgspec.Struct, frozen=True, array_like=True):
    """How far a part is trained."""

    steps: Whole
    samples: Whole


class TakeOn(Message, frozen=True):
    """Experts to be hosted."""

    experts: dict[str, list[str]]
    """Of each uid the checkpoint files of other peers from which it may go on, the best first; it goes on from the
    newest state of the run's own folder, or begins anew, if none of them is newer and good."""
    most: Reach
    """How far an expert can have come by now: a state that names more counts as one that has come there."""


class Taken(Message, frozen=True):
    """What became of it."""

    failed: dict[str, Notice] = {}
    """Experts that could not be taken on, and why."""
    refused: dict[str, Notice] = {}
    """Files of other peers that are of no use, and why."""
    newer: list[str] = []
    """Experts that go on from what another peer gave."""


class TakeTrunk(Message, frozen=True):
    """Trunks of other trainers, to go on with one of them if it is newer than that here, and good."""

    paths: list[str]
    """Their checkpoint files, the best first."""
    most: Reach
    """How far a trunk can have come by now, as in `TakeOn`."""


Verdict = Literal["good", "worse", "unusual"]
"""Of a state: none that training leads to is unusual."""


class CompareTrunks(Message, frozen=True):
    """Which of some trunks are good: the payload, float32."""

    states: list[list[Part]]
    """The parts of each, which the payload has one after the other; the rest is as agreed here. None at all: the trunk
    here, with which others are compared if it is trained."""
    moments: bool = False
    """Whether both moments of the optimizer follow each state."""


class Compared(Message, frozen=True):
    """What became of it."""

    verdicts: list[Verdict]
    """On each state."""
    best: Whole = 0
    """The place of the one with the least loss."""


# what the worker calls

HOST = Method("host", TakeOn, Taken)
"""Host these experts from now on."""
UNHOST = Method("unhost", list[str], dict[str, Notice])
"""Host these experts no more. Answered once their newest state is saved; the answer names those that could not be
saved, and why."""
TAKE_TRUNK = Method("take_trunk", TakeTrunk, Taken)
"""Answered with the files that are of no use."""
COMPARE_TRUNKS = Carrier("compare_trunks", CompareTrunks, Compared)
"""Try what one peer says that an agreement has come to, before anybody here goes on from it. A ComputeError: it cannot
be told now."""
TRY_HOSTS = Method("try_hosts", dict[str, list[str]], dict[str, bool])
"""Ask peers for experts that are hosted here as well: whether they serve them about as well as this process. Those of
which that cannot be told now are left out."""
