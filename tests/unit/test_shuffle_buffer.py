"""Data that come shard by shard: training begins with the first, what is drawn is mixed, a restart loses nothing."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil
import pytest
import torch

from core.contracts.errors import CheckpointError, DataError, ManifestError
from core.contracts.manifest import Manifest, Shard
from core.contracts.pipe import Reading
from core.contracts.trunk import VcAsgd
from core.store import shards
from core.training.data import shuffle_buffer
from core.training.data.shuffle_buffer import CAPACITY, SHARE, ShuffleBuffer
from core.training.data.stream import open_stream, unheard
from core.training.data.text import TextStream
from tests.shards import listed_run, put, texts

SEQUENCE = 15
WINDOW = SEQUENCE + 1


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_buffer, "LOOK_S", 0.0)


def small(manifest: Manifest, batch: int = 16) -> Manifest:
    training = msgspec.structs.replace(manifest.training, batch=batch)
    return msgspec.structs.replace(
        manifest, model=msgspec.structs.replace(manifest.model, sequence=SEQUENCE), training=training
    )


def marked(count: int, rows: int) -> list[bytes]:
    """Shards of which each byte tells the number; the held-out one is the last."""
    return [bytes([number]) * (rows * SEQUENCE + WINDOW) for number in range(count)]


def run_of(folder: Path, contents: Sequence[bytes], batch: int = 16) -> tuple[Manifest, list[Shard]]:
    parts = put(folder, contents)
    return small(listed_run(parts, folder), batch), parts


def opened(manifest: Manifest, folder: Path, shuffle: int = 0, told: list[Reading] | None = None) -> ShuffleBuffer:
    stream = open_stream(manifest, folder, shuffle, unheard if told is None else told.append)
    assert isinstance(stream, ShuffleBuffer)
    return stream


def drawn(stream: ShuffleBuffer, batches: int, first: int = 0) -> list[bytes]:
    """The samples of so many batches, each done before the next."""
    rows: list[bytes] = []
    for number in range(first, first + batches):
        part = stream[number]
        stream.done(number)
        assert torch.equal(part.inputs[:, 1:], part.labels[:, :-1])
        rows += [bytes(row) for row in torch.cat([part.inputs, part.labels[:, -1:]], 1).tolist()]
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "text-1"


def test_training_begins_with_the_first_shard_and_those_that_come_are_mixed_in(folder: Path) -> None:
    manifest, parts = run_of(folder, marked(41, 2000))
    own = shards.own_folder(folder)
    later = {part: (own / part.sha256).read_bytes() for part in parts[1:-1]}
    for part in later:
        (own / part.sha256).unlink()
    stream = opened(manifest, folder)
    assert {row[0] for row in drawn(stream, 20)} == {0}
    for part, content in later.items():
        (own / part.sha256).write_bytes(content)
    drawn(stream, 20)
    seen = Counter(row[0] for row in drawn(stream, 100))
    assert len(seen) >= 10 and max(seen.values()) < 0.3 * seen.total(), "the first shard had filled the buffer"


def test_the_buffer_holds_ten_thousand_samples_of_at_least_ten_shards(folder: Path) -> None:
    manifest, _ = run_of(folder, marked(31, 3000))
    stream = opened(manifest, folder)
    for number in range(0, 1000, 100):
        drawn(stream, 100, number)
        inside = Counter(stream._buffer.shards())
        assert CAPACITY - 16 <= inside.total() <= CAPACITY
        assert len(inside) >= 10 and max(inside.values()) <= 2 * SHARE


def test_each_batch_is_a_fair_draw_from_several_shards(folder: Path) -> None:
    """As far as independent draws would go: of 16 samples from ten shards about 8.1 shards are seen, and neighbours in
    a shard are no likelier to come together."""
    manifest, _ = run_of(folder, marked(31, 3000))
    stream = opened(manifest, folder)
    rows = drawn(stream, 400)
    different = [len({row[0] for row in rows[at : at + 16]}) for at in range(0, len(rows), 16)]
    expected = 10 * (1 - 0.9**16)
    assert abs(sum(different) / len(different) - expected) < 0.5
    same = sum(one[0] == two[0] for one, two in itertools.pairwise(rows)) / len(rows)
    assert same < 0.13  # 0.1 by chance


def test_every_sample_comes_once_in_a_pass(folder: Path) -> None:
    contents = texts(25, 41 * SEQUENCE)
    manifest, _ = run_of(folder, contents, batch=8)
    stream = opened(manifest, folder)
    rows = Counter(drawn(stream, 24 * 40 // 8))
    assert max(rows.values()) <= 2 and len(rows) > 0.9 * 24 * 40, "passes overlap only at their ends"
    assert all(any(row in content for content in contents[:-1]) for row in rows)
    again = drawn(stream, 24 * 40 // 8)
    assert sum(row in rows for row in again) < len(again) / 2, "the windows of a second use begin elsewhere"


def test_each_peer_has_an_order_of_its_own_which_is_the_same_each_time(folder: Path) -> None:
    manifest, _ = run_of(folder, marked(60, 300))
    first, again, other = (Counter(row[0] for row in drawn(opened(manifest, folder, n), 10)) for n in (1, 1, 2))
    assert first == again != other
    assert len(first.keys() & other.keys()) < len(first)


def test_a_restart_goes_on_at_the_sample(folder: Path) -> None:
    manifest, _ = run_of(folder, texts(40, 200 * SEQUENCE), batch=8)
    stream = opened(manifest, folder)
    drawn(stream, 300)
    state = {name: tensor.clone() for name, tensor in stream.state().items()}
    on = drawn(stream, 300)
    again = opened(manifest, folder)
    again.load_state(state)
    assert drawn(again, 300) == on


def test_what_was_on_the_way_comes_again_and_what_was_done_does_not(folder: Path) -> None:
    contents = texts(13, 41 * SEQUENCE)
    manifest, _ = run_of(folder, contents, batch=8)
    stream = opened(manifest, folder)
    done = {row[:-1] for row in drawn(stream, 20)}
    batches = [{bytes(row) for row in stream[number].inputs.tolist()} for number in (20, 21, 22)]
    stream.done(21)  # in whatever order
    again = opened(manifest, folder)
    again.load_state(stream.state())
    done |= batches[1]
    inside = {bytes(row[:-1].tolist()) for row in again._buffer.content}
    assert batches[0] | batches[2] <= inside and not inside & done
    assert len(inside) == len(again._buffer.content) == 12 * 40 - 21 * 8, "each of the others once"
    left = [row[:-1] for row in drawn(again, 25)]
    assert len(set(left)) == len(left) and not done & set(left)


def test_a_batch_that_failed_comes_again(folder: Path) -> None:
    manifest, _ = run_of(folder, texts(13, 41 * SEQUENCE), batch=8)
    stream = opened(manifest, folder)
    failed = {bytes(row.tolist()) for row in stream[0].inputs}
    stream.drop(0)
    rows = [row[:-1] for row in drawn(stream, 12 * 40 // 8 * 2, 1)]
    assert failed <= set(rows)
    assert len(set(rows[:300])) == 300


def test_what_is_gone_at_the_restart_is_left_out_and_the_rest_goes_on(folder: Path) -> None:
    manifest, parts = run_of(folder, marked(30, 200), batch=8)
    stream = opened(manifest, folder)
    drawn(stream, 50)
    state, inside = stream.state(), Counter(stream._buffer.shards())
    gone, damaged = list(inside)[:2]
    own = shards.own_folder(folder)
    (own / parts[gone].sha256).unlink()
    (own / parts[damaged].sha256).write_bytes(b"x" * parts[damaged].size)
    again = opened(manifest, folder)
    again.load_state(state)
    seen = {row[0] for row in drawn(again, 400)}
    assert seen == set(range(29)) - {gone, damaged}


def test_a_checkpoint_of_other_data_is_refused(folder: Path, tmp_path: Path) -> None:
    manifest, _ = run_of(folder, marked(30, 200))
    other, _ = run_of(tmp_path / "runs" / "other", marked(20, 200))
    stream = opened(manifest, folder)
    with pytest.raises(CheckpointError):
        stream.load_state(opened(other, tmp_path / "runs" / "other").state())
    stream.load_state({})  # of a trainer that had no such stream
    assert drawn(stream, 1)


def test_who_gets_no_more_shards_trains_on_those_that_it_has(folder: Path) -> None:
    manifest, parts = run_of(folder, marked(30, 100), batch=8)
    for part in parts[2:-1]:
        (shards.own_folder(folder) / part.sha256).unlink()
    stream = opened(manifest, folder)
    seen = Counter(row[0] for row in drawn(stream, 100))
    assert seen.keys() == {0, 1} and min(seen.values()) > 300


def test_compute_tells_what_it_reads_and_what_it_needs_no_more(folder: Path) -> None:
    manifest, _ = run_of(folder, marked(60, 50), batch=10)
    told: list[Reading] = []
    stream = opened(manifest, folder, told=told)
    drawn(stream, 40)
    begun = {number for one in told for number in one.uses}
    done = {number for one in told for number in one.done}
    inside = set(stream._buffer.shards()) | {one.number for one in stream._open}
    assert begun == done | inside and not done & inside
    again: list[Reading] = []
    opened(manifest, folder, told=again).load_state(stream.state())
    assert again[-1].uses.keys() == begun and set(again[-1].done) == done


def test_it_waits_in_words_for_what_is_held_out_and_for_the_first_shard(folder: Path) -> None:
    manifest, parts = run_of(folder, marked(12, 100))
    own = shards.own_folder(folder)
    held_out = (own / parts[-1].sha256).read_bytes()
    (own / parts[-1].sha256).unlink()
    with pytest.raises(DataError, match="are not here yet"):
        opened(manifest, folder)
    (own / parts[-1].sha256).write_bytes(held_out)
    for part in parts[:-1]:
        (own / part.sha256).unlink()
    with pytest.raises(DataError, match="No part of the run's data is here yet"):
        opened(manifest, folder)
    assert manifest.shard_list is not None
    (own / manifest.shard_list.sha256).unlink()
    with pytest.raises(DataError, match="are not here yet"):
        open_stream(manifest, folder)


def test_shards_too_short_for_a_sample_are_no_endless_loop(folder: Path) -> None:
    manifest, _ = run_of(folder, [*(bytes([number]) * WINDOW for number in range(20)), bytes(500)])
    with pytest.raises(ManifestError, match="too short"):
        opened(manifest, folder)
    mixed = [b"x" * 40 * WINDOW, *(bytes([number]) * WINDOW for number in range(20)), bytes(500)]
    manifest, _ = run_of(folder, mixed)
    assert {row[0] for row in drawn(opened(manifest, folder), 50)} == {ord("x")}


def test_few_shards_and_data_that_servers_deal_out_are_streams_by_number(folder: Path) -> None:
    manifest, _ = run_of(folder, marked(8, 2000))
    assert isinstance(open_stream(manifest, folder), TextStream)
    manifest, _ = run_of(folder, marked(14, 2000))
    assert isinstance(open_stream(msgspec.structs.replace(manifest, trunk=VcAsgd()), folder), TextStream)


def test_thousands_of_shards_take_little_memory(folder: Path) -> None:
    """5,000 of 16 KB: what is in memory is the buffer and the ten that are open."""
    chance = random.Random(1)
    block = chance.randbytes(1 << 14)
    contents = [number.to_bytes(8, "big") + block[8:] for number in range(5001)]
    manifest, _ = run_of(folder, contents)
    del contents
    before = psutil.Process().memory_info().rss
    stream = opened(manifest, folder)
    drawn(stream, 50)
    assert psutil.Process().memory_info().rss - before < 100 << 20
    assert stream.samples == 5000 * (1 << 14) // WINDOW
    assert stream.state()[f"{shuffle_buffer.STATE}buffer"].nbytes < 100_000
