"""The run `text`: a causal network whose gradients are those of dense autograd, and which learns to read."""

import hashlib
import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
import torch

from core.contracts.errors import DataError, ManifestError
from core.contracts.manifest import Manifest, Shard
from core.store import shards
from core.training.data import text
from core.training.data.stream import Stream, open_stream
from core.training.data.text import HELD_OUT_WINDOWS
from core.training.models.transformer_dmoe import Attention
from tests.bench.throughput import PlainLoop
from tests.unit.text_run import SMALL, Setup, text_run, texts


def shards_run(folder: Path, parts: list[bytes], held_out: bytes) -> Manifest:
    """A run whose text is these shards, which are all here."""
    listed = [Shard(hashlib.sha256(part).hexdigest(), len(part)) for part in parts]
    listed.append(Shard(hashlib.sha256(held_out).hexdigest(), len(held_out), held_out=True))
    for shard, part in zip(listed, [*parts, held_out], strict=True):
        shards.accept(folder, shard, part)
    return msgspec.structs.replace(text_run(SMALL), shards=tuple(listed))


@pytest.fixture
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_samples_are_windows_whose_labels_are_the_next_bytes(tmp_path: Path) -> None:
    data = open_stream(text_run({"sequence": 32}), tmp_path)
    train, held_out = texts(text_run({}), tmp_path)
    assert data.samples == len(train) - 32
    for source, part in ((train, data[0]), (train, data[1]), (held_out, data.held_out)):
        assert part.inputs.shape == part.labels.shape == (len(part.inputs), 32)
        for row in (0, 1, len(part.inputs) - 1):
            inputs, labels = bytes(part.inputs[row].tolist()), bytes(part.labels[row].tolist())
            assert inputs[1:] == labels[:-1]
            assert inputs + labels[-1:] in source
    assert len(data.held_out.inputs) == HELD_OUT_WINDOWS
    assert bytes(data.held_out.inputs[-1].tolist()) in held_out[-len(held_out) // 40 :], "they end long before the text"


def test_a_run_that_does_not_fit_is_refused_in_words(tmp_path: Path) -> None:
    manifest = text_run(SMALL)
    with pytest.raises(DataError, match="run's folder"):
        open_stream(manifest)
    with pytest.raises(ManifestError, match="no sequence"):
        open_stream(text_run({"sequence": None}), tmp_path)


async def test_no_output_depends_on_what_comes_after_it(tmp_path: Path) -> None:
    setup = Setup(text_run(SMALL), tmp_path)
    text = setup.data[0].inputs[:1]
    changed = text.clone()
    changed[0, 9] = (text[0, 9] + 1) % 256
    async with setup.running():
        outputs, passes = await setup.trainer.infer(text)
        others, _ = await setup.trainer.infer(changed)
        shorter, _ = await setup.trainer.infer(text[:, :9])
    assert outputs.shape == (1, 16, 256)
    assert [passed.x.shape for passed in passes] == [(16, 16), (16, 16)], "each token is a row of its own"
    torch.testing.assert_close(others[:, :9], outputs[:, :9])
    torch.testing.assert_close(shorter, outputs[:, :9])
    assert bool((others[:, 9:] - outputs[:, 9:]).abs().amax(2).gt(1e-6).all())


@pytest.mark.usefixtures("double_precision")
def test_what_counts_is_how_far_apart_two_tokens_are() -> None:
    query, key = (Attention(16, 2, 12)._turn(torch.randn(8).expand(12, 8)) for _ in range(2))
    scores = query @ key.T
    for distance in range(-11, 12):
        along = scores.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along))
    assert float(scores[0].std()) > 1e-3


@pytest.mark.usefixtures("double_precision")
async def test_gradients_are_those_of_dense_autograd(tmp_path: Path) -> None:
    """Three steps of the trunk and of every expert; a wrong gradient is another step."""
    manifest = text_run(SMALL, in_flight=1, target_samples=1, batch=4, evaluate_every=1_000_000)
    setup, plain = Setup(manifest, tmp_path), PlainLoop(manifest, tmp_path)
    async with setup.running():
        await setup.trained(3)
    while plain.step < setup.trainer.step:
        plain.train_batch()
    assert setup.trainer.step >= 3
    assert setup.trainer.samples == plain.samples == setup.trainer.step * 4 * 16
    assert any(backend.version >= 3 for backend in setup.backends.values())
    states = [(setup.trainer.state(), plain.trunk_adam)]
    adams = [adam for row in plain.expert_adams for adam in row]
    states += [(backend.state(), adam) for backend, adam in zip(setup.backends.values(), adams, strict=True)]
    for state, adam in states:
        for name, expected in adam.state().items():
            torch.testing.assert_close(state[name], expected, rtol=0, atol=1e-9, msg=name)


async def test_a_token_that_no_expert_answered_is_not_counted(tmp_path: Path) -> None:
    setup = Setup(text_run(SMALL, in_flight=1, batch=4), tmp_path)
    answering = next(uid for uid in setup.backends if uid.layer == 1)
    for uid, backend in setup.backends.items():
        if uid.layer == 1 and uid != answering:
            backend.module.register_forward_hook(lambda *_: 1 / 0)
    async with setup.running():
        await setup.trained(4)
    assert 0 < setup.trainer.samples < 4 * 4 * 16


async def test_in_a_few_seconds_it_knows_more_than_how_often_each_byte_comes(tmp_path: Path) -> None:
    model = {"layers": 2, "width": 64, "hidden": 64, "sequence": 64, "grid": (2, 2), "heads": 2}
    setup = Setup(text_run(model, warmup_samples=20_000, in_flight=2, evaluate_every=50), tmp_path)
    _, held_out = texts(text_run({}), tmp_path)
    shares = [count / len(held_out) for count in Counter(held_out).values()]
    unigrams = -sum(share * math.log(share) for share in shares)
    async with setup.running():
        await setup.trained(200)
    first, last = setup.curve[0], setup.curve[-1]
    assert first.loss > unigrams
    assert last.loss < unigrams - 0.4
    assert last.accuracy > 0.3
    assert last.samples == last.step * 16 * 64


def windows_of_a_pass(data: Stream) -> Counter[bytes]:
    """How often each window of a pass over the text came."""
    rows = (row for number in range(data.samples // data.batch) for row in data[number].inputs.tolist())
    return Counter(map(bytes, rows))


def test_batches_start_anywhere_in_the_text_and_are_a_function_of_their_number(tmp_path: Path) -> None:
    data, other = (open_stream(text_run(SMALL, batch=8), tmp_path, shuffle) for shuffle in (0, 1))
    first = data[0].inputs
    later = data[data.samples // 8 + 5].inputs  # in the second pass
    assert torch.equal(first, data[0].inputs)
    assert torch.equal(later, open_stream(text_run(SMALL, batch=8), tmp_path)[data.samples // 8 + 5].inputs)
    assert not torch.equal(first, other[0].inputs)
    assert not torch.equal(first, data[1].inputs)


@pytest.mark.parametrize("together", [100, 2])
def test_every_window_comes_once_a_pass(together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the windows of all shards are shuffled together, or those of two at a time."""
    monkeypatch.setattr(text, "TOGETHER", together)
    parts = [bytes([number]) + number.to_bytes(2, "big") * 40 for number in range(7)]
    held_out = bytes(range(256)) * 2
    manifest = shards_run(tmp_path, parts, held_out)
    data, train = open_stream(manifest, tmp_path), b"".join(parts)
    expected = Counter(train[start : start + 16] for start in range(len(train) - 16))
    whole = data.samples // data.batch * data.batch
    seen = windows_of_a_pass(data)
    assert seen.total() == whole and not seen - expected
    again = [data[number].inputs for number in range(4)]
    assert not all(torch.equal(data[data.samples // data.batch + n].inputs, part) for n, part in enumerate(again))
    if together == 2:  # the first batches are of two shards, and later ones of all
        places = {train.find(bytes(row)) // len(parts[0]) for row in again[0].tolist()}
        assert len(places) <= 4


def test_of_a_large_text_little_is_in_memory(tmp_path: Path) -> None:
    """40 shards of 1 MB: the order of ten of them, and sixteen of them."""
    size, count = 1 << 20, 40
    parts = [hashlib.sha256(bytes([number])).digest() * (size // 32) for number in range(count)]
    manifest = shards_run(tmp_path, parts, parts[0][:4096])
    tracemalloc.start()
    data = open_stream(manifest, tmp_path)
    before = psutil.Process().memory_info().rss
    for number in (0, 1, 10**5, 10**6, data.samples // data.batch - 1):
        assert data[number].inputs.shape == (16, 16)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20  # shards; the order is torch's
    tracemalloc.stop()
    assert psutil.Process().memory_info().rss - before < 100 << 20


def test_a_shard_that_goes_meanwhile_is_told_in_words(tmp_path: Path) -> None:
    manifest = shards_run(tmp_path, [bytes(200)], bytes(range(100)) * 2)
    data = open_stream(manifest, tmp_path)
    (tmp_path / shards.FOLDER / manifest.shards[0].sha256).unlink()
    with pytest.raises(DataError, match=r"has gone or was changed.*Restart"):
        data[0]
