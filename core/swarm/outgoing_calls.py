"""What compute asks of other peers: its requests go out over the network and the answers back, undecoded; what the
directory knows of hosts, and news of peers that failed or were banned."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from core.contracts.errors import CallTimeout, NetworkError, RemoteFault
from core.contracts.expert_calls import METHODS
from core.contracts.net import of_run
from core.contracts.remote_experts import (
    ASK,
    ASKED,
    FOLLOW,
    LOCATE,
    MISSING,
    SILENT,
    SUFFIXES,
    SUSPECT,
    Banned,
    Cells,
    ExpertCall,
    Missing,
    News,
    Place,
    Prefixes,
    Stirred,
    Suspect,
)
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Coords, Grid, Uid
from core.identity import PeerId, peer_text
from core.net.rpc import RpcNode
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.returning_peers import ReturningPeers

log = logging.getLogger(__name__)

LOOK_UP_S = 4.0
"""For a question to the DHT."""
WATCH_S = 0.5
"""Between two looks at the directory: it reads the DHT itself every ten seconds."""


class OutgoingCalls:
    """Serves one compute process after the other."""

    def __init__(
        self,
        node: RpcNode,
        directory: DHTDirectory,
        grid: Grid,
        calls: Calls,
        silenced: Callable[[list[str]], object],
    ) -> None:
        """Nobody asks yet.

        Args:
            node: the network.
            directory: who hosts what.
            grid: that of the run.
            calls: of compute.
            silenced: told who does no work.
        """
        self._node, self._directory, self._grid, self._calls = node, directory, grid, calls
        self._methods = {direction: of_run(name, directory.run_id) for direction, name in METHODS.items()}
        self._bans: asyncio.Queue[Banned] | None = None
        """Those that compute is still to be told of; None: nobody wants to know."""
        self._returning = ReturningPeers(node, directory)
        self.answered: Counter[str] = Counter()
        """Answered calls to others' experts, by uid."""
        self.helpers: set[PeerId] = set()
        """Who answered any."""
        calls.register_carrier(ASK, self._ask)
        calls.register(LOCATE, self._locate)
        calls.register(SUFFIXES, self._find)
        calls.register_stream(FOLLOW, self._follow)
        calls.listen(SUSPECT, self._suspect)
        calls.listen(MISSING, self._missing)
        calls.listen(ASKED, self.answered.update)
        calls.listen(SILENT, silenced)

    @property
    def reachable(self) -> bool:
        """Whether every layer has an expert, here or elsewhere, as far as is known."""
        return all(self._directory.mirror(layer) != () for layer in range(self._grid.layers))

    async def _ask(self, message: ExpertCall, payload: Payload, call: Incoming) -> tuple[bytes, Payload]:
        peer, asked = _peer(message.peer), time.monotonic()
        try:
            answer = await self._node.call_undecoded(
                peer, self._methods[message.direction], message.request, payload, deadline_s=call.deadline - asked
            )
        except RemoteFault:
            raise
        except NetworkError:
            self._returning.failed(peer, asked)
            raise
        self._returning.answered(peer)
        self.helpers.add(peer)
        return answer

    def _suspect(self, message: Suspect) -> None:
        log.warning("Peer %s: %s", message.peer[:8], message.why)
        self._node.strike(_peer(message.peer), message.points)

    def _missing(self, message: Missing) -> None:
        for uid in message.uids:
            self._directory.not_hosted(Uid.parse(uid), _peer(message.peer))

    async def _locate(self, uids: list[str]) -> list[list[Place]]:
        wanted = [Uid.parse(uid) for uid in uids]
        async with _in_time():
            infos = await self._directory.hosts(wanted)
        return [
            [Place(peer_text(info.peer), info.load, info.version, info.rtt_ms) for info in infos.get(uid, ())]
            for uid in wanted
        ]

    async def _find(self, asked: Prefixes) -> list[list[int]]:
        async with _in_time():
            found = await self._directory.active_suffixes(asked.layer, asked.prefixes)
        return [list(suffixes) for suffixes in found]

    def banned(self, peer: PeerId, seconds: float) -> None:
        """Tell compute that a peer is not to be asked for so long."""
        if self._bans is not None:
            self._bans.put_nowait(Banned(peer_text(peer), seconds))

    async def _follow(self, _: None) -> AsyncGenerator[News, None]:
        """What one compute process is told, for as long as it lives."""
        self._bans = bans = asyncio.Queue[Banned]()
        told: list[Sequence[Coords] | None] = []
        try:
            while True:
                mirrors = [self._directory.mirror(layer) for layer in range(self._grid.layers)]
                if None not in mirrors and [*map(id, mirrors)] != [*map(id, told)]:
                    yield Cells([list(cells or ()) for cells in mirrors])
                    told = mirrors
                for peer in self._returning.look():
                    yield Stirred(peer_text(peer))
                ban = None
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WATCH_S):
                        ban = await bans.get()
                if ban is not None:
                    yield ban
        finally:
            if self._bans is bans:  # the next process may follow already
                self._bans = None


def _peer(text: str) -> PeerId:
    return PeerId(bytes.fromhex(text))


@contextlib.asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(LOOK_UP_S):
            yield
    except TimeoutError:
        raise CallTimeout(f"The DHT did not answer within {LOOK_UP_S:.0f} s.") from None
