"""The rules that protect the PC, the purse and the screen: heat, memory, disk, energy, the network, the GPU's own."""

import math
import time

from msgspec.structs import replace

from core.contracts.notices import Notice, Sentences, notice
from core.contracts.status import Resource
from core.policy.hysteresis import DISK_BAND, MEMORY_BAND, number
from core.policy.inputs import Verdict
from core.policy.rule_input import COMPUTE, GPU, Case, hours_rule, live_value, programs_rule
from core.policy.signals.reading import Gpu, Reading

NETWORK: tuple[Resource, ...] = ("network",)
CPU: tuple[Resource, ...] = ("cpu",)


def _heat(rule: str, celsius: Reading[float], watts: Reading[float], target: int, limit: int, stop: bool) -> Verdict:
    """Of the CPU or the GPUs.

    Args:
        rule: its name.
        celsius: as measured.
        watts: as measured.
        target: degrees to stay below; 0: none.
        limit: watts to stay below; 0: none.
        stop: resting is not enough.
    """
    resource: tuple[Resource, ...] = CPU if rule == "heat_cpu" else GPU
    live, unknown = live_value(celsius, _figures("live", number(celsius, -50, 200), number(watts, 0, 1e5)))
    wants = _figures("wants", target or None, limit or None)
    row = Verdict(rule, live, wants or notice("heat.wants_none"), unknown=unknown)
    if not stop or wants is None:
        return row
    reason = notice(f"{rule}.reason") if unknown else notice(f"{rule}.reason_now", now=live)
    return replace(row, stops=resource, until=(notice("heat.until"),), reason=(reason,))


def _figures(what: str, celsius: float | None, watts: float | None) -> Notice | None:
    if celsius is not None and watts is not None:
        return notice(f"heat.{what}_both", celsius=celsius, watts=watts)
    if celsius is not None:
        return notice(f"heat.{what}_celsius", celsius=celsius)
    return None if watts is None else notice(f"heat.{what}_watts", watts=watts)


def heat_cpu(case: Case) -> Verdict:
    signals, settings, told = case.signals, case.settings, case.signals.hot.value
    target, limit = settings.cpu_celsius, settings.cpu_watts_limit
    row = _heat("heat_cpu", signals.celsius, signals.watts, target, limit, case.usage.heat_stop_cpu)
    if told is not None and row.unknown:
        wants = notice("heat_cpu.wants_system" if settings.cpu_celsius else "heat.wants_none")
        live = notice("heat_cpu.system_hot" if told else "heat_cpu.system_fine")
        row = replace(row, live=live, wants=wants, unknown=False)
    if not case.stops("hot"):
        return row
    until, moment = case.gone("hot", notice("heat.until"))
    reason = notice("heat_cpu.pc_hot" if told else "heat_cpu.pc_gone")
    return replace(row, stops=COMPUTE, until=until, until_time=moment, reason=(reason,))


def _free(case: Case, rule: str, reading: Reading[int], limit_mb: int, band: float) -> Verdict:
    free = number(reading)
    live, unknown = live_value(reading, None if free is None else notice("free.live", free=free))
    wants = notice("free.wants", limit=limit_mb << 20) if limit_mb else notice("free.wants_none")
    row = Verdict(rule, live, wants, unknown=unknown)
    if not case.stops(rule):
        return row
    until, moment = case.gone(rule, notice("free.until", limit=(limit_mb << 20) * band))
    reason = notice(f"{rule}.gone")
    if moment is None and not unknown:
        reason = notice(f"{rule}.reason", free=free or 0)
    return replace(row, stops=COMPUTE, until=until, until_time=moment, reason=(reason,))


def memory(case: Case) -> Verdict:
    return _free(case, "memory", case.signals.memory_free, case.settings.memory_free_mb, MEMORY_BAND)


def own_memory(case: Case) -> Verdict:
    """It stops nothing: experts are parked, or compute ends and comes back smaller (`core.worker.memory`)."""
    usage = case.usage
    live = notice("own_memory.live", used=usage.own_memory_bytes)
    if usage.memory_bound is not None:
        live = notice("own_memory.live_bounded", used=usage.own_memory_bytes, bound=usage.memory_bound)
    wants = notice("own_memory.wants_away" if case.away else "own_memory.wants_here", most=case.memory_bytes)
    return Verdict("own_memory", live, wants)


def disk(case: Case) -> Verdict:
    return _free(case, "disk", case.signals.disk_free, case.settings.disk_free_mb, DISK_BAND)


def own_disk(case: Case) -> Verdict:
    """What can go has gone by then (`core.store.quota`)."""
    most = case.settings.checkpoints_disk_mb << 20
    row = Verdict("own_disk", notice("own_disk.live", used=case.usage.disk_bytes), notice("own_disk.wants", most=most))
    if not case.usage.disk_full:
        return row
    reason, until = notice("own_disk.reason", most=most), notice("own_disk.until")
    return replace(row, stops=COMPUTE, until=(until,), reason=(reason,))


def energy(case: Case) -> Verdict:
    used, budget = number(Reading(case.usage.kwh_month, "")) or 0.0, case.settings.energy_budget_kwh
    wants = notice("energy.wants", most=budget) if budget else notice("rule.no_limit")
    row = Verdict("energy", notice("energy.live", used=used), wants)
    if not budget or used < budget:
        return row
    until, end = _next_month(case.now)
    reason = notice("energy.reason", most=budget)
    return replace(row, stops=COMPUTE, until=until, until_time=end, reason=(reason,))


def network_hours(case: Case) -> Verdict:
    return hours_rule(case, "network_hours", case.settings.network_hours, NETWORK)


def metered(case: Case) -> Verdict:
    value = case.signals.metered.value
    live, unknown = live_value(
        case.signals.metered, None if value is None else notice("metered.yes" if value else "metered.no")
    )
    wants = notice("metered.wants_none" if case.settings.on_metered else "metered.wants")
    row = Verdict("metered", live, wants, unknown=unknown)
    if case.settings.on_metered or not case.stops("metered"):
        return row
    until, moment = case.gone("metered", notice("metered.until"))
    reason = notice("metered.reason" if moment is None else "metered.gone")
    return replace(row, stops=NETWORK, until=until, until_time=moment, reason=(reason,))


def quota(case: Case) -> Verdict:
    used, limit = max(0, case.usage.network_bytes_month), case.settings.quota_mb * 10**6
    wants = notice("quota.wants", most=limit) if limit else notice("rule.no_limit")
    row = Verdict("quota", notice("quota.live", used=used), wants)
    if not limit or used < limit:
        return row
    until, end = _next_month(case.now)
    reason = notice("quota.reason", most=limit)
    return replace(row, stops=NETWORK, until=until, until_time=end, reason=(reason,))


def gpu_choice(case: Case) -> Verdict:
    row = Verdict("gpu_choice", notice("choice.none"), notice("gpu_choice.wants"))
    if not case.wishes.gpu_paused:
        return row
    reason, until = notice("gpu_choice.reason"), notice("gpu_choice.until")
    return replace(row, live=notice("choice.paused"), stops=GPU, until=(until,), reason=(reason,))


def gpu_user(case: Case) -> Verdict:
    wants = notice("gpu_user.wants_none" if case.settings.gpu_in_use else "gpu_user.wants")
    unknown = number(case.signals.idle_s) is None
    live = notice("gpu_user.away" if case.away else "gpu_user.here")
    if case.nobody:
        live, unknown = notice("user.nobody"), False
    elif unknown:
        live = notice("gpu_user.unknown_away" if case.away else "gpu_user.unknown_here")
    row = Verdict("gpu_user", live, wants, unknown=unknown)
    if case.settings.gpu_in_use or case.away:
        return row
    idle, threshold = case.idle_s, case.settings.idle_threshold_s
    start = None if idle is None else case.now + threshold - idle
    reason, until = notice("gpu_user.reason"), notice("gpu_user.until", threshold=threshold)
    return replace(row, stops=GPU, until=(until,), until_time=start, reason=(reason,))


def gpu_programs(case: Case) -> Verdict:
    return programs_rule(case, "gpu_programs", case.settings.exclusive_gpu_programs, GPU)


def heat_gpu(case: Case) -> Verdict:
    signals, settings = case.signals, case.settings
    gpus = signals.gpus.value or ()
    hot = [gpu.celsius for gpu in gpus if gpu.celsius is not None and gpu.id not in settings.gpus_off]
    watts = [gpu.watts for gpu in gpus if gpu.watts is not None and gpu.id not in settings.gpus_off]
    source = signals.gpus.source if signals.gpus.value is None else notice("heat_gpu.no_source")
    return _heat(
        "heat_gpu",
        Reading(max(hot, default=None), source),
        Reading(max(watts, default=None), source),
        settings.gpu_celsius,
        settings.gpu_watts_limit,
        case.usage.heat_stop_gpu,
    )


def gpu_busy(case: Case) -> Verdict:
    limit, gpus = case.settings.busy_cpu_percent, case.signals.gpus.value or ()
    shares = [number(Reading(gpu.others, ""), 0, 1) for gpu in gpus if gpu.id in usable(case)]
    known = [share for share in shares if share is not None]
    live, unknown = live_value(case.signals.gpus, notice("gpu_busy.live", shares=known) if known else None)
    wants = notice("cpu_busy.wants", limit=limit / 100) if limit else notice("cpu_busy.wants_none")
    row = Verdict("gpu_busy", live, wants, unknown=unknown)
    if not limit or not case.stops("gpu_busy"):
        return row
    until, moment = case.gone("gpu_busy", notice("gpu_busy.until"))
    reason = notice("gpu_busy.reason" if moment is None else "gpu_busy.gone")
    return replace(row, stops=GPU, until=until, until_time=moment, reason=(reason,))


def gpu(case: Case) -> Verdict:
    gpus, failed, off = case.signals.gpus.value, case.compute.failed, case.settings.gpus_off
    live, unknown = live_value(case.signals.gpus, None if gpus is None else _gpus_found(case, gpus))
    wants = notice("gpu.wants_none" if gpus == () else "gpu.wants")
    if not case.machine.uses_gpus:
        wants = notice("gpu.wants_cpu")
    row = Verdict("gpu", live, wants, unknown=unknown)
    if not gpus or usable(case) or not case.machine.uses_gpus:
        return row
    again = min((failed[one.id] for one in gpus if one.id in failed and one.id not in off), default=None)
    if again is None:
        reason, until = notice("gpu.all_off"), notice("gpu.until_on")
    else:
        reason, until = notice("gpu.failed"), notice("gpu.until_retry", at=again)
    return replace(row, stops=GPU, until=(until,), until_time=again, reason=(reason,))


def _gpus_found(case: Case, gpus: tuple[Gpu, ...]) -> Notice:
    named: list[str | Notice] = []
    for one in gpus:
        if one.id in case.settings.gpus_off:
            named.append(notice("gpu.one_off", name=one.name))
        else:
            named.append(notice("gpu.one_failed", name=one.name) if one.id in case.compute.failed else one.name)
    return notice("gpu.found", names=named) if named else notice("gpu.none")


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


def _next_month(now: float) -> tuple[Sentences, float]:
    local = time.localtime(now)
    end = time.mktime((local.tm_year, local.tm_mon + 1, 1, 0, 0, 0, 0, 0, -1))
    return (notice("month.until", end=end),), end
