"""Who is the syncer of a fragment, or the server of parameters where the manifest names none: what peers tell of
themselves in the DHT, and pure functions of that. All who know the same decide alike.

A fragment has one syncer, as an expert has one host. Where there is none, the peer with the newest copy is its heir;
where two claim it, that one goes on which more peers follow, then the newer one, and a tie is settled as for experts
(`core.swarm.placement`). So nobody takes a fragment from its syncer by a claim alone, whatever version it names.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from core.contracts.errors import CallTimeout, HearthError, RecordError
from core.contracts.trunk_calls import KEEPERS, MARK, Keeper
from core.dht.records import own_subkey, told
from core.identity import parse_peer
from core.net.crowds import voter_of
from core.swarm.hosting import LONELY_S, SETTLE_S
from core.swarm.members import Members
from core.swarm.placement import rank
from core.swarm.trunk.agreement import OUT_S

TICK_S = 2.0
"""Between two looks at who the syncers are."""
RENEW_S = 8.0
EXPIRY_S = 25.0
"""Of what peers tell of fragments: so long a dead syncer that nobody asked is taken for alive."""
HEIR_S = 6.0
"""For so long others leave a fragment to its heir: three looks. An heir may have died, not know that the syncer is
none, or lie: then it is the next one's turn."""
TURNS = 4
"""After so many all who are left may claim it; of several claims the best holds."""
REFUSED_S = 10.0
"""Who refuses for so long to be the syncer that it claims to be, or tells anew that it is it and does not answer, is
none: who has just left has told so by then."""
AWAY_S = 600.0
"""Who has heard nothing for so long does not say any more whom it follows."""


class Due(NamedTuple):
    """What this peer is to do about the fragments."""

    claims: list[int]
    leaves: list[int]


class Leases:
    """What the peers of a run tell of the fragments that they have."""

    def __init__(self, run_id: str, members: Members, mine: Callable[[], Keeper], wake: asyncio.Event) -> None:
        """
        Args:
            run_id: whose peers they are.
            members: the peers, and through what they find each other.
            mine: what is true of this peer.
            wake: set when who syncs what is to be looked at at once.
        """
        self._members, self._node, self._dht = members, members.node, members.dht
        self._key, self._mine, self._wake = f"{run_id}.{KEEPERS}", mine, wake
        self.keepers: dict[str, Keeper] = {}
        """The living ones, this one included."""
        self._gone: dict[str, float] = {}
        """Peers that did not answer, and when what they told before expires."""
        self._out: dict[str, float] = {}
        """Peers of which nothing counts, and until when, time.monotonic()."""
        self._useless: dict[str, float] = {}
        """Syncers that have refused, or not answered, since they were of use, and since when, time.monotonic()."""
        self._vacant: dict[int, float] = {}
        """Fragments without a syncer, and since when, time.monotonic()."""
        self._expires: dict[str, float] = {}
        """Of what was read last: keys cost nothing, and are many."""
        self._told, self._told_at = mine(), float("-inf")
        self._began = self._joined = 0.0
        self._changed = asyncio.Condition()

    async def look(self) -> bool:
        """Tell what is here, and read what others have; whether enough is known to claim anything."""
        self._began = self._began or time.monotonic()
        await self.tell()
        found, expires = dict[str, Keeper](), dict[str, float]()
        self._out = {peer: until for peer, until in self._out.items() if until > time.monotonic()}
        self._gone = {peer: until for peer, until in self._gone.items() if until > self._dht.clock.now()}
        for record, keeper in told((await self._dht.get_many([self._key]))[self._key], Keeper):
            name = record.subkey
            expires[name] = record.expires
            out = name in self._out or self._node.distrusts(record.peer) or self._members.is_dead(record.peer)
            if not out and record.expires > self._gone.get(name, 0.0):
                found[name] = keeper
        self._expires = expires
        claims = {peer for peer, keeper in found.items() if keeper.syncs} | self._gone.keys()
        self._useless = {peer: since for peer, since in self._useless.items() if peer in claims}
        self.keepers = {**self._voting(found), self._members.me: self._told}  # as others read it: all decide alike
        return self._may_claim()

    def _voting(self, found: dict[str, Keeper]) -> dict[str, Keeper]:
        """Peers, of which those have no vote that are not connected to this one, and but one of each block of addresses
        has (`core.net.crowds.voter_of`): records and keys cost nothing."""
        voted = set[bytes]()
        for peer in sorted(found):
            link = self._node.pool.links.get(parse_peer(peer))
            voter = voter_of(link.branch) if link else None
            if voter is None or voter in voted:
                found[peer] = msgspec.structs.replace(found[peer], follows={})
            elif found[peer].follows:
                voted.add(voter)
        return found

    async def tell(self) -> None:
        """Tell what is here, if that is news, and those that wait for a syncer to look again."""
        mine, now = self._mine(), time.monotonic()
        if (mine.syncs, mine.follows) != (self._told.syncs, self._told.follows) or now - self._told_at > RENEW_S:
            self._told, self._told_at = mine, now
            self.keepers[self._members.me] = mine
            with contextlib.suppress(RecordError):
                record = {own_subkey(self._node.peer): msgspec.msgpack.encode(mine)}
                await self._dht.store_many({self._key: record}, EXPIRY_S)
        async with self._changed:
            self._changed.notify_all()

    def due(self, parts: Iterable[int]) -> Due:
        """What this peer is to claim, and what to leave to a better claim.

        Args:
            parts: the fragments that there are.
        """
        due, me, mine, now = Due([], []), self._members.me, self._mine(), time.monotonic()
        syncers = {part: syncer_of(part, self.keepers) for part in sorted(parts)}
        self._vacant = {part: self._vacant.get(part, now) for part, syncer in syncers.items() if syncer is None}
        for part, syncer in syncers.items():
            if syncer is None:
                turn = heirs_of(part, self.keepers)[: int((now - self._vacant[part]) / HEIR_S) + 1]
                if me in turn or (len(turn) > TURNS and mine.able):
                    due.claims.append(part)
            elif part in mine.syncs and syncer != me:
                due.leaves.append(part)
        return due

    def failed(self, peer: str) -> None:
        """A syncer did not answer: what it told so far counts no more.

        Args:
            peer: who it is.
        """
        self.refused(peer)
        self._leave_out(peer)

    def refused(self, peer: str) -> None:
        """A syncer says that it is none, or has no time.

        Args:
            peer: who it is.
        """
        since = self._useless.setdefault(peer, time.monotonic())
        if time.monotonic() - since >= REFUSED_S:
            self.distrust(peer)
        self._wake.set()

    def served(self, peer: str) -> None:
        """A syncer was of use.

        Args:
            peer: who it is.
        """
        self._useless.pop(peer, None)

    def distrust(self, peer: str) -> None:
        """A syncer gave what is of no use: what it tells counts for nothing, for a while.

        Args:
            peer: who it is.
        """
        self._out[peer] = time.monotonic() + OUT_S
        self._leave_out(peer)

    def _leave_out(self, peer: str) -> None:
        self._gone[peer] = self._expires.get(peer, 0.0)
        self.keepers.pop(peer, None)
        self._wake.set()

    async def syncer(self, part: int, patience_s: float) -> str:
        """A fragment's syncer, as soon as there is one.

        Args:
            part: the fragment.
            patience_s: how long that may take.

        Raises:
            CallTimeout: it took longer.
        """
        try:
            async with asyncio.timeout(patience_s), self._changed:
                if syncer_of(part, self.keepers) is None:
                    self._wake.set()
                while (syncer := syncer_of(part, self.keepers)) is None:
                    await self._changed.wait()
                return syncer
        except TimeoutError:
            raise CallTimeout(f"Nobody syncs fragment {part} of the trunk yet.") from None

    def is_led_by(self, part: int, syncer: str) -> bool | None:
        """Whether most of the others that follow anybody follow a fragment's syncer; None: nobody does, so that nobody
        can tell.

        Args:
            part: the fragment.
            syncer: who says that it is it. Its own vote does not count, nor does that of this peer, nor one for this
                peer: who asks is no syncer any more, and who still names it has not been answered by the new one yet.
        """
        me = self._members.me
        follows = [self.keepers[peer].follows.get(part) for peer in self.keepers.keys() - {syncer, me}]
        votes = [lead for lead in follows if lead not in (None, mark(me))]
        return 2 * votes.count(mark(syncer)) >= len(votes) if votes else None

    def is_followed(self, part: int) -> bool:
        """Whether anybody follows another peer that claims a fragment. Where all still follow one that has gone, its
        heir may be honest: they have not been answered by it yet.

        Args:
            part: the fragment.
        """
        claims = {mark(peer): peer for peer, keeper in self.keepers.items() if part in keeper.syncs}
        return any(claims.get(keeper.follows.get(part, b""), peer) != peer for peer, keeper in self.keepers.items())

    async def leave(self) -> None:
        """This peer is gone."""
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._dht.remove({self._key: [own_subkey(self._node.peer)]})

    def _may_claim(self) -> bool:
        now = time.monotonic()
        if not self._dht.contacts():
            return now - self._began >= LONELY_S
        self._joined = self._joined or now
        return now - self._joined >= SETTLE_S


def syncer_of(part: int, keepers: Mapping[str, Keeper]) -> str | None:
    """The peer with the best claim to a fragment, if any claims it.

    Args:
        part: the fragment.
        keepers: the living peers, this one included.
    """
    votes = Counter(keeper.follows.get(part) for keeper in keepers.values())
    most = max((votes[mark(peer)] for peer, keeper in keepers.items() if part in keeper.syncs), default=0)
    claims = [peer for peer, keeper in keepers.items() if part in keeper.syncs and votes[mark(peer)] == most]
    return next(iter(_best_first(part, claims, keepers)), None)


def mark(peer: str) -> bytes:
    """How peers name one in their votes.

    Args:
        peer: its name.
    """
    return bytes.fromhex(peer)[:MARK]


def heirs_of(part: int, keepers: Mapping[str, Keeper]) -> list[str]:
    """Who is to claim a fragment that nobody claims, one after the other.

    Args:
        part: the fragment.
        keepers: as in `syncer_of`.
    """
    return _best_first(part, (peer for peer, keeper in keepers.items() if keeper.able), keepers)


def _best_first(part: int, peers: Iterable[str], keepers: Mapping[str, Keeper]) -> list[str]:
    return sorted(peers, key=lambda peer: (keepers[peer].versions.get(part, 0), rank(part, peer)), reverse=True)
