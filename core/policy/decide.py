"""May this PC compute now, and what is the user told? A pure function: clock and readings are arguments."""

import dataclasses
import time
from typing import Literal

from core.control.messages import PAUSE_S, START_NOW_S, State
from core.policy.signals.reading import Idle
from core.settings import Settings

Phase = Literal["absent", "starting", "training", "stopping", "stopped", "leaving"]
"""Of the compute process: none, not ready yet, at work, told to stop, alive without work, saving and ending."""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """What the user asked for by buttons and commands. Times are unix times."""

    paused: bool = False
    paused_until: float | None = None
    """None with `paused`: until resumed."""
    start_now_until: float | None = None
    """The idle rule is off until then."""
    quitting: bool = False

    def at(self, now: float) -> "Wishes":
        """The wishes without those whose time has passed, or is impossible: the clock was set back, the file damaged.

        A pause without a possible end lasts until resumed.
        """
        if self.paused_until is not None and self.paused_until - now > PAUSE_S:
            return dataclasses.replace(self, paused_until=None)
        if self.start_now_until is not None and self.start_now_until - now > START_NOW_S:
            return dataclasses.replace(self, start_now_until=None)
        if self.paused and self.paused_until is not None and now >= self.paused_until:
            return dataclasses.replace(self, paused=False, paused_until=None)
        if self.start_now_until is not None and now >= self.start_now_until:
            return dataclasses.replace(self, start_now_until=None)
        return self


@dataclasses.dataclass(frozen=True)
class Compute:
    """What is known of the compute process."""

    phase: Phase = "absent"
    experts: int = 0
    failure: str | None = None
    """Why it ended unasked."""
    retry_time: float | None = None
    """Unix time of its next start."""
    memory_free_time: float | None = None
    """Unix time at which a stopped process ends."""
    answering: bool = False
    """It was started to answer a question only."""
    reachable: bool = True
    """Every layer of the run has an expert, here or on a peer."""
    trains: bool = True
    """It trains itself, and does not only host experts."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """State, reason, what ends it."""

    train: bool
    state: State
    reason: str
    until: str
    until_time: float | None = None


def decide(
    idle: Idle, settings: Settings, wishes: Wishes, compute: Compute, now: float, computes: bool = True
) -> Decision:
    """One table, first match wins: the user's choice, then trouble, then the idle rule.

    Args:
        idle: seconds since the last input, or unknown.
        now: unix time.
        computes: False for a peer that only keeps the network together (a backbone peer).
    """
    wishes = wishes.at(now)
    if wishes.quitting:
        return Decision(
            False, "leaving", "Hearth is quitting and saves its work.", "Ends when the checkpoint is saved."
        )
    if wishes.paused:
        return _paused(wishes, now)
    if not computes:
        reason = "This PC is a backbone peer: it keeps the network together and does not compute."
        return Decision(False, "contributing", reason, "Goes on until you quit.")
    blocked = None if wishes.start_now_until is not None else _idle_rule(idle, settings, compute, now)
    if blocked is not None:
        return blocked
    if compute.failure is not None and compute.phase in ("absent", "starting"):
        return Decision(True, "attention", compute.failure, _retry(compute, now), compute.retry_time)
    if compute.phase != "training":
        return Decision(True, "preparing", "The network is being loaded.", "Ready in a few seconds.")
    if not compute.reachable:
        reason = "No expert of this run can be reached yet. Training begins as soon as a peer that hosts some is found."
        return Decision(True, "preparing", reason, "Goes on by itself; another PC must take part as a host.")
    return _contributing(idle, settings, wishes, compute, now)


def _paused(wishes: Wishes, now: float) -> Decision:
    if wishes.paused_until is None:
        return Decision(False, "paused", "You paused it.", "Resumes when you press Resume.")
    until = f"Resumes at {clock(wishes.paused_until, now)}, or when you press Resume."
    return Decision(
        False, "paused", f"You paused it until {clock(wishes.paused_until, now)}.", until, wishes.paused_until
    )


def _idle_rule(idle: Idle, settings: Settings, compute: Compute, now: float) -> Decision | None:
    if not settings.idle_only:
        return None
    if idle.seconds is None:
        if settings.idle_unknown == "run":
            return None
        remedy = "Computes when you choose “Compute anyway” in Settings, or press Start now."
        return Decision(False, "attention", idle.source, remedy)
    if idle.seconds >= settings.idle_threshold_s:
        return None
    start = now + settings.idle_threshold_s - idle.seconds
    starts = f"Starts in {countdown(start - now)} if you stay away."
    if compute.phase in ("training", "stopping"):
        return Decision(False, "yielding", "You are back. Compute is stopping.", "Ends in a moment. No work is lost.")
    if compute.phase in ("stopped", "leaving") and not compute.answering:
        free = compute.memory_free_time
        until = "Its memory is being freed." if free is None else f"Its memory is free in {countdown(free - now)}."
        return Decision(
            False, "yielding", "You are back. Compute has stopped; no work is lost.", f"{until} {starts}", free
        )
    return Decision(False, "waiting", f"You used this PC {duration(idle.seconds)} ago.", starts, start)


def _retry(compute: Compute, now: float) -> str:
    if compute.retry_time is None:
        return "It is being started again."
    return f"Tries again in {countdown(compute.retry_time - now)}."


def _contributing(idle: Idle, settings: Settings, wishes: Wishes, compute: Compute, now: float) -> Decision:
    hosts = f"This PC is training {compute.experts} experts."
    if not compute.experts:
        hosts = "This PC trains through the experts of other peers."
        if not compute.trains:
            hosts = "This PC waits for its share of the experts, which it gets within a minute."
    if wishes.start_now_until is not None:
        until = f"Goes on whatever you do until {clock(wishes.start_now_until, now)}, or until you press Pause."
        return Decision(True, "contributing", f"You pressed Start now. {hosts}", until, wishes.start_now_until)
    if not settings.idle_only:
        return Decision(True, "contributing", hosts, "Goes on until you press Pause.")
    if idle.seconds is None:
        until = "Goes on until you press Pause, since your return cannot be noticed."
        return Decision(True, "contributing", f"{idle.source} You chose to compute anyway. {hosts}", until)
    away = f"You have been away for {duration(idle.seconds)}."
    return Decision(True, "contributing", f"{away} {hosts}", "Stops as soon as you use the mouse or keyboard.")


def clock(moment: float, now: float) -> str:
    """Local time of day of a unix time, with the day if that is 20 hours away or more."""
    local = time.localtime(moment)
    return time.strftime("%H:%M" if abs(moment - now) < 20 * 3600 else "%a %H:%M", local)


def countdown(seconds: float) -> str:
    """2:10, or 1:02:10."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def duration(seconds: float) -> str:
    """40 s, 24 min, 3 h 12 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes))
