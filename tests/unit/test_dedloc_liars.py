"""DeDLOC: what a stranger gives, decides or gathers that cannot be ends no compute process and holds up no trainer."""

import asyncio
import contextlib
import math
import secrets
from collections import defaultdict
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
import torch

from core.averaging.digests import TrunkDigest
from core.contracts.errors import NetworkError, RemoteFault
from core.contracts.net import Payload, PeerAddress, of_run
from core.contracts.trunk import Agreed, Gathered, Offer
from core.contracts.trunk_rounds import PASSES, AskVector, Group, Vector, Verdict
from core.net.limits import Bans
from core.net.method import Context
from core.swarm.trunk.agreement import LIE
from core.swarm.trunk.ballot import Piece, Span, can_be
from core.swarm.trunk.matchmaking import Invitation, Wish
from core.swarm.trunk.past import Taken
from core.swarm.trunk.planning import wish_of
from core.swarm.trunk.vectors import PIECE_S
from tests.dht_peers import peers, until
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_dedloc_held_up import (
    FORMING_S,
    GRACE_S,
    meanwhile,
    short_rounds,  # noqa: F401 - fixture
    step,
    telling,
)
from tests.unit.test_dedloc_lines import MEAN, come_to, have_told
from tests.unit.test_dedloc_peers import DIGITS, NUMBERS, PATIENCE_S, ROWS, Trainer, all_known

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.timeout(900)]


@pytest.mark.parametrize(("number", "samples"), [(math.nan, ROWS), (3e38, ROWS), (1.0, 0), (1.0, 2**53)])
async def test_a_mean_that_no_round_gives_is_not_taken(tmp_path: Path, number: float, samples: int) -> None:
    async with peers(2) as nodes:
        honest, liar = [Trainer(node, tmp_path, defaultdict(set), delayed=False) for node in nodes]
        await all_known([honest, liar])
        mean = np.full(NUMBERS, number, np.float32).tobytes()
        liar.worker._past.take(0, Taken.by(Agreed(0, 1, samples, 2), mean, b""))

        def is_believed() -> bool:
            told = honest.worker._standings.trainers.get(liar.peer.id)
            return told is not None and bool(told.means)

        honest.worker._tending.start()
        async with meanwhile(lambda: telling(liar, 1)):
            await until(is_believed, "a lie")
            await honest.worker._tending.stop()
            await honest.begin()
            await until(lambda: honest.trunk.step or honest._work[0].done(), "a step", 60.0)
        await liar.worker._standings.leave()
        await until(lambda: honest.trunk.step >= 3 or honest._work[0].done(), "steps", 60.0)
        assert not honest._work[0].done() and honest.trunk.samples < 10**6
        await honest.end()


def test_who_lies_twice_within_some_seconds_is_banned() -> None:
    bans = Bans()
    assert not bans.strike(b"liar", LIE, 0.0) and bans.strike(b"liar", LIE, 10.0)


async def test_a_mean_that_compute_could_not_use_is_forgotten(tmp_path: Path) -> None:
    """It offers the same step again, which it does only then."""
    async with peers(1) as [node]:
        trainer = Trainer(node, tmp_path, defaultdict(set))
        for factor in (1.0, 2.0):
            numbers = torch.full((NUMBERS,), factor * ROWS).numpy().tobytes()
            _, mean = await trainer.worker.agree(Offer(0, 0, ROWS), numbers, 1e9)
            assert mean == np.full(NUMBERS, factor, np.float32).tobytes()


def test_a_verdict_that_no_leader_can_have_decided_is_none() -> None:
    pieces = [Piece(0, Span(0, 5)), Piece(1, Span(5, 9))]

    def verdict(
        digests: tuple[bytes, ...], lost: tuple[int, ...], alive: tuple[int, ...] = (0, 1), attempt: int = 0
    ) -> Verdict:
        return Verdict(bytes(32), attempt, False, alive, lost, digests)

    for good in (verdict((b"a", b"b"), ()), verdict((b"a", b""), (1,)), Verdict(bytes(32), 0, True, (), (), ())):
        assert can_be(good, pieces, (0, 1))
    for bad in (
        verdict((b"a", b"b", b"c"), ()),
        verdict((), (63,)),
        verdict((b"a", b"b"), (1,)),
        verdict((b"a", b""), ()),
        verdict((b"a", b"b"), (), alive=(0, 63)),
        verdict((b"a", b""), (1,), attempt=PASSES - 1),
    ):
        assert not can_be(bad, pieces, (0, 1))


Lie = Literal["late and nothing", "late and a fault", "late and a group of no use", "elsewhere"]


@pytest.mark.parametrize("lie", get_args(Lie))
async def test_who_gathers_nobody_holds_up_no_step(tmp_path: Path, lie: Lie) -> None:
    async with peers(3) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(swarm)
        matchmaking = swarm[0].worker._matchmaking
        liar, *honest = sorted(swarm, key=lambda one: matchmaking._rank(0, one.peer.id))
        mine = await wish_of(liar.peer.rpc, 0, NUMBERS, 3, sends=True)

        async def join(theirs: Wish, payload: Payload, context: Context) -> Invitation:
            if lie.startswith("late"):
                await asyncio.sleep(FORMING_S + 4.0)
                if lie == "late and a fault":
                    raise RemoteFault("no_round", "Not now.")
                of_no_use = Group(bytes(32), (mine.address, theirs.address), (True, True), (1, 1), "fp16", GRACE_S)
                return Invitation(None if lie == "late and nothing" else of_no_use)
            nobody = min((secrets.token_bytes(32) for _ in range(64)), key=lambda peer: matchmaking._rank(0, peer))
            return Invitation(None, PeerAddress(nobody, ("127.0.0.1:9",)))

        liar.peer.rpc.register(of_run("trunk.join", DIGITS.run_id), Wish, join)

        async def lies() -> None:
            for each in honest:  # they show life, as compute does
                each.worker._note(Gathered(0, ROWS))
            await telling(liar)
            await liar.worker._matchmaking._publish(f"{DIGITS.run_id}.round.0", mine, 60.0)

        for each in honest:
            each.worker._tending.start()
        async with meanwhile(lies), asyncio.timeout(85.0):
            agreed = await asyncio.gather(*map(step, honest))
        for each in honest:
            await each.worker._tending.stop()
    assert {each.version for each in agreed} == {1}


async def test_who_did_not_give_a_mean_is_asked_for_it_after_the_others(tmp_path: Path) -> None:
    """Else it would take up all the time that there is for it, each time."""
    async with peers(3) as nodes:
        late, liar, honest = swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        late.worker._note(Gathered(0, 0))
        for each in (liar, honest):
            come_to(each, 1, MEAN, bytes(12 * NUMBERS))
        await have_told(swarm)
        asked = asyncio.Event()

        async def give(request: AskVector, payload: Payload, context: Context) -> tuple[Vector, Payload]:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        liar.peer.rpc.register(of_run("trunk.vector", DIGITS.run_id), AskVector, give)
        standings, others = late.worker._standings, late.worker._others
        standings.trainers = {each.peer.id: standings.trainers[each.peer.id] for each in (liar, honest)}
        first = asyncio.create_task(others.mean(0))
        await asked.wait()
        first.cancel()
        await asyncio.wait([first])
        async with asyncio.timeout(PIECE_S / 2):
            found = await others.mean(0)
    assert found is not None and found.mean == MEAN


async def test_a_trunk_of_an_older_step_than_was_named_is_not_taken(tmp_path: Path) -> None:
    own = np.full(3 * NUMBERS, 0.5, np.float32).tobytes()
    async with peers(2) as nodes:
        honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        come_to(honest, 5, MEAN, own)
        digest = TrunkDigest(0, 0)
        digest.add(own)

        async def give(request: AskVector, payload: Payload, context: Context) -> tuple[Vector, Payload]:
            return Vector(0, 0, 0, len(own)), own

        liar.peer.rpc.register(of_run("trunk.vector", DIGITS.run_id), AskVector, give)

        async def lies() -> None:
            liar.worker._settled = True
            liar.worker._note(Gathered(9, 1))
            liar.worker._past.trunks.update({0: digest.value, 9: b"none"})
            await telling(liar, 9)

        def is_believed() -> bool:
            return any(len(told.trunks) == 2 for told in honest.worker._standings.trainers.values())

        honest.worker._tending.start()
        agreed = None
        async with meanwhile(lies), asyncio.timeout(60.0):
            await until(is_believed, "a lie")
            while agreed is None:
                with contextlib.suppress(NetworkError):
                    agreed, _ = await honest.worker.agree(Offer(0, 5, ROWS), MEAN, 1e9)
        await honest.worker._tending.stop()
    assert agreed.version == 6


async def test_a_newcomer_gets_the_trunk_though_a_stranger_says_that_it_is_settled(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        newcomer, honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        come_to(honest, 3, MEAN, bytes(12 * NUMBERS))

        async def lies() -> None:
            honest.worker._note(Gathered(3, ROWS))
            liar.worker._settled = True
            await telling(liar, 3)

        for each in (newcomer, honest):
            each.worker._tending.start()
        agreed = None
        async with meanwhile(lies), asyncio.timeout(60.0):
            await until(lambda: len(newcomer.worker._standings.trainers) == 2, "both are known", PATIENCE_S)
            while agreed is None:
                with contextlib.suppress(NetworkError):
                    agreed, _ = await newcomer.worker.agree(Offer(0, 0, ROWS), MEAN, 1e9)
        for each in (newcomer, honest):
            await each.worker._tending.stop()
    assert agreed.version == 3
