"""The rules that protect the PC, the purse and the screen: heat, memory, disk, energy, the network, the GPU's own."""

import dataclasses
import math
import time

from core.contracts.words import clock, date, duration, electricity, listed, size, traffic
from core.policy.hysteresis import DISK_BAND, MEMORY_BAND, number
from core.policy.inputs import Resource, Verdict
from core.policy.rule_input import COMPUTE, GPU, Case, hours_rule, programs_rule, value_words
from core.policy.signals.reading import Reading

NETWORK: frozenset[Resource] = frozenset({"network"})
CPU: frozenset[Resource] = frozenset({"cpu"})


def _heat(
    rule: str, name: str, what: str, celsius: Reading[float], watts: Reading[float], target: int, limit: int, stop: bool
) -> Verdict:
    resource: frozenset[Resource] = CPU if rule == "heat_cpu" else GPU
    hot, power = number(celsius, -50, 200), number(watts, 0, 1e5)
    parts = [f"{hot:.0f} °C" if hot is not None else "", f"{power:.0f} W" if power is not None else ""]
    live, unknown = value_words(celsius, ", ".join(filter(None, parts)) or None)
    wanted = [f"{target} °C" if target else "", f"{limit} W" if limit else ""]
    wants = " and ".join(filter(None, wanted))
    row = Verdict(
        rule,
        name,
        live,
        f"Stays below {wants}" if wants else "No target",
        unknown=unknown,
    )
    if not stop or not wants:
        return row
    measured = "" if unknown else f": {live}"
    reason = f"{what} is too hot or takes too much power{measured}."
    return dataclasses.replace(row, stops=resource, until="Goes on when it has cooled down.", reason=reason)


def heat_cpu(case: Case) -> Verdict:
    signals, settings, told = case.signals, case.settings, case.signals.hot.value
    row = _heat(
        "heat_cpu",
        "Processor temperature",
        "The processor",
        signals.celsius,
        signals.watts,
        settings.cpu_celsius,
        settings.cpu_watts_limit,
        case.usage.heat_stop_cpu,
    )
    if told is not None and row.unknown:
        wants = "Stops when the system calls it too hot" if settings.cpu_celsius else "No target"
        live = "Too hot, as the system says" if told else "Not too hot, as the system says"
        row = dataclasses.replace(row, live=live, wants=wants, unknown=False)
    if not case.stops("hot"):
        return row
    until, moment = case.gone("hot", "Goes on when it has cooled down.")
    reason = "The system says that this PC is too hot." if told else "The system called this PC too hot a moment ago."
    return dataclasses.replace(row, stops=COMPUTE, until=until, until_time=moment, reason=reason)


def _free(case: Case, rule: str, title: str, reading: Reading[int], what: str, limit_mb: int, band: float) -> Verdict:
    free = number(reading)
    live, unknown = value_words(reading, None if free is None else f"{size(free)} free")
    row = Verdict(
        rule, title, live, f"Keeps {size(limit_mb << 20)} free" if limit_mb else "Keeps none", unknown=unknown
    )
    if not case.stops(rule):
        return row
    until, moment = case.gone(rule, f"Goes on when {size(int((limit_mb << 20) * band))} are free.")
    reason = (
        f"Only {size(free or 0)} of {what} are free."
        if moment is None and not unknown
        else (f"There was too little free {what} a moment ago.")
    )
    return dataclasses.replace(row, stops=COMPUTE, until=until, until_time=moment, reason=reason)


def memory(case: Case) -> Verdict:
    limit = case.settings.memory_free_mb
    return _free(case, "memory", "Free memory", case.signals.memory_free, "memory", limit, MEMORY_BAND)


def own_memory(case: Case) -> Verdict:
    """It stops nothing: experts are parked, or compute ends and comes back smaller (`core.policy.limits.memory`)."""
    usage = case.usage
    bound = f"; {usage.memory_bound}" if usage.memory_bound else ""
    when = "away" if case.away else "here"
    return Verdict(
        "own_memory",
        "Memory of Hearth",
        f"{size(usage.own_memory_bytes)} used{bound}",
        f"At most {size(case.memory_bytes)} while you are {when}",
    )


def disk(case: Case) -> Verdict:
    limit = case.settings.disk_free_mb
    return _free(case, "disk", "Free disk space", case.signals.disk_free, "disk space", limit, DISK_BAND)


def own_disk(case: Case) -> Verdict:
    """What can go has gone by then (`core.store.quota`)."""
    used, cap = size(case.usage.disk_bytes), size(case.settings.checkpoints_disk_mb << 20)
    row = Verdict("own_disk", "Disk space of Hearth", f"{used} used", f"At most {cap}")
    if not case.usage.disk_full:
        return row
    reason = f"Hearth's files need all of the {cap} of disk space that you allow."
    return dataclasses.replace(row, stops=COMPUTE, until="Goes on when you allow more in Settings.", reason=reason)


def energy(case: Case) -> Verdict:
    used, budget = number(Reading(case.usage.kwh_month, "")) or 0.0, case.settings.energy_budget_kwh
    wants = f"At most {budget} kWh a month" if budget else "No limit"
    row = Verdict("energy", "Energy", f"{electricity(used)} this month", wants)
    if not budget or used < budget:
        return row
    until, end = _next_month(case.now)
    reason = f"The {budget} kWh that you allow a month are used."
    return dataclasses.replace(row, stops=COMPUTE, until=until, until_time=end, reason=reason)


def network_hours(case: Case) -> Verdict:
    text = case.settings.network_hours
    return hours_rule(case, "network_hours", "Network schedule", text, NETWORK, "the network")


def metered(case: Case) -> Verdict:
    value = case.signals.metered.value
    live, unknown = value_words(case.signals.metered, None if value is None else "Metered" if value else "Not metered")
    wants = "Used also if metered" if case.settings.on_metered else "Stops on metered networks"
    row = Verdict("metered", "Network", live, wants, unknown=unknown)
    if case.settings.on_metered or not case.stops("metered"):
        return row
    until, moment = case.gone("metered", "Goes on when this PC is on another network.")
    reason = "This network is metered." if moment is None else "The network was metered a moment ago."
    return dataclasses.replace(row, stops=NETWORK, until=until, until_time=moment, reason=reason)


def quota(case: Case) -> Verdict:
    used, limit = max(0, case.usage.network_bytes_month), case.settings.quota_mb * 10**6
    wants = f"At most {traffic(limit)} a month" if limit else "No limit"
    row = Verdict("quota", "Traffic", f"{traffic(used)} this month", wants)
    if not limit or used < limit:
        return row
    until, end = _next_month(case.now)
    reason = f"The {traffic(limit)} of traffic that you allow a month are used."
    return dataclasses.replace(row, stops=NETWORK, until=until, until_time=end, reason=reason)


def gpu_choice(case: Case) -> Verdict:
    row = Verdict("gpu_choice", "Your choice for the GPU", "Not paused", "Pause the GPU goes before its other rules")
    if not case.wishes.gpu_paused:
        return row
    until, reason = "The GPU goes on when you press Resume.", "You paused the GPU."
    return dataclasses.replace(row, live="Paused", stops=GPU, until=until, reason=reason)


def gpu_user(case: Case) -> Verdict:
    wants = "Computes also while you are here" if case.settings.gpu_in_use else "Only while you are away"
    unknown = number(case.signals.idle_s) is None
    where = "away" if case.away else "here"
    live = f"Unknown, taken as {where}" if unknown else f"You are {where}"
    if case.nobody:
        live, unknown = "There is no desktop where you could be", False
    row = Verdict("gpu_user", "GPU while you are here", live, wants, unknown=unknown)
    if case.settings.gpu_in_use or case.away:
        return row
    threshold = duration(case.settings.idle_threshold_s)
    until = f"The GPU goes on when you have been away for {threshold}."
    idle = case.idle_s
    start = None if idle is None else case.now + case.settings.idle_threshold_s - idle
    reason = "The GPU is yours while you are here."
    return dataclasses.replace(row, stops=GPU, until=until, until_time=start, reason=reason)


def gpu_programs(case: Case) -> Verdict:
    return programs_rule(case, "gpu_programs", "Programs with the GPU", case.settings.exclusive_gpu_programs, GPU)


def heat_gpu(case: Case) -> Verdict:
    signals, settings = case.signals, case.settings
    gpus = signals.gpus.value or ()
    hot = [gpu.celsius for gpu in gpus if gpu.celsius is not None and gpu.id not in settings.gpus_off]
    watts = [gpu.watts for gpu in gpus if gpu.watts is not None and gpu.id not in settings.gpus_off]
    source = signals.gpus.source if signals.gpus.value is None else "No GPU tells its temperature"
    return _heat(
        "heat_gpu",
        "GPU temperature",
        "The GPU",
        Reading(max(hot, default=None), source),
        Reading(max(watts, default=None), source),
        settings.gpu_celsius,
        settings.gpu_watts_limit,
        case.usage.heat_stop_gpu,
    )


def gpu_busy(case: Case) -> Verdict:
    limit, gpus = case.settings.busy_cpu_percent, case.signals.gpus.value or ()
    shares = [number(Reading(gpu.others, ""), 0, 1) for gpu in gpus if gpu.id in usable(case)]
    known = [f"{share:.0%}" for share in shares if share is not None]
    live, unknown = value_words(case.signals.gpus, f"{listed(known)} of it" if known else None)
    wants = f"Stops above {limit}%" if limit else "Never stops for them"
    row = Verdict("gpu_busy", "Other programs on the GPU", live, wants, unknown=unknown)
    if not limit or not case.stops("gpu_busy"):
        return row
    until, moment = case.gone("gpu_busy", "The GPU goes on when they have been calm for 20 s.")
    reason = "Other programs use the GPU." if moment is None else "Other programs used the GPU a moment ago."
    return dataclasses.replace(row, stops=GPU, until=until, until_time=moment, reason=reason)


def gpu(case: Case) -> Verdict:
    gpus, failed, off = case.signals.gpus.value, case.compute.failed, case.settings.gpus_off
    words = None
    if gpus is not None:
        marks = {one.id: " (off)" if one.id in off else " (failed)" if one.id in failed else "" for one in gpus}
        words = listed([f"{one.name}{marks[one.id]}" for one in gpus]) or "None found"
    live, unknown = value_words(case.signals.gpus, words)
    wants = "There is none to use" if gpus == () else "Uses those that you have not switched off"
    if not case.machine.uses_gpus:
        wants = "Hearth computes on the processor only"
    row = Verdict("gpu", "Graphics processors", live, wants, unknown=unknown)
    if not gpus or usable(case) or not case.machine.uses_gpus:
        return row
    again = min((failed[one.id] for one in gpus if one.id in failed and one.id not in off), default=None)
    if again is None:
        reason, until = "You switched all graphics processors off.", "Goes on when you switch one on in Settings."
    else:
        reason, until = "The graphics processor failed.", f"It is tried again at {clock(again, case.now)}."
    return dataclasses.replace(row, stops=GPU, until=until, until_time=again, reason=reason)


def usable(case: Case) -> frozenset[str]:
    """Ids of the graphics processors that are there, work, and may be used."""
    gpus = case.signals.gpus.value or ()
    return frozenset(one.id for one in gpus if not (one.id in case.settings.gpus_off or one.id in case.compute.failed))


def uses_gpus(case: Case) -> bool:
    """Whether any graphics processor would compute, if no rule stopped it."""
    return case.machine.uses_gpus and bool(usable(case))


def chosen_device(case: Case, cpu: bool) -> str:
    """Where experts are to be: on the usable graphics processor on which they are already, if others leave it free, or
    else the largest of those that they do; "cpu" if that is allowed (`cpu`) and faster for this run."""
    gpus = [one for one in case.signals.gpus.value or () if one.id in usable(case)]
    limit, speeds = case.settings.busy_cpu_percent / 100 or 1.0, case.compute.speeds
    free = [one for one in gpus if one.others is None or one.others <= limit] or gpus
    ours = (one for one in free if one.id == case.compute.device)
    chosen = next(ours, None) or max(free, key=lambda one: (one.memory_bytes or 0, one.id))
    return "cpu" if cpu and speeds.get("cpu", 0.0) > speeds.get(chosen.id, math.inf) else chosen.id


def _next_month(now: float) -> tuple[str, float]:
    local = time.localtime(now)
    end = time.mktime((local.tm_year, local.tm_mon + 1, 1, 0, 0, 0, 0, 0, -1))
    return f"Goes on with the new month, on {date(end)}.", end
