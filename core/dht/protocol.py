"""The DHT's calls, out and in: the kademlia package's protocol over the authenticated transport."""

import asyncio
import logging
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec
from kademlia.node import Node
from kademlia.protocol import KademliaProtocol

from core.dht.crawl import REPLICAS, Answer
from core.dht.messages import (
    BATCH,
    NAMED,
    PAGE_SUFFIXES,
    REPLY_BYTES,
    STORE_BYTES,
    FindNode,
    FindValue,
    Found,
    Nodes,
    Ping,
    Pong,
    Store,
    Stored,
    Values,
)
from core.dht.records import DIGEST, SKEW_S, Record, Verdict, genuine, parse
from core.dht.routing import Contact, K, NearestRoutingTable
from core.dht.store import RecordStore
from core.errors import CallRefused, HearthError, RecordError, RemoteFault
from core.identity import PeerId
from core.net.messages import PeerAddress
from core.net.rpc import Context, RpcNode

log = logging.getLogger(__name__)

CALL_S = 1.5
"""A peer that takes longer is of no use to a look-up."""
STORE_S = 4.0
"""A store may wait for a dial."""
FAILED_S = 30.0
"""A peer that did not answer is left out for so long."""
FAILED_PEERS = 1024
MEETING = 32
"""Newcomers that are being pinged at once; further ones are met at their next call."""
PAGES = 16
"""Pages of one key from one peer."""
MAX_FOUND = 1024
"""Records of one key from one peer: each costs the reader a check of its signature."""
HAND_OVER = 4096
"""Records handed to one newcomer: 1 MB."""
HAND_OVERS = 4
"""Newcomers that are handed records at once; others get them from their owners' next announcement."""
CHECKED = 48
"""Peers pinged for one hand-over at most."""
SLICE = 64
"""Keys looked at between two turns of the event loop."""

T = TypeVar("T", bound=msgspec.Struct)
Item = TypeVar("Item")
Reply = TypeVar("Reply")


class NetworkClock:
    """This PC's clock, corrected by the median of what other peers say, by `SKEW_S` at most.

    One liar among few moves it by half of that; its own clock has a vote.
    """

    VOTES = 64

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._offsets: dict[bytes, float] = {}

    def hear(self, peer: bytes, clock: float, sent: float, received: float) -> None:
        """A peer's clock, and this PC's (`wall`) when it was asked and when it had answered."""
        offset = clock - (sent + received) / 2
        self._offsets.pop(peer, None)
        self._offsets[peer] = min(SKEW_S, max(-SKEW_S, offset)) if offset == offset else 0.0
        if len(self._offsets) > self.VOTES:
            self._offsets.pop(next(iter(self._offsets)))

    @property
    def offset(self) -> float:
        """Seconds by which this PC's clock is behind the others'."""
        return statistics.median([0.0, *self._offsets.values()])

    def now(self) -> float:
        return self._wall() + self.offset

    def wall(self) -> float:
        return self._wall()


class Batcher(Generic[Item, Reply]):
    """Puts what is asked of one peer within one turn of the event loop into one call."""

    def __init__(
        self,
        send: Callable[[Contact, list[Item]], Awaitable[list[Reply | None]]],
        spawn: Callable[[Any], Any],
        count: int,
        weight: Callable[[Item], int] = lambda _: 0,
    ) -> None:
        self._send, self._spawn, self._count, self._weight = send, spawn, count, weight
        self._waiting: dict[PeerId, tuple[Contact, list[tuple[Item, asyncio.Future[Reply | None]]]]] = {}

    def ask(self, contact: Contact, item: Item) -> "asyncio.Future[Reply | None]":
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        future: asyncio.Future[Reply | None] = loop.create_future()
        self._waiting.setdefault(contact.peer, (contact, []))[1].append((item, future))
        return future

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for contact, entries in waiting.values():
            batch: list[tuple[Item, asyncio.Future[Reply | None]]] = []
            weight = 0
            for entry in entries:
                weight += self._weight(entry[0])
                if batch and (len(batch) >= self._count or weight > STORE_BYTES):
                    self._spawn(self._run(contact, batch))
                    batch, weight = [], self._weight(entry[0])
                batch.append(entry)
            self._spawn(self._run(contact, batch))

    async def _run(self, contact: Contact, batch: list[tuple[Item, "asyncio.Future[Reply | None]"]]) -> None:
        answers: list[Reply | None] = [None] * len(batch)
        try:
            answers = await self._send(contact, [item for item, _ in batch])
        finally:
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


class DHTProtocol(KademliaProtocol):  # type: ignore[misc]
    """Four methods over an RpcNode, and who is in the routing table."""

    def __init__(self, rpc: RpcNode, contact: Contact, storage: RecordStore, clock: NetworkClock) -> None:
        # The package's __init__ would open the way to its datagrams: every attribute is set here instead.
        self.rpc = rpc
        self.source_node = contact
        self.storage = storage
        self.clock = clock
        self.serving = True
        self.router = NearestRoutingTable(contact, self._check)
        self._failed: dict[PeerId, float] = {}
        self._meeting: set[PeerId] = set()
        self._handing = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.nodes = Batcher(self._send_find_node, self.spawn, BATCH)
        self.values = Batcher(self._send_find_value, self.spawn, BATCH)
        self.suffixes = Batcher(self._send_find_suffixes, self.spawn, BATCH)
        self.stores = Batcher(self._send_store, self.spawn, 512, len)
        rpc.register("dht.ping", Ping, self._on_ping)
        rpc.register("dht.find_node", FindNode, self._on_find_node, cost=lambda asked: 1.0 + len(asked.targets))
        rpc.register("dht.find_value", FindValue, self._on_find_value, cost=lambda asked: 1.0 + len(asked.keys))
        rpc.register("dht.store", Store, self._on_store, cost=lambda asked: 1.0 + len(asked.records))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # the package would make an RPC of any name

    def spawn(self, coroutine: Any) -> None:
        """Run something in the background until it ends or the protocol is closed."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Calls out

    async def call(self, contact: Contact, name: str, request: Any, reply: type[T], deadline_s: float) -> T | None:
        """One call; None if there was no answer. A peer that cannot be reached, or talks nonsense, leaves the table."""
        if contact not in self.router and contact.address.addresses:
            self.rpc.learn(contact.address)
        try:
            answer, _ = await self.rpc.call(contact.peer, name, request, reply, deadline_s=deadline_s)
        except (CallRefused, RemoteFault) as error:  # it lives, and is busy
            log.debug("%s refused %s: %s", contact, name, error)
            return None
        except (HearthError, msgspec.MsgspecError) as error:
            log.debug("%s did not answer %s: %s", contact, name, error)
            self.handle_call_response((False, None), contact)
            return None
        self.handle_call_response((True, None), contact)
        return answer

    def handle_call_response(self, result: tuple[bool, Any], node: Contact) -> tuple[bool, Any]:
        """A peer that answered is in the table, one that did not is not."""
        if result[0]:
            self._failed.pop(node.peer, None)
            self.welcome_if_new(node)
        else:
            self.router.remove_contact(node)
            self._failed.pop(node.peer, None)
            self._failed[node.peer] = time.monotonic() + FAILED_S
            if len(self._failed) > FAILED_PEERS:
                self._failed.pop(next(iter(self._failed)))
        return result

    def usable(self, contacts: list[Contact]) -> list[Contact]:
        """Without this peer itself and those that failed a moment ago."""
        now, own = time.monotonic(), self.source_node.peer
        return [c for c in contacts if c.peer != own and self._failed.get(c.peer, 0.0) < now]

    def call_find_node(self, node_to_ask: Contact, node_to_find: Node) -> "asyncio.Future[Answer | None]":
        return self.nodes.ask(node_to_ask, node_to_find.id)

    def call_find_value(self, node_to_ask: Contact, node_to_find: Node) -> "asyncio.Future[Answer | None]":
        return self.values.ask(node_to_ask, node_to_find.id)

    def call_find_suffixes(self, node_to_ask: Contact, node_to_find: Node) -> "asyncio.Future[Answer | None]":
        return self.suffixes.ask(node_to_ask, node_to_find.id)

    def call_store(self, node_to_ask: Contact, raw: bytes) -> "asyncio.Future[Verdict | None]":
        return self.stores.ask(node_to_ask, raw)

    async def call_ping(self, node_to_ask: Contact) -> Contact | None:
        """The peer with the addresses that it names itself, if it answers; it is then in the table, if it serves."""
        known = node_to_ask.peer in self._meeting
        self._meeting.add(node_to_ask.peer)
        try:
            sent = self.clock.wall()
            pong = await self.call(node_to_ask, "dht.ping", Ping(self.serving), Pong, STORE_S)
        finally:
            if not known:
                self._meeting.discard(node_to_ask.peer)
        if pong is None or pong.address.peer != node_to_ask.peer:
            return None
        self.clock.hear(node_to_ask.peer, pong.clock, sent, self.clock.wall())
        if not pong.serving:
            self.router.remove_contact(node_to_ask)
            return None
        self.rpc.learn(pong.address)
        contact = Contact(pong.address)
        if contact in self.router:
            self.router.add_contact(contact)  # it was seen, and its addresses may be new
        elif pong.address.addresses:
            self.welcome_if_new(contact)
        return contact

    async def _send_find_node(self, contact: Contact, targets: list[bytes]) -> list[Answer | None]:
        reply = await self.call(contact, "dht.find_node", FindNode(targets, self.serving), Nodes, CALL_S)
        if reply is None:
            return [None] * len(targets)
        return [Answer(nodes) for nodes in self._contacts(reply, len(targets))]

    async def _send_find_value(self, contact: Contact, keys: list[bytes]) -> list[Answer | None]:
        return await self._find(contact, keys, False)

    async def _send_find_suffixes(self, contact: Contact, keys: list[bytes]) -> list[Answer | None]:
        return await self._find(contact, keys, True)

    async def _find(self, contact: Contact, keys: list[bytes], compact: bool) -> list[Answer | None]:
        reply = await self._ask_values(contact, keys, compact, "")
        if reply is None or len(reply.found) != len(keys):
            return [None] * len(keys)
        answers: list[Answer | None] = []
        for key, page, nodes in zip(keys, reply.found, self._contacts(reply.nodes, len(keys)), strict=True):
            records, suffixes, pages = list(page.records), dict(page.suffixes), 1
            while page.after is not None and pages < PAGES and len(records) < MAX_FOUND:
                more = await self._ask_values(contact, [key], compact, page.after)
                if more is None or len(more.found) != 1:
                    break
                page, pages = more.found[0], pages + 1
                records += page.records
                suffixes |= page.suffixes
            found: Any = suffixes if compact else records[:MAX_FOUND]
            answers.append(Answer(nodes, found or None))
        return answers

    async def _ask_values(self, contact: Contact, keys: list[bytes], compact: bool, after: str) -> Values | None:
        return await self.call(contact, "dht.find_value", FindValue(keys, compact, after, self.serving), Values, CALL_S)

    async def _send_store(self, contact: Contact, raws: list[bytes]) -> list[Verdict | None]:
        reply = await self.call(contact, "dht.store", Store(raws, self.serving), Stored, STORE_S)
        if reply is None or len(reply.verdicts) != len(raws):
            return [None] * len(raws)
        return [Verdict(code) if 0 <= code <= Verdict.FULL else None for code in reply.verdicts]

    def _contacts(self, nodes: Nodes, count: int) -> list[list[Contact]]:
        """The peers named for each target; of a list that does not fit the question nothing is used."""
        if len(nodes.nearest) != count or any(i >= len(nodes.contacts) for near in nodes.nearest for i in near):
            return [[] for _ in range(count)]
        contacts = [Contact(address) for address in nodes.contacts]
        usable = {contact.peer for contact in self.usable(contacts)}
        return [[contacts[i] for i in near if contacts[i].peer in usable] for near in nodes.nearest]

    # Calls in

    def _on_ping(self, request: Ping, payload: Any, context: Context) -> Pong:
        self._heard(context.peer, request.serving)
        return Pong(self.rpc.address(), self.clock.wall(), self.serving)

    def _on_find_node(self, request: FindNode, payload: Any, context: Context) -> Nodes:
        self._heard(context.peer, request.serving)
        return self._nearest(request.targets, context.peer, K if len(request.targets) <= 4 else REPLICAS + 2)

    def _on_find_value(self, request: FindValue, payload: Any, context: Context) -> Values:
        self._heard(context.peer, request.serving)
        now, budget = self.clock.now(), REPLY_BYTES
        found, missing = [], []
        for key in request.keys:
            records: list[bytes] = []
            suffixes: dict[str, float] = {}
            after: str | None = request.after  # nothing yet: ask again
            if request.compact and budget > 0:
                suffixes, after, budget = self.storage.suffixes(key, request.after, PAGE_SUFFIXES, budget, now)
            elif not request.compact and budget > 0:
                records, after = self.storage.page(key, request.after, budget, now)
                budget -= sum(map(len, records))
            found.append(Found(records, suffixes, after))
            missing.append([] if records or suffixes or after is not None else [key])
        wanted = [key for keys in missing for key in keys]
        nodes = self._nearest(wanted, context.peer, REPLICAS + 2)
        rows = iter(nodes.nearest)
        return Values(found, Nodes(nodes.contacts, [next(rows) if keys else [] for keys in missing]))

    async def _on_store(self, request: Store, payload: Any, context: Context) -> Stored:
        """Check and keep records; each has a verdict of its own. Signatures, the dear part, are checked in a thread."""
        self._heard(context.peer, request.serving)
        now = self.clock.now()
        verdicts: list[int] = []
        wanted: list[tuple[int, Record]] = []
        for place, raw in enumerate(request.records):
            try:
                record = parse(raw)
            except RecordError as error:
                verdicts.append(error.verdict)
                continue
            verdicts.append(self.storage.verdict(record, now))
            if verdicts[-1] == Verdict.STORED:
                wanted.append((place, record))
        good = await check_all([record for _, record in wanted])
        for (place, record), signed in zip(wanted, good, strict=True):
            verdicts[place] = self.storage.put(record, now) if signed else Verdict.FORGED
        return Stored(verdicts)

    def _nearest(self, targets: list[bytes], asking: PeerId, count: int) -> Nodes:
        places: dict[PeerId, int] = {}
        contacts: list[PeerAddress] = []
        nearest = []
        for target in targets:
            row: list[int] = []
            for contact in self.router.find_neighbors(Node(target), count + 1):
                if contact.peer == asking or len(row) == count:
                    continue
                if contact.peer not in places:
                    if len(contacts) == NAMED:
                        continue
                    places[contact.peer] = len(contacts)
                    contacts.append(contact.address)
                row.append(places[contact.peer])
            nearest.append(row)
        return Nodes(contacts, nearest)

    # Who is in the table

    def _heard(self, peer: PeerId, serving: bool) -> None:
        """A peer has called. It enters the table only after it has answered a ping."""
        if not serving or peer == self.source_node.peer:
            return
        contact = Contact(PeerAddress(peer))
        if contact in self.router or peer in self._meeting or len(self._meeting) >= MEETING:
            return
        self._meeting.add(peer)
        self.spawn(self._meet(contact))

    async def _meet(self, contact: Contact) -> None:
        try:
            await self.call_ping(contact)
        finally:
            self._meeting.discard(contact.peer)

    def welcome_if_new(self, node: Contact) -> None:
        """Enter a peer that answered into the table, and hand it the records that it should hold."""
        if not node.address.addresses and node not in self.router:
            self._learn_addresses(node)
            return
        new = node not in self.router
        if new:
            self.router.add_contact(node)
            if len(self.storage) and self._handing < HAND_OVERS and node in self.router:
                self._handing += 1
                self.spawn(self._hand_over(node))

    def _learn_addresses(self, node: Contact) -> None:
        """Of a peer of which only the key is known, the addresses are asked before it is named to others."""
        if node.peer not in self._meeting and len(self._meeting) < MEETING:
            self._meeting.add(node.peer)
            self.spawn(self._meet(node))

    async def _hand_over(self, newcomer: Contact) -> None:
        """Store at a newcomer what belongs there now; only the two nearest of the others do so (paper, section 2.5).

        Those that seem to stand nearer are pinged first: where many have died at once, nobody else would do it.
        """
        try:
            candidates: list[bytes] = []
            nearer: dict[bytes, Contact] = {}
            for place, digest in enumerate(self.storage.digests()):
                if place % SLICE == SLICE - 1:
                    await asyncio.sleep(0)
                holders = self._holders(digest, 3 * REPLICAS)
                if newcomer in holders[: 2 * REPLICAS] and self.source_node in holders:
                    candidates.append(digest)
                    until = max(holders.index(newcomer), holders.index(self.source_node))
                    nearer.update((c.id, c) for c in holders[:until] if c not in (newcomer, self.source_node))
            await asyncio.gather(*map(self.call_ping, list(nearer.values())[:CHECKED]))
            self._hand(newcomer, candidates)
        finally:
            self._handing -= 1

    def _hand(self, newcomer: Contact, candidates: list[bytes]) -> None:
        left = HAND_OVER
        for digest in candidates:
            holders = self._holders(digest, REPLICAS + 1)
            if newcomer in holders[:REPLICAS]:
                holders.remove(newcomer)
                if self.source_node in holders[:2]:
                    records = self.storage.of(digest, self.clock.now())[:left]
                    left -= len(records)
                    for record in records:
                        self.call_store(newcomer, record.raw)

    def _holders(self, digest: bytes, count: int) -> list[Contact]:
        """The peers nearest to a key, this one counted in, nearest first."""
        key = Node(digest)
        around = [*self.router.find_neighbors(key, count), self.source_node]
        return sorted(around, key=key.distance_to)[:count]

    def get_refresh_ids_older(self, age_s: float) -> list[bytes]:
        """A random id of each bucket in which nothing was looked up for so long."""
        buckets = self.router.lonely(age_s)
        return [random.randrange(bucket.range[0], bucket.range[1]).to_bytes(DIGEST, "big") for bucket in buckets]

    def _check(self, oldest: Contact) -> None:
        """A bucket is full: ping its oldest contact, which makes room if it is gone."""
        if oldest.peer not in self._meeting and len(self._meeting) < MEETING:
            self._meeting.add(oldest.peer)
            self.spawn(self._meet(oldest))


async def check_all(records: list[Record]) -> list[bool]:
    """Whether each record is signed by its publisher; many are checked in a thread, so that the loop goes on."""
    if len(records) <= 16:
        return [genuine(record) for record in records]
    return await asyncio.to_thread(lambda: [genuine(record) for record in records])
