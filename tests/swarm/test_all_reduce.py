"""Rounds among processes of which one ends or freezes in mid-round: the others have one result, the same."""

import hashlib
import signal
import sys
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from core.contracts.net import PeerAddress
from core.contracts.trunk_rounds import Group
from core.swarm.trunk.ballot import leader_of
from tests.bench.all_reduce import PeerProcess, acquainted, all_of

PEERS, NUMBERS = 4, 1 << 21
GRACE_S = 16.0
"""Sixteen seconds of which a sender has eight: no busy machine holds one that works up for so long."""
LITTLE = 1 << 18
"""Bytes: more than peers say to each other outside of rounds, less than the first chunks of two senders."""


@pytest.fixture
def peers() -> Iterator[list[PeerProcess]]:
    processes = [PeerProcess(place, NUMBERS, "127.0.0.1:0") for place in range(PEERS)]
    try:
        yield processes
    finally:
        for process in processes:
            process.end()


def group(number: int, members: Sequence[PeerAddress]) -> str:
    count = len(members)
    shares = tuple(NUMBERS * (place + 1) // count - NUMBERS * place // count for place in range(count))
    keys = (hashlib.sha256(bytes([number, again])).digest() for again in range(256))
    made = (Group(key, tuple(members), (True,) * count, shares, "fp32", GRACE_S) for key in keys)
    led_by_first = next(one for one in made if leader_of(one) == 0)  # a round whose leader goes is void
    return msgspec.msgpack.encode(led_by_first).hex()


def begun_without_the_first(peers: Sequence[PeerProcess], members: Sequence[PeerAddress]) -> None:
    """A round that cannot end yet, and in which the last one has delivered chunks already."""
    before = peers[1].ask("received")
    all_of(peers[1:], "begin", group(1, members))
    while peers[1].ask("received") < before + LITTLE:
        pass


def test_one_that_is_killed_in_mid_round_costs_the_others_nothing_but_the_grace(peers: list[PeerProcess]) -> None:
    members = acquainted(peers)
    begun_without_the_first(peers, members)
    peers[3].popen.kill()
    peers[0].ask("begin", group(1, members))
    answers = all_of(peers[:3], "end")
    assert len({answer["digest"] for answer in answers}) == 1
    assert {answer["peers"] for answer in answers} == {3}
    all_of(peers[:3], "fill", 2)
    all_of(peers[:3], "begin", group(2, members[:3]))
    answers = all_of(peers[:3], "end")
    assert len({answer["digest"] for answer in answers}) == 1
    assert max(all_of(peers[:3], "check", 2, 3)) < 1e-5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot freeze a process by a signal")
def test_one_that_freezes_in_mid_round_has_no_other_result_than_they(peers: list[PeerProcess]) -> None:
    members = acquainted(peers)
    begun_without_the_first(peers, members)
    peers[3].popen.send_signal(signal.SIGSTOP)
    peers[0].ask("begin", group(1, members))
    answers = all_of(peers[:3], "end")
    [digest] = {answer["digest"] for answer in answers}
    peers[3].popen.send_signal(signal.SIGCONT)
    late = peers[3].ask("end")
    assert "error" in late or late["digest"] == digest
    acquainted(peers)
    all_of(peers, "fill", 2)
    all_of(peers, "begin", group(2, members))
    answers = all_of(peers, "end")
    assert len({answer["digest"] for answer in answers}) == 1
    assert {answer["peers"] for answer in answers} == {4}
    assert max(all_of(peers, "check", 2, 4)) < 1e-5
