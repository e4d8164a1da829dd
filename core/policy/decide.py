"""May this PC compute now, and what is the user told? A pure function: clock and readings are arguments."""

import dataclasses

from core.contracts import schedule
from core.contracts.control import State
from core.contracts.settings import Settings
from core.contracts.words import clock, countdown, counted, duration, sentence
from core.policy.hysteresis import Held, number
from core.policy.inputs import Compute, Machine, Usage, Verdict, Wishes
from core.policy.protection_rules import chosen_device, uses_gpus
from core.policy.rule_input import Case
from core.policy.rules import LIFTED, judge
from core.policy.signals.reading import Signals

USUAL = Machine()


@dataclasses.dataclass(frozen=True)
class Decision:
    """State, reason, what ends it; what may be used, and how much of it."""

    state: State
    reason: str
    until: str
    until_time: float | None
    """Unix time, to come, at which it ends by itself, if it does."""
    train: bool
    """CPU or GPU compute."""
    cpu: bool
    gpu: bool
    start_now: bool
    """It does not compute, but would after "Start now"; a pause is ended by Resume."""
    network: bool
    """Peers may be called and served. Pausing leaves it on: others find what this PC keeps."""
    rules: tuple[Verdict, ...]
    """Every rule with its live value, in the order of reasons."""
    cpu_share: float
    """How much of the time may be computed, 0 to 1, before heat is looked at."""
    threads: int
    memory_bytes: int
    """What all of Hearth may use now."""
    device: str = "cpu"
    """On which experts are to be, if anything computes: "cpu", or a graphics processor's id."""


def decide(
    signals: Signals,
    settings: Settings,
    wishes: Wishes,
    compute: Compute,
    usage: Usage,
    held: Held,
    now: float,
    machine: Machine = USUAL,
) -> Decision:
    """Ask all rules; the first that stops the CPU, while no GPU computes either, gives state, reason and end.

    Args:
        signals: as they are now.
        held: what `core.policy.hysteresis.hold` remembers, of these signals too.
        now: unix time.
    """
    case = Case(signals, settings, wishes.at(now), compute, usage, held, now, machine)
    rules = judge(case)
    stopped = frozenset(resource for verdict in rules for resource in verdict.stops)
    cpu, network = "cpu" not in stopped, "network" not in stopped
    gpu = uses_gpus(case) and "gpu" not in stopped
    kept = frozenset(resource for verdict in rules if verdict.rule not in LIFTED for resource in verdict.stops)
    startable = "cpu" not in kept or (uses_gpus(case) and "gpu" not in kept)
    deciding = None if cpu or gpu else next(verdict for verdict in rules if "cpu" in verdict.stops)
    off = None if network or not machine.networked else next(rule for rule in rules if "network" in rule.stops)
    if deciding is not None:
        state, reason, until, moment = _stopped(deciding, off, compute, now)
    else:
        state, reason, until, moment = _computing(case, off)
    cores = max(1, machine.cores)
    return Decision(
        state=state,
        reason=reason,
        until=until,
        until_time=moment if moment is not None and moment > now else None,
        train=cpu or gpu,
        cpu=cpu,
        gpu=gpu,
        start_now=startable and not (cpu or gpu),
        network=network,
        rules=rules,
        cpu_share=(settings.cpu_share_idle if case.away else settings.cpu_share_in_use) / 100,
        threads=min(settings.threads or max(1, cores // 2), cores),
        memory_bytes=case.memory_bytes,
        device=chosen_device(case, cpu) if gpu else "cpu",
    )


Told = tuple[State, str, str, float | None]


def _stopped(verdict: Verdict, off: Verdict | None, compute: Compute, now: float) -> Told:
    """What is told while nothing computes; a stop that the user is waiting for is told step by step."""
    if verdict.rule == "role" and off is not None:
        return "limited", off.reason, off.until, off.until_time
    if verdict.state not in ("waiting", "yielding"):
        return verdict.state, verdict.reason, verdict.until, verdict.until_time
    cause = "You are back." if verdict.rule == "user" else verdict.reason
    if compute.phase in ("training", "stopping"):
        return "yielding", f"{cause} Compute is stopping.", "Ends in a moment. No work is lost.", None
    if compute.phase in ("stopped", "leaving") and not compute.answering:
        free = compute.memory_free_time
        until = "Its memory is being freed." if free is None else f"Its memory is free in {countdown(free - now)}."
        return "yielding", f"{cause} Compute has stopped; no work is lost.", f"{until} {verdict.until}", free
    return verdict.state, verdict.reason, verdict.until, verdict.until_time


def _computing(case: Case, off: Verdict | None) -> Told:
    compute, now = case.compute, case.now
    if compute.failure is not None and compute.phase in ("absent", "starting"):
        retry = compute.retry_time
        until = "It is being started again." if retry is None else f"Tries again in {countdown(retry - now)}."
        return "attention", sentence(compute.failure), until, retry
    if compute.phase != "training":
        return "preparing", "The network is being loaded.", "Ready in a few seconds.", None
    if compute.measuring:
        return "preparing", "Measuring how fast this PC is.", "Ready in a few seconds.", None
    if not compute.reachable:
        if off is not None:
            return "limited", f"{off.reason} No expert of this run is here.", off.until, off.until_time
        reason = "No expert of this run can be reached yet. Training begins as soon as a peer that hosts some is found."
        return "preparing", reason, "Goes on by itself; another PC must take part as a host.", None
    reason, until, moment = _contributing(case)
    if off is not None:
        reason = f"{reason} It works without other peers: {off.reason[0].lower()}{off.reason[1:]}"
    return "contributing", reason, until, moment


def _contributing(case: Case) -> tuple[str, str, float | None]:
    compute, settings, now = case.compute, case.settings, case.now
    hosts = f"This PC is training {counted(compute.experts, 'expert')}."
    if not compute.experts:
        hosts = "This PC trains through the experts of other peers."
        if not compute.trains:
            hosts = "This PC waits for its share of the experts, which it gets within a minute."
    if case.wishes.gpu_paused and uses_gpus(case):
        hosts += " You paused the GPU."
    end = case.wishes.start_now_until
    if end is not None:
        until = f"Goes on whatever you do until {clock(end, now)}, or until you press Pause."
        return f"You pressed Start now. {hosts}", until, end
    end = schedule.parse(settings.compute_hours).next_change(now)
    at = "" if end is None else clock(end, now)
    if not settings.idle_only:
        return hosts, f"Goes on until {at}, or until you press Pause." if at else "Goes on until you press Pause.", end
    idle = number(case.signals.idle_s)
    if idle is None:
        until = "Goes on until you press Pause, since your return cannot be noticed."
        if at:
            until = f"Goes on until {at}, or until you press Pause, since your return cannot be noticed."
        return f"{case.idle_obstacle} You chose to compute anyway. {hosts}", until, end
    otherwise = f", otherwise at {at}" if at else ""
    away = f"You have been away for {duration(case.idle_s or idle)}."
    return f"{away} {hosts}", f"Stops as soon as you use the mouse or keyboard{otherwise}.", end
