"""A fragment of the trunk as its syncer and all who follow it keep it: agreed numbers, and rounds that change them.

Whoever applies the same rounds has the same bits, momentum included. So a round travels instead of the numbers, each
trainer that takes part keeps a copy from which another syncer can go on, and no copies are sent beside.
"""

import copy
import hashlib
import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging import codecs, outer, sparse
from core.averaging.outer import NESTEROV, PLAIN
from core.contracts.errors import UNREADABLE, ProtocolError
from core.contracts.expert_calls import encoded_size
from core.contracts.trunk import PARTS, check_possible

STALE = 3
"""Rounds that an offer may be behind."""
FASTEST = 4.0
"""Rounds a second: where nobody else can tell, no more than these are believed to have been made."""
GIVERS = 1024
"""Trainers in one round."""
HELD = 256 << 20
"""Bytes of offers that a syncer keeps at most until it makes a round of them."""
FARTHEST = 2.0**16
"""What no number of a trunk moves by between two rounds: sums of such differences stay finite."""
PIECE = 4096
"""Numbers that stay together: a fragment takes every so many'th piece of the trunk, and so has some of all of it."""
LARGEST = 4 << 20
"""Numbers of a fragment at most: with its momentum it fits a message between peers."""
MOST = 0.5
"""Share of the trainers over which a round's own median tells what is usual."""
DENSE, SPARSE = b"d", b"s"
Numbers = NDArray[np.float32]
Peer = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Version = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Encoder:
    """Makes the messages of one trainer about one fragment."""

    def __init__(self) -> None:
        self._feedback = sparse.Feedback()

    def encode(self, difference: Numbers, fine: int, is_sparse: bool) -> bytes:
        """What travels of a finite difference [count], whose first `fine` numbers are not rounded to few bits."""
        coarse = np.clip(difference[fine:], -codecs.LARGEST_HALF, codecs.LARGEST_HALF)
        head = codecs.encode(difference[:fine], "fp16")
        if is_sparse:
            return SPARSE + head + self._feedback.encode(coarse)
        return DENSE + head + codecs.encode(coarse, "int8")


def cut(parameters: Iterable[tuple[int, bool]], wanted: int) -> list[tuple[list[slice], list[slice]]]:
    """Where the fragments' numbers are in the flat vector of the trunk: the fine ones, then all others.

    Args:
        parameters: how many numbers each has, and whether they are fine.
        wanted: fragments, by the manifest; there are more if one would be too large.
    """
    fine, coarse, start = list[slice](), list[slice](), 0
    for numbers, is_fine in parameters:
        end = start + numbers
        (fine if is_fine else coarse).extend(slice(at, min(at + PIECE, end)) for at in range(start, end, PIECE))
        start = end
    count = min(PARTS, max(wanted, math.ceil(start / LARGEST)))
    return [(fine[part::count], coarse[part::count]) for part in range(count)]


def size_of(pieces: Iterable[slice]) -> int:
    """Numbers in them."""
    return sum(piece.stop - piece.start for piece in pieces)


def largest(count: int, fine: int) -> int:
    """Bytes of the longest message about so many numbers."""
    return 1 + 2 * fine + encoded_size("int8", count - fine)


def decode(message: bytes, count: int, fine: int) -> Numbers:
    """The difference [count].

    Raises:
        ProtocolError: the bytes are none.
    """
    cut = 1 + 2 * fine
    coarse, rest = message[:1], memoryview(message)[cut:]
    if coarse not in (DENSE, SPARSE):
        raise ProtocolError("A difference came in an unknown form.")
    head = codecs.decode(memoryview(message)[1:cut], "fp16", fine)
    tail = sparse.decode(rest, count - fine) if coarse == SPARSE else codecs.decode(rest, "int8", count - fine)
    difference = np.concatenate([head, tail])
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

    def apply(self, made: Round) -> None:
        """Go on to the next version.

        Raises:
            ProtocolError: it is another one's, or no round; nothing has changed.
        """
        if made.version != self.version + 1:
            raise ProtocolError(f"A round to version {made.version} does not follow version {self.version}.")
        if sum(len(message) for _, message in made.parts) > largest(len(self.numbers), self.fine):
            raise ProtocolError("A round has more parts than its numbers need.")
        changed = np.zeros(len(self.numbers), np.float32)
        for factor, message in made.parts:
            changed += np.float32(factor) * decode(message, len(self.numbers), self.fine)
        numbers = self.numbers + changed
        momentum = outer.momentum_after(NESTEROV if made.dense else PLAIN, changed, self.momentum, made.share)
        if not np.isfinite(numbers).all() or (momentum is not None and not np.isfinite(momentum).all()):
            raise ProtocolError("A round leads to numbers that are not finite.")
        self.numbers, self.momentum, self.version = numbers, momentum, made.version
        self.samples = min(self.samples + made.samples, 2**53)
        self.line = _digest(self.line + msgspec.msgpack.encode(made))
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

    def usual(self) -> set[bytes]:
        """The trainers that took part lately."""
        return {giver for made in self.rounds for giver, _ in made.givers}


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


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


def dump(fragment: Fragment) -> bytes:
    """All that somebody else needs to go on with a fragment."""
    momentum = None if fragment.momentum is None else fragment.momentum.astype("<f4").tobytes()
    numbers = fragment.numbers.astype("<f4").tobytes()
    return msgspec.msgpack.encode(
        _State(
            fragment.version,
            fragment.samples,
            fragment.fine,
            [*fragment.rounds],
            [*fragment._lines],
            numbers,
            momentum,
        )
    )


def load(data: bytes, most: int) -> Fragment:
    """A fragment from what `dump` gave.

    Args:
        data: of a peer or a disk.
        most: numbers that it may have.

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
    fragment.rounds.extend(state.rounds)
    fragment._lines = deque(state.lines, maxlen=STALE + 1)
    fragment.line = state.lines[-1]
    return fragment


class Collecting:
    """Offers that a syncer has for the next round, and when it is made. Time is an argument."""

    def __init__(self, fragment: Fragment, quorum: int, patience_s: float) -> None:
        """
        Args:
            fragment: what the offers are for; it changes with each round.
            quorum: offers with which a round need not wait for everybody.
            patience_s: that an offer waits for others at most, and the greatest grace.
        """
        self.fragment = fragment
        self._quorum, self._patience_s = quorum, patience_s
        self._offers: dict[bytes, tuple[int, int, bytes, float]] = {}
        """By trainer: version, samples, message, length of the difference."""
        self._expected: set[bytes] = set()
        """Newcomers that are about to make their first offer."""
        self._let_down: set[bytes] = set()
        """Those that made none until the next round: they are not waited for again."""
        self.given: dict[bytes, tuple[int, int]] = {}
        """By trainer of the last round: for how many samples it counted, and the bytes of its difference."""
        self._first = self._full = math.inf
        """When the first offer came, and the one that made the quorum."""
        self._usual = (math.inf, math.inf)
        """Length of differences, and the median of their samples, in the last round of most trainers."""
        self.clipped: dict[bytes, float] = {}
        """Trainers of the last round whose differences were scaled down, and to which part of their length: those that
        led back from where the others went, to none."""
        self._lateness_s = patience_s / 2
        """By which the others come after the quorum: a moving mean, also of those who miss a round by little."""
        self._last_full = math.inf
        """When the last round had its quorum."""
        self._gave = {giver: made.version for made in fragment.rounds for giver, _ in made.givers}
        """Each trainer's last round."""

    def expect(self, peer: bytes) -> None:
        """A trainer has begun with what is agreed: the next round waits for it as for those who took part."""
        if peer not in self._let_down and len(self._expected | self._let_down) < GIVERS:
            self._expected.add(peer)

    def has(self, peer: bytes, version: int) -> bool:
        """Whether a trainer's offer on a version, or a later one, is here: another one is not read, as reading costs
        more than sending."""
        return peer in self._offers and version <= self._offers[peer][0]

    def offer(self, peer: bytes, version: int, samples: int, message: bytes, now: float) -> bool:
        """Take an offer, one of each trainer on a version, while there is room. Whether it was counted already or is
        not too old for the next round.

        Raises:
            ProtocolError: it is none.
        """
        fragment = self.fragment
        if fragment.counted(peer, version):
            return True
        if not fragment.version - STALE <= version <= fragment.version:
            return False
        if self.has(peer, version):
            return True
        norm = float(np.linalg.norm(decode(message, len(fragment.numbers), fragment.fine)))
        if peer not in self._offers:
            late_s = now - (self._full if version == fragment.version else self._last_full)
            if 0.0 <= late_s <= self._patience_s:
                self._lateness_s += (late_s - self._lateness_s) / 4
        held = sum(len(message) for *_, message, _ in self._offers.values())
        if peer in self._offers or (len(self._offers) < GIVERS and held + len(message) <= HELD):
            self._offers[peer] = version, samples, message, norm
        self._first = min(self._first, now)
        if len(self._offers) >= self._quorum:
            self._full = min(self._full, now)
        return True

    def _share(self) -> float:
        """Of the trainers that gave in or after the last round of any of those that are here, those that are here."""
        here = self._offers.keys()
        since = max((self._gave[peer] for peer in here if peer in self._gave), default=0)
        self._gave = {peer: version for peer, version in self._gave.items() if version >= since}
        share = len(here) / len(here | self._gave.keys() | self._expected)
        self._gave |= dict.fromkeys(here, self.fragment.version + 1)
        return max(1 / GIVERS, share)

    def due_s(self, now: float) -> float:
        """Seconds until a round is made of what is here; infinite without an offer."""
        if not self._offers:
            return math.inf
        alone = self.fragment.usual() | self._expected <= self._offers.keys()
        known = len(self.fragment.rounds) == STALE  # else nobody knows yet who takes part
        if alone and (known or len(self._offers) >= self._quorum):
            return 0.0
        grace_s = min(self._patience_s, 2 * self._lateness_s)
        return max(0.0, min(self._first + self._patience_s, self._full + grace_s) - now)

    def make(self) -> Round:
        """The next round, applied to the fragment. Not without an offer."""
        offers, fragment = self._offers, self.fragment
        norms = [norm for *_, norm in offers.values()]
        share = self._share()
        usual = (math.inf, math.inf) if share > MOST else self._usual
        longest = outer.length(norms, usual[0])
        weights = outer.believed([samples for _, samples, *_ in offers.values()], usual[1])
        if share > MOST and longest:
            self._usual = longest, outer.median(weights)
        messages = [message for *_, message, _ in offers.values()]
        factors = outer.shares(norms, weights, longest)
        mean = outer.mean(self._differences(messages), factors)
        opposed = outer.opposed(self._differences(messages), factors, mean)
        if any(opposed) and not all(opposed):
            weights = [0 if against else weight for weight, against in zip(weights, opposed, strict=True)]
            factors = outer.shares(norms, weights, longest)
            mean = outer.mean(self._differences(messages), factors)
        left = [
            0.0 if not weight else min(1.0, longest / norm) if norm else 1.0
            for weight, norm in zip(weights, norms, strict=True)
        ]
        self.clipped = {peer: part for peer, part in zip(offers, left, strict=True) if part < 1.0}
        dense = all(message[:1] == DENSE for message in messages)
        if dense or sum(map(len, messages)) > largest(len(fragment.numbers), fragment.fine):
            changed = outer.change(NESTEROV if dense else PLAIN, mean, fragment.momentum, share)
            parts = [(1.0, Encoder().encode(changed, fragment.fine, is_sparse=False))]
        else:
            counting = zip(factors, messages, strict=True)
            parts = [(PLAIN.rate * share * factor, message) for factor, message in counting if factor]
        givers = tuple((peer, version) for peer, (version, *_) in offers.items())
        made = Round(fragment.version + 1, min(2**53, sum(weights)), dense, givers, tuple(parts), share)
        fragment.apply(made)
        self.given = {peer: (weight, len(offers[peer][2])) for peer, weight in zip(offers, weights, strict=True)}
        self._let_down = (self._let_down | self._expected) - offers.keys()
        self._last_full = self._full
        self._offers, self._expected, self._first, self._full = {}, set(), math.inf, math.inf
        return made

    def _differences(self, messages: Iterable[bytes]) -> Iterator[Numbers]:
        return (decode(message, len(self.fragment.numbers), self.fragment.fine) for message in messages)
