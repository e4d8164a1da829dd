"""The control socket's answer about a run's trunk: what its trainers have agreed on, as far as this PC knows."""

from typing import Literal

import msgspec

from core.contracts.notices import Notice


class TrunkParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run: str | None = None
    """Name or id; None: the first one."""


class PartStatus(msgspec.Struct, frozen=True):
    """A part of the trunk that is agreed on as one."""

    part: int
    version: int
    """Agreements so far."""
    digest: str
    """Hexadecimal; of all that was agreed: PCs that show the same one of a version hold the same numbers."""
    samples: int
    """In them."""
    peers: int
    """Trainers that made the last one; 0: it is what they begin with, or what another trainer gave."""
    agreed: float | None
    """Unix time at which this PC heard of it; None: not since its start."""
    syncer: str | None
    """The peer that brings the agreement about; None: there is none now, or all trainers do."""
    numbers: int
    lately: list[tuple[int, str]] = []
    """The versions that this PC came to last, with their digests, where it knows them."""


class GiverStatus(msgspec.Struct, frozen=True):
    """A trainer that took part in the last agreement."""

    peer: str
    samples: int | None
    """That it gave; None: this PC does not know."""
    share: float | None
    """Of the trunk, 0 to 1, in whose last agreement its own is counted; None: this PC does not know."""


class ReducerStatus(msgspec.Struct, frozen=True):
    """A peer that brings together what trainers give."""

    peer: str
    share: float
    """Of the trunk, 0 to 1."""


class ProgressStatus(msgspec.Struct, frozen=True):
    """How near the next agreement is."""

    done: int
    target: int
    unit: Literal["samples", "steps"]
    """Those of all trainers together, or this trainer's own."""


class ForTrunk(msgspec.Struct, frozen=True):
    """What a PC has done for a trunk since its start."""

    accepted: int = 0
    """Samples of its trainer that are in what was agreed."""
    reduced: int = 0
    """Bytes that other trainers gave and it combined."""


class TrunkStatus(msgspec.Struct, frozen=True):
    run: str
    strategy: str
    """As the manifest names it."""
    parts: list[PartStatus]
    """Those that this PC knows of."""
    me: str | None = None
    """This PC's own name among the peers; None: it works alone, and nothing of what follows is known."""
    givers: list[GiverStatus] = []
    reducers: list[ReducerStatus] = []
    progress: ProgressStatus | None = None
    """None: nobody trains here, or nobody counts towards a common goal."""
    sent: int = 0
    """Bytes for the trunk since the start, to all peers, without headers."""
    received: int = 0
    waits: Notice | None = None
    """What the trainer here waits for; None: it goes on."""
    ends: Notice | None = None
    """What ends that."""
    done: ForTrunk = ForTrunk()
    reached: bool = False
    """The model is as good as the manifest wants: training is over."""

    @property
    def trainers(self) -> int:
        """That made the last agreement."""
        return max((part.peers for part in self.parts), default=0)

    @property
    def agreed(self) -> float | None:
        """Unix time of the last agreement that this PC heard of since its start."""
        return max((part.agreed for part in self.parts if part.agreed is not None), default=None)
