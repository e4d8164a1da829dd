"""The peers of a run: each tells in the DHT what it can host; who does not answer any more is found out early.

Who was banned not long ago is as good as dead here, also when the ban is over: what it hosts is hosted anew by those
who know it, and it is handed nothing.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from core.contracts.errors import CallRefused, NetworkError, RemoteFault
from core.contracts.hosting import MAX_NAMED, Hello, HelloReply, Member
from core.contracts.net import of_run
from core.dht.node import DHTNode
from core.dht.records import own_subkey, told
from core.experts.dht_directory import EXPIRY_S, DHTDirectory
from core.experts.grid import Uid
from core.identity import PeerId, parse_peer, peer_text
from core.net.limits import Newest
from core.net.rpc import RpcNode
from core.swarm.placement import rank

log = logging.getLogger(__name__)

ANNOUNCE_PEER_S = 20.0
HELLO_S = 4.0
HELLOS = 2
"""Unanswered ones after which a peer is taken for dead."""
CHECKED = 2
"""Members that are greeted at each look although nothing was heard of their end."""
CONFIRMED = 16
"""Hosts asked at one look what they host: anybody can announce experts that it does not have."""
BELIEVED_S = 120.0
"""A peer that was taken for dead and was not is left to its records for so long: it is just not reached from here."""
UNSERVED_S = 60.0
"""For so long it counts no more that a peer claims an expert which it did not serve when it was tried."""
MAX_MEMBERS = 512
"""Those known longest; anybody can publish records of peers that are none."""


class Hosted(NamedTuple):
    """An expert as others have it."""

    hosts: dict[str, int]
    """The living ones, with their versions."""
    left: list[PeerId]
    """Those that have let it go not long ago, and live."""


class Others(Protocol):
    """What is asked of the members of the run (`core.swarm.members`)."""

    def keepers(self, part: str) -> list[str]:
        """Who may be asked to keep a part's states, the first one first."""

    async def hosts(self, uids: Sequence[Uid]) -> Mapping[Uid, Hosted]:
        """Who hosts experts."""


class Members:
    """All peers of a run that are at work, this one included."""

    def __init__(self, node: RpcNode, dht: DHTNode, directory: DHTDirectory) -> None:
        """Nobody is known yet.

        Args:
            node: this peer's connections.
            dht: where each member tells that it is there.
            directory: who hosts what of the run.
        """
        self._key, self._method = f"{directory.run_id}.hosts", of_run("host.hello", directory.run_id)
        self.node, self.dht, self.directory = node, dht, directory
        self.me = peer_text(node.peer)
        self.known: dict[str, Member] = {}
        """As of the last look."""
        self.on_buried: list[Callable[[], object]] = []
        """Called when peers were found dead."""
        self._told: tuple[float, Member | None] = (0.0, None)
        self._read: dict[str, tuple[int, float, Member]] = {}
        """Sequence number, expiry and content of the newest record that was read of each: replicas may lag behind."""
        self._dead: dict[str, float] = {}
        self._believed: dict[str, float] = {}
        self._silent: set[str] = set()
        """Those that do none of the work that compute asks of them."""
        self._unserved = Newest[str, dict[Uid, float]](MAX_MEMBERS)
        """By peer, until when its claims of some experts do not count."""
        self._lost: set[str] = set()
        self._greeting: asyncio.Task[None] | None = None

    def disconnected(self, peer: PeerId) -> None:
        """The connection to a peer broke: it is greeted at the next look."""
        self._lost.add(peer_text(peer))

    async def introduce(self, member: Member) -> None:
        """Tell the others that this peer is there, and how much it can and does host.

        Raises:
            NetworkError: the record could not be stored.
        """
        at, said = self._told
        if member != said or time.monotonic() - at > ANNOUNCE_PEER_S:
            record = {own_subkey(self.node.peer): msgspec.msgpack.encode(member)}
            await self.dht.store_many({self._key: record}, EXPIRY_S)
            self._told = (time.monotonic(), member)

    async def leave(self) -> None:
        """This peer is gone."""
        if self._greeting:
            self._greeting.cancel()
        await self.dht.remove({self._key: [own_subkey(self.node.peer)]})

    async def look(self, mine: Member) -> dict[str, Member]:
        """Read who is there, and begin to greet those that may have died.

        Args:
            mine: what is true of this peer.
        """
        read: dict[str, tuple[int, float, Member]] = {}
        for record, member in told(await self.dht.get(self._key), Member):
            new = (record.sequence, record.expires, member)
            read[record.subkey] = max(new, self._read.get(record.subkey, new), key=lambda told: told[:2])
        order = sorted(read, key=lambda peer: (peer not in self._read, rank(self._key, peer)))
        self._read = read = {peer: read[peer] for peer in order[:MAX_MEMBERS]}
        self.known = {peer: m for peer, (_, expires, m) in read.items() if not self._is_dead(peer, expires)}
        self.known[self.me] = mine
        if self._greeting is None or self._greeting.done():
            self._greeting = asyncio.create_task(self._greet(), name="greetings")
        return self.known

    def keepers(self, part: str) -> list[str]:
        """The other members, in the order in which they are asked to keep a part's newest state."""
        return sorted((peer for peer in self.known if peer != self.me), key=lambda peer: rank(part, peer))

    @property
    def count(self) -> int:
        """Members by what the DHT said at the last look, this one included. Those that this PC cannot reach
        count, so that each PC counts the same."""
        return len({self.me, *self._read})

    def is_dead(self, peer: PeerId) -> bool:
        """Whether a peer did not answer any more, and has told nothing since, or was banned."""
        return peer_text(peer) in self._dead or self.node.distrusts(peer)

    def silenced(self, peers: Iterable[str]) -> None:
        """Compute tells who does none of the work that it asks for; the others do, or were not asked.

        Args:
            peers: those.
        """
        for peer in (silent := set(peers)) - self._silent:
            log.info("Peer %s does no work: what it claims counts no more.", peer[:8])
        self._silent = silent

    def unserved(self, peer: str, uids: Iterable[Uid]) -> None:
        """A peer was tried, and does not serve experts that this PC hosts, too; others, which it may serve, it keeps.

        Args:
            peer: who was tried.
            uids: with which experts.
        """
        log.info("Peer %s does not serve what it claims.", peer[:8])
        now = time.monotonic()
        still = {uid: until for uid, until in self._unserved.get(peer, {}).items() if until > now}
        self._unserved[peer] = still | dict.fromkeys(uids, now + UNSERVED_S)

    def serves(self, peer: str) -> bool:
        """Whether it counts what a peer says that it can host: not if it did not serve what it was tried with."""
        return not self._is_silent(peer) and max(self._unserved.get(peer, {}).values(), default=0) <= time.monotonic()

    def _is_silent(self, peer: str) -> bool:
        """Whether a peer does no work although this PC reaches it."""
        return peer in self._silent and parse_peer(peer) in self.node.pool.links

    def _hosts(self, peer: str, uid: Uid) -> bool:
        """Whether it counts that a peer claims an expert."""
        return not self._is_silent(peer) and self._unserved.get(peer, {}).get(uid, 0.0) <= time.monotonic()

    @property
    def any_dead(self) -> bool:
        """Whether there may be records of peers that are dead, or do no work."""
        now = self.dht.clock.now()
        # what such a peer told of its experts may live a little longer
        self._dead = {peer: until for peer, until in self._dead.items() if until + ANNOUNCE_PEER_S > now}
        banned = (peer for peer in self._read if self.node.distrusts(parse_peer(peer)))
        return bool(self._dead) or any(map(self._is_silent, self._silent)) or any(banned)

    def _is_dead(self, peer: str, expires: float) -> bool:
        """Whether a record is one from before the peer was found dead, or of one that was banned."""
        if self.node.distrusts(parse_peer(peer)):
            return True
        if expires <= self._dead.get(peer, 0.0):
            return True
        if self._dead.pop(peer, None) is not None:
            self._believed[peer] = time.monotonic() + BELIEVED_S
        return False

    async def _greet(self) -> None:
        """Find the dead: those whose connection broke, and a few others by chance."""
        now = time.monotonic()
        doubtful = [peer for peer in self.known if peer != self.me and self._believed.get(peer, 0.0) <= now]
        greeted = sorted({*random.sample(doubtful, min(CHECKED, len(doubtful))), *(self._lost & set(doubtful))})
        self._lost.clear()
        answers = await asyncio.gather(*map(self._answers, greeted))
        dead = [peer for peer, answered in zip(greeted, answers, strict=True) if not answered and peer in self._read]
        for peer in dead:
            self._dead[peer] = self._read[peer][1]
            log.info("Peer %s does not answer any more.", peer[:8])
        for listener in self.on_buried if dead else ():
            listener()

    async def _answers(self, peer: str) -> bool:
        for _ in range(HELLOS):
            try:
                await self.node.call(parse_peer(peer), self._method, Hello(), HelloReply, deadline_s=HELLO_S)
                return True
            except (CallRefused, RemoteFault):
                return True
            except NetworkError:
                continue
        return False

    async def hosts(self, uids: Sequence[Uid]) -> dict[Uid, Hosted]:
        """Who of the others hosts experts, and who has just left them, as of now.

        Args:
            uids: the experts; each costs a look-up.

        Raises:
            NetworkError: the directory could not be read.
        """
        return {
            uid: Hosted(
                {
                    peer: info.version
                    for info in found.living
                    if not self.is_dead(info.peer) and self._hosts(peer := peer_text(info.peer), uid)
                },
                [peer for peer in found.left if not self.is_dead(peer)],
            )
            for uid, found in (await self.directory.read_hosts(uids)).items()
        }

    async def confirmed(self, hosts: Mapping[Uid, Iterable[str]]) -> dict[Uid, dict[str, int]]:
        """Who hosts experts as its hosts themselves say now, with their versions.

        What they announced is up to `ANNOUNCE_EXPERTS_S` old: of two that train one expert at the same pace, each would
        take itself for the one that is ahead, and both would keep it.

        Args:
            hosts: by expert, those that are said to host it.
        """
        asked: dict[str, list[Uid]] = {}
        for uid, peers in hosts.items():
            for peer in peers:
                asked.setdefault(peer, []).append(uid)
        some = random.sample(sorted(asked), min(CONFIRMED, len(asked)))
        answers = await asyncio.gather(*(self.confirm(peer, asked[peer]) for peer in some))
        found: dict[Uid, dict[str, int]] = {}
        for peer, versions in zip(some, answers, strict=True):
            for uid, version in versions.items():
                found.setdefault(uid, {})[peer] = version
        return found

    async def confirm(self, peer: str, uids: list[Uid]) -> dict[Uid, int]:
        """The versions of those experts that a peer says it hosts; none if it does not answer.

        Args:
            peer: who is asked.
            uids: about which experts.
        """
        try:
            hello = Hello(tuple(map(str, uids[:MAX_NAMED])))
            reply, _ = await self.node.call(parse_peer(peer), self._method, hello, HelloReply, deadline_s=HELLO_S)
        except NetworkError:
            return {}
        return {uid: version for uid, version in zip(uids, reply.versions, strict=False) if version >= 0}
