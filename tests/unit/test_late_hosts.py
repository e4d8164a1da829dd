"""Hosts that are late, silent or lie: who is waited for, who stands in, and what is mixed then. In simulated time."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.calls import Call, Output
from core.experts.directory import LocalDirectory
from core.experts.gathering import Rules
from core.experts.gating import Gate, add_up
from core.experts.grid import Grid, Uid
from core.experts.layer import DMoELayer, Passed
from core.experts.standing import Standing
from core.runtime.backend import ExpertBackend
from tests.bench.virtual_time import run

WIDTH, K, BATCH = 6, 3, 12
MODEL = Model("ffn_dmoe", 1, (3, 4), WIDTH, 10, "ffn", K)
NEVER = Training(8, 1e-3, 1e-3, 0, 100, 1_000_000, 3600.0, 1.0, 0.0, 1, 1, 5)
USUAL_S = 0.02
SILENT = 1e9
ROWS = "abc"
"""The host of each row of the grid."""


@pytest.fixture(autouse=True)
def double_precision_on_one_thread() -> Iterator[None]:
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


class Place:
    """A host with a delay for each direction, whose answers may be spoilt."""

    def __init__(self, backends: dict[Uid, ExpertBackend]) -> None:
        self.backends = backends
        self.standing = Standing("a host", self._probe, lambda: None, self._work)
        self.delay = {"forward": USUAL_S, "backward": USUAL_S}
        self.spoil: Callable[[Tensor], Tensor] = lambda rows: rows
        self.spoil_gradient: Callable[[Tensor], Tensor] = lambda rows: rows
        self.version: Callable[[], int] = lambda: 0
        self.asked: Counter[str] = Counter()
        self.cancelled: Counter[str] = Counter()

    async def _probe(self) -> bool:
        return True

    async def _work(self, within_s: float) -> bool:
        return True

    async def _wait(self, direction: str) -> None:
        self.asked[direction] += 1
        try:
            await asyncio.sleep(self.delay[direction])
        except asyncio.CancelledError:
            self.cancelled[direction] += 1
            raise

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        await self._wait("forward")
        version = self.version()
        return [Output(self.spoil(self.backends[call.uid].forward(call.inputs)), version) for call in calls]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        await self._wait("backward")
        return [self.spoil_gradient(self.spoil(self._product(call))) for call in calls]

    def _product(self, call: Call) -> Tensor:
        assert call.gradients is not None
        return self.backends[call.uid].backward(call.inputs, call.gradients)


class Swarm(LocalDirectory):
    """One host for each row of the grid."""

    async def hosts(self, uids: Sequence[Uid]) -> dict[Uid, tuple[str, ...]]:
        return {uid: (ROWS[uid.coords[0]],) for uid in uids}


class Setup:
    def __init__(self, k_min: int, audit: float = 0.0) -> None:
        self.grid = Grid("test", 1, MODEL.grid)
        self.backends = {uid: ExpertBackend(uid, MODEL, NEVER) for uid in self.grid.uids()}
        self.gate = Gate(WIDTH, MODEL.grid)
        self.places = {name: Place(self.backends) for name in ROWS}
        self.points: Counter[str] = Counter()
        self.layer = DMoELayer(
            self.grid, 0, self.gate, K, Swarm(self.backends), self.places, 0.0, Rules(k_min, 1.0, audit), self._suspect
        )
        self.x, self.gradient = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def _suspect(self, host: str, points: float, why: str) -> None:
        self.points[host] += int(points)

    async def warm_up(self) -> None:
        """After this the layer knows how long each host usually takes."""
        for _ in range(20):
            _, passed = await self.layer.forward(self.x)
            await self.layer.backward(passed, self.gradient)
        for backend in self.backends.values():
            backend.pending, backend.gathered = 0, torch.zeros(0)

    def autograd(self, passed: Passed) -> tuple[Tensor, Tensor, list[Tensor], dict[Uid, Tensor]]:
        """What was mixed, computed densely: the mixture and its gradients by x, the gate and each expert."""
        x = self.x.clone().requires_grad_()
        cells = list(itertools.product(range(3), range(4)))
        scores = add_up(self.gate(x), self.gate.columns(torch.tensor(cells))).gather(1, passed.mixed)
        weights = torch.where(passed.weights > 0, scores, -torch.inf).softmax(1)
        outputs = torch.stack([self.backends[self.grid.uid(0, cell)].module(x) for cell in cells], 1)
        picked = outputs.gather(1, passed.mixed.unsqueeze(2).expand(-1, -1, WIDTH))
        y = torch.einsum("bk,bkw->bw", weights, picked)
        experts = {uid: list(backend.module.parameters()) for uid, backend in self.backends.items()}
        wanted = [x, *self.gate.parameters(), *itertools.chain(*experts.values())]
        by_x, *rest = torch.autograd.grad((y * self.gradient).sum(), wanted, materialize_grads=True)
        each = iter(rest)
        by_gate = [next(each) for _ in self.gate.parameters()]
        return y, by_x, by_gate, {uid: torch.cat([next(each).flatten() for _ in p]) for uid, p in experts.items()}


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual.detach(), expected.detach(), rtol=0, atol=1e-9)


async def trained(setup: Setup) -> tuple[Passed, float, float]:
    """One batch forward and backward, compared with autograd; what happened and how long each way took."""
    clock = asyncio.get_running_loop().time
    start = clock()
    y, passed = await setup.layer.forward(setup.x)
    middle = clock()
    by_x, by_gate = await setup.layer.backward(passed, setup.gradient)
    end = clock()
    dense_y, dense_by_x, dense_by_gate, by_expert = setup.autograd(passed)
    close(y, dense_y)
    close(passed.weights.sum(1), torch.ones(BATCH))
    close(by_x, dense_by_x)
    for actual, expected in zip(by_gate, dense_by_gate, strict=True):
        close(actual, expected)
    for uid, backend in setup.backends.items():
        close(backend.gathered if backend.pending else torch.zeros_like(by_expert[uid]), by_expert[uid])
    return passed, middle - start, end - middle


def test_a_host_that_falls_silent_is_cut_off_once_every_sample_has_enough_answers() -> None:
    async def main() -> None:
        setup = Setup(k_min=1)
        setup.x = setup.x[setup_rows(setup, lambda rows: len(set(rows)) > 1)].repeat(BATCH, 1)[:BATCH]
        await setup.warm_up()
        setup.places["c"].delay["forward"] = SILENT
        passed, forward_s, _ = await trained(setup)
        assert "c" not in passed.hosts
        assert None in passed.hosts
        assert forward_s < 0.2, "as late as the host usually is never"
        assert passed.blocked_s == [pytest.approx(forward_s - USUAL_S), 0.0]
        assert setup.places["c"].cancelled["forward"] == 1
        assert (passed.mixed == passed.beam.chosen).all(), "nobody had to stand in"

    run(main())


def setup_rows(setup: Setup, wanted: Callable[[list[int]], bool]) -> list[int]:
    """The samples whose chosen experts live in rows of the grid that are `wanted`."""
    cells = torch.tensor(list(itertools.product(range(3), range(4))))
    chosen = add_up(setup.gate(setup.x), setup.gate.columns(cells)).topk(K).indices
    rows = [sample for sample, picked in enumerate((chosen // 4).tolist()) if wanted(picked)]
    assert rows, "choose another seed"
    return rows


def test_spares_stand_in_for_a_silent_host_and_the_gradient_is_theirs() -> None:
    async def main() -> None:
        setup = Setup(k_min=K)
        await setup.warm_up()
        setup.places["c"].delay["forward"] = SILENT
        passed, forward_s, backward_s = await trained(setup)
        assert forward_s < 0.3 and backward_s < 0.1
        assert passed.blocked_s == [pytest.approx(forward_s - USUAL_S), 0.0]
        scores = add_up(setup.gate(setup.x), setup.gate.columns(torch.tensor(passed.beam.cells)))
        best = scores[:, :8].topk(K).indices  # rows a and b of the grid
        assert sorted(map(sorted, passed.mixed.tolist())) == sorted(map(sorted, best.tolist()))
        assert setup.places["c"].asked["backward"] == 20, "it was asked for gradients of what was not mixed"

    run(main())


@pytest.mark.parametrize("delay", [0.101, 0.11, 0.119, 0.125, 0.13, 0.2])
def test_of_an_expert_and_its_spare_the_first_answer_counts(delay: float) -> None:
    async def main() -> None:
        setup = Setup(k_min=K)
        await setup.warm_up()
        setup.places["c"].delay["forward"] = delay
        passed, _, _ = await trained(setup)
        assert ("c" in passed.hosts) == (delay < 0.1 + USUAL_S)

    run(main())


def test_a_host_that_fails_is_replaced_at_once() -> None:
    class Failing(Place):
        async def forward(
            self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
        ) -> list[Output | None]:
            return [None] * len(calls)

    async def main() -> None:
        setup = Setup(k_min=K)
        setup.places["c"] = Failing(setup.backends)
        passed, forward_s, _ = await trained(setup)
        assert "c" not in passed.hosts
        assert forward_s == pytest.approx(USUAL_S), "it waited before it asked others"

    run(main())


def test_gradients_that_do_not_come_are_not_waited_for() -> None:
    async def main() -> None:
        setup = Setup(k_min=1)
        setup.x = setup.x[setup_rows(setup, lambda rows: len(set(rows)) > 1)].repeat(BATCH, 1)[:BATCH]
        await setup.warm_up()
        _, passed = await setup.layer.forward(setup.x)
        setup.places["c"].delay["backward"] = SILENT
        start = asyncio.get_running_loop().time()
        by_x, _ = await setup.layer.backward(passed, setup.gradient)
        took_s = asyncio.get_running_loop().time() - start
        assert took_s < 0.2
        assert passed.blocked_s == [0.0, pytest.approx(took_s - USUAL_S)]
        assert setup.places["c"].cancelled["backward"] == 1
        assert by_x.isfinite().all()

    run(main())


def test_a_host_that_is_cut_off_twice_running_is_suspended() -> None:
    async def main() -> None:
        setup = Setup(k_min=1)
        setup.x = setup.x[setup_rows(setup, lambda rows: len(set(rows)) > 1)].repeat(BATCH, 1)[:BATCH]
        await setup.warm_up()
        setup.places["c"].delay["forward"] = 0.4
        await setup.layer.forward(setup.x)
        assert not setup.places["c"].standing.suspended, "once may be chance"
        await setup.layer.forward(setup.x)
        assert setup.places["c"].standing.suspended
        assert not setup.places["a"].standing.suspended

    run(main())


def test_nobody_is_waited_for_beyond_the_greatest_patience() -> None:
    async def main() -> None:
        setup = Setup(k_min=2)
        for place in setup.places.values():
            place.delay["forward"] = SILENT
        start = asyncio.get_running_loop().time()
        y, passed = await setup.layer.forward(setup.x)
        assert asyncio.get_running_loop().time() - start <= 2.0
        assert not passed.alive.any() and not y.any()

    run(main())


LIES: dict[str, Callable[[Tensor], Tensor]] = {
    "nan": lambda rows: rows * torch.nan,
    "infinity in one row": lambda rows: torch.cat([rows[:-1], rows[-1:] / 0.0]),
    "another shape": lambda rows: rows[:, :-1],
    "another type": lambda rows: rows.float(),
    "huge": lambda rows: rows * 100,
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_cannot_be_right_is_left_out_and_its_host_suspected(lie: str) -> None:
    async def main() -> None:
        setup = Setup(k_min=1)
        await setup.warm_up()
        assert not setup.points
        setup.places["b"].spoil = LIES[lie]
        y, passed = await setup.layer.forward(setup.x)
        assert "b" not in passed.hosts
        assert set(setup.points) == {"b"}
        assert y.isfinite().all()
        close(y, setup.autograd(passed)[0] if passed.alive.all() else y)
        setup.places["b"].spoil = lambda rows: rows
        _, passed = await setup.layer.forward(setup.x)
        setup.places["b"].spoil = LIES[lie]
        by_x, _ = await setup.layer.backward(passed, setup.gradient)
        assert by_x.isfinite().all() and by_x.norm() < 100 * setup.gradient.norm()

    run(main())


@pytest.mark.parametrize(("versions", "batches"), [(itertools.repeat(0), 3), (itertools.count(), 24)])
def test_noise_is_found_by_repeating_requests_and_honest_hosts_are_not_accused(
    versions: Iterator[int], batches: int
) -> None:
    """Also where its host names another version each time, of which some are excused."""

    async def main() -> None:
        setup = Setup(k_min=1, audit=0.01)
        setup.places["b"].spoil = torch.randn_like
        setup.places["b"].version = versions.__next__
        for _ in range(batches):
            await setup.layer.forward(setup.x)
            await asyncio.sleep(2 * USUAL_S)
        assert setup.points["b"] >= 10, "no ban"
        assert set(setup.points) == {"b"}

    run(main())


FALSE: dict[str, Callable[[Tensor], Tensor]] = {
    "noise of the right size": lambda rows: torch.randn_like(rows) * rows.norm() / rows.numel() ** 0.5,
    "those of other rows": lambda rows: rows.roll(1, 0),
    "uphill": lambda rows: -rows,
}


@pytest.mark.parametrize("lie", FALSE)
def test_false_gradients_are_found_by_trying_them_and_honest_hosts_are_not_accused(lie: str) -> None:
    async def main() -> None:
        setup = Setup(k_min=1, audit=0.01)
        setup.x, setup.gradient = torch.randn(64, WIDTH), torch.randn(64, WIDTH)
        setup.places["b"].spoil_gradient = FALSE[lie]
        for _ in range(4):
            _, passed = await setup.layer.forward(setup.x)
            await setup.layer.backward(passed, setup.gradient)
            await asyncio.sleep(2 * USUAL_S)
        assert setup.points["b"] >= 10, "no ban"
        assert set(setup.points) == {"b"}

    run(main())


@torch.no_grad()
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_hosts_that_went_on_with_another_state_in_between_are_not_accused(direction: str) -> None:
    async def main() -> None:
        setup = Setup(k_min=1, audit=1.0)

        def take_over(version: int) -> None:
            for parameter in itertools.chain(*(backend.module.parameters() for backend in setup.backends.values())):
                parameter.copy_(torch.randn_like(parameter))
            for place in setup.places.values():
                place.version = lambda: version

        take_over(1)
        for version in (9, 4):
            _, passed = await setup.layer.forward(setup.x)
            if direction == "backward":
                await asyncio.sleep(2 * USUAL_S)  # the forward's audit has ended
                await setup.layer.backward(passed, setup.gradient)
            take_over(version)  # while the audit is on its way
            await asyncio.sleep(2 * USUAL_S)
        assert not setup.points

    run(main())
