"""A peer that failed an expert's call is asked again as soon as the network hears of it."""

import time
from collections.abc import AsyncIterator

import pytest

from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Grid
from core.swarm.returning_peers import ReturningPeers
from tests.dht_peers import Peer, peers, until

GRID = Grid("digits", 1, (4, 8))
APART_S = 0.1
"""The clocks of two peers are equal but for less than this."""


@pytest.fixture
async def pair() -> AsyncIterator[list[Peer]]:
    async with peers(2) as made:
        yield made


def directory_at(peer: Peer) -> DHTDirectory:
    return DHTDirectory(peer.dht, peer.rpc, GRID, "digits")


async def heard_since(here: Peer, other: Peer) -> float:
    """A time since which a peer has been heard."""
    since = time.monotonic()
    await until(lambda: here.rpc.pool.links[other.id].heard > since, "a sign of life")
    return since


async def test_who_was_silent_is_asked_again_once_it_is_heard_and_only_once(pair: list[Peer]) -> None:
    here, other = pair
    returning = ReturningPeers(here.rpc, directory_at(here))
    returning.failed(other.id, time.monotonic())
    assert returning.look() == []
    await until(lambda: returning.look() == [other.id], "the next thing that it says")
    await heard_since(here, other)
    assert returning.look() == []


async def test_who_refuses_or_is_slow_is_heard_all_the_time_and_told_from_who_is_silent(pair: list[Peer]) -> None:
    here, other = pair
    returning = ReturningPeers(here.rpc, directory_at(here))
    returning.failed(other.id, await heard_since(here, other))
    await heard_since(here, other)
    assert returning.look() == []


@pytest.mark.parametrize("answers", [False, True])
async def test_who_announces_itself_is_asked_again_unless_it_has_answered_since(
    pair: list[Peer], answers: bool
) -> None:
    here, other = pair
    uid = GRID.uid(0, (0, 3))
    reads, hosts = directory_at(here), directory_at(other)
    returning = ReturningPeers(here.rpc, reads)
    hosts.host_here({uid: HostState()})
    returning.failed(other.id, await heard_since(here, other))
    failed = reads.now()

    async def announced() -> bool:
        await hosts.announce()
        await reads.read_hosts([uid])
        return reads.announced_at(other.id) > failed + APART_S

    await until(announced, "an announcement of after that")
    if answers:
        returning.answered(other.id)
    assert returning.look() == ([] if answers else [other.id])
