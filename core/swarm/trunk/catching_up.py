"""What the others give a trainer that is behind: the mean of a step that it missed, or a trunk with its optimizer.

Either is taken only if it is the one that the trainers name by its digest. Who gives another one is asked no further,
but blamed only for what is certainly a lie: it named the right digest of that very version before it was asked, and
still does afterwards. A mere difference is none. What is read of a trainer may be old, one that was started anew or was
alone for a while comes to a version by other steps than before, and processors round differently.

Where two train, nobody but the giver names what it gives. So a trunk is tried by compute before it is taken. A mean is
not: it is the gradient of one step, which the optimizer makes no longer than any other.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import Literal, NamedTuple

import numpy as np

from core.averaging.digests import TrunkDigest
from core.averaging.mean import squared_norm
from core.contracts.errors import CallTimeout, NetworkError
from core.contracts.taking_on import Compared, Verdict
from core.contracts.trunk import Agreed
from core.contracts.trunk_rounds import LARGEST_NORM, MEANS, MEMBERS, AskVector, Standing
from core.identity import PeerId
from core.net.limits import Newest
from core.net.rpc import RpcNode
from core.swarm.trunk.agreement import LIE, OUT_S, POINTS, Most
from core.swarm.trunk.lineage import names, newest
from core.swarm.trunk.past import Taken
from core.swarm.trunk.standings import LOOK_S, Standings
from core.swarm.trunk.vectors import Vectors, Whole

log = logging.getLogger(__name__)

MEAN_S = 60.0
"""For the mean of a round in which a trainer had nothing to give."""
NAMED_S = 10.0
"""For a second trainer to name the digest of a trunk that was fetched, as it may not be there yet."""
UNTOLD = 20
"""Times that it is asked whether a trunk is good, as long as that cannot be told."""
TRIES, REST_S, LONGEST_REST_S = 2, 20.0, 3600.0
"""Trunks of the others that a trainer fetches in a row without coming to where they are. Before each further one it
rests, twice as long each time: by its line the others may always be too far ahead again when one is here."""


class Named(NamedTuple):
    """What trainers tell the digest of."""

    what: Literal["mean", "trunk"]
    version: int

    def by(self, standing: Standing) -> bytes | None:
        """The digest that a trainer tells of it."""
        return dict(standing.means if self.what == "mean" else standing.trunks).get(self.version)


class CatchingUp:
    """What one trainer of a run fetches from the others."""

    def __init__(
        self,
        node: RpcNode,
        standings: Standings,
        vectors: Vectors,
        numbers: int,
        compare: Callable[..., Awaitable[Compared]],
        most: Most,
    ) -> None:
        """Nothing is asked yet.

        Args:
            node: this peer's connections.
            standings: what the others tell of themselves.
            vectors: through which they give.
            numbers: of the trunk.
            compare: tries trunks, as `Agreement.compare`.
            most: as in `Agreement`.
        """
        self._node, self._standings, self._vectors, self._numbers = node, standings, vectors, numbers
        self._compare, self._most = compare, most
        self._doubted: set[PeerId] = set()
        """Those who are looked at for a lie, one at a time of each."""
        self._failed = Newest[PeerId, float](MEMBERS)
        """Those who gave nothing of use when they were asked last, and when that was, time.monotonic()."""
        self._in_vain: dict[PeerId, float] = {}
        """Those who did not give what they named, and when they were asked for it, time.monotonic()."""
        self._tries, self._rests_until = 0, 0.0
        """Trunks that were fetched in a row, and until when, time.monotonic(), no further one is."""
        self.is_resting = False
        """A trunk is wanted, and waits for that."""

    @property
    def rest_s(self) -> float:
        """Seconds until another trunk may be fetched."""
        return max(0.0, self._rests_until - time.monotonic())

    def caught_up(self) -> None:
        """The trainer here is where the others are."""
        self._tries, self._rests_until, self.is_resting = 0, 0.0, False

    async def mean(self, version: int, givers: Collection[bytes] = ()) -> Taken | None:
        """That the others have taken a step by; None: they have not, or it is not to be had any more.

        Args:
            version: the step.
            givers: as in `Standings.mean_of_most`.
        """
        digest, those = self._standings.mean_of_most(version, givers)
        before = self._standings.trainers
        those = self._in_turn([peer for peer in those if max(before[peer].means)[0] < version + MEANS])  # who has it
        for peer in those:
            is_last, self._failed[peer] = peer == those[-1], time.monotonic()
            try:
                ask = AskVector("mean", version)
                whole = await self._vectors.fetch(peer, ask, 4 * self._numbers, is_last=is_last)
            except NetworkError as error:
                log.info("Peer %s did not give the mean of step %d: %s", peer.hex()[:8], version, error)
                continue
            if not _is_mean(whole):
                self._node.strike(peer, LIE)
                continue
            agreed = Agreed(0, version + 1, whole.told.samples, whole.told.peers)
            found = await asyncio.to_thread(Taken.by, agreed, whole.data, whole.told.before)
            if found.digest == digest:
                del self._failed[peer]
                return found
            self._doubt(peer, found.digest, before[peer], Named("mean", version))
        return None

    async def mean_of_round(self, version: int, givers: Collection[bytes]) -> Taken:
        """That a round came to in which this trainer was, as soon as somebody has it.

        Args:
            version: the step.
            givers: those who sent something.

        Raises:
            CallTimeout: nobody gave it.
        """
        try:
            async with asyncio.timeout(MEAN_S):
                while (found := await self.mean(version, givers)) is None:
                    await asyncio.sleep(LOOK_S)
                    await self._standings.look()
                return found
        except TimeoutError:
            raise CallTimeout(f"Nobody names the mean of step {version}.") from None

    async def trunk(self) -> Whole:
        """Parameters and optimizer of a trainer that is in step with most.

        Raises:
            NetworkError: nobody gave one, or none is fetched yet; to be asked again.
        """
        self.is_resting = self.rest_s > 0
        if self.is_resting:
            await asyncio.sleep(min(self.rest_s, LOOK_S))  # as the others may go meanwhile
            raise CallTimeout("The others were too far ahead again when their trunk was here; it is fetched later.")
        found = await self._newest_trunk()
        self._tries += 1
        if self._tries >= TRIES:
            self._rests_until = time.monotonic() + min(REST_S * 2 ** (self._tries - TRIES), LONGEST_REST_S)
        return found

    async def _newest_trunk(self) -> Whole:
        before = self._standings.trainers
        if best := newest([*before.values()]):
            those = self._in_turn(self._standings.who_came_to(best))
            for peer in those:
                is_last, self._failed[peer] = peer == those[-1], time.monotonic()
                if (whole := await self._trunk_of(peer, before[peer], best.version, is_last=is_last)) is not None:
                    del self._failed[peer]
                    return whole
                self.asked_in_vain([peer])
        raise CallTimeout("No other trainer gave the trunk that most of them have.")

    def _in_turn(self, peers: Collection[PeerId]) -> list[PeerId]:
        """Who failed last is asked last: it could take up all the time, each time."""
        return sorted(peers, key=lambda peer: self._failed.get(peer, 0.0))

    def asked_in_vain(self, peers: Collection[PeerId]) -> None:
        """These named something that they did not give. The second time they are left out: else one that names means or
        trunks and never gives them would keep a trainer from its steps.

        Args:
            peers: who.
        """
        now = time.monotonic()
        self._in_vain = {peer: at for peer, at in self._in_vain.items() if now - at < OUT_S}
        for peer in peers:
            if self._in_vain.pop(peer, None) is None:
                self._in_vain[peer] = now
            else:
                self._standings.leave_out(peer)

    async def _trunk_of(self, peer: PeerId, before: Standing, least: int, *, is_last: bool) -> Whole | None:
        """Its own, if it is of use and of no older version than this."""
        try:
            whole = await self._vectors.fetch(peer, AskVector("trunk", 0), 12 * self._numbers, is_last=is_last)
        except NetworkError as error:
            log.info("Peer %s did not give its trunk: %s", peer.hex()[:8], error)
            return None
        if (version := whole.told.version) < least:
            log.info("Peer %s gave a trunk of step %d, which is older than what it names.", peer.hex()[:8], version)
            return None
        digest = await asyncio.to_thread(_digest, whole)
        named = await self._named(peer, version)
        if not named or named[digest] < max(named.values()):
            self._doubt(peer, digest, before, Named("trunk", version))
        elif (verdict := await self._try(whole)) == "good":
            log.info("The others are at step %d; peer %s gave the trunk.", version, peer.hex()[:8])
            return whole
        else:
            log.warning("The trunk of step %d that peer %s gave is %s.", version, peer.hex()[:8], verdict)
            self._node.strike(peer, POINTS[verdict])
            self._standings.leave_out(peer)
        return None

    async def _try(self, whole: Whole) -> Verdict:
        most = self._most()
        if whole.told.version > most.steps or whole.told.samples > most.samples:  # no training leads so far by now
            return "unusual"
        is_doubtful = False
        for _ in range(UNTOLD):  # by a busy PC: it is no fault of the line, and the trunk is here
            try:
                verdict = (await self._compare([{}, {0: whole.data}], moments=True)).verdicts[1]
            except CallTimeout as error:
                log.info("The trunk of step %d cannot be tried now: %s", whole.told.version, error)
            else:
                if verdict != "worse" or is_doubtful:
                    return verdict
                is_doubtful = True  # experts may have changed hosts between the two passes
            await asyncio.sleep(LOOK_S)
        raise CallTimeout("The trunk of the others cannot be tried now.")

    async def _named(self, giver: PeerId, version: int) -> Counter[bytes]:
        """How many trainers name each digest of a trunk, as soon as one beside the giver does, if there is one that
        could; or after a while."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + NAMED_S
        while loop.time() < limit:
            told = names(self._standings.trainers.values(), version)
            beside = [each for peer, each in self._standings.trainers.items() if each.settled and peer != giver]
            if told and (not beside or names(beside, version)):
                return told
            await asyncio.sleep(LOOK_S)
            await self._standings.look()
        return names(self._standings.trainers.values(), version)

    def _doubt(self, peer: PeerId, given: bytes, before: Standing, what: Named) -> None:
        """A peer gave something that the others do not name.

        Args:
            peer: who did.
            given: the digest of what it gave.
            before: what it told before it was asked.
            what: that it gave.
        """
        log.info("Peer %s gave a %s of step %d that the others do not name.", peer.hex()[:8], *what)
        if what.by(before) not in (None, given) and peer not in self._doubted:
            self._doubted.add(peer)
            self._node.start(self._judge(peer, before, what), "looking for a lie")

    async def _judge(self, peer: PeerId, before: Standing, what: Named) -> None:
        """Blame a peer that names now, too, what it did not give."""
        try:
            after = await self._standings.told_anew(peer)
        finally:
            self._doubted.discard(peer)
        if after is not None and what.by(after) == what.by(before):
            log.warning("Peer %s gave another %s of step %d than it names.", peer.hex()[:8], *what)
            self._node.strike(peer, LIE)


def _is_mean(whole: Whole) -> bool:
    """Whether a round can have come to it."""
    norm = squared_norm(np.frombuffer(whole.data, "<f4")) ** 0.5
    return 1 <= whole.told.peers <= MEMBERS and whole.told.samples >= whole.told.peers and norm < LARGEST_NORM


def _digest(whole: Whole) -> bytes:
    digest = TrunkDigest(whole.told.version, whole.told.samples)
    digest.add(whole.data)
    return digest.value
