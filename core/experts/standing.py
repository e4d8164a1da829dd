"""What this process knows of a peer whose experts it asks: how fast it is, how busy, and whether it is left alone.

All who ask a peer judge it by this one object, so that a peer which is late in one layer is late in all of them.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable

from core.contracts.expert_calls import Direction
from core.experts.proof import Ask, Proof
from core.net.limits import Backoff

log = logging.getLogger(__name__)

LATE_S = 0.1
"""Nobody is late before this: passes of others and the system's scheduler take tens of milliseconds."""
NEW = 4
"""A peer whose times are not known yet is late after this part of the greatest patience."""
SHORTEST_S = 0.75
"""Time that a peer gets for a request at least; at most it is the run's `patience_s`. A frozen peer costs a batch that
once, at most: it is suspended then. Where others can answer, a batch does not wait for so long."""
HEALTHY_S = 60.0
"""A peer without a failure for so long is suspended for a short time again at its next one."""
SUSPENDED_S = (0.5, 30.0)
AWAKE_TRIES = 2
"""A peer that answers the small question is only slow: it is asked for work again after 2 s at most, also if that is
late again and again, while one that does not answer is left alone for ever longer."""
LOAD_S = 5.0
"""What a peer said of its load is of no use after this."""
PROBES = 20
"""Ten minutes."""


class Pace:
    """Moving mean and mean deviation of durations (Jacobson, 1988: congestion avoidance and control)."""

    MEAN_GAIN = 1 / 8
    DEVIATION_GAIN = 1 / 4
    DEVIATIONS = 4
    """Beyond the mean: an exponential delay is longer one time in fifty."""

    def __init__(self) -> None:
        self.mean: float | None = None
        """Seconds; None: nothing measured yet."""
        self.deviation = 0.0

    def note(self, seconds: float) -> None:
        """Something took so long, or, if it was given up, at least so long."""
        if self.mean is None:
            self.mean, self.deviation = seconds, seconds / 2
            return
        error = seconds - self.mean
        self.mean += self.MEAN_GAIN * error
        self.deviation += self.DEVIATION_GAIN * (abs(error) - self.deviation)

    def late_s(self, shortest: float, longest: float) -> float:
        """Seconds after which an answer is late, between bounds; the upper one while nothing is known."""
        if self.mean is None:
            return longest
        return min(max(self.mean + self.DEVIATIONS * self.deviation, shortest), longest)


class Standing:
    """Of one peer.

    A peer that fails is suspended: nothing is asked of it until it has answered a small question again. The time
    between two such questions grows with its failures; news of the peer (`stir`) bring the next one forward. A banned
    peer is asked nothing until the ban ends.
    """

    def __init__(
        self, name: str, probe: Callable[[], Awaitable[bool]], changed: Callable[[], None], ask_for_work: Ask
    ) -> None:
        """Nothing is known yet.

        Args:
            name: of the peer, for the log.
            probe: asks the peer the small question; whether it answered.
            changed: called when the peer was suspended, or is back.
            ask_for_work: see `Proof`.
        """
        self.proof = Proof(ask_for_work)
        self.suspended = False
        self.load = 0.0
        """As it said last: 0 idle, 1 busy without pause; above that, the seconds of work that wait there."""
        self._load_at = -math.inf
        self._name, self._probe, self._changed = name, probe, changed
        self._paces: dict[Direction, Pace] = {"inference": Pace(), "forward": Pace(), "backward": Pace()}
        self._backoff = Backoff(*SUSPENDED_S)
        self._banned_until = self._failed_at = -math.inf
        self._given_up = 0
        self._stirred = asyncio.Event()
        self._recovery: asyncio.Task[None] | None = None

    # how fast it is

    def usual_s(self, direction: Direction) -> float | None:
        """Seconds that a request usually takes; None: not known."""
        return self._paces[direction].mean

    def late_s(self, direction: Direction, patience_s: float) -> float:
        """Seconds after which a request is late, so that others are asked in the peer's place."""
        if self._paces[direction].mean is None:
            return patience_s / NEW
        return self._paces[direction].late_s(min(LATE_S, patience_s), patience_s)

    def longest_s(self, direction: Direction, patience_s: float) -> float:
        """Seconds after which a request is of no use any more."""
        return self._paces[direction].late_s(min(SHORTEST_S, patience_s), patience_s)

    def answered(self, direction: Direction, seconds: float) -> None:
        """It answered a request after so many seconds."""
        self._paces[direction].note(seconds)
        self._given_up = 0

    def given_up(self, direction: Direction, seconds: float) -> None:
        """Nobody waits any more for a request: too late once may be chance, twice running is not."""
        mean = self._paces[direction].mean
        if mean is not None and seconds < mean:
            return
        self._paces[direction].note(seconds)
        self._given_up += 1
        if self._given_up >= 2:
            self.failed("It was late twice running.")

    # how busy it is

    def said(self, load: float) -> None:
        """It told its load."""
        self.load, self._load_at = load, _now()

    @property
    def queue_s(self) -> float | None:
        """Seconds of work that wait there; None: it has not been asked lately."""
        return max(0.0, self.load - 1.0) if _now() - self._load_at < LOAD_S else None

    # trouble

    def failed(self, why: str) -> None:
        """It did not answer, or talks nonsense: suspend it."""
        now = _now()
        self._doubt()
        if now - self._failed_at > HEALTHY_S:
            self._backoff.succeeded()
        self._failed_at, self._given_up = now, 0
        if not self.suspended:
            self.suspended = True
            log.info("%s is not asked for a while: %s", self._name, why)
            self._backoff.failed(now)
            self._stirred.clear()
            self._recovery = asyncio.create_task(self._recover(), name=f"probe {self._name}")
            self._changed()

    def banned(self, seconds: float) -> None:
        """This PC has banned it for so long."""
        self._banned_until = _now() + seconds
        self.failed(f"It is banned for {seconds:.0f} s.")

    def stir(self) -> None:
        """It was heard of again, after a silence: ask it the small question now."""
        self._stirred.set()

    def _doubt(self) -> None:
        if self._banned_until <= _now():
            self.proof.doubt()

    async def _recover(self) -> None:
        """Ask the small question ever again until it is answered; a peer that has gone is left to the directory."""
        for _ in range(PROBES):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._backoff.wait_s(_now())):
                    await self._stirred.wait()
            self._stirred.clear()
            await asyncio.sleep(self._banned_until - _now())
            if not await self._probe():
                self._doubt()
                self._backoff.failed(_now())
            elif self._banned_until <= _now():
                self._backoff.tries = min(self._backoff.tries, AWAKE_TRIES)
                break
        self.suspended = False
        log.info("%s is asked again.", self._name)
        self._changed()


def _now() -> float:
    return asyncio.get_running_loop().time()
