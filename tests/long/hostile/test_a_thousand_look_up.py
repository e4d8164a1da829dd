"""A thousand peers of the hash table in simulated time, of which a fifth lie: look-ups find what they found, as soon.

The nodes are the shipped ones; what lies between them is simulated, and so is time. Who lies stands behind an address
of its own, as the honest do, so that what is bounded by blocks of addresses helps nobody here.
"""

import asyncio
import random
import time
from collections.abc import Callable
from statistics import mean, quantiles
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import pytest

from core.contracts.dht import FindNode, FindValue, Found, Nodes, Pong, Store, Stored, Values
from core.contracts.errors import CallTimeout, PeerUnreachable
from core.contracts.net import PeerAddress
from core.dht.node import DHTNode
from core.dht.records import Verdict, make
from core.dht.routing import Contact
from core.identity import Identity, PeerId
from core.net.admission import Admission
from core.net.method import Context
from core.net.rpc import RpcNode
from tests.bench.virtual_time import run

PEERS, LIARS = 1000, 200
FAR, NEAR = 200, 20
"""Contacts that each has from the beginning: by chance, and those nearest to it."""
ONE_WAY_S = 0.01, 0.08
KEYS, READERS = 150, 2
AT_ONCE = 10
NOW = 1_800_000_000.0
SEED = 16
KINDS = "hides", "silent", "forges", "invents"
"""What liars do: name one another and keep nothing, never answer, give records that nobody signed, name nobody real."""


class Wire:
    """What lies between the peers."""

    def __init__(self) -> None:
        self.chance = random.Random(SEED)
        self.ends: dict[PeerId, End] = {}
        self.calls = 0

    async def wait(self) -> None:
        """For as long as something is on its way."""
        await asyncio.sleep(self.chance.uniform(*ONE_WAY_S))


class End:
    """One peer's; what a node asks of its `RpcNode`."""

    def __init__(self, wire: Wire) -> None:
        self.identity = Identity(wire.chance.randbytes(32))
        self.peer = self.identity.peer
        self.handlers: dict[str, Callable[[Any, bytes, Context], Any]] = {}
        self.pool = SimpleNamespace(links={}, is_acquainted=lambda peer: True)
        self.admission = Admission(cast(Any, self), tuple)
        numbers = ".".join(str(wire.chance.randrange(1, 224)) for _ in range(4))
        self.contact = Contact(PeerAddress(self.peer, (f"{numbers}:4000",)))
        self._wire = wire
        wire.ends[self.peer] = self

    def register(self, name: str, request: type, handler: Callable[[Any, bytes, Context], Any], **_: object) -> None:
        self.handlers[name] = handler

    def learn(self, address: PeerAddress) -> None:
        """Everybody reaches everybody by the key."""

    def address(self) -> PeerAddress:
        return self.contact.address

    async def call(self, peer: PeerId, name: str, request: Any, reply: type, deadline_s: float) -> tuple[Any, bytes]:
        wire = self._wire
        wire.calls += 1
        try:
            async with asyncio.timeout(deadline_s):
                await wire.wait()
                if peer not in wire.ends:
                    raise PeerUnreachable("There is no such peer.")
                answer = wire.ends[peer].handlers[name](request, b"", Context(self.peer, None, 0.0))
                answer = await answer if asyncio.iscoroutine(answer) else answer
                await wire.wait()
        except TimeoutError:
            raise CallTimeout("It did not answer.") from None
        return answer, b""


class Liar:
    """A peer that knows all other liars."""

    def __init__(self, end: End, kind: str, wire: Wire, others: list[Contact]) -> None:
        self._kind, self._wire, self._others, self._end = kind, wire, others, end
        end.handlers |= {
            "dht.ping": lambda *_: Pong(end.address(), NOW, True),
            "dht.find_node": self._on_find_node,
            "dht.find_value": self._on_find_value,
            "dht.store": self._on_store,
        }

    async def _think(self) -> None:
        if self._kind == "silent":
            await asyncio.sleep(3600.0)

    def _named(self, targets: list[bytes]) -> Nodes:
        contacts, nearest = list[PeerAddress](), list[list[int]]()
        for target in targets[:12]:
            place = int.from_bytes(target)
            near = sorted(self._others, key=lambda contact: contact.long_id ^ place)[:8]
            addresses = [contact.address for contact in near]
            if self._kind == "invents":
                addresses = [PeerAddress(self._wire.chance.randbytes(32), ("9.9.9.9:1",)) for _ in near]
            nearest.append([*range(len(contacts), len(contacts) + len(addresses))])
            contacts += addresses
        return Nodes(contacts, nearest + [[]] * (len(targets) - len(nearest)))

    async def _on_find_node(self, asked: FindNode, *_: object) -> Nodes:
        await self._think()
        return self._named(asked.targets)

    async def _on_find_value(self, asked: FindValue, *_: object) -> Values:
        await self._think()
        found = [Found([], {}, None) for _ in asked.keys]
        if self._kind == "forges" and not asked.compact:
            raws = [make(self._end.identity, "x", "", b"lie", int(NOW * 1000), NOW + 600).raw for _ in asked.keys]
            found = [Found([raw], {}, None) for raw in raws]
        return Values(found, self._named(asked.keys))

    async def _on_store(self, asked: Store, *_: object) -> Stored:
        await self._think()
        return Stored([Verdict.STORED] * len(asked.records))


class Seen(NamedTuple):
    """Of all look-ups."""

    found: float
    """The share that found what was stored."""
    seconds: list[float]
    replicas: list[int]
    """That said that they keep each record."""
    calls: float
    """A look-up."""


async def _measure(liars: int) -> Seen:
    wire, loop = Wire(), asyncio.get_running_loop()
    ends = [End(wire) for _ in range(PEERS)]
    lying = [end.contact for end in ends[:liars]]
    for number, end in enumerate(ends[:liars]):
        Liar(end, KINDS[number % len(KINDS)], wire, lying)
    nodes = [DHTNode(cast(RpcNode, end), end.identity, wall=lambda: NOW + loop.time()) for end in ends[liars:]]
    for node, end in zip(nodes, ends[liars:], strict=True):
        near = sorted(ends, key=lambda other: other.contact.long_id ^ end.contact.long_id)[1 : NEAR + 1]
        router = node.protocol.router
        with patch.object(router, "_on_full", lambda contact: None):
            for other in [*near, *wire.chance.sample(ends, FAR)]:
                router.add_contact(other.contact)
    values = {f"run.{number}": b"%d" % number for number in range(KEYS)}
    replicas, seconds, found = list[int](), list[float](), list[bool]()
    turn = asyncio.Semaphore(AT_ONCE)

    async def store(key: str) -> None:
        async with turn:
            replicas.append(await wire.chance.choice(nodes).store_many({key: {"": values[key]}}, 600.0))

    async def read(key: str) -> None:
        async with turn:
            began = loop.time()
            records = await wire.chance.choice(nodes).get(key)
            seconds.append(loop.time() - began)
            found.append("" in records and records[""].value == values[key])

    await asyncio.gather(*map(store, values))
    before = wire.calls
    await asyncio.gather(*(read(key) for key in values for _ in range(READERS)))
    calls = (wire.calls - before) / len(seconds)
    for node in nodes:
        await node.protocol.close()
    return Seen(mean(found), seconds, replicas, calls)


def measure(liars: int) -> Seen:
    """Store and look up.

    Args:
        liars: of all peers.
    """

    async def main() -> Seen:
        loop = asyncio.get_running_loop()
        with patch.object(time, "monotonic", lambda: NOW + loop.time()):
            return await _measure(liars)

    random.seed(SEED)
    seen = run(main())
    slow = quantiles(seen.seconds, n=20)[-1]
    print(
        f"{liars} of {PEERS} lie: {seen.found:.1%} found, {mean(seen.seconds):.2f} s a look-up, 95% within {slow:.2f}"
        f" s, {seen.calls:.1f} calls; {mean(seen.replicas):.1f} replicas, {min(seen.replicas)} at least"
    )
    return seen


@pytest.fixture(scope="module")
def peace() -> Seen:
    return measure(0)


def test_look_ups_among_a_thousand_of_which_a_fifth_lie(peace: Seen) -> None:
    hostile = measure(LIARS)
    assert peace.found == 1.0 and hostile.found > 0.99
    assert mean(hostile.seconds) < 2 * mean(peace.seconds)
