"""A peer of the DHT: store, find, remove, and the upkeep of its table and records."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from kademlia.network import Server
from kademlia.node import Node

from core.contracts.dht import NAMED
from core.contracts.errors import IdentityError, RecordError
from core.contracts.net import PeerAddress
from core.contracts.network_status import DhtStatus
from core.contracts.notices import Notice
from core.dht import store as state
from core.dht.clock import NetworkClock
from core.dht.crawl import REPLICAS, PeerCrawl, ValueCrawl
from core.dht.protocol import FAILED_S, DHTProtocol
from core.dht.reading import Candidates, Readings, candidates, leave_genuine, newest
from core.dht.records import MAX_LIFE_S, SKEW_S, Record, Verdict, key_digest, make
from core.dht.routing import Contact, K
from core.dht.store import KEY_SUBKEYS, RecordStore
from core.identity import Identity, PeerId, parse_peer, peer_text
from core.net.limits import Newest
from core.net.recurring import Recurring
from core.net.rpc import RpcNode

RESPONSIBLE_S = 30.0
"""Peers found near a key are used again for so long: every second announcement needs no search."""
RESPONSIBLE_KEYS = 4096
UPKEEP_S = 10.0
CHECKED = 3
"""Contacts pinged at each upkeep, so that the dead leave the table; 200 contacts take ten minutes."""
LONELY_S = 600.0
"""A bucket without a look-up for so long is refreshed, one at each upkeep."""
REPUBLISH_S = 300.0
"""Own records that live longer are published again, for those who came near their keys unnoticed."""
REPUBLISH_BATCH = 256
OWN_RECORDS = 16_384
KEPT = (Verdict.STORED, Verdict.SAME, Verdict.OLDER)
"""The replica has this record of ours, or a newer one that overtook it."""
TOMBSTONE_S = 120.0
"""A tombstone lives as long as the longest announcement that it must outlive, and its own way through the network."""


class DHTNode(Server):  # type: ignore[misc]
    """Use as `async with DHTNode(rpc, identity) as dht`, inside the RpcNode's own `async with`."""

    protocol_class = DHTProtocol
    # What the package offers over datagrams, unsigned or by pickle is not there.
    listen = set = set_digest = bootstrap_node = save_state_regularly = refresh_table = None

    def __init__(
        self, rpc: RpcNode, identity: Identity, *, serving: bool = True, wall: Callable[[], float] = time.time
    ) -> None:
        """`serving`: this peer can be dialled and takes part; False for one that only dials out (client mode)."""
        contact = Contact(PeerAddress(identity.peer))
        super().__init__(K, node_id=contact.id, storage=RecordStore())
        self.storage: RecordStore  # an empty one is false, and the package would put its own in its place
        self.storage = RecordStore()
        self.clock = NetworkClock(wall)
        self.protocol: DHTProtocol = self.protocol_class(rpc, contact, self.storage, self.clock, self._owe)
        self.protocol.serving = serving
        self._rpc = rpc
        self._identity = identity
        self._sequence = 0
        self._own = Newest[tuple[str, str], tuple[Record, float]](OWN_RECORDS)
        """By key and subkey, and when each is to be published again (time.monotonic())."""
        self._responsible = Newest[bytes, tuple[float, list[Contact]]](RESPONSIBLE_KEYS)
        self._readings = Readings()
        self._bootstrap: list[PeerId] = []
        self._upkeep = Recurring("upkeep", self.upkeep, lambda: UPKEEP_S * random.uniform(0.8, 1.2))

    async def __aenter__(self) -> "DHTNode":
        self._upkeep.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._upkeep.stop()
        await self.protocol.close()

    async def bootstrap(self, peers: Sequence[PeerId]) -> int:
        """Join the network through known peers, whose addresses the RpcNode has been told.

        Returns:
            How many of them answered.
        """
        self._bootstrap = list(peers)[:NAMED]
        others = [Contact(PeerAddress(peer)) for peer in self._bootstrap if peer != self._identity.peer]
        found = [c for c in await asyncio.gather(*map(self.protocol.call_ping, others)) if c is not None]
        if found:
            await self._settle_in()
        return len(found)

    async def _settle_in(self) -> None:
        """Look for oneself and far afield: so that others know of the newcomer, and hand over what it should hold."""
        own = self.protocol.source_node
        await PeerCrawl(own, self._near(own, K), self.protocol.nodes.ask, K, K, alpha=K).find()
        for target in self.protocol.get_refresh_ids_older(0.0)[:8]:
            await self._find_peers([target])

    def _near(self, node: Node, count: int = REPLICAS + 2) -> list[Contact]:
        return self.protocol.usable(self.protocol.router.find_neighbors(node, count))

    async def _find_peers(self, digests: Iterable[bytes], fresh: bool = False) -> dict[bytes, list[Contact]]:
        """The peers nearest to each digest, nearest first, that keep its records."""
        now = time.monotonic()
        lists: dict[bytes, tuple[float, list[Contact]]] = {}
        wanted: list[bytes] = []
        for digest in dict.fromkeys(digests):
            lists[digest] = until, contacts = self._responsible.get(digest, (0.0, []))
            if fresh or until < now or len(self.protocol.usable(contacts)) < len(contacts):
                wanted.append(digest)
        nodes = [Node(digest) for digest in wanted]
        crawls = [PeerCrawl(node, self._near(node), self.protocol.nodes.ask).find() for node in nodes]
        for digest, contacts in zip(wanted, await asyncio.gather(*crawls), strict=True):
            lists[digest] = now + RESPONSIBLE_S, contacts
        found: dict[bytes, list[Contact]] = {}
        for digest, (until, contacts) in lists.items():
            node = Node(digest)  # who came, or came back, meanwhile belongs there as well
            around = {contact.id: contact for contact in (*contacts, *self._near(node, REPLICAS))}
            found[digest] = sorted(around.values(), key=node.distance_to)[:REPLICAS]
            self._responsible[digest] = until, found[digest]
        return found

    # Writing

    async def store(self, key: str, value: bytes, expires_s: float, *, subkey: str = "") -> bool:
        """Publish one value for `expires_s` seconds. Whether any other peer keeps it.

        Raises:
            RecordError: key, subkey, value or time are beyond the limits.
        """
        return await self.store_many({key: {subkey: value}}, expires_s) > 0

    async def store_many(self, entries: Mapping[str, Mapping[str, bytes]], expires_s: float) -> int:
        """Publish {key: {subkey: value}}, in one call a responsible peer.

        Returns:
            The number of replicas of the record with the fewest.
        """
        return await self._publish(
            [(k, s, value) for k, values in entries.items() for s, value in values.items()], expires_s
        )

    async def remove(self, entries: Mapping[str, Iterable[str]]) -> int:
        """Publish tombstones for one's own {key: subkeys}, which live as long as what they bury."""
        return await self._bury([(key, subkey) for key, subkeys in entries.items() for subkey in subkeys])

    async def leave(self, prefix: str) -> None:
        """Remove all that this peer has published under keys that begin so; those connected are told, nobody else.

        Args:
            prefix: of the keys.
        """
        now = self.clock.now()  # a tombstone may not have been heard yet: it is told once more
        own = [name for name, (record, _) in self._own.items() if name[0].startswith(prefix) and record.expires > now]
        await self._bury(own, leaving=True)

    async def _bury(self, names: list[tuple[str, str]], leaving: bool = False) -> int:
        now = self.clock.now()
        ends = [self._own[name][0].expires for name in names if name in self._own]
        life = min(MAX_LIFE_S, max([TOMBSTONE_S, *(end - now for end in ends)]))
        return await self._publish([(key, subkey, None) for key, subkey in names], life, leaving)

    async def _publish(
        self, values: list[tuple[str, str, bytes | None]], expires_s: float, leaving: bool = False
    ) -> int:
        if not values:
            return 0
        if not 0 < expires_s <= MAX_LIFE_S:
            raise RecordError(Verdict.AHEAD, f"A record lives for at most {MAX_LIFE_S:.0f} s, not {expires_s}.")
        now = self.clock.now()
        self._sequence = max(self._sequence + 1, int(now * 1000))
        sequence = self._sequence

        def sign() -> list[Record]:
            return [make(self._identity, k, s, value, sequence, now + expires_s) for k, s, value in values]

        records = sign() if len(values) <= 16 else await asyncio.to_thread(sign)
        for record in records:
            self._own[(record.key, record.subkey)] = (record, time.monotonic() + REPUBLISH_S)
        return await (self._tell_connected(records) if leaving else self._spread(records))

    async def _tell_connected(self, records: list[Record]) -> int:
        digests = [key_digest(record.key) for record in records]
        peers = {digest: self._responsible.get(digest, (0.0, self._near(Node(digest))))[1] for digest in digests}
        self._keep_own_share(records, peers)
        stored = []
        for record, digest in zip(records, digests, strict=True):
            near = self.protocol.usable(peers[digest])
            connected = [contact for contact in near if contact.peer in self._rpc.pool.links]
            stored.append([self.protocol.stores.ask(contact, record.raw) for contact in connected])
        asked = [future for futures in stored for future in futures]
        if asked:
            await asyncio.wait(asked)
        return min(sum(future.result() in KEPT for future in futures) for futures in stored)

    async def _spread(self, records: list[Record]) -> int:
        """Store records at the peers responsible for them; once more where some of these have gone.

        What did not reach one of them, or not in time, is due again at the next upkeep, and what belongs to peers that
        are left out for a while once they may be back.
        """
        began = time.monotonic()
        digests = [key_digest(record.key) for record in records]
        peers: dict[bytes, list[Contact]] = {}
        answers: dict[tuple[int, Contact], asyncio.Future[Verdict | None]] = {}
        places: Iterable[int] = range(len(records))
        for again in (False, True):
            peers |= await self._find_peers([digests[place] for place in places], fresh=again)
            asked = [(place, contact) for place in places for contact in peers[digests[place]]]
            new = {
                (place, contact): self.protocol.stores.ask(contact, records[place].raw)
                for place, contact in asked
                if (place, contact) not in answers
            }
            if new:
                await asyncio.wait(new.values())
            answers |= new
            places = sorted({place for (place, _), future in new.items() if future.result() is None})
            if not places:
                break
        self._keep_own_share(records, peers)
        verdicts = [(place, future.result()) for (place, _), future in answers.items()]
        doubted = self.protocol.left_out(began)
        short = {key for key, near in peers.items() if any(_belongs(peer, Node(key), near) for peer in doubted)}
        self._due(
            [record for record, digest in zip(records, digests, strict=True) if digest in short],
            time.monotonic() + FAILED_S,
        )
        self._due([records[place] for place in {place for place, verdict in verdicts if verdict is None}])
        kept = Counter(place for place, verdict in verdicts if verdict in KEPT)
        return min(kept[place] for place in range(len(records)))

    def _due(self, records: Iterable[Record], at: float = 0.0) -> None:
        """Have own records published again at the first upkeep after `at`, unless newer ones took their places."""
        for record in records:
            name = record.key, record.subkey
            if name in self._own and self._own[name][0] is record:
                self._own[name] = record, min(at, self._own[name][1])

    def _owe(self, newcomer: Contact) -> None:
        """What this peer publishes near a newcomer, who may only have been away or slow, is due there."""
        lists = self._responsible.items()
        near = {digest for digest, (_, peers) in lists if _belongs(newcomer, Node(digest), peers)}
        if near:
            self._due([record for record, _ in self._own.values() if key_digest(record.key) in near])

    def _keep_own_share(self, records: list[Record], peers: Mapping[bytes, list[Contact]]) -> None:
        """This peer is a replica as well, of what lies near it."""
        if not self.protocol.serving:
            return
        now, own = self.clock.now(), self.protocol.source_node
        mine = {digest for digest, near in peers.items() if _belongs(own, Node(digest), near)}
        for record in records:
            if key_digest(record.key) in mine:
                self.storage.put(record, now)

    # Reading

    async def get(self, key: str) -> dict[str, Record]:
        """What is stored under a key: for each subkey the newest valid record; the dead are left out.

        Who asks again at once is told what was read, unless something came for the key here meanwhile.
        """
        now = self.clock.now()
        known = self._readings.lately(key, self._raws(key, now))
        if known is None:
            return (await self.get_many([key]))[key]
        return {subkey: one for subkey, one in newest(self._believed(key, known)).items() if one.expires > now}

    async def get_many(self, keys: Iterable[str], buried: bool = False) -> dict[str, dict[str, Record]]:
        """`get` for many keys at once as of now, in a few calls a peer.

        Args:
            keys: what to read.
            buried: with the tombstones of those that have left.
        """
        names, now, crawls = list(dict.fromkeys(keys)), self.clock.now(), []
        kept = {name: self._raws(name, now) for name in names}
        for name in names:
            node = Node(key_digest(name))
            crawls.append(ValueCrawl(node, self._near(node), self.protocol.values.ask, kept[name] or None).find())
        answers = await asyncio.gather(*crawls)
        read = [
            self._believed(name, candidates(name, values, now)) for name, values in zip(names, answers, strict=True)
        ]
        # what is kept here was checked when it came
        await leave_genuine(read, {raw for name in names for raw in (*kept[name], *self._readings.genuine(name))})
        for name, found in zip(names, read, strict=True):
            self._readings.add(name, kept[name], found)
        return {name: newest(found, buried) for name, found in zip(names, read, strict=True)}

    def _believed(self, key: str, found: Candidates) -> Candidates:
        """Without what strangers publish about runs that are not open to them."""
        believes = self._rpc.admission.believes
        return {name: records for name, records in found.items() if believes(name[1], key)}

    def _raws(self, key: str, now: float) -> list[bytes]:
        return [record.raw for record in self.storage.of(key_digest(key), now)]

    async def find_suffixes(self, prefixes: Iterable[str]) -> dict[str, dict[str, float]]:
        """Active subkeys of keys and when they expire (unix s), unsigned: check the leaf before relying on one."""
        names = list(dict.fromkeys(prefixes))
        now = self.clock.now()
        crawls = []
        for name in names:
            digest = key_digest(name)
            local, _, _ = self.storage.suffixes(digest, "", KEY_SUBKEYS, KEY_SUBKEYS * 1024, now)
            node = Node(digest)
            crawls.append(ValueCrawl(node, self._near(node), self.protocol.suffixes.ask, local or None).find())
        found: dict[str, dict[str, float]] = {}
        for name, answers in zip(names, await asyncio.gather(*crawls), strict=True):
            suffixes = found[name] = {}
            for suffix, expires in (item for answer in answers for item in answer.items()):
                room = suffix in suffixes or len(suffixes) < KEY_SUBKEYS
                if room and now < expires <= now + MAX_LIFE_S + SKEW_S:
                    suffixes[suffix] = max(expires, suffixes.get(suffix, 0.0))
        return found

    # Upkeep

    @property
    def notes(self) -> list[Notice]:
        """What the user is told: that an upkeep fails again and again, that the clock is wrong."""
        return [*self._upkeep.notes, *self.clock.notes]

    async def upkeep(self) -> None:
        """One round: drop what expired, check some contacts, refresh a bucket, publish one's own again."""
        now = self.clock.now()
        self.storage.expire(now)
        for name in [name for name, (record, _) in self._own.items() if record.expires <= now]:
            del self._own[name]
        contacts = list(self.protocol.router)
        if not contacts and self._bootstrap:
            await self.bootstrap(self._bootstrap)
        await asyncio.gather(*map(self.protocol.call_ping, random.sample(contacts, min(CHECKED, len(contacts)))))
        for target in self.protocol.get_refresh_ids_older(LONELY_S)[:1]:
            await self._find_peers([target])
        await self._publish_again()

    async def _publish_again(self) -> None:
        now = time.monotonic()
        due = [(name, record) for name, (record, at) in self._own.items() if at < now][:REPUBLISH_BATCH]
        for name, record in due:
            self._own[name] = record, now + REPUBLISH_S
        if due:
            await self._spread([record for _, record in due])

    def stats(self, experts: int | None) -> DhtStatus:
        """What this node holds; `experts`: see `DhtStatus`."""
        total, keys, contacts = self.storage.total, len(self.storage.digests()), len(self.protocol.router)
        return DhtStatus(
            contacts, keys, total.records, total.bytes, len(self._own), self.clock.offset, experts, self.clock.apart
        )

    def contacts(self) -> list[PeerAddress]:
        """The peers in the routing table."""
        return [contact.address for contact in self.protocol.router]

    def save_state(self, path: Path) -> None:
        """Write contacts and records as JSON, atomically.

        Raises:
            OSError: the file cannot be written; the old one stays.
        """
        contacts = [(peer_text(c.peer), list(c.address.addresses)) for c in self.protocol.router]
        state.save_state(path, contacts, list(self.storage))

    def load_state(self, path: Path) -> list[PeerId]:
        """Take up saved records; the saved contacts, whose addresses are now known, are returned to bootstrap from."""
        contacts, records = state.load_state(path, self.clock.now())
        for record in records:
            self.storage.put(record, self.clock.now())
        peers = []
        for text, addresses in contacts:
            try:
                peer = parse_peer(text)
            except IdentityError:
                continue
            self._rpc.learn(PeerAddress(peer, tuple(addresses)))
            peers.append(peer)
        return peers


def _belongs(peer: Contact, key: Node, peers: list[Contact]) -> bool:
    """Whether a peer is among the `REPLICAS` nearest to a key, of which `peers` are the nearest others, in order."""
    return len(peers) < REPLICAS or bool(peer.distance_to(key) < peers[REPLICAS - 1].distance_to(key))
