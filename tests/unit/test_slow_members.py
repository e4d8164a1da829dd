"""Real peers on loopback: members of a round that do next to nothing are left out of it, and of those after it."""

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
import torch

from core.averaging.codecs import encode
from core.contracts.errors import NetworkError, RoundVoid
from core.contracts.net import Payload, of_run
from core.contracts.trunk import Gathered, Offer
from core.contracts.trunk_rounds import CHUNK as CHUNKS
from core.contracts.trunk_rounds import Averaged, Chunk, Group, Verdict
from core.identity import PeerId
from core.net.method import Context
from core.swarm.trunk import ballot, dedloc
from core.swarm.trunk import round as rounds
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.ballot import Result, chunks_of, decide, first_pieces
from core.swarm.trunk.reducing import Answer
from tests.dht_peers import peers
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_all_reduce import (
    DEADLINE_S,
    RUN,
    Peer,
    Start,
    averaged,
    group,
    mean,
    start,  # noqa: F401 - fixture
    vectors,
)
from tests.unit.test_dedloc_held_up import meanwhile, telling
from tests.unit.test_dedloc_peers import DIGITS, NUMBERS, ROWS, Trainer, all_known

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.timeout(900)]
CHUNK = CHUNKS["fp32"]
MANY = 40
"""Chunks: more than are under way at once."""


async def give(liar: Peer, which: Group, number: int) -> None:
    """One chunk of noughts to the first member, whose last one is -1; its mean is not waited for."""
    spans = [*chunks_of(first_pieces(which), which.codec)[0].items()]
    number, span = spans[number]
    request = Chunk(which.digest(), 0, number, 1, 0.0)
    numbers = encode(np.zeros(span.stop - span.start, np.float32), which.codec)
    with contextlib.suppress(NetworkError, asyncio.CancelledError):
        await liar.node.call(
            PeerId(which.members[0].peer), of_run("trunk.chunk", RUN), request, Averaged, numbers, deadline_s=DEADLINE_S
        )


async def honest_two(honest: Sequence[Peer], which: Group) -> tuple[Sequence[np.ndarray], list[Result]]:
    sent = vectors(2, MANY * CHUNK)
    async with asyncio.timeout(DEADLINE_S):
        tasks = [peer.rounds.average(which, vector, 1) for peer, vector in zip(honest, sent, strict=True)]
        return sent, await asyncio.gather(*tasks)


async def test_who_gives_the_last_chunk_first_and_no_other_holds_nobody_up(start: Start) -> None:  # noqa: F811
    """Nothing that it has given is averaged, as the others wait for the rest of it: it is not the one that waits."""
    *honest, liar = await start(3)
    which = group([*honest, liar], [MANY * CHUNK, 0, 0], grace_s=6.0, leader=0)
    liar.node.learn(which.members[0])
    task = asyncio.create_task(give(liar, which, -1))
    sent, results = await honest_two(honest, which)
    await task
    assert np.allclose(averaged(results)[:-CHUNK], mean(sent, [1, 1])[:-CHUNK], atol=1e-6)
    assert [each.late for each in results] == [{liar.node.peer}, frozenset()], "who waited for it blames it"


async def test_who_gives_chunk_after_chunk_very_slowly_is_left_out(
    start: Start,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each comes just in time; all of them would take minutes."""
    *honest, liar = await start(3)
    monkeypatch.setattr(ballot, "LEAST_RATE", 4 * MANY * CHUNK)
    which = group([*honest, liar], [MANY * CHUNK, 0, 0], grace_s=12.0, leader=0)
    liar.node.learn(which.members[0])
    given: list[asyncio.Task[None]] = []

    async def gives() -> None:
        for number in range(MANY):
            given.append(asyncio.create_task(give(liar, which, number)))
            await asyncio.sleep(4.0)  # the lie itself

    task = asyncio.create_task(gives())
    _, results = await honest_two(honest, which)
    assert len(given) < 6 and {each.peers for each in results} == {2}
    assert [each.late for each in results] == [{liar.node.peer}, frozenset()], "who waited for it blames it"
    task.cancel()
    await asyncio.gather(task, *given, return_exceptions=True)


async def outcome(peers: Sequence[Peer], which: Group, numbers: int) -> list[Collection[bytes]]:
    """Whom each of them blames, whether its round has a result or not."""
    async with asyncio.timeout(DEADLINE_S):
        tasks = [peer.rounds.average(which, sent, 1) for peer, sent in zip(peers, vectors(3, numbers), strict=False)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    blamed = list[Collection[bytes]]()
    for result in results:
        assert isinstance(result, Result | RoundVoid), result
        blamed.append(result.late if isinstance(result, Result) else result.spoilt_by)
    return blamed


async def test_a_leader_frames_nobody_by_its_verdict(
    start: Start,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It leaves one out that was there."""
    swarm = await start(3)
    which = group(swarm, [3 * CHUNK] * 3, grace_s=20.0, leader=2)

    def lie(*told: Any) -> Verdict:
        return msgspec.structs.replace(decide(*told), alive=(0, 2))

    monkeypatch.setattr(rounds, "decide", lie)  # which only the leader does
    [blamed, *_] = await outcome(swarm, which, 9 * CHUNK)
    assert not blamed


async def test_a_sender_frames_no_reducer(start: Start) -> None:  # noqa: F811
    """It gives its last chunks, each just in time, and not the first."""
    *honest, liar = await start(3)
    which = group([*honest, liar], [MANY * CHUNK, 0, 0], grace_s=8.0, leader=0)
    liar.node.learn(which.members[0])

    async def drips() -> None:
        for number in (-1, -2):
            await asyncio.sleep(3.0)  # the lie
            given.append(asyncio.create_task(give(liar, which, number)))

    given = list[asyncio.Task[None]]()
    task = asyncio.create_task(drips())
    assert await outcome(honest, which, MANY * CHUNK) == [{liar.node.peer}, frozenset()]
    task.cancel()
    await asyncio.gather(task, *given, return_exceptions=True)


async def test_a_reducer_frames_no_leader(start: Start) -> None:  # noqa: F811
    """It answers all at once but the leader, which it has wait."""
    lead, other, liar = swarm = await start(3)
    grace_s, count = 6.0, 0
    which, on = group(swarm, [3 * CHUNK, 3 * CHUNK, 6 * CHUNK], grace_s=grace_s, leader=0), liar.rounds._on_chunk

    async def slow(request: Chunk, payload: Payload, context: Context) -> Answer:
        nonlocal count
        answer = on(request, payload, context)
        if context.peer == lead.node.peer:
            count += 1
            await asyncio.sleep(0.7 * grace_s * count)  # the lie
        return await answer

    liar.node.register(of_run("trunk.chunk", RUN), Chunk, slow, max_payload=1 << 20)
    blamed = await outcome(swarm, which, 12 * CHUNK)
    assert other.node.bans.score(lead.node.peer, time.monotonic()) == 0.0
    assert lead.node.peer not in blamed[1]


async def test_a_reducer_that_answers_ever_again_just_in_time_is_late(
    start: Start,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swarm = await start(3)
    liar = swarm[-1]
    monkeypatch.setattr(ballot, "LEAST_RATE", 4 * MANY * CHUNK)
    grace_s, lock = 4.0, defaultdict[bytes, asyncio.Lock](asyncio.Lock)
    which, on = group(swarm, [CHUNK, CHUNK, MANY * CHUNK], grace_s=grace_s, leader=0), liar.rounds._on_chunk

    async def slow(request: Chunk, payload: Payload, context: Context) -> Answer:
        answer = on(request, payload, context)
        async with lock[context.peer]:
            await asyncio.sleep(0.6 * grace_s)  # the lie
        return await answer

    liar.node.register(of_run("trunk.chunk", RUN), Chunk, slow, max_payload=1 << 20)
    began = time.monotonic()
    blamed = await outcome(swarm, which, (MANY + 2) * CHUNK)
    assert blamed[:2] == [{liar.node.peer}] * 2
    assert time.monotonic() - began < 0.6 * grace_s * MANY / 2, "it had them wait for all its chunks"


@pytest.mark.parametrize("does", ["nothing", "all but reducing", "nothing, and tells nothing"])
async def test_who_comes_to_each_round_and_does_little_is_in_ever_fewer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    does: Literal["nothing", "all but reducing", "nothing, and tells nothing"],
) -> None:
    """In groups with two that do their part it fills no place either."""
    monkeypatch.setattr(dedloc, "FORMING_S", 2.0)
    monkeypatch.setattr(dedloc, "GRACE_S", 4.0)
    steps, met = 16, Counter[bool]()
    async with peers(3) as nodes:
        *honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(honest if "tells" in does else [*honest, liar])
        average, at = AllReduce.average, 0

        async def counted(self: AllReduce, which: Group, *given: Any, **also: Any) -> Result:
            if self is not liar.worker._rounds:
                met.update([liar.peer.id in {member.peer for member in which.members}])
            return await average(self, which, *given, **also)

        async def silence(request: Chunk, payload: Payload, context: Context) -> Averaged:
            await asyncio.Event().wait()
            raise AssertionError

        async def lies() -> None:
            await (liar.worker._standings.look() if "tells" in does else telling(liar, at))
            which = await liar.worker._meeting.group(at, 2.0, sends=does != "all but reducing")
            if which and does == "all but reducing":
                await liar.worker._rounds.average(which, None, 0)

        monkeypatch.setattr(AllReduce, "average", counted)
        liar.peer.rpc.register(of_run("trunk.chunk", DIGITS.run_id), Chunk, silence)
        for each in honest:
            each.worker._tending.start()
        async with meanwhile(lies), asyncio.timeout(600.0):
            for at in range(steps):
                for each in honest:
                    each.worker._note(Gathered(at, ROWS))
                await asyncio.gather(*(step(each, at) for each in honest))
        for each in honest:
            await each.worker._tending.stop()
    assert met[True] <= 2 * 6 and met[False] >= 2 * (steps - 6), met


async def step(trainer: Trainer, version: int) -> None:
    numbers = (torch.ones(NUMBERS) * (1 + version) + trainer.peer.id[0] / 256).numpy().tobytes()
    while True:  # as compute does
        with contextlib.suppress(NetworkError):
            await trainer.worker.agree(Offer(0, version, ROWS), numbers, 1e9)
            return
