"""How peers that want to average come to one group.

Who wants a round says so in a signed record of the DHT that expires with it. Of those who are there the one with the
lowest rank, a digest of round and peer that nobody chooses, gathers the others: they call it, and it answers all of
them at once with the same group, as soon as it is full or when its time is over. Who is called but knows somebody of a
lower rank goes there, and sends its own callers after it.

The group says what each member can do. Each looks whether that is what it has told of itself, and comes to the shares
by the same program: it refuses a group with others, and is in groups of equal shares for a while.

All average in one group, not in several small ones round after round (DeDLOC, appendix C). Those pay where a member
that fails spoils its group's round. Here what it spoils is reduced again within the round, and only the end of the one
who gathered voids it: that is as likely in a small group, so that two rounds would always take longer than one.
"""

import asyncio
import contextlib
import hashlib
import logging
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

import msgspec

from core.contracts.errors import NetworkError, RemoteFault
from core.contracts.expert_calls import Codec
from core.contracts.net import Payload, PeerAddress, of_run
from core.contracts.trunk import Whole
from core.contracts.trunk_rounds import MEMBERS, Ability, Group, Numbers
from core.dht.node import DHTNode
from core.dht.records import own_subkey, told
from core.identity import PeerId
from core.net.limits import Newest
from core.net.method import Context
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

LOOK_S = 0.5
"""Between two looks for peers of a lower rank."""
ANSWER_S = 5.0
"""A caller waits so much longer than the one who gathers."""
SENT_AWAY = 3
"""Times that a peer sends this one on, for one step, as those do who know of a lower rank: more often is in vain, and
so is less often if all of it takes as long as a group. No answer of any use, as of one whose compute has just ended,
counts twice."""
KNOWN = 1024
"""Peers of whose wishes is remembered which was the last."""
EQUAL_S = 600.0
"""After a plan that is not the one made here this peer makes none for so long: its solver may be of another build."""


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """What a peer says of itself: in the DHT, and to the one who gathers."""

    step: Whole
    """The round's number: of the run's global step."""
    address: PeerAddress
    numbers: Numbers
    """Of the vector."""
    sends: bool
    """Whether it has one."""
    ability: Ability = Ability()
    helps: bool = False
    """Whether it takes no step itself."""


class Invitation(msgspec.Struct, frozen=True, array_like=True):
    """The group, or who gathers in place of the one who was asked, or neither: the group is full."""

    group: Group | None = None
    instead: PeerAddress | None = None


Share = Callable[[Sequence[Wish]], Sequence[int]]
"""How many numbers each of some peers reduces; called in a thread."""


def equal_shares(wishes: Sequence[Wish]) -> list[int]:
    """The same for all that can be dialled, or for all if nobody can."""
    able = [bool(wish.address.addresses) for wish in wishes]
    if not any(able):
        able = [True] * len(wishes)
    numbers, reducers, shares, before = wishes[0].numbers, sum(able), [], 0
    for can in able:
        shares.append(numbers * (before + can) // reducers - numbers * before // reducers)
        before += can
    return shares


class Matchmaking:
    """Of one run, at one peer."""

    def __init__(
        self, node: RpcNode, dht: DHTNode, run_id: str, *, codec: Codec, grace_s: float, share: Share, clip: float = 0.0
    ) -> None:
        """Others may call from now on.

        Args:
            node: this peer's connections.
            dht: where peers say what they wish.
            run_id: of the run.
            codec: as in `Group`.
            grace_s: as in `Group`.
            share: how a vector is dealt out.
            clip: as in `Group`.
        """
        self._node, self._dht, self._run_id, self._share = node, dht, run_id, share
        self._codec, self._grace_s, self._clip = codec, grace_s, clip
        self._wish: Wish | None = None
        """None: this peer looks for no group now."""
        self._known: dict[bytes, PeerAddress] = {}
        self._failed = Newest[bytes, int](KNOWN)
        """Who was asked in vain, and the newest wish of it that was known: it is asked again when it has another."""
        self._step = -1
        self._vain = Counter[bytes]()
        """How often each was asked for that step in vain for too long, or too often, or gathered a group that came to
        nothing: others gather first. Else one peer would hold up the step for ever, by whatever it answers."""
        self._lost = defaultdict[bytes, float](float)
        """What it cost to ask each in vain, for that step, in parts of the time that a group takes."""
        self.gatherer = node.peer
        """Of the last group, or who was asked for it."""
        self._sequences = Newest[bytes, int](KNOWN)
        """Of the wishes of those who are known."""
        self._near: Callable[[], Collection[PeerId]] = tuple
        self._is_idle: Callable[[PeerId], bool] = lambda peer: False
        self._may_gather: Callable[[PeerId], bool] = lambda peer: True
        self._gathering: dict[PeerId, tuple[Wish, asyncio.Future[Invitation]]] = {}
        self._came = asyncio.Event()
        self._follows: PeerAddress | None = None
        self._equal_until = 0.0
        """Time of the loop."""
        node.register(of_run("trunk.join", run_id), Wish, self._on_join)

    async def find(
        self,
        wish: Wish,
        most: int,
        within_s: float,
        is_over: Callable[[], bool] = lambda: False,
        *,
        near: Callable[[], Collection[PeerId]] = tuple,
        is_idle: Callable[[PeerId], bool] = lambda peer: False,
        may_gather: Callable[[PeerId], bool] = lambda peer: True,
    ) -> Group | None:
        """A group for a round.

        Args:
            wish: this peer's.
            most: members that fill it, `MEMBERS` or fewer.
            within_s: the group is what it is after this.
            is_over: whether the round has taken place without this peer.
            near: those that fill the group, as they are known at each look; others may come, too. None: anybody does.
            is_idle: whether nobody is to be in a group with a peer.
            may_gather: whether a peer is asked for a group because of a mere record.

        Returns:
            None if nobody else came.

        Raises:
            NetworkError: the DHT could not be read.
        """
        loop = asyncio.get_running_loop()
        ends = loop.time() + within_s
        if loop.time() < self._equal_until:
            wish = msgspec.structs.replace(wish, ability=msgspec.structs.replace(wish.ability, solver=""))
        self._wish, self._follows, self._known = wish, None, {wish.address.peer: wish.address}
        self._near, self._is_idle, self._may_gather = near, is_idle, may_gather
        if wish.step != self._step:
            self._step, self._vain, self._lost = wish.step, Counter(), defaultdict(float)
        key, vain = f"{self._run_id}.round.{wish.step}", self._vain.total()
        try:
            self._node.start(self._publish(key, wish, within_s + ANSWER_S), "telling of a round")
            while loop.time() < ends + ANSWER_S and not is_over():
                self.gatherer = first = await self._first(key, wish)
                if first != self._node.peer:
                    group = await self._join(first, wish, within_s)
                    if group is not None:
                        return group
                elif self._filled() + 1 >= most or loop.time() >= ends:
                    group = await self._close(wish)
                    if group is None and self._vain.total() == vain:
                        self._vain.clear()  # nobody else is there
                    return group
                else:
                    self._came.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout_at(min(ends, loop.time() + LOOK_S)):
                            await self._came.wait()
            return None
        finally:
            self._send_away(None)
            self._wish = None

    def spoilt(self) -> None:
        """The last group came to nothing, whoever of it is to blame."""
        self._vain[self.gatherer] += 1

    async def _publish(self, key: str, wish: Wish, expires_s: float) -> None:
        """Nobody waits for those that do not answer."""
        await self._dht.store(key, msgspec.msgpack.encode(wish), expires_s, subkey=own_subkey(self._node.peer))

    async def _first(self, key: str, wish: Wish) -> PeerId:
        """Who gathers, as far as is known here."""
        for record, other in told(await self._dht.get(key), Wish):
            fits = (other.step, other.numbers) == (wish.step, wish.numbers)
            fits = fits and other.address.peer == record.peer and self._may_gather(PeerId(record.peer))
            if fits and other.address.addresses:
                self._known[record.peer] = other.address
                self._sequences[record.peer] = record.sequence

        def order(peer: bytes) -> tuple[int, bool, bytes]:
            """Whom nobody can call gathers only if there is nobody else."""
            return self._vain[peer], not self._known[peer].addresses, self._rank(wish.step, peer)

        asked = (peer for peer in self._known if self._sequences.get(peer, 0) > self._failed.get(peer, -1))
        return PeerId(min(asked, key=order))

    def _rank(self, step: int, peer: bytes) -> bytes:
        return hashlib.sha256(f"{self._run_id}.{step}.".encode() + peer).digest()

    async def _join(self, first: PeerId, wish: Wish, within_s: float) -> Group | None:
        """The group of another who gathers; None: somebody else is to be asked."""
        clock = asyncio.get_running_loop().time
        began, patience_s = clock(), within_s + ANSWER_S
        self._follows = self._known[first]
        self._node.learn(self._follows)
        self._send_away(self._follows)
        method = of_run("trunk.join", self._run_id)
        try:
            invitation, _ = await self._node.call(first, method, wish, Invitation, deadline_s=patience_s)
        except NetworkError as error:
            log.info("peer %s does not gather: %s", first.hex()[:8], error)
            invitation = Invitation()
        self._follows = None
        group, instead = invitation.group, invitation.instead
        if group is not None and group.fits() and self._is_mine(group, wish) and group.members[0].peer == first:
            if await self._is_planned(group, wish):
                return group
            self._equal_until = clock() + EQUAL_S
            log.warning("peer %s has another plan of round %d than this one: refused", first.hex()[:8], wish.step)
        self._lost[first] += max((clock() - began) / within_s, 1 / SENT_AWAY)
        self._vain[first] += self._lost[first] > (1 if instead else 0.5)
        if instead is not None and self._rank(wish.step, instead.peer) < self._rank(wish.step, first):
            self._known[instead.peer] = instead
            if self._vain[instead.peer]:  # the one who was asked finds it out, too
                await asyncio.sleep(LOOK_S)
        else:
            self._failed[first] = self._sequences.get(first, 0)
        return None

    def _is_mine(self, group: Group, wish: Wish) -> bool:
        mine = [place for place, member in enumerate(group.members) if member.peer == self._node.peer]
        return bool(mine) and sum(group.shares) == wish.numbers and group.sends[mine[0]] == wish.sends

    async def _is_planned(self, group: Group, wish: Wish) -> bool:
        """Whether this peer comes to the same plan for these members: nobody reduces more than is due to it."""
        told = {member.peer: ability for member, ability in zip(group.members, group.abilities, strict=False)}
        if len(group.abilities) != len(group.members) or told[self._node.peer] != wish.ability:
            return False
        wishes = [
            Wish(wish.step, member, wish.numbers, sends, told[member.peer])
            for member, sends in zip(group.members, group.sends, strict=True)
        ]
        planned = self._codec, self._grace_s, self._clip, tuple(await asyncio.to_thread(self._share, wishes))
        return planned == (group.codec, group.grace_s, group.clip, group.shares)

    def _filled(self) -> int:
        """How many have come of those that fill the group."""
        near = self._near()
        return sum(not near or peer in near for peer in self._gathering)

    async def _close(self, wish: Wish) -> Group | None:
        """The group of those who came and are there yet, the same for all: a round would wait for a frozen one."""
        asked = {*self._gathering}
        silent = asked - await self._node.pool.living(asked)
        here = {peer: came for peer, came in self._gathering.items() if peer not in silent and not came[1].done()}
        near = self._near()
        came = {peer: here[peer] for peer in sorted(here, key=lambda peer: (peer not in near, peer))[: MEMBERS - 1]}
        if not came:
            return None
        wishes = [wish, *(other for other, _ in came.values())]
        members = tuple(each.address for each in wishes)
        sends = tuple(each.sends for each in wishes)
        abilities = tuple(each.ability for each in wishes)
        helps = tuple(each.helps for each in wishes)
        shares = tuple(await asyncio.to_thread(self._share, wishes))
        key = secrets.token_bytes(32)
        group = Group(key, members, sends, shares, self._codec, self._grace_s, self._clip, abilities, helps)
        for _, future in came.values():
            if not future.done():  # it has gone meanwhile
                future.set_result(Invitation(group))
        return group

    def _send_away(self, to: PeerAddress | None) -> None:
        """Whoever waits here goes elsewhere."""
        for _, future in self._gathering.values():
            if not future.done():
                future.set_result(Invitation(None, to))
        self._gathering.clear()

    def _on_join(self, request: Wish, payload: Payload, context: Context) -> asyncio.Future[Invitation]:
        wish = self._wish
        if wish is None or (wish.step, wish.numbers) != (request.step, request.numbers):
            raise RemoteFault("no_round", "This peer gathers nobody for such a round.")
        if request.address.peer != context.peer:
            raise RemoteFault("no_round", "The address is that of another peer.")
        future: asyncio.Future[Invitation] = asyncio.get_running_loop().create_future()
        if self._follows is not None and self._follows.peer != context.peer:
            future.set_result(Invitation(None, self._follows))
        elif self._is_idle(context.peer):
            raise RemoteFault("idle", "You came to rounds before, and did nothing.")
        elif len(self._gathering) >= 2 * MEMBERS and context.peer not in {*self._gathering, *self._near()}:
            raise RemoteFault("full", "This group is full.")
        else:
            self._gathering[context.peer] = request, future
            self._came.set()
        return future
