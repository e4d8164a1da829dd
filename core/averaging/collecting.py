"""What the syncer of a fragment has for the next round: differences that trainers offer, and the round made of them."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from core.averaging import outer
from core.averaging.fragment import DENSE, GIVERS, STALE, Encoder, Fragment, Numbers, Round, decode, largest
from core.averaging.outer import NESTEROV, PLAIN

HELD = 256 << 20
"""Bytes of offers that a syncer keeps at most until it makes a round of them."""
MOST = 0.5
"""Share of the trainers over which a round's own median tells what is usual."""


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
            parts = [(1.0, self._encoder.encode(changed, fragment.fine, is_sparse=False))]
        else:
            counting = zip(factors, messages, strict=True)
            parts = [(PLAIN.rate * share * factor, message) for factor, message in counting if factor]
        givers = tuple((peer, version) for peer, (version, *_) in offers.items())
        made = Round(fragment.version + 1, min(2**53, sum(weights)), dense, givers, tuple(parts), share)
        fragment.apply(made)
        self._encoder.counted()
        self.given = {peer: (weight, len(offers[peer][2])) for peer, weight in zip(offers, weights, strict=True)}
        self._let_down = (self._let_down | self._expected) - offers.keys()
        self._last_full = self._full
        self._offers, self._expected, self._first, self._full = {}, set(), math.inf, math.inf
        return made

    def _differences(self, messages: Iterable[bytes]) -> Iterator[Numbers]:
        return (decode(message, len(self.fragment.numbers), self.fragment.fine) for message in messages)
