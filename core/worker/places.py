"""The place of a PC and of its runs among peers: what the worker asks of it, whether it is alone (`no_network`) or in a
network (`network`, `swarm`), of which this loads nothing."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from core.contracts.control import GrantParams
from core.contracts.credit import BoardParams, Leaderboard, Published, SignedTotals
from core.contracts.line import Line
from core.contracts.manifest import Manifest
from core.contracts.net import ANYWHERE, PeerAddress
from core.contracts.network_status import PEERS_PAGE, DhtRecord, DhtStatus, FoundRun, Met, NetworkStatus
from core.contracts.notices import Notice
from core.contracts.run_details import RunDetails
from core.contracts.run_link import RunLink
from core.contracts.telemetry import Admits, Rights, Told
from core.contracts.trunk_status import ForTrunk, TrunkStatus
from core.experts.directory import HostState
from core.experts.grid import Coords
from core.store.run_files import RunFiles
from core.store.small_files import Files
from core.swarm.state_room import StateRoom
from core.worker.compute.supervisor import ComputeSupervisor


class BrokerPlace(Protocol):
    """A broker that a backbone peer runs, while it is entered."""

    @property
    def connected(self) -> int | None:
        """How many peers are; None: it does not tell."""

    @property
    def notes(self) -> Sequence[Notice]:
        """What the user is told of what fails here again and again."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *_: object) -> None: ...

    def enrol(self, peer: bytes, password: str) -> None:
        """Have it know a peer that it has refused.

        Raises:
            CreditError: it has not proved its key.
        """

    def update(self) -> None:
        """What it is there for has changed."""


class BackboneOptions(NamedTuple):
    """What `hearth backbone` does beside being a peer that does not compute."""

    broker: Callable[[Mapping[str, Rights], Admits], BrokerPlace] | None = None
    """Makes its broker, of the runs that it is there for, and of who is let into them."""
    metrics: Callable[[Any], AbstractContextManager[object]] | None = None
    """Makes what serves the network's figures."""
    board: Path | None = None
    """Where its board writes a page."""


class NetworkOptions(NamedTuple):
    """What the command line and the settings say about the network."""

    listen: tuple[str, ...] = ANYWHERE
    bootstrap: tuple[PeerAddress, ...] = ()
    roles: frozenset[str] = frozenset({"host", "train"})
    lan: bool = True
    relay: bool = True
    """Whether a backbone peer relays."""
    backbone: BackboneOptions | None = None

    @property
    def on_lan(self) -> bool:
        """Whether peers of the local network are looked for: not if this peer listens to itself alone."""
        return self.lan and not all(address.startswith(("127.", "[::1]")) for address in self.listen)


class News(NamedTuple):
    """What happened in a run among peers since it was asked last."""

    helpers: Collection[str] = ()
    """Peers that have answered calls of this PC since its start, by their keys."""
    asker: str = ""
    """The first peer whose call was answered here since then."""
    said: Sequence[Notice] = ()


class SwarmPlace(Protocol):
    """A run's place among peers, taken while it is entered."""

    networked: bool
    """Whether other peers' experts may be asked."""

    @property
    def calls(self) -> Counter[str]:
        """Answered calls to others' experts, by uid."""

    @property
    def reachable(self) -> bool:
        """Whether every layer has an expert, here or elsewhere, as far as is known."""

    @property
    def reached(self) -> bool:
        """Whether what trainers agreed on is as good as the manifest wants, as far as is known."""

    @property
    def successor(self) -> Manifest | None:
        """A newer manifest that has come for the run, and is to hold when it is begun anew."""

    @property
    def members(self) -> int:
        """PCs that say in the DHT that they take part in the run, this one included."""

    @property
    def barred(self) -> Notice | None:
        """Why this PC may not take part in the run."""

    @property
    def capacity(self) -> int | None:
        """How many experts this PC can host; None: it does not host for others."""

    @property
    def notes(self) -> Sequence[Notice]:
        """What the user is told of what fails here again and again."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *_: object) -> None: ...

    def look(self) -> None:
        """Compute has begun or stopped: what is hosted here changes."""

    def lonely(self) -> bool:
        """Whether nobody is known who could host experts: compute begins with all of them."""

    def fit(self, count: int, most_bytes: float) -> None:
        """Host no more experts than that.

        Args:
            count: experts for which there is memory.
            most_bytes: what they may take at most.
        """

    async def settle(self) -> None:
        """Before a new process trains: let go what the disk has no room for."""

    def mirror(self, layer: int) -> Sequence[Coords] | None:
        """See `Directory.mirror`."""

    def remembered(self, layer: int) -> Mapping[Coords, Sequence[HostState]]:
        """The cells of a layer whose hosts are known, with what these said last."""

    async def fetch_states(self) -> None:
        """Have the newest states of all parts on this disk, as far as others give them."""

    def trunk(self) -> TrunkStatus | None:
        """What the trainers have agreed on, as far as this PC knows; None: there is nobody to agree with."""

    def take_news(self) -> News:
        """What is new; each notice is handed over once."""

    def for_trunk(self) -> ForTrunk:
        """What this PC has done for what they agree on, since its start."""


class CreditPlace(Protocol):
    """See `core.worker.credit_board`."""

    def totals(self, manifests: Sequence[Manifest], trust: Sequence[str], /) -> Awaitable[SignedTotals]:
        """Ask the peers of these runs for the credit that they show, verify it and sum it up.

        Args:
            manifests: the runs.
            trust: peers that are believed beside this one and those that the manifests name.
        """

    def board(self, manifests: Sequence[Manifest], asked: BoardParams, /) -> Awaitable[Published]:
        """Write the `totals` and a page about them."""

    def leaderboard(self, manifests: Sequence[Manifest], /) -> Awaitable[Leaderboard]:
        """Who was credited with most in these runs, by what is known now; peers are asked for more meanwhile."""

    def certificate(self, manifests: Sequence[Manifest], path: Path, /) -> Awaitable[None]:
        """Write what trainers have signed for this PC."""


class AccessPlace(Protocol):
    """See `core.worker.access`."""

    def let_in(self, manifest: Manifest, token: bytes, /) -> None:
        """Keep a token with which a run's organiser lets this PC in.

        Raises:
            AccessError: it is not of that run, organiser, peer or time.
            DataFolderError: it cannot be written.
        """

    def grant(self, manifest: Manifest, asked: GrantParams, /) -> bytes:
        """Give a peer a token for a run of this PC's own; the token, signed.

        Raises:
            HearthError: see `core.store.granting`.
        """

    def shown(self, found: RunDetails, token: bytes, /) -> RunDetails:
        """The same run, and whether this PC is let in there, by the token of a link or its own, and lets others in."""


class CommunityPlace(Protocol):
    """See `core.worker.community`."""

    def say(self, run: str, text: str, /) -> None:
        """Tell all who have joined a run, by its id, as its organiser."""

    def told(self) -> Told:
        """What was heard."""


class NetworkPlace(Protocol):
    """A PC's place among peers, taken while it is entered."""

    has_peers: bool
    shuffle: int
    """In which order this PC goes through a run's data."""

    @property
    def notes(self) -> Sequence[Notice]:
        """What the user is told of what fails here again and again."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *_: object) -> None: ...

    def swarm(self, manifest: Manifest, compute: ComputeSupervisor, files: RunFiles, room: StateRoom) -> SwarmPlace:
        """Make a run's place; it is there until `leave`."""

    def leave(self, run_id: str) -> None:
        """Nobody is asked for a run any more, and nobody is answered."""

    async def fetch_manifest(self, link: RunLink) -> tuple[Manifest, bytes]:
        """The signed manifest of a run that was not joined yet, and its document, from the peers of a link.

        Raises:
            NetworkError: this PC works alone, or none of them gave it.
            ManifestError: what they gave is not of that run and organiser, or not to be used here.
        """

    async def fetch_wheel(self, sha256: str, size: int, partial: Path, told: Callable[[int], None]) -> None:
        """Put a file of a GPU pack together from peers. What is there already is not fetched again.

        Args:
            sha256: its hash.
            size: its bytes.
            partial: where it is put together.
            told: is told how many bytes are there.

        Raises:
            NetworkError: this PC works alone, or no peer gave it; what came so far stays.
            OSError: it cannot be written.
        """

    def found_runs(self) -> list[FoundRun]:
        """Signed runs that others in the local network say they have joined, and this PC has not."""

    def allow(self, forbidden: str) -> None:
        """Take part in the network, or leave it until allowed again.

        Args:
            forbidden: why it may not, a sentence; "": it may.
        """

    def limit(self, upload: float, download: float, far: tuple[float, float]) -> None:
        """Move no more bytes a second than that, over all peers and over those beyond the local network (`far`, up and
        down); 0: no limit."""

    def line(self) -> Line:
        """What was measured of this PC's line."""

    def keep_ports(self, files: Files) -> None:
        """Note where this PC listens, for its next start."""

    def moved(self) -> tuple[int, int]:
        """Bytes received and sent since the start."""

    def fastest(self) -> tuple[float, float]:
        """Bytes a second that were sent and received at best; 0: none were."""

    def moved_by_method(self) -> dict[str, tuple[int, int]]:
        """See `RpcNode.moved_by_method`."""

    def status(self, first: int = 0, count: int = PEERS_PAGE, /) -> NetworkStatus:
        """This peer, and `count` of its connected peers from the `first` on, in the order of their connections."""

    def meet(self, address: str, /) -> Awaitable[Met]:
        """Join through a peer that the user names; see `Network.meet`."""

    def dht_get(self, key: str, /) -> Awaitable[list[DhtRecord]]:
        """The records of a key, of this network's replicas; a run's name in it stands for the run's id."""

    @property
    def access(self) -> "AccessPlace":
        """Who is let into runs by invitation.

        Raises:
            NetworkError: this PC is alone.
        """

    @property
    def credit(self) -> "CreditPlace":
        """What is told of everybody's credit.

        Raises:
            NetworkError: this PC is alone.
        """

    @property
    def community(self) -> "CommunityPlace":
        """What is told by telemetry.

        Raises:
            NetworkError: this PC is alone.
        """

    def dht_stats(self) -> DhtStatus:
        """What is known of this PC's part of the DHT."""
