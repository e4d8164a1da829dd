"""When to look for the worker, start it, wait, or give up: decisions without clock, processes or Qt."""

import math
from enum import Enum, auto
from typing import NamedTuple

from core.contracts import errors
from core.contracts.notices import Notice, notice
from core.contracts.status import State

FIRST_DELAY_S = 1.0
LAST_DELAY_S = 60.0
HEALTHY_S = 60.0
"""After so long without a fault the next restart is quick again."""
DIAL_EVERY_S = 0.1
SLOW_S = 15.0
"""A worker that was started and does not answer for so long is reported, and asked less often."""
LEAVE_S = 10.0
UNMENDABLE = {
    errors.SettingsError.exit_code,
    errors.ManifestError.exit_code,
    errors.DataFolderError.exit_code,
    errors.PortInUse.exit_code,
}
"""Exit codes of faults that are still there at the next start."""


class Phase(Enum):
    LOOKING = auto()
    """Dialling a worker that may run already."""
    STARTING = auto()
    """Ours was started and does not answer yet."""
    RUNNING = auto()
    LOST = auto()
    """The connection is gone, perhaps the worker is not."""
    WAITING = auto()
    """It stopped; it is looked for, then started again, after the back-off."""
    FAILED = auto()
    """Somebody has to do something first."""
    RESTARTING = auto()
    """It was asked to save and end, and another one is started then."""
    LEAVING = auto()
    """It was asked to end."""
    ENDED = auto()


class Do(Enum):
    NOTHING = auto()
    DIAL = auto()
    START = auto()


class Report(NamedTuple):
    """What the window shows about the worker; there is no notice while all is well."""

    phase: Phase
    notice: Notice | None
    trouble: bool = False
    """It does not come back by itself, or not for long; a first restart is none."""

    @property
    def state(self) -> State:
        """What the window shows while the worker is not there."""
        if self.trouble:
            return "attention"
        return "leaving" if self.phase in (Phase.LEAVING, Phase.ENDED) else "preparing"


class Supervision:
    """The decisions: each event returns what to do now, and `due` is the time of the next `tick`, if there is one."""

    def __init__(self, elsewhere: bool = False) -> None:
        """
        Args:
            elsewhere: the worker is another PC's: it is waited for, and never started.
        """
        self._elsewhere = elsewhere
        self.phase = Phase.LOOKING
        self.due: float | None = None
        self._reason: Notice | None = None
        self._delay = FIRST_DELAY_S
        self._since = 0.0

    def begin(self, now: float) -> Do:
        self._enter(Phase.LOOKING, now)
        return Do.DIAL

    def connected(self, now: float) -> Do:
        if self.phase not in (Phase.LEAVING, Phase.ENDED):
            self._enter(Phase.RUNNING, now)
        return Do.NOTHING

    def unreachable(self, now: float, reason: Notice, refused: bool, ours: bool) -> Do:
        """A dial failed or the connection was lost.

        Args:
            now: seconds.
            reason: why.
            refused: app and worker do not fit together.
            ours: a worker that this app started is still there.
        """
        if self.phase in (Phase.LEAVING, Phase.ENDED, Phase.FAILED, Phase.WAITING):
            return Do.NOTHING
        if refused:
            self._enter(Phase.FAILED, now, reason=reason)
        elif self.phase is Phase.RUNNING:
            if now - self._since >= HEALTHY_S:
                self._delay = FIRST_DELAY_S
            self._enter(Phase.LOST, now, now + DIAL_EVERY_S, reason)
        elif self._elsewhere:
            self._back_off(now, reason)
        elif ours:
            slow = now - self._since > SLOW_S
            self.due = now + (1.0 if slow else DIAL_EVERY_S)
        elif self.phase in (Phase.LOOKING, Phase.RESTARTING):
            self._enter(Phase.STARTING, now, now + DIAL_EVERY_S)
            return Do.START
        else:
            self._back_off(now, notice("worker.ended.unexpectedly"))
        return Do.NOTHING

    def exited(self, now: float, code: int, fault: Notice | None) -> Do:
        """The worker that this app started has ended.

        Args:
            now: seconds.
            code: as in `subprocess`, negative for a signal.
            fault: what it said last, if anything.
        """
        if self.phase in (Phase.LEAVING, Phase.ENDED) or (self.phase is Phase.RESTARTING and code == 0):
            return Do.NOTHING
        if code in UNMENDABLE:
            self._enter(Phase.FAILED, now, reason=fault or notice("worker.cannot_run", status=code))
        else:
            self._back_off(now, exit_reason(code, fault))
        return Do.NOTHING

    def tick(self, now: float) -> Do:
        """What to do as `due` has come."""
        if self.due is None or now < self.due:
            return Do.NOTHING
        self.due = None
        if self.phase is Phase.WAITING:
            self._enter(Phase.LOOKING, now, reason=self._reason)
        dials = (Phase.LOOKING, Phase.STARTING, Phase.LOST, Phase.RESTARTING)
        return Do.DIAL if self.phase in dials else Do.NOTHING

    def retry(self, now: float) -> Do:
        """Somebody pressed Try again."""
        if self.phase not in (Phase.FAILED, Phase.WAITING):
            return Do.NOTHING
        self._delay = FIRST_DELAY_S
        return self.begin(now)

    def restart(self, now: float) -> bool:
        """The worker shall end and another one begin; False if it does not run."""
        if self.phase is not Phase.RUNNING:
            return False
        self._enter(Phase.RESTARTING, now)
        return True

    def leave(self, now: float) -> None:
        """The end is wanted; nothing is started any more."""
        if self.phase is not Phase.ENDED:
            self._enter(Phase.LEAVING, now, now + LEAVE_S)

    def end(self, now: float) -> None:
        self._enter(Phase.ENDED, now)

    def report(self, now: float) -> Report:
        """What the window shows; it counts down while waiting."""
        return Report(self.phase, self._said(now), self._is_trouble(now))

    def _said(self, now: float) -> Notice | None:
        match self.phase:
            case Phase.WAITING if self.due is not None:
                seconds = max(1, math.ceil(round(self.due - now, 3)))
                if self._elsewhere:
                    return notice("worker.silent_elsewhere", seconds=seconds)
                return notice("worker.stopped", reason=self._reason, seconds=seconds)
            case Phase.FAILED:
                return self._reason
            case Phase.LOST:
                return notice("worker.lost", reason=self._reason)
            case Phase.LOOKING | Phase.STARTING:
                return notice("worker.starts_slowly" if now - self._since > SLOW_S else "worker.starting")
            case Phase.RESTARTING:
                return notice("worker.restarting")
            case Phase.LEAVING:
                return notice("worker.leaving")
            case _:
                return None

    def _is_trouble(self, now: float) -> bool:
        match self.phase:
            case Phase.FAILED:
                return True
            case Phase.LOOKING | Phase.STARTING | Phase.LOST | Phase.WAITING:
                lasts = now - self._since > SLOW_S and (self.phase is Phase.LOST or self._delay > FIRST_DELAY_S)
                return lasts or self._delay > 2 * FIRST_DELAY_S  # or it has ended again before it was well for long
            case _:
                return False

    def _enter(self, phase: Phase, now: float, due: float | None = None, reason: Notice | None = None) -> None:
        self.phase, self.due, self._reason, self._since = phase, due, reason, now

    def _back_off(self, now: float, reason: Notice) -> None:
        if self.phase is Phase.RUNNING and now - self._since >= HEALTHY_S:
            self._delay = FIRST_DELAY_S
        self._enter(Phase.WAITING, now, now + self._delay, reason)
        self._delay = min(2 * self._delay, LAST_DELAY_S)


def exit_reason(code: int, fault: Notice | None) -> Notice:
    """Why a process ended, for the middle of a sentence.

    Args:
        code: as in `subprocess`, negative for a signal.
        fault: what it said last, if anything.
    """
    if code < 0:
        return notice("worker.ended.killed", signal=-code)
    if code == errors.AlreadyRunning.exit_code:
        return notice("worker.ended.another_runs")
    if fault is not None:
        return notice("worker.ended.with_fault", status=code, fault=fault)
    return notice("worker.ended.with_code", status=code)
