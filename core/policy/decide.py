"""May this PC compute now, and what is the user told? A pure function: clock and readings are arguments."""

import dataclasses

from core.control.messages import State
from core.policy.facts import Compute, Verdict, Wishes
from core.policy.signals.reading import Idle
from core.policy.words import clock, countdown, duration
from core.settings import Settings


@dataclasses.dataclass(frozen=True)
class Decision:
    """State, reason, what ends it."""

    train: bool
    state: State
    reason: str
    until: str
    until_time: float | None = None
    cpu: bool = False
    gpu: bool = False
    network: bool = True
    """The PC's peers may be called and served."""
    rules: tuple[Verdict, ...] = ()
    """Every rule with its live value, in the order of reasons."""
    cpu_share: float = 1.0
    """How much of the time may be computed, 0 to 1, before heat is looked at."""
    threads: int = 1
    memory_bytes: int = 0
    """What all of Hearth may use now."""


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
