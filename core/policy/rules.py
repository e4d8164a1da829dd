"""The rules, in the order in which they are told: each with its live value, what it wants, and what it stops.

A signal that is unknown stops nothing, but for the idle time, where the user chose: a PC without a battery, a
thermometer or a known kind of network is the usual case. Such a rule says that it does not know.
"""

from collections.abc import Callable
from typing import get_args

from msgspec.structs import replace

from core.contracts.control import Liftable
from core.contracts.notices import notice
from core.policy import protection_rules as limits
from core.policy.hysteresis import number
from core.policy.inputs import Verdict
from core.policy.rule_input import COMPUTE, GPU, Case, hours_rule, live_value, programs_rule
from core.policy.signals.reading import UNKNOWN, Reading

LIFTABLE = frozenset(get_args(Liftable))


def choice(case: Case) -> Verdict:
    wishes = case.wishes
    row = Verdict("choice", notice("choice.none"), notice("choice.wants"))
    stop = replace(row, stops=COMPUTE, state="paused")
    if wishes.quitting:
        live, reason, until = notice("choice.quitting"), notice("choice.saves"), notice("choice.saved")
        return replace(stop, live=live, reason=(reason,), until=(until,), state="leaving")
    if wishes.paused and wishes.paused_until is None:
        live, reason, until = notice("choice.paused"), notice("choice.you_paused"), notice("choice.resume")
        return replace(stop, live=live, reason=(reason,), until=(until,))
    if wishes.paused:
        end = wishes.paused_until
        live, reason = notice("choice.paused_until", end=end), notice("choice.you_paused_until", end=end)
        until = notice("choice.resume_at", end=end)
        return replace(stop, live=live, reason=(reason,), until=(until,), until_time=end)
    if wishes.start_now_until is not None:
        end = wishes.start_now_until
        return replace(row, live=notice("choice.start_now", end=end), lifted_until=end, offers="end")
    return row


def role(case: Case) -> Verdict:
    row = Verdict("role", notice("role.computes"), notice("role.wants"))
    if case.machine.computes:
        return row
    reason = [notice("role.keeps")]
    if case.compute.reached:
        reason.append(notice("run.reached"))
    live, until = notice("role.backbone"), notice("role.until")
    return replace(row, live=live, stops=COMPUTE, until=(until,), state="contributing", reason=tuple(reason))


def battery(case: Case) -> Verdict:
    power, settings = case.signals.power.value, case.settings
    charge = None if power is None else number(Reading(power.charge, ""), 0, 1)
    live = None
    if power is not None:
        live = notice("battery.mains" if power.mains else "battery.on")
        if charge is not None:
            live = notice("battery.mains_charge" if power.mains else "battery.on_charge", charge=charge)
    live, unknown = live_value(case.signals.power, live)
    below = notice("battery.wants_below", limit=settings.battery_percent / 100)
    row = Verdict("battery", live, below if settings.on_battery else notice("battery.wants"), unknown=unknown)
    if not case.stops("battery"):
        return row
    until, moment = case.gone("battery", notice("battery.until"))
    if power is None or power.mains:
        reason = notice("battery.gone")
    else:
        reason = notice("battery.reason") if charge is None else notice("battery.reason_charge", charge=charge)
    return replace(row, stops=COMPUTE, until=until, until_time=moment, reason=(reason,))


def user(case: Case) -> Verdict:
    idle, settings = case.idle_s, case.settings
    live, unknown = live_value(case.signals.idle_s, None)
    if idle is not None:
        live = notice("user.idle_locked" if case.signals.locked.value else "user.idle", idle=idle)
    wants = notice("user.wants", threshold=settings.idle_threshold_s) if settings.idle_only else notice("user.always")
    if settings.idle_only and idle is None and settings.idle_unknown == "run":
        wants = notice("user.anyway")
    row = Verdict("user", live, wants, unknown=unknown and number(case.signals.idle_s) is None)
    if not settings.idle_only and case.nobody:
        return Verdict("user", notice("user.nobody"), notice("user.as_away"))
    stop = replace(row, stops=COMPUTE, state="waiting")
    if not settings.idle_only or (idle is None and settings.idle_unknown == "run"):
        return row
    if idle is None and case.signals.idle_s.source == UNKNOWN.source:  # the first answer is on its way
        reason, until = notice("user.measuring"), notice("user.known_soon")
        return replace(stop, state="preparing", reason=(reason,), until=(until,))
    if idle is None:
        remedy = notice("user.remedy")
        return replace(stop, state="attention", reason=case.idle_obstacle, until=(remedy,))
    if idle < settings.idle_threshold_s:
        start = case.now + settings.idle_threshold_s - idle
        reason, until = notice("user.used", idle=idle), notice("user.until", start=start)
        return replace(stop, reason=(reason,), until=(until,), until_time=start)
    if case.stops("idle_unknown") and settings.idle_unknown == "wait":
        ends, moment = case.gone("idle_unknown", notice("user.known"))
        return replace(stop, reason=(notice("user.lost"),), until=ends, until_time=moment)
    return row


def hours(case: Case) -> Verdict:
    return hours_rule(case, "hours", case.settings.compute_hours, COMPUTE)


def programs(case: Case) -> Verdict:
    return programs_rule(case, "programs", case.settings.exclusive_programs, COMPUTE)


def game(case: Case) -> Verdict:
    settings, front = case.settings, case.signals.front.value
    live = None
    if front is not None:
        live = notice("game.none")
        if front.kind != "window":
            live = (
                notice(f"game.{front.kind}_of", program=front.program)
                if front.program
                else notice(f"game.{front.kind}")
            )
    live, unknown = live_value(case.signals.front, live)
    row = Verdict("game", live, notice(f"game.wants_{settings.game_is}_{settings.game_stops}"), unknown=unknown)
    if settings.game_stops == "nothing" or not case.stops("game"):
        return row
    until, moment = case.gone("game", notice("game.until"))
    reason = notice("game.reason", what=live) if moment is None and front else notice("game.gone")
    stops = COMPUTE if settings.game_stops == "all" else GPU
    return replace(row, stops=stops, until=until, until_time=moment, state="yielding", reason=(reason,))


def cpu_busy(case: Case) -> Verdict:
    others, limit = number(case.signals.cpu_others, 0, 1), case.settings.busy_cpu_percent
    live, unknown = live_value(
        case.signals.cpu_others, None if others is None else notice("cpu_busy.live", share=others)
    )
    wants = notice("cpu_busy.wants", limit=limit / 100) if limit else notice("cpu_busy.wants_none")
    row = Verdict("cpu_busy", live, wants, unknown=unknown)
    if not limit or not case.stops("cpu_busy"):
        return row
    until, moment = case.gone("cpu_busy", notice("cpu_busy.until"))
    reason = notice("cpu_busy.gone")
    if moment is None and others is not None:
        reason = notice("cpu_busy.reason", share=others)
    return replace(row, stops=COMPUTE, until=until, until_time=moment, state="yielding", reason=(reason,))


RULES: tuple[Callable[[Case], Verdict], ...] = (
    choice, role, battery, user, hours, programs, game, cpu_busy,
    limits.heat_cpu, limits.memory, limits.own_memory, limits.disk, limits.own_disk, limits.energy,
    limits.network_hours, limits.metered, limits.quota,
    limits.gpu_choice, limits.gpu_user, limits.gpu_programs, limits.gpu_busy, limits.heat_gpu, limits.gpu,
)  # fmt: skip
"""BOINC's order of reasons: the user's choice, battery, user active, schedule, exclusive programs, CPU busy; then what
protects the PC; what concerns only the network or the GPU comes last."""

GPU_ONLY = (limits.gpu_choice, limits.gpu_user, limits.gpu_programs, limits.gpu_busy, limits.heat_gpu)


def judge(case: Case) -> tuple[Verdict, ...]:
    """All rules on a case, but for those on the use of GPUs where none is used; what is lifted stops nothing."""
    rules = RULES if limits.uses_gpus(case) else tuple(rule for rule in RULES if rule not in GPU_ONLY)
    return tuple(_lifted(case, rule(case)) for rule in rules)


def _lifted(case: Case, verdict: Verdict) -> Verdict:
    """A verdict after what the user has lifted, and with what they can do about it."""
    end, own = case.wishes.lifts.get(verdict.rule), verdict.rule in case.wishes.lifted
    if end is None or not (own or verdict.stops):
        return replace(verdict, offers="lift") if verdict.stops and verdict.rule in LIFTABLE else verdict
    return replace(
        verdict,
        stops=(),
        until=(),
        until_time=None,
        wants=notice("rule.lifted", end=end),
        lifted_until=end,
        offers="end" if own else None,
        spares=verdict.stops,
    )
