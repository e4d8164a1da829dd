"""The threads that share a pass: what they do together is what one does alone."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest
import torch

from core.contracts.errors import ComputeError
from core.contracts.manifest import Training
from core.contracts.model import Model
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.threads import MIN_WORK, team

MODEL = Model("ffn_dmoe", 1, (2, 2), 256, 1024, "transformer_ffn", 2)
TRAINING = Training(8, 1e-3, 1e-2, 5, 100, 1000, 60.0, 1.0, 0.0, 1, 1, 7)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    team.resize(1)


def expert() -> ExpertBackend:
    return ExpertBackend(Uid("test", 0, (0, 1)), MODEL, TRAINING)


def test_a_thread_that_is_held_up_leaves_its_work_to_the_others() -> None:
    team.resize(2)
    others, held = threading.Event(), list[int]()

    def job(number: int) -> int:
        if threading.current_thread() is not threading.main_thread():
            held.append(number)
            assert others.wait(60), "nobody else went on"
        elif number == 7 or held == [7]:
            others.set()
        return number

    assert team.run([partial(job, number) for number in range(8)]) == list(range(8))
    assert len(held) <= 1


def test_what_fails_in_any_thread_is_told() -> None:
    team.resize(2)

    def fail(number: int) -> int:
        raise ComputeError(f"job {number}")

    with pytest.raises(ComputeError, match="job"):
        team.run([partial(fail, number) for number in range(4)])
    assert team.run([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]


def test_small_passes_are_not_divided() -> None:
    team.resize(4)
    assert team.cut(64, MIN_WORK) == [slice(0, 64)]
    pieces = team.cut(67, 100 * MIN_WORK)
    assert len(pieces) == 8 and sum(piece.stop - piece.start for piece in pieces) == 67
    team.resize(1)
    assert team.cut(64, 100 * MIN_WORK) == [slice(0, 64)]


def test_several_threads_train_an_expert_as_one_does() -> None:
    generator = torch.Generator().manual_seed(1)
    batches = [[torch.randn(n, 256, generator=generator) for _ in range(2)] for n in (300, 700, 400)]
    alone, together = expert(), expert()
    for x, gradient in batches:
        team.resize(1)
        y, by_x = alone.forward(x), alone.backward(x, gradient)
        team.resize(3)
        torch.testing.assert_close(together.forward(x), y, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(together.backward(x, gradient), by_x, rtol=1e-3, atol=1e-4)
    assert alone.version == together.version == 1
    torch.testing.assert_close(together.gathered, alone.gathered, rtol=1e-3, atol=1e-2)
    for name, tensor in alone.state().items():
        torch.testing.assert_close(together.state()[name], tensor, rtol=1e-3, atol=1e-5, msg=name)


def test_what_is_refused_in_one_piece_is_refused_in_all() -> None:
    team.resize(2)
    backend = expert()
    backend.backward(torch.randn(300, 256), torch.randn(300, 256))
    before, gradient = backend.gathered.clone(), torch.randn(300, 256)
    gradient[299, 3] = float("nan")
    with pytest.raises(ComputeError, match="refused"):
        backend.backward(torch.randn(300, 256), gradient)
    assert torch.equal(backend.gathered, before) and backend.pending == 300
