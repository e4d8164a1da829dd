"""Trainers that gather one batch together take the steps of one trainer, in step or exactly one behind."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor, nn

from core.contracts import manifest as manifests
from core.contracts.errors import (
    CallTimeout,
    CheckpointError,
    ComputeError,
    DataFolderError,
    HearthError,
    NetworkError,
    ProtocolError,
    RoundVoid,
)
from core.contracts.manifest import Manifest
from core.contracts.pipe import AGREE, ENOUGH, GATHERED, REACHED
from core.contracts.trunk import Agreed, Dedloc, Gathered, Offer, Reached
from core.pipe.calls import Calls
from core.runtime.adam import BETAS, EPSILON, Adam
from core.training.trunk import dedloc
from core.training.trunk.local import Local
from core.training.trunk.strategy import TrunkStrategy
from tests.bench import virtual_time
from tests.bench.exchanges import JoinedSums
from tests.joined_calls import join
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture

pytestmark = pytest.mark.usefixtures("one_thread")
ROWS = 4
"""Samples of a batch."""
STEPS = 6


def rules(**trunk: Any) -> Manifest:
    digits = manifests.load("digits")
    training = msgspec.structs.replace(digits.training, batch=ROWS, trunk_rate=0.05, warmup_samples=0, clip=1e9)
    return msgspec.structs.replace(digits, training=training, trunk=Dedloc(**trunk))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))


def batch(number: int) -> Tensor:
    return torch.randn(ROWS, 3, generator=torch.Generator().manual_seed(number))


def gradients(module: nn.Module, inputs: Tensor) -> Tensor:
    """Of the sum of the samples' losses, [all parameters], flat."""
    with torch.enable_grad():
        loss = (module(inputs).squeeze(1) - inputs.sum(1).sin()).square().sum()
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(module.parameters()))])


def weights(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


async def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
    return kernel(*arguments)


async def train(strategy: TrunkStrategy, module: nn.Module, batches: Sequence[int]) -> None:
    """As the Trainer does, a second a batch."""
    while True:
        number = await strategy.next_batch()
        if number >= len(batches):
            return
        gradient = gradients(module, batch(batches[number]))
        await asyncio.sleep(1.0)
        strategy.contribute(number, gradient, ROWS)


def plain(batches: int, each: int, weight_decay: float = 0.0, behind: int = 0) -> Tensor:
    """The weights after Adam on the whole batches, each gradient as of so many steps before."""
    module, manifest = network(), rules(target_samples=1)
    adam = Adam(module, manifest.training.trunk_rate, manifest.training, weight_decay=weight_decay)
    then = network()
    history = [weights(module)]
    for step in range(batches // each):
        nn.utils.vector_to_parameters(history[max(0, step - behind)], then.parameters())
        inputs = torch.cat([batch(number) for number in range(step * each, (step + 1) * each)])
        adam.step(gradients(then, inputs) / len(inputs), len(inputs))
        history.append(weights(module))
    return history[-1]


def together(trainers: int, delayed: bool, each: int) -> tuple[list[Tensor], list[TrunkStrategy]]:
    """The weights of trainers that take turns with the batches of `plain`."""

    async def main() -> tuple[list[Tensor], list[TrunkStrategy]]:
        manifest = rules(target_samples=ROWS * each, delayed=delayed)
        assert isinstance(manifest.trunk, Dedloc)
        exchange = JoinedSums(manifest.trunk, lambda size: 0.3, codec="fp32")
        modules = [network() for _ in range(trainers)]
        made = [dedloc.STRATEGY(m, manifest, exchange.calls_of(str(n))) for n, m in enumerate(modules)]
        agreeing = [asyncio.create_task(strategy.agree(run)) for strategy in made]
        turns = [range(number, STEPS * each, trainers) for number in range(trainers)]
        await asyncio.gather(*(train(s, m, t) for s, m, t in zip(made, modules, turns, strict=True)))
        await asyncio.sleep(10)
        for task in agreeing:
            task.cancel()
        await asyncio.gather(*agreeing, return_exceptions=True)
        return [weights(module) for module in modules], list(made)

    return virtual_time.run(main())


def test_one_trainer_alone_takes_the_steps_of_adam_on_whole_batches() -> None:
    module = network()
    strategy = dedloc.STRATEGY(module, rules(target_samples=3 * ROWS, weight_decay=0.1), None)
    for number in range(3 * STEPS + 2):
        strategy.contribute(number, gradients(module, batch(number)), ROWS)
    assert strategy.step == STEPS and strategy.samples == 3 * ROWS * STEPS
    torch.testing.assert_close(weights(module), plain(3 * STEPS, 3, weight_decay=0.1), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(weights(module), plain(3 * STEPS, 3), atol=1e-3), "no weight decayed"


def test_lamb_moves_each_matrix_by_a_share_of_its_own_length() -> None:
    rate, decay, (beta, gamma) = 0.05, 0.1, BETAS
    module, expected = network(), network()
    strategy = dedloc.STRATEGY(module, rules(target_samples=ROWS, optimizer="lamb", weight_decay=decay), None)
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in expected.parameters()]
    for number in range(STEPS):
        strategy.contribute(number, gradients(module, batch(number)), ROWS)
        mean = Adam.parts(strategy._adam, gradients(expected, batch(number)) / ROWS)
        for weight, gradient, (first, second) in zip(expected.parameters(), mean, moments, strict=True):
            first.lerp_(gradient, 1 - beta)
            second.lerp_(gradient.square(), 1 - gamma)
            step = first / (1 - beta ** (number + 1))
            step = step / ((second / (1 - gamma ** (number + 1))).sqrt() + EPSILON) + decay * weight.data
            share = weight.data.norm() / step.norm() if weight.ndim > 1 else 1.0
            weight.data -= rate * share * step
    assert strategy.step == STEPS
    torch.testing.assert_close(weights(module), weights(expected), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("trainers", [1, 2, 4])
def test_trainers_together_take_the_steps_of_one_with_the_same_batch(trainers: int) -> None:
    found, made = together(trainers, delayed=False, each=4)
    for vector, strategy in zip(found, made, strict=True):
        assert strategy.step == STEPS and strategy.samples == STEPS * 4 * ROWS
        torch.testing.assert_close(vector, plain(STEPS * 4, 4), rtol=1e-4, atol=1e-5)
        assert torch.equal(vector, found[0]), "the trunks differ"


@pytest.mark.parametrize("trainers", [1, 4])
def test_delayed_updates_are_exactly_one_step_behind(trainers: int) -> None:
    found, made = together(trainers, delayed=True, each=4)
    for vector, strategy in zip(found, made, strict=True):
        assert strategy.step == STEPS - 1, "the last sum is applied when the next one is gathered"
        expected = plain((STEPS - 1) * 4, 4, behind=1)
        torch.testing.assert_close(vector, expected, rtol=1e-4, atol=1e-5)
        for behind in (0, 2):
            assert not torch.allclose(vector, plain((STEPS - 1) * 4, 4, behind=behind), atol=1e-3)


@pytest.mark.parametrize("delayed", [False, True])
def test_a_newcomer_goes_on_with_parameters_and_moments_of_another_and_nobody_waits_for_one_that_has_gone(
    delayed: bool,
) -> None:
    async def main() -> list[tuple[Tensor, TrunkStrategy]]:
        manifest = rules(target_samples=ROWS * 4, delayed=delayed)
        assert isinstance(manifest.trunk, Dedloc)
        exchange = JoinedSums(manifest.trunk, lambda size: 0.3)
        here: dict[str, tuple[nn.Module, dedloc.Dedloc, list[asyncio.Task[None]]]] = {}

        def come(name: str, state: dict[str, Tensor] | None = None) -> None:
            module = network()
            strategy = dedloc.STRATEGY(module, manifest, exchange.calls_of(name))
            if state is not None:
                strategy.take_over(state)
            training = train(strategy, module, range(len(name), 10**6))
            here[name] = module, strategy, [asyncio.create_task(work) for work in (strategy.agree(run), training)]

        for name in ("one", "two", "three"):
            come(name)
        await asyncio.sleep(12.3)
        for task in here["two"][2]:
            task.cancel()
        exchange.leave("two")
        del here["two"]
        await asyncio.sleep(10)
        come("four", here["one"][1].state())
        step = here["one"][1].step
        await asyncio.sleep(20)
        assert here["one"][1].step >= step + 5 and step >= 5
        async with asyncio.timeout(10):
            while len({strategy.step for _, strategy, _ in here.values()}) > 1:  # noqa: ASYNC110  (in mid-step)
                await asyncio.sleep(0.1)
        for _, _, tasks in here.values():
            assert not any(task.done() for task in tasks)
            for task in tasks:
                task.cancel()
        return [(weights(module), strategy) for module, strategy, _ in here.values()]

    trunks = virtual_time.run(main())
    assert len(trunks) == 3
    for vector, strategy in trunks:
        assert torch.equal(vector, trunks[0][0]), "the trunks differ"
        for name, tensor in trunks[0][1].state().items():
            assert name == "batches" or torch.equal(strategy.state()[name], tensor), "the optimizers differ"


class Worker:
    """What answers a strategy, as each test says."""

    def __init__(self, delayed: bool = False, alone_samples: int | None = None) -> None:
        self.calls, compute = Calls(), Calls()
        self.told: list[Gathered] = []
        self.reached: list[Reached] = []
        self.offers: list[tuple[Offer, bytes]] = []
        self.answers: asyncio.Queue[Agreed | tuple[Agreed, Tensor] | Exception] = asyncio.Queue()
        self.calls.listen(GATHERED, self.told.append)
        self.calls.listen(REACHED, self.reached.append)
        self.calls.register_carrier(AGREE, self._agree)
        join(self.calls, compute)
        self.module = network()
        manifest = rules(target_samples=ROWS, delayed=delayed, alone_samples=alone_samples)
        self.strategy = dedloc.STRATEGY(self.module, manifest, compute)

    async def _agree(self, offer: Offer, payload: Any, call: Any) -> tuple[Agreed, bytes]:
        data = bytes(payload) if isinstance(payload, bytes | bytearray) else b"".join(payload)
        self.offers.append((offer, data))
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        agreed, numbers = answer if isinstance(answer, tuple) else (answer, torch.ones(len(weights(self.module))))
        return agreed, numbers.numpy().tobytes()

    def contribute(self) -> None:
        self.strategy.contribute(0, gradients(self.module, batch(0)), ROWS)


@pytest.mark.parametrize("failure", [CallTimeout("nobody there"), RoundVoid("the leader has gone")])
def test_a_sum_that_could_not_be_offered_is_offered_again(failure: NetworkError) -> None:
    async def main() -> Worker:
        worker = Worker()
        task = asyncio.create_task(worker.strategy.agree(run))
        await asyncio.sleep(1)
        worker.contribute()
        worker.calls.tell(ENOUGH, 0)
        worker.answers.put_nowait(failure)
        worker.answers.put_nowait(Agreed(0, 1, 2 * ROWS, 2))
        await asyncio.sleep(10)
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    first, second = worker.offers
    assert first == second and first[0] == Offer(0, 0, ROWS)
    assert first[1] == gradients(network(), batch(0)).numpy().tobytes()
    assert worker.strategy.step == 1 and worker.strategy.samples == 2 * ROWS
    assert worker.told == [Gathered(0, 0), Gathered(0, ROWS), Gathered(1, 0)]


@pytest.mark.parametrize("failure", [ProtocolError("this is no mean"), DataFolderError("the disk is full")])
def test_a_sum_that_is_refused_counts_for_nothing_and_the_step_is_gathered_for_anew(failure: HearthError) -> None:
    async def main() -> Worker:
        worker = Worker()
        task = asyncio.create_task(worker.strategy.agree(run))
        await asyncio.sleep(1)
        for answer in (failure, Agreed(0, 1, 2 * ROWS, 2)):
            worker.contribute()
            worker.calls.tell(ENOUGH, 0)
            worker.answers.put_nowait(answer)
            await asyncio.sleep(1)
        assert not task.done(), "the agreement ended, and with it compute"
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    assert worker.offers == [(Offer(0, 0, ROWS), gradients(network(), batch(0)).numpy().tobytes())] * 2
    assert worker.strategy.step == 1 and worker.strategy.samples == 2 * ROWS


@pytest.mark.parametrize("delayed", [False, True])
def test_who_is_behind_waits_for_the_trunk_of_the_others_and_goes_on_with_them(delayed: bool) -> None:
    async def main() -> Worker:
        others = Worker()
        adam = others.strategy._adam
        for _ in range(7):
            adam.step(torch.ones(len(weights(others.module))), ROWS)
        worker = Worker(delayed)
        task = asyncio.create_task(worker.strategy.agree(run))
        worker.contribute()
        worker.calls.tell(ENOUGH, 0)
        worker.answers.put_nowait(Agreed(0, 7, 7 * ROWS, 2))
        await asyncio.sleep(1)
        if delayed:
            worker.contribute()
            worker.calls.tell(ENOUGH, 1)
            await asyncio.sleep(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(worker.strategy.next_batch(), 100)
        assert worker.strategy.step == 0
        worker.strategy.take_over(others.strategy.state())
        assert torch.equal(weights(worker.module), weights(others.module))
        begun = await worker.strategy.next_batch()
        assert begun == 0, "the batches are this trainer's own"
        worker.strategy.drop(begun)
        await asyncio.sleep(1)
        # the others have gathered this step already: it has nothing to give, and gets their mean
        worker.calls.tell(ENOUGH, 7)
        worker.answers.put_nowait(Agreed(0, 8, 8 * ROWS, 2))
        await asyncio.sleep(1)
        if delayed:
            worker.calls.tell(ENOUGH, 8)
            await asyncio.sleep(1)
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    assert worker.strategy.step == 8 and worker.strategy.samples == 8 * ROWS
    assert worker.offers[1] == (Offer(0, 7, 0), b"")
    assert Gathered(7, 0, 7 * ROWS) in worker.told


def full_at_first(work: Callable[..., Any]) -> Callable[..., Any]:
    """Something that a device has room for only the second time."""
    tries = itertools.count()

    def tried(*arguments: Any) -> Any:
        if not next(tries):
            raise torch.OutOfMemoryError
        return work(*arguments)

    return tried


async def run_with_room(kernel: Callable[..., Any], *arguments: Any) -> Any:
    with contextlib.suppress(torch.OutOfMemoryError):
        return kernel(*arguments)
    return kernel(*arguments)


def test_a_trunk_of_the_others_for_which_a_device_has_no_room_is_gone_on_with_all_the_same() -> None:
    async def main() -> Worker:
        worker = Worker()
        worker.strategy._adam.adopt = full_at_first(worker.strategy._adam.adopt)  # type: ignore[method-assign]
        task = asyncio.create_task(worker.strategy.agree(run_with_room))
        worker.contribute()
        worker.calls.tell(ENOUGH, 0)
        size = len(weights(worker.module))
        worker.answers.put_nowait((Agreed(0, 7, 7 * ROWS, 0), torch.ones(3 * size)))
        await asyncio.sleep(1)
        task.cancel()
        return worker

    worker = virtual_time.run(main())
    assert worker.strategy.step == 7 and len(worker.offers) == 1
    assert all(bool((vector == 1).all()) for vector in worker.strategy._adam.vectors)


async def test_a_step_alone_for_which_a_device_has_no_room_is_taken_all_the_same() -> None:
    modules = network(), network()
    there, here = (dedloc.STRATEGY(module, rules(target_samples=2 * ROWS), None) for module in modules)
    here._adam.begin_step = full_at_first(here._adam.begin_step)  # type: ignore[method-assign]
    for number in range(4):
        gradient = gradients(modules[0], batch(number))
        there.contribute(number, gradient.clone(), ROWS)
        await run_with_room(here.contribute, number, gradient, ROWS)
    assert there.step == here.step == 2 and there.samples == here.samples
    assert torch.equal(weights(modules[0]), weights(modules[1]))


def test_a_sum_alone_that_is_refused_is_not_refused_again_with_the_next_gradients() -> None:
    module = network()
    strategy = dedloc.STRATEGY(module, rules(target_samples=2 * ROWS), None)
    strategy.contribute(0, gradients(module, batch(0)) * 1e30, ROWS)
    with pytest.raises(ComputeError):
        strategy.contribute(1, gradients(module, batch(1)), ROWS)
    for number in range(2):
        strategy.contribute(number, gradients(module, batch(number)), ROWS)
    assert strategy.step == 1
    torch.testing.assert_close(weights(module), plain(2, 2), rtol=1e-5, atol=1e-6)


def test_what_is_not_finite_is_not_added_and_a_state_that_does_not_fit_is_refused() -> None:
    module = network()
    strategy = dedloc.STRATEGY(module, rules(target_samples=2 * ROWS), None)
    strategy.contribute(0, gradients(module, batch(0)), ROWS)
    with pytest.raises(ComputeError):
        strategy.contribute(1, gradients(module, batch(1)) * float("nan"), ROWS)
    strategy.contribute(1, gradients(module, batch(1)), ROWS)
    torch.testing.assert_close(weights(module), plain(2, 2), rtol=1e-5, atol=1e-6)
    state = strategy.state()
    restarted = dedloc.STRATEGY(network(), rules(target_samples=ROWS), None)
    with pytest.raises(CheckpointError):
        restarted.load_state(state | {"batches": torch.tensor(-1)})
    restarted.load_state(state)
    assert restarted.step == 1
    with pytest.raises(ComputeError):  # as a mean of others could be
        restarted._adam.step(gradients(network(), batch(0)), 0)
    for name, tensor in restarted.state().items():
        assert torch.equal(tensor, state[name])


async def test_a_restart_goes_on_with_the_batches_that_follow() -> None:
    strategy = dedloc.STRATEGY(network(), rules(target_samples=ROWS), None)
    assert [await strategy.next_batch() for _ in range(3)] == [0, 1, 2]
    restarted = dedloc.STRATEGY(network(), rules(target_samples=ROWS), None)
    restarted.load_state(strategy.state())
    assert await restarted.next_batch() == 3


def test_a_trunk_of_local_is_gone_on_from_with_the_batches_that_follow() -> None:
    before = Local(network(), rules(target_samples=1), None)
    for number in range(3):
        before.contribute(number, torch.ones(len(weights(network()))), ROWS)
    after = dedloc.STRATEGY(network(), rules(target_samples=ROWS, alone_samples=1), None)
    after.load_state(before.state())
    assert (after.step, after.samples) == (3, 3 * ROWS)
    assert asyncio.run(after.next_batch()) == 3
