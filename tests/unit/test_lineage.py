"""Which trunk is that of a run, by what its trainers tell: pure."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.fragment import Fragment, dump, load
from core.contracts.errors import ProtocolError
from core.contracts.trunk import Reached
from core.contracts.trunk_calls import FragmentOffer, Keeper
from core.contracts.trunk_rounds import Standing, Vector
from core.swarm.trunk.lineage import by_most, countable, is_away, names, newest
from core.swarm.trunk.work_generator import Work

OURS, THEIRS = b"ours", b"theirs"


def told(first: int, last: int, digest: bytes = OURS, *, settled: bool = True) -> Standing:
    """A trainer that came to all of these versions."""
    return Standing(last, 0, 0, (), tuple((version, digest) for version in range(first, last + 1)), settled)


def test_one_of_three_cannot_say_how_far_all_are() -> None:
    assert by_most([]) == 0 and by_most([7]) == 7
    assert by_most([10**9, 7]) == 7 and by_most([10**9, 7, 6]) == 7
    assert by_most([10**9, 10**9, 6, 5]) == 6


def test_one_of_three_cannot_say_that_it_has_all_samples_of_a_step() -> None:
    assert countable([10, 10**9], 1000) == 1000, "of two nobody knows which"
    assert countable([10, 12, 10**9], 1000) == 48
    assert countable([10, 12, 14, 10**9], 1000) == 48
    assert countable([0, 0, 10**9], 1000) == 0 and countable([300, 400, 900], 1000) == 1000


def test_the_trunk_of_a_run_is_the_newest_that_half_of_its_trainers_came_to() -> None:
    assert newest([]) is None and newest([Standing(0, 5, 0)]) is None
    assert newest([told(1, 8), told(2, 9), told(1, 7)]) == Reached(8, OURS)
    assert newest([told(1, 8), told(1, 8), told(90, 97, THEIRS)]) == Reached(8, OURS), "one liar moves two others"
    assert newest([told(1, 3, THEIRS), told(1, 3, THEIRS), told(2, 9)]) == Reached(3, THEIRS)


def test_who_has_just_come_does_not_outvote_the_one_that_went_on_alone() -> None:
    back = [told(1, 3, settled=False), told(1, 3, settled=False)]
    assert newest([*back, told(53, 60)]) == Reached(60, OURS)
    assert newest([*back, told(12, 12, settled=False)]) == Reached(12, OURS), "after a power cut the newest one counts"


def test_two_that_a_liar_has_parted_go_on_from_the_newer_trunk_without_it() -> None:
    common = told(1, 3).trunks
    behind, ahead = (
        Standing(last, 0, 0, (), common + told(4, last, line).trunks, True) for last, line in ((7, OURS), (9, THEIRS))
    )
    assert newest([behind, ahead]) == Reached(9, THEIRS)
    assert is_away(dict(behind.trunks), 7, Reached(9, THEIRS), trusts=True)
    assert not is_away(dict(ahead.trunks), 9, Reached(9, THEIRS), trusts=True)


def test_who_is_behind_or_on_another_line_is_away() -> None:
    trunks = {7: OURS, 8: OURS}
    assert not is_away(trunks, 8, None, trusts=False)
    for trusts in (False, True):
        assert not is_away(trunks, 8, Reached(7, OURS), trusts=trusts)
        assert is_away(trunks, 8, Reached(9, OURS), trusts=trusts)
    assert is_away(trunks, 8, Reached(8, THEIRS), trusts=False)
    assert not is_away(trunks, 8, Reached(8, THEIRS), trusts=True), "another processor rounds otherwise"
    assert is_away(trunks, 8, Reached(3, THEIRS), trusts=False)


def test_digests_of_a_version_are_counted() -> None:
    assert names([told(1, 8), told(8, 9), told(7, 9, THEIRS), Standing(8, 0, 0)], 8) == {OURS: 2, THEIRS: 1}


MESSAGES: list[tuple[type[msgspec.Struct], Callable[[int], Any]]] = [
    (Standing, lambda version: [version, 0, 0]),
    (Standing, lambda version: [0, 0, version]),
    (Standing, lambda version: [3, 0, 0, [], [[3, b""], [version, b""]], True]),
    (Vector, lambda version: [version, 0, 0, 0]),
    (Keeper, lambda version: [{0: 5, 1: version}, [1]]),
    (FragmentOffer, lambda version: [0, version, b"", 0, 0, "ask"]),
    (Work, lambda version: {"turns": version}),
]


@pytest.mark.parametrize(("kind", "told"), MESSAGES)
def test_nobody_is_believed_a_version_after_which_there_is_none(
    kind: type[msgspec.Struct], told: Callable[[int], Any]
) -> None:
    """The highest that a liar is believed is one from which trainers go on."""

    def read(version: int) -> None:
        msgspec.msgpack.decode(msgspec.msgpack.encode(told(version)), type=kind)

    for version in (2**40 + 2**50, 2**53):
        with pytest.raises(msgspec.ValidationError):
            read(version)
    highest = int(1000 * time.time())
    read(highest)
    while 1000 * time.time() < highest + 1:
        pass
    read(highest + 1)


def test_no_fragment_of_such_a_version_is_taken() -> None:
    whole = dump(Fragment(np.zeros(4, np.float32), 0, version=5))
    assert load(whole, 4).version == 5
    state = [2**53, *msgspec.msgpack.decode(whole)[1:]]
    with pytest.raises(ProtocolError):
        load(msgspec.msgpack.encode(state), 4)
