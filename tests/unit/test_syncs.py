"""What a PC does as the syncer of fragments: what it begins with, and what it goes on from when it takes over."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.fragment import Encoder, Fragment, Round, dump
from core.contracts import manifest as manifests
from core.contracts.errors import CallTimeout, HearthError
from core.contracts.net import of_run
from core.contracts.taking_on import Compared
from core.contracts.trunk import Diloco
from core.contracts.trunk_calls import OFFER, STATE, AskState, FragmentAnswer, FragmentOffer, State
from core.net.method import Context
from core.swarm.trunk.known import Known
from core.swarm.trunk.syncer import Syncer
from core.swarm.trunk.syncs import Syncs
from core.swarm.trunk.together import Together
from tests.dht_peers import Peer, peers, until
from tests.workers import PATIENCE_S

RULES = Diloco(quorum=2, grace_s=PATIENCE_S)
MANIFEST = msgspec.structs.replace(manifests.load("digits"), trunk=RULES)
SIZE, FINE = 5000, 50
LEARNT = Encoder().encode(np.full(SIZE, 0.01, np.float32), FINE, is_sparse=False)


class Syncing:
    """A peer that has claimed the one fragment of a trunk."""

    def __init__(self, node: Peer, *, trains: bool, known: Fragment | None = None) -> None:
        self.node, self.known, self.syncers = node, Known(MANIFEST, RULES), dict[int, Syncer | None]()
        self.known.sizes = [(SIZE, FINE)]
        if known:
            self.known.fragments[0] = known

        async def compare(states: Sequence[Mapping[int, bytes]]) -> Compared:
            """A trainer that finds unusual what is far off."""
            if not trains:
                raise CallTimeout("No trainer is here.")
            far = [any(np.abs(np.frombuffer(some, "<f4")).max() > 1e3 for some in state.values()) for state in states]
            return Compared(["unusual" if one else "good" for one in far])

        together = Together(compare, lambda: (), self.known.heard, self.syncers, self.known.fragments)
        told = (self.syncers, together, lambda *gave: None)
        self.syncs = Syncs(node.rpc, MANIFEST.run_id, RULES, self.known, *told)
        self.syncs.claim(0)

    def points(self, peer: Peer) -> float:
        """That it holds against another one."""
        return self.node.rpc.bans.score(peer.id, time.monotonic())


@pytest.fixture
async def three() -> AsyncIterator[list[Peer]]:
    async with peers(3) as made:
        yield made


async def ask(here: Peer, syncing: Syncing, offer: FragmentOffer, payload: bytes = b"") -> FragmentAnswer:
    method = of_run(OFFER, MANIFEST.run_id)
    call = here.rpc.call(syncing.node.id, method, offer, FragmentAnswer, payload, deadline_s=PATIENCE_S)
    return (await call)[0]


def begins(numbers: np.ndarray[tuple[int], np.dtype[np.float32]]) -> tuple[FragmentOffer, bytes]:
    return FragmentOffer(0, 0, b"", 16, FINE, "begin"), numbers.tobytes()


def gives(node: Peer, fragment: Fragment) -> None:
    """Let a peer say that it has that."""

    async def give(request: AskState, payload: bytes, context: Context) -> tuple[State, bytes]:
        return State(), dump(fragment)

    node.rpc.register(of_run(STATE, MANIFEST.run_id), AskState, give)


async def says_that_it_is_ahead(here: Peer, syncing: Syncing, version: int) -> None:
    try:
        await ask(here, syncing, FragmentOffer(0, version, b"", 16, FINE, "ask"))
    except HearthError:
        pass


async def test_nobody_begins_a_trunk_with_what_no_network_begins_with(three: list[Peer]) -> None:
    here, liar, other = three
    syncing = Syncing(here, trains=True)
    with pytest.raises(HearthError):
        await ask(liar, syncing, *begins(np.full(SIZE, 1e30, np.float32)))
    assert not syncing.known.fragments and syncing.points(liar) > 0.0
    answer = await ask(other, syncing, *begins(np.ones(SIZE, np.float32)))
    assert answer.kind == "state" and (syncing.known.fragments[0].numbers == 1.0).all()


@pytest.mark.parametrize(("factor", "is_taken"), [(1.0, True), (1000.0, False)])
async def test_where_nobody_trains_a_new_syncer_goes_on_from_rounds_that_move_as_far_as_others(
    three: list[Peer], factor: float, is_taken: bool
) -> None:
    """Nobody can try them; and all who follow blame the syncer for what they lead to."""
    here, other, _ = three
    begun = Fragment(np.ones(SIZE, np.float32), FINE)
    known = begun.after([Round(2, 16, True, ((bytes(other.id), 1),), ((1.0, LEARNT),))])
    syncing = Syncing(here, trains=False, known=known.copy())
    farther = Encoder().encode(np.full(SIZE, 0.01 * factor, np.float32), FINE, is_sparse=False)
    gives(other, known.after([Round(3, 16, True, ((bytes(other.id), 2),), ((1.0, farther),))]))
    await says_that_it_is_ahead(other, syncing, 3)
    assert syncing.known.fragments[0].version == (3 if is_taken else 2) and syncing.points(other) == 0.0


async def test_who_waits_for_a_round_goes_on_waiting_when_the_syncer_goes_on_from_a_newer_copy(
    three: list[Peer],
) -> None:
    """Whoever is refused again and again leaves the syncer."""
    here, other, waiting = three
    syncing = Syncing(here, trains=True, known=Fragment(np.ones(SIZE, np.float32), FINE))
    offer = FragmentOffer(0, 1, b"", 16, FINE, "difference")
    first = asyncio.create_task(syncing.syncs.answer(waiting.id, offer, LEARNT))
    before = syncing.syncers[0]
    assert before
    async with asyncio.timeout(PATIENCE_S):
        await until(lambda: before._collecting.has(waiting.id, 1), "the first offer")
        gives(other, Fragment(np.full(SIZE, 1.001, np.float32), FINE, version=3))
        await says_that_it_is_ahead(other, syncing, 3)
        assert syncing.known.fragments[0].version == 3 and syncing.syncers[0] is not before
        second = await syncing.syncs.answer(other.id, msgspec.structs.replace(offer, version=3), LEARNT)
        answer, _ = await first
    assert answer.counted and second[0].counted
    assert syncing.known.fragments[0].usual() == {bytes(waiting.id), bytes(other.id)}


async def test_a_round_that_is_made_while_a_newer_copy_is_looked_at_is_held_against_nobody(
    three: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other, _ = three
    known = Fragment(np.ones(SIZE, np.float32), FINE)
    syncing = Syncing(here, trains=True, known=known)
    gives(other, known.after([Round(2, 16, True, ((bytes(other.id), 1),), ((1.0, LEARNT),))]))
    mine = known.after([Round(2, 16, True, ((bytes(here.id), 1),), ((1.0, LEARNT),))])

    async def to_thread(func: Callable[..., Any], *args: object) -> Any:
        if getattr(func, "__name__", "") == "after":
            known.become(mine.copy())
        return func(*args)

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    await says_that_it_is_ahead(other, syncing, 2)
    assert known.line == mine.line and syncing.points(other) == 0.0
