"""The parameter server of a run whose manifest names none: a peer that trains, by lease.

Its answers hold all that it knows, so that whoever was answered last has a copy; the peer that takes its place when it
dies goes on from the newest copy of all. Nothing that a trainer was told is accepted is lost with one peer.
"""

import asyncio
import logging
import struct
import time
import zlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
import numpy as np

from core.averaging.packing import NOISE, pack, unpack
from core.contracts.errors import NetworkError, ProtocolError
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.trunk import Whole
from core.contracts.trunk_calls import Keeper, State
from core.identity import parse_peer, peer_text
from core.net.recurring import Recurring
from core.net.rpc import Context
from core.swarm.members import Members
from core.swarm.trunk.leases import TICK_S, Leases
from core.swarm.trunk.work_generator import Work

log = logging.getLogger(__name__)

COPY = "trunk.copy"
PART = 0
"""There is one server for the whole trunk."""
LARGEST_TABLE = 4 << 20
"""Bytes: of a thousand clients it takes a tenth."""
ASKED, ASK_S = 32, 10.0
"""Peers that an heir asks for their copies, and how long."""
SAVE_S = 20.0
"""Between two times that a copy is written to the disk."""
SIZE = struct.Struct("<I")
HOSTILE_POINTS = 4.0
_decode = msgspec.msgpack.Decoder(Work).decode


class Copy(NamedTuple):
    """All that a server knows."""

    table: bytes
    """Of the work."""
    vector: bytes
    """The parameters, float32."""
    turns: int
    """Of two copies the one with more is the newer."""


class AskCopy(msgspec.Struct, frozen=True, array_like=True):
    """`trunk.copy`, to a peer that may have a newer copy than the asker."""

    turns: Whole
    """Of the asker's."""


def most_bytes(numbers: int) -> int:
    """What a message of parameters and a table takes at most."""
    return (NOISE + 2) * numbers + LARGEST_TABLE


def dump(copy: Copy) -> bytes:
    """A copy as it travels."""
    table = zlib.compress(copy.table, 1)
    return SIZE.pack(len(table)) + table + pack(np.frombuffer(copy.vector, "<f4"))


def load(data: bytes | memoryview, numbers: int) -> Copy:
    """A copy that has travelled.

    Args:
        data: of `dump`.
        numbers: parameters that there are.

    Raises:
        ProtocolError: it is none.
    """
    inflater = zlib.decompressobj()
    try:
        end = SIZE.size + SIZE.unpack_from(data)[0]
        table = inflater.decompress(data[SIZE.size : end], LARGEST_TABLE)
        turns = _decode(table).turns
    except (struct.error, zlib.error, msgspec.MsgspecError) as error:
        raise ProtocolError(f"A server's copy came that cannot be read: {error}.") from error
    return Copy(table, unpack(data[end:], numbers).tobytes(), turns)


class ServerLease:
    """Who the server is, and what is here for its heir."""

    def __init__(
        self,
        run_id: str,
        numbers: int,
        members: Members,
        stored: Callable[[], Awaitable[Copy | None]],
        store: Callable[[Copy], Awaitable[None]],
    ) -> None:
        """
        Args:
            run_id: the run's.
            numbers: parameters that there are.
            members: its peers.
            stored: what this PC's own store holds.
            store: put a copy in its place.
        """
        self._numbers, self._members, self._node = numbers, members, members.node
        self._stored, self._store = stored, store
        self._method = of_run(COPY, run_id)
        self._copy: Copy | None = None
        """The newest that came, if this PC is not the server."""
        self._loaded, self._saved, self._saved_at = False, 0, 0.0
        self.serves = False
        self.turns = 0
        """Of what is here."""
        self._tending = Recurring("trunk_server", self._tend, lambda: TICK_S)
        self._leases = Leases(run_id, members, self._mine, self._tending.wake)
        self._node.register(self._method, AskCopy, self._give, cost=16.0)

    def start(self) -> None:
        """Look who serves."""
        self._tending.start()

    async def stop(self) -> None:
        """Leave it to the others."""
        await self._tending.stop()
        self.serves = False
        await self._save()
        await self._leases.leave()

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return self._tending.notes

    async def server(self, patience_s: float) -> str:
        """The server, as soon as there is one.

        Args:
            patience_s: how long that may take.

        Raises:
            CallTimeout: it took longer.
        """
        return await self._leases.syncer(PART, patience_s)

    def failed(self, server: str, gone: bool) -> None:
        """The server did not serve.

        Args:
            server: who it is.
            gone: whether it did not answer; else it is none.
        """
        if gone:
            self._leases.failed(server)
        self._tending.wake.set()

    def received(self, data: bytes | memoryview) -> bytes:
        """Keep what a server's answer holds; the parameters.

        Args:
            data: as it came.

        Raises:
            ProtocolError: it is no copy.
        """
        copy = load(data, self._numbers)
        if not self.serves and copy.turns >= self.turns:
            self._copy, self.turns = copy, copy.turns
        return copy.vector

    def _mine(self) -> Keeper:
        return Keeper({PART: self.turns}, [PART] if self.serves else [], not self._node.dial_only)

    async def _tend(self) -> None:
        if not self._loaded:
            self._copy = await self._stored()
            self._saved = self.turns = self._copy.turns if self._copy else 0
            self._loaded = True
        if time.monotonic() - self._saved_at > SAVE_S:
            await self._save()
        if self._node.hushed or not await self._leases.look():
            return
        claims, leaves = self._leases.due([PART])
        if claims:
            await self._adopt()
        elif leaves:
            self.serves, self.turns = False, 0
            log.info("Another peer is the run's parameter server now.")
        await self._leases.tell()

    async def _save(self) -> None:
        self._saved_at = time.monotonic()
        if self._copy and not self.serves and self._copy.turns != self._saved:
            self._saved = self._copy.turns
            await self._store(self._copy)

    async def _adopt(self) -> None:
        """Go on from the newest copy that there is."""
        keepers = self._leases.keepers
        others = sorted(keepers.keys() - {self._members.me}, key=lambda peer: -keepers[peer].versions.get(PART, 0))
        copies = await asyncio.gather(*map(self._ask, others[:ASKED]))
        newest = max(filter(None, [self._copy, *copies]), key=lambda copy: copy.turns, default=None)
        if newest and newest.turns >= self.turns:
            await self._store(newest)
            self.turns = newest.turns
        self.serves, self._copy = True, None
        log.info("Is the run's parameter server, from turn %d on.", self.turns)

    async def _ask(self, peer: str) -> Copy | None:
        name = parse_peer(peer)
        try:
            _, data = await self._node.call(name, self._method, AskCopy(self.turns), State, deadline_s=ASK_S)
            return load(data, self._numbers) if data else None
        except ProtocolError:
            self._node.strike(name, HOSTILE_POINTS)
        except NetworkError as error:
            log.info("Peer %s did not give its copy: %s", peer_text(name)[:8], error)
        return None

    async def _give(self, request: AskCopy, payload: bytes, context: Context) -> tuple[State, bytes]:
        copy = await self._stored() if self.serves else self._copy
        return State(), dump(copy) if copy and copy.turns > request.turns else b""
