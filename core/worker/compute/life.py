"""The life of a compute process as a table: what happens, and what is to be done about it.

No process, no clock: `advance` takes a state, an event and the time, and gives the next state and commands. A process
goes absent -> starting -> stopped -> training -> stopping -> stopped -> leaving -> absent (`core.policy.inputs.Phase`);
one that dies or hangs is started again with back-off.
"""

from enum import Enum

import msgspec
from msgspec.structs import replace as but

from core.contracts.notices import Notice, notice
from core.policy.inputs import Phase
from core.worker.compute.yields import recent

START_S = 120.0
"""A process that is not ready by then hangs (importing torch from a slow disk takes 20 s)."""
SETTLE_S = 5.0
"""For what must be known before compute trains: longer only where a disk hangs."""
LIFE_SIGN_S = 20.0
"""Compute reports at least once a second."""
STOOD_STILL_S = 1.0
"""A moment that is noted so late shows that this process stood still, too, as while the PC slept: it heard nothing."""
STOP_S = 2.0
"""A process that has not stopped by then is killed: the user comes first."""
QUIT_S = 60.0
"""To save a checkpoint and end, on the slowest disk, ..."""
SILENT_S = 15.0
"""... as long as there is a life sign."""
BACK_OFF_S = (1.0, 60.0)
"""Between the end of a process that was not asked to end and the next: at first, and at most."""
HEALTHY_S = 60.0
"""A process that lived for so long starts the back-off anew."""


class News(Enum):
    """Events that their name tells all of, each with what it means."""

    BEGIN = "Processes may be started from now on."
    ASKED = "Somebody asks the model; compute is needed until `ANSWERED`."
    ANSWERED = "One who asked does not wait any more."
    LEAVE = "It shall save and end for good."
    RENEW = "It shall save and end; the next process may begin at once."
    AGAIN = "What the last process failed for the want of is here."
    READY = "The process has loaded everything."
    SETTLED = "What must be known before the process trains is known."


class Wanted(msgspec.Struct, frozen=True):
    """It shall train or not."""

    training: bool
    cause: float
    """time.monotonic() of what led to this, for the measured promise."""


class GraceSet(msgspec.Struct, frozen=True):
    """A process that is not needed stays for so long."""

    seconds: float


class Exceeded(msgspec.Struct, frozen=True):
    """It takes more memory than it may: it shall save, end, and start again later."""

    trouble: Notice


class Stopped(msgspec.Struct, frozen=True):
    """The process has stopped."""

    last_kernel_end: float


class Saved(msgspec.Struct, frozen=True):
    """The process has saved what it had trained by then."""

    complete: bool
    """Whether that is all that it has trained."""


class Broken(msgspec.Struct, frozen=True):
    """The pipe cannot be used any more."""

    why: Notice


class Ended(msgspec.Struct, frozen=True):
    """The process is gone, or could not be started."""

    why: Notice | None
    """For the user, if it was not asked to end."""
    code: int | None = None
    """Its exit code; None: it could not be started."""
    killed: bool = False
    """Whether this end ended it by force."""
    excused: bool = False
    """Whether what it computed on is not to blame for an end that was not asked for."""


class Passed(msgspec.Struct, frozen=True):
    """Time has passed."""

    heard: float = 0.0
    """The last sign of life of the process, time.monotonic()."""


Event = News | Wanted | GraceSet | Exceeded | Stopped | Saved | Broken | Ended | Passed


class Order(Enum):
    """Commands that their name tells all of, each with what it means."""

    START = "Start a process and configure it."
    SETTLE = "Find out what must be known before it trains."
    TRAIN = "Tell it to train."
    STOP = "Tell it to stop."
    QUIT = "Tell it to save and end."
    KILL = "End it at once."


class GivenBack(msgspec.Struct, frozen=True):
    """Note how long a stop took: moments of time.monotonic()."""

    cause: float
    noticed: float
    told: float
    stopped: float


class Lost(msgspec.Struct, frozen=True):
    """Not all that it trained was saved."""

    given_up: bool
    """It had all the time that it may take."""


class Over(msgspec.Struct, frozen=True):
    """The process is gone, and whoever waits for an answer gets none."""

    trouble: Notice | None
    """Why it ended, if it was not asked to; for the user."""
    blamed: bool
    """What it computed on may be to blame."""


Command = Order | GivenBack | Lost | Over


class Life(msgspec.Struct, frozen=True):
    """All that decides what is to be done."""

    phase: Phase = "absent"
    since: float = 0.0
    """When the phase began, or an answer kept the process; time.monotonic(), as all moments here."""
    born: float = 0.0
    heard: float = 0.0
    """The last sign of life."""
    begun: bool = False
    number: int = 0
    """Of the process; a new one knows nothing of what the last one was told."""
    wanted: bool = False
    """Whether it shall train or serve."""
    asked: int = 0
    """Questions to the model that wait for an answer."""
    leaving: bool = False
    exceeded: Notice | None = None
    renewed: bool = False
    """Whether the process is to give way to another one."""
    grace_s: float = 10.0
    settling: float | None = None
    """Since when it is being found out what must be known before the process trains for the first time."""
    settled: bool = False
    unsaved: bool = False
    """Whether it has stopped, and not saved yet what it had trained."""
    answers: bool = False
    """Whether it was started to answer a question."""
    killed: Notice | None = None
    """Why it was ended by force."""
    dying: bool = False
    """Whether it was ended by force."""
    cause: float = 0.0
    noticed: float = 0.0
    told: float = 0.0
    """Moments of the stop under way: what caused it, when that was noticed, and when compute was told."""
    failure: Notice | None = None
    """Why the last process ended, until the next one is ready."""
    retry: float | None = None
    """When the next process may start."""
    back_off_s: float = BACK_OFF_S[0]

    @property
    def busy(self) -> bool:
        """Whether a process is needed."""
        return self.wanted or bool(self.asked)

    @property
    def grace_end(self) -> float:
        """When a process that is not needed ends."""
        return self.since + self.grace_s

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.leaving and self.phase == "absent"

    def never_well(self, now: float) -> bool:
        """Whether a process that dies never came up, or is at least the third in a row to live for `HEALTHY_S` at most.

        Args:
            now: time.monotonic().
        """
        again = now - self.born <= HEALTHY_S and self.back_off_s >= 4 * BACK_OFF_S[0]
        return self.phase == "starting" or (again and self.phase != "leaving")


Outcome = tuple[Life, tuple[Command, ...]]


def advance(life: Life, event: Event, now: float) -> Outcome:
    """What comes of an event.

    Args:
        life: the state before.
        event: what has happened.
        now: time.monotonic().

    Returns:
        The state after, and what is to be done, in this order.
    """
    life, commands = _noted(life, event, now)
    while True:
        life, more = _due(life, now, life.heard if isinstance(event, Passed) else now)
        commands += more
        if not more:
            return life, commands


def deadline(life: Life) -> float | None:
    """When `advance` must look again though nothing happens, time.monotonic(); None: never."""
    if life.dying:
        return None
    match life.phase:
        case "absent":
            return None if life.leaving else life.retry
        case "starting":
            return life.since + START_S
        case "stopping":
            return life.since + STOP_S
        case "leaving":
            return min(life.since + QUIT_S, life.heard + SILENT_S)
    moments = [life.heard + LIFE_SIGN_S]
    if life.settling is not None and not life.settled:
        moments.append(life.settling + SETTLE_S)
    if life.phase == "stopped" and not life.busy:
        moments.append(life.grace_end)
    return min(moments)


def _noted(life: Life, event: Event, now: float) -> Outcome:
    """The state with what an event says in it."""
    match event:
        case News.BEGIN:
            life = but(life, begun=True)
        case Wanted(training, cause):
            if training != life.wanted:
                life = but(life, wanted=training, cause=recent(cause, now), noticed=now)
        case News.ASKED:
            life = but(life, asked=life.asked + 1)
        case News.ANSWERED:  # the process keeps its memory for another grace time
            since = now if life.phase == "stopped" else life.since
            life = but(life, asked=life.asked - 1, since=since)
        case GraceSet(seconds):
            life = but(life, grace_s=seconds)
        case Exceeded(trouble):
            life = but(life, exceeded=trouble)
        case News.AGAIN if life.retry is not None:
            life = but(life, retry=now, back_off_s=BACK_OFF_S[0])
        case News.LEAVE:
            life = but(life, leaving=True)
        case News.RENEW:
            life = but(life, renewed=life.phase != "absent")
        case News.READY if life.phase == "starting" and not life.dying:
            life = but(_entered(life, "stopped", now), failure=None, answers=not life.wanted)
        case News.SETTLED:
            life = but(life, settled=True)
        case Stopped(end) if life.phase == "stopping" and not life.dying:
            return _entered(life, "stopped", now), (GivenBack(life.cause, life.noticed, life.told, end),)
        case Saved(complete):
            life = but(life, unsaved=life.unsaved and not complete)
        case Broken(why) if life.phase != "absent" and not life.dying:
            return _killed(life, why)
        case Passed(heard):
            due = deadline(life)
            stood_still = due is not None and now > due + STOOD_STILL_S
            life = but(life, heard=now if stood_still else max(life.heard, heard))
        case Ended():
            return _ended(life, event, now)
    return life, ()


def _due(life: Life, now: float, heard: float) -> Outcome:
    """What is to be done now: the first line that applies.

    Args:
        life: the state.
        now: time.monotonic().
        heard: the last sign of life; only `Passed` tells of it, so that nothing else is a reason to end a process.
    """
    running = life.phase in ("stopped", "training", "stopping")
    may_wait = life.phase == "stopped" and not life.busy
    match life.phase:
        case _ if life.dying:
            pass
        case "absent" if life.begun and not life.leaving and (life.retry is None or now >= life.retry):
            if life.busy:
                new = but(_entered(life, "starting", now), born=now, number=life.number + 1)
                return but(new, retry=None, settling=None, settled=False, answers=False), (Order.START,)
            return but(life, retry=None), ()
        case "starting" if now >= life.since + START_S:
            return _killed(life, notice("compute.not_ready", within=START_S))
        case "starting" if life.leaving or life.renewed or not life.busy:  # there is nothing to save yet
            return _killed(_entered(life, "leaving", now))
        case "stopping" if now >= life.since + STOP_S:
            return _killed(life, notice("compute.did_not_stop", within=STOP_S))
        case "training" | "stopped" if now >= heard + LIFE_SIGN_S:
            return _killed(life, notice("compute.no_sign", within=LIFE_SIGN_S))
        case "leaving" if now >= min(life.since + QUIT_S, heard + SILENT_S):
            return _killed(life)
        case _ if running and (life.leaving or life.exceeded or life.renewed or (may_wait and now >= life.grace_end)):
            return _entered(life, "leaving", now), (Order.QUIT,)
        case "stopped" if life.wanted and life.settling is None:
            return but(life, settling=now), (Order.SETTLE,)
        case "stopped" if life.wanted and (life.settled or now >= (life.settling or 0.0) + SETTLE_S):
            return _entered(but(life, settled=True), "training", now), (Order.TRAIN,)
        case "training" if not life.wanted:
            return but(_entered(life, "stopping", now), told=now), (Order.STOP,)
    return life, ()


def _entered(life: Life, phase: Phase, now: float) -> Life:
    unsaved = phase in ("stopping", "stopped", "leaving") and (life.unsaved or life.phase == "training")
    return but(life, phase=phase, since=now, heard=now, unsaved=unsaved)


def _killed(life: Life, why: Notice | None = None) -> Outcome:
    return but(life, dying=True, killed=why), (Order.KILL,)


def _ended(life: Life, event: Ended, now: float) -> Outcome:
    """The end of a process; one that was not asked to end is started again after a while."""
    commands: tuple[Command, ...] = ()
    if life.phase == "stopping":
        commands += (GivenBack(life.cause, life.noticed, life.told, now),)
    if life.unsaved:
        commands += (Lost(event.killed),)
    asked = life.phase == "leaving" and (event.code == 0 or event.killed)
    by_itself = not event.killed and event.code != 0
    trouble = life.exceeded if asked else event.why if by_itself or not life.killed else life.killed
    after = but(_entered(life, "absent", now), exceeded=None, renewed=False, killed=None, dying=False, answers=False)
    if trouble:
        back_off_s = BACK_OFF_S[0] if now - life.born > HEALTHY_S else life.back_off_s
        after = but(after, failure=trouble, retry=now + back_off_s, back_off_s=min(2 * back_off_s, BACK_OFF_S[1]))
    return after, (*commands, Over(trouble, blamed=asked or not event.excused))
