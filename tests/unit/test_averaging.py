"""Differences on the wire, the outer step, and rounds of a fragment: pure numbers, no network, time as an argument."""

import math

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging import codecs, dense, outer, sparse
from core.averaging import collecting as collecting_module
from core.averaging.collecting import Collecting, Made
from core.averaging.fragment import (
    FARTHEST,
    ROUNDS,
    STALE,
    Encoder,
    Fragment,
    OtherVersion,
    Round,
    _line_after,
    decode,
    dump,
    largest,
    load,
    sizes_of,
)
from core.averaging.outer import NESTEROV, PLAIN
from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import Codec

A, B, C = b"a" * 32, b"b" * 32, b"c" * 32
DRAW = np.random.default_rng(1)


def message(value: float = 1.0) -> bytes:
    return Encoder().encode(np.full(9000, value, np.float32), 100, is_sparse=False)


def make(collecting: Collecting) -> Made:
    """A round of what is here."""
    made = collecting.begin().make()
    collecting.end(made)
    return made


def draw(count: int) -> outer.Numbers:
    return DRAW.standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 4095, 4096, 4097, 20_000])
def test_sparse_numbers_are_the_greatest_and_as_many_bytes_as_foretold(count: int) -> None:
    numbers = draw(count)
    data = sparse.encode(numbers)
    assert len(data) == sparse.encoded_size(count)
    back = sparse.decode(data, count)
    for start in range(0, count, sparse.BLOCK):
        block, sent = numbers[start : start + sparse.BLOCK], back[start : start + sparse.BLOCK]
        assert np.count_nonzero(sent) == math.ceil(len(block) * sparse.TOP / sparse.BLOCK)
        assert np.abs(block[sent != 0]).min() >= np.abs(block[sent == 0]).max(initial=0.0)
        assert len(np.unique(np.abs(sent[sent != 0]))) <= 2
        assert (np.sign(sent[sent != 0]) == np.sign(block[sent != 0])).all()


def arrive(*differences: outer.Numbers, is_sparse: bool) -> outer.Numbers:
    """The sum of what arrives of a trainer's differences, which are counted one after the other."""
    encoder, count = Encoder(), len(differences[0])
    arrived = np.zeros(count, np.float32)
    for difference in differences:
        arrived += decode(encoder.encode(difference, 0, is_sparse), count, 0)
        encoder.counted()
    return arrived


def test_what_sparse_messages_leave_out_comes_later() -> None:
    steady = draw(8192)
    sent = arrive(*[steady] * 400, is_sparse=True)
    along = float(sent @ steady / (np.linalg.norm(sent) * np.linalg.norm(steady)))
    assert along > 0.8, "little of what was left out came later"
    once = sparse.decode(sparse.encode(steady), 8192)
    assert along > 2 * float(once @ steady / (np.linalg.norm(once) * np.linalg.norm(steady)))
    small = np.full(4096, 1e-3, np.float32)
    small[:64] = 10.0  # always the greatest
    arrived = arrive(*[small] * 50, is_sparse=True)
    assert arrived[:64] == pytest.approx(50 * small[:64], rel=0.01), "what is sent whole is not sent again"


@pytest.mark.parametrize("count", [0, 1, 64, 127, 128, 129, 20_000])
def test_dense_numbers_are_near_and_as_many_bytes_as_foretold(count: int) -> None:
    numbers = draw(count) * np.logspace(-30, 4, count, dtype=np.float32)
    data = dense.encode(numbers)
    assert len(data) == dense.encoded_size(count) and dense.encoded_size(128) == 68
    back = dense.decode(data, count)
    for start in range(0, count, dense.BLOCK):
        block, came = numbers[start : start + dense.BLOCK], back[start : start + dense.BLOCK]
        assert came == pytest.approx(block, abs=float(np.abs(block).max()) / 14 * 1.001)
        assert np.abs(came).max() == pytest.approx(np.abs(block).max())
    assert dense.encode(back) == data
    assert not any(dense.encode(np.zeros(count, np.float32))), "who has learnt nothing may say so again and again"


@pytest.mark.parametrize("size", [1e-45, 1e-44, 1e-38, 65504.0])
def test_dense_numbers_may_be_tiny_or_huge(size: float) -> None:
    numbers = draw(1000).clip(-1, 1) * np.float32(size)
    assert dense.decode(dense.encode(numbers), 1000) == pytest.approx(numbers, abs=max(size / 14 * 1.001, 1e-37))


def test_what_dense_messages_round_away_comes_later() -> None:
    steady = draw(8192)
    steady[:64] *= 100  # beside them the others of their block are rounded to nothing
    sent = arrive(*[steady] * 100, is_sparse=False)
    assert sent / 100 == pytest.approx(steady, abs=0.5), "small ones are left out for good"
    assert np.abs(dense.decode(dense.encode(steady), 8192)[64:128]).max() == 0


@pytest.mark.parametrize("is_sparse", [False, True])
def test_what_is_refused_and_offered_again_comes_once(is_sparse: bool) -> None:
    learnt, nothing, encoder = draw(8192), np.zeros(8192, np.float32), Encoder()
    for _ in range(20):
        encoder.encode(learnt, 0, is_sparse)
    first = encoder.encode(learnt, 0, is_sparse)
    assert first == Encoder().encode(learnt, 0, is_sparse)
    encoder.counted()
    rest = [encoder.encode(nothing, 0, is_sparse), encoder.encode(nothing, 0, is_sparse)]
    assert rest[0] == rest[1] and any(decode(rest[0], 8192, 0)), "what was left of it"


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=136, max_size=136))
def test_hostile_dense_bytes_are_refused(data: bytes) -> None:
    try:
        difference = decode(b"4" + data, 256, 0)
    except ProtocolError:
        return
    assert np.abs(difference).max() <= FARTHEST


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=116, max_size=116))
def test_hostile_sparse_bytes_are_refused_or_finite(data: bytes) -> None:
    try:
        numbers = sparse.decode(data, 4096)
    except ProtocolError:
        return
    assert np.isfinite(numbers).all() and np.count_nonzero(numbers) <= 64


def test_sparse_bytes_of_another_length_or_order_are_refused() -> None:
    good = sparse.encode(draw(4096))
    for bad in (good[:-1], good + b"\0", b"\0\x7c" + good[2:], good[:4] + good[5:] + b"\0"):
        with pytest.raises(ProtocolError):
            sparse.decode(bad, 4096)


@pytest.mark.parametrize(("codec", "within"), [("fp32", 0.0), ("fp16", 1e-3), ("int8", 0.02)])
@pytest.mark.parametrize("count", [0, 1, 1024, 2500])
def test_dense_numbers_come_back(codec: Codec, within: float, count: int) -> None:
    numbers = draw(count)
    back = codecs.decode(codecs.encode(numbers, codec), codec, count)
    assert back == pytest.approx(numbers, rel=within, abs=within)
    with pytest.raises(ProtocolError):
        codecs.decode(codecs.encode(numbers, codec) + b"\0", codec, count)


def test_numbers_of_fp16_are_those_that_numpy_makes_small_ones_too() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view("<f2")
    halves = every[np.isfinite(every)]
    numbers = codecs.decode(halves.tobytes(), "fp16", len(halves))
    assert numbers.tobytes() == halves.astype(np.float32).tobytes()
    assert codecs.encode(numbers, "fp16") == halves.tobytes()
    for half in every[~np.isfinite(every)]:
        with pytest.raises(ProtocolError):
            codecs.decode(half.tobytes(), "fp16", 1)
    for size in (1e3, 1.0, 1e-5, 1e-7):
        numbers = draw(10_000) * np.float32(size)
        back = codecs.decode(codecs.encode(numbers, "fp16"), "fp16", len(numbers))
        nearest = numbers.astype("<f2").astype(np.float32)
        assert (np.abs(back - numbers) <= np.abs(nearest - numbers) * 1.01).all(), "others are nearer"
    assert codecs.decode(codecs.encode(np.array([1e5, -1e30], np.float32), "fp16"), "fp16", 2).tolist() == [
        65504,
        -65504,
    ]


def test_numbers_that_are_not_finite_are_refused() -> None:
    for bad in (math.nan, math.inf):
        for codec in ("fp32", "fp16"):
            form = "<f4" if codec == "fp32" else "<f2"
            with pytest.raises(ProtocolError):
                codecs.decode(np.array([bad], form).tobytes(), codec, 1)
        with pytest.raises(ProtocolError):
            codecs.decode(np.array([bad], "<f4").tobytes() + b"\1", "int8", 1)
        with pytest.raises(ProtocolError):
            dense.decode(np.array([bad], "<f4").tobytes() + 64 * b"\x99", 128)


@pytest.mark.parametrize(
    ("norms", "samples", "factors"),
    [
        ([1.0, 1.0, 100.0], [8, 8, 8], [1 / 3, 1 / 3, 1 / 300]),
        ([1.0, 100.0], [8, 8], [0.5, 0.005]),
        ([1.0, 1.0, 1.0], [10, 10, 10**15], [0.25, 0.25, 0.5]),
        ([0.0], [0], [1.0]),
    ],
)
def test_a_difference_a_hundred_times_as_long_moves_no_further(
    norms: list[float], samples: list[int], factors: list[float]
) -> None:
    assert outer.shares(norms, outer.believed(samples), outer.length(norms)) == pytest.approx(factors)


def offer(syncer: Collecting, peer: bytes, version: int, samples: int, message: bytes, now: float) -> bool:
    return syncer.offer(peer, version, samples, message, syncer.length_of(message), now)


def fine(value: float) -> bytes:
    """A difference of 64 numbers, of which nothing is rounded."""
    return Encoder().encode(np.full(64, value, np.float32), 64, is_sparse=True)


def test_a_trainer_that_is_alone_in_a_round_cannot_go_anywhere_at_once_nor_say_that_it_has_trained_for_years() -> None:
    syncer = Collecting(Fragment(np.zeros(64, np.float32), 64), quorum=2, patience_s=10.0)
    for peer in (A, B):
        assert offer(syncer, peer, 1, 8, fine(1.0), 0.0)
    make(syncer)
    assert offer(syncer, A, 2, 2**50, fine(100.0), 0.0)
    made = make(syncer)
    assert syncer.fragment.numbers / PLAIN.rate == pytest.approx(np.full(64, 1.0 + outer.GROWTH / 2), rel=0.01)
    assert made.clipped == {A: pytest.approx(outer.GROWTH / 100.0, rel=0.01)}
    assert syncer.fragment.samples == 2 * 8 + outer.GROWTH * 8


def test_differences_that_grow_fast_as_rates_rise_are_taken_as_they_are() -> None:
    """A fragment's first round comes after a few steps at hardly any rate: it says nothing of those that follow."""
    syncer = Collecting(Fragment(np.zeros(64, np.float32), 64), quorum=2, patience_s=10.0)
    for version, value in ((1, 0.01), (2, 0.7)):
        for peer in (A, B):
            assert offer(syncer, peer, version, 8, fine(value), 0.0)
        assert not make(syncer).clipped
    assert syncer.fragment.numbers / PLAIN.rate == pytest.approx(np.full(64, 0.71), rel=0.01)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_trainers_that_come_in_several_rounds_move_the_trunk_as_far_as_in_one(is_sparse: bool) -> None:
    """A latecomer that is alone in a round is one of four: its round is a quarter of an outer step."""
    peers = [bytes([number]) * 32 for number in range(4)]

    def after(*rounds: tuple[int, ...]) -> float:
        syncer = Collecting(Fragment(np.zeros(64, np.float32), 64), quorum=2, patience_s=10.0)
        for together in ((0, 1, 2, 3), *rounds):
            version = syncer.fragment.version
            for number in together:
                message = Encoder().encode(np.ones(64, np.float32), 64, is_sparse)
                assert offer(syncer, peers[number], version, 8, message, 0.0)
            make(syncer)
        return float(syncer.fragment.numbers.mean())

    at_once = after((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    late = after((0, 1, 2), (3,), (0, 1, 2), (3,), (0, 1, 2), (3,))
    assert late == pytest.approx(at_once, rel=0.1)
    assert after((0, 1), (2, 3), (0, 1), (2, 3), (0, 1), (2, 3)) == pytest.approx(at_once, rel=0.1)
    assert after(*[(0, 1, 2)] * 8) > 0.95 * after(*[(0, 1, 2, 3)] * 8) - 1, "who has gone is not counted for long"


def test_who_only_ever_asks_neither_holds_rounds_up_nor_shrinks_them() -> None:
    def after(askers: int) -> float:
        syncer = Collecting(Fragment(np.zeros(64, np.float32), 64), quorum=1, patience_s=10.0)
        for version in range(1, 9):
            for number in range(askers):
                syncer.expect(bytes([number]) * 32)
            assert offer(syncer, A, version, 8, fine(1.0), 0.0)
            assert syncer.due_s(0.0) == 0.0 or version < 5
            make(syncer)
        return float(syncer.fragment.numbers.mean()) / PLAIN.rate

    assert after(9) > after(0) - 1.1, "of eight rounds the first may be small"


def test_a_round_of_more_parts_than_its_numbers_need_is_refused_before_they_are_read() -> None:
    fragment = Fragment(np.zeros(9000, np.float32), 100)
    part = 0.0, Encoder().encode(draw(9000), 100, is_sparse=True)
    with pytest.raises(ProtocolError, match="more parts"):
        fragment.apply(Round(2, 8, False, ((A, 1),), (part,) * 1024))
    assert fragment.version == 1


def test_who_misses_rounds_by_little_is_waited_for_after_a_while() -> None:
    syncer = collecting()
    for version in range(1, 12):
        for peer in (A, B, C):
            assert offer(syncer, peer, version, 8, message(), 100.0 * version)
        make(syncer)
    for version in range(12, 40, 2):
        for peer in (A, B):
            assert offer(syncer, peer, version, 8, message(), 100.0 * version)
        make(syncer)
        assert offer(syncer, C, version, 8, message(), 100.0 * version + 3.0)
        make(syncer)
    for peer in (A, B):
        assert offer(syncer, peer, 40, 8, message(), 4000.0)
    assert syncer.due_s(4000.0) > 3.0


def test_outer_steps_are_those_of_nesterov_and_keep_its_momentum() -> None:
    weights = torch.zeros(100, dtype=torch.float64)
    reference = torch.optim.SGD([weights], lr=NESTEROV.rate, momentum=NESTEROV.momentum, nesterov=True)
    agreed, momentum = np.zeros(100, np.float32), None
    for _ in range(20):
        mean = draw(100)
        weights.grad = -torch.from_numpy(mean).double()
        reference.step()
        changed = outer.change(NESTEROV, mean, momentum)
        agreed, momentum = agreed + changed, outer.momentum_after(NESTEROV, changed, momentum)
        assert agreed == pytest.approx(weights.numpy(), abs=1e-4)
    part = outer.change(NESTEROV, mean, momentum, 0.25)
    assert momentum is not None
    kept = NESTEROV.momentum**0.25 * momentum + 0.25 * mean
    assert outer.momentum_after(NESTEROV, part, momentum, 0.25) == pytest.approx(kept, abs=1e-4)
    assert (outer.change(PLAIN, mean, None, 0.5) == np.float32(0.5 * PLAIN.rate) * mean).all()
    assert outer.momentum_after(PLAIN, mean, None) is None


def collecting(count: int = 9000, fine: int = 100) -> Collecting:
    return Collecting(Fragment(draw(count), fine), quorum=2, patience_s=10.0)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_who_applies_the_rounds_has_the_same_bits_as_the_syncer(is_sparse: bool) -> None:
    syncer = collecting()
    follower, encoders = load(dump(syncer.fragment), 9000), {A: Encoder(), B: Encoder()}
    lines = {1: follower.line}
    for number in range(6):
        for peer, encoder in encoders.items():
            message = encoder.encode(draw(9000), 100, is_sparse)
            assert len(message) <= largest(9000, 100)
            assert offer(syncer, peer, syncer.fragment.version, 64, message, float(number))
        follower.apply(make(syncer).fragment.rounds[-1])
        lines[follower.version] = follower.line
    assert (follower.numbers == syncer.fragment.numbers).all() and follower.version == 7 and follower.samples == 768
    assert (follower.momentum is None) == is_sparse
    late, own = load(dump(follower), 9000), load(dump(follower, is_own=True), 9000, is_own=True)
    assert dump(late) == dump(follower) and late.momentum is None, "nobody could try it"
    assert dump(own, is_own=True) == dump(follower, is_own=True)
    assert late.line == syncer.fragment.line != Fragment(draw(9000), 100).line
    rounds = follower.since(lines[4])
    assert rounds is not None and [made.version for made in rounds] == [5, 6, 7]
    assert follower.since(lines[7]) == [] and follower.since(lines[3]) is None and follower.since(b"other") is None


def test_a_young_fragment_that_was_read_is_written_and_told_of_as_it_was() -> None:
    young = Fragment(draw(9000), 100)
    again = load(dump(young), 9000)
    assert dump(again) == dump(young)
    assert again.lately() == young.lately() == [(1, young.line)]


@pytest.mark.parametrize("rounds", [0, 2, STALE + 1])
def test_who_names_the_line_of_others_has_their_numbers(rounds: int) -> None:
    syncer = collecting()
    for version in range(1, 1 + rounds):
        offer(syncer, A, version, 8, message(), 0.0)
        make(syncer)
    others, liar = load(dump(syncer.fragment), 9000), load(dump(syncer.fragment), 9000)
    liar.numbers = liar.numbers + np.float32(1.0)
    with pytest.raises(ProtocolError, match="not those to which its rounds led"):
        load(dump(liar), 9000)
    offer(syncer, A, 1 + rounds, 8, message(), 0.0)
    made = make(syncer).fragment.rounds[-1]
    others.apply(made)
    liar.apply(made)
    assert others.line == syncer.fragment.line != liar.line, "who has come to other numbers finds it out"


def test_what_an_older_version_left_on_this_disk_goes_on_from_its_numbers() -> None:
    syncer = collecting()
    offer(syncer, A, 1, 8, message(), 0.0)
    make(syncer)
    old = load(dump(syncer.fragment), 9000)
    old._lines[-1] = b"of rounds alone."
    for again in (load(dump(old), 9000, is_own=True), load(dump(old), 9000, is_own=True)):
        assert (again.numbers == old.numbers).all() and (again.version, again.samples) == (2, old.samples)
        assert again.lately() == [(2, Fragment(old.numbers, 100).line)], "the same on all PCs"
    with pytest.raises(ProtocolError):
        load(dump(old), 9000)


@pytest.mark.parametrize(
    ("message", "version", "error"),
    [(b"d" * 12_000, 2, OtherVersion), (b"4" * 12_000, 2, ProtocolError), (message(), 77, ProtocolError)],
)
def test_nobody_passes_rounds_on_that_others_cannot_apply(
    message: bytes, version: int, error: type[ProtocolError]
) -> None:
    """As an older version made them, or as a liar did; those who are told of them would blame this PC."""
    fragment = Fragment(draw(9000), 100)
    unread = Round(version, 8, True, ((A, 1),), ((1.0, message),))
    with pytest.raises(error) as refused:
        fragment.apply(unread)
    assert type(refused.value) is error, "another version is no lie"
    fragment.version, fragment.line = 2, _line_after(fragment.line, unread, fragment.numbers)
    fragment.rounds.append(unread)
    fragment._lines.append(fragment.line)
    with pytest.raises(error):
        load(dump(fragment), 9000)
    own = load(dump(fragment), 9000, is_own=True)
    assert (own.numbers == fragment.numbers).all() and own.version == 2 and not own.rounds


@pytest.mark.parametrize("wanted", [1, 2, 16])
def test_no_fragment_is_without_numbers(wanted: int) -> None:
    sizes = sizes_of([(100, True), (5000, False)], wanted)
    assert len(sizes) == min(wanted, 2) and all(count for count, _ in sizes)
    assert (sum(count for count, _ in sizes), sum(fine for _, fine in sizes)) == (5100, 100)


def test_the_mean_of_what_was_offered_is_added() -> None:
    syncer = Collecting(Fragment(np.zeros(64, np.float32), 64), quorum=2, patience_s=10.0)
    for peer, value in ((A, 1.0), (B, -0.5)):
        assert offer(syncer, peer, 1, 8, fine(value), 0.0)
    make(syncer)
    assert syncer.fragment.numbers == pytest.approx(np.zeros(64), abs=1e-3)  # of two the longer is cut to the shorter
    for version, agreed in ((2, 0.25), (3, 1.25)):  # A alone is half of those that took part last, then all of them
        assert offer(syncer, A, version, 8, fine(0.5 if version == 2 else 1.0), 0.0)
        make(syncer)
        assert syncer.fragment.numbers / PLAIN.rate == pytest.approx(np.full(64, agreed), abs=1e-3)


def test_a_round_waits_for_the_usual_trainers_and_no_longer_than_the_grace() -> None:
    syncer = collecting()
    assert syncer.due_s(0.0) == math.inf
    assert offer(syncer, A, 1, 8, message(), 0.0)
    assert syncer.due_s(1.0) == 9.0, "the first trainer waits for a second, but not for ever"
    assert offer(syncer, B, 1, 8, message(), 2.0)
    assert syncer.due_s(2.0) == 0.0, "all who are known are there"
    make(syncer)
    for peer, at in ((C, 3.0), (A, 4.0)):
        assert offer(syncer, peer, 2, 8, message(), at)
    assert 0.0 < syncer.due_s(4.0) <= 10.0, "one that took part last time is missing"
    assert syncer.due_s(13.0) == 0.0
    make(syncer)
    for version in range(3, 40):  # B comes half a second after the others: the grace becomes as short
        now = 20.0 * version
        for peer, after in ((A, 0.0), (C, 0.0), (B, 0.5)):
            assert offer(syncer, peer, version, 8, message(), now + after)
        make(syncer)
    for peer in (A, C):
        assert offer(syncer, peer, 40, 8, message(), 900.0)
    assert 0.5 < syncer.due_s(900.0) < 2.0
    make(syncer)
    for version in range(41, 44):
        assert offer(syncer, A, version, 8, message(), 1000.0)
        make(syncer)
    assert offer(syncer, A, 44, 8, message(), 1100.0) and syncer.due_s(1100.0) == 0.0, "it has been alone for rounds"


def test_what_is_too_old_is_not_counted_and_what_was_counted_not_twice() -> None:
    syncer = collecting()
    for version in range(1, 6):
        assert offer(syncer, A, version, 8, message(), 0.0)
        make(syncer)
    assert syncer.fragment.version == 6
    before = syncer.fragment.numbers
    assert offer(syncer, A, 5, 8, message(), 0.0), "it is in what is agreed"
    assert syncer.due_s(0.0) == math.inf and (syncer.fragment.numbers == before).all()
    assert not offer(syncer, B, 6 - STALE - 1, 8, message(), 0.0), "it is too old"
    assert not offer(syncer, B, 7, 8, message(), 0.0), "nobody has agreed on that yet"
    assert syncer.due_s(0.0) == math.inf
    assert offer(syncer, B, 6 - STALE, 8, message(), 0.0)
    assert syncer.due_s(0.0) < math.inf


def test_hostile_offers_neither_stop_the_rounds_nor_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    syncer = collecting()
    far = message()[: 1 + 2 * 100] + np.full(70, 2e36, "<f4").tobytes() + b"\xff" * 64 * 70  # scales, then numbers
    assert len(far) == len(message())
    with pytest.raises(ProtocolError, match="too far"):
        offer(syncer, A, 1, 8, far, 0.0)
    monkeypatch.setattr(collecting_module, "HELD", 2 * len(message()))
    for peer, samples in ((A, 8), (B, 2**53), (C, 8)):
        assert offer(syncer, peer, 1, samples, message(65504.0), 0.0)
    made = make(syncer)
    assert set(made.given) == {A, B}, "there was no room for the third"
    load(dump(syncer.fragment), 9000)
    assert syncer.fragment.samples == (1 + outer.MOST_SAMPLES) * 8, "no more of a liar than of others"


@pytest.mark.parametrize("on", [2, 2**53])
def test_no_round_says_that_it_has_offers_that_were_made_on_what_comes_of_it(on: int) -> None:
    """Whatever such a trainer offers later would count as being in it, and no round would be made any more."""
    made = msgspec.msgpack.encode([Round(2, 8, True, ((A, 1),), ())])
    assert ROUNDS.decode(made) and made.count(A + b"\x01") == 1
    with pytest.raises(msgspec.ValidationError, match="made on what came of it"):
        ROUNDS.decode(made.replace(A + b"\x01", A + msgspec.msgpack.encode(on)))
    state = Fragment(draw(9000), 100).after([Round(2, 8, True, ((A, 1),), ())])
    with pytest.raises(ProtocolError, match="made on what came of it"):
        load(dump(state).replace(A + b"\x01", A + msgspec.msgpack.encode(on)), 9000)


def test_rounds_and_fragments_that_are_none_change_nothing() -> None:
    agreed = Fragment(draw(9000), 100)
    before = dump(agreed)
    huge = Encoder().encode(np.full(9000, 3e38, np.float32), 9000, is_sparse=False)
    for bad in (
        Round(3, 8, True, (), ()),
        Round(2, 8, True, (), ((1.0, b"d"),)),
        Round(2, 8, True, (), ((1.0, b"x" + message()[1:]),)),
        Round(2, 8, True, (), ((1.0, huge),)),
    ):
        with pytest.raises(ProtocolError):
            agreed.apply(bad)
        assert dump(agreed) == before
    for data in (b"", before[:-1], dump(Fragment(draw(9001), 100)), b"\xc1" * 40):
        with pytest.raises(ProtocolError):
            load(data, 9000)
    with pytest.raises(ProtocolError):
        decode(message()[:-1], 9000, 100)
