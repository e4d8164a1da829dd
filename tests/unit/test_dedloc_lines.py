"""DeDLOC: a trainer that took a step by another mean than the others finds it out, and goes on from their trunk. What
it had gathered on its own counts no more."""

import asyncio
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.averaging.digests import TrunkDigest
from core.contracts.errors import CallTimeout, ComputeError
from core.contracts.notices import plain
from core.contracts.pipe import ENOUGH, GIVE_TRUNK
from core.contracts.trunk import Agreed, Gathered, Offer, Reached
from core.contracts.trunk_rounds import Standing
from core.identity import PeerId
from core.pipe.calls import Incoming
from core.pipe.frames import Payload
from core.swarm.trunk.dedloc import FORMING_S
from core.swarm.trunk.past import Past, Taken
from tests.dht_peers import peers, until
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_dedloc_peers import BATCHES, NUMBERS, PATIENCE_S, ROWS, Trainer, all_known

pytestmark = pytest.mark.usefixtures("one_thread")
MEAN, OTHER = (np.full(NUMBERS, value, np.float32).tobytes() for value in (1.0, 2.0))


def test_a_mean_is_named_with_all_before_it() -> None:
    agreed = [Agreed(0, step + 1, (step + 1) * ROWS, 2) for step in range(3)]

    def last(*means: bytes) -> Taken:
        taken = Taken.by(agreed[0], means[0], b"")
        for then, mean in zip(agreed[1:], means[1:], strict=False):
            taken = Taken.by(then, mean, taken.digest)
        return taken

    assert last(MEAN, MEAN, MEAN).digest == last(MEAN, MEAN, MEAN).digest != last(OTHER, MEAN, MEAN).digest
    past, taken = Past(), last(MEAN, MEAN)
    assert past.follows(2, taken.digest), "a newcomer knows nothing else"
    past.take(1, taken)
    assert past.follows(2, taken.digest) and not past.follows(2, last(OTHER, MEAN).digest)


def test_who_learns_late_what_led_to_where_it_began_names_its_steps_as_the_others() -> None:
    there, here, before = Past(), Past(), b""
    for step in range(5):
        taken = Taken.by(Agreed(0, step + 1, ROWS, 2), MEAN, before)
        there.take(step, taken)
        if step > 1:  # it began with a trunk of version 2
            here.take(step, Taken.by(taken.agreed, MEAN, here.line.get(step - 1, b"")))
        before = taken.digest
    assert here.line[4] != there.line[4]
    here.came_by(1, there.line[1])
    assert [here.line[step] for step in range(1, 5)] == [there.line[step] for step in range(1, 5)]
    assert here.means == there.means


def test_who_learns_that_most_name_another_mean_than_its_own_gives_that_no_more() -> None:
    """As where most have just come, and name their first step without those before it: they would take it for a lie."""
    past, agreed = Past(), Agreed(0, 11, ROWS, 2)
    past.take(9, Taken.by(agreed, MEAN, bytes(32)))
    past.take(10, Taken.by(agreed, MEAN, past.line[9]))
    past.came_by(9, past.line[9])
    assert {*past.means} == {9, 10}
    past.came_by(10, Taken.by(agreed, MEAN, b"").digest)
    assert {*past.means} == {9}
    assert all(taken.digest == past.line[step] for step, taken in past.means.items())


def come_to(trainer: Trainer, version: int, mean: bytes, trunk: bytes) -> None:
    """It has taken all steps together with others, the first of them by this mean, and came to a trunk of its own
    bits."""

    async def give(nothing: None, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
        return Agreed(0, version, ROWS, 0), trunk

    trainer.compute.register_carrier(GIVE_TRUNK, give)
    digest, before = TrunkDigest(version, ROWS), b""
    digest.add(trunk)
    for step in range(version):
        taken = Taken.by(Agreed(0, step + 1, ROWS, 3), MEAN if step else mean, before)
        trainer.worker._past.take(step, taken)
        before = taken.digest
    trainer.worker._note(Gathered(version, ROWS))
    trainer.worker._reached(Reached(version, digest.value))
    trainer.worker._settled = True


async def have_told(trainers: list[Trainer]) -> None:
    async def known() -> bool:
        for each in trainers:
            await each.worker._tend()
        return all(len(each.worker._standings.trainers) == len(trainers) - 1 for each in trainers)

    await until(known, "trainers that know each other", PATIENCE_S)


@pytest.mark.parametrize("mean", [MEAN, OTHER])
@pytest.mark.parametrize("ahead", [0, 7])
async def test_who_took_a_step_by_another_mean_goes_on_from_the_trunk_of_the_others(
    tmp_path: Path, mean: bytes, ahead: int
) -> None:
    async with peers(3) as nodes:
        *others, apart = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        for each in others:
            come_to(each, 3, MEAN, bytes(12 * NUMBERS))
        come_to(apart, 3, mean, bytes([1]) * 12 * NUMBERS)  # it rounds otherwise
        if ahead:  # by steps that nobody else took
            apart.worker._note(Gathered(3 + ahead, 999))
            apart.worker._reached(Reached(3 + ahead, b"its own"))
            apart.worker._past.take(3, Taken.by(Agreed(0, 4, 2 * ROWS, 1), OTHER, apart.worker._past.line[2]))
            apart.worker._alone, apart.worker._enough = True, 4 + ahead
        trainers = [*others, apart]
        await have_told(trainers)
        version = 3 + ahead
        if mean == MEAN and not ahead:  # they meet, and take the step
            for each in others:
                each.worker._tending.start()
            async with asyncio.timeout(PATIENCE_S):
                steps = await asyncio.gather(*(each.worker.agree(Offer(0, 3, ROWS), MEAN, 1e9) for each in trainers))
            assert {(agreed.version, agreed.peers, len(numbers)) for agreed, numbers in steps} == {(4, 3, len(MEAN))}
            for each in others:
                await each.worker._tending.stop()
            return
        agreed, trunk = await apart.worker.agree(Offer(0, version, ROWS), MEAN, 1e9)
        assert agreed == Agreed(0, 3, ROWS, 0, counted=False) and trunk == bytes(12 * NUMBERS)
        assert 3 not in apart.worker._past.means, "it took that step of its own again"
        apart.worker._note(Gathered(3, 0))
        apart.worker._reached(Reached(3, others[0].worker._past.trunks[3]))
        [part] = apart.worker.status()
        assert part.version == 3 and apart.worker._standing(Gathered(3, 0)).enough == 3, "it gathers with them"
        await apart.worker._standings.look()
        apart.worker._compare_steps(3)
        assert apart.worker._settled and apart.worker._past.line[2] == others[0].worker._past.line[2]


async def test_who_went_on_alone_gathers_no_whole_batch_before_it_asks_for_the_trunk_of_the_others(
    tmp_path: Path,
) -> None:
    async with peers(3) as nodes:
        *others, apart = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        for each in others:
            come_to(each, 3, MEAN, bytes(12 * NUMBERS))
        come_to(apart, 3, OTHER, bytes([1]) * 12 * NUMBERS)
        apart.worker._note(Gathered(10, ROWS))
        apart.worker._reached(Reached(10, b"its own"))
        apart.worker._alone, steps = True, list[int]()
        apart.compute.listen(ENOUGH, steps.append)
        await have_told([*others, apart])
        await until(lambda: 10 in steps, "word that it is enough", PATIENCE_S)
        agreed, trunk = await apart.worker.agree(Offer(0, 10, ROWS), MEAN, 1e9)
        assert agreed == Agreed(0, 3, ROWS, 0, counted=False) and trunk == bytes(12 * NUMBERS)


async def test_who_is_always_the_first_to_be_ready_finds_it_out_by_an_earlier_step(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        *others, apart = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        for each in others:
            come_to(each, 3, MEAN, bytes(12 * NUMBERS))
        come_to(apart, 4, OTHER, bytes([1]) * 12 * NUMBERS)  # of the last step the others have told nothing yet
        await have_told([*others, apart])
        agreed, trunk = await apart.worker.agree(Offer(0, 4, ROWS), MEAN, 1e9)
        assert agreed == Agreed(0, 3, ROWS, 0, counted=False) and trunk == bytes(12 * NUMBERS)


async def test_a_liar_does_not_speak_for_those_who_name_nothing_of_an_earlier_step(tmp_path: Path) -> None:
    """One has just gone on from a trunk, and names no mean yet."""
    async with peers(1) as [node]:
        standings = Trainer(node, tmp_path, defaultdict(set)).worker._standings
        came, liar = PeerId(bytes(32)), PeerId(bytes([1]) * 32)
        standings.trainers = {came: Standing(9, 0, 9, settled=True), liar: Standing(9, 0, 9, ((6, bytes(32)),))}
        assert standings.last_of_most(9) is None
        standings.trainers[came] = Standing(9, 0, 9, ((6, bytes(32)),), settled=True)
        assert standings.last_of_most(9) == (6, bytes(32))


async def test_who_waits_for_a_group_while_the_others_take_the_step_takes_it_by_their_mean(tmp_path: Path) -> None:
    async with peers(3) as nodes:
        *others, waits = trainers = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)
        waits.worker._note(Gathered(0, ROWS))
        waits.worker._tending.start()
        stepping = asyncio.create_task(waits.worker.agree(Offer(0, 0, ROWS), OTHER, 1e9))
        await until(lambda: waits.worker._matchmaking._wish, "one that looks for a group", PATIENCE_S)
        for each in others:
            come_to(each, 1, MEAN, bytes(12 * NUMBERS))
            await each.worker._tend()
        agreed, mean = await stepping
        assert agreed == Agreed(0, 1, ROWS, 3, counted=False) and mean == MEAN
        await waits.worker._tending.stop()


async def test_who_only_helps_is_no_trainer_that_takes_the_step(tmp_path: Path) -> None:
    """It was one a moment ago: it has just been started again."""
    async with peers(3) as nodes:
        first, absent, helper = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([first, absent, helper])
        helping = asyncio.create_task(helper.worker._meeting.group(0, FORMING_S, sends=False, helps=True))
        with pytest.raises(CallTimeout, match="Too few"):
            await first.worker.agree(Offer(0, 0, ROWS), MEAN, 1e9)
        group = await helping
    assert group is not None and group.trainers() == [first.peer.id], "they met"


@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.parametrize("travels", [False, True])
async def test_what_was_gathered_on_a_trunk_that_is_given_up_counts_no_more(
    tmp_path: Path, version: int, travels: bool
) -> None:
    async with peers(2) as nodes:
        trainers = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)  # and from now on nobody looks
        one, other = (trainer.worker for trainer in trainers)
        other._note(Gathered(3, 0, 24))
        one._note(Gathered(3, ROWS * BATCHES, 99))
        together = partial(other._together, Gathered(3, 0))
        await until(lambda: together() == ROWS * BATCHES, "what the other has gathered", PATIENCE_S)
        if travels:
            one._note(Gathered(4, 0, 99))  # its offer is on its way
        one._note(Gathered(version, 0, 24))  # its trunk is that of the others now
        await until(lambda: together() == 0, "that it has nothing any more", PATIENCE_S)
        assert one._together(Gathered(version, 0)) == 0
        one._note(Gathered(version, ROWS, 24))
        assert one._gathered == Gathered(version, ROWS, 24)


async def test_what_a_process_had_gathered_that_was_killed_counts_no_more(tmp_path: Path) -> None:
    """Also where the next one goes on from the very same step."""
    async with peers(2) as nodes:
        trainers = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(trainers)
        one, other = (trainer.worker for trainer in trainers)
        one._note(Gathered(3, ROWS, 24))
        together = partial(other._together, Gathered(3, 0))
        await until(lambda: together() == ROWS, "what the other has gathered", PATIENCE_S)
        assert one._calls
        one._calls.detach(ComputeError(plain("It was killed.")))
        one._note(Gathered(3, 0, 24))
        await until(lambda: together() == 0, "that it has nothing any more", PATIENCE_S)
        assert one._together(Gathered(3, 0)) == 0


async def test_who_asks_for_the_trunk_of_the_others_does_not_tell_them_that_they_have_enough(tmp_path: Path) -> None:
    async with peers(4) as nodes:
        made = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        told = list[int]()
        for each in made[:2]:
            come_to(each, 3, MEAN, bytes(12 * NUMBERS))
            each.compute.listen(ENOUGH, told.append)
        for number, each in enumerate(made[2:]):
            each.worker._note(Gathered(10 + number, 0))
            each.worker._reached(Reached(10 + number, b"its own"))
            each.worker._alone = each.worker._settled = True
        for _ in range(3):
            await have_told(made)
        assert all(each.worker._enough == 0 for each in made[2:]) and not told


@pytest.mark.timeout(900)
@pytest.mark.parametrize("delayed", [True, False])
async def test_a_step_for_which_nobody_has_anything_is_gathered_for_anew(tmp_path: Path, delayed: bool) -> None:
    """As where the samples that were counted are those of a trunk which was given up."""
    async with peers(3) as nodes:
        trainers = [Trainer(node, tmp_path, defaultdict(set), delayed=delayed) for node in nodes]
        await all_known(trainers)
        for trainer in trainers:
            trainer.worker._enough = 1
            await trainer.begin(trains=False)
        await until(lambda: all(trainer.worker._enough == 0 for trainer in trainers), "word of it", PATIENCE_S)
        for trainer in trainers:
            trainer.train()
        await until(lambda: all(trainer.trunk.step >= 2 for trainer in trainers), "two steps", PATIENCE_S)
        for trainer in trainers:  # with delayed steps what was gathered meanwhile may count for two
            assert delayed or trainer.trunk.samples >= trainer.trunk.step * ROWS * BATCHES, "a step of too little"
            await trainer.end()
