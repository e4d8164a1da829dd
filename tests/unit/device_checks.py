"""What must hold on any graphics processor: `test_device` asks it of a stand-in, `test_gpu` of a real one."""

import msgspec
import torch
from torch import Tensor

from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.device import CPU, Device

MODEL = Model("ffn_dmoe", 1, (2, 2), 320, 640, "ffn", 2)
"""Its weights are large enough to be gathered as factors."""
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 16, 60.0, 1.0, 0.0, 1, 1, 7)
UID = Uid("test", 0, (0, 1))


def expert(kind: str = "ffn", **training: float) -> ExpertBackend:
    model = msgspec.structs.replace(MODEL, expert=kind)
    return ExpertBackend(UID, model, msgspec.structs.replace(TRAINING, **training))


def samples(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Inputs and gradients."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, MODEL.width, generator=generator), torch.randn(n, MODEL.width, generator=generator)


def whole(backend: ExpertBackend) -> dict[str, Tensor]:
    """All that an expert must take along: weights, moments and counters, and what it has gathered."""
    gathered = backend.device.take(backend.gathered).clone() if backend.pending else torch.zeros(0)
    return {**backend.state(), "pending": torch.tensor(backend.pending), "gathered": gathered}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert tensor.is_cpu and other[name].is_cpu, name
        assert torch.equal(tensor, other[name]), name


def check_moves(device: Device, kind: str) -> None:
    """An expert goes to and fro, in the middle of what it gathers, and nothing of it changes on the way."""
    backend = expert(kind)
    for step in range(12):  # of 8 samples; every second one ends in an optimizer step
        before = whole(backend)
        backend.go_to(device if step % 3 else CPU)
        assert backend.device is (device if step % 3 else CPU)
        assert_same(whole(backend), before)
        x, gradient = samples(8, step)
        version = backend.version
        assert backend.forward(x).is_cpu
        assert backend.backward(x, gradient).is_cpu
        assert backend.version - version == step % 2
    assert (backend.version, backend.samples, backend.pending) == (6, 96, 0)


def check_results(device: Device, kind: str, tolerance: float) -> None:
    """A device computes what the processor computes."""
    here, there = expert(kind), expert(kind)
    there.go_to(device)
    for step in range(8):
        x, gradient = samples(12, step)
        torch.testing.assert_close(there.forward(x), here.forward(x), rtol=tolerance, atol=tolerance)
        weights = torch.linspace(0.1, 1.0, 12)
        torch.testing.assert_close(
            there.backward(x, gradient, weights), here.backward(x, gradient, weights), rtol=tolerance, atol=tolerance
        )
    assert (there.version, there.pending) == (here.version, here.pending)
    for name, tensor in here.state().items():
        torch.testing.assert_close(there.state()[name], tensor, rtol=tolerance, atol=tolerance)
