"""What the syncer of a fragment has for the next round: differences that trainers offer, and the round made of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.averaging import outer
from core.averaging.fragment import DENSE, GIVERS, STALE, Encoder, Fragment, Numbers, Round, decode, largest
from core.averaging.outer import NESTEROV, PLAIN

HELD = 256 << 20
"""Bytes of offers that a syncer keeps at most until it makes a round of them."""
MOST = 0.5
"""Share of the trainers over which a round's own median tells what is usual."""


class Offered(NamedTuple):
    """What a trainer has."""

    version: int
    samples: int
    message: bytes
    norm: float
    """Length of the difference."""


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
        self._encoder = Encoder()
        self._quorum, self._patience_s = quorum, patience_s
        self._offers: dict[bytes, Offered] = {}
        """By trainer."""
        self._making: Making | None = None
        self._expected: set[bytes] = set()
        """Newcomers that are about to make their first offer."""
        self._let_down: set[bytes] = set()
        """Those that made none until the next round: they are not waited for again."""
        self._first = self._full = math.inf
        """When the first offer came, and the one that made the quorum."""
        self._usual = (math.inf, math.inf)
        """Length of differences, and the median of their samples, in the last round of most trainers."""
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
        """Whether a trainer's offer on a version, or a later one, is here, or in the round that is being made: another
        one is not read, as reading costs more than sending."""
        return any(peer in offers and version <= offers[peer].version for offers in self._here())

    def _here(self) -> list[Mapping[bytes, Offered]]:
        return [self._offers, self._making.offers] if self._making else [self._offers]

    def length_of(self, message: bytes) -> float:
        """Of the difference that a message is; that of a large one takes a twentieth of a second.

        Args:
            message: of an offer.

        Raises:
            ProtocolError: it is none.
        """
        return float(np.linalg.norm(decode(message, len(self.fragment.numbers), self.fragment.fine)))

    def offer(self, peer: bytes, version: int, samples: int, message: bytes, norm: float, now: float) -> bool:
        """Take an offer, one of each trainer on a version, while there is room.

        Args:
            peer: the trainer.
            version: what the difference was made on.
            samples: that made it.
            message: the difference.
            norm: by `length_of`.
            now: in seconds.

        Returns:
            Whether it was counted already or is not too old for the next round.
        """
        fragment = self.fragment
        if fragment.counted(peer, version):
            return True
        if not fragment.version - STALE <= version <= fragment.version:
            return False
        if self.has(peer, version):
            return True
        if peer not in self._offers:
            is_next = version == fragment.version and not self._making
            late_s = now - (self._full if is_next else self._last_full)
            if 0.0 <= late_s <= self._patience_s:
                self._lateness_s += (late_s - self._lateness_s) / 4
        held = sum(len(offer.message) for offers in self._here() for offer in offers.values())
        if peer in self._offers or (len(self._offers) < GIVERS and held + len(message) <= HELD):
            self._offers[peer] = Offered(version, samples, message, norm)
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
        """Seconds until a round is made of what is here; infinite without an offer, and while one is being made."""
        if not self._offers or self._making:
            return math.inf
        alone = self.fragment.usual() | self._expected <= self._offers.keys()
        known = len(self.fragment.rounds) == STALE  # else nobody knows yet who takes part
        if alone and (known or len(self._offers) >= self._quorum):
            return 0.0
        grace_s = min(self._patience_s, 2 * self._lateness_s)
        return max(0.0, min(self._first + self._patience_s, self._full + grace_s) - now)

    def begin(self) -> "Making":
        """Take what is here for the next round, at least one offer; what comes from now on is for the one after it."""
        offers, share = self._offers, self._share()
        norms = [offer.norm for offer in offers.values()]
        usual = (math.inf, math.inf) if share > MOST else self._usual
        longest = outer.length(norms, usual[0])
        weights = outer.believed([offer.samples for offer in offers.values()], usual[1])
        if share > MOST and longest:
            self._usual = longest, outer.median(weights)
        self._making = Making(self.fragment.copy(), offers, weights, longest, share, self._encoder)
        self._let_down = (self._let_down | self._expected) - offers.keys()
        self._last_full = self._full
        self._offers, self._expected, self._first, self._full = {}, set(), math.inf, math.inf
        return self._making

    def end(self, made: "Made | None") -> None:
        """The round that was begun has been made, or it could not be, and its offers are dropped."""
        self._making = None
        if made:
            self.fragment.become(made.fragment)
            self._encoder.counted()


class Made(NamedTuple):
    """What a round came to."""

    fragment: Fragment
    """After it."""
    clipped: dict[bytes, float]
    """Trainers whose differences were scaled down, and to which part of their length: those that led back from where
    the others went, to none."""
    given: dict[bytes, tuple[int, int]]
    """By trainer: for how many samples it counted, and the bytes of its difference."""


class Making(NamedTuple):
    """A round that is to be made; as that takes long if the fragment is large, another thread may do it."""

    fragment: Fragment
    """Before it: a copy."""
    offers: Mapping[bytes, Offered]
    """By trainer."""
    weights: Sequence[int]
    """Samples for which each counts."""
    longest: float
    """Length of a difference."""
    share: float
    encoder: Encoder

    def make(self) -> Made:
        """Make it, once."""
        offers, weights, fragment = self.offers, self.weights, self.fragment
        norms, messages = [offer.norm for offer in offers.values()], [offer.message for offer in offers.values()]
        factors = outer.shares(norms, weights, self.longest)
        mean = outer.mean(self._differences(), factors)
        opposed = outer.opposed(self._differences(), factors, mean)
        if any(opposed) and not all(opposed):
            weights = [0 if against else weight for weight, against in zip(weights, opposed, strict=True)]
            factors = outer.shares(norms, weights, self.longest)
            mean = outer.mean(self._differences(), factors)
        left = [
            0.0 if not weight else min(1.0, self.longest / norm) if norm else 1.0
            for weight, norm in zip(weights, norms, strict=True)
        ]
        clipped = {peer: part for peer, part in zip(offers, left, strict=True) if part < 1.0}
        dense = all(message[:1] == DENSE for message in messages)
        if dense or sum(map(len, messages)) > largest(len(fragment.numbers), fragment.fine):
            changed = outer.change(NESTEROV if dense else PLAIN, mean, fragment.momentum, self.share)
            parts = [(1.0, self.encoder.encode(changed, fragment.fine, is_sparse=False))]
        else:
            counting = zip(factors, messages, strict=True)
            parts = [(PLAIN.rate * self.share * factor, message) for factor, message in counting if factor]
        givers = tuple((peer, offer.version) for peer, offer in offers.items())
        samples = min(2**53, sum(weights))
        fragment.apply(Round(fragment.version + 1, samples, dense, givers, tuple(parts), self.share))
        given = {peer: (weight, len(offers[peer].message)) for peer, weight in zip(offers, weights, strict=True)}
        return Made(fragment, clipped, given)

    def _differences(self) -> Iterator[Numbers]:
        fragment = self.fragment
        return (decode(offer.message, len(fragment.numbers), fragment.fine) for offer in self.offers.values())
