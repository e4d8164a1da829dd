"""Whatever the signals say: one state, a reason, an end, the user's settings obeyed, and no flapping."""

import math
import time
from collections.abc import Collection
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts import schedule
from core.contracts.notices import english, plain
from core.contracts.settings import Settings
from core.contracts.status import Resource, State
from core.policy.decide import Decision, decide
from core.policy.hysteresis import CONDITIONS, Held, hold
from core.policy.inputs import Compute, Machine, Phase, Usage, Wishes
from core.policy.signals.reading import UNKNOWN, Front, Gpu, Power, Reading, Signals

NOW = 1_800_000_000.0
odd = st.floats(allow_nan=True, allow_infinity=True)
"""Nonsense that no source should ever tell."""


def reading(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Reading[Any]]:
    sources = st.sampled_from(["XScreenSaver", "It does not answer.", ""])
    return st.builds(Reading, st.one_of(values, values, values, st.none()), sources, st.floats(0, 1e6))


shares = st.floats(0, 1) | odd
gpus = st.builds(Gpu, st.sampled_from(["a", "b"]), st.just("GPU"), others=st.none() | odd, celsius=st.none() | odd)
all_signals = st.builds(
    Signals,
    idle_s=reading(st.floats(0, 1000) | odd),
    locked=reading(st.booleans()),
    front=reading(st.builds(Front, st.sampled_from(["window", "fullscreen", "presentation", "game"]))),
    desktop=reading(st.booleans()),
    power=reading(st.builds(Power, st.booleans(), st.none() | shares)),
    cpu_others=reading(shares),
    memory_free=reading(st.integers(-5, 4 << 30)),
    disk_free=reading(st.integers(-5, 4 << 30)),
    gpus=reading(st.lists(gpus, max_size=2).map(tuple)),
    celsius=reading(odd),
    hot=reading(st.booleans()),
    watts=reading(odd),
    metered=reading(st.booleans()),
    programs=reading(st.frozensets(st.sampled_from(["blender", "obs", "bash"]))),
)
chosen_programs = st.sampled_from([(), ("blender",), (" Blender.EXE", "vlc")])
all_settings = st.builds(
    Settings,
    idle_only=st.booleans(),
    idle_threshold_s=st.sampled_from([5, 300]),
    idle_unknown=st.sampled_from(["wait", "run"]),
    gpu_in_use=st.booleans(),
    on_battery=st.booleans(),
    battery_percent=st.sampled_from([0, 60, 100]),
    on_metered=st.booleans(),
    compute_hours=st.sampled_from(["", "8:00-20:00", "20:00-8:00", "mo,we"]),
    network_hours=st.sampled_from(["", "9:00-21:00", "su"]),
    quota_mb=st.sampled_from([0, 1000]),
    busy_cpu_percent=st.sampled_from([0, 25, 100]),
    exclusive_programs=chosen_programs,
    exclusive_gpu_programs=chosen_programs,
    game_stops=st.sampled_from(["all", "gpu", "nothing"]),
    game_is=st.sampled_from(["fullscreen", "game"]),
    gpus_off=st.sampled_from([(), ("a",), ("a", "b")]),
    disk_free_mb=st.sampled_from([0, 1024]),
    memory_free_mb=st.sampled_from([0, 512]),
    cpu_celsius=st.sampled_from([0, 85]),
    gpu_celsius=st.sampled_from([0, 85]),
    energy_budget_kwh=st.sampled_from([0, 5]),
    threads=st.sampled_from([0, 1, 1024]),
)
times = st.none() | st.floats(NOW - 1000, NOW + 3 * 86_400) | st.floats(allow_nan=False)
all_wishes = st.builds(Wishes, st.booleans(), times, times, st.booleans(), st.booleans())
moments = st.none() | st.floats(NOW - 1000, NOW + 1000)
all_computes = st.builds(
    Compute,
    phase=st.sampled_from(get_args(Phase)),
    experts=st.integers(0, 9),
    failure=st.none() | st.just(plain("It fell over.")),
    retry_time=moments,
    memory_free_time=moments,
    answering=st.booleans(),
    reachable=st.booleans(),
    trains=st.booleans(),
    device=st.sampled_from(["cpu", "a", "b"]),
    speeds=st.dictionaries(st.sampled_from(["cpu", "a", "b"]), st.floats(1, 1e6)),
    failed=st.sampled_from([{}, {"a": NOW + 60}, {"a": NOW + 60, "b": NOW + 90}]),
)
all_usages = st.builds(
    Usage,
    st.sampled_from([0, 10**9 - 1, 10**9, 2 * 10**9]),
    st.integers(0, 10**12),
    disk_full=st.booleans(),
    kwh_month=st.sampled_from([0.0, 4.99, 5.0, 10.0]),
    heat_stop_cpu=st.booleans(),
    heat_stop_gpu=st.booleans(),
)
machines = st.builds(Machine, st.integers(1, 64), st.just(8 << 30), st.booleans(), st.booleans(), st.booleans())


COMPUTE: frozenset[Resource] = frozenset({"cpu", "gpu"})
CPU: frozenset[Resource] = frozenset({"cpu"})
GPU: frozenset[Resource] = frozenset({"gpu"})
NETWORK: frozenset[Resource] = frozenset({"network"})


def short(free: int | None, limit_mb: int) -> bool:
    return free is not None and 0 <= free < limit_mb * 1024 * 1024


def forbidden(
    signals: Signals, chosen: Settings, wishes: Wishes, usage: Usage, machine: Machine, failed: Collection[str] = ()
) -> dict[str, frozenset[Resource]]:
    """What the user's settings forbid, in a line or two a rule, from the words of the settings' form alone."""
    idle, power = signals.idle_s.value, signals.power.value
    known = idle is not None and math.isfinite(idle) and idle >= 0
    here = idle < chosen.idle_threshold_s if known and idle is not None else chosen.idle_unknown == "wait"
    pressed = wishes.start_now_until is not None and NOW < wishes.start_now_until <= NOW + 86_400
    paused = wishes.paused and not (wishes.paused_until is not None and wishes.paused_until <= NOW)
    battery = power is not None and not power.mains
    charge = -1.0 if power is None or power.charge is None or not 0 <= power.charge <= 1 else power.charge
    enough = chosen.on_battery and (chosen.battery_percent == 0 or charge * 100 >= chosen.battery_percent)
    front = signals.front.value.kind if signals.front.value and not signals.locked.value else "window"
    game = front == "game" or (chosen.game_is == "fullscreen" and front != "window")
    blender = "blender" in (signals.programs.value or frozenset())
    cards = machine.uses_gpus and [one.id for one in signals.gpus.value or ()]
    used = cards and not set(cards) <= {*chosen.gpus_off, *failed}
    hot = bool(signals.hot.value)
    forbids = {
        "choice": wishes.quitting or paused,
        "role": not machine.computes,
        "battery": battery and not enough,
        "user": chosen.idle_only and here and not pressed,
        "hours": not schedule.parse(chosen.compute_hours).on(NOW) and not pressed,
        "programs": blender and bool(chosen.exclusive_programs),
        "game": game and chosen.game_stops != "nothing",
        "heat_cpu": (hot or usage.heat_stop_cpu) and chosen.cpu_celsius > 0,
        "memory": short(signals.memory_free.value, chosen.memory_free_mb),
        "disk": short(signals.disk_free.value, chosen.disk_free_mb),
        "own_disk": usage.disk_full,
        "energy": 0 < chosen.energy_budget_kwh <= usage.kwh_month,
        "metered": bool(signals.metered.value) and not chosen.on_metered,
        "network_hours": not schedule.parse(chosen.network_hours).on(NOW),
        "quota": 0 < chosen.quota_mb * 10**6 <= usage.network_bytes_month,
        "gpu_choice": used and wishes.gpu_paused,
        "gpu_user": used and here and signals.desktop.value is not False and not chosen.gpu_in_use,
        "gpu_programs": used and blender and bool(chosen.exclusive_gpu_programs),
        "heat_gpu": used and usage.heat_stop_gpu and chosen.gpu_celsius > 0,
        "gpu": bool(cards) and not used,
    }
    what: dict[str, frozenset[Resource]] = dict.fromkeys(forbids, COMPUTE)
    what |= dict.fromkeys(["metered", "network_hours", "quota"], NETWORK)
    what |= dict.fromkeys(["gpu_choice", "gpu_user", "gpu_programs", "heat_gpu", "gpu"], GPU)
    what |= {"heat_cpu": COMPUTE if hot else CPU, "game": GPU if chosen.game_stops == "gpu" else COMPUTE}
    return {rule: what[rule] for rule, forbidden in forbids.items() if forbidden}


def check_words(decision: Decision) -> None:
    assert decision.state in get_args(State)
    for said in (*decision.reason, *decision.until):
        text = english(said, NOW)
        assert text.endswith(".") and len(text) > 3 and "None" not in text and "nan" not in text and "inf" not in text
        assert "{" not in text, "an argument is missing"
    assert decision.until_time is None or decision.until_time > NOW
    assert len({rule.rule for rule in decision.rules}) == len(decision.rules)
    for rule in decision.rules:
        for phrase in (rule.live, rule.wants):
            shown = english(phrase, NOW)
            assert shown and "{" not in shown and shown != phrase.code, phrase
        assert bool(rule.stops) == bool(rule.until)
        if rule.stops:
            assert rule.reason and rule.until


@settings(max_examples=400, deadline=None)
@given(all_signals, all_settings, all_wishes, all_computes, all_usages, machines)
def test_every_case_has_a_state_a_reason_and_an_end_and_obeys_the_user(
    signals: Signals, chosen: Settings, wishes: Wishes, compute: Compute, usage: Usage, machine: Machine
) -> None:
    decision = decide(signals, chosen, wishes, compute, usage, Held(), NOW, machine)
    check_words(decision)
    forbids = forbidden(signals, chosen, wishes, usage, machine, compute.failed)
    assert {
        rule.rule: frozenset(rule.stops) for rule in decision.rules if rule.stops
    } == forbids  # nor does one stop for nothing
    stopped = frozenset[str]().union(*forbids.values())
    assert (decision.cpu, decision.network) == ("cpu" not in stopped, "network" not in stopped)
    usable = {one.id for one in signals.gpus.value or ()} - {*chosen.gpus_off, *compute.failed}
    assert decision.gpu == (machine.uses_gpus and bool(usable) and "gpu" not in stopped)
    allowed = (usable if decision.gpu else set()) | ({"cpu"} if decision.cpu else set())
    assert decision.device in (allowed or {"cpu"})
    assert decision.train == (decision.cpu or decision.gpu)
    if decision.train:
        assert decision.state in ("contributing", "preparing", "attention", "limited")
    else:
        assert (decision.state != "preparing" or signals.idle_s == UNKNOWN) and (
            decision.state != "contributing" or not machine.computes
        )
    assert 0 < decision.cpu_share <= 1 and 1 <= decision.threads <= machine.cores and decision.memory_bytes > 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(all_signals, st.sampled_from([-30, 0.5, 5, 25])), min_size=1, max_size=4), all_settings)
def test_what_is_held_forbids_more_never_less(past: list[tuple[Signals, float]], chosen: Settings) -> None:
    held, now = Held(), NOW - sum(step for _, step in past)
    for signals, step in past:
        now += step
        held = hold(signals, chosen, held, now)
    machine = Machine(uses_gpus=True)
    decision = decide(past[-1][0], chosen, Wishes(), Compute("absent"), Usage(), held, NOW, machine)
    check_words(decision)
    forbids = forbidden(past[-1][0], chosen, Wishes(), Usage(), machine)
    stops = {rule.rule: frozenset(rule.stops) for rule in decision.rules}
    assert all(stops[rule] >= resources for rule, resources in forbids.items())
    if held.on("cpu_busy") and chosen.busy_cpu_percent:
        assert not decision.cpu


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(all_signals, all_signals, all_signals),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.05, 1, 2, 9])), min_size=40, max_size=40),
    all_settings,
)
def test_no_condition_changes_twice_within_its_hold_time(
    told: tuple[Signals, ...], order: list[tuple[int, float]], chosen: Settings
) -> None:
    held, now, changed = Held(), NOW, dict.fromkeys(CONDITIONS, (-math.inf, False))
    for which, step in order:
        now += step
        held = hold(told[which], chosen, held, now)
        for name, (moment, on) in changed.items():
            if held.on(name) != on:
                least = CONDITIONS[name].gone_s if on else CONDITIONS[name].after_s
                assert now - moment >= least - 1e-6, (name, now - moment)
                changed[name] = (now, held.on(name))


idles = st.lists(st.sampled_from([None, 0.0, 3.0, 400.0, math.nan]), min_size=2, max_size=3)
busy = st.lists(st.sampled_from([0.05, 0.9, None]), min_size=1, max_size=2)
noises = st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([True, True, True, False]))


@settings(max_examples=100, deadline=None)
@given(idles, busy, st.lists(noises, min_size=60, max_size=60), st.sampled_from(["wait", "run"]))
def test_noise_does_not_start_compute_again_and_again(
    idle: list[float | None], others: list[float | None], noise: list[tuple[int, int, bool]], unknown: Any
) -> None:
    """One reading a second: after each stop compute rests for at least 10 s."""
    chosen = Settings(idle_only=True, idle_threshold_s=12, idle_unknown=unknown)
    held, stopped, trained = Held(), -math.inf, False
    for second, (which, load, mains) in enumerate(noise):
        now = NOW + second
        signals = Signals(
            Reading(idle[which % len(idle)], "X."),
            cpu_others=Reading(others[load % len(others)], ""),
            power=Reading(Power(mains), ""),
        )
        held = hold(signals, chosen, held, now)
        trains = decide(signals, chosen, Wishes(), Compute(), Usage(), held, now).train
        if trains and not trained:
            assert now - stopped >= 9, second
        if trained and not trains:
            stopped = now
        trained = trains


def test_deciding_costs_little() -> None:
    """Done once a second, it must stay far under 0.3% of a core."""
    signals = Signals(Reading(400.0, "X"), programs=Reading(frozenset(map(str, range(400))), "psutil"))
    chosen = Settings(idle_only=True, compute_hours="mo-fr 18:00-08:00", exclusive_programs=("a", "b"))
    held, best = Held(), math.inf
    for _ in range(20):
        start = time.process_time()
        for step in range(10):
            held = hold(signals, chosen, held, NOW + step)
            decide(signals, chosen, Wishes(), Compute(), Usage(), held, NOW + step)
        best = min(best, (time.process_time() - start) / 10)
    print(f"{best * 1e6:.0f} µs")
    assert best < 0.002
