"""The decision table: state, reason, what ends it."""

import dataclasses
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.control.messages import State
from core.policy.decide import decide
from core.policy.facts import Compute, Phase, Wishes
from core.policy.signals.reading import Idle
from core.policy.words import countdown, duration
from core.settings import Settings

NOW = 1_800_000_000.0
AWAY, HERE, UNKNOWN = Idle(1000.0, "XScreenSaver"), Idle(2.0, "XScreenSaver"), Idle(None, "No desktop tells it.")
IDLE_ONLY = Settings(idle_only=True, idle_threshold_s=300)
TRAINING = Compute("training", experts=32)


def test_it_trains_whatever_the_user_does_unless_told_otherwise() -> None:
    decision = decide(HERE, Settings(), Wishes(), TRAINING, NOW)
    assert (decision.train, decision.state) == (True, "contributing")
    assert "32 experts" in decision.reason


def test_idle_only_waits_for_the_threshold_and_says_for_how_long() -> None:
    decision = decide(Idle(170.0, "XScreenSaver"), IDLE_ONLY, Wishes(), Compute(), NOW)
    assert (decision.train, decision.state, decision.until_time) == (False, "waiting", NOW + 130)
    assert decision.until == "Starts in 2:10 if you stay away."
    assert decide(Idle(300.0, "XScreenSaver"), IDLE_ONLY, Wishes(), TRAINING, NOW).train


@pytest.mark.parametrize("phase", ["training", "stopping", "stopped"])
def test_the_users_return_is_yielding_until_the_memory_is_free(phase: Phase) -> None:
    decision = decide(HERE, IDLE_ONLY, Wishes(), Compute(phase), NOW)
    assert (decision.train, decision.state) == (False, "yielding")
    assert decide(HERE, IDLE_ONLY, Wishes(), Compute("absent"), NOW).state == "waiting"


def test_unknown_idle_time_follows_the_users_choice_and_is_shown() -> None:
    waits = decide(UNKNOWN, IDLE_ONLY, Wishes(), Compute(), NOW)
    assert (waits.train, waits.state, waits.reason) == (False, "attention", UNKNOWN.source)
    runs = decide(UNKNOWN, dataclasses.replace(IDLE_ONLY, idle_unknown="run"), Wishes(), TRAINING, NOW)
    assert runs.train and UNKNOWN.source in runs.reason


def test_a_timed_pause_ends_by_itself() -> None:
    wishes = Wishes(paused=True, paused_until=NOW + 60)
    assert decide(AWAY, Settings(), wishes, TRAINING, NOW).state == "paused"
    assert decide(AWAY, Settings(), wishes, TRAINING, NOW + 61).train


@pytest.mark.parametrize("end", [NOW + 400 * 86_400, 1e18, 1e308])
def test_a_time_that_no_wish_can_have_does_not_count(end: float) -> None:
    paused = decide(AWAY, Settings(), Wishes(paused=True, paused_until=end), TRAINING, NOW)
    assert (paused.state, paused.until_time) == ("paused", None)
    assert not decide(HERE, IDLE_ONLY, Wishes(start_now_until=end), TRAINING, NOW).train


def test_start_now_lifts_the_idle_rule_for_its_time() -> None:
    wishes = Wishes(start_now_until=NOW + 60)
    assert decide(HERE, IDLE_ONLY, wishes, TRAINING, NOW).train
    assert not decide(HERE, IDLE_ONLY, wishes, TRAINING, NOW + 61).train


def test_a_crash_says_why_and_when_it_is_tried_again() -> None:
    crashed = Compute("absent", failure="Compute was killed.", retry_time=NOW + 4)
    decision = decide(AWAY, Settings(), Wishes(), crashed, NOW)
    assert (decision.state, decision.reason, decision.until) == (
        "attention",
        "Compute was killed.",
        "Tries again in 0:04.",
    )
    assert decision.train  # it is to be started again


times = st.none() | st.floats(NOW - 1000, NOW + 1000)
idles = st.one_of(st.just(UNKNOWN), st.floats(0, 1e6).map(lambda seconds: Idle(seconds, "XScreenSaver")))
computes = st.builds(
    Compute,
    phase=st.sampled_from(get_args(Phase)),
    experts=st.integers(0, 9),
    failure=st.none() | st.just("It fell over."),
    retry_time=times,
    memory_free_time=times,
    answering=st.booleans(),
)


@given(
    idle=idles,
    settings=st.builds(Settings, idle_only=st.booleans(), idle_unknown=st.sampled_from(["wait", "run"])),
    wishes=st.builds(Wishes, st.booleans(), times, times, st.booleans()),
    compute=computes,
)
def test_every_case_has_a_state_a_reason_and_an_end_and_obeys_the_user(
    idle: Idle, settings: Settings, wishes: Wishes, compute: Compute
) -> None:
    decision = decide(idle, settings, wishes, compute, NOW)
    assert decision.state in get_args(State)
    assert decision.reason.endswith(".") and decision.until.endswith(".")
    wished = wishes.at(NOW)
    if wished.quitting or wished.paused:
        assert not decision.train
    elif settings.idle_only and wished.start_now_until is None:
        allowed = settings.idle_unknown == "run" if idle.seconds is None else idle.seconds >= settings.idle_threshold_s
        assert decision.train == allowed
    else:
        assert decision.train


def test_times_are_written_for_people() -> None:
    assert [countdown(130), countdown(3730), countdown(-3)] == ["2:10", "1:02:10", "0:00"]
    assert [duration(40), duration(24 * 60), duration(192 * 60)] == ["40 s", "24 min", "3 h 12 min"]


def test_a_host_without_experts_says_that_it_waits_for_some() -> None:
    compute = Compute("training", experts=0, trains=False)
    decision = decide(Idle(None, "test"), Settings(), Wishes(), compute, NOW)
    assert decision.state == "contributing" and "waits for its share" in decision.reason
