"""All that a parameter server knows, as it travels to the peers that may go on from it."""

import struct
import zlib
from typing import NamedTuple

import msgspec
import numpy as np

from core.averaging.packing import NOISE, pack, unpack
from core.contracts.errors import UNREADABLE, ProtocolError
from core.contracts.trunk import VcAsgd
from core.swarm.trunk.work_generator import AHEAD, Work

LARGEST_TABLE = 4 << 20
"""Bytes: of a thousand clients it takes a fifth."""
SIZE = struct.Struct("<I")
_decode = msgspec.msgpack.Decoder(Work).decode


class Copy(NamedTuple):
    """All that a server knows."""

    table: bytes
    """Of the work."""
    vector: bytes
    """The parameters, float32."""
    turns: int
    """Of two copies the one with more is the newer."""


def most_bytes(numbers: int) -> int:
    """What a message of parameters and a table takes at most."""
    return (NOISE + 2) * numbers + LARGEST_TABLE


def dump(copy: Copy) -> bytes:
    """A copy as it travels."""
    table = zlib.compress(copy.table, 1)
    return SIZE.pack(len(table)) + table + pack(np.frombuffer(copy.vector, "<f4"))


def load(data: bytes | memoryview, numbers: int, rules: VcAsgd, now: float, most: int) -> Copy:
    """A copy that has travelled. What is in its table is one peer's word, and is taken as far as it can be true.

    Args:
        data: of `dump`.
        numbers: parameters that there are.
        rules: of the run.
        now: Unix time.
        most: samples that a trunk of the run can have come to.

    Raises:
        ProtocolError: it is none.
    """
    inflater = zlib.decompressobj()
    try:
        end = SIZE.size + SIZE.unpack_from(data)[0]
        work = _decode(inflater.decompress(data[SIZE.size : end], LARGEST_TABLE))
    except (struct.error, zlib.error, *UNREADABLE) as error:
        raise ProtocolError(f"A server's copy came that cannot be read: {error}.") from error
    _check(work, rules)
    for each in work.open:
        each.since, each.due = min(each.since, now), min(each.due, now + rules.timeout_s)
    work.samples = min(work.samples, most)
    work.spans, work.took = {}, {}  # by made-up ones honest results would be far, or have learnt nothing
    return Copy(msgspec.msgpack.encode(work), unpack(data[end:], numbers).tobytes(), work.turns)


def _check(work: Work, rules: VcAsgd) -> None:
    subtasks, epochs = [each.subtask for each in work.open], range(work.generated - AHEAD + 1, work.generated + 1)
    told = {epoch: len(accuracies) for epoch, accuracies in work.judged.items()}
    if (
        len({*subtasks}) < len(subtasks)
        or any(each.part >= rules.parts or each.epoch not in epochs for each in subtasks)
        or any(count + sum(each.epoch == at for each in subtasks) > rules.parts for at, count in told.items())
        or max([*told, *(epoch for epoch, _ in work.said.values())], default=0) > work.generated
    ):
        raise ProtocolError("A server's table of work came that cannot be.")


def samples_of(copy: Copy) -> int:
    """On how many samples the parameters of a copy were trained."""
    return _decode(copy.table).samples
