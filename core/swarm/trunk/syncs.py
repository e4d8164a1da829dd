"""The fragments that are synced here: what trainers offer of them, and what this PC goes on from when it takes over."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

import msgspec

from core.averaging import codecs
from core.averaging import fragment as fragments
from core.averaging.fragment import Fragment, OtherVersion
from core.contracts.errors import CallRefused, ProtocolError
from core.contracts.net import of_run
from core.contracts.trunk import Diloco
from core.contracts.trunk_calls import OFFER, STATE, AskState, FragmentAnswer, FragmentOffer, State
from core.identity import PeerId, peer_text
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.trunk.agreement import HOSTILE_POINTS, POINTS
from core.swarm.trunk.known import MOST, Known
from core.swarm.trunk.syncer import Claim, Syncer, name_clipped
from core.swarm.trunk.together import Together

log = logging.getLogger(__name__)

STATE_S = 30.0
"""For the newer copy that somebody has."""


class Syncs:
    """Of one run."""

    def __init__(
        self,
        node: RpcNode,
        run_id: str,
        rules: Diloco,
        known: Known,
        syncers: dict[int, Syncer | None],
        together: Together,
        gave: Callable[[int, bytes, int, int], object],
    ) -> None:
        """
        Args:
            node: this peer.
            run_id: whose fragments they are.
            rules: quorum and grace.
            known: the fragments; those that are synced here are their syncers' own.
            syncers: is filled here, by fragment; None: nobody has begun it.
            together: tries fragments.
            gave: called once a round with the fragment, each trainer in it, its samples that counted and the bytes that
                it sent.
        """
        self._node, self._rules, self._known, self._fragments = node, rules, known, known.fragments
        self._syncers, self._together, self._gave = syncers, together, gave
        self._state = of_run(STATE, run_id)
        self._claimed: dict[int, Claim] = {}
        self._dumping = asyncio.Lock()  # as much memory as the fragment, each time
        node.register(of_run(OFFER, run_id), FragmentOffer, self._take, max_payload=4 * MOST, cost=4.0)
        node.register(self._state, AskState, self._give, cost=4.0)

    def claim(self, part: int) -> None:
        """Be the syncer of a fragment from now on.

        Args:
            part: which it is.
        """
        fragment = self._fragments.get(part)
        self._syncers[part] = self._new_syncer(part, fragment) if fragment else None
        self._claimed[part] = Claim()
        log.info("Syncs fragment %d of the trunk from version %d on.", part, fragment.version if fragment else 0)

    def leave(self, part: int) -> None:
        """Be it no more.

        Args:
            part: a fragment that is synced here.
        """
        if (syncer := self._syncers.pop(part)) is not None:
            syncer.close()

    def _new_syncer(self, part: int, fragment: Fragment) -> Syncer:
        return Syncer(fragment, self._rules, partial(name_clipped, self._node), partial(self._gave, part))

    async def answer(self, peer: PeerId, offer: FragmentOffer, payload: bytes) -> tuple[FragmentAnswer, bytes]:
        """What this PC answers as a fragment's syncer; its own trainer gets no payload.

        Args:
            peer: who asks.
            offer: what.
            payload: of the offer.

        Raises:
            ProtocolError: it is nothing that an honest peer offers, or of another version (`OtherVersion`).
            CallRefused: somebody else is the syncer.
        """
        part, known = offer.part, self._fragments.get(offer.part)
        is_newer = offer.version > (known.version if known else 0) and peer != self._node.peer
        if part in self._syncers and is_newer:
            await self._catch_up(part, peer)
        if part not in self._syncers:
            raise CallRefused("This peer is not the syncer of this fragment. Ask another one.")
        counted, began = offer.kind != "difference", time.monotonic()
        if self._syncers[part] is None and offer.kind == "begin":
            await self._begin(part, peer, offer, payload)
        syncer = self._syncers.get(part)
        if syncer is None:
            return FragmentAnswer(0, False, "none"), b""
        if offer.kind == "difference":
            counted, syncer = await self._counted(syncer, peer, offer, payload)
            self._known.heard[part] = time.time()
        else:
            syncer.expect(peer)
        fragment, waited_s = syncer.fragment, time.monotonic() - began
        rounds = fragment.since(offer.line)
        givers = len(fragment.rounds[-1].givers) if fragment.rounds else 1
        told = FragmentAnswer(givers, counted, "state" if rounds is None else "rounds", waited_s, fragment.line)
        if peer == self._node.peer:
            return told, b""
        return told, await self._dump(fragment) if rounds is None else msgspec.msgpack.encode(rounds)

    async def _counted(self, syncer: Syncer, peer: PeerId, offer: FragmentOffer, payload: bytes) -> tuple[bool, Syncer]:
        """Whether an offer is in what is agreed, and at which syncer: that here may go on from a newer copy meanwhile,
        and who waits has nothing to hold against it."""
        try:
            return await syncer.offer(peer, offer.version, offer.samples, payload), syncer
        except CallRefused:
            other = self._syncers.get(offer.part)
            if other is None or other is syncer:
                raise
            return await self._counted(other, peer, offer, payload)

    async def _begin(self, part: int, peer: PeerId, offer: FragmentOffer, payload: bytes) -> None:
        count = len(payload) // 4
        self._known.check_size(part, count, offer.fine)
        fragment = Fragment(codecs.decode(payload, "fp32", count), offer.fine)
        if peer != self._node.peer and await self._together.alone(part, payload) == "unusual":
            raise ProtocolError(f"Fragment {part} of the trunk is to begin with what no network begins with.")
        if part in self._syncers and self._syncers[part] is None:  # else somebody else has begun it, or is its syncer
            self._fragments[part] = fragment
            self._syncers[part] = self._new_syncer(part, fragment)

    async def _dump(self, fragment: Fragment) -> bytes:
        async with self._dumping:
            return await asyncio.to_thread(fragments.dump, fragment.copy())

    async def _take(self, offer: FragmentOffer, payload: bytes, context: Context) -> tuple[FragmentAnswer, bytes]:
        try:
            return await self.answer(context.peer, offer, payload)
        except ProtocolError as error:
            if not isinstance(error, OtherVersion):
                log.warning("Peer %s offered what does not count: %s", peer_text(context.peer)[:8], error)
                self._node.strike(context.peer, HOSTILE_POINTS)
            raise

    async def _catch_up(self, part: int, peer: PeerId) -> None:
        """Somebody got a round of the former syncer that this one did not: go on from that, not long after a claim."""
        if not (claim := self._claimed[part]).takes_from(self._node.pool.voter(peer)):
            return
        _, data = await self._node.call(peer, self._state, AskState(part), State, deadline_s=STATE_S)
        if not data:
            return
        newer = await self._known.load(part, data)
        known = self._fragments.get(part)
        line = known.line if known else b""  # a round changes the fragment itself
        if part not in self._syncers or (known and newer.version <= known.version):
            return
        if not self._known.can_be(part, newer):
            raise CallRefused(f"Fragment {part} of the trunk cannot have come to version {newer.version} by now.")
        rounds = newer.since(known.line) if known else None
        is_safe = False
        if known and rounds is not None:  # from these follow the numbers
            base = known.copy()
            newer = await asyncio.to_thread(base.after, rounds)
            is_safe = await asyncio.to_thread(base.can_take, newer, rounds)
        verdict = await self._together.alone(part, newer.numbers.tobytes())
        if verdict in POINTS:
            self._node.strike(peer, POINTS[verdict])
            raise CallRefused(f"What you have of fragment {part} of the trunk is {verdict}.")
        untold = verdict is None and known and not is_safe  # where nobody trains only what follows is taken
        is_same = self._fragments.get(part) is known and (not known or known.line == line)
        if untold or part not in self._syncers or not is_same:
            return  # or it is another one's, or has gone on, meanwhile
        self._fragments[part] = newer
        self.leave(part)  # who waits is to offer again: it may be counted by now
        self.claim(part)
        self._claimed[part] = claim

    async def _give(self, request: AskState, payload: bytes, context: Context) -> tuple[State, bytes]:
        fragment = self._fragments.get(request.part)
        return State(), await self._dump(fragment) if fragment else b""
