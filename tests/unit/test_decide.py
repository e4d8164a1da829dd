"""The decision table by examples: state, reason, what ends it."""

import dataclasses
import time
from typing import Any, get_args

import pytest

from core.contracts import schedule
from core.contracts.notices import Notice, english, notice, plain
from core.contracts.settings import Settings
from core.contracts.words import countdown, duration, size
from core.policy.decide import Decision, decide
from core.policy.hysteresis import Held, hold
from core.policy.inputs import Compute, Machine, Phase, Usage, Wishes
from core.policy.signals.reading import UNKNOWN as NOT_YET
from core.policy.signals.reading import Front, Gpu, Power, Reading, Signals
from tests.workers import codes

NOW = 1_800_000_000.0
IDLE_ONLY = Settings(idle_only=True, idle_threshold_s=300)
TRAINING = Compute("training", experts=32)
UNKNOWN = plain("No desktop tells it.")
GPUS = (Gpu("GPU-1", "RTX 4070", celsius=66.0, watts=120.0), Gpu("GPU-2", "GTX 1080"))


def signals(idle: float | None = 1000.0, **values: Any) -> Signals:
    """A calm PC on mains that nobody has touched for `idle` seconds, but for what `values` say."""
    calm: dict[str, Any] = {
        "locked": False,
        "front": Front("window"),
        "power": Power(True, 0.8),
        "cpu_others": 0.09,
        "memory_free": 12 << 30,
        "disk_free": 200 << 30,
        "gpus": (),
        "celsius": 51.0,
        "watts": 30.0,
        "metered": False,
        "programs": frozenset({"bash"}),
    }
    told = {**calm, **values}.items()
    readings = {name: Reading(value, plain(f"No {name} here.") if value is None else "test") for name, value in told}
    return Signals(idle_s=Reading(idle, "XScreenSaver" if idle is not None else UNKNOWN), **readings)


def choose(
    now_signals: Signals | None = None,
    settings: Settings = IDLE_ONLY,
    wishes: Wishes | None = None,
    compute: Compute = TRAINING,
    held: Held | None = None,
    now: float = NOW,
    **more: Any,
) -> Decision:
    now_signals = now_signals or signals()
    usage = Usage(**{name: more.pop(name) for name in list(more) if name in Usage.__dataclass_fields__})
    held = hold(now_signals, settings, held or Held(), now)
    return decide(now_signals, settings, wishes or Wishes(), compute, usage, held, now, Machine(**more))


def test_it_trains_whatever_the_user_does_unless_told_otherwise() -> None:
    decision = choose(signals(2.0), Settings())
    assert (decision.train, decision.state) == (True, "contributing")
    assert decision.reason == (notice("run.training", n=32),)


def test_idle_only_waits_for_the_threshold_and_says_for_how_long() -> None:
    decision = choose(signals(170.0), compute=Compute())
    assert (decision.train, decision.state, decision.until_time) == (False, "waiting", NOW + 130)
    assert decision.until == (notice("user.until", start=NOW + 130),)
    assert choose(signals(300.0)).train


@pytest.mark.parametrize("phase", ["training", "stopping", "stopped"])
def test_the_users_return_is_yielding_until_the_memory_is_free(phase: Phase) -> None:
    decision = choose(signals(2.0), compute=Compute(phase))
    assert (decision.train, decision.state) == (False, "yielding")
    assert codes(decision.reason)[0] == "user.back"
    assert choose(signals(2.0), compute=Compute("absent")).state == "waiting"


def test_unknown_idle_time_follows_the_users_choice_and_is_shown() -> None:
    waits = choose(signals(None), compute=Compute())
    assert (waits.train, waits.state, waits.reason) == (False, "attention", (notice("user.unmeasured"), UNKNOWN))
    runs = choose(signals(None), dataclasses.replace(IDLE_ONLY, idle_unknown="run"))
    assert runs.train and UNKNOWN in runs.reason
    begins = choose(dataclasses.replace(signals(), idle_s=dataclasses.replace(NOT_YET, age_s=0.2)), IDLE_ONLY)
    assert (begins.train, begins.state) == (False, "preparing") and codes(begins.reason) == ["user.measuring"]
    for decision in (waits, runs):
        assert next(rule for rule in decision.rules if rule.rule == "user").unknown


def test_the_first_start_measures_this_pc() -> None:
    decision = choose(compute=Compute("training", measuring=True))
    assert (decision.train, decision.state) == (True, "preparing") and codes(decision.reason) == ["compute.measuring"]


def test_until_idle_time_is_first_measured_it_waits_for_that() -> None:
    decision = choose(Signals(), compute=Compute())
    assert (decision.train, decision.state) == (False, "preparing") and codes(decision.until) == ["user.known_soon"]


def test_who_was_just_here_is_not_away_because_nothing_can_tell_any_more() -> None:
    run = dataclasses.replace(IDLE_ONLY, idle_unknown="run")
    held = hold(signals(2.0), run, Held(), NOW)
    assert not choose(signals(None), run, held=held, now=NOW + 1).train
    assert choose(signals(None), run, held=held, now=NOW + 299).train


def test_a_source_that_forgets_the_last_input_makes_nobody_be_away() -> None:
    held = hold(signals(0.0), IDLE_ONLY, Held(), NOW)
    decision = choose(signals(5000.0), held=held, now=NOW + 10, compute=Compute())
    assert (decision.train, decision.until) == (False, (notice("user.until", start=NOW + 300),))
    assert choose(signals(5000.0), held=held, now=NOW + 300).train


def test_a_timed_pause_ends_by_itself() -> None:
    wishes = Wishes(paused=True, paused_until=NOW + 60)
    assert choose(wishes=wishes).state == "paused"
    assert choose(wishes=wishes, now=NOW + 61).train


@pytest.mark.parametrize("end", [NOW + 400 * 86_400, 1e18, 1e308])
def test_a_time_that_no_wish_can_have_does_not_count(end: float) -> None:
    paused = choose(wishes=Wishes(paused=True, paused_until=end))
    assert (paused.state, paused.until_time) == ("paused", None)
    assert not choose(signals(2.0), wishes=Wishes(start_now_until=end)).train


def test_start_now_lifts_the_idle_rule_for_its_time() -> None:
    wishes = Wishes(start_now_until=NOW + 60)
    assert choose(signals(2.0), wishes=wishes).train
    assert choose(signals(None), wishes=wishes).train
    assert not choose(signals(2.0), wishes=wishes, now=NOW + 61).train


def test_a_crash_says_why_and_when_it_is_tried_again() -> None:
    decision = choose(compute=Compute("absent", failure=plain("Compute was killed."), retry_time=NOW + 4))
    assert (decision.state, decision.reason) == ("attention", (plain("Compute was killed."),))
    assert decision.until == (notice("compute.retry", at=NOW + 4),)
    assert decision.train  # it is to be started again


def test_a_host_without_experts_says_that_it_waits_for_some() -> None:
    decision = choose(settings=Settings(), compute=Compute("training", experts=0, trains=False))
    assert decision.state == "contributing" and codes(decision.reason) == ["run.waits"]


def test_a_backbone_peer_does_not_compute_and_says_so() -> None:
    decision = choose(computes=False, networked=True)
    assert (decision.state, decision.train, decision.network) == ("contributing", False, True)
    assert choose(signals(metered=True), computes=False, networked=True).state == "limited"


STOPPED: list[tuple[str, dict[str, Any], dict[str, Any], str, Notice, str]] = [
    ("battery", {}, {"power": Power(False, 0.64)}, "limited",
     notice("battery.reason_charge", charge=0.64), "battery.until"),
    ("battery", {"on_battery": True}, {"power": Power(False, 0.59)}, "limited",
     notice("battery.reason_charge", charge=0.59), "battery.until"),
    ("battery", {"on_battery": True}, {"power": Power(False)}, "limited", notice("battery.reason"), "battery.until"),
    ("hours", {"compute_hours": "0:00-0:01"}, {}, "limited", notice("hours.outside"), "hours.starts_at"),
    ("programs", {"exclusive_programs": ("Blender.exe",)}, {"programs": frozenset({"blender"})}, "yielding",
     notice("programs.reason", program="Blender.exe"), "programs.until"),
    ("game", {}, {"front": Front("game", "doom")}, "yielding",
     notice("game.reason", what=notice("game.game_of", program="doom")), "game.until"),
    ("game", {}, {"front": Front("fullscreen")}, "yielding",
     notice("game.reason", what=notice("game.fullscreen")), "game.until"),
    ("memory", {}, {"memory_free": 300 << 20}, "limited", notice("memory.reason", free=300 << 20), "free.until"),
    ("disk", {}, {"disk_free": 300 << 20}, "limited", notice("disk.reason", free=300 << 20), "free.until"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "chosen", "measured", "state", "reason", "until"), STOPPED)
def test_each_rule_stops_compute_and_says_what_ends_it(
    rule: str, chosen: dict[str, Any], measured: dict[str, Any], state: str, reason: Notice, until: str
) -> None:
    decision = choose(signals(**measured), Settings(**chosen), compute=Compute())
    assert (decision.train, decision.state, decision.network) == (False, state, True)
    assert decision.reason == (reason,) and codes(decision.until) == [until]
    assert [verdict.rule for verdict in decision.rules if "cpu" in verdict.stops] == [rule]
    if state == "yielding":
        yielding = choose(signals(**measured), Settings(**chosen), compute=TRAINING)
        assert yielding.state == "yielding" and yielding.reason == (reason, notice("compute.stopping"))


ALLOWED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"on_battery": True}, {"power": Power(False, 0.61)}),
    ({"on_battery": True, "battery_percent": 0}, {"power": Power(False)}),
    ({"game_is": "game"}, {"front": Front("presentation")}),
    ({"game_stops": "nothing"}, {"front": Front("game", "doom")}),
    ({}, {"front": Front("fullscreen", "xscreensaver"), "locked": True}),
    ({"memory_free_mb": 0}, {"memory_free": 0}),
    ({"busy_cpu_percent": 0}, {"cpu_others": 1.0}),
    ({"exclusive_programs": ("blender",)}, {"programs": None}),
    ({}, dict.fromkeys(["power", "front", "cpu_others", "memory_free", "disk_free", "celsius", "programs", "metered"])),
]


@pytest.mark.parametrize(("chosen", "measured"), ALLOWED)
def test_what_the_settings_allow_goes_on(chosen: dict[str, Any], measured: dict[str, Any]) -> None:
    decision = choose(signals(**measured), Settings(**chosen))
    assert (decision.train, decision.state) == (True, "contributing")


def test_a_rule_without_a_reading_says_so() -> None:
    rules = {rule.rule: rule for rule in choose(signals(power=None, gpus=None)).rules}
    assert rules["battery"].unknown and rules["battery"].live == plain("No power here.")
    assert rules["gpu"].unknown and not rules["memory"].unknown


def test_busy_programs_count_after_3_s_and_until_20_s_after_their_end() -> None:
    held, settings, seen = Held(), Settings(), []
    for second in range(40):
        share = 0.6 if second < 10 else 0.05
        held = hold(signals(cpu_others=share), settings, held, NOW + second)
        seen.append(choose(signals(cpu_others=share), settings, held=held, now=NOW + second, compute=Compute()))
    assert [decision.train for decision in seen] == [True] * 3 + [False] * 27 + [True] * 10
    assert seen[5].reason == (notice("cpu_busy.reason", share=0.6),)
    assert seen[15].until == (notice("rule.again", at=NOW + 30),) and seen[15].until_time == NOW + 30


def test_use_up_what_a_month_allows_and_the_next_one_is_waited_for() -> None:
    spent = choose(settings=Settings(energy_budget_kwh=5), kwh_month=5.0)
    assert (spent.state, spent.train) == ("limited", False)
    assert spent.until_time is not None and spent.until_time > NOW
    traffic = choose(settings=Settings(quota_mb=1000), network_bytes_month=10**9, networked=True)
    assert (traffic.train, traffic.network) == (True, False)
    assert traffic.reason[1:] == (notice("run.without_peers"), notice("quota.reason", most=10**9))


def test_a_pc_that_no_run_lets_in_says_so_and_when_it_begins() -> None:
    barred = notice("access.no_token", run="Mine")
    told = choose(compute=Compute("absent", barred=barred))
    assert (told.state, told.reason, codes(told.until)) == ("limited", (barred,), ["access.begins"])
    for code, begins in (("run.not_yet", "run.begins_then"), ("run.over", "run.join_another")):
        told = choose(compute=Compute("absent", barred=notice(code, at="2030-01-31")))
        assert (told.state, codes(told.until)) == ("limited", [begins])


def test_a_model_that_is_good_enough_is_trained_no_more() -> None:
    over = choose(compute=Compute("training", reached=True, stuck=True))
    assert (over.state, over.reason) == ("limited", (notice("run.reached"),))
    assert over.until == (notice("run.join_another"),)


def test_a_backbone_peer_tells_that_its_run_is_over() -> None:
    over = choose(compute=Compute(reached=True), computes=False)
    assert (over.state, codes(over.reason)) == ("contributing", ["role.keeps", "run.reached"])


def test_a_run_without_experts_trains_a_whole_model() -> None:
    assert choose(compute=Compute("training", whole=True)).reason[-1] == notice("run.training_whole")
    assert choose(compute=Compute("training", whole=True, trains=False)).reason[-1] == notice("run.waits")


def test_the_network_is_judged_apart() -> None:
    on_phone = choose(signals(metered=True), networked=True)
    assert (on_phone.train, on_phone.network, on_phone.state) == (True, False, "contributing")
    alone = choose(signals(metered=True))
    assert not alone.network and codes(alone.reason) == ["user.away_for", "run.training"]
    lost = choose(signals(metered=True), compute=Compute("training", reachable=False), networked=True)
    assert lost.state == "limited" and codes(lost.reason) == ["metered.reason", "run.none_here"]
    assert not choose(settings=Settings(network_hours="0:00-0:01")).network
    assert choose(signals(metered=True), Settings(on_metered=True)).network
    assert choose(wishes=Wishes(paused=True)).network  # others may still fetch what is kept here


def test_the_gpu_waits_while_the_user_reads_mail() -> None:
    here, anyone = signals(2.0, gpus=GPUS), Settings()
    decision = choose(here, anyone, uses_gpus=True)
    assert (decision.cpu, decision.gpu) == (True, False)
    assert choose(here, Settings(gpu_in_use=True), uses_gpus=True).gpu
    assert choose(signals(gpus=GPUS), anyone, uses_gpus=True).gpu
    assert not choose(signals(gpus=GPUS), anyone).gpu  # compute cannot use one
    assert not choose(signals(), anyone, uses_gpus=True).gpu  # there is none
    off = Settings(gpus_off=("GPU-1", "GPU-2"))
    assert not choose(signals(gpus=GPUS), off, uses_gpus=True).gpu
    playing = signals(gpus=GPUS, front=Front("game"))
    decision = choose(playing, Settings(game_stops="gpu"), uses_gpus=True)
    assert (decision.cpu, decision.gpu, decision.state) == (True, False, "contributing")
    decision = choose(
        signals(gpus=GPUS, programs=frozenset({"obs"})), Settings(exclusive_gpu_programs=("OBS",)), uses_gpus=True
    )
    assert (decision.cpu, decision.gpu) == (True, False)


def cards(first: float | None, second: float | None = None) -> Signals:
    """Two cards, the second one larger, of which others use so much."""
    return signals(gpus=(Gpu("GPU-1", "A", 8 << 30, others=first), Gpu("GPU-2", "B", 12 << 30, others=second)))


def test_the_gpu_gives_way_to_other_programs_that_use_it() -> None:
    held = Held()
    for second in (0, 2, 4):
        held = hold(cards(0.6, 0.9), Settings(), held, NOW + second)
        decision = choose(cards(0.6, 0.9), Settings(), held=held, now=NOW + second, uses_gpus=True)
        assert decision.cpu and decision.gpu == (second < 3)
    assert decision.device == "cpu"
    (rule,) = (rule for rule in decision.rules if rule.rule == "gpu_busy")
    assert rule.live == notice("gpu_busy.live", shares=[0.6, 0.9]) and rule.stops == ("gpu",)
    assert rule.wants == notice("cpu_busy.wants", limit=0.25)
    for load, chosen in ((cards(0.2, 0.9), Settings()), (cards(None, 0.9), Settings())):
        assert not hold(load, chosen, Held(), NOW + 9).on("gpu_busy")
    assert choose(cards(0.6, 0.9), Settings(busy_cpu_percent=0), held=held, uses_gpus=True).gpu


def test_the_gpu_that_computes_goes_on_while_others_leave_it_free() -> None:
    def chosen(first: float | None, second: float | None, device: str, **facts: Any) -> str:
        compute = Compute("training", device=device, **facts)
        return choose(cards(first, second), Settings(), compute=compute, uses_gpus=True).device

    assert chosen(0.0, 0.0, "cpu") == "GPU-2"  # the largest
    assert chosen(0.0, 0.0, "GPU-1") == "GPU-1"
    assert chosen(0.0, 0.9, "cpu") == chosen(0.0, 0.9, "GPU-2") == "GPU-1"
    assert chosen(None, None, "GPU-1") == "GPU-1"
    assert chosen(0.0, 0.0, "GPU-2", failed={"GPU-2": NOW + 60}) == "GPU-1"


def test_the_processor_computes_what_it_computes_faster() -> None:
    """The experts of a small run are too small for a GPU."""
    slow, fast = {"cpu": 2000.0, "GPU-2": 1000.0}, {"cpu": 2000.0, "GPU-2": 9000.0}
    for speeds, device in ((slow, "cpu"), (fast, "GPU-2"), ({"cpu": 2000.0}, "GPU-2"), ({"GPU-2": 1.0}, "GPU-2")):
        decision = choose(cards(0.0, 0.0), Settings(), compute=Compute("training", speeds=speeds), uses_gpus=True)
        assert (decision.cpu, decision.gpu, decision.device) == (True, True, device)
    hot = choose(
        cards(0.0, 0.0), Settings(), compute=Compute("training", speeds=slow), uses_gpus=True, heat_stop_cpu=True
    )
    assert (hot.cpu, hot.device) == (False, "GPU-2")


def test_a_gpu_that_failed_is_left_alone_and_tried_again() -> None:
    failed = Compute("training", failed={"GPU-1": NOW + 120, "GPU-2": NOW + 60})
    decision = choose(cards(0.0, 0.0), Settings(), compute=failed, uses_gpus=True)
    assert (decision.cpu, decision.gpu, decision.device) == (True, False, "cpu")
    (rule,) = (rule for rule in decision.rules if rule.rule == "gpu")
    assert english(rule.live) == "A (failed), B (failed)" and codes(rule.reason) == ["gpu.failed"]
    assert rule.until_time == NOW + 60 and rule.until == (notice("gpu.until_retry", at=NOW + 60),)


def test_heat_stops_the_device_that_is_hot() -> None:
    both = signals(gpus=GPUS)
    decision = choose(both, heat_stop_cpu=True, uses_gpus=True)
    assert (decision.cpu, decision.gpu, decision.train) == (False, True, True)
    decision = choose(both, heat_stop_cpu=True)
    assert (decision.train, decision.state) == (False, "limited") and decision.reason[0].args["now"] == notice(
        "heat.live_both", celsius=51.0, watts=30.0
    )
    decision = choose(both, heat_stop_gpu=True, uses_gpus=True)
    assert (decision.cpu, decision.gpu) == (True, False)
    assert choose(both, Settings(cpu_celsius=0), heat_stop_cpu=True).train


def test_a_mac_that_says_it_is_too_hot_rests_until_it_was_cool_for_a_minute() -> None:
    hot, cool = signals(celsius=None, watts=None, hot=True), signals(celsius=None, watts=None, hot=False)
    decision = choose(hot, compute=Compute())
    assert decision.state == "limited" and codes(decision.reason) == ["heat_cpu.pc_hot"]
    held = hold(hot, Settings(), Held(), NOW)
    for second in (1, 30, 61):
        held = hold(cool, Settings(), held, NOW + second)
        assert choose(cool, held=held, now=NOW + second).train == (second == 61)
    row = next(rule for rule in choose(cool).rules if rule.rule == "heat_cpu")
    assert row.live == notice("heat_cpu.system_fine") and not row.unknown
    assert row.wants == notice("heat_cpu.wants_system")
    assert choose(hot, Settings(cpu_celsius=0)).train


def test_graphics_processors_that_hearth_does_not_use_are_listed_and_judged_no_further() -> None:
    def told(gpus: tuple[Gpu, ...] | None, chosen: Settings = IDLE_ONLY, **more: Any) -> dict[str, tuple[str, str]]:
        rules = choose(signals(2.0, gpus=gpus), chosen, **more).rules
        return {rule.rule: (english(rule.live), english(rule.wants)) for rule in rules if "gpu" in rule.rule}

    listed, unused = "RTX 4070, GTX 1080", "Hearth computes on the CPU only"
    assert told(GPUS) == {"gpu": (listed, unused)} and told(()) == {"gpu": ("None found", unused)}
    assert told((), uses_gpus=True) == {"gpu": ("None found", "There is none to use")}
    broken = {"gpu": ("No gpus here.", "Uses those that you have not switched off")}
    assert told(None, uses_gpus=True) == broken
    assert told(GPUS, uses_gpus=True).keys() == {
        "gpu_choice", "gpu_user", "gpu_programs", "gpu_busy", "heat_gpu", "gpu"
    }  # fmt: skip
    off = Settings(gpus_off=("GPU-1", "GPU-2"))
    assert told(GPUS, off, uses_gpus=True).keys() == {"gpu"}


def test_who_pauses_the_gpu_only_goes_on_with_the_processor() -> None:
    paused, chosen = Wishes(gpu_paused=True), Settings(gpu_in_use=True)
    decision = choose(signals(400.0, gpus=GPUS), chosen, paused, uses_gpus=True)
    assert (decision.state, decision.cpu, decision.gpu, decision.device) == ("contributing", True, False, "cpu")
    assert notice("gpu_choice.reason") in decision.reason
    row = next(rule for rule in decision.rules if rule.rule == "gpu_choice")
    assert row.live == notice("choice.paused") and row.stops == ("gpu",) and codes(row.until) == ["gpu_choice.until"]
    assert choose(signals(400.0, gpus=GPUS), chosen, uses_gpus=True).gpu
    assert codes(choose(signals(400.0), chosen, paused).reason) == ["run.training"], "none is used here"


def test_start_now_lifts_neither_what_protects_the_pc_nor_what_was_chosen_by_name() -> None:
    wishes, settings = Wishes(start_now_until=NOW + 600), Settings(compute_hours="0:00-0:01", idle_only=True)
    assert choose(signals(2.0), settings, wishes).train
    busy = hold(signals(cpu_others=0.9), settings, Held(), NOW - 5)
    assert choose(signals(cpu_others=0.9), settings, wishes, held=busy).train
    for measured in ({"power": Power(False)}, {"front": Front("game")}, {"memory_free": 1}, {"disk_free": 1}):
        assert not choose(signals(2.0, **measured), settings, wishes).train
    assert not choose(signals(2.0), settings, wishes, heat_stop_cpu=True).train
    rules = {rule.rule: rule for rule in choose(signals(2.0), settings, wishes).rules}
    assert not rules["user"].stops and rules["user"].wants == notice("rule.lifted", end=NOW + 600)


def test_a_rule_that_the_user_has_lifted_stops_nothing_for_its_time() -> None:
    wishes, unplugged = Wishes(lifted={"battery": NOW + 600}), signals(power=Power(False))
    stopped = {rule.rule: rule for rule in choose(unplugged).rules}["battery"]
    assert (stopped.stops, stopped.offers, stopped.lifted_until) == (("cpu", "gpu"), "lift", None)
    running = choose(unplugged, wishes=wishes)
    assert running.train and running.until_time == NOW + 600
    assert running.reason[0] == notice("run.lifted", rule=notice("battery.title"))
    assert running.until == (notice("run.until_lift", end=NOW + 600),)
    row = {rule.rule: rule for rule in running.rules}["battery"]
    assert (row.stops, row.offers, row.lifted_until, row.until) == ((), "end", NOW + 600, ())
    assert not choose(unplugged, wishes=wishes, now=NOW + 600).train
    assert not choose(signals(power=Power(False), front=Front("game")), wishes=wishes).train, "of one rule only"


def test_a_lifted_rule_that_would_stop_nothing_ends_nothing() -> None:
    decision = choose(wishes=Wishes(lifted={"battery": NOW + 600}))
    assert codes(decision.until) == ["run.until_input"]
    assert {rule.rule: rule.offers for rule in decision.rules}["battery"] == "end"


def test_of_what_is_lifted_and_started_the_first_end_is_told() -> None:
    unplugged = signals(2.0, power=Power(False))
    for lift, start, told in ((600, 900, "run.until_lift"), (900, 600, "choice.keeps_running")):
        wishes = Wishes(start_now_until=NOW + start, lifted={"battery": NOW + lift})
        decision = choose(unplugged, wishes=wishes)
        assert (decision.until_time, codes(decision.until)) == (NOW + 600, [told])


def test_what_protects_the_pc_cannot_be_lifted() -> None:
    for measured in ({"memory_free": 1}, {"disk_free": 1}):
        (stops,) = [rule for rule in choose(signals(**measured)).rules if rule.stops]
        assert stops.offers is None
    (hot,) = [rule for rule in choose(heat_stop_cpu=True).rules if rule.stops]
    assert hot.offers is None


def test_a_lift_that_no_user_can_have_asked_for_does_not_count() -> None:
    for end in (NOW - 1, NOW + 90_000, 1e300):
        assert not choose(signals(power=Power(False)), wishes=Wishes(lifted={"battery": end})).train


def test_start_now_counts_on_under_a_pause_and_shows_how_to_end_it() -> None:
    wishes = Wishes(paused=True, paused_until=NOW + 60, start_now_until=NOW + 600)
    assert choose(signals(2.0), wishes=wishes).state == "paused"
    running = choose(signals(2.0), wishes=wishes, now=NOW + 60)
    assert running.train and codes(running.reason)[0] == "choice.you_started"
    assert (running.rules[0].offers, running.rules[0].lifted_until) == ("end", NOW + 600)


def test_start_now_is_offered_where_it_would_start_anything() -> None:
    settings = Settings(compute_hours="0:00-0:01", idle_only=True)
    busy = hold(signals(cpu_others=0.9), settings, Held(), NOW - 5)
    for measured, held in ((signals(2.0), Held()), (signals(400.0, cpu_others=0.9), busy)):
        assert choose(measured, settings, held=held).start_now
        assert not choose(measured, settings, Wishes(start_now_until=NOW + 600), held=held).start_now, "it runs"
    assert not choose(signals(400.0), Settings()).start_now, "it runs"
    for measured in (signals(2.0, power=Power(False)), signals(2.0, front=Front("game"))):
        assert not choose(measured, settings).start_now, "it would not start"
    assert not choose(signals(2.0), settings, Wishes(paused=True)).start_now


def test_the_first_reason_in_boincs_order_is_told() -> None:
    settings = Settings(idle_only=True, compute_hours="0:00-0:01", exclusive_programs=("blender",))
    all_at_once = {"power": Power(False), "front": Front("game"), "programs": frozenset({"blender"}), "memory_free": 1}
    decision = choose(signals(2.0, **all_at_once), settings, Wishes(paused=True))
    order = [rule.rule for rule in decision.rules if "cpu" in rule.stops]
    assert order == ["choice", "battery", "user", "hours", "programs", "game", "memory"]
    assert decision.state == "paused"


def test_no_start_is_promised_that_another_rule_will_still_stop() -> None:
    def told(measured: Signals, **more: Any) -> tuple[str, str]:
        decision = choose(measured, compute=Compute(), **more)
        return english(decision.reason, NOW), english(decision.until, NOW)

    on_battery, none = signals(4.0, power=Power(False, 0.64)), "Runs again when none of this applies."
    assert told(signals(4.0)) == ("You used this PC 4 s ago.", "Starts in 4:56 if you stay away.")
    assert told(on_battery) == ("This PC is on battery, 64% left. You used this PC 4 s ago.", none)
    playing = told(signals(4.0, front=Front("game", "doom")))
    assert playing == ("You used this PC 4 s ago. A game (doom) is in front.", none)
    paused = Wishes(paused=True)
    assert told(on_battery, wishes=paused) == (
        "You paused Hearth.",
        "After the pause, it still has to wait. This PC is on battery, 64% left. You used this PC 4 s ago.",
    )
    assert told(signals(), wishes=paused)[1] == "Runs again when you press Resume."
    unknown = told(signals(None), settings=dataclasses.replace(IDLE_ONLY, compute_hours="0:00-0:01"))
    assert unknown[1].startswith(english(notice("user.remedy"))) and unknown[1].endswith(none)


def test_of_rules_that_end_by_themselves_the_last_end_is_told() -> None:
    late = schedule.parse("0:00-0:01").next_change(NOW)
    asleep = choose(signals(4.0), dataclasses.replace(IDLE_ONLY, compute_hours="0:00-0:01"), compute=Compute())
    assert codes(asleep.reason) == ["user.used", "hours.outside"]
    assert (codes(asleep.until), asleep.until_time) == (["hours.starts_at"], late)
    soon = time.strftime("%H:%M", time.localtime(NOW + 120))
    early = choose(signals(4.0), dataclasses.replace(IDLE_ONLY, compute_hours=f"{soon}-24:00"), compute=Compute())
    assert (codes(early.reason), codes(early.until)) == (["user.used"], ["user.until"])


def test_a_gpu_that_may_compute_then_is_a_start() -> None:
    """Only one of CPU and GPU has to be free."""
    here = signals(4.0, gpus=GPUS)
    decision = choose(here, compute=Compute(), uses_gpus=True, heat_stop_cpu=True)
    assert codes(decision.until) == ["user.until"]


def test_what_may_be_used_depends_on_who_is_here() -> None:
    settings = Settings(threads=3)
    here = choose(signals(2.0), settings, cores=8, memory_bytes=1000)
    away = choose(signals(400.0), settings, cores=2, memory_bytes=1000)
    assert (here.cpu_share, here.memory_bytes, here.threads) == (0.5, 250, 3)
    assert (away.cpu_share, away.memory_bytes, away.threads) == (1.0, 500, 2)
    assert choose(settings=Settings(), cores=8).threads == 4
    unknown = choose(signals(None), Settings(idle_unknown="run"), memory_bytes=1000)
    assert unknown.memory_bytes == 500
    told = choose(
        signals(2.0), memory_bytes=8 << 30, own_memory_bytes=460 << 20, memory_bound=plain("the kernel sees to it")
    )
    row = next(rule for rule in told.rules if rule.rule == "own_memory")
    assert english(row.live) == "460 MB used; the kernel sees to it"
    assert row.wants == notice("own_memory.wants_here", most=2 << 30)
    assert not row.stops


def test_files_that_need_more_disk_space_than_is_allowed_stop_compute_and_say_so() -> None:
    settings = Settings(checkpoints_disk_mb=2048)
    fine = choose(settings=settings, disk_bytes=300 << 20)
    row = next(rule for rule in fine.rules if rule.rule == "own_disk")
    assert row.live == notice("own_disk.live", used=300 << 20) and not row.stops
    full = choose(settings=settings, disk_bytes=2100 << 20, disk_full=True)
    assert not full.cpu and full.reason == (notice("own_disk.reason", most=2 << 30),)
    assert codes(full.until) == ["own_disk.until"]


def test_a_server_without_a_desktop_gives_what_is_allowed_while_nobody_is_here() -> None:
    for idle in (None, 2.0):  # a terminal over the network may tell its own idle time
        server = choose(signals(idle, desktop=False, gpus=GPUS), Settings(), memory_bytes=1000, uses_gpus=True)
        assert (server.cpu_share, server.memory_bytes, server.gpu) == (1.0, 500, True)
        row = next(rule for rule in server.rules if rule.rule == "user")
        assert row.live == notice("user.nobody") and not row.unknown
    for desktop in (True, None):
        assert choose(signals(None, desktop=desktop), Settings()).cpu_share == 0.5
    waits = choose(signals(None, desktop=False), compute=Compute())  # idle only: the user's choice counts
    assert (waits.train, waits.state) == (False, "attention")


def test_the_end_of_the_schedule_is_told_while_it_computes() -> None:
    decision = choose(settings=dataclasses.replace(IDLE_ONLY, compute_hours="0:01-24:00"))
    assert decision.train and codes(decision.until) == ["run.until_input_at"] and decision.until_time is not None


def test_conditions_that_come_and_go_are_held() -> None:
    plugged, unplugged = signals(), signals(power=Power(False, 0.5))
    held = hold(unplugged, Settings(), Held(), NOW)
    wobbly = choose(plugged, Settings(), held=held, now=NOW + 1, compute=Compute())
    assert (wobbly.train, wobbly.reason) == (False, (notice("battery.gone"),))
    held = hold(plugged, Settings(), held, NOW + 1)
    assert choose(plugged, Settings(), held=held, now=NOW + 11).train
    held = hold(signals(memory_free=500 << 20), Settings(), Held(), NOW)
    for second in (100, 200):  # more than the limit, but not by much
        held = hold(signals(memory_free=600 << 20), Settings(), held, NOW + second)
    between = signals(memory_free=600 << 20)
    assert held.on("memory") and not held.under(Settings(memory_free_mb=256), between).on("memory")


def test_a_change_of_another_setting_starts_nothing_while_others_are_busy() -> None:
    busy, held = signals(cpu_others=0.9), Held()
    for second in range(5):
        held = hold(busy, Settings(), held, NOW + second)
    dark = Settings(theme="dark")
    assert not choose(busy, dark, held=held.under(dark, busy), now=NOW + 5).train
    never = Settings(busy_cpu_percent=0)
    assert choose(busy, never, held=held.under(never, busy), now=NOW + 5).train


@pytest.mark.parametrize("phase", get_args(Phase))
def test_quitting_goes_before_all(phase: Phase) -> None:
    decision = choose(signals(None), wishes=Wishes(paused=True, quitting=True), compute=Compute(phase))
    assert (decision.state, decision.train) == ("leaving", False)


def test_times_and_sizes_are_written_for_people() -> None:
    assert [countdown(130), countdown(3730), countdown(-3)] == ["2:10", "1:02:10", "0:00"]
    assert [duration(40), duration(24 * 60), duration(192 * 60)] == ["40 s", "24 min", "3 h 12 min"]
    assert [size(300 << 20), size(11.4 * 2**30)] == ["300 MB", "11.4 GB"]
