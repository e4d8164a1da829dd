"""What a syncer takes from trainers, and tells of those whose differences are in its rounds."""

import asyncio

import numpy as np
import pytest

from core.averaging.fragment import Encoder, Fragment, OtherVersion
from core.contracts.errors import ProtocolError
from core.contracts.trunk import Diloco
from core.swarm.trunk import syncer as syncers
from core.swarm.trunk.syncer import Syncer
from tests.workers import PATIENCE_S

A, B = b"a" * 32, b"b" * 32
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
