"""One signal and the thread that asks its sources.

A source that fails, says nonsense or hangs is passed over for the next. The thread of one that hangs is left behind,
and that source is not asked again until it comes back, so that there are never more threads than sources.
"""

import contextlib
import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from core.contracts.notices import Notice, notice
from core.policy.signals import plausible
from core.policy.signals.reading import UNKNOWN, AbsentError, Open, Reading, Source, SourceError

log = logging.getLogger(__name__)

LIMIT_S = 5.0
"""A reading older than this, or than three periods if those are longer, says nothing about now."""
RETRY_S = 10.0
"""After all sources of a signal failed."""
BETTER_S = 60.0
"""While a lesser source answers, those before it are tried again so often: the desktop may start after Hearth."""
HURRY_S = 0.05
PRESENT_S = 3.0
"""Whose last touch is more recent than this has not been away, so cannot come back: with a period more, this is still
less than the shortest time that the settings can call away (5 s)."""
GAP_S = 0.02
"""Between two readings of one signal, however often its source says that something happened."""

Wake = Callable[[], None]
"""Called when something happened that cannot wait."""


class Clock(Protocol):
    """Time; tests bring their own."""

    def now(self) -> float:
        """Seconds that only grow."""

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Until the event is set, at most so long."""


class RealClock:
    """The system's monotonic clock."""

    now = staticmethod(time.monotonic)

    def wait(self, event: threading.Event, seconds: float) -> None:
        event.wait(seconds)


@dataclasses.dataclass(frozen=True)
class Rule:
    """How one signal is watched."""

    name: str
    """Of the field of `Signals`; the notice "signal.idle_s" names it to people."""
    period_s: float
    check: plausible.Check
    matters: Callable[[Any, Any], bool] | None = None
    """Whether to decide anew at once when the value went from the first to the second; None: never."""
    hurries: bool = False
    """Whether the user's return is seen in it."""

    @property
    def said(self) -> Notice:
        return notice(f"signal.{self.name}")

    @property
    def limit_s(self) -> float:
        return max(LIMIT_S, 3 * self.period_s)


class _Left(Exception):
    """This thread is no longer the one that watches its signal."""


class Slot:
    """One signal: its sources in order, the thread that asks them, the newest reading.

    `_turn` numbers the threads: only the one with the newest number watches; any other ends as soon as its source
    lets go of it. What a thread writes and others read is one reference each, or under `_lock`.
    """

    def __init__(self, rule: Rule, opens: Sequence[Open[Any]], wake: Wake, clock: Clock) -> None:
        self._rule, self._opens, self._tell, self._clock = rule, opens, wake, clock
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._turn = 0
        self._closed = self._computing = False
        self._calling: tuple[int, float] | None = None
        """Which source is being asked, and since when."""
        self._stuck: dict[int, int] = {}
        """Sources that hang, each with the number of the thread that it holds."""
        self._failed: dict[int, float] = {}
        self._why: dict[int, tuple[int, Notice]] = {}
        """Of each source that failed: how telling its notice is, and the notice."""
        self._last: tuple[Reading[Any], float] = (UNKNOWN, clock.now())
        if opens:
            self._start()
        else:
            self._last = (Reading(None, notice("signal.nowhere", what=rule.said)), clock.now())

    # from any thread

    def read(self) -> Reading[Any]:
        """The newest reading with its age, unknown if that is too high. Never blocks."""
        now = self._clock.now()
        self._leave_behind(now)
        reading, at = self._last
        age = max(0.0, now - at)
        if age > self._rule.limit_s:
            if reading.value is not None:
                return Reading(None, notice("signal.quiet", source=reading.source), age)
            if reading is UNKNOWN:
                return Reading(None, self._silence(), age)
        return dataclasses.replace(reading, age_s=age)

    def hurry(self, computing: bool) -> None:
        """Notice the user's return sooner, or not."""
        if computing != self._computing:
            self._computing = computing
            self._wake.set()

    def close(self) -> None:
        """End the thread, without waiting for it."""
        with self._lock:
            self._closed = True
            self._turn += 1
        self._wake.set()

    def _silence(self) -> Notice:
        return notice("signal.silent", what=self._rule.said)

    def _leave_behind(self, now: float) -> None:
        """If the source that is being asked hangs, another thread goes on without it."""
        calling = self._calling
        if calling is None or now - calling[1] <= self._rule.limit_s:
            return
        with self._lock:
            if self._closed or self._calling is not calling:
                return
            index = calling[0]
            self._stuck[index], self._why[index] = self._turn, (3, self._silence())
            self._calling = None
            self._turn += 1
        log.info("%s: source %d hangs; it is left behind.", self._rule.name, index)
        self._start()

    def _start(self) -> None:
        threading.Thread(target=self._run, args=(self._turn,), name=f"watch {self._rule.name}", daemon=True).start()

    # in the thread

    def _run(self, turn: int) -> None:
        chosen: tuple[int, Source[Any]] | None = None
        try:
            while True:
                chosen = self._better(turn, chosen)
                if chosen is None:
                    self._rest(turn, RETRY_S, wakes=False)
                    continue
                try:
                    self._follow(turn, *chosen)
                except _Left:
                    raise
                except BaseException as error:  # whatever a source raises, SystemExit too: the watching goes on
                    self._note(chosen[0], error, opened=True)
                    self._close(turn, *chosen)
                    chosen = None
        except _Left:
            if chosen is not None:
                _close_quietly(chosen[1])
        finally:
            with self._lock:
                self._stuck = {index: held for index, held in self._stuck.items() if held != turn}

    def _better(self, turn: int, chosen: tuple[int, Source[Any]] | None) -> tuple[int, Source[Any]] | None:
        """The first source that answers, of those before the chosen one; the chosen one if none does."""
        for index in range(chosen[0] if chosen else len(self._opens)):
            if not self._due(index, BETTER_S if chosen else RETRY_S):
                continue
            source: Source[Any] | None = None
            try:
                source = self._ask(turn, index, functools.partial(self._opens[index], self._wake.set))
                self._measure(turn, index, source)
            except BaseException as error:
                if source is not None:
                    self._close(turn, index, source)
                if isinstance(error, _Left):
                    raise
                self._note(index, error, opened=source is not None)
                continue
            if chosen is not None:
                self._close(turn, *chosen)
            return index, source
        if chosen is None:
            self._set_unknown()
        return chosen

    def _follow(self, turn: int, index: int, source: Source[Any]) -> None:
        """Ask one source again and again, until one that is better is due."""
        while not any(self._due(better, BETTER_S) for better in range(index)):
            self._rest(turn, self._pause_s(self._computing and not getattr(source, "tells_return", False)))
            self._measure(turn, index, source)

    def _pause_s(self, hurried: bool) -> float:
        idle = self._last[0].value
        if hurried and self._rule.hurries and idle is not None and idle >= PRESENT_S:
            return HURRY_S
        return self._rule.period_s

    def _measure(self, turn: int, index: int, source: Source[Any]) -> None:
        """Read once, and keep it.

        Raises:
            SourceError: the source says nonsense. What the source itself raises passes.
        """
        name, value = self._ask(turn, index, lambda: (str(source.name)[: plausible.NAME_CHARACTERS], source.read()))
        if not self._rule.check(value):
            raise SourceError(notice("signal.impossible", source=name, value=repr(value)[:80]))
        before = self._last[0].value
        self._last = (Reading(value, name), self._clock.now())
        if self._rule.matters is not None and (before is None or self._rule.matters(before, value)):
            self._tell()

    def _set_unknown(self) -> None:
        before = self._last[0]
        telling = max(self._why.items(), key=lambda item: (item[1][0], -item[0]))
        self._last = (Reading(None, telling[1][1]), self._clock.now())
        if self._last[0].source != before.source:
            log.info("%s", self._last[0].source)
        if self._rule.matters is not None and before.value is not None:
            self._tell()

    def _note(self, index: int, error: BaseException, opened: bool) -> None:
        """Remember why a source failed: what it says itself, and one that was there before, tells most; that it is not
        there at all, as GNOME's is not on other desktops, tells least."""
        if isinstance(error, SourceError):
            said = error.notice
        else:
            cause = str(error).strip() or type(error).__name__
            said = notice("signal.failed", what=self._rule.said, cause=cause[:200])
        itself = isinstance(error, SourceError) and not isinstance(error, AbsentError)
        self._why[index] = (2 * opened + itself, said)
        self._failed[index] = self._clock.now()

    def _due(self, index: int, after_s: float) -> bool:
        """Whether to try a source again: it does not hang, and did not fail just now."""
        failed = self._failed.get(index)
        return index not in self._stuck and (failed is None or self._clock.now() - failed >= after_s)

    def _ask(self, turn: int, index: int, call: Callable[[], Any]) -> Any:
        """Call into a source, where it may hang.

        Raises:
            _Left: meanwhile another thread took over, or all ended. A source that the call made is closed.
        """
        if self._turn != turn:
            raise _Left
        with self._guarded(turn, index):
            made = call()
        if self._turn != turn:
            if hasattr(made, "close"):
                _close_quietly(made)
            raise _Left
        return made

    def _close(self, turn: int, index: int, source: Source[Any]) -> None:
        with self._guarded(turn, index):
            _close_quietly(source)

    @contextlib.contextmanager
    def _guarded(self, turn: int, index: int) -> Iterator[None]:
        """Within it a call into a source may take as long as it likes: who reads notices and goes on without it."""
        mine = (index, self._clock.now())
        with self._lock:
            if self._turn == turn:
                self._calling = mine
        try:
            yield
        finally:
            with self._lock:
                if self._calling is mine:
                    self._calling = None

    def _rest(self, turn: int, seconds: float, wakes: bool = True) -> None:
        """Wait; an event of the source cuts it short, though not below `GAP_S`."""
        started = self._clock.now()
        while self._turn == turn and (left := started + seconds - self._clock.now()) > 0:
            self._clock.wait(self._wake, left)
            if self._turn == turn and self._wake.is_set():
                self._wake.clear()
                if wakes:
                    seconds = min(seconds, GAP_S)
        if self._turn != turn:
            raise _Left


def _close_quietly(source: Source[Any]) -> None:
    try:
        source.close()
    except BaseException as error:
        log.info("A source could not be closed: %s", error)
