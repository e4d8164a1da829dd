"""One expert: how it starts, gathers gradients, takes a step, refuses what is not finite, and comes back."""

import itertools
from typing import Any

import msgspec
import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from core.contracts.errors import CheckpointError, ComputeError, ManifestError
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts import products
from core.experts.grid import Uid
from core.runtime.adam import Adam
from core.runtime.backend import BACKWARD, ExpertBackend, check_memory, useful_threads
from tests.experts import build

MODEL = Model("ffn_dmoe", 1, (2, 2), 8, 16, "ffn", 2)
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 8, 60.0, 1.0, 0.0, 1, 1, 7)
UID = Uid("test", 0, (0, 1))


def expert(uid: Uid = UID) -> ExpertBackend:
    return ExpertBackend(uid, MODEL, TRAINING)


def weights(backend: ExpertBackend) -> list[float]:
    return torch.cat([parameter.detach().flatten() for parameter in backend.module.parameters()]).tolist()


def test_an_expert_starts_the_same_everywhere_and_unlike_its_neighbours() -> None:
    torch.manual_seed(1)
    first = weights(expert())
    torch.manual_seed(2)
    assert weights(expert()) == first
    assert weights(expert(Uid("test", 0, (1, 1)))) != first
    assert torch.initial_seed() == 2, "building an expert disturbed the random numbers of others"


def test_an_expert_takes_memory_once_it_is_used() -> None:
    backend = expert()
    assert (backend.version, backend.samples, backend.input_shape, backend.dtype) == (0, 0, (8,), torch.float32)
    assert backend.weights == len(weights(expert()))
    assert not backend.is_used, "its weights are there already"
    backend.forward(torch.randn(1, 8))
    assert backend.is_used


def test_an_unknown_kind_names_those_that_exist() -> None:
    with pytest.raises(ManifestError, match=r"'lstm'.*ffn"):
        ExpertBackend(UID, Model("ffn_dmoe", 1, (2, 2), 8, 16, "lstm", 2), TRAINING)


def test_a_run_too_large_for_this_pc_is_refused_before_it_fills_its_memory() -> None:
    check_memory(MODEL, 4, 1 << 30)
    with pytest.raises(ManifestError, match=r"this PC has 1(\.0)? GB"):
        check_memory(msgspec.structs.replace(MODEL, width=16_384, hidden=16_384), 1, 1 << 30)
    with pytest.raises(ManifestError, match="Share them"):
        check_memory(MODEL, 256 * 4096**4, 1 << 30)


def test_adam_takes_the_steps_of_torch_optim() -> None:
    def module() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3))

    ours, theirs = module(), module()
    rules = msgspec.structs.replace(TRAINING, warmup_samples=32, decay_samples=72, clip=0.5)
    adam = Adam(ours, 0.01, rules)
    reference = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.9, 0.999), eps=1e-8)
    for step, scale in zip(range(1, 13), itertools.cycle([0.01, 10.0, 1e-5]), strict=False):
        gradients = [torch.randn_like(parameter) * scale for parameter in theirs.parameters()]
        for parameter, gradient in zip(theirs.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        reference.param_groups[0]["lr"] = 0.01 * min(1.0, step / 4, (9 / step) ** 0.5)
        reference.step()
        adam.step(torch.cat([gradient.flatten() for gradient in gradients]), samples=8)
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    assert (adam.version, adam.samples) == (12, 96)


def test_the_rate_falls_in_a_straight_line_to_the_planned_end_and_stays_at_a_twentieth() -> None:
    """Under a gradient that never changes Adam moves a weight by its rate, exactly."""
    module = nn.Linear(1, 1, bias=False)
    rules = msgspec.structs.replace(TRAINING, warmup_samples=0, decay_samples=10**12, planned_samples=160)
    adam = Adam(module, 0.01, rules, share=0.5)
    moved = []
    for _ in range(12):
        before = module.weight.item()
        adam.step(torch.tensor([0.5]), samples=8)
        moved.append(before - module.weight.item())
    rates = [0.01 * max(0.05, 1 - 0.95 * step / 10) for step in range(1, 13)]
    assert moved == pytest.approx(rates, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize("size", [8, 320])
def test_the_explicit_product_of_a_feed_forward_expert_is_that_of_autograd(size: int) -> None:
    module = build(msgspec.structs.replace(MODEL, width=size, hidden=2 * size), 0, UID)
    x, gradient = torch.randn(5, size), torch.randn(5, size)
    parameters = list(module.parameters())
    by_x, small, large = module.gradients(parameters, x, gradient)
    by_weights = dict(small) | {number: factors.left.T @ factors.right for number, factors in large}
    expected_x, expected = products.product(module, parameters, x, gradient)
    torch.testing.assert_close(by_x, expected_x)
    torch.testing.assert_close([by_weights[number] for number in range(len(parameters))], expected)


def test_small_experts_run_on_one_thread_and_large_ones_on_all() -> None:
    large = ExpertBackend(UID, msgspec.structs.replace(MODEL, width=256, hidden=768), TRAINING)
    assert useful_threads([expert()], threads=4) == 1
    assert useful_threads([expert(), large], threads=4) == 4


def test_forward_changes_nothing_and_backward_returns_the_gradient_by_the_inputs() -> None:
    backend = expert()
    before = weights(backend)
    x, gradient = torch.randn(3, 8), torch.randn(3, 8)
    y = backend.forward(x)
    assert not y.requires_grad
    assert weights(backend) == before

    by_x = backend.backward(x, gradient)
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(backend.module(leaf), leaf, gradient)
    torch.testing.assert_close(by_x, expected)
    assert weights(backend) == before, "three samples are fewer than the target"
    assert (backend.version, backend.pending, backend.samples) == (0, 3, 0)


def test_gradients_are_gathered_to_the_target_and_count_by_sample() -> None:
    x, gradient = torch.randn(8, 8), torch.randn(8, 8)
    whole, parts = expert(), expert()
    whole.backward(x, gradient)
    for rows in ([0], [1, 2, 3, 4, 5], [6, 7]):
        assert parts.version == 0
        parts.backward(x[rows], gradient[rows])
    assert (parts.version, parts.pending, parts.samples) == (1, 0, 8)
    assert weights(whole) != weights(expert())
    assert weights(parts) == pytest.approx(weights(whole), abs=1e-6)


def test_a_step_is_the_mean_of_its_samples_whatever_their_number() -> None:
    x, gradient = torch.randn(8, 8), torch.randn(8, 8) * 1e-3
    once, twice = expert(), expert()
    once.backward(x, gradient)
    twice.backward(x.repeat(2, 1), gradient.repeat(2, 1))
    assert weights(twice) == pytest.approx(weights(once), abs=1e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_is_refused_and_the_expert_untouched(bad: float) -> None:
    backend = expert()
    backend.backward(torch.randn(3, 8), torch.randn(3, 8))
    before, gathered = weights(backend), backend.gathered.clone()
    gradient = torch.randn(6, 8)
    gradient[2, 5] = bad
    with pytest.raises(ComputeError, match=r"test\.0\.0\.1.*refused"):
        backend.backward(torch.randn(6, 8), gradient)
    assert weights(backend) == before
    assert (backend.version, backend.pending) == (0, 3)
    torch.testing.assert_close(backend.gathered, gathered)


@pytest.mark.parametrize("kind", ["ffn", "transformer_ffn"])
def test_the_gradients_of_large_weights_are_gathered_without_being_written_out(kind: str) -> None:
    model = msgspec.structs.replace(MODEL, width=products.FACTORED // 320, hidden=320, expert=kind)
    backend = ExpertBackend(UID, model, TRAINING)
    batches = [(torch.randn(3, model.width), torch.randn(3, model.width)) for _ in range(2)]
    expected = torch.zeros(backend.weights)
    for x, gradient in batches:
        by_x, by_weights = products.product(backend.module, list(backend.module.parameters()), x, gradient)
        expected += torch.cat([part.flatten() for part in by_weights])
        torch.testing.assert_close(backend.backward(x, gradient), by_x)
    torch.testing.assert_close(backend.gathered, expected, rtol=1e-4, atol=1e-4)

    before = backend.gathered.clone()
    with pytest.raises(ComputeError, match="refused"):
        backend.backward(torch.full((3, model.width), 1e30), torch.full((3, model.width), 1e30))
    assert torch.equal(backend.gathered, before)
    assert backend.pending == 6


def train(backend: ExpertBackend, seed: int, steps: int = 3) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        backend.backward(torch.randn(8, 8, generator=generator), torch.randn(8, 8, generator=generator))


def test_an_expert_goes_on_from_its_state_as_if_nothing_had_happened() -> None:
    backend = expert()
    train(backend, seed=1)
    document = safetensors.torch.save(backend.state())
    copy = expert()
    copy.load_state(safetensors.torch.load(document))
    assert (copy.version, copy.samples) == (3, 24)
    train(backend, seed=2)
    train(copy, seed=2)
    assert weights(copy) == weights(backend)


def test_a_state_is_a_copy() -> None:
    backend = expert()
    state = backend.state()
    before = {name: tensor.clone() for name, tensor in state.items()}
    train(backend, seed=1)
    assert all(torch.equal(state[name], before[name]) for name in before)


def test_a_state_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    backend = expert()
    train(backend, seed=1)
    before, state = weights(backend), expert().state()
    name = "weights.enter.weight"
    wrong = [
        ({key: value for key, value in state.items() if key != name}, "other_tensors", name),
        ({key: value for key, value in state.items() if key != "samples"}, "other_tensors", "samples"),
        ({**state, "weights.other": torch.zeros(1)}, "other_tensors", "weights.other"),
        ({**state, name: torch.zeros(3, 3)}, "other_shape", name),
        ({**state, name: state[name].double()}, "other_shape", name),
        ({**state, name: state[name] * float("nan")}, "not_finite", name),
        ({**state, "version": torch.tensor(-1)}, "negative", "version"),
        ({**state, "square.enter.weight": state[name] * 0 - 1}, "negative", "square.enter.weight"),
        ({**state, "samples": torch.tensor(2**63 - 1)}, "impossible_count", "samples"),
    ]
    for document, code, named in wrong:
        with pytest.raises(CheckpointError) as error:
            backend.load_state(document)
        said = error.value.notice
        assert (said.code, said.args.get("names", said.args.get("name"))) == (f"checkpoint.{code}", named)
        assert weights(backend) == before
        assert backend.version == 3


class Work(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what is done: multiplications of matrices, and numbers that any operation reads or writes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.multiplications = self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        flat = [*args, *(part for arg in args if isinstance(arg, list) for part in arg), result]
        tensors = [item for item in flat if isinstance(item, Tensor) and not item.is_meta]
        if "mm" in func.__name__:
            self.multiplications += result.numel() * args[-1].shape[0]
        elif not (func.is_view or "empty" in func.__name__):
            self.numbers += sum(tensor.numel() for tensor in tensors)
        return result


def test_giving_the_machine_back_waits_for_a_pass_and_a_step_of_bounded_work() -> None:
    """A pass does `BACKWARD` times the work of a forward pass; a step goes over its vectors a few times."""
    model = msgspec.structs.replace(MODEL, width=256, hidden=1024, expert="transformer_ffn")
    backend = ExpertBackend(UID, model, msgspec.structs.replace(TRAINING, target_samples=1_000_000))
    x, gradient, matrices = torch.randn(32, 256), torch.randn(32, 256), 2 * 256 * 1024
    backend.backward(x, gradient)
    with Work() as work:
        backend.backward(x, gradient)
    assert work.multiplications == BACKWARD * 32 * matrices
    assert work.numbers < 2 * backend.weights, "something as large as the weights is copied for each pass"
    backend.step()
    backend.backward(x, gradient)
    with Work() as work:
        backend.step()
    assert work.multiplications == 0
    assert work.numbers <= 7.1 * backend.weights, "the optimizer goes over its vectors more often than it must"
