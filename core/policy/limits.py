"""The rules that protect the PC, the purse and the screen: heat, memory, disk, energy, the network, the GPU's own."""

import dataclasses
import time

from core.policy.case import COMPUTE, GPU, Case, hours_rule, programs_rule, value_words
from core.policy.facts import Resource, Verdict
from core.policy.hold import DISK_BAND, MEMORY_BAND, number
from core.policy.signals.reading import Reading
from core.policy.words import date, duration, listed, size

NETWORK: frozenset[Resource] = frozenset({"network"})
CPU: frozenset[Resource] = frozenset({"cpu"})


def _heat(
    rule: str, what: str, celsius: Reading[float], watts: Reading[float], target: int, limit: int, stop: bool
) -> Verdict:
    resource: frozenset[Resource] = CPU if rule == "heat_cpu" else GPU
    hot, power = number(celsius, -50, 200), number(watts, 0, 1e5)
    parts = [f"{hot:.0f} °C" if hot is not None else "", f"{power:.0f} W" if power is not None else ""]
    live, unknown = value_words(celsius, ", ".join(filter(None, parts)) or None)
    wanted = [f"{target} °C" if target else "", f"{limit} W" if limit else ""]
    wants = " and ".join(filter(None, wanted))
    row = Verdict(
        rule,
        f"{what[0].upper()}{what[1:]} temperature",
        live,
        f"Stays below {wants}" if wants else "No target",
        unknown=unknown,
    )
    if not stop or not wants:
        return row
    measured = "" if unknown else f": {live}"
    reason = f"The {what} is too hot or takes too much power{measured}."
    return dataclasses.replace(row, stops=resource, until="Goes on when it has cooled down.", reason=reason)


def heat_cpu(case: Case) -> Verdict:
    signals, settings = case.signals, case.settings
    return _heat(
        "heat_cpu",
        "processor",
        signals.celsius,
        signals.watts,
        settings.cpu_celsius,
        settings.cpu_watts_limit,
        case.usage.heat_stop_cpu,
    )


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


def disk(case: Case) -> Verdict:
    row = _free(
        case, "disk", "Free disk space", case.signals.disk_free, "disk space", case.settings.disk_free_mb, DISK_BAND
    )
    used = case.usage.disk_bytes
    return dataclasses.replace(row, live=f"{row.live}, {size(used)} used by Hearth") if used else row


def energy(case: Case) -> Verdict:
    used, budget = number(Reading(case.usage.kwh_month, "")) or 0.0, case.settings.energy_budget_kwh
    wants = f"At most {budget} kWh a month" if budget else "No limit"
    row = Verdict("energy", "Energy", f"{used:.3g} kWh this month", wants)
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
    used, limit = max(0, case.usage.network_bytes_month), case.settings.quota_gb
    wants = f"At most {limit} GB a month" if limit else "No limit"
    row = Verdict("quota", "Traffic", f"{used / 1e9:.3g} GB this month", wants)
    if not limit or used < limit * 1e9:
        return row
    until, end = _next_month(case.now)
    reason = f"The {limit} GB of traffic that you allow a month are used."
    return dataclasses.replace(row, stops=NETWORK, until=until, until_time=end, reason=reason)


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
        "GPU",
        Reading(max(hot, default=None), source),
        Reading(max(watts, default=None), source),
        settings.gpu_celsius,
        settings.gpu_watts_limit,
        case.usage.heat_stop_gpu,
    )


def gpu(case: Case) -> Verdict:
    gpus = case.signals.gpus.value
    used = usable(case)
    words = None
    if gpus is not None:
        words = listed([f"{one.name}{'' if one.id in used else ' (off)'}" for one in gpus]) if gpus else "None found"
    live, unknown = value_words(case.signals.gpus, words)
    row = Verdict("gpu", "Graphics processors", live, "Uses those that you have not switched off", unknown=unknown)
    if not gpus or used:
        return row
    reason, until = "You switched all graphics processors off.", "Goes on when you switch one on in Settings."
    return dataclasses.replace(row, stops=GPU, until=until, reason=reason)


def usable(case: Case) -> frozenset[str]:
    """Ids of the graphics processors that are there and may be used."""
    return frozenset(one.id for one in case.signals.gpus.value or () if one.id not in case.settings.gpus_off)


def _next_month(now: float) -> tuple[str, float]:
    local = time.localtime(now)
    end = time.mktime((local.tm_year, local.tm_mon + 1, 1, 0, 0, 0, 0, 0, -1))
    return f"Goes on with the new month, on {date(end)}.", end
