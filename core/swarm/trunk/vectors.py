"""Large vectors that peers give each other, piece by piece: means that were missed, trunks with their optimizers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from core.contracts.errors import CallRefused, CallTimeout, RemoteFault
from core.contracts.net import of_run
from core.contracts.notices import notice
from core.contracts.pipe import GIVE_TRUNK
from core.contracts.trunk_rounds import AskVector, Vector
from core.identity import PeerId
from core.net.limits import Newest
from core.net.method import Context
from core.net.rpc import RpcNode
from core.pipe.calls import Calls
from core.swarm.trunk.agreement import LIE
from core.swarm.trunk.ballot import LEAST_RATE

PIECE = 8 << 20
"""Bytes."""
PIECE_S = 60.0
"""For one piece."""
COPY_S = 60.0
"""For compute to copy a trunk."""
HELD = 2
"""Trunks that are held for those who are in the middle of them. While there are so many, others get the newest of them:
else who asks at each version, or two newcomers, would have all begin anew without end."""
READERS = 64
"""Blocks of addresses that are remembered to be in the middle of one."""
HELD_S = 60.0
"""After the last piece that was asked for a trunk is let go."""


class Whole(NamedTuple):
    """A vector with what is told of it."""

    told: Vector
    data: bytes


class Vectors:
    """Those of one run, at one peer."""

    def __init__(
        self,
        node: RpcNode,
        run_id: str,
        mean: Callable[[int], Whole | None],
        reached: Callable[[], int],
        trunk: Callable[[], Awaitable[Whole]],
    ) -> None:
        """Others are answered from now on, until the run's methods are unregistered.

        Args:
            node: this peer's connections.
            run_id: of the run.
            mean: gives that of a step, if it is here.
            reached: gives the version of the trunk of the trainer here.
            trunk: gives that trunk as it is now.
        """
        self._node, self._mean, self._reached, self._trunk = node, mean, reached, trunk
        self._method = of_run("trunk.vector", run_id)
        self._held: dict[int, Whole] = {}
        """Trunks by version."""
        self._readers = Newest[bytes, tuple[int, float]](READERS)
        """Which trunk those of a block of addresses are in the middle of, and when they asked for its last piece. One
        of each, so that nobody takes up all the room."""
        self._asked = 0.0
        self._copying = asyncio.Lock()
        node.register(self._method, AskVector, self._give)

    def tidy(self) -> None:
        """Let go what nobody asks for any more."""
        if self._held and time.monotonic() - self._asked > HELD_S:
            self._held.clear()

    def forget(self, since: int) -> None:
        """The trainer here comes to other trunks than before.

        Args:
            since: the first version of which that is so.
        """
        for version in [version for version in self._held if version >= since]:
            del self._held[version]

    async def fetch(self, peer: PeerId, request: AskVector, size: int, *, is_last: bool = False) -> Whole:
        """One that another peer has.

        Args:
            peer: who has it.
            request: which one, from its beginning.
            size: its bytes.
            is_last: whether nobody else is left to be asked. Else a peer is given up that is slower than the least
                line: each piece just in time would take hours.

        Raises:
            NetworkError: it was not given, or what came is something else.
        """
        within_s = PIECE_S + size / LEAST_RATE
        try:
            async with asyncio.timeout(None if is_last else within_s):
                return await self._fetched(peer, request, size)
        except TimeoutError as error:
            raise CallTimeout(
                notice("peer.no_answer", peer=peer.hex(), method=self._method, within=within_s)
            ) from error

    async def _fetched(self, peer: PeerId, request: AskVector, size: int) -> Whole:
        data = bytearray()
        told: Vector | None = None
        while told is None or len(data) < size:
            version = told.version if told else request.version
            ask = AskVector(request.what, version, len(data))
            vector, piece = await self._node.call(peer, self._method, ask, Vector, deadline_s=PIECE_S)
            same = vector if told is None else msgspec.structs.replace(told, before=vector.before)  # it may learn more
            # Smaller pieces would take as many calls as a liar likes.
            if vector.size != size or len(piece) != min(PIECE, size - len(data)) or same != vector:
                self._node.strike(peer, LIE)
                raise RemoteFault("bad_reply", "What came is not the vector that was asked for.")
            told = vector
            data += piece
        return Whole(told, bytes(data))

    async def _give(self, request: AskVector, payload: bytes, context: Context) -> tuple[Vector, bytes]:
        if request.what == "mean":
            found = self._mean(request.version)
        else:
            self._asked = time.monotonic()
            found = self._held.get(request.version) if request.version else await self._copied()
            reader = self._node.pool.voter(context.peer)
            if found is not None and request.start + PIECE < len(found.data):  # it has more to ask for
                self._readers[reader] = found.told.version, time.monotonic()
            else:
                self._readers.pop(reader, None)
        if found is None or request.start >= len(found.data):
            raise CallRefused("This peer has no such vector any more.")
        return found.told, found.data[request.start : request.start + PIECE]

    async def _copied(self) -> Whole:
        """Compute copies each version once, however many ask for it."""
        async with self._copying:
            if found := self._held.get(self._reached()):
                return found
            if len(self._held) == HELD and not self._unread():
                return self._held[max(self._held)]
            found = await self._trunk()
            if len(self._held) == HELD and found.told.version not in self._held:
                del self._held[min(self._unread() or self._held)]
            self._held[found.told.version] = found
            return found

    def _unread(self) -> set[int]:
        """The trunks held that nobody is in the middle of."""
        since = time.monotonic() - PIECE_S
        return self._held.keys() - {version for version, at in self._readers.values() if at > since}


async def trunk_of(calls: Calls | None) -> Whole:
    """Of the trainer here, as it is now.

    Args:
        calls: the end of its pipe; None: there is none.

    Raises:
        CallRefused: then.
    """
    if calls is None:
        raise CallRefused("No trunk is trained here.")
    agreed, pieces = await calls.exchange(GIVE_TRUNK, None, deadline=time.monotonic() + COPY_S)
    data = bytes(pieces) if isinstance(pieces, bytes | bytearray | memoryview) else b"".join(pieces)
    return Whole(Vector(agreed.version, agreed.samples, 0, len(data)), data)
