"""What a syncer takes from trainers, and tells of those whose differences are in its rounds."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core.averaging.collecting import Made, Making
from core.averaging.fragment import Encoder, Fragment, OtherVersion
from core.contracts.errors import CallRefused, ProtocolError
from core.contracts.trunk import Diloco
from core.identity import PeerId
from core.swarm.trunk import syncer as syncers
from core.swarm.trunk.syncer import Syncer, name_clipped
from tests.dht_peers import peer
from tests.workers import PATIENCE_S

A, B, C = b"a" * 32, b"b" * 32, b"c" * 32
SIZE, FINE = 500, 50


def difference(seed: int) -> bytes:
    numbers = np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)
    return Encoder().encode(numbers, FINE, is_sparse=False)


async def test_what_a_trainer_gave_counts_once_however_often_and_large_it_says_it_is() -> None:
    told: list[tuple[bytes, int, int]] = []
    fragment = Fragment(np.zeros(SIZE, np.float32), FINE)
    syncer = Syncer(fragment, Diloco(quorum=2, grace_s=5.0), gave=lambda *gave: told.append(gave))
    mine, other = difference(1), difference(2)
    async with asyncio.timeout(PATIENCE_S):
        repeats = [syncer.offer(A, 1, 2**53, mine) for _ in range(3)]
        assert all(await asyncio.gather(*repeats, syncer.offer(B, 1, 16, other)))
        assert await syncer.offer(A, 1, 2**53, mine), "it is in what is agreed"
    assert sorted(told) == [(A, 32, len(mine)), (B, 16, len(other))]


async def test_what_somebody_else_offered_before_counts() -> None:
    """Who syncs a fragment knows all offers, and may offer one to the next syncer before its trainer does."""
    syncer = Syncer(Fragment(np.zeros(SIZE, np.float32), FINE, version=2), Diloco(quorum=2, grace_s=5.0))
    mine = difference(1)
    async with asyncio.timeout(PATIENCE_S):
        assert all(await asyncio.gather(syncer.offer(B, 1, 8, mine), syncer.offer(A, 2, 8, mine)))
        with pytest.raises(ProtocolError, match="before"):
            await syncer.offer(A, 3, 8, mine)


async def test_one_pc_with_most_of_the_keys_has_nobody_struck(monkeypatch: pytest.MonkeyPatch) -> None:
    async with peer() as here:
        monkeypatch.setattr(here.rpc.pool, "voter", lambda of: of[:1])  # no network of many blocks is here
        keys = [PeerId(name + bytes([number]) * 31) for name in (b"a", b"b", b"c") for number in range(3)]

        def scores() -> list[float]:
            return [here.rpc.bans.score(key, time.monotonic()) for key in keys]

        name_clipped(here.rpc, {keys[0]: 1e-5, keys[3]: 1e-5}, [keys[0], keys[3], *keys[6:]])
        assert not any(scores()), "two of three are no liars"
        name_clipped(here.rpc, dict.fromkeys(keys[6:], 1e-05), [keys[0], keys[3], *keys[6:]])
        assert [score > 0 for score in scores()] == [False] * 6 + [True] * 3


async def test_of_a_flood_of_offers_on_one_version_the_first_is_read_and_none_makes_an_old_one_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(syncers, "USED", 4)
    syncer = Syncer(Fragment(np.zeros(SIZE, np.float32), FINE), Diloco(quorum=2, grace_s=5.0))
    mine, other = difference(1), difference(2)
    async with asyncio.timeout(PATIENCE_S):
        flood = [syncer.offer(A, 1, 8, bytes([number]) * 8) for number in range(9)]
        assert all(await asyncio.gather(syncer.offer(A, 1, 8, mine), *flood, syncer.offer(B, 1, 8, other)))
        for number in range(9):
            with pytest.raises(OtherVersion):
                await syncer.offer(A, 2, 8, bytes([number]) * 8)
        with pytest.raises(ProtocolError, match="before"):
            await syncer.offer(A, 2, 8, mine)


class Gate:
    """Rounds are made once it is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.opened, make = threading.Event(), threading.Event(), Making.make

        def wait(making: Making) -> Made:
            self.begun.set()
            assert self.opened.wait(PATIENCE_S)
            return make(making)

        monkeypatch.setattr(Making, "make", wait)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.opened.set()


async def busy_with_a_round(gate: Gate) -> tuple[Syncer, "asyncio.Future[list[bool]]"]:
    """A syncer that has begun a round of two trainers, and their offers."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    syncer = Syncer(Fragment(np.zeros(SIZE, np.float32), FINE), Diloco(quorum=2, grace_s=PATIENCE_S))
    offers = asyncio.gather(*(syncer.offer(peer, 1, 8, difference(peer[0])) for peer in (A, B)))
    with ThreadPoolExecutor(1) as waiting:
        await asyncio.wrap_future(waiting.submit(gate.begun.wait, PATIENCE_S))
    return syncer, offers


async def test_what_comes_while_a_round_is_made_is_in_the_next_one(gate: Gate) -> None:
    syncer, offers = await busy_with_a_round(gate)
    late, again = (asyncio.create_task(syncer.offer(peer, 1, 8, difference(peer[0]))) for peer in (C, A))
    await asyncio.sleep(0)
    assert syncer.fragment.version == 1 and not offers.done()
    gate.opened.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await offers == [True, True] and await again and not late.done()
        assert syncer.fragment.usual() == {A, B}
        more = (syncer.offer(peer, 2, 8, difference(1000 + peer[0])) for peer in (A, B))
        assert await asyncio.gather(*more, late) == [True, True, True]
    assert {peer for peer, _ in syncer.fragment.rounds[-1].givers} == {A, B, C} and syncer.fragment.version == 3


async def test_a_round_that_is_being_made_when_another_one_becomes_the_syncer_changes_nothing(
    gate: Gate,
) -> None:
    syncer, offers = await busy_with_a_round(gate)
    syncer.close()
    with pytest.raises(CallRefused):
        await offers
    gate.opened.set()
    await asyncio.to_thread(lambda: None)  # after the round, by the same thread
    await asyncio.sleep(0)
    assert syncer.fragment.version == 1 and not syncer.fragment.numbers.any()
