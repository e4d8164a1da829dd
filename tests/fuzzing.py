"""Many documents that are nearly right, read one after the other by one decoder: none crashes it, takes long, or stays.

Chance comes from a seed, so that a document which breaks a decoder is found again by its number. Hypothesis makes some
hundred documents a second and shrinks them; this makes tens of thousands.
"""

import gc
import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import psutil
from msgspec import inspect

from core.contracts.errors import UNREADABLE, HearthError
from tests.tampering import KINDS, LENGTHS, PLACES, changed

REFUSALS = (HearthError, *UNREADABLE)
SLOWEST_S = 0.05
"""Of the processor's time: a loop that it holds up serves nobody meanwhile."""
GROWTH = 32 << 20
"""Bytes that a decoder may leave behind after all documents, beside those of the first tenth."""


class Fuzzed(NamedTuple):
    """What came of it."""

    refused: int
    believed: int
    slowest_s: float
    growth: int
    """Bytes."""


def fuzz(documents: Sequence[bytes], read: Callable[[bytes], Any], count: int, seed: int = 0) -> Fuzzed:
    """Read so many documents.

    Args:
        documents: that are right; they are changed, and mixed.
        read: the decoder; it refuses by one of `REFUSALS`.
        count: how many.
        seed: of their chance.

    Raises:
        AssertionError: a decoder failed in another way, or took too long; with the number of the document.
    """
    logging.disable()  # pytest keeps every line until the test has ended
    try:
        return _fuzz(documents, read, count, seed)
    finally:
        logging.disable(logging.NOTSET)


def _fuzz(documents: Sequence[bytes], read: Callable[[bytes], Any], count: int, seed: int) -> Fuzzed:
    process, refused, slowest, before = psutil.Process(), 0, 0.0, 0
    gc.collect()
    for number in range(count):
        if number == count // 10:
            gc.collect()
            before = process.memory_info().rss
        document = _document(documents, random.Random(f"{seed} {number}"))
        start = time.thread_time()
        try:
            read(document)
        except REFUSALS:
            refused += 1
        except Exception as error:
            raise AssertionError(f"document {number} of seed {seed}: {document[:200]!r}") from error
        if (took := time.thread_time() - start) > slowest:
            if took > SLOWEST_S:  # the collector may have had its turn just then
                start = time.thread_time()
                _again(read, document)
                took = min(took, time.thread_time() - start)
            assert took <= SLOWEST_S, f"document {number} of seed {seed} took {took:.3f} s: {document[:200]!r}"
            slowest = max(slowest, took)
    gc.collect()
    return Fuzzed(refused, count - refused, slowest, process.memory_info().rss - before)


def _again(read: Callable[[bytes], Any], document: bytes) -> None:
    try:
        read(document)
    except REFUSALS:
        pass


def _document(documents: Sequence[bytes], chance: random.Random) -> bytes:
    if chance.random() < 0.05:
        return chance.randbytes(int(300 * chance.random() ** 2))
    document, other = chance.choice(documents), chance.choice(documents)
    changes = [
        (
            chance.choice(KINDS),
            chance.randrange(PLACES),
            chance.randbytes(chance.randrange(8)),
            chance.randrange(LENGTHS),
        )
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5)))
    ]
    return changed(document, changes, other)


def sample(kind: Any, chance: random.Random) -> Any:
    """What msgspec encodes to a document of a type: values within its limits, by chance.

    Args:
        kind: a type that msgspec knows.
        chance: decides.
    """
    return _sample(inspect.type_info(kind), chance)


def _sample(kind: inspect.Type, chance: random.Random) -> Any:
    match kind:
        case inspect.StructType():
            fields = {
                field.encode_name: _sample(field.type, chance)
                for field in kind.fields
                if kind.array_like or field.required or chance.random() < 0.7
            }
            if kind.array_like:
                return [*([kind.tag] if kind.tag is not None else []), *fields.values()]
            return ({kind.tag_field: kind.tag} if kind.tag_field is not None else {}) | fields
        case inspect.UnionType():
            return _sample(chance.choice(kind.types), chance)
        case inspect.LiteralType():
            return chance.choice(kind.values)
        case inspect.IntType():
            low = kind.ge if kind.ge is not None else -5 if kind.gt is None else kind.gt + 1
            high = kind.le if kind.le is not None else low + 99 if kind.lt is None else kind.lt - 1
            return chance.choice((low, high, chance.randint(low, min(high, low + 99))))
        case inspect.FloatType():
            return chance.choice((0.5, float(kind.ge or kind.le or 1.0), 1.0))
        case inspect.StrType():
            return "ab" * 32 if kind.pattern else "a" * max(kind.min_length or 0, min(kind.max_length or 9, 9))
        case inspect.BytesType():
            return chance.randbytes(max(kind.min_length or 0, min(kind.max_length or 9, 64)))
        case inspect.DictType():
            count = chance.randrange(3)
            return {_sample(kind.key_type, chance): _sample(kind.value_type, chance) for _ in range(count)}
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            count = max(kind.min_length or 0, chance.randrange(4))
            return [_sample(kind.item_type, chance) for _ in range(count)]
        case inspect.TupleType():
            return [_sample(item, chance) for item in kind.item_types]
        case inspect.BoolType():
            return chance.random() < 0.5
        case inspect.RawType() | inspect.AnyType():
            return {}
        case inspect.NoneType():
            return None
        case _:
            raise TypeError(f"no sample of {kind}")


def samples(kind: Any, count: int = 20, encode: Callable[[Any], bytes] = msgspec.msgpack.encode) -> list[bytes]:
    """Documents of a type.

    Args:
        kind: the type.
        count: how many.
        encode: to which form.
    """
    return [encode(sample(kind, random.Random(number))) for number in range(count)]
