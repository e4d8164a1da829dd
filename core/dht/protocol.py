"""The DHT's calls, out and in: the kademlia package's protocol over the authenticated transport."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec
from kademlia.node import Node
from kademlia.protocol import KademliaProtocol

from core.contracts.dht import (
    BATCH,
    DIGEST,
    MAX_FOUND,
    NAMED,
    PAGE_SUFFIXES,
    REPLY_BYTES,
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
from core.contracts.errors import CallRefused, CallTimeout, HearthError, RecordError, RemoteFault
from core.contracts.net import PeerAddress
from core.dht.batching import Batcher
from core.dht.clock import NetworkClock
from core.dht.crawl import REPLICAS, Answer
from core.dht.hand_over import HandOver
from core.dht.reading import check_all
from core.dht.records import Record, Verdict, parse
from core.dht.room import Payer, Rank
from core.dht.routing import Contact, K, NearestRoutingTable
from core.dht.store import RecordStore
from core.identity import PeerId
from core.net.background import Background
from core.net.crowds import voter_of
from core.net.limits import Newest
from core.net.method import Context
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

CALL_S = 1.5
"""A peer that takes longer is of no use to a look-up."""
STORE_S = 4.0
"""A store may wait for a dial."""
LATE_S = 10.0
"""For so long an answer is still of use: it tells that the peer lives, and was slow, or this PC was."""
FAILED_S = 30.0
"""A peer that did not answer is left out for so long, unless it does after all."""
FAILED_PEERS = 1024
DOUBTED = 64
"""Of them so many are looked for again where they belong."""
MEETING = 32
"""Newcomers that are being pinged at once; further ones are met at their next call."""
PAGES = 16
"""Pages of one key from one peer."""
T = TypeVar("T", bound=msgspec.Struct)


class DHTProtocol(KademliaProtocol):  # type: ignore[misc]
    """Four methods over an RpcNode, and who is in the routing table."""

    def __init__(
        self,
        rpc: RpcNode,
        contact: Contact,
        storage: RecordStore,
        clock: NetworkClock,
        on_newcomer: Callable[[Contact], None],
    ) -> None:
        """`on_newcomer` gets each peer that enters the table, also one that was left out for a while."""
        # The package's __init__ would open the way to its datagrams: every attribute is set here instead.
        self.rpc = rpc
        self.source_node = contact
        self.storage = storage
        self.clock = clock
        self._on_newcomer = on_newcomer
        self.serving = True
        self.router = NearestRoutingTable(contact, self._meet_soon)
        self._failed = Newest[PeerId, float](FAILED_PEERS)
        self._meeting: set[PeerId] = set()
        self._background = Background()
        self.close = self._background.close
        self._start = self._background.start
        self.nodes = Batcher(self._send_find_node, self._start, BATCH)
        self.values = Batcher(partial(self._find, compact=False), self._start, BATCH)
        self.suffixes = Batcher(partial(self._find, compact=True), self._start, BATCH)
        self.stores = Batcher(self._send_store, self._start, 512, len)
        self._hand_over = HandOver(contact, self.router, storage, clock, self.call_ping, self.stores.ask, self._start)
        rpc.register("dht.ping", Ping, self._on_ping)
        rpc.register("dht.find_node", FindNode, self._on_find_node, cost=lambda asked: 1.0 + len(asked.targets))
        rpc.register("dht.find_value", FindValue, self._on_find_value, cost=lambda asked: 1.0 + len(asked.keys))
        rpc.register("dht.store", Store, self._on_store, cost=lambda asked: 1.0 + len(asked.records))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # the package would make an RPC of any name

    # Calls out

    async def call(self, contact: Contact, name: str, request: Any, reply: type[T], deadline_s: float) -> T | None:
        """One call; None if there was no answer in time.

        A peer that cannot be reached, is late, or talks nonsense leaves the table; a late answer brings it back.
        """
        if contact not in self.router and contact.address.addresses:
            self.rpc.learn(contact.address)
        asked = self._start(self._ask(contact, name, request, reply), name)
        await asyncio.wait([asked], timeout=deadline_s)
        if asked.done():
            return asked.result()
        log.debug("%s has not answered %s yet.", contact, name)
        self.handle_call_response((False, None), contact)
        return None

    async def _ask(self, contact: Contact, name: str, request: Any, reply: type[T]) -> T | None:
        try:
            answer, _ = await self.rpc.call(contact.peer, name, request, reply, deadline_s=LATE_S)
        except (CallRefused, RemoteFault, CallTimeout) as error:
            # it lives, and is busy; or it left the table when it was late
            log.debug("%s refused %s: %s", contact, name, error)
            return None
        except HearthError as error:
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
            self._failed[node.peer] = time.monotonic() + FAILED_S
        return result

    def usable(self, contacts: list[Contact]) -> list[Contact]:
        """Without this peer itself and those that failed a moment ago."""
        now, own = time.monotonic(), self.source_node.peer
        return [c for c in contacts if c.peer != own and self._failed.get(c.peer, 0.0) < now]

    def left_out(self, since: float) -> list[Contact]:
        """The newest of those that failed and were of no use at a moment (time.monotonic()), or have been since."""
        return [Contact(PeerAddress(peer)) for peer, until in self._failed.items() if until > since][-DOUBTED:]

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
        if (link := self.rpc.pool.links.get(node_to_ask.peer)) is not None:
            self.clock.hear(voter_of(link.branch), pong.clock, sent, self.clock.wall())
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
        return [Verdict(code) if 0 <= code <= Verdict.STRANGER else None for code in reply.verdicts]

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
        found, missing, looked_at = [], [], set[bytes]()
        for key in request.keys:
            records: list[bytes] = []
            suffixes: dict[str, float] = {}
            after: str | None = request.after  # nothing yet: ask again
            if not self.rpc.admission.lets_read(context.peer, self.storage.name(key)):
                after = None
            elif key in looked_at:
                pass  # a page takes time by how much is under its key, so each has one in an answer
            elif request.compact and budget > 0:
                suffixes, after, budget = self.storage.suffixes(key, request.after, PAGE_SUFFIXES, budget, now)
            elif not request.compact and budget > 0:
                records, after = self.storage.page(key, request.after, budget, now)
                budget -= sum(map(len, records))
            looked_at.add(key)
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
            insider = self.rpc.admission.lets_store(context.peer, record.key)
            payer = self._payer(context, record)
            verdicts.append(self.storage.verdict(record, now, payer) if insider else Verdict.STRANGER)
            if verdicts[-1] == Verdict.STORED:
                wanted.append((place, record))
        good = await check_all([record for _, record in wanted])
        for (place, record), signed in zip(wanted, good, strict=True):
            kept = self.storage.put(record, now, self._payer(context, record)) if signed else Verdict.FORGED
            verdicts[place] = kept
        return Stored(verdicts)

    def _payer(self, context: Context, record: Record) -> Payer:
        """To whom a record is charged that is brought; those of peers that have shown nothing here anybody can make."""
        inside = all(self.rpc.admission.is_inside(peer, record.key) for peer in (context.peer, record.peer))
        known = record.peer == context.peer and self.rpc.pool.is_acquainted(context.peer)
        return Payer(Rank.MEMBER if inside or known else Rank.STRANGER, context.branch)

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
        contact = Contact(PeerAddress(peer))
        if serving and peer != self.source_node.peer and contact not in self.router:
            self._meet_soon(contact)

    def _meet_soon(self, contact: Contact) -> None:
        if contact.peer not in self._meeting and len(self._meeting) < MEETING:
            self._meeting.add(contact.peer)
            self._start(self._meet(contact), "dht ping")

    async def _meet(self, contact: Contact) -> None:
        try:
            await self.call_ping(contact)
        finally:
            self._meeting.discard(contact.peer)

    def welcome_if_new(self, node: Contact) -> None:
        """Enter a peer that answered into the table, and hand it the records that it should hold."""
        if node in self.router:
            return
        if not node.address.addresses:  # they are asked for before it is named to others
            self._meet_soon(node)
        else:
            self.router.add_contact(node)
            self._on_newcomer(node)
            self._hand_over.begin(node)

    def get_refresh_ids_older(self, age_s: float) -> list[bytes]:
        """A random id of each bucket in which nothing was looked up for so long."""
        buckets = self.router.lonely(age_s)
        return [random.randrange(bucket.range[0], bucket.range[1]).to_bytes(DIGEST, "big") for bucket in buckets]
