"""A fragment of the trunk as its syncer and all who follow it keep it: agreed numbers, and rounds that change them.

Whoever applies the same rounds has the same bits, momentum included. So a round travels instead of the numbers, each
trainer that takes part keeps a copy from which another syncer can go on, and no copies are sent beside.
"""

import copy
import hashlib
import math
from collections import deque
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging import codecs, dense, outer, sparse
from core.averaging.outer import GROWTH, NESTEROV, PLAIN
from core.contracts.errors import UNREADABLE, ProtocolError
from core.contracts.trunk import PARTS, check_possible

STALE = 3
"""Rounds that an offer may be behind."""
FASTEST = 16.0
"""Rounds a second: where nobody else can tell, no more than these are believed to have been made."""
GIVERS = 1024
"""Trainers in one round."""
FARTHEST = 2.0**16
"""What no number of a trunk moves by between two rounds: sums of such differences stay finite."""
PIECE = 4096
"""Numbers that stay together: a fragment takes every so many'th piece of the trunk, and so has some of all of it."""
LARGEST = 4 << 20
"""Numbers of a fragment, as far as `PARTS` of them are enough: with its momentum it fits a message between peers."""
DENSE, SPARSE = b"4", b"s"
FORMS = {DENSE: dense, SPARSE: sparse}
"""How the numbers travel that are not fine."""
Numbers = NDArray[np.float32]
Peer = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Version = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class OtherVersion(ProtocolError):
    """It may well be right in another version of Hearth or of the manifest, so it is held against nobody."""


class Encoder:
    """Makes the messages of one sender about one fragment: a trainer's differences, or a syncer's rounds. Each comes
    with what was left of the earlier ones in the same form that were counted."""

    def __init__(self) -> None:
        self._left: dict[bytes, Numbers] = {}
        self._leaves: tuple[bytes, Numbers] | None = None
        """What is left once the last message is counted."""

    def encode(self, difference: Numbers, fine: int, is_sparse: bool) -> bytes:
        """What travels of a finite difference [count], whose first `fine` numbers are not rounded to few bits."""
        mark = SPARSE if is_sparse else DENSE
        form, total = FORMS[mark], difference[fine:]
        if mark in self._left:
            total = total + np.float32(form.KEPT) * self._left[mark]
        total = np.clip(total, -codecs.LARGEST_HALF, codecs.LARGEST_HALF)
        data: bytes = form.encode(total)
        self._leaves = mark, total - form.decode(data, len(total))
        return mark + codecs.encode(difference[:fine], "fp16") + data

    def counted(self) -> None:
        """The last message is in what is agreed. Of one that is not, the whole difference is offered again."""
        if self._leaves:
            self._left.update([self._leaves])
            self._leaves = None


def cut(parameters: Iterable[tuple[int, bool]], wanted: int) -> list[tuple[list[slice], list[slice]]]:
    """Where the fragments' numbers are in the flat vector of the trunk: the fine ones, then all others.

    Args:
        parameters: how many numbers each has, and whether they are fine.
        wanted: fragments, by the manifest; there are more if one would be too large, and none without numbers.
    """
    fine, coarse, start = list[slice](), list[slice](), 0
    for numbers, is_fine in parameters:
        end = start + numbers
        (fine if is_fine else coarse).extend(slice(at, min(at + PIECE, end)) for at in range(start, end, PIECE))
        start = end
    count = min(PARTS, max(wanted, math.ceil(start / LARGEST)), max(len(fine), len(coarse)))
    return [(fine[part::count], coarse[part::count]) for part in range(count)]


def size_of(pieces: Iterable[slice]) -> int:
    """Numbers in them."""
    return sum(piece.stop - piece.start for piece in pieces)


def sizes_of(parameters: Iterable[tuple[int, bool]], wanted: int) -> list[tuple[int, int]]:
    """The numbers of each fragment, and how many of them are fine; arguments as for `cut`."""
    return [(size_of(fine) + size_of(coarse), size_of(fine)) for fine, coarse in cut(parameters, wanted)]


def largest(count: int, fine: int) -> int:
    """Bytes of the longest message about so many numbers."""
    return 1 + 2 * fine + dense.encoded_size(count - fine)


def form_of(message: bytes) -> ModuleType:
    """How the numbers of a message travel that are not fine.

    Raises:
        OtherVersion: that is unknown here.
    """
    if (form := FORMS.get(message[:1])) is None:
        raise OtherVersion("A difference came in an unknown form.")
    return form


def decode(message: bytes, count: int, fine: int) -> Numbers:
    """The difference [count].

    Raises:
        ProtocolError: the bytes are none, or of a form that is unknown here (`OtherVersion`).
    """
    cut, form = 1 + 2 * fine, form_of(message)
    head = codecs.decode(memoryview(message)[1:cut], "fp16", fine)
    difference = np.concatenate([head, form.decode(memoryview(message)[cut:], count - fine)])
    if np.abs(difference).max(initial=0.0) > FARTHEST:
        raise ProtocolError("A difference came that is too far.")
    return difference


class Round(msgspec.Struct, frozen=True, array_like=True):
    """What changes a fragment from one version to the next."""

    version: Version
    """Afterwards."""
    samples: Version
    dense: bool
    """With Nesterov's momentum."""
    givers: Annotated[tuple[tuple[Peer, Version], ...], msgspec.Meta(max_length=GIVERS)]
    """Whose offers are in it, and the versions that these were made on."""
    parts: Annotated[
        tuple[tuple[Annotated[float, msgspec.Meta(ge=0, le=PLAIN.rate)], bytes], ...], msgspec.Meta(max_length=GIVERS)
    ]
    """Messages and their factors; their sum is added."""
    share: Annotated[float, msgspec.Meta(ge=1 / GIVERS, le=1)] = 1.0
    """The givers', of all trainers that give in the time in which these do once."""

    def __post_init__(self) -> None:
        if any(on >= self.version for _, on in self.givers):  # it would count whatever they offer later
            raise ValueError("a round has offers that were made on what came of it, or later")


ROUNDS = msgspec.msgpack.Decoder(Annotated[list[Round], msgspec.Meta(max_length=STALE)])


class Fragment:
    """Agreed numbers. They are replaced, never changed in place."""

    def __init__(self, numbers: Numbers, fine: int, version: int = 1, samples: int = 0) -> None:
        """What is agreed first.

        Args:
            numbers: [count], finite.
            fine: so many of the first travel as fp16.
            version: 1, or that from which it goes on.
            samples: in all agreed so far.
        """
        self.numbers, self.fine, self.version, self.samples = numbers, fine, version, samples
        self.line = _digest(numbers.tobytes())
        """Of all that was agreed so far: who has the same one has the same bits."""
        self.momentum: Numbers | None = None
        self.rounds: deque[Round] = deque(maxlen=STALE)
        """The last ones, for those who are behind, and to know what was counted."""
        self._lines: deque[bytes] = deque([self.line], maxlen=STALE + 1)
        """Before and after each of them."""

    def copy(self) -> "Fragment":
        """One that goes on by itself; the numbers are the same."""
        other = copy.copy(self)
        other.rounds, other._lines = self.rounds.copy(), self._lines.copy()
        return other

    def after(self, rounds: Iterable[Round]) -> "Fragment":
        """A copy that has gone on by rounds; raises as `apply`."""
        other = self.copy()
        for made in rounds:
            other.apply(made)
        return other

    def become(self, other: "Fragment") -> None:
        """Go on as one that was copied from this one, and is not used any more.

        Args:
            other: what it has come to.
        """
        self.__dict__.update(other.__dict__)

    def apply(self, made: Round) -> None:
        """Go on to the next version.

        Raises:
            ProtocolError: it is another one's, or no round; nothing has changed.
        """
        if made.version != self.version + 1:
            raise ProtocolError(f"A round to version {made.version} does not follow version {self.version}.")
        changed = _change(made, len(self.numbers), self.fine)
        numbers = self.numbers + changed
        momentum = outer.momentum_after(NESTEROV if made.dense else PLAIN, changed, self.momentum, made.share)
        if not np.isfinite(numbers).all() or (momentum is not None and not np.isfinite(momentum).all()):
            raise ProtocolError("A round leads to numbers that are not finite.")
        self.numbers, self.momentum, self.version = numbers, momentum, made.version
        self.samples = min(self.samples + made.samples, 2**53)
        self.line = _line_after(self.line, made, numbers)
        self.rounds.append(made)
        self._lines.append(self.line)

    def counted(self, peer: bytes, version: int) -> bool:
        """Whether an offer that a trainer made on a version, or a later one of it, is in what is agreed."""
        return any(giver == peer and on >= version for made in self.rounds for giver, on in made.givers)

    def is_settled(self, peer: bytes, version: int) -> bool:
        """Whether what a trainer has learnt on a version is in what is agreed, or nobody can tell any more."""
        return version < self.version - STALE or self.counted(peer, version)

    def can_become(self, newer: "Fragment", seconds: float) -> bool:
        """Whether rounds can have led so far.

        Args:
            newer: the same fragment, as somebody says that it is now.
            seconds: since this one was agreed on.
        """
        return newer.version <= self.version + STALE + FASTEST * max(0.0, seconds)

    def since(self, line: bytes) -> list[Round] | None:
        """The rounds that came after a line; None: it is too old for that, or another one."""
        lines = [*self._lines]
        return [*self.rounds][lines.index(line) :] if line in lines else None

    def lately(self) -> list[tuple[int, bytes]]:
        """The last versions, with their lines."""
        return [*enumerate(self._lines, self.version + 1 - len(self._lines))]

    def can_take(self, newer: "Fragment", rounds: Collection[Round]) -> bool:
        """Whether rounds move it as far as others do.

        Args:
            newer: what it comes to by them.
            rounds: at most `STALE`.
        """
        before = [float(np.linalg.norm(_change(made, len(self.numbers), self.fine))) for made in self.rounds]
        usual = max(before, default=float(np.linalg.norm(self.numbers)))
        return float(np.linalg.norm(newer.numbers - self.numbers)) <= GROWTH * usual * len(rounds)

    def usual(self) -> set[bytes]:
        """The trainers that took part lately."""
        return {giver for made in self.rounds for giver, _ in made.givers}


def _change(made: Round, count: int, fine: int) -> Numbers:
    """What a round adds [count]; raises as `decode`."""
    for _, message in made.parts:
        form_of(message)
    if sum(len(message) for _, message in made.parts) > largest(count, fine):
        raise ProtocolError("A round has more parts than its numbers need.")
    change = np.zeros(count, np.float32)
    for factor, message in made.parts:
        change += np.float32(factor) * decode(message, count, fine)
    return change


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _line_after(line: bytes, made: Round, numbers: Numbers) -> bytes:
    return _digest(line + msgspec.msgpack.encode(made) + _digest(numbers.tobytes()))


class _State(msgspec.Struct, frozen=True, array_like=True):
    version: Version
    samples: Version
    fine: Version
    rounds: Annotated[list[Round], msgspec.Meta(max_length=STALE)]
    lines: Annotated[list[Annotated[bytes, msgspec.Meta(max_length=16)]], msgspec.Meta(min_length=1)]
    numbers: bytes
    momentum: bytes | None

    def __post_init__(self) -> None:
        check_possible(self.version)


def dump(fragment: Fragment, *, is_own: bool = False) -> bytes:
    """All that is needed to go on with a fragment; a large one takes a tenth of a second.

    Args:
        fragment: as it is; a thread takes a copy.
        is_own: for this PC's disk, with the momentum. Others could not try it, and get it with rounds.
    """
    momentum = fragment.momentum if is_own else None
    return msgspec.msgpack.encode(
        _State(
            fragment.version,
            fragment.samples,
            fragment.fine,
            [*fragment.rounds],
            [*fragment._lines],
            fragment.numbers.astype("<f4").tobytes(),
            None if momentum is None else momentum.astype("<f4").tobytes(),
        )
    )


def load(data: bytes, most: int, *, is_own: bool = False) -> Fragment:
    """A fragment from what `dump` gave.

    Args:
        data: of a peer or a disk.
        most: numbers that it may have.
        is_own: of this PC's disk, where an older version of Hearth may have written it, with other rounds and lines. It
            goes on from the numbers.

    Raises:
        ProtocolError: it is none.
    """
    try:
        state = msgspec.msgpack.decode(data, type=_State)
    except UNREADABLE as error:
        raise ProtocolError(f"This is no fragment of a trunk: {error}.") from error
    count = len(state.numbers) // 4
    if count > most or state.fine > count or len(state.lines) != len(state.rounds) + 1:
        raise ProtocolError("This is no fragment of this run's trunk.")
    if state.momentum is not None and len(state.momentum) != 4 * count:
        raise ProtocolError("This is no fragment of this run's trunk.")
    fragment = Fragment(codecs.decode(state.numbers, "fp32", count), state.fine, state.version, state.samples)
    fragment.momentum = None if state.momentum is None else codecs.decode(state.momentum, "fp32", count)
    line = _line_after(state.lines[-2], state.rounds[-1], fragment.numbers) if state.rounds else fragment.line
    try:
        if line != state.lines[-1]:
            raise ProtocolError("The numbers of this fragment are not those to which its rounds led.")
        for version, made in enumerate(state.rounds, state.version + 1 - len(state.rounds)):
            if made.version != version:
                raise ProtocolError("The rounds of this fragment do not follow each other.")
            _change(made, count, state.fine)  # others are told of them, who would blame this PC
    except ProtocolError:
        if is_own:
            return fragment
        raise
    fragment.line, fragment._lines = line, deque(state.lines, maxlen=STALE + 1)
    fragment.rounds.extend(state.rounds)
    return fragment
