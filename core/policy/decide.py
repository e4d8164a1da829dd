"""May this PC compute now, and what is the user told? A pure function: clock and readings are arguments."""

import dataclasses
import math

from msgspec.structs import replace

from core.contracts import schedule
from core.contracts.notices import Notice, Sentences, notice
from core.contracts.run_times import BEGINS
from core.contracts.settings import Settings
from core.contracts.status import Resource, State
from core.policy.hysteresis import Held, number
from core.policy.inputs import LIFTED, Compute, Machine, Usage, Verdict, Wishes
from core.policy.protection_rules import chosen_device, uses_gpus
from core.policy.rule_input import Case
from core.policy.rules import judge
from core.policy.signals.reading import Signals

USUAL = Machine()


@dataclasses.dataclass(frozen=True)
class Decision:
    """State, reason, what ends it; what may be used, and how much of it."""

    state: State
    reason: Sentences
    until: Sentences
    until_time: float | None
    """Unix time, to come, at which it ends by itself, if it does."""
    train: bool
    """CPU or GPU compute."""
    cpu: bool
    gpu: bool
    start_now: bool
    """It does not compute, but would after "Start now"; a pause is ended by Resume."""
    started: bool
    """That the user is here counts for nothing: they pressed "Start now", or lifted that rule."""
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
        needed: frozenset[Resource] = frozenset(("cpu", "gpu") if uses_gpus(case) else ("cpu",))
        state, reason, until, moment = _stopped(_with_others(rules, deciding, needed), off, compute, now)
    else:
        state, reason, until, moment = _computing(case, off, _first_end(rules, "cpu" if cpu else "gpu"))
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
        started="user" in case.wishes.lifts,
        network=network,
        rules=rules,
        cpu_share=(settings.cpu_share_idle if case.away else settings.cpu_share_in_use) / 100,
        threads=min(settings.threads or max(1, cores // 2), cores),
        memory_bytes=case.memory_bytes,
        device=chosen_device(case, cpu) if gpu else "cpu",
    )


def _with_others(rules: tuple[Verdict, ...], deciding: Verdict, needed: frozenset[Resource]) -> Verdict:
    """What decides, told so that no start is promised that other rules will still stop.

    Args:
        rules: all.
        deciding: the first that stops the CPU.
        needed: of which one has to be free for anything to compute.
    """
    end = deciding.until_time
    others = [one for one in rules if one is not deciding and needed & set(one.stops) and not _over(one, end)]
    stopped = frozenset(resource for one in others for resource in one.stops)
    if deciding.rule == "role" or deciding.state == "leaving" or needed - stopped:
        return deciding
    reasons = tuple(reason for one in others for reason in one.reason)
    if deciding.rule == "choice":
        return replace(deciding, until=(notice("choice.then"), *reasons), until_time=None)
    last = max((deciding, *others), key=lambda one: math.inf if one.until_time is None else one.until_time)
    until = last.until
    if last.until_time is None:
        remedy = deciding.until if deciding.state == "attention" else ()
        until = (*remedy, notice("rule.none_holds"))
    return replace(deciding, reason=(*deciding.reason, *reasons), until=until, until_time=last.until_time)


def _over(verdict: Verdict, end: float | None) -> bool:
    """Whether a rule stops nothing any more when another one ends."""
    return end is not None and verdict.until_time is not None and verdict.until_time <= end


Told = tuple[State, Sentences, Sentences, float | None]


def _stopped(verdict: Verdict, off: Verdict | None, compute: Compute, now: float) -> Told:
    """What is told while nothing computes; a stop that the user is waiting for is told step by step."""
    if verdict.rule == "role" and off is not None:
        return "limited", off.reason, off.until, off.until_time
    if verdict.state not in ("waiting", "yielding"):
        return verdict.state, verdict.reason, verdict.until, verdict.until_time
    cause = (notice("user.back"),) if verdict.rule == "user" else verdict.reason
    if compute.phase in ("training", "stopping"):
        return "yielding", (*cause, notice("compute.stopping")), (notice("compute.stops_soon"),), None
    if compute.phase in ("stopped", "leaving") and not compute.answering:
        free = compute.memory_free_time
        until = notice("compute.freeing") if free is None else notice("compute.free_at", at=free)
        return "yielding", (*cause, notice("compute.stopped")), (until, *verdict.until), free
    return verdict.state, verdict.reason, verdict.until, verdict.until_time


def _first_end(rules: tuple[Verdict, ...], resource: Resource) -> Verdict | None:
    """The rule without whose being lifted a resource would stand still; of several the first that holds again."""
    lifted = (rule for rule in rules if resource in rule.spares)
    return min(lifted, key=lambda rule: rule.lifted_until or 0.0, default=None)


def _computing(case: Case, off: Verdict | None, lifted: Verdict | None) -> Told:
    compute, soon = case.compute, (notice("compute.ready_soon"),)
    if compute.barred is not None:
        return "limited", (compute.barred,), (BEGINS.get(compute.barred.code, notice("access.begins")),), None
    if compute.failure is not None and compute.phase in ("absent", "starting"):
        retry = compute.retry_time
        until = notice("compute.restarting") if retry is None else notice("compute.retry", at=retry)
        return "attention", (compute.failure,), (until,), retry
    if compute.phase != "training":
        return "preparing", (notice("compute.loading"),), soon, None
    if compute.measuring:
        return "preparing", (notice("compute.measuring"),), soon, None
    if compute.reached:
        return "limited", (notice("run.reached"),), (notice("run.join_another"),), None
    if compute.stuck or not compute.reachable:
        if off is not None:
            return "limited", (*off.reason, notice("run.none_here")), off.until, off.until_time
        if compute.reachable:
            return "preparing", (notice("run.stuck"),), (notice("run.goes_on"),), None
        return "preparing", (notice("run.unreachable"),), (notice("run.begins"),), None
    reason, until, moment = _contributing(case, lifted)
    if off is not None:
        reason = (*reason, notice("run.without_peers"), *off.reason)
    return "contributing", reason, (until,), moment


def _contributing(case: Case, lifted: Verdict | None) -> tuple[Sentences, Notice, float | None]:
    compute, settings, idle = case.compute, case.settings, number(case.signals.idle_s)
    if compute.experts:
        work = [notice("run.training", n=compute.experts)]
    elif compute.whole and compute.trains:
        work = [notice("run.training_whole")]
    else:
        work = [notice("run.through_peers" if compute.trains else "run.waits")]
    if case.wishes.gpu_paused and uses_gpus(case):
        work.append(notice("gpu_choice.reason"))
    end = case.wishes.start_now_until
    if lifted is not None and lifted.offers == "end" and (end is None or (lifted.lifted_until or 0.0) < end):
        end = lifted.lifted_until
        return (notice("run.lifted", rule=lifted.title), *work), notice("run.until_lift", end=end), end
    if end is not None:
        return (notice("choice.you_started"), *work), notice("choice.keeps_running", end=end), end
    end = schedule.parse(settings.compute_hours).next_change(case.now)
    if not settings.idle_only:
        until = notice("run.until_pause") if end is None else notice("run.until_pause_at", at=end)
        return tuple(work), until, end
    if idle is None:
        until = notice("run.until_blind") if end is None else notice("run.until_blind_at", at=end)
        return (*case.idle_obstacle, notice("user.chose_anyway"), *work), until, end
    until = notice("run.until_input") if end is None else notice("run.until_input_at", at=end)
    return (notice("user.away_for", idle=case.idle_s or idle), *work), until, end
