"""What the worker tells of its place among peers: connections, findings of the doctor, its part of the DHT."""

from typing import Annotated, Literal

import msgspec

from core.contracts.notices import Notice, notice
from core.contracts.status import Count

PeerReach = Literal["reachable", "relayed", "dials out only", "unknown"]
PEERS_PAGE = 1000
"""Most peers in one answer; so many have 350 KB."""


class NetworkParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`network` -> NetworkStatus with some of the connected peers: so many from the `first` on."""

    first: Count = 0
    peers: Annotated[int, msgspec.Meta(ge=0, le=PEERS_PAGE)] = PEERS_PAGE


class PeerStatus(msgspec.Struct, frozen=True):
    """A connected peer."""

    peer: str
    """64 hexadecimal digits."""
    path: str
    """ "direct", or "relayed via" and the relay."""
    address: str
    rtt_ms: float
    bytes_in: int
    bytes_out: int
    since: float
    """Unix time."""
    faults: float
    """Strikes, decayed; at 10 it is banned for a time."""
    reach: PeerReach = "unknown"
    """How others reach it, by the addresses that it gives."""
    name: str = ""
    """By which its user wishes to be shown: signed by the peer, and by no means its alone."""


class NetworkStatus(msgspec.Struct, frozen=True):
    """`network` -> this peer and those it is connected to."""

    peer: str
    address: str
    """As `--bootstrap` takes it."""
    reachability: str
    """unknown, reachable, punchable, relayed, dial-out only."""
    step: Notice
    """What showed it."""
    nat: str
    outside: list[str]
    """Addresses that others saw."""
    roles: list[str]
    peers: list[PeerStatus]
    connected: int = 0
    """All connected peers; `peers` may hold only some of them."""
    lan: bool = True
    """Peers of the local network, and their runs, are looked for."""


class Finding(msgspec.Struct, frozen=True):
    """`doctor` -> list[Finding]: one thing that a peer needs, and whether it is there."""

    name: Literal["port", "peers", "outside", "nat", "reachability", "clock", "disk", "broker"]
    good: bool | None
    """None: nobody has measured it yet, which is no fault."""
    what: Notice
    remedy: Notice
    """What to do if it is not good; how it comes to be known."""

    @property
    def title(self) -> Notice:
        return notice(f"doctor.{self.name}")


MOST_FOUND = 32
"""Runs in an answer."""


class FoundRun(msgspec.Struct, frozen=True):
    """`found_runs` -> list[FoundRun]: a signed run that others in the local network say they have joined, and this PC
    has not. Nothing of it is proved before its manifest is here."""

    run_id: str
    organiser: str
    """Key of who they say has signed it."""
    peers: int
    """That say so."""
    link: str
    """As `run_details` takes it."""


class DhtGetParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`dht_get` -> list[DhtRecord]."""

    key: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class MeetParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`meet` -> Met."""

    address: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    """As `hearth address` prints it."""


class Met(msgspec.Struct, frozen=True):
    peer: str
    """Hexadecimal."""


class DhtRecord(msgspec.Struct, frozen=True):
    subkey: str
    value: str
    """Hexadecimal."""
    sequence: int
    expires: float
    """Unix time."""
    peer: str


class DhtStatus(msgspec.Struct, frozen=True):
    """`dht_stats` -> what this PC's DHT node holds."""

    contacts: int
    keys: int
    records: int
    bytes: int
    own: int
    clock_offset_s: float
    """By how much more than this PC's clock it goes by, as other peers' clocks are ahead: a minute at most."""
    experts: int | None = None
    """Active experts of the run, here or elsewhere; None: the grid is too large to be known whole."""
    clock_apart_s: float = 0.0
    """How far other peers' clocks are ahead of this PC's."""
