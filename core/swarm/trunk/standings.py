"""What the trainers of a run tell each other of their steps, and who helps them to reduce.

All of it is in the DHT, which is looked at now and then. There one peer can bring what was signed by hundreds of keys,
as these cost nothing: nothing counts of a trainer before this peer has met it, by a connection or in a round. How much
a trainer has gathered it also tells the others itself, at once: else they would gather too much before the next look.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec

from core.contracts.errors import HearthError
from core.contracts.net import Payload, of_run
from core.contracts.trunk import Gathered, Reached
from core.contracts.trunk_rounds import MEMBERS, TRUNKS, Noted, Standing
from core.dht.records import own_subkey, told
from core.identity import PeerId
from core.net.limits import Newest
from core.net.method import Context
from core.swarm.members import Members
from core.swarm.trunk.agreement import OUT_S
from core.swarm.trunk.lineage import by_most, countable

log = logging.getLogger(__name__)
K = TypeVar("K", bound=bytes)
"""A peer, or a block of addresses."""

RENEW_S = 8.0
EXPIRY_S = 25.0
"""A peer that has told nothing for so long is not waited for."""
LOOK_S = 1.0
"""Between two looks for something that is awaited."""
RESTS = 31
"""The most steps in a row that do not wait for a peer that missed several."""
MAKES_UP = 8
"""Rounds to which a peer comes that make up for one which it missed: fewer, and one that misses every second round, or
spoils those that it leads, would cost the others as much for ever. Honest peers miss few."""
MEETINGS = 4
"""Peers, of those that were never met, that are called after each look."""
PARTNERS = 1024
"""Peers remembered that were in rounds."""
SPREAD_S = 1.0
"""For telling others how much is gathered; who has not heard it by then reads it."""


class Standings:
    """Of one run, as this peer knows them."""

    def __init__(self, run_id: str, members: Members, heard: Callable[[], None]) -> None:
        """Nobody is known yet.

        Args:
            run_id: of the run.
            members: its peers, and through what they find each other.
            heard: called when another trainer tells how much it has gathered.
        """
        self._members, self._node, self._dht = members, members.node, members.dht
        self._key, self._run_id = f"{run_id}.gathered", run_id
        self._partners = Newest[PeerId, None](PARTNERS)
        """Who was in a round that had a result."""
        self._told: tuple[float, Standing | None] = (0.0, None)
        self._said: dict[PeerId, Standing] = {}
        """By all others, whether it counts or not."""
        self._sequences: dict[PeerId, int] = {}
        """Of the newest record that was read of each other."""
        self._absent: dict[PeerId, int] = {}
        """The newest record of each that did not come to a round."""
        self._missed: dict[PeerId, tuple[float, int]] = {}
        """How often each did not come, less what it has made up for, and the next step that waits for it."""
        self._idle = Newest[bytes, tuple[float, int]](PARTNERS)
        """Likewise, how often those of a block of addresses came and did nothing: a key costs nothing, nor a record."""
        self._cut: dict[PeerId, int] = {}
        """The last step for which not all of a peer's samples counted: it is named once."""
        self.trainers: dict[PeerId, Standing] = {}
        """The others, as of the last look."""
        self.helpers: dict[PeerId, Standing] = {}
        """Likewise."""
        self._out: dict[PeerId, float] = {}
        """Who is left out, and until when, time.monotonic()."""
        self._heard = heard
        self._news: dict[PeerId, Gathered] = {}
        """What trainers have told since."""
        self._mine = Gathered(0, 0)
        self._spreading: asyncio.Task[None] | None = None
        self._method = of_run("trunk.gathered", run_id)
        self._node.register(self._method, Gathered, self._note)

    def spread(self, mine: Gathered) -> None:
        """Tell the others at once how much the trainer here has gathered.

        Args:
            mine: that.

        Raises:
            NetworkError: this peer is about to leave.
        """
        self._mine = mine
        if self._spreading is None or self._spreading.done():
            self._spreading = self._node.start(self._spread(), "telling how much is gathered")

    async def _spread(self) -> None:
        """To all, then the newest to all again: never faster than they answer."""
        said = None
        while said != self._mine:
            said = self._mine
            others = sorted(self.trainers.keys() - self._absent.keys())[: MEMBERS - 1]
            await asyncio.gather(*(self._say(peer, said) for peer in others))

    async def _say(self, peer: PeerId, mine: Gathered) -> None:
        with contextlib.suppress(HearthError):
            await self._node.call(peer, self._method, mine, Noted, deadline_s=SPREAD_S)

    def _note(self, request: Gathered, payload: Payload, context: Context) -> Noted:
        if context.peer in self.trainers:
            self._news[context.peer] = request
            self._heard()
        return Noted()

    def tell(self, mine: Standing) -> None:
        """Tell the others, unless they know it already; nobody waits for those of them that do not answer.

        Raises:
            NetworkError: this peer is about to leave.
        """
        at, said = self._told
        now = time.monotonic()
        if mine != said or now - at > RENEW_S:
            record = {own_subkey(self._node.peer): msgspec.msgpack.encode(mine)}
            self._node.start(self._store(record), "telling how far the trainer is")
            self._told = now, mine

    async def _store(self, record: dict[str, bytes]) -> None:
        await self._dht.store_many({self._key: record}, EXPIRY_S)

    async def look(self) -> None:
        """Read what the others tell.

        Raises:
            NetworkError: the DHT could not be read.
        """
        now = time.monotonic()
        self._out = {peer: until for peer, until in self._out.items() if until > now}
        records = [
            (record, standing)
            for record, standing in told(await self._dht.get(self._key), Standing)
            if record.peer != self._node.peer and not self._members.is_dead(record.peer)
        ]
        self._said = {record.peer: standing for record, standing in records}
        self._sequences = {record.peer: record.sequence for record, _ in records}
        found = {peer: standing for peer, standing in self._said.items() if peer not in self._out}
        unmet = sorted(peer for peer in found if not self.is_met(peer))
        found = {peer: found[peer] for peer in found.keys() - {*unmet}}
        for peer in random.sample(unmet, min(MEETINGS, len(unmet))):
            self._node.start(self._say(peer, self._mine), "meeting a trainer")
        self._absent = {peer: last for peer, last in self._absent.items() if self._sequences.get(peer, 0) <= last}
        self.trainers = {peer: each for peer, each in found.items() if not each.helps}
        self.helpers = {peer: each for peer, each in found.items() if each.helps}
        self._news = {peer: news for peer, news in self._news.items() if peer in self.trainers}

    def is_met(self, peer: PeerId) -> bool:
        """Whether a peer is there, and may take part, by more than a record.

        Args:
            peer: who it is.
        """
        is_here = peer in self._node.pool.links and self._node.admission.admits(peer, self._run_id)
        return is_here or peer in self._partners

    def leave_out(self, peer: PeerId) -> None:
        """Have nothing count that a peer tells, for a while.

        Args:
            peer: who is it.
        """
        self._out[peer] = time.monotonic() + OUT_S
        self.trainers.pop(peer, None)

    async def told_anew(self, peer: PeerId) -> Standing | None:
        """What a trainer tells from now on; None: nothing, so that it is not waited for.

        Args:
            peer: the trainer.

        Raises:
            NetworkError: the DHT could not be read.
        """
        now, limit = self._dht.clock.now(), time.monotonic() + EXPIRY_S
        while time.monotonic() < limit:
            if self._sequences.get(peer, 0) > now * 1000:
                return self._said.get(peer)
            await asyncio.sleep(LOOK_S)
            await self.look()
        return None

    async def leave(self) -> None:
        """This peer takes part no more; if nobody hears it, its record expires."""
        with contextlib.suppress(HearthError):
            await self._dht.remove({self._key: [own_subkey(self._node.peer)]})

    def together(self, version: int, mine: int, target: int) -> int:
        """Samples that all have gathered for a step, as far as they are believed.

        Args:
            version: the step.
            mine: those of the trainer here.
            target: of all together.
        """
        said = {peer: each.samples for peer, each in self.trainers.items() if each.version == version}
        for peer, news in self._news.items():
            if peer in self.trainers and news.version == version:
                said[peer] = max(said.get(peer, 0), news.samples)
        most = countable([mine, *said.values()], target)
        # Before most have anything nobody can say what is too much: somebody is the first.
        cut = {peer: version for peer, samples in said.items() if 0 < most < min(samples, target)}
        for peer in cut.keys() - {peer for peer, step in self._cut.items() if step == version}:
            text = "Peer %s says that it has %d samples for step %d, far more than most: %d of them count."
            log.info(text, peer.hex()[:8], said[peer], version, most)
        self._cut = {peer: step for peer, step in self._cut.items() if peer in self.trainers} | cut
        return sum(min(samples, most) for samples in (mine, *said.values()))

    def enough(self, version: int) -> int:
        """Up to which step there is enough, as most of those say that are near a step or ahead of it: all of a block of
        addresses have one voice (`core.net.crowds.voter_of`).

        Args:
            version: the step. Who is behind it has not heard of what the others gather.
        """
        said = dict[bytes, int]()
        for peer, each in self.trainers.items():
            if each.version >= version - 1:
                voter = self._node.pool.voter(peer)
                said[voter] = min(said.get(voter, each.enough), each.enough)
        return by_most(said.values())

    def near(self, version: int) -> set[PeerId]:
        """The others that a step waits for: trainers and helpers that are not far from it."""
        known = {**self.trainers, **self.helpers}.items()
        near = {peer for peer, each in known if abs(each.version - version) <= 1}
        return near - self._absent.keys() - self._resting(version)

    def is_idle(self, peer: PeerId, version: int) -> bool:
        """Whether a step lets nobody wait for a peer that comes, as it did nothing in rounds before, several times.

        Args:
            peer: who it is.
            version: the step.
        """
        return self._idle.get(self._node.pool.voter(peer), (0, version))[1] > version

    def rests(self, peer: PeerId, version: int) -> bool:
        """Whether a step does not wait for a peer, as it did not come several times, or did nothing.

        Args:
            peer: who it is.
            version: the step.
        """
        return self._missed.get(peer, (0, version))[1] > version or self.is_idle(peer, version)

    def _resting(self, version: int) -> set[PeerId]:
        return {peer for peer in {**self._missed, **self.trainers, **self.helpers} if self.rests(peer, version)}

    def met(
        self, version: int, came: Collection[PeerId], absent: Collection[PeerId] = (), idle: Collection[PeerId] = ()
    ) -> None:
        """Peers came to the round of a step, and others did not while it waited for them, or came and did nothing.

        No step waits for those again until they tell something new; if they stayed away before, or did nothing, the
        next 1, 3, 7... up to `RESTS` steps do not wait either: one that tells each second and never comes would delay
        every step. Who comes meanwhile is in the group all the same, and makes up for it.

        Args:
            version: the step.
            came: those in its group, if it has a result.
            absent: those `near` it that are not.
            idle: those that spoilt it, or did nothing in it.
        """
        self._missed = {peer: each for peer, each in self._missed.items() if peer in self._sequences}
        for peer in came:
            self._partners[peer] = None
            _make_up(self._missed, peer)
        for peer in absent:
            self._missed[peer] = _once_more(self._missed.get(peer), version)
        did_nothing = {self._node.pool.voter(peer) for peer in idle}
        for voter in {self._node.pool.voter(peer) for peer in came} - did_nothing:
            _make_up(self._idle, voter)
        for voter in did_nothing:
            self._idle[voter] = _once_more(self._idle.get(voter), version)
        self._absent |= {peer: self._sequences[peer] for peer in {*absent, *idle} if peer in self._sequences}

    def who_came_to(self, trunk: Reached) -> list[PeerId]:
        """The trainers that did, the one that is farthest first."""
        those = [peer for peer, each in self.trainers.items() if (trunk.version, trunk.digest) in each.trunks]
        return sorted(those, key=lambda peer: (-max(self.trainers[peer].trunks)[0], peer))

    def voters(self, version: int) -> set[PeerId]:
        """The other trainers of which more than half are to take a step: a little while ago they were not far from it,
        for what is read of them may be old. Those that the step does not wait for do not hold it up."""
        return {
            peer
            for peer, each in self.trainers.items()
            if each.version <= version + 1 and (each.settled or each.version >= version - 1)
        } - self._resting(version)

    def are_most(self, came: Collection[bytes], step: int) -> bool:
        """Whether peers are more than half of the trainers of a step, this one counted in.

        Args:
            came: those peers.
            step: the step.
        """
        voters = self.voters(step)
        return 2 * (1 + len(voters & {*came})) > 1 + len(voters)

    def is_taken(self, step: int) -> bool:
        """Whether most of the others have taken a step."""
        return bool(self.mean_of_most(step)[1])

    def mean_of_most(self, version: int, givers: Collection[bytes] = ()) -> tuple[bytes, list[PeerId]]:
        """The digest of the mean that the others took a step by, and who has it; nobody if they did not.

        Only more than half take a step: what fewer than half name, this trainer counted as one that does not, is one
        that a liar has made up.

        Args:
            version: the step.
            givers: of a round for it in which this trainer was: then only they count. Empty: it was in none.
        """
        those = {peer: each for peer, each in self.trainers.items() if not givers or peer in givers}
        means = {peer: dict(each.means).get(version) for peer, each in those.items()}
        named = {peer: digest for peer, digest in means.items() if digest is not None}
        [(digest, count)] = Counter(named.values()).most_common(1) or [(b"", 0)]
        able = 1 + len({*givers} or self.voters(version) | named.keys())
        return digest, [peer for peer, name in named.items() if name == digest and 2 * count >= able]

    def last_of_most(self, version: int) -> tuple[int, bytes] | None:
        """The last step before a version that most name, and the digest of its mean. The first trainer to be ready for
        a step finds an earlier one: the others have not told more yet.

        Args:
            version: of the trainer here.

        Returns:
            None: it is none of the last `TRUNKS`.
        """
        for step in range(version - 1, version - 1 - TRUNKS, -1):
            digest, those = self.mean_of_most(step)
            able = self.voters(step) | {peer for peer, each in self.trainers.items() if each.settled} | {*those}
            if 2 * len(those) >= 1 + len(able):  # of an earlier step a liar could else speak for those who went on
                return step, digest
        return None


def _once_more(before: tuple[float, int] | None, version: int) -> tuple[float, int]:
    """How often a peer was of no use, and the next step that it may hold up: at first the next one."""
    times = min(1 + (before[0] if before else 0), RESTS.bit_length() + 1)
    rests = int(2 ** (times - 1)) - 1
    return times, version + 1 + rests if rests else version


def _make_up(times: dict[K, tuple[float, int]], key: K) -> None:
    """Somebody was of use."""
    if before := times.pop(key, None):
        left = before[0] - 1 / MAKES_UP
        if left > 0:
            times[key] = left, before[1]
