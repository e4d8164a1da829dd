"""The control socket's answer about a run's trunk: what its trainers have agreed on, as far as this PC knows."""

import msgspec


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


class TrunkStatus(msgspec.Struct, frozen=True):
    run: str
    strategy: str
    """As the manifest names it."""
    parts: list[PartStatus]
    """Those that this PC knows of."""
