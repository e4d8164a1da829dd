"""Trainers with inner steps agree on their trunks: in simulated time, through real pipes and syncers."""

import asyncio
import itertools
import math
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
import torch
from torch import Tensor

from core.averaging import outer
from core.averaging.outer import steps_between
from core.contracts import manifest as manifests
from core.contracts.errors import CallTimeout, CheckpointError
from core.contracts.pipe import AGREE
from core.contracts.trunk import Agreed, Diloco, Offer
from core.experts.directory import LOCAL, LocalDirectory
from core.pipe.calls import Calls
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from core.training.trunk.diloco import DiLoCo, cut
from core.training.trunk.local import Local
from tests.bench import virtual_time
from tests.experts import all_experts
from tests.joined_calls import join
from tests.joined_trunks import JoinedTrunks
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.workers import PATIENCE_S

RULES = Diloco(inner_steps=8, fragments=3, grace_s=5.0)


def trainers(rules: Diloco, exchange: JoinedTrunks, count: int) -> tuple[list[Trainer], Runtime]:
    digits = manifests.load("digits")
    training = msgspec.structs.replace(digits.training, batch=16, in_flight=2, evaluate_every=100_000)
    manifest = msgspec.structs.replace(digits, trunk=rules, training=training)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate = KernelGate()
    kernel_gate.open()
    runtime = Runtime(experts, kernel_gate)
    return [
        Trainer(
            manifest,
            {LOCAL: runtime},
            LocalDirectory(experts),
            kernel_gate,
            open_stream(manifest, shuffle=number),
            calls=exchange.calls_of(f"trainer {number}"),
        )
        for number in range(count)
    ], runtime


def agreed(trainer: Trainer) -> list[tuple[Tensor, int]]:
    strategy = cast(Any, trainer)._trunk
    return [
        (fragment.read(strategy._agreed), version)
        for fragment, version in zip(strategy._fragments, strategy._versions, strict=True)
    ]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("wire", ["sparse", "dense"])
def test_trainers_come_to_one_trunk_that_knows_what_all_have_learnt(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer, "DOUBLED", 2)  # the beginning is over soon
    rules = msgspec.structs.replace(RULES, wire=wire)

    async def main() -> tuple[JoinedTrunks, list[Trainer], float, float]:
        exchange = JoinedTrunks(rules)
        made, runtime = trainers(rules, exchange, 3)
        tasks = [asyncio.create_task(work) for work in (runtime.run(), *(trainer.run() for trainer in made))]
        before = (await made[0].evaluate()).loss
        while min(trainer.step for trainer in made) < 64:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0)
        for task in tasks[1:]:
            task.cancel()
        after = (await made[0].evaluate()).loss
        return exchange, made, before, after

    exchange, made, before, after = virtual_time.run(main())
    assert len(exchange.syncers) == 3 and all(len(told) == 1 for told in exchange.hashes.values())
    for part, syncer in exchange.syncers.items():
        assert syncer.fragment.version >= 6, "hardly a round was made"
        assert len(syncer.fragment.usual()) == 3, "not all took part"
        for trainer in made:
            numbers, version = agreed(trainer)[part]
            if version == syncer.fragment.version:
                assert numbers.numpy().tobytes() == syncer.fragment.numbers.tobytes()
    assert after < before - 0.5
    size = sum(parameter.numel() for parameter in cast(Any, made[0])._trunk.parameters)
    everything = 2 * size * sum(trainer.step for trainer in made)
    assert exchange.sent.total() < everything / (4 if wire == "sparse" else 2), "with 8 inner steps and the beginning"


def strategy_with(answer: Callable[[Offer, Tensor], tuple[Agreed, Tensor]]) -> tuple[DiLoCo, list[Offer]]:
    """A strategy whose offers get these answers."""
    worker, compute, offers = Calls(), Calls(), list[Offer]()

    def agree(offer: Offer, payload: Any, call: Any) -> tuple[Agreed, bytes]:
        offers.append(offer)
        data = bytearray().join([payload] if isinstance(payload, bytes | bytearray) else payload)
        told, numbers = answer(offer, torch.frombuffer(data, dtype=torch.float32))
        return told, numbers.numpy().tobytes()

    worker.register_carrier(AGREE, agree)
    join(worker, compute)
    digits = manifests.load("digits")
    training = msgspec.structs.replace(digits.training, warmup_samples=0)
    manifest = msgspec.structs.replace(digits, trunk=Diloco(inner_steps=1, fragments=1), training=training)
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4))
    return DiLoCo(network, manifest, compute), offers


async def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
    return kernel(*arguments)


def learn(strategy: DiLoCo) -> Tensor:
    """Take a step; by how much the fragment changed."""
    before = weights(strategy)
    strategy.contribute(0, torch.randn(sum(p.numel() for p in strategy.parameters)), 4)
    return weights(strategy) - before


def weights(strategy: DiLoCo) -> Tensor:
    """In the order of the fragment."""
    fragment = strategy._fragments[0]
    return fragment.read(strategy._adam.weights)


async def test_what_is_learnt_while_others_are_asked_is_not_lost() -> None:
    """In an agreement that counts the offer, in one that came too late for it, and in one that failed at first."""
    agreements = [torch.full((44,), float(number)) for number in range(10)]
    here: list[Tensor] = []
    learnt: list[Tensor] = []
    failed = False

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        nonlocal failed
        if offer.version == 2 and not failed:
            failed = True
            raise CallTimeout("nobody there")
        here.append(weights(strategy))
        learnt.append(learn(strategy) if offer.version < 4 else torch.zeros(44))
        offered.append(numbers.clone())
        return Agreed(0, offer.version + 1, 8, 2, counted=offer.version != 3), agreements[offer.version + 1]

    offered: list[Tensor] = []
    strategy, offers = strategy_with(answer)
    begun = weights(strategy)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        assert await strategy.next_batch() == 0
        assert torch.equal(offered[0], begun), "a newcomer says what it has"
        for version in range(1, 5):
            between = learn(strategy)
            while strategy._versions[0] == version:  # noqa: ASYNC110  (a number is no event)
                await asyncio.sleep(0)
    task.cancel()
    assert [offer.version for offer in offers] == [0, 1, 2, 2, 3, 4] and [o.fine for o in offers] == [12] * 6
    assert offered[1] == pytest.approx(here[1] - agreements[1], abs=1e-6)
    # the fourth was too late: what it said is in the fifth as well, whose base is the fourth agreement
    assert offered[4] == pytest.approx(offered[3] + learnt[3] + between, abs=1e-5)
    assert offers[5].samples >= offers[4].samples + 4
    assert torch.equal(weights(strategy), agreements[5]), "nothing was learnt meanwhile: it has the agreed bits"


@pytest.mark.parametrize("is_first", [False, True])
async def test_a_newcomer_that_could_not_ask_for_long_takes_its_own_only_where_all_begin_with_it(
    is_first: bool,
) -> None:
    """It trains alone meanwhile, and what it offers at last is what it had at first."""
    agreement, asked = torch.randn(44), asyncio.Event()

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        if not asked.is_set():
            asked.set()
            raise CallTimeout("nobody there")
        return Agreed(0, 1 if is_first else 500, 1000, 2), numbers.clone() if is_first else agreement

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        strategy.drop(await strategy.next_batch())
        for _ in range(20):
            learn(strategy)
        alone = weights(strategy)
        while not strategy._versions[0]:  # noqa: ASYNC110  (a number is no event)
            await asyncio.sleep(0)
    task.cancel()
    assert torch.allclose(weights(strategy), alone) if is_first else torch.equal(weights(strategy), agreement)
    assert strategy._samples == [80 if is_first else 0], "samples whose work is gone would still count"


async def test_what_is_agreed_comes_between_two_batches() -> None:
    """And the next one waits for it: a batch has its forward and backward pass with one trunk."""
    agreement, asked = torch.full((44,), 7.0), asyncio.Event()

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        if offer.version:
            asked.set()
        return Agreed(0, offer.version + 1, 8, 2), agreement if offer.version else numbers

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        first = await strategy.next_batch()
        strategy.contribute(first, torch.randn(44), 4)
        second = await strategy.next_batch()
        before = weights(strategy)
        await asked.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert torch.equal(weights(strategy), before), "it changed under a batch"
        strategy.drop(second)
        await strategy.next_batch()
        assert torch.equal(weights(strategy), agreement), "the batch did not wait for it"
    task.cancel()


async def test_batches_that_overlap_do_not_keep_what_is_agreed_away() -> None:
    agreement = torch.full((44,), 7.0)

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        return Agreed(0, offer.version + 1, 8, 2), agreement if offer.version else numbers

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        first, _ = await strategy.next_batch(), await strategy.next_batch()
        strategy.contribute(first, torch.randn(44), 4)
        await strategy.next_batch()
        while not torch.equal(weights(strategy), agreement):  # noqa: ASYNC110  (numbers are no event)
            await asyncio.sleep(0)
    task.cancel()


async def test_a_trainer_goes_on_from_its_own_state_and_a_newcomer_from_what_is_agreed() -> None:
    agreement = torch.randn(44)

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        return Agreed(0, offer.version + 1, 1000, 2), agreement

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        await strategy.next_batch()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    learn(strategy)
    state = strategy.state()
    assert strategy.step == 1 and strategy.samples == 1004
    restarted, _ = strategy_with(answer)
    restarted.load_state(state)
    assert restarted._versions == [1] and torch.equal(weights(restarted), weights(strategy))
    newcomer, _ = strategy_with(answer)
    newcomer.take_over(state)
    assert torch.equal(weights(newcomer), agreement) and not torch.equal(weights(strategy), agreement)
    before = newcomer.state()
    with pytest.raises(CheckpointError):
        newcomer.load_state({**state, "agreed.0": torch.full((44,), torch.inf)})
    assert all(torch.equal(before[key], tensor) for key, tensor in newcomer.state().items())


@pytest.mark.parametrize(("rounds", "counted"), [(0, False), (1, False), (1, True), (9, True)])
async def test_a_trainer_that_was_restarted_asks_how_far_the_others_are_before_it_trains(
    rounds: int, counted: bool
) -> None:
    """What it had learnt stays, unless it is counted already or too old for anybody to know."""
    agreements = [torch.full((44,), float(number)) for number in range(11)]

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        version = offer.version + (rounds if offer.version and not offer.samples else 1)
        return Agreed(0, version, 1000, 2, counted), agreements[version]

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        await strategy.next_batch()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    learnt = learn(strategy)
    restarted, offers = strategy_with(answer)
    restarted.load_state(strategy.state())
    task = asyncio.create_task(restarted.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        assert await restarted.next_batch() == 1
    task.cancel()
    assert [(offer.version, offer.samples) for offer in offers] == [(1, 0)]
    assert restarted._versions == [1 + rounds]
    expected = agreements[1 + rounds] + (0.0 if counted else learnt)
    assert torch.allclose(weights(restarted), expected)


@pytest.mark.parametrize("rounds", [0, 1])
async def test_what_is_learnt_after_a_restart_stays_where_the_offer_before_it_was_counted(rounds: int) -> None:
    """That was on its way when the process was killed, on the version that the next one asks for, or is told of."""
    agreements = [torch.full((44,), float(number)) for number in range(10)]

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        if offer.version and not offer.samples:
            version = offer.version + rounds
            return Agreed(0, version, 8, 2, counted=bool(rounds)), agreements[version]
        return Agreed(0, offer.version + 1, 8, 2, earlier=offer.version > 0), agreements[offer.version + 1]

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        await strategy.next_batch()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    learn(strategy)
    restarted, offers = strategy_with(answer)
    restarted.load_state(strategy.state())
    task = asyncio.create_task(restarted.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        batch = await restarted.next_batch()
        learnt = learn(restarted)
        restarted.drop(batch)
        while restarted._versions[0] < 2 + rounds:  # noqa: ASYNC110  (a number is no event)
            await asyncio.sleep(0)
    task.cancel()
    assert [(offer.version, offer.samples) for offer in offers] == [(1, 0), (1 + rounds, 4)]
    assert torch.allclose(weights(restarted), agreements[2 + rounds] + learnt, atol=1e-6)
    assert restarted._samples == [4], "they are still to give"


async def test_the_rate_rises_and_falls_by_the_samples_of_all_trainers() -> None:
    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        return Agreed(0, offer.version + 1, 1000, 2), torch.zeros(44)

    strategy, _ = strategy_with(answer)
    alone, _ = strategy_with(answer)
    for each in (strategy, alone):
        each._adam._warmup = 2000.0
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        await strategy.next_batch()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    there, here = (float(learn(each).abs().mean()) for each in (strategy, alone))
    expected = 1004 / 4 * math.sqrt(2)
    assert there / here == pytest.approx(expected, rel=0.05), "the others have warmed up, too, and two learn together"


async def test_the_rate_is_raised_for_those_who_take_part_but_not_without_bound() -> None:
    peers = iter([1, 3, 1024])

    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        return Agreed(0, offer.version + 1, 8, next(peers, 1024)), numbers if not offer.version else torch.zeros(44)

    strategy, _ = strategy_with(answer)
    task = asyncio.create_task(strategy.agree(run))
    factors: list[float] = []
    async with asyncio.timeout(PATIENCE_S):
        for version in range(1, 4):
            strategy.contribute(await strategy.next_batch(), torch.randn(44), 4)
            factors.append(strategy._adam.factor)
            while strategy._versions[0] == version:  # noqa: ASYNC110  (a number is no event)
                await asyncio.sleep(0)
    task.cancel()
    assert factors == pytest.approx([1.0, math.sqrt(3), 2.0])
    await asyncio.gather(task, return_exceptions=True)
    restarted, _ = strategy_with(answer)
    restarted.load_state(strategy.state())
    assert restarted._adam.factor == 2.0
    newcomer, _ = strategy_with(answer)
    restarted.take_over(newcomer.state())
    assert restarted._adam.factor == 1.0, "it goes by those who agreed on the trunk that is here"


@pytest.mark.parametrize("peers", [1, 3])
async def test_the_trunk_is_evaluated_and_asked_as_it_is_agreed_on_by_who_is_not_alone(peers: int) -> None:
    agreement = torch.randn(44)
    strategy, _ = strategy_with(lambda offer, numbers: (Agreed(0, offer.version + 1, 8, peers), agreement))

    def trunk() -> Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in strategy.parameters])

    assert torch.equal(strategy.by_agreed(trunk), trunk()), "nothing is agreed on yet"
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        await strategy.next_batch()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    before = trunk()
    learn(strategy)
    learnt = trunk()
    assert not torch.equal(before, learnt)
    assert torch.equal(strategy.by_agreed(trunk), learnt if peers == 1 else before)
    with pytest.raises(ZeroDivisionError):
        strategy.by_agreed(lambda: 1 // 0)
    assert torch.equal(trunk(), learnt), "training goes on from what it has learnt"

    restarted, _ = strategy_with(lambda offer, numbers: (Agreed(0, offer.version + 1, 8, peers), agreement))
    restarted.load_state(strategy.state())
    told = restarted.by_agreed(lambda: torch.cat([p.detach().flatten() for p in restarted.parameters]))
    assert torch.equal(told, learnt if peers == 1 else before), "nor after a restart"


async def test_trainers_agree_more_often_at_first() -> None:
    def answer(offer: Offer, numbers: Tensor) -> tuple[Agreed, Tensor]:
        steps.append(strategy.step)
        return Agreed(0, offer.version + 1, 8, 2), strategy._agreed if offer.version else numbers

    steps: list[int] = []
    strategy, _ = strategy_with(answer)
    strategy._every = 16
    task = asyncio.create_task(strategy.agree(run))
    async with asyncio.timeout(PATIENCE_S):
        while strategy._versions[0] < 140:
            strategy.contribute(await strategy.next_batch(), torch.zeros(44), 4)
            for _ in range(20):
                await asyncio.sleep(0)
    task.cancel()
    between = [after - before for before, after in itertools.pairwise(steps)]
    assert set(between[2:8]) == {1} and set(between[-8:]) == {4} and max(between) == 4
    versions = (0, 1, 63, 64, 128, 256, 319, 320, 10**15)
    assert [steps_between(version, 32) for version in versions] == [1, 1, 1, 2, 4, 16, 31, 32, 32]
    assert steps_between(10**15, 1) == 1 and steps_between(0, 1) == 1 and steps_between(0, 100_000) == 1


def test_a_run_whose_trainers_begin_to_agree_or_cease_to_goes_on_with_its_trunk() -> None:
    strategy, _ = strategy_with(lambda offer, numbers: (Agreed(0, 1, 0, 1), numbers))
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4))
    alone = Local(network, manifests.load("digits"), None)
    alone.contribute(0, torch.randn(44), 4)
    strategy.load_state(alone.state())
    assert strategy._versions == [0] and torch.equal(strategy._adam.weights, alone._adam.weights)
    strategy._agreed, strategy._versions = weights(strategy), [3]
    learn(strategy)
    alone.load_state(strategy.state())
    assert alone.step == 2 and torch.equal(strategy._adam.weights, alone._adam.weights)
    cut_otherwise = strategy.state() | {"agreed.0": torch.zeros(45)}
    strategy.load_state(cut_otherwise)
    assert strategy._versions == [0] and strategy.step == 2


def test_fragments_share_the_trunk_evenly_and_leave_nothing_out() -> None:
    network = torch.nn.ModuleDict(
        {"body": torch.nn.Linear(300, 200), "norm": torch.nn.LayerNorm(200), "gates": torch.nn.Linear(200, 64)}
    )
    count = sum(parameter.numel() for parameter in network.parameters())
    fragments = cut(network, 4)
    places = torch.cat([fragment.read(torch.arange(count)) for fragment in fragments])
    assert sorted(places.tolist()) == list(range(count))
    assert max(fragment.size for fragment in fragments) < 1.5 * min(fragment.size for fragment in fragments)
    assert sum(fragment.fine for fragment in fragments) == 200 + 400 + 201 * 64, "biases, norms and gates"
