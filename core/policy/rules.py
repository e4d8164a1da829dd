"""The rules, in the order in which they are told: each with its live value, what it wants, and what it stops.

A signal that is unknown stops nothing, but for the idle time, where the user chose: a PC without a battery, a
thermometer or a known kind of network is the usual case. Such a rule says that it does not know.
"""

import dataclasses
from collections.abc import Callable

from core.contracts.words import clock, countdown, duration
from core.policy import protection_rules as limits
from core.policy.hysteresis import number
from core.policy.inputs import Verdict
from core.policy.rule_input import COMPUTE, GPU, Case, hours_rule, programs_rule, value_words
from core.policy.signals.reading import UNKNOWN, Reading

LIFTED = frozenset({"user", "hours", "cpu_busy"})
"""The rules that "Start now" lifts. It asks for computing although the user is here, so it lifts what looks at the user
and the clock; not what protects the PC (battery, heat, memory, disk), costs money (energy), or was chosen by name
(programs, games), nor the GPU's own rules: what makes the screen stutter is chosen in the settings."""


def choice(case: Case) -> Verdict:
    wishes, now = case.wishes, case.now
    row = Verdict("choice", "Your choice", "Not paused", "Pause and Start now go before all else")
    if wishes.quitting:
        reason, until = "Hearth is quitting and saves its work.", "Ends when the checkpoint is saved."
        return dataclasses.replace(row, live="Quitting", stops=COMPUTE, until=until, state="leaving", reason=reason)
    if wishes.paused:
        end = wishes.paused_until
        at = "" if end is None else f" until {clock(end, now)}"
        until = (
            "Resumes when you press Resume."
            if end is None
            else (f"Resumes at {clock(end, now)}, or when you press Resume.")
        )
        return dataclasses.replace(
            row,
            live=f"Paused{at}",
            stops=COMPUTE,
            until=until,
            until_time=end,
            state="paused",
            reason=f"You paused it{at}.",
        )
    if wishes.start_now_until is not None:
        return dataclasses.replace(row, live=f"Start now, until {clock(wishes.start_now_until, now)}")
    return row


def role(case: Case) -> Verdict:
    row = Verdict("role", "Role", "Computes", "Backbone peers do not compute")
    if case.machine.computes:
        return row
    return dataclasses.replace(
        row,
        live="Backbone peer",
        stops=COMPUTE,
        until="Goes on until you quit.",
        state="contributing",
        reason="This PC is a backbone peer: it keeps the network together and does not compute.",
    )


def battery(case: Case) -> Verdict:
    power, settings = case.signals.power.value, case.settings
    words = None
    if power is not None:
        charge = number(Reading(power.charge, ""), 0, 1)
        left = "" if charge is None else f", {charge:.0%} charged" if power.mains else f", {charge:.0%} left"
        words = f"On mains{left}" if power.mains else f"On battery{left}"
    live, unknown = value_words(case.signals.power, words)
    limit = settings.battery_percent
    wants = f"Stops on battery below {limit}%" if settings.on_battery else "Stops on battery"
    row = Verdict("battery", "Power", live, wants, unknown=unknown)
    if not case.stops("battery"):
        return row
    end = "Continues when you plug it in."
    until, moment = case.gone("battery", end)
    reason = (
        f"This PC is on battery{live.removeprefix('On battery')}."
        if power and not power.mains
        else ("This PC was on battery a moment ago.")
    )
    return dataclasses.replace(row, stops=COMPUTE, until=until, until_time=moment, reason=reason)


def user(case: Case) -> Verdict:
    idle, settings, now = case.idle_s, case.settings, case.now
    known = number(case.signals.idle_s) is not None
    locked = ", locked" if case.signals.locked.value else ""
    live = case.idle_obstacle.removesuffix(".") if idle is None else f"{duration(idle)} since the last input{locked}"
    wants = f"Needs {duration(settings.idle_threshold_s)}" if settings.idle_only else "Runs also while you are here"
    if settings.idle_only and idle is None and settings.idle_unknown == "run":
        wants = "Computes anyway where it is unknown"
    row = Verdict("user", "You are away", live, wants, unknown=not known)
    if not settings.idle_only:
        if not case.nobody:
            return row
        wants = "Runs as while you are away"
        return dataclasses.replace(row, live="There is no desktop where you could be", wants=wants, unknown=False)
    stop = dataclasses.replace(row, stops=COMPUTE, state="waiting")
    if idle is None:
        if settings.idle_unknown == "run":
            return row
        if case.signals.idle_s.source == UNKNOWN.source:  # the first answer is on its way
            reason, until = "It is being measured how long you have been away.", "Known in a moment."
            return dataclasses.replace(stop, state="preparing", reason=reason, until=until)
        remedy = "Computes when you choose “Compute anyway” in Settings, or press Start now."
        return dataclasses.replace(stop, state="attention", reason=case.idle_obstacle, until=remedy)
    if idle < settings.idle_threshold_s:
        start = now + settings.idle_threshold_s - idle
        reason, until = (
            f"You used this PC {duration(idle)} ago.",
            f"Starts in {countdown(start - now)} if you stay away.",
        )
        return dataclasses.replace(stop, reason=reason, until=until, until_time=start)
    if case.stops("idle_unknown") and settings.idle_unknown == "wait":
        until, moment = case.gone("idle_unknown", "Starts as soon as it is known for some seconds.")
        reason = "A moment ago it could not be measured how long you have been away."
        return dataclasses.replace(stop, reason=reason, until=until, until_time=moment)
    return row


def hours(case: Case) -> Verdict:
    return hours_rule(case, "hours", "Schedule", case.settings.compute_hours, COMPUTE, "computing")


def programs(case: Case) -> Verdict:
    return programs_rule(case, "programs", "Exclusive programs", case.settings.exclusive_programs, COMPUTE)


def game(case: Case) -> Verdict:
    settings, front = case.settings, case.signals.front.value
    kinds = {"fullscreen": "A full screen", "presentation": "A presentation", "game": "A game"}
    words = None
    if front is not None:
        program = f" ({front.program})" if front.program else ""
        words = f"{kinds[front.kind]}{program}" if front.kind in kinds else "None"
    live, unknown = value_words(case.signals.front, words)
    effect = {"all": "all", "gpu": "the GPU", "nothing": "nothing"}[settings.game_stops]
    wants = f"Games stop {effect}" if settings.game_is == "game" else f"Games and full screens stop {effect}"
    row = Verdict("game", "Games and full screen", live, wants, unknown=unknown)
    if settings.game_stops == "nothing" or not case.stops("game"):
        return row
    until, moment = case.gone("game", "Goes on when it has left the screen.")
    reason = f"{live} is in front." if moment is None and front else "A game or full screen was in front a moment ago."
    stops = COMPUTE if settings.game_stops == "all" else GPU
    return dataclasses.replace(row, stops=stops, until=until, until_time=moment, state="yielding", reason=reason)


def cpu_busy(case: Case) -> Verdict:
    others, limit = number(case.signals.cpu_others, 0, 1), case.settings.busy_cpu_percent
    live, unknown = value_words(case.signals.cpu_others, None if others is None else f"{others:.0%} of the processor")
    wants = f"Stops above {limit}%" if limit else "Never stops for them"
    row = Verdict("cpu_busy", "Other programs", live, wants, unknown=unknown)
    if not limit or not case.stops("cpu_busy"):
        return row
    until, moment = case.gone("cpu_busy", "Goes on when they have been calm for 20 s.")
    reason = (
        f"Other programs use {others:.0%} of the processor."
        if moment is None and others is not None
        else ("Other programs were busy a moment ago.")
    )
    return dataclasses.replace(row, stops=COMPUTE, until=until, until_time=moment, state="yielding", reason=reason)


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
    """All rules on a case, but for those on the use of GPUs where none is used. "Start now" takes the stops of those
    that it lifts."""
    rules = RULES if limits.uses_gpus(case) else tuple(rule for rule in RULES if rule not in GPU_ONLY)
    verdicts = tuple(rule(case) for rule in rules)
    end = case.wishes.start_now_until
    if end is None:
        return verdicts
    wants = f"Lifted until {clock(end, case.now)}"
    return tuple(
        dataclasses.replace(verdict, stops=frozenset(), until="", until_time=None, wants=wants)
        if verdict.rule in LIFTED and verdict.stops
        else verdict
        for verdict in verdicts
    )
