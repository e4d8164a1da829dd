"""Real peers on loopback, in this process, take the steps of one trunk together; one goes, one comes late."""

import asyncio
import contextlib
import hashlib
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import torch

from core.averaging.digests import TrunkDigest
from core.averaging.mean import BELIEVED
from core.averaging.plan import Member, plan
from core.contracts import manifest as manifests
from core.contracts.errors import CallTimeout, ComputeError, NetworkError, ProtocolError
from core.contracts.kinds import MODELS
from core.contracts.notices import notice
from core.contracts.pipe import ENOUGH, GIVE_TRUNK
from core.contracts.taking_on import Reach, Verdict
from core.contracts.trunk import Agreed, Dedloc, Gathered, Offer, Reached
from core.contracts.trunk_rounds import MEANS, Group, Standing, Vector
from core.contracts.trunk_status import GiverStatus, ProgressStatus
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.identity import PeerId, peer_text
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.members import Members
from core.swarm.trunk import dedloc
from core.swarm.trunk.catching_up import REST_S
from core.swarm.trunk.dedloc import AGREEMENT, DeDLOC
from core.swarm.trunk.past import Taken
from core.swarm.trunk.planning import PLENTY
from core.swarm.trunk.standings import MAKES_UP
from core.swarm.trunk.vectors import Whole
from core.training.models.network import build
from core.training.trunk.dedloc import STRATEGY
from tests.dht_peers import Peer, peers, until
from tests.joined_calls import join
from tests.trusting import trust
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture

pytestmark = pytest.mark.usefixtures("one_thread")
ROWS, BATCHES = 8, 6
BATCH_S = 0.05
"""That a batch takes."""
PATIENCE_S = 240.0
DIGITS = manifests.load("digits")
ENDS = DIGITS.ends
NUMBERS = MODELS[DIGITS.model.kind].numbers(DIGITS.model, ENDS)
Bits = defaultdict[int, set[str]]
"""Of the trunks that were seen, by step."""


class Trainer:
    """Compute and the worker's part in the agreement, at one peer."""

    def __init__(self, peer: Peer, folder: Path, bits: Bits, *, delayed: bool = True) -> None:
        self.factor = 1.0
        self.peer, self._bits = peer, bits
        self._slant = 1.0 + peer.id[0] / 256  # of who has much more than all others nothing is believed
        training = msgspec.structs.replace(DIGITS.training, batch=ROWS)
        rules = cast(Any, Dedloc(ROWS * BATCHES, delayed=delayed))
        run = msgspec.structs.replace(DIGITS, training=training, trunk=rules)
        directory = DHTDirectory(peer.dht, peer.rpc, Grid(run.run, 1, (2, 2)), run.run_id)
        self.worker: DeDLOC = AGREEMENT(run, Members(peer.rpc, peer.dht, directory), folder)
        calls, compute = Calls(), Calls()
        self.worker.serve(calls)
        join(calls, compute)
        trust(compute)
        self.compute = compute
        self.trunk = STRATEGY(build(run, ENDS), run, compute)
        self._work: list[asyncio.Task[None]] = []

    async def begin(self, *, trains: bool = True) -> None:
        await self.worker.__aenter__()
        self._work = [asyncio.create_task(self.trunk.agree(self._kernel))]
        if trains:
            self.train()

    def train(self) -> None:
        self._work.append(asyncio.create_task(self._train()))

    async def end(self) -> None:
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self.worker._tending.stop()
        await self.worker._helping.stop()

    async def _kernel(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        result = kernel(*arguments)
        self._bits[self.trunk.step].add(self.digest)
        return result

    @property
    def digest(self) -> str:
        state = self.trunk.state()
        parts = [state[name].contiguous().numpy().tobytes() for name in sorted(state) if name != "batches"]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    async def _train(self) -> None:
        while True:
            number = await self.trunk.next_batch()
            await asyncio.sleep(BATCH_S)
            noise = torch.randn(NUMBERS, generator=torch.Generator().manual_seed(number))
            self.trunk.contribute(number, self.factor * (noise + self._slant), ROWS)


async def zeros(trainer: Trainer, nothing: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
    agreed, _ = await trainer.trunk._give(nothing, payload, call)
    return agreed, [bytes(4 * NUMBERS)] * 3


async def judged(trainer: Trainer) -> None:
    """Until it looks for no lie any more."""
    await until(
        lambda: all(task.get_name() != "looking for a lie" for task in trainer.peer.rpc._tasks), "a verdict", PATIENCE_S
    )


async def all_known(trainers: list[Trainer]) -> None:
    """Each has told something, and has read what the others told."""
    for trainer in trainers:
        trainer.worker._note(Gathered(0, 0))

    async def known() -> bool:
        for trainer in trainers:
            await trainer.worker._tend()
        return all(len(trainer.worker._standings.trainers) == len(trainers) - 1 for trainer in trainers)

    await until(known, "trainers that know each other", PATIENCE_S)


async def test_what_a_trainer_gathers_is_known_to_the_others_before_they_look(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        trainers = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)  # and from now on nobody looks
        for trainer in trainers:
            trainer.worker._note(Gathered(0, 2 * ROWS))
        steps = list[int]()
        trainers[0].compute.listen(ENOUGH, steps.append)
        together = [partial(trainer.worker._together, Gathered(0, 2 * ROWS)) for trainer in trainers]
        await until(lambda: all(count() == ROWS * BATCHES for count in together), "a batch of all", PATIENCE_S)
        await until(lambda: 0 in steps, "word that it is enough", PATIENCE_S)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("delayed", [True, False])
async def test_trunks_have_the_same_bits_after_each_step_and_go_on_when_a_trainer_dies(
    tmp_path: Path, delayed: bool
) -> None:
    bits: Bits = defaultdict(set)
    async with peers(3) as nodes:
        trainers = [Trainer(node, tmp_path, bits, delayed=delayed) for node in nodes]
        await all_known(trainers)
        for trainer in trainers:
            await trainer.begin()
        await until(lambda: all(trainer.trunk.step >= 3 for trainer in trainers), "three steps", PATIENCE_S)
        *left, dying = trainers
        await dying.end()
        dying.peer.rpc.pool.close("it dies")
        goal = max(trainer.trunk.step for trainer in trainers) + 2
        await until(lambda: all(trainer.trunk.step >= goal for trainer in left), "steps without it", PATIENCE_S)
        assert all(len(same) == 1 for same in bits.values()), "trunks of one step differ"
        assert len({trainer.trunk.samples for trainer in left if trainer.trunk.step == goal}) <= 1
        for trainer in left:
            await trainer.end()
        assert left[0].worker.who()[0]
        left[0].worker._note(Gathered(0, 0))
        assert left[0].worker.who() == ([], []), (
            "compute runs again, from an older checkpoint: it has agreed on nothing"
        )


@pytest.mark.timeout(900)
async def test_who_missed_a_round_gets_its_mean_and_who_missed_more_is_told_so(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        first, second, late = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([first, second])

        async def step(version: int) -> None:
            numbers = torch.full((NUMBERS,), version + 1.0).numpy().tobytes()
            for each in (first, second):
                each.worker._note(Gathered(version, 0))
            for each in (first, second):
                await each.worker._tend()
            async with asyncio.timeout(PATIENCE_S):
                one, two = await asyncio.gather(
                    *(each.worker.agree(Offer(0, version, ROWS), numbers, 1e9) for each in (first, second))
                )
            assert one == two and one[0].version == version + 1 and one[0].peers == 2

            async def named() -> bool:
                for each in (first, second):
                    await each.worker._tend()
                await late.worker._standings.look()
                return [version in dict(each.means) for each in late.worker._standings.trainers.values()] == [True] * 2

            await until(named, "a mean that is named", PATIENCE_S)

        await step(0)
        numbers = torch.ones(NUMBERS).numpy().tobytes()
        names = sorted(peer_text(each.peer.id) for each in (first, second))
        for each in (first, second):
            givers, reducers = each.worker.who()
            assert sorted(givers, key=lambda giver: giver.peer) == [GiverStatus(name, ROWS, 1.0) for name in names]
            assert {one.peer: round(one.share, 2) for one in reducers} == dict.fromkeys(names, 0.5)
            assert each.worker.waits() is None
        first.worker._note(Gathered(1, ROWS))
        assert first.worker.progress(0) == ProgressStatus(ROWS, ROWS * BATCHES, "samples")
        first.worker._note(Gathered(1, ROWS * BATCHES))
        assert first.worker.waits() == notice("trunk.waits_round", n=1)
        agreed, mean = await late.worker.agree(Offer(0, 0, ROWS), numbers, 1e9)
        assert agreed == Agreed(0, 1, 2 * ROWS, 2, counted=False)
        assert mean == first.worker._past.means[0].mean
        assert late.worker.who() == ([], []), "it did not see who took part"
        for version in (1, 2, 3):
            await step(version)
        with pytest.raises(ProtocolError):
            await late.worker.agree(Offer(0, 4, ROWS), numbers[:-4], 1e9)

        # a mean that is not the one that was named is not taken
        await late.worker._standings.look()
        for liar in (first, second):
            taken = liar.worker._past.means[3]
            liar.worker._past.means[3] = taken._replace(mean=bytes(len(taken.mean)))
            liar.worker._tending.start()
        assert await late.worker._others.mean(3) is None
        await judged(late)
        assert all(late.peer.rpc.bans.score(liar.peer.id, time.monotonic()) > 4.0 for liar in (first, second))
        for liar in (first, second):
            await liar.worker._tending.stop()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("lie", [False, True])
async def test_who_has_come_to_a_version_by_other_steps_is_not_blamed_as_a_liar_is(tmp_path: Path, lie: bool) -> None:
    async with peers(3) as nodes:
        *givers, asker = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]

        def come_to(trainer: Trainer, trunk: bytes, *, name: bool) -> None:
            """At version 1, as compute tells it."""

            async def give(nothing: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
                return Agreed(0, 1, ROWS, 0), trunk

            trainer.compute.register_carrier(GIVE_TRUNK, give)
            digest = TrunkDigest(1, ROWS)
            digest.add(trunk)
            if name:
                trainer.worker._reached(Reached(1, digest.value))
            else:
                trainer.worker._vectors.forget(1)

        before, after = bytes(12 * NUMBERS), bytes([1]) * 12 * NUMBERS
        for giver in givers:
            giver.worker._note(Gathered(1, 0))
            come_to(giver, before, name=True)
            giver.worker._tending.start()

        async def is_named() -> bool:
            await asker.worker._standings.look()
            return [len(each.trunks) for each in asker.worker._standings.trainers.values()] == [1] * 2

        await until(is_named, "trunks that are named", PATIENCE_S)
        assert (await asker.worker._others.trunk()).data == before
        for giver in givers:
            come_to(giver, after, name=not lie)
        with pytest.raises(CallTimeout):  # what it read of them is old
            await asker.worker._others.trunk()
        await judged(asker)
        scores = [asker.peer.rpc.bans.score(giver.peer.id, time.monotonic()) for giver in givers]
        if lie:
            assert all(score > 4.0 for score in scores)
        else:
            assert scores == [0.0, 0.0]
            assert (await asker.worker._others.trunk()).data == after
        for giver in givers:
            await giver.worker._tending.stop()


@pytest.mark.timeout(900)
async def test_what_one_alone_names_as_the_mean_of_a_step_is_not_taken(tmp_path: Path) -> None:
    async with peers(4) as nodes:
        *honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([*honest, liar])
        false = torch.full((NUMBERS,), 1e3).numpy().tobytes()
        liar.worker._past.take(0, Taken.by(Agreed(0, 1, 4 * ROWS, 4), false, b""))
        await liar.worker._tend()
        numbers = torch.ones(NUMBERS).mul(ROWS).numpy().tobytes()

        async def is_told() -> bool:
            await honest[0].worker._standings.look()
            return bool(honest[0].worker._standings.trainers[liar.peer.id].means)

        await until(is_told, "the lie to spread", PATIENCE_S)

        async def step(trainer: Trainer) -> tuple[Agreed, Payload]:
            while True:  # as compute does
                with contextlib.suppress(NetworkError):
                    return await trainer.worker.agree(Offer(0, 0, ROWS), numbers, 1e9)

        async with asyncio.timeout(PATIENCE_S):
            steps = await asyncio.gather(*map(step, honest))
    for agreed, mean in steps:
        assert mean == torch.ones(NUMBERS).numpy().tobytes()
        assert (agreed.version, agreed.samples) == (1, ROWS * agreed.peers)


@pytest.mark.timeout(900)
async def test_who_comes_while_others_wait_counts_as_one_who_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedloc, "FORMING_S", PATIENCE_S)  # the group is full sooner
    numbers = torch.ones(NUMBERS).numpy().tobytes()
    async with peers(3) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        first, frozen, newcomer = sorted(swarm, key=lambda one: one.worker._matchmaking._rank(0, one.peer.id))
        await all_known([first, frozen])
        first.worker._tending.start()
        waits = asyncio.create_task(first.worker.agree(Offer(0, 0, ROWS), numbers, 1e9))
        await until(lambda: first.worker._matchmaking._wish, "one that waits", PATIENCE_S)
        newcomer.worker._note(Gathered(0, 0))

        async def is_known() -> bool:
            await newcomer.worker._tend()
            known = first.worker._standings.trainers, newcomer.worker._standings.trainers
            return newcomer.peer.id in known[0] and first.peer.id in known[1]

        await until(is_known, "a newcomer that is known", PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            agreed = [await newcomer.worker.agree(Offer(0, 0, ROWS), numbers, 1e9), await waits]
        await first.worker._tending.stop()
    assert [(each.version, each.peers) for each, _ in agreed] == [(1, 2)] * 2


@pytest.mark.timeout(900)
async def test_who_is_frozen_holds_up_one_round_and_is_waited_for_again_when_it_is_back(tmp_path: Path) -> None:
    numbers = torch.ones(NUMBERS).numpy().tobytes()
    async with peers(3) as nodes:
        *swarm, frozen = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([*swarm, frozen])

        async def round_of(trainer: Trainer) -> Agreed:
            while True:  # as compute does
                with contextlib.suppress(NetworkError):
                    return (await trainer.worker.agree(Offer(0, 0, ROWS), numbers, 1e9))[0]

        for trainer in swarm:
            trainer.worker._tending.start()
        async with asyncio.timeout(PATIENCE_S):
            agreed = await asyncio.gather(*map(round_of, swarm))
        assert {(each.version, each.samples, each.peers) for each in agreed} == {(1, 2 * ROWS, 2)}
        for trainer in swarm:
            assert frozen.peer.id not in trainer.worker._standings.near(0)
            await trainer.worker._standings.look()
            assert frozen.peer.id not in trainer.worker._standings.near(0), "what it told before was read again"

        async def is_waited_for() -> bool:
            await frozen.worker._tend()
            return all(frozen.peer.id in trainer.worker._standings.near(0) for trainer in swarm)

        frozen.worker._note(Gathered(0, ROWS))
        await until(is_waited_for, "one who is back and is waited for", PATIENCE_S)
        for trainer in swarm:
            await trainer.worker._tending.stop()


async def test_one_that_tells_of_each_step_and_never_comes_is_waited_for_ever_more_seldom(tmp_path: Path) -> None:
    async with peers(2) as nodes:
        honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([honest, liar])
        standings, waited = honest.worker._standings, list[int]()

        async def told(step: int) -> None:
            async def is_heard() -> bool:
                await liar.worker._tend()
                await honest.worker._tend()
                return standings.trainers[liar.peer.id].version == step

            liar.worker._note(Gathered(step, ROWS))
            await until(is_heard, "what it tells", PATIENCE_S)

        for step in range(12):
            await told(step)
            absent = standings.near(step) & {liar.peer.id}
            waited += [step] if absent else []
            standings.met(step, (), absent)
        assert waited == [0, 1, 3, 7]
        for step in range(12, 12 + 4 * MAKES_UP):
            standings.met(step, [liar.peer.id], ())
        for step in (100, 101):
            await told(step)
            assert standings.near(step) == {liar.peer.id}, "it has come often enough to miss one again"
            standings.met(step, (), [liar.peer.id] if step == 100 else ())


async def test_one_that_comes_to_every_second_step_is_waited_for_ever_more_seldom(tmp_path: Path) -> None:
    """And is in the group whenever it comes. So is one that does nothing in the rounds which it leads."""
    async with peers(1) as [node]:
        standings, liar = Trainer(node, tmp_path, defaultdict(set)).worker._standings, PeerId(bytes(32))
        standings.trainers, standings._sequences = {liar: Standing(0, 0, 0)}, {liar: 1}
        waited, let_in = list[int](), list[int]()
        for step in range(0, 80, 2):
            standings._absent.clear()  # it tells something new each time
            if standings.rests(liar, step):
                continue
            waited.append(step)
            standings.met(step, (), [liar])
            standings.met(step + 1, [liar])
        for step in range(100, 180, 2):
            if standings.is_idle(liar, step):
                continue
            let_in.append(step)
            standings.met(step, [liar], idle=[liar])
            standings.met(step + 1, [liar])
    assert len(waited) <= 8 and len(let_in) <= 8


@pytest.mark.timeout(900)
async def test_who_says_that_it_has_all_samples_of_a_step_makes_none_come_early(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "core.swarm.trunk")
    async with peers(4) as nodes:
        *honest, liar = trainers = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)
        for trainer in honest:
            trainer.worker._note(Gathered(0, ROWS // 4))
        liar.worker._note(Gathered(0, 10**9))

        async def told() -> bool:
            for trainer in trainers:
                await trainer.worker._tend()
            return all(trainer.worker._together(Gathered(0, ROWS // 4)) >= 7 * ROWS // 4 for trainer in honest)

        await until(told, "what all tell", PATIENCE_S)
        for trainer in honest:
            assert trainer.worker._together(Gathered(0, ROWS // 4)) == (3 + BELIEVED) * ROWS // 4
            assert not trainer.worker._enough
        named = f"Peer {liar.peer.id.hex()[:8]} says that it has {10**9} samples for step 0"
        assert caplog.text.count(named) == len(honest), "each names it, once"


@pytest.mark.timeout(900)
async def test_a_peer_without_a_trainer_helps_to_reduce(tmp_path: Path) -> None:
    bits: Bits = defaultdict(set)
    async with peers(3) as nodes:
        first, second, backbone = [Trainer(node, tmp_path, bits) for node in nodes]
        await all_known([first, second])
        await backbone.worker.__aenter__()
        for trainer in (first, second):
            await trainer.begin()
        await until(lambda: len(backbone.worker._rounds._used) >= 4, "two rounds with its help", PATIENCE_S)
        for trainer in (first, second, backbone):
            await trainer.end()
    assert all(len(same) == 1 for same in bits.values()), "trunks of one step differ"


@pytest.mark.timeout(900)
async def test_who_helped_with_a_step_that_is_far_ahead_helps_with_those_before_it_as_well(tmp_path: Path) -> None:
    """As where the trainers go on from an older checkpoint, or two liars have made that step up."""
    async with peers(3) as nodes:
        *trainers, backbone = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)
        await backbone.worker.__aenter__()
        for each in trainers:
            each.worker._tending.start()
        for step in (10**9, 3):
            for each in trainers:
                each.worker._past.forget_steps()
                each.worker._enough = step + 1
                each.worker._note(Gathered(step, ROWS))
            await until(
                partial(lambda at: all(backbone.peer.id in each.worker._standings.near(at) for each in trainers), step),
                "a helper that is waited for",
                PATIENCE_S,
            )
            numbers = torch.full((NUMBERS,), 1.0 + step).numpy().tobytes()
            await asyncio.gather(*(stepped(each, step, numbers) for each in trainers))
            await until(partial(lambda at: backbone.worker._helped == at, step), "its help", PATIENCE_S)
        for each in trainers:
            await each.worker._tending.stop()
        await backbone.end()


@pytest.mark.timeout(900)
async def test_while_rounds_fail_it_is_said_that_they_do_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedloc, "FORMING_S", 0.5)
    numbers = torch.ones(NUMBERS).numpy().tobytes()
    async with peers(2) as nodes:
        first, absent = [Trainer(node, tmp_path, defaultdict(set), delayed=False) for node in nodes]
        await all_known([first, absent])
        first.worker._note(Gathered(1, 0))  # nothing is gathered for the next step while an offer is on its way
        for failed in (1, 2):
            offered = asyncio.create_task(first.worker.agree(Offer(0, 0, ROWS), numbers, 1e9))
            await until(first.worker.waits, "an offer", PATIENCE_S)
            if failed == 1:
                assert first.worker.waits() == notice("trunk.waits_round", n=1)
            with pytest.raises(CallTimeout):
                await offered
            why = notice("trunk.too_few", n=2, step=0)
            assert first.worker.waits() == notice("trunk.waits_again", n=failed, why=why)
        monkeypatch.setattr(dedloc, "FORMING_S", PATIENCE_S)  # the group is full sooner
        async with asyncio.timeout(PATIENCE_S):
            offers = [one.worker.agree(Offer(0, 0, ROWS), numbers, 1e9) for one in (first, absent)]
            agreed = await asyncio.gather(*offers)
        assert [each.peers for each, _ in agreed] == [2, 2] and first.worker.waits() is None
        assert first.worker.reduced + absent.worker.reduced == 2 * NUMBERS, "of each the half that the other has, fp16"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("factor", [100.0, -20.0])
async def test_a_bad_trainer_of_several_is_named_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, factor: float
) -> None:
    caplog.set_level("INFO", "core.swarm.trunk")
    bits: Bits = defaultdict(set)
    async with peers(4) as nodes:
        *honest, bad = swarm = [Trainer(node, tmp_path, bits) for node in nodes]
        for trainer in swarm:
            trainer._slant = 5.0
        bad.factor = factor
        await all_known(swarm)
        for trainer in swarm:
            await trainer.begin()
        told = f"peer {bad.peer.id.hex()[:8]} is {'left out of' if factor > 30 else 'clipped in'} a round"
        await until(lambda: told in caplog.text, "a bad trainer that is named", PATIENCE_S)
        goal = max(trainer.trunk.step for trainer in honest) + 2
        await until(lambda: all(trainer.trunk.step >= goal for trainer in honest), "steps of the others", PATIENCE_S)
        for trainer in swarm:
            await trainer.end()
    refused = (f"peer {trainer.peer.id.hex()[:8]} is left out" for trainer in honest)
    assert not any(told in caplog.text for told in refused), "an honest one is refused"


@pytest.mark.timeout(900)
async def test_who_has_summed_up_what_nobody_would_take_goes_on_without_it(tmp_path: Path) -> None:
    """As a hostile host of an expert can have it do."""
    async with peers(2) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        swarm[0].factor = 1e20
        await all_known(swarm)
        offered = list[Offer]()
        agree = swarm[0].worker._agree

        async def note(offer: Offer, payload: bytes) -> tuple[Agreed, Payload]:
            offered.append(offer)
            swarm[0].factor = 1.0
            return await agree(offer, payload)

        swarm[0].worker._agree = note  # type: ignore[method-assign]
        for trainer in swarm:
            await trainer.begin()
        await until(
            lambda: all(trainer.trunk.step >= 3 or trainer._work[0].done() for trainer in swarm), "steps", PATIENCE_S
        )
        assert offered and not any(trainer._work[0].done() for trainer in swarm)
        for trainer in swarm:
            await trainer.end()


@pytest.mark.timeout(900)
async def test_who_has_nothing_to_give_gets_the_mean_also_if_only_one_gave(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(swarm)
        gives, gets, _ = swarm  # the third one does not come, and names nothing
        for trainer in swarm:
            trainer.worker._tending.start()
        numbers = torch.full((NUMBERS,), ROWS * 3.0).numpy().tobytes()
        async with asyncio.timeout(PATIENCE_S):
            gave, got = await asyncio.gather(
                gives.worker.agree(Offer(0, 0, ROWS), numbers, 1e9), gets.worker.agree(Offer(0, 0, 0), b"", 1e9)
            )
        for trainer in swarm:
            await trainer.worker._tending.stop()
    assert gave == (Agreed(0, 1, ROWS, 1), torch.full((NUMBERS,), 3.0).numpy().tobytes())
    assert got == (msgspec.structs.replace(gave[0], counted=False), gave[1])


@pytest.mark.timeout(900)
async def test_who_has_nothing_to_give_gets_the_mean(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(swarm)
        for trainer in swarm:
            trainer.worker._tending.start()
        numbers = [torch.full((NUMBERS,), number).numpy().tobytes() for number in (ROWS * 1.0, ROWS * 3.0)]
        offers = [(Offer(0, 0, ROWS), numbers[0]), (Offer(0, 0, ROWS), numbers[1]), (Offer(0, 0, 0), b"")]
        async with asyncio.timeout(PATIENCE_S):
            *gave, got = await asyncio.gather(
                *(trainer.worker.agree(*offer, 1e9) for trainer, offer in zip(swarm, offers, strict=True))
            )
        for trainer in swarm:
            await trainer.worker._tending.stop()
    assert gave[0] == gave[1] == (Agreed(0, 1, 2 * ROWS, 2), torch.full((NUMBERS,), 2.0).numpy().tobytes())
    assert got == (msgspec.structs.replace(gave[0][0], counted=False), gave[0][1])


@pytest.mark.timeout(900)
async def test_three_with_different_lines_reduce_what_the_plan_says_and_have_the_exact_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedloc, "FORMING_S", PATIENCE_S)  # the group is full sooner
    number = torch.arange(NUMBERS) % 512.0
    async with peers(3) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        for place, node in enumerate(nodes):
            node.rpc.limit(1e6 * 4**place, 1e6 * 4**place)
        await all_known(swarm)
        offered = [(ROWS * (number + place)).numpy().tobytes() for place in range(3)]
        async with asyncio.timeout(PATIENCE_S):
            agreed = await asyncio.gather(
                *(
                    trainer.worker.agree(Offer(0, 0, ROWS), payload, 1e9)
                    for trainer, payload in zip(swarm, offered, strict=True)
                )
            )
        [group] = {
            msgspec.msgpack.encode(round_.group)
            for trainer in swarm
            for round_ in trainer.worker._rounds._rounds.values()
        }
    assert agreed == [(Agreed(0, 1, 3 * ROWS, 3), (number + 1.0).numpy().tobytes())] * 3
    members = [Member(node.id, 1.0, int(1e6 * 4**place), int(1e6 * 4**place)) for place, node in enumerate(nodes)]
    made = plan(members, {}, NUMBERS, PLENTY)
    met = msgspec.msgpack.decode(group, type=Group)
    assert made is not None
    shares = dict(zip(made.members, made.cut(NUMBERS), strict=True))
    assert met.shares == tuple(shares[member.peer] for member in met.members)
    assert max(met.shares) - min(met.shares) > 1


@pytest.mark.timeout(900)
async def test_who_was_away_for_long_or_comes_late_goes_on_with_trunk_and_optimizer_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "core.swarm.trunk")
    bits: Bits = defaultdict(set)
    async with peers(4) as nodes:
        *swarm, newcomer = [Trainer(node, tmp_path, bits) for node in nodes]
        await all_known(swarm)
        for trainer in swarm:
            await trainer.begin()

        async def all_pass(steps: int, trainers: list[Trainer]) -> None:
            goal = steps + max(trainer.trunk.step for trainer in trainers)
            await until(lambda: all(trainer.trunk.step >= goal for trainer in trainers), "steps", PATIENCE_S)

        await all_pass(2, swarm)
        *others, away = swarm
        await away.worker._tending.stop()
        async with away.worker._asking:  # in the middle of its life, it hears nothing for a while
            await all_pass(MEANS + 2, others)
            behind = away.trunk.step
        away.worker._tending.start()
        await all_pass(1, swarm)
        assert behind + MEANS < others[0].trunk.step and "gave the trunk" in caplog.text
        assert away.worker._settled

        # another trunk than the one that is named is not taken
        async with contextlib.AsyncExitStack() as stack:
            for trainer in swarm:  # and nobody else asks for one
                await stack.enter_async_context(trainer.worker._asking)
                trainer.compute.register_carrier(GIVE_TRUNK, partial(zeros, trainer))

            async def is_blamed() -> bool:
                newcomer.worker._standings._out.clear()
                await newcomer.worker._standings.look()
                with pytest.raises(CallTimeout):
                    await newcomer.worker._others.trunk()
                await judged(newcomer)
                return any(newcomer.peer.rpc.bans.score(trainer.peer.id, time.monotonic()) > 4.0 for trainer in swarm)

            await until(is_blamed, "a lie that is found out", PATIENCE_S)
            for trainer in swarm:
                trainer.compute.register_carrier(GIVE_TRUNK, trainer.trunk._give)
                trainer.worker._vectors.forget(0)
        newcomer.worker._standings._out.clear()

        await newcomer.begin()
        await all_pass(2, [newcomer, *others])
        for trainer in (*swarm, newcomer):
            await trainer.end()
        assert all(len(same) == 1 for step, same in bits.items() if step), "trunks of one step differ"


def digest_of(version: int) -> bytes:
    """Of a trunk that is full of its own number."""
    digest = TrunkDigest(version, ROWS)
    digest.add(bytes([version]) * 12 * NUMBERS)
    return digest.value


async def stepped(trainer: Trainer, version: int, numbers: bytes) -> Agreed:
    """It offers as often as compute does."""
    while True:
        with contextlib.suppress(NetworkError):
            return (await trainer.worker.agree(Offer(0, version, ROWS), numbers, 1e9))[0]


async def test_who_gives_a_trunk_of_no_use_counts_no_more_and_training_goes_on(tmp_path: Path) -> None:
    async with peers(2) as nodes:
        liar, honest = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]

        async def give(nothing: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
            return Agreed(0, 9, ROWS, 0), bytes([9]) * 12 * NUMBERS

        liar.compute.register_carrier(GIVE_TRUNK, give)
        liar.worker._note(Gathered(9, 0))
        liar.worker._settled = True
        liar.worker._reached(Reached(9, digest_of(9)))
        liar.worker._tending.start()
        trust(honest.compute, lambda asked: ["good", "worse"] if asked.moments else [])
        honest.worker._note(Gathered(5, ROWS))
        honest.worker._settled = True
        honest.worker._reached(Reached(5, digest_of(5)))
        numbers = torch.ones(NUMBERS).numpy().tobytes()

        async def is_named() -> bool:
            await honest.worker._standings.look()
            return any(9 in dict(each.trunks) for each in honest.worker._standings.trainers.values())

        await until(is_named, "a trunk that is farther", PATIENCE_S)
        with pytest.raises(CallTimeout, match="No other trainer gave"):
            await honest.worker.agree(Offer(0, 5, ROWS), numbers, 1e9)
        assert honest.peer.rpc.bans.score(liar.peer.id, time.monotonic()) > 0.0

        trust(honest.compute)  # good numbers, but steps that nobody can have taken
        honest.worker._standings._out.clear()
        honest.worker._others._most = lambda: Reach(8, 10**9)
        await honest.worker._standings.look()
        with pytest.raises(CallTimeout, match="No other trainer gave"):
            await honest.worker.agree(Offer(0, 5, ROWS), numbers, 1e9)
        assert (await honest.worker.agree(Offer(0, 5, ROWS), numbers, 1e9))[0].version == 6, "nobody else is there"
        assert not honest.worker._standings.trainers
        with pytest.raises(ComputeError):  # else it would be offered for ever
            await honest.worker.agree(Offer(0, 6, 0), b"", 1e9)
        await liar.worker._tending.stop()


@pytest.mark.parametrize("verdict", ["good", "worse"])
async def test_a_trunk_that_did_worse_once_is_tried_again(tmp_path: Path, verdict: Verdict) -> None:
    """On a busy PC experts change hosts between the pass with one trunk and that with the other."""
    async with peers(1) as [node]:
        trainer = Trainer(node, tmp_path, defaultdict(set))
        said: list[Verdict] = [verdict, "worse"]
        trust(trainer.compute, lambda asked: ["good", said.pop()])
        trunk = bytes(12 * NUMBERS)
        assert await trainer.worker._others._try(Whole(Vector(9, ROWS, 0, len(trunk)), trunk)) == verdict and not said


@pytest.mark.timeout(900)
async def test_whose_line_is_too_slow_for_the_others_steps_fetches_their_trunk_less_and_less_often(
    tmp_path: Path,
) -> None:
    numbers, given = torch.ones(NUMBERS).numpy().tobytes(), list[int]()
    async with peers(3) as nodes:
        *givers, late = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]

        async def come_to(version: int) -> None:
            """Farther than means lead, while the last trunk was on its way."""

            async def give(nothing: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
                given.append(version)
                return Agreed(0, version, ROWS, 0), bytes([version]) * 12 * NUMBERS

            for giver in givers:
                giver.compute.register_carrier(GIVE_TRUNK, give)
                giver.worker._note(Gathered(version, 0))
                giver.worker._settled = True  # they have agreed with each other
                giver.worker._reached(Reached(version, digest_of(version)))

            async def is_named() -> bool:
                await late.worker._standings.look()
                return [version in dict(each.trunks) for each in late.worker._standings.trainers.values()] == [True] * 2

            await until(is_named, "a trunk that is named", PATIENCE_S)

        async def offer(version: int) -> Agreed:
            late.worker._note(Gathered(version, ROWS))
            agreed, trunk = await late.worker.agree(Offer(0, version, ROWS), numbers, 1e9)
            if len(trunk) == 12 * NUMBERS:
                late.worker._reached(Reached(agreed.version, digest_of(agreed.version)))
            return agreed

        for giver in givers:
            giver.worker._tending.start()
        steps = [0, *range(MEANS + 1, 4 * MEANS + 5, MEANS + 1)]
        for at, version in pairwise(steps[:3]):
            await come_to(version)
            assert (await offer(at)).version == version and late.worker.waits() is None
        await come_to(steps[3])
        with pytest.raises(CallTimeout, match="fetched later"):
            await offer(steps[2])
        assert late.worker.waits() == notice("trunk.waits_line", n=1) and steps[3] not in given
        assert not late.worker._settled, "the others wait for it"

        late.worker._others._rests_until = 0.0  # it has rested
        assert (await offer(steps[2])).version == steps[3] and late.worker.waits() is None
        assert late.worker._others.rest_s > REST_S
        async with asyncio.timeout(PATIENCE_S):
            for trainer in (*givers, late):
                trainer.worker._note(Gathered(steps[3], ROWS))

            agreed = await asyncio.gather(*(stepped(each, steps[3], numbers) for each in (*givers, late)))
        assert {each.version for each in agreed} == {steps[3] + 1} and not late.worker._others._tries
        for giver in givers:
            await giver.worker._tending.stop()
