"""Records: what is accepted is exactly what its publisher signed, for its key and its time."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.dht import MAX_KEY, MAX_RECORD, MAX_VALUE
from core.contracts.errors import RecordError
from core.dht.records import (
    MAX_LIFE_S,
    SKEW_S,
    Record,
    Verdict,
    genuine,
    make,
    own_subkey,
    parse,
    timely,
)
from core.identity import Identity

NOW = 1_800_000_000.0
ALICE, BOB = Identity(b"a" * 32), Identity(b"b" * 32)


def record(value: bytes | None = b"value", *, expires: float = NOW + 60, sequence: int = int(NOW * 1000)) -> Record:
    return make(ALICE, "digits.0.", "3", value, sequence, expires)


def refusal(raw: bytes) -> Verdict:
    with pytest.raises(RecordError) as caught:
        parse(raw)
    return Verdict(caught.value.verdict)


def test_a_record_survives_its_journey() -> None:
    made = record()
    found = parse(made.raw)
    assert found == made and genuine(found)
    assert (found.key, found.subkey, found.value, found.peer, found.dead) == (
        "digits.0.",
        "3",
        b"value",
        ALICE.peer,
        False,
    )
    assert record(None).dead and not record(b"").dead


def test_every_changed_byte_is_noticed() -> None:
    raw = record().raw
    for place in range(len(raw)):
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        try:
            found = parse(changed)
        except RecordError:
            continue
        assert not genuine(found), place


def test_a_signature_does_not_serve_another_key_publisher_or_time() -> None:
    good = record()
    for other in (
        make(BOB, good.key, good.subkey, good.value, good.sequence, good.expires),
        make(ALICE, "digits.1.", good.subkey, good.value, good.sequence, good.expires),
        make(ALICE, good.key, good.subkey, good.value, good.sequence, good.expires + 60),
        make(ALICE, good.key, good.subkey, good.value, good.sequence + 1, good.expires),
    ):
        assert not genuine(parse(other.raw[:-64] + good.signature))


def test_time_must_be_ours_within_the_skew() -> None:
    assert timely(record(), NOW) is Verdict.STORED
    assert timely(record(), NOW + 61) is Verdict.EXPIRED
    ahead = int((NOW + SKEW_S) * 1000)
    assert timely(record(sequence=ahead), NOW) is Verdict.STORED
    assert timely(record(sequence=ahead + 1), NOW) is Verdict.AHEAD
    assert timely(record(expires=NOW + MAX_LIFE_S + SKEW_S), NOW) is Verdict.STORED
    assert timely(record(expires=NOW + MAX_LIFE_S + SKEW_S + 1), NOW) is Verdict.AHEAD
    assert timely(record(expires=float("nan")), NOW) is Verdict.EXPIRED
    assert timely(record(expires=float("inf")), NOW) is Verdict.AHEAD


def test_limits() -> None:
    largest = make(ALICE, "\U0001f525" * MAX_KEY, "\U0001f525" * MAX_KEY, b"v" * MAX_VALUE, 2**53 - 1, NOW)
    assert len(largest.raw) <= MAX_RECORD
    with pytest.raises(RecordError):
        make(ALICE, "k" * (MAX_KEY + 1), "", b"", 1, NOW)
    with pytest.raises(RecordError):
        make(ALICE, "key", "", b"v" * (MAX_VALUE + 1), 1, NOW)
    assert refusal(b"x" * (MAX_RECORD + 1)) is Verdict.MALFORMED


def test_wrong_types_and_other_spellings_are_refused() -> None:
    body = [1, "hearth", "key", "", b"v", 1, NOW, ALICE.peer]
    assert parse(signed(body)).key == "key"
    for place, wrong in [
        (0, 2),
        (0, "1"),
        (1, "other"),
        (2, b"key"),
        (2, ""),
        (4, 7),
        (5, -1),
        (5, 1.5),
        (6, "soon"),
        (7, b""),
    ]:
        assert refusal(signed([*body[:place], wrong, *body[place + 1 :]])) is Verdict.MALFORMED
    assert refusal(signed([*body, 1])) is Verdict.MALFORMED
    assert refusal(signed([*body[:6], int(NOW), ALICE.peer])) is Verdict.MALFORMED, "an integer is another spelling"


def signed(body: list[object]) -> bytes:
    data = msgspec.msgpack.encode(body)
    return data + ALICE.sign(data)


def test_a_subkey_that_names_a_peer_is_that_peers() -> None:
    assert make(ALICE, "digits.0.3", own_subkey(ALICE.peer), b"", 1, NOW)
    with pytest.raises(RecordError) as caught:
        make(BOB, "digits.0.3", own_subkey(ALICE.peer), b"", 1, NOW)
    assert caught.value.verdict == Verdict.NOT_OWNER


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    for raw in (data, data + b"s" * 64, record().raw[: len(data)] + data):
        try:
            found = parse(raw)
        except RecordError:
            continue
        assert not genuine(found) or found.raw == raw


LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
MESSAGES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)


@given(MESSAGES)
def test_no_message_crashes_the_parser(message: object) -> None:
    refusal(signed([message] if not isinstance(message, list) else message))


def test_deep_nesting_is_refused() -> None:
    assert refusal(b"\x91" * 3000 + b"s" * 64) is Verdict.MALFORMED
