"""A trainer without others takes steps of its own, and none where there are others."""

import asyncio

import pytest
import torch
from torch import Tensor

from core.contracts.pipe import COMPANY, ENOUGH
from core.contracts.trunk import Agreed, Gathered, Offer
from core.training.trunk import dedloc
from core.training.trunk.local import Local
from tests.bench import virtual_time
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_dedloc import ROWS, Worker, batch, gradients, network, rules, run, weights

pytestmark = pytest.mark.usefixtures("one_thread")


def test_who_knows_of_no_other_takes_the_steps_of_local_and_tells_of_itself_seldom() -> None:
    """Bit for bit, and waits for nothing; with others there its steps are those of all, until they have gone."""

    async def main() -> tuple[Worker, Tensor, int]:
        worker = Worker(alone_samples=1)
        task = asyncio.create_task(worker.strategy.agree(run))
        alike = network()
        local = Local(alike, rules(target_samples=1), None)
        for number in range(100):
            worker.strategy.contribute(number, gradients(worker.module, batch(number)), ROWS)
            local.contribute(number, gradients(alike, batch(number)), ROWS)
            await asyncio.sleep(0.01)
        assert torch.equal(weights(worker.module), weights(alike)) and worker.strategy.step == 100 and not worker.offers
        told = len(worker.told)

        worker.calls.tell(COMPANY, True)
        await asyncio.sleep(1)
        assert worker.told[-1] == Gathered(100, 0, 100 * ROWS) and [each.version for each in worker.reached] == [100]
        for _ in range(3):
            worker.contribute()
        await asyncio.sleep(1)
        assert worker.strategy.step == 100 and worker.told[-1].samples == 3 * ROWS, "it went on alone"
        worker.calls.tell(ENOUGH, 100)
        worker.answers.put_nowait(Agreed(0, 101, 106 * ROWS, 2))
        await asyncio.sleep(1)
        assert worker.strategy.step == 101 and worker.offers[0][0] == Offer(0, 100, 3 * ROWS)

        worker.calls.tell(COMPANY, False)
        await asyncio.sleep(1)
        worker.contribute()
        worker.contribute()
        await asyncio.sleep(1)
        task.cancel()
        return worker, weights(alike), told

    worker, _, told = virtual_time.run(main())
    assert worker.strategy.step == 103 and worker.told[-1].alone and len(worker.offers) == 1
    assert told <= 3, "a busy trainer would wake the worker all the time"


def test_who_went_on_alone_measures_a_trunk_of_others_by_that_of_the_last_common_step_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own has many small steps more, and may have less loss than theirs, though it is the one that is given up."""

    async def main() -> list[bool]:
        monkeypatch.setattr("time.monotonic", asyncio.get_running_loop().time)
        worker, known = Worker(alone_samples=1), list[bool]()
        task = asyncio.create_task(worker.strategy.agree(run))

        def measure(common: Tensor) -> None:
            worker.contribute()
            known.append(torch.equal(worker.strategy.with_parts({}), common))

        worker.contribute()
        own = weights(worker.module)
        measure(own)  # it has not agreed with anybody yet
        worker.calls.tell(COMPANY, True)
        await asyncio.sleep(1)
        worker.contribute()
        worker.calls.tell(ENOUGH, 2)
        worker.answers.put_nowait(Agreed(0, 3, 3 * ROWS, 2))
        await asyncio.sleep(1)
        common = weights(worker.module)
        worker.calls.tell(COMPANY, False)
        await asyncio.sleep(1)
        measure(common)
        measure(common)
        worker.calls.tell(COMPANY, True)  # somebody is there for a moment
        await asyncio.sleep(1)
        worker.contribute()
        worker.calls.tell(ENOUGH, worker.strategy.step)
        worker.answers.put_nowait(Agreed(0, 6, 7 * ROWS, 1, alone=True))
        await asyncio.sleep(1)
        assert worker.strategy.step == 6
        worker.calls.tell(COMPANY, False)
        await asyncio.sleep(1)
        measure(common)
        other = torch.ones_like(common)
        assert torch.equal(worker.strategy.with_parts({0: other}), other)
        assert not torch.equal(weights(worker.module), common), "what is trained on is its own"
        await asyncio.sleep(dedloc.APART_S + 1)
        measure(common)
        assert torch.equal(worker.strategy.with_parts({}), weights(worker.module))
        task.cancel()
        return known

    assert virtual_time.run(main()) == [False, True, True, True, False]


def test_the_work_of_a_while_alone_is_given_up_once_and_not_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes for a step now and then, and has nothing but the trunk after it, could undo a night of work."""

    async def main() -> list[bool]:
        monkeypatch.setattr("time.monotonic", asyncio.get_running_loop().time)
        worker, known, gone_s = Worker(alone_samples=1), list[bool](), dedloc.APART_S / 2
        task = asyncio.create_task(worker.strategy.agree(run))
        for peers in (2, 1, 1):  # a step is common though nobody else had samples for it
            worker.calls.tell(COMPANY, True)
            await asyncio.sleep(1)
            worker.contribute()
            worker.calls.tell(ENOUGH, worker.strategy.step)
            step, samples = worker.strategy.step + 1, worker.strategy.samples + ROWS
            worker.answers.put_nowait(Agreed(0, step, samples, peers))
            await asyncio.sleep(1)
            assert worker.strategy.step == step
            common = [vector.clone() for vector in worker.strategy._adam.vectors]
            worker.calls.tell(COMPANY, False)
            await asyncio.sleep(1)
            worker.contribute()
            known.append(torch.equal(worker.strategy.with_parts({}), common[0]))
            await asyncio.sleep(gone_s)
            worker.contribute()
            worker.calls.tell(COMPANY, True)
            await asyncio.sleep(1)
            worker.calls.tell(ENOUGH, worker.strategy.step)
            trunk = Agreed(0, step + 9, samples + 9 * ROWS, 0, counted=False), torch.cat(common)
            worker.answers.put_nowait(trunk)
            await asyncio.sleep(1)
            assert worker.strategy.step == step + 9
            if len(known) == 2:
                await asyncio.sleep(dedloc.SPARED * gone_s)
        task.cancel()
        return known

    assert virtual_time.run(main()) == [True, False, True]


@pytest.mark.parametrize("delayed", [False, True])
def test_a_trunk_of_the_others_is_gone_on_with_as_soon_as_it_is_here(delayed: bool) -> None:
    async def main() -> Worker:
        worker = Worker(delayed)
        task = asyncio.create_task(worker.strategy.agree(run))
        await asyncio.sleep(1)
        worker.contribute()
        worker.calls.tell(ENOUGH, 0)
        await asyncio.sleep(1)
        if delayed:
            worker.contribute()
        count = len(weights(worker.module))
        worker.answers.put_nowait((Agreed(0, 40, 40 * ROWS, 0, counted=False), torch.ones(3 * count)))
        await asyncio.sleep(1)
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    assert worker.strategy.step == 40 and len(worker.offers) == 1
    assert worker.told[-1] == Gathered(40, 0, 40 * ROWS), "what was gathered on the other trunk"


@pytest.mark.parametrize("delayed", [False, True])
def test_what_travels_when_the_others_go_is_applied_before_steps_of_its_own(delayed: bool) -> None:
    async def main() -> Worker:
        worker = Worker(delayed, alone_samples=1)
        task = asyncio.create_task(worker.strategy.agree(run))
        await asyncio.sleep(1)
        worker.calls.tell(COMPANY, True)
        await asyncio.sleep(1)
        worker.contribute()
        worker.calls.tell(ENOUGH, 0)
        await asyncio.sleep(1)
        worker.calls.tell(COMPANY, False)
        await asyncio.sleep(1)
        assert len(worker.offers) == 1
        if delayed:
            worker.contribute()
        assert worker.strategy.step == 0, "a step on what is out of date by the time the mean comes"
        worker.answers.put_nowait(Agreed(0, 1, ROWS, 1))
        await asyncio.sleep(1)
        worker.contribute()
        await asyncio.sleep(1)
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    assert worker.strategy.step == 2 and worker.strategy.samples == (3 if delayed else 2) * ROWS
