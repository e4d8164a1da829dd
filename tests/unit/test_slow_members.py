"""Real peers on loopback: members of a round that do next to nothing are left out of it, and of those after it."""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from core.averaging.codecs import encode
from core.contracts.errors import NetworkError
from core.contracts.net import of_run
from core.contracts.trunk import Gathered, Offer
from core.contracts.trunk_rounds import CHUNK as CHUNKS
from core.contracts.trunk_rounds import Averaged, Chunk, Group
from core.identity import PeerId
from core.net.rpc import Context, Payload
from core.swarm.trunk import dedloc
from core.swarm.trunk import round as rounds
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.round import Result
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
    """One chunk of noughts to the first member; its mean is not waited for."""
    request = Chunk(which.key, 0, number, 1, 0.0)
    numbers = encode(np.zeros(CHUNK, np.float32), which.codec)
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
    task = asyncio.create_task(give(liar, which, MANY - 1))
    sent, results = await honest_two(honest, which)
    await task
    assert np.allclose(averaged(results)[:-CHUNK], mean(sent, [1, 1])[:-CHUNK], atol=1e-6)
    assert [each.late for each in results] == [{liar.node.peer}] * 2


async def test_who_gives_chunk_after_chunk_very_slowly_is_left_out(
    start: Start,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each comes just in time; all of them would take minutes."""
    *honest, liar = await start(3)
    monkeypatch.setattr(rounds, "LEAST_RATE", 4 * MANY * CHUNK)
    which = group([*honest, liar], [MANY * CHUNK, 0, 0], grace_s=12.0, leader=0)
    given: list[asyncio.Task[None]] = []

    async def gives() -> None:
        for number in range(MANY):
            given.append(asyncio.create_task(give(liar, which, number)))
            await asyncio.sleep(4.0)  # the lie itself

    task = asyncio.create_task(gives())
    _, results = await honest_two(honest, which)
    assert len(given) < 6 and {each.peers for each in results} == {2}
    assert [each.late for each in results] == [{liar.node.peer}] * 2
    task.cancel()
    await asyncio.gather(task, *given, return_exceptions=True)


@pytest.mark.parametrize("does", ["nothing", "all but reducing"])
async def test_who_comes_to_each_round_and_does_little_is_in_ever_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: Literal["nothing", "all but reducing"]
) -> None:
    """In groups with two that do their part it fills no place either."""
    monkeypatch.setattr(dedloc, "FORMING_S", 2.0)
    monkeypatch.setattr(dedloc, "GRACE_S", 4.0)
    steps, met = 16, Counter[bool]()
    async with peers(3) as nodes:
        *honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([*honest, liar])
        average, at = AllReduce.average, 0

        async def counted(self: AllReduce, which: Group, *given: Any, **also: Any) -> Result:
            if self is not liar.worker._rounds:
                met.update([liar.peer.id in {member.peer for member in which.members}])
            return await average(self, which, *given, **also)

        async def silence(request: Chunk, payload: Payload, context: Context) -> Averaged:
            await asyncio.Event().wait()
            raise AssertionError

        async def lies() -> None:
            await telling(liar, at)
            which = await liar.worker._meeting.group(at, 2.0, sends=does == "nothing")
            if which and does != "nothing":
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
