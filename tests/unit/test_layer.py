"""The DMoE layer computes equation 3, and its gradient is that of the same network computed densely."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.calls import Call, Output
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.gating import Gate, add_up, balance_loss
from core.experts.grid import Coords, Grid, Uid
from core.experts.layer import DMoELayer
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime

WIDTH, K, BATCH, BALANCE = 6, 3, 10, 0.3
MODEL = Model("ffn_dmoe", 1, (3, 4), WIDTH, 10, "ffn", K)
NEVER = Training(8, 1e-3, 1e-3, 0, 100, 1_000_000, 3600.0, 1.0, BALANCE, 1, 1, 5)
"""Gradients are gathered, but no step is taken."""
ALL = list(itertools.product(range(3), range(4)))
SPARSE = [(0, 1), (0, 3), (1, 0), (2, 1), (2, 2)]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


class Unreliable(ExpertBackend):
    """An expert that breaks in the directions named in `broken`."""

    broken: Sequence[str] = ()

    def forward(self, inputs: Tensor) -> Tensor:
        if "forward" in self.broken:
            raise RuntimeError("out of order")
        return super().forward(inputs)

    def backward(self, inputs: Tensor, gradients: Tensor, *more: Any) -> Tensor:
        if "backward" in self.broken:
            raise RuntimeError("out of order")
        return super().backward(inputs, gradients, *more)


class Setup:
    """A layer, its experts and the Runtime that serves them."""

    def __init__(self, cells: Sequence[Coords], mirror_limit: int = 1000, balance: float = BALANCE) -> None:
        self.balance = balance
        self.grid = Grid("test", 1, MODEL.grid)
        self.backends = {uid: Unreliable(uid, MODEL, NEVER) for uid in (self.grid.uid(0, cell) for cell in cells)}
        kernel_gate = KernelGate()
        kernel_gate.open()
        self.runtime = Runtime(self.backends, kernel_gate)
        self.gate = Gate(WIDTH, MODEL.grid)
        self.directory = LocalDirectory(self.backends, mirror_limit)
        self.layer = DMoELayer(self.grid, 0, self.gate, K, self.directory, {LOCAL: self.runtime}, balance)
        self.x = torch.randn(BATCH, WIDTH)
        self.gradient = torch.randn(BATCH, WIDTH)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.runtime.run())
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def break_down(self, direction: str, *cells: Coords) -> None:
        for cell in cells:
            self.backends[self.grid.uid(0, cell)].broken = [direction]

    def dense(self, x: Tensor, silent: Sequence[Coords] = ()) -> tuple[Tensor, Tensor]:
        """Every expert on every sample, weights of those not chosen or silent set to 0; and the balance loss."""
        cells = sorted(uid.coords for uid in self.backends)
        scores = add_up(self.gate(x), self.gate.columns(torch.tensor(cells)))
        chosen = scores.topk(min(K, len(cells))).indices
        answers = torch.zeros_like(scores, dtype=torch.bool).scatter(1, chosen, True)
        answers &= torch.tensor([cell not in silent for cell in cells])
        weights = torch.where(answers, scores.exp(), 0.0)
        total = weights.sum(1, keepdim=True)
        weights = weights / torch.where(total > 0, total, 1.0)
        outputs = torch.stack([self.backends[self.grid.uid(0, cell)].module(x) for cell in cells], dim=1)
        return torch.einsum("be,bew->bw", weights, outputs), balance_loss(scores, chosen)

    def dense_gradients(self, silent: Sequence[Coords] = ()) -> tuple[Tensor, list[Tensor], dict[Uid, Tensor]]:
        """autograd's, by the input, the gate and each expert (flat)."""
        x = self.x.clone().requires_grad_()
        y, balance = self.dense(x, silent)
        loss = (y * self.gradient).sum() + self.balance * BATCH * balance
        modules = {uid: list(backend.module.parameters()) for uid, backend in self.backends.items()}
        wanted = [x, *self.gate.parameters(), *itertools.chain(*modules.values())]
        by_x, *rest = torch.autograd.grad(loss, wanted, materialize_grads=True)
        gradients = iter(rest)
        by_gate = [next(gradients) for _ in self.gate.parameters()]
        return by_x, by_gate, {uid: torch.cat([next(gradients).flatten() for _ in p]) for uid, p in modules.items()}


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual.detach(), expected.detach(), rtol=0, atol=1e-9)


# Only a mirror knows experts that nobody chose: the balance loss of a search is over those it has met.
@pytest.mark.parametrize(("mirror_limit", "balance"), [(0, 0.0), (1000, BALANCE)], ids=["searched", "mirrored"])
@pytest.mark.parametrize("cells", [ALL, SPARSE, SPARSE[:2]], ids=["full", "sparse", "fewer-than-k"])
async def test_the_gradient_equals_autograds_on_the_dense_network(
    cells: list[Coords], mirror_limit: int, balance: float
) -> None:
    setup = Setup(cells, mirror_limit, balance)
    async with setup.serving():
        y, passed = await setup.layer.forward(setup.x)
        by_x, by_gate = await setup.layer.backward(passed, setup.gradient)

    dense_by_x, dense_by_gate, by_expert = setup.dense_gradients()
    close(y, setup.dense(setup.x)[0])
    close(by_x, dense_by_x)
    for actual, expected in zip(by_gate, dense_by_gate, strict=True):
        close(actual, expected)
    for uid, backend in setup.backends.items():
        close(backend.gathered if backend.pending else torch.zeros_like(by_expert[uid]), by_expert[uid])


async def test_experts_that_fail_are_left_out_and_the_weights_add_up_to_one_again() -> None:
    setup = Setup(SPARSE)
    silent = [(0, 1), (2, 2)]
    setup.break_down("forward", *silent)
    async with setup.serving():
        y, passed = await setup.layer.forward(setup.x)
        by_x, by_gate = await setup.layer.backward(passed, setup.gradient)

    assert not passed.weights.all(), "nobody had chosen the experts that fail"
    torch.testing.assert_close(passed.weights.sum(1), torch.ones(BATCH))
    dense_by_x, dense_by_gate, by_expert = setup.dense_gradients(silent)
    close(y, setup.dense(setup.x, silent)[0])
    close(by_x, dense_by_x)
    close(by_gate[0], dense_by_gate[0])
    for uid, backend in setup.backends.items():
        close(backend.gathered if backend.pending else torch.zeros_like(by_expert[uid]), by_expert[uid])


async def test_a_sample_without_any_answer_is_masked() -> None:
    setup = Setup(ALL)
    setup.break_down("forward", *ALL[:9])
    async with setup.serving():
        y, passed = await setup.layer.forward(setup.x)
        by_x, by_gate = await setup.layer.backward(passed, setup.gradient)

    assert passed.alive.any()
    assert not passed.alive.all()
    close(y[~passed.alive], torch.zeros_like(y[~passed.alive]))
    assert all(bool(tensor.isfinite().all()) for tensor in (y, by_x, *by_gate))
    close(by_x, setup.dense_gradients(ALL[:9])[0])


async def test_a_batch_that_lost_all_experts_is_masked_as_a_whole() -> None:
    setup = Setup(SPARSE)
    setup.break_down("forward", *SPARSE)
    async with setup.serving():
        y, passed = await setup.layer.forward(setup.x)
    assert not passed.alive.any()
    close(y, torch.zeros_like(y))


async def test_gradients_that_do_not_come_back_are_made_up_for_by_the_others() -> None:
    setup = Setup(SPARSE, balance=0.0)
    async with setup.serving():
        _, passed = await setup.layer.forward(setup.x)
        setup.break_down("backward", (0, 1), (2, 2))
        by_x, by_gate = await setup.layer.backward(passed, setup.gradient)

    lost = torch.tensor([cell in [(0, 1), (2, 2)] for cell in sorted(SPARSE)])
    missing = lost[passed.beam.chosen]
    weights = passed.weights * ~missing
    assert missing.any()
    assert weights.sum(1).all(), "a sample lost all its experts: choose another seed"
    weights = weights / weights.sum(1, keepdim=True)
    x = setup.x.clone().requires_grad_()
    outputs = torch.stack([setup.backends[setup.grid.uid(0, cell)].module(x) for cell in sorted(SPARSE)], dim=1)
    picked = outputs.gather(1, passed.beam.chosen.unsqueeze(2).expand(-1, -1, WIDTH))
    (through_experts,) = torch.autograd.grad(picked, x, weights.unsqueeze(2) * setup.gradient.unsqueeze(1))

    scores = add_up(setup.gate(x), passed.beam.columns).gather(1, passed.beam.chosen)
    mixture = torch.einsum("bk,bkw->bw", scores.softmax(1), passed.outputs)
    through_gate, *dense_by_gate = torch.autograd.grad(mixture, [x, *setup.gate.parameters()], setup.gradient)
    close(by_x, through_experts + through_gate)
    for actual, expected in zip(by_gate, dense_by_gate, strict=True):
        close(actual, expected)


@pytest.mark.parametrize("apart", [10.0, 720.0])
async def test_what_an_expert_that_hardly_counted_gives_is_not_blown_up(apart: float) -> None:
    """Of two experts one decides every sample, and its gradient does not come back: the other's weight is e^-apart."""
    favourite, other = (0, 0), (2, 2)
    setup = Setup([favourite, other], balance=0.0)
    with torch.no_grad():
        for parameter in setup.gate.parameters():
            parameter.zero_()
        [*setup.gate.parameters()][-1][setup.gate.columns(torch.tensor([favourite]))[0]] = apart / 2
    async with setup.serving():
        _, passed = await setup.layer.forward(setup.x)
        setup.break_down("backward", favourite)
        by_x, _ = await setup.layer.backward(passed, setup.gradient)
    faint = passed.weights.min(1, keepdim=True).values
    assert by_x.norm() <= 100 * (faint * setup.gradient).norm(), "it counts for no more than its weight allows"


class TwoHosts(LocalDirectory):
    """Experts in even rows of the grid live on one host, those in odd rows on another, (2, 2) on none any more."""

    async def hosts(self, uids: Sequence[Uid]) -> dict[Uid, tuple[str, ...]]:
        return {uid: ("odd" if uid.coords[0] % 2 else "even",) for uid in uids if uid.coords != (2, 2)}


class Recorder:
    """A host that notes what it is asked, and lets the Runtime answer."""

    standing = None

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.asked: list[tuple[str, list[Uid]]] = []

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        self.asked.append(("forward", [call.uid for call in calls]))
        return await self.runtime.forward(calls, passage, deadline, inference)

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        self.asked.append(("backward", [call.uid for call in calls]))
        return await self.runtime.backward(calls, passage, deadline)


async def test_a_host_gets_one_request_a_direction_with_one_call_for_each_expert() -> None:
    setup = Setup(ALL)
    hosts = {"even": Recorder(setup.runtime), "odd": Recorder(setup.runtime)}
    directory = TwoHosts(setup.backends)
    layer = DMoELayer(setup.grid, 0, setup.gate, K, directory, hosts, BALANCE)
    async with setup.serving():
        y, passed = await layer.forward(setup.x)
        await layer.backward(passed, setup.gradient)

    chosen = {passed.beam.cells[index] for index in passed.beam.chosen.flatten().tolist()}
    assert (2, 2) in chosen
    for name, rows in (("even", {0, 2}), ("odd", {1})):
        assert [direction for direction, _ in hosts[name].asked] == ["forward", "backward"]
        mine = sorted(setup.grid.uid(0, cell) for cell in chosen - {(2, 2)} if cell[0] in rows)
        for _, uids in hosts[name].asked:
            assert uids == mine
    close(y, setup.dense(setup.x, silent=[(2, 2)])[0])
