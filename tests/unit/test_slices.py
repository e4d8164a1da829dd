"""Large experts: what takes long is done in slices, between which the user may come back; it is whole for everybody."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from core.compute.saving import copied
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.calls import Call
from core.experts.grid import Uid
from core.experts.kinds import expert as experts
from core.runtime import adam, backend
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.runtime.threads import team
from tests.unit.test_backend import Work

MODEL = Model("ffn_dmoe", 1, (2, 2), 48, 96, "ffn", 2)
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 16, 3600.0, 1.0, 0.0, 1, 1, 7)
UID = Uid("test", 0, (0, 1))
SLICE = 1000
"""Of the 19,000 numbers of these experts."""
ROWS = 16
"""Samples that make a step."""


@pytest.fixture(params=[1, 2])
def slices(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """For one thread and for two."""
    monkeypatch.setattr(adam, "SLICE", SLICE)
    monkeypatch.setattr(backend, "SLICE", SLICE)
    threads = team.threads
    team.resize(request.param)
    yield
    team.resize(threads)


def expert(kind: str = "ffn") -> ExpertBackend:
    return ExpertBackend(UID, msgspec.structs.replace(MODEL, expert=kind), TRAINING)


def samples(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(ROWS, 48, generator=generator), torch.randn(ROWS, 48, generator=generator)


def whole(seeds: range, kind: str = "ffn") -> dict[str, Tensor]:
    """The state of an expert that was trained in one piece."""
    made = expert(kind)
    for seed in seeds:
        made.backward(*samples(seed))
        made.forward(samples(seed)[0])
    return {name: tensor.clone() for name, tensor in made.state().items()}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=0, atol=1e-7, msg=name)


@pytest.mark.parametrize("kind", ["ffn", "transformer_ffn"])
@pytest.mark.parametrize("each", [1, 999, 1 << 20])
def test_a_new_expert_begins_as_pytorchs_layers_do_however_it_is_cut(kind: str, each: int) -> None:
    model = msgspec.structs.replace(MODEL, width=10, hidden=30, expert=kind)
    seed = int.from_bytes(hashlib.sha256(f"7:{UID}".encode()).digest()[:4], "big")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        expected = experts.kind_of(model)(model)
    module, vector = experts.blank(model)
    for _ in experts.filling(module, 7, UID, each):
        pass
    for name, parameter in expected.named_parameters():
        assert torch.equal(module.get_parameter(name), parameter), name
    assert torch.equal(vector, torch.cat([parameter.detach().flatten() for parameter in expected.parameters()]))


@pytest.mark.parametrize("kind", ["ffn", "transformer_ffn"])
def test_whoever_looks_ends_what_was_begun(slices: None, kind: str) -> None:
    """After any number of slices of first values and of a step: weights, outputs, a copy, and what comes after."""
    x, _ = samples(0)
    first, second = whole(range(1), kind), whole(range(2), kind)
    outputs = expert(kind)
    outputs.load_state(first)

    def goes_on(one: ExpertBackend) -> None:
        one.backward(*samples(1))
        assert_same(second, one.state())

    def takes_over(one: ExpertBackend) -> None:
        one.load_state(second)
        assert_same(second, one.state())

    looks: list[Callable[[ExpertBackend], None]] = [
        lambda one: assert_same(first, one.state()),
        lambda one: torch.testing.assert_close(one.forward(x), outputs.forward(x)),
        lambda one: torch.testing.assert_close(one.module(x), outputs.module(x)),
        goes_on,
        takes_over,
    ]
    for look in looks:
        for begun in (0, 1, 3, 100):
            one = expert(kind)
            for _ in range(begun):
                one.prepare(backward=True)
            one.backward(*samples(0))
            assert one.has_begun and (one.version, one.samples, one.pending) == (1, ROWS, 0)
            for _ in range(begun):
                one.prepare()
            look(one)
            assert not one.has_begun or one.version == 2


def test_a_copy_is_of_one_moment_also_if_a_step_comes_meanwhile(slices: None) -> None:
    first, second = whole(range(1)), whole(range(2))
    for done in (0, 1, 10, 30, 100):
        one = expert()
        one.backward(*samples(0))
        state = one.begin_copy()
        for _ in range(done):
            one.prepare()
        one.backward(*samples(1))
        assert_same(first, state)
        assert_same(second, one.state())


def test_a_refused_step_leaves_nothing_behind(slices: None) -> None:
    one = expert()
    one.backward(*samples(0))
    before = one.state()
    one.backward(samples(1)[0][:1], samples(1)[1][:1])
    one.gathered.fill_(float("inf"))
    with pytest.raises(Exception, match="refused"):
        one.step()
    assert_same(before, one.state())
    one.backward(*samples(1))
    assert_same(whole(range(2)), one.state())


async def served(kernels: int) -> tuple[ExpertBackend, int]:
    """An expert after a request whose user came back before its kernel of that number, and went again; and the number
    of all kernels."""
    one, kernel_gate = expert(), KernelGate()
    runtime = Runtime({UID: one}, kernel_gate)
    made, run_now = 0, kernel_gate.run_now

    def counted(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        return run_now(*arguments)

    def look() -> None:
        if made == kernels:
            kernel_gate.close()

    kernel_gate.run_now, kernel_gate.poll = counted, look  # type: ignore[method-assign, assignment]
    kernel_gate.open()
    request = runtime.submit([Call(UID, *samples(0))], "backward")
    while runtime.serve_next():
        pass
    assert made == kernels or request.answers.done()
    if one.version:  # what is saved then
        saved = await copied(one)
        assert (saved.version, saved.samples) == (1, ROWS)
        assert_same(whole(range(1)), saved.tensors)
    kernel_gate.poll = lambda: None
    kernel_gate.open()
    while runtime.serve_next():
        pass
    assert request.answers.done() and not one.has_begun
    return one, made


async def test_between_all_slices_the_user_may_come_back_and_nothing_is_lost(slices: None) -> None:
    _, kernels = await served(-1)
    assert kernels > 30
    for number in range(kernels + 1):
        one, _ = await served(number)
        assert_same(whole(range(1)), one.state())


async def test_no_kernel_but_a_pass_touches_more_than_a_slice(slices: None) -> None:
    one, kernel_gate = expert("transformer_ffn"), KernelGate()
    kernel_gate.open()
    runtime = Runtime({UID: one}, kernel_gate)
    run_now, seen = kernel_gate.run_now, list[Work]()

    def watched(*arguments: Any) -> Any:
        with Work() as work:
            seen.append(work)
            return run_now(*arguments)

    kernel_gate.run_now = watched  # type: ignore[method-assign, assignment]
    request = runtime.submit([Call(UID, *samples(0))], "backward")
    while runtime.serve_next():
        pass
    assert request.answers.done() and one.version == 1 and not one.has_begun
    passes = [work for work in seen if work.multiplications]
    assert len(passes) == 1 and len(seen) > 3 * one.weights // SLICE // team.threads
    assert max(work.numbers for work in seen if not work.multiplications) <= 12 * SLICE * team.threads
