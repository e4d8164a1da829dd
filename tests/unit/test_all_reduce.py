"""Rounds between real endpoints on loopback: the mean is the same on every member, or there is none."""

import asyncio
import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from core.averaging.codecs import Numbers
from core.averaging.mean import longest_mean, mean_of
from core.contracts.errors import ProtocolError, RemoteFault, RoundVoid
from core.contracts.expert_calls import Codec, encoded_size
from core.contracts.net import Call, Payload, PeerAddress, of_run
from core.contracts.trunk_rounds import CHUNK as CHUNKS
from core.contracts.trunk_rounds import MEMBERS, SAMPLES, Averaged, Chunk, Group, Leave, Left, Report, Told, Verdict
from core.identity import Identity
from core.net.endpoint import LOOPBACK
from core.net.memory import Memory
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.trunk import all_reduce
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.ballot import Result, chunks_of, decide, first_pieces, leader_of, pieces_again
from core.swarm.trunk.reducing import WINDOW, Pass, Window
from core.swarm.trunk.round import Round
from tests.digits_layer import BATCH, digits

RUN = "run-1"
CHUNK = max(CHUNKS.values())
MIB = 1 << 20
DEADLINE_S = 240.0
LONG_S, SHORT_S, NO_S = 300.0, 6.0, 0.5
"""A grace that no busy machine uses up, one that passes soon, and one for rounds that are void whoever is late."""


class Peer(NamedTuple):
    node: RpcNode
    rounds: AllReduce


Start = Callable[[int], Awaitable[list[Peer]]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with contextlib.AsyncExitStack() as stack:

        async def some(count: int) -> list[Peer]:
            nodes = [RpcNode(Identity.generate(), listen=LOOPBACK[:1]) for _ in range(count)]
            return [Peer(await stack.enter_async_context(node), AllReduce(node, RUN)) for node in nodes]

        yield some


def vectors(count: int, numbers: int) -> list[Numbers]:
    return [np.random.default_rng(place).standard_normal(numbers).astype(np.float32) for place in range(count)]


def group(
    peers: Sequence[Peer],
    shares: Sequence[int],
    *,
    codec: Codec = "fp32",
    grace_s: float = LONG_S,
    clip: float = 0.0,
    helpers: int = 0,
    key: bytes = bytes(32),
    leader: int | None = None,
) -> Group:
    """The last `helpers` of the peers only help. With `leader` the key is the next one by which that member leads."""
    sends = tuple(place < len(peers) - helpers for place in range(len(peers)))
    members = tuple(peer.node.address() for peer in peers)
    which = Group(key, members, sends, tuple(shares), codec, grace_s, clip)
    keys = (number.to_bytes(32) for number in itertools.count(int.from_bytes(key)))
    while leader is not None and leader_of(which) != leader:
        which = msgspec.structs.replace(which, key=next(keys))
    return which


async def all_of(peers: Sequence[Peer], which: Group, sent: Sequence[Numbers], samples: Sequence[int]) -> list[Result]:
    async with asyncio.timeout(DEADLINE_S):
        own = [*sent, *[None] * (len(peers) - len(sent))]
        return await asyncio.gather(
            *(
                peer.rounds.average(which, vector, weight)
                for peer, vector, weight in zip(peers, own, samples, strict=True)
            )
        )


def digests(results: Sequence[Result]) -> set[str]:
    return {hashlib.sha256(result.vector.tobytes()).hexdigest() for result in results if result.vector is not None}


def averaged(results: Sequence[Result]) -> Numbers:
    """What all have, the same."""
    [_] = digests(results)
    vector = results[0].vector
    assert vector is not None
    return vector


def chunk_memory(peer: Peer) -> Memory:
    """Where chunks wait for those of the other members."""
    return peer.node._service.memory_for(Call(1, of_run("trunk.chunk", RUN), 1, msgspec.Raw(b"")))


def mean(sent: Sequence[Numbers], samples: Sequence[int]) -> Numbers:
    return np.average(np.asarray(sent, np.float64), axis=0, weights=samples).astype(np.float32)


@pytest.mark.parametrize(("codec", "near"), [("fp32", 1e-6), ("fp16", 4e-3), ("int8", 8e-2)])
async def test_the_mean_by_samples_is_the_same_on_all(start: Start, codec: Codec, near: float) -> None:
    peers = await start(4)
    sent, samples = vectors(4, 5 * CHUNK + 77), [1, 2, 3, 10]
    results = await all_of(peers, group(peers, [CHUNK, 0, 3 * CHUNK + 70, CHUNK + 7], codec=codec), sent, samples)
    assert len(digests(results)) == 1
    assert np.abs(averaged(results) - mean(sent, samples)).max() < near
    assert {(result.samples, result.peers) for result in results} == {(16, 4)}
    every = dict(zip([peer.node.peer for peer in peers], samples, strict=True))
    assert [result.counted for result in results] == [every, {}, every, every], "who reduces knows who is counted"


async def test_what_is_sent_stays_as_it_was(start: Start) -> None:
    peers = await start(2)
    sent = vectors(2, 1000)
    before = [vector.copy() for vector in sent]
    await all_of(peers, group(peers, [500, 500]), sent, [1, 1])
    assert all((vector == old).all() for vector, old in zip(sent, before, strict=True))


async def test_helpers_reduce_and_send_nothing(start: Start) -> None:
    peers = await start(4)
    sent = vectors(2, 3 * CHUNK)
    results = await all_of(peers, group(peers, [0, 10, 2 * CHUNK, CHUNK - 10], helpers=2), sent, [3, 1, 0, 0])
    assert len(digests(results)) == 1 and [result.vector is None for result in results] == [False, False, True, True]
    assert np.allclose(averaged(results), mean(sent, [3, 1]), atol=1e-6)


async def test_rounds_follow_each_other(start: Start) -> None:
    peers = await start(3)
    for turn in range(5):
        sent = [vector + turn for vector in vectors(3, 3000)]
        results = await all_of(peers, group(peers, [1000] * 3, key=bytes([turn]) * 32), sent, [1] * 3)
        assert len(digests(results)) == 1 and np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-6)


async def test_who_begins_before_the_others_waits_for_them(start: Start) -> None:
    peers = await start(2)
    sent, which = vectors(2, 3000), group(peers, [1500, 1500])
    first = asyncio.create_task(peers[0].rounds.average(which, sent[0], 1))
    async with asyncio.timeout(DEADLINE_S):
        while peers[0].node.peer not in peers[1].node.pool.links:  # noqa: ASYNC110 nothing tells of it
            await asyncio.sleep(0.01)
        results = await asyncio.gather(first, peers[1].rounds.average(which, sent[1], 1))
    assert len(digests(results)) == 1


@pytest.mark.parametrize("codec", CHUNKS)
@pytest.mark.parametrize("members", [2, 4, 8, MEMBERS])
async def test_what_all_have_under_way_fits_the_memory_where_it_waits(start: Start, codec: Codec, members: int) -> None:
    """Also if all are of one block of addresses: else the last one's chunk, which all wait for, would find no room."""
    address = PeerAddress(bytes(32), ())
    which = Group(bytes(32), (address,) * members, (True,) * members, (1,) * members, codec, LONG_S)
    window = Window(members - 1, which)
    for _ in range(100):
        window.answered(0.0)
    [peer] = await start(1)
    memory = chunk_memory(peer)
    for sender in range(members - 1):
        for _ in range(window.size):
            async with asyncio.timeout(1.0):
                await memory.reserve(("here", str(sender)), encoded_size(codec, CHUNKS[codec]))


async def test_calls_of_others_leave_a_round_its_memory(start: Start) -> None:
    """Such as those for experts, or another run's round."""
    peers = await start(3)
    for peer in peers:
        other = peer.node._service.memory
        await other.reserve(("elsewhere",), other.by_peer)
        await other.reserve(("further",), other.total - other.by_peer)
    sent = vectors(3, 6 * CHUNK)
    results = await all_of(peers, group(peers, [2 * CHUNK] * 3), sent, [1] * 3)
    assert len(digests(results)) == 1 and np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-6)


async def test_strangers_who_name_rounds_that_never_begin_leave_a_round_its_memory(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_reduce, "EARLY_S", 1e6)
    peers, strangers = await start(3), await start(3)
    payload = bytes(encoded_size("fp32", CHUNKS["fp32"]))

    async def give(stranger: Peer, peer: Peer) -> None:
        never, method = Chunk(os.urandom(32), 0, 0, 1, 1.0), of_run("trunk.chunk", RUN)
        with contextlib.suppress(RemoteFault):
            await stranger.node.call(peer.node.peer, method, never, Averaged, payload, deadline_s=1e4)

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as giving:
        tasks = []
        for stranger, peer in itertools.product(strangers, peers):
            stranger.node.learn(peer.node.address())
            tasks += [giving.create_task(give(stranger, peer)) for _ in range(4 * WINDOW)]
        full = len(strangers) * WINDOW * len(payload)
        while any(chunk_memory(peer).used < full for peer in peers):  # noqa: ASYNC110 nothing tells of it
            await asyncio.sleep(0.01)
        sent = vectors(3, 6 * CHUNK)
        results = await all_of(peers, group(peers, [2 * CHUNK] * 3), sent, [1] * 3)
        for task in tasks:
            task.cancel()
    assert len(digests(results)) == 1 and np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-6)


# --- members that fail


async def test_a_sender_who_never_comes_is_left_out(start: Start) -> None:
    """It reduces nothing, so nobody misses anything else."""
    peers = await start(4)
    sent = vectors(4, 3 * CHUNK)
    which = group(peers, [CHUNK, CHUNK, CHUNK, 0], grace_s=SHORT_S, leader=0)
    results = await all_of(peers[:3], which, sent[:3], [1, 2, 3])
    assert len(digests(results)) == 1
    assert np.allclose(averaged(results), mean(sent[:3], [1, 2, 3]), atol=1e-6)
    assert {(result.samples, result.peers) for result in results} == {(6, 3)}


async def test_the_share_of_a_reducer_who_never_comes_is_done_by_the_others(start: Start) -> None:
    peers = await start(4)
    sent = vectors(4, 4 * CHUNK + 5)
    which = group(peers, [CHUNK + 5, CHUNK, CHUNK, CHUNK], grace_s=SHORT_S, leader=0)
    results = await all_of(peers[:3], which, sent[:3], [1, 2, 3])
    assert len(digests(results)) == 1
    assert np.allclose(averaged(results), mean(sent[:3], [1, 2, 3]), atol=1e-6)


async def test_who_takes_no_part_in_a_group_costs_no_grace(start: Start) -> None:
    *peers, declines = await start(3)
    sent, samples = vectors(3, 2 * CHUNK + 5), [1, 2, 3]
    which = group([*peers, declines], [CHUNK, CHUNK, 5], leader=0)
    leaves = asyncio.create_task(declines.rounds.average(which, sent[2], samples[2], limit_s=0.0))
    results = await all_of(peers, which, sent[:2], samples[:2])
    with pytest.raises(RoundVoid):
        await leaves
    assert np.allclose(averaged(results), mean(sent[:2], samples[:2]), atol=1e-6)


async def test_a_reducer_who_leaves_in_mid_round_costs_no_grace(start: Start) -> None:
    """As when compute is stopped there: the others hear of it at once, and do its share. What it gives some of them as
    it goes, the mean of a part, counts for nobody."""
    peers = await start(4)
    sent = vectors(4, 4 * CHUNK)
    which = group(peers, [CHUNK] * 4, grace_s=LONG_S, leader=0)
    tasks = [asyncio.create_task(peers[place].rounds.average(which, sent[place], 1)) for place in (0, 1, 3)]

    def has_parts() -> bool:
        pass_ = next((each.passed(0) for each in peers[3].rounds._rounds.values()), None)
        return pass_ is not None and pass_.reducing.norms.keys() == {0, 1}

    async with asyncio.timeout(DEADLINE_S):
        while not has_parts():  # noqa: ASYNC110 nothing tells of it
            await asyncio.sleep(0.01)
        tasks[2].cancel()
        await asyncio.wait(tasks[2:])
        results = await asyncio.gather(*tasks[:2], peers[2].rounds.average(which, sent[2], 100))
    assert len(digests(results)) == 1
    assert {(result.samples, result.peers) for result in results} == {(102, 3)}


async def test_who_was_stopped_before_its_round_began_costs_no_grace(start: Start) -> None:
    """As where compute was killed when the group was all but there: the others ask in vain, and are told so at once."""
    *peers, stopped = await start(4)
    stopped.rounds._expects = lambda: False
    sent, samples = vectors(4, 4 * CHUNK), [1, 2, 3]
    results = await all_of(
        peers, group([*peers, stopped], [CHUNK] * 4, grace_s=8 * LONG_S, leader=0), sent[:3], samples
    )
    assert np.allclose(averaged(results), mean(sent[:3], samples), atol=1e-6)


async def test_a_leader_that_was_started_anew_is_not_waited_for(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may look for a group again, but has no round of this one."""
    monkeypatch.setattr(all_reduce, "EARLY_S", 1e6)
    peers = await start(3)
    which = group(peers, [CHUNK, CHUNK, 0], helpers=1, grace_s=8 * LONG_S, leader=2)
    tasks = [peer.rounds.average(which, own, 1) for peer, own in zip(peers[:2], vectors(2, 2 * CHUNK), strict=True)]
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, RoundVoid) for result in results)


async def test_without_its_leader_a_round_is_void_for_all(start: Start) -> None:
    peers = await start(4)
    sent = vectors(4, 4 * CHUNK + 5)
    which = group(peers, [CHUNK, CHUNK, CHUNK, CHUNK + 5], grace_s=NO_S, leader=3)
    tasks = [peers[place].rounds.average(which, sent[place], 1) for place in range(3)]
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, RoundVoid) for result in results)


def test_who_reduces_most_does_not_lead_all_rounds() -> None:
    addresses = ("127.0.0.1:1",)
    members = tuple(PeerAddress(bytes([place]) * 32, () if place == 4 else addresses) for place in range(5))
    which = Group(bytes(32), members, (True,) * 5, (1, 1, 1000, 0, 0), "fp32", 10.0)
    leaders = {leader_of(msgspec.structs.replace(which, key=turn.to_bytes(32))) for turn in range(200)}
    assert leaders == {0, 1, 2, 3}, "each of those who can be called"


@pytest.mark.parametrize("key", [None, bytes(32)])
async def test_a_leader_that_withholds_the_verdict_is_named(
    start: Start, key: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """It says nothing, or gives one of another round."""
    *honest, liar = peers = await start(4)
    sent = vectors(3, 3 * CHUNK)
    which = group(peers, [CHUNK, CHUNK, CHUNK, 0], grace_s=SHORT_S, helpers=1, key=bytes([1]) * 32, leader=3)

    async def lie(request: Report, payload: Payload, context: Context) -> Told:
        if key is None:
            await asyncio.Event().wait()
        body = msgspec.msgpack.encode(Verdict(key or b"", 0, False, (0, 1, 2), (), request.digests))
        return Told(body, liar.node.identity.sign(body))

    liar.node.register(of_run("trunk.report", RUN), Report, lie)
    tasks = [peer.rounds.average(which, own, 1) for peer, own in zip(honest, sent, strict=True)]
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, RoundVoid) for result in results)
    told = "leads a round and tells nobody" if key is None else "gave as a round's verdict"
    assert f"peer {liar.node.peer.hex()[:8]} {told}" in caplog.text
    assert all(peer.node.bans.score(liar.node.peer, time.monotonic()) > 0 for peer in honest)


async def test_half_a_group_has_no_result(start: Start) -> None:
    peers = await start(4)
    sent = vectors(4, 4000)
    which = group(peers, [1000] * 4, grace_s=NO_S)
    tasks = [peers[place].rounds.average(which, sent[place], 1) for place in range(2)]
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, RoundVoid) for result in results)


# --- members that lie


@pytest.mark.parametrize("lie", [np.nan, np.inf, 1e30])
async def test_numbers_that_no_honest_peer_sends_are_refused(
    start: Start, lie: float, caplog: pytest.LogCaptureFixture
) -> None:
    *honest, liar = peers = await start(4)
    sent = vectors(3, 3 * CHUNK)
    which = group(peers, [CHUNK, CHUNK, CHUNK, 0], leader=0)
    tasks = [asyncio.create_task(peer.rounds.average(which, own, 1)) for peer, own in zip(honest, sent, strict=True)]
    for peer, chunks in zip(honest, chunks_of(first_pieces(which), which.codec), strict=True):
        liar.node.learn(peer.node.address())
        number, span = min(chunks.items())
        false = np.full(span.stop - span.start, lie, np.float32).data.cast("B")
        chunk, method = Chunk(which.digest(), 0, number, 1, 1.0), of_run("trunk.chunk", RUN)
        await liar.node.call(peer.node.peer, method, chunk, Averaged, false, deadline_s=DEADLINE_S)
    for peer in honest:
        await liar.node.call(
            peer.node.peer, of_run("trunk.leave", RUN), Leave(which.digest()), Left, deadline_s=DEADLINE_S
        )
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*tasks)
    assert np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-6)
    assert f"peer {liar.node.peer.hex()[:8]} is left out" in caplog.text
    assert all(peer.node.bans.score(liar.node.peer, time.monotonic()) > 4 for peer in honest)


async def test_who_gives_two_members_different_groups_makes_neither_a_liar(start: Start) -> None:
    """Under one key. It is named as well as the leader, who may say so falsely."""
    gathers, one, leads = peers = await start(3)
    gathers.rounds._expects = lambda: False
    one.rounds._expects = lambda: not tasks[0].done()
    which = group(peers, [1000] * 3, grace_s=SHORT_S, leader=2)
    members = (*which.members, PeerAddress(bytes(32), ("127.0.0.1:9",)))
    other = Group(which.key, members, (True,) * 3 + (False,), (750,) * 4, which.codec, which.grace_s)
    sent, groups = vectors(1, 3000)[0], ((one, which), (leads, other))
    tasks = [asyncio.create_task(peer.rounds.average(its, sent, 1)) for peer, its in groups]
    async with asyncio.timeout(DEADLINE_S):
        first, second = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(first, RoundVoid) and first.spoilt_by == {gathers.node.peer, leads.node.peer}
    assert isinstance(second, RoundVoid) and one.node.peer not in second.spoilt_by
    now = time.monotonic()
    assert not one.node.bans.score(leads.node.peer, now) and not leads.node.bans.score(one.node.peer, now)


def test_a_group_says_of_all_members_or_of_none_whether_they_only_help() -> None:
    which = of(3, [1, 1, 1])
    assert which.fits() and msgspec.structs.replace(which, helps=(False,) * 3).fits()
    assert not msgspec.structs.replace(which, helps=(False,) * 2).fits()


async def test_what_is_not_finite_is_not_sent(start: Start) -> None:
    [one, other] = await start(2)
    with pytest.raises(ProtocolError):
        await one.rounds.average(group([one, other], [1, 1]), np.array([1, np.nan], np.float32), 1)


async def test_absurdly_large_numbers_are_refused(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    peers = await start(4)
    sent = vectors(4, 3 * CHUNK)
    which = group(peers, [CHUNK, CHUNK, CHUNK, 0])
    results = await all_of(peers, which, [*sent[:3], 100 * sent[3]], [1] * 4)
    assert len(digests(results)) == 1
    assert np.allclose(averaged(results), mean(sent[:3], [1] * 3), atol=1e-6)
    assert f"peer {peers[3].node.peer.hex()[:8]} is left out" in caplog.text


async def test_honest_members_blame_each_other_for_nothing_where_most_send_noughts(start: Start) -> None:
    peers = await start(5)
    honest = vectors(2, 5000)
    sent = [honest[0], *[np.zeros(5000, np.float32)] * 3, honest[1]]
    results = await all_of(peers, group(peers, [1000] * 5), sent, [1] * 5)
    assert not averaged(results).any(), "most decide"
    for one, other in ((peers[0], peers[4]), (peers[4], peers[0])):
        assert not one.node.bans.score(other.node.peer, time.monotonic())


async def test_with_centred_clipping_flipped_signs_do_little_and_are_named(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    peers = await start(8)
    truth = np.random.default_rng(9).standard_normal(2000).astype(np.float32)
    sent = [truth + 0.1 * vector for vector in vectors(7, 2000)] + [-20 * truth]
    shares = [250] * 8
    plain = await all_of(peers, group(peers, shares), sent, [1] * 8)
    assert "clipped" not in caplog.text
    peers = await start(8)
    clipped = await all_of(peers, group(peers, shares, clip=2.0), sent, [1] * 8)
    assert len(digests(clipped)) == 1
    far = [float(np.linalg.norm(averaged(results) - truth) / np.linalg.norm(truth)) for results in (plain, clipped)]
    assert far[0] > 1.0 and far[1] < 0.1
    assert f"peer {peers[-1].node.peer.hex()[:8]} is clipped in a round" in caplog.text
    assert not any(f"{peer.node.peer.hex()[:8]} is" in caplog.text for peer in peers[:-1]), "an honest one is named"


@pytest.mark.parametrize("clip", [0.0, 2.0])
async def test_a_false_mean_that_is_too_long_is_reduced_again_by_others(
    start: Start, clip: float, caplog: pytest.LogCaptureFixture
) -> None:
    """All get the same of it, from one that only reduces."""
    *honest, liar = peers = await start(4)
    truth = vectors(1, 4 * CHUNK)[0]
    sent = [truth + vector * np.float32(0.1) for vector in vectors(3, 4 * CHUNK)]
    which = group(peers, [CHUNK] * 4, grace_s=SHORT_S, clip=clip, helpers=1, leader=0)

    async def lie(request: Chunk, payload: Payload, context: Context) -> tuple[Averaged, Payload]:
        return Averaged(3, 3), np.full(len(payload) // 4, 10, "<f4").tobytes()

    liar.node.register(of_run("trunk.chunk", RUN), Chunk, lie, max_payload=MIB)
    results = await all_of(honest, which, sent, [1] * 3)
    assert np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-5)
    assert f"peer {liar.node.peer.hex()[:8]} gave what is no mean" in caplog.text
    assert caplog.text.count("gave what is no mean") == len(honest), "an honest one is named"


async def test_one_who_reduces_cannot_say_that_there_are_few_samples_in_all_of_the_mean(start: Start) -> None:
    """A learning rate would rise by one sample a step."""
    *_, liar = peers = await start(4)
    sent, samples = vectors(3, 4 * CHUNK), [10, 10, 10]
    reduce = liar.rounds._on_chunk

    async def lie(request: Chunk, payload: Payload, context: Context) -> tuple[Averaged, Payload]:
        return Averaged(1, 1), (await reduce(request, payload, context))[1]

    liar.node.register(of_run("trunk.chunk", RUN), Chunk, lie, max_payload=MIB)
    results = await all_of(peers, group(peers, [CHUNK] * 4, helpers=1), sent, [*samples, 0])
    assert np.allclose(averaged(results), mean(sent, samples), atol=1e-5)
    assert {(result.samples, result.peers) for result in results[:3]} == {(30, 3)}


async def test_one_who_says_that_it_misses_most_has_nobody_reduce_it_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = await start(4)
    sent, samples = vectors(4, 4 * CHUNK), [1, 2, 3, 4]
    report = Round._report

    def lie(self: Round, pass_: Pass) -> Report:
        said = report(self, pass_)
        missing = said.digests[:1] + (b"",) * 3
        return msgspec.structs.replace(said, digests=missing) if self.here == 3 else said

    monkeypatch.setattr(Round, "_report", lie)
    results = await all_of(peers, group(peers, [CHUNK] * 4, leader=0), sent, samples)
    assert np.allclose(averaged(results), mean(sent, samples), atol=1e-6)
    assert not any(round_.passed(1) for peer in peers for round_ in peer.rounds._rounds.values())


@pytest.mark.parametrize("told", [Averaged(2**53, 2), Averaged(2, 60), Averaged(0, 2), Averaged(0, 0)])
async def test_who_reduces_all_cannot_say_that_it_was_of_more_samples_or_peers_than_there_are_or_of_none(
    start: Start, told: Averaged, caplog: pytest.LogCaptureFixture
) -> None:
    *senders, liar = peers = await start(3)
    which = group(peers, [0, 0, CHUNK], grace_s=SHORT_S, helpers=1, leader=0)

    async def lie(request: Chunk, payload: Payload, context: Context) -> tuple[Averaged, Payload]:
        return told, payload

    liar.node.register(of_run("trunk.chunk", RUN), Chunk, lie, max_payload=MIB)
    with pytest.raises(RoundVoid):
        await all_of(senders, which, vectors(2, CHUNK), [1, 1])
    assert f"peer {liar.node.peer.hex()[:8]} is left out of a round: What it gave is no mean" in caplog.text


async def test_a_sender_with_more_samples_than_one_can_have_is_refused(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    *honest, liar = peers = await start(3)
    for peer in honest:
        peer.rounds._most_samples = 3
    sent = vectors(3, 3 * CHUNK)
    results = await all_of(peers, group(peers, [CHUNK, 2 * CHUNK, 0], grace_s=SHORT_S, leader=0), sent, [2, 3, 4])
    assert np.allclose(averaged(results[:2]), mean(sent[:2], [2, 3]), atol=1e-6)
    assert f"peer {liar.node.peer.hex()[:8]} is left out of a round" in caplog.text


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8])
def test_no_mean_is_longer_than_it_is_said_to_be(count: int) -> None:
    dice = np.random.default_rng(count)
    for numbers in (1, 2, 3, 100):
        for _ in range(50):
            rows = [
                (dice.standard_normal(numbers) * dice.choice([0.1, 1, 25], numbers)).astype(np.float32)
                for _ in range(count)
            ]
            norms = [float(np.linalg.norm(row)) for row in rows]
            for clip in (0.0, 2.0):
                found = mean_of(rows, [int(n) for n in dice.integers(1, 99, count)], norms, clip).vector
                assert np.linalg.norm(found) <= longest_mean(norms)


async def test_the_clipped_mean_of_honest_members_is_their_mean(start: Start) -> None:
    peers = await start(4)
    sent, samples = vectors(4, 4000), [3, 4, 5, 4]
    results = await all_of(peers, group(peers, [1000] * 4, clip=2.0), sent, samples)
    assert np.allclose(averaged(results), mean(sent, samples), atol=1e-5)


async def test_what_only_one_has_seen_is_not_clipped_away(start: Start) -> None:
    peers = await start(3)
    sent = [np.zeros(3000, np.float32), np.zeros(3000, np.float32), vectors(1, 3000)[0]]
    for vector in sent:
        vector[2000:] = 1.0
    sent[2][:1000] = 0.0
    results = await all_of(peers, group(peers, [1000] * 3, clip=2.0), sent, [1] * 3)
    assert np.allclose(averaged(results), mean(sent, [1] * 3), atol=1e-6)


async def test_what_was_in_a_round_before_is_refused(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    peers = await start(4)
    first, then = vectors(4, 4000), [2 * vector for vector in vectors(4, 4000)[:3]]
    shares = [1000, 2000, 1000, 0]
    await all_of(peers, group(peers, shares), first, [1] * 4)
    assert "left out" not in caplog.text
    results = await all_of(peers, group(peers, shares, key=bytes([1]) * 32), [*then, first[3]], [1] * 4)
    assert np.allclose(averaged(results), mean(then, [1] * 3), atol=1e-6)
    assert f"peer {peers[3].node.peer.hex()[:8]} is left out" in caplog.text
    assert all(peer.node.bans.score(peers[3].node.peer, time.monotonic()) > 4 for peer in peers[:3])


async def test_a_vector_of_almost_the_length_of_an_older_one_is_not_taken_for_it(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """As happens in some thousand rounds, if lengths are told with seven digits only."""
    peers = await start(3)
    first = [np.full(3000, 1 + place, np.float32) for place in range(3)]
    then = [vector.copy() for vector in first]
    for vector in then:
        vector[0] = np.nextafter(vector[0], np.float32(9))
    for turn, sent in enumerate((first, then)):
        results = await all_of(peers, group(peers, [1000] * 3, key=bytes([turn]) * 32), sent, [1] * 3)
        assert {(result.samples, result.peers) for result in results} == {(3, 3)}
    assert "left out" not in caplog.text


# --- one of eight trainers lies in each round: the others learn as without it


STEPS = 24


async def learnt(peers: Sequence[Peer], lie: str, samples: int) -> float:
    """Loss after some steps of all, of whom the last one lies until the others ban it."""
    weights, old = digits().begun(), None
    dice = [np.random.default_rng(place) for place in range(len(peers))]
    for step in range(STEPS):
        sent, counts = [digits().gradient(weights, own) for own in dice], [BATCH] * len(dice)
        if lie:
            old = sent[-1] if old is None else old
            sent[-1], counts[-1] = {"x100": 100 * sent[-1], "flipped": -sent[-1], "old": old}[lie], samples
        now, liar = time.monotonic(), peers[-1].node.peer
        here = len(peers) - any(peer.node.bans.banned(liar, now) for peer in peers)
        shares = [len(weights) // here + (place < len(weights) % here) for place in range(here)]
        which = group(peers[:here], shares, grace_s=30.0, clip=2.0, key=bytes([step]) * 32, leader=0)
        lying = (
            [asyncio.create_task(peers[-1].rounds.average(which, sent[-1], counts[-1]))]
            if here == len(peers) and lie
            else []
        )
        honest = len(peers) - bool(lie)
        weights = weights - averaged(await all_of(peers[:honest], which, sent[:honest], counts[:honest]))
        for task in lying:  # the ban may have ended its part
            task.cancel()
        await asyncio.gather(*lying, return_exceptions=True)
    return digits().loss(weights)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("samples", [BATCH, SAMPLES])
@pytest.mark.parametrize("lie", ["x100", "flipped", "old"])
async def test_with_one_liar_of_eight_the_others_learn_as_without_it(
    start: Start, lie: str, samples: int, caplog: pytest.LogCaptureFixture
) -> None:
    peers = await start(8)
    with_it = await learnt(peers, lie, samples)
    told = f"peer {peers[-1].node.peer.hex()[:8]} is {'clipped in' if lie == 'flipped' else 'left out of'} a round"
    assert told in caplog.text
    without = await learnt(await start(7), "", 0)
    assert with_it < 1.03 * without


async def test_nobody_says_that_it_has_more_samples_than_can_be_counted() -> None:
    chunk = Chunk(bytes(32), 0, 0, SAMPLES, 1.0)
    msgspec.msgpack.decode(msgspec.msgpack.encode(chunk), type=Chunk)
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(msgspec.structs.replace(chunk, samples=2**53 // 64)), type=Chunk)


async def test_strangers_are_not_heard(start: Start) -> None:
    [one, other, stranger] = await start(3)
    which = group([one, other], [500, 500])
    work = asyncio.create_task(one.rounds.average(which, vectors(1, 1000)[0], 1))
    stranger.node.learn(one.node.address())
    chunk = Chunk(which.digest(), 0, 0, 1, 1e9)
    with pytest.raises(RemoteFault) as caught:
        await stranger.node.call(
            one.node.peer,
            of_run("trunk.chunk", RUN),
            chunk,
            Averaged,
            bytes(2000),
            deadline_s=DEADLINE_S,
        )
    assert caught.value.fault == "no_member"
    work.cancel()


# --- chunks


def test_short_pieces_have_smaller_chunks() -> None:
    width = CHUNKS["fp32"]
    pieces = first_pieces(of(5, [0, 5, width, 8 * width + 1, 100 * width + 1]))
    cut = chunks_of(pieces, "fp32")
    assert [number for chunks in cut for number in chunks] == [*range(sum(map(len, cut)))]
    spans = [[stop - start for start, stop in chunks.values()] for chunks in cut]
    half = width // 2 + 1
    assert spans == [[5], [width // 8] * 8, [half] * 15 + [half - 15], [width] * 100 + [1]]
    for piece, chunks in zip(pieces, cut, strict=True):
        ends = [(piece.span.start, piece.span.start), *chunks.values()]
        assert all(one[1] == other[0] for one, other in itertools.pairwise(ends)) and ends[-1][1] == piece.span.stop


# --- the decision, pure


def of(count: int, shares: Sequence[int]) -> Group:
    members = tuple(PeerAddress(bytes([place]) * 32) for place in range(count))
    return Group(bytes(32), members, (True,) * count, tuple(shares), "fp32", 10.0)


def reports(*digests: Sequence[bytes]) -> dict[int, Report]:
    return {place: Report(bytes(32), 0, tuple(said)) for place, said in enumerate(digests)}


def test_what_all_have_counts() -> None:
    which = of(3, [10, 10, 10])
    pieces = first_pieces(which)
    verdict = decide(which, pieces, 0, reports([b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"a", b"b", b"c"]))
    assert verdict == Verdict(which.digest(), 0, False, (0, 1, 2), (), (b"a", b"b", b"c"))


def test_what_differs_or_is_missing_is_done_again_by_others() -> None:
    which = of(4, [10, 10, 10, 10])
    pieces = first_pieces(which)
    verdict = decide(
        which,
        pieces,
        0,
        reports([b"a", b"x", b"c", b"d"], [b"a", b"y", b"c", b"d"], [b"a", b"x", b"c", b""]),
    )
    assert (verdict.void, verdict.lost, verdict.alive) == (False, (1, 3), (0, 1, 2))
    again = pieces_again(which, pieces, verdict)
    assert {piece.reducer for piece in again} == {0, 2}
    assert sorted(number for piece in again for number in range(*piece.span)) == [*range(10, 20), *range(30, 40)]


def test_nobody_spoils_a_round_alone() -> None:
    which = of(3, [10, 10, 10])
    pieces = first_pieces(which)
    said = reports([b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"", b"", b""])
    for attempt in (0, 1):
        verdict = decide(which, pieces, attempt, said)
        assert (verdict.lost, verdict.digests) == ((), (b"a", b"b", b"c"))
    said = reports([b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"", b"b", b"c"])
    assert decide(which, pieces, 0, said).lost == (0,) and decide(which, pieces, 1, said).lost == ()
    assert decide(which, pieces, 0, reports([b"a", b"", b"c"], [b"", b"b", b""], [b"", b"", b""])).void


@pytest.mark.parametrize("count", [3, 5, 8])
def test_who_misses_more_than_half_falls_behind_and_nobody_does_it_all_again(count: int) -> None:
    """Unless it leads: it is to hear of the next pass."""
    which = of(count, [10] * count)
    pieces, all_of_it = first_pieces(which), [bytes([place]) for place in range(1, count + 1)]
    leader = leader_of(which)
    for liar in range(count):
        few = [b"" if place else digest for place, digest in enumerate(all_of_it)]
        verdict = decide(which, pieces, 0, reports(*(few if place == liar else all_of_it for place in range(count))))
        assert not verdict.void and bool(verdict.lost) == (liar == leader)
        assert verdict.alive == tuple(place for place in range(count) if place != liar or liar == leader)
        some = [b"" if 2 * place < count - 1 else digest for place, digest in enumerate(all_of_it)]
        verdict = decide(which, pieces, 0, reports(*(some if place == liar else all_of_it for place in range(count))))
        assert verdict.lost == tuple(range(count // 2)) and verdict.alive == tuple(range(count))


def test_half_of_a_group_decides_nothing() -> None:
    which = of(4, [10, 10, 10, 10])
    assert decide(which, first_pieces(which), 0, reports([b"a"] * 4, [b"a"] * 4)).void
