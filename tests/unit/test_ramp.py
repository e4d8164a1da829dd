"""Coming back in steps, and the record of yields."""

import math

import pytest

from core.contracts.ledger import Yield
from core.policy.ramp import RISE_S, SHORT_RISE_S, Ramp, follow
from core.worker.compute.yields import KEPT, Yields


def shares(ramp: Ramp, since: float, seconds: int) -> list[float]:
    return [ramp.share(since + second) for second in range(seconds)]


def test_after_a_yield_the_share_rises_in_steps() -> None:
    stopped = follow(Ramp(), computes=False, gradual=True, now=1000.0)
    assert follow(stopped, False, True, 1001.0) == stopped
    back = follow(stopped, True, True, 2000.0)
    rising = shares(back, 2000.0, 25)
    assert rising[0] == 0.25 and rising == sorted(rising) and set(rising) == {0.25, 0.5, 0.75, 1.0}
    assert rising.index(1.0) == math.ceil(RISE_S)
    assert follow(back, True, True, 2003.0) == back


def test_after_a_short_yield_it_comes_back_faster_and_at_a_word_at_once() -> None:
    stopped = follow(Ramp(), False, True, 1000.0)
    assert shares(follow(stopped, True, True, 1010.0), 1010.0, 25).index(1.0) == math.ceil(SHORT_RISE_S)
    assert follow(stopped, True, False, 1010.0).share(1010.0) == 1.0


def test_the_first_start_is_no_coming_back() -> None:
    assert follow(Ramp(), True, True, 5.0).share(5.0) == 1.0


def test_the_promise_is_measured_over_the_last_yields() -> None:
    noted: list[Yield] = []
    yields = Yields(note=lambda run, measured: noted.append(measured))
    assert (yields.status().count, yields.status().last_ms, yields.status().p95_ms) == (0, None, None)
    for number in range(KEPT + 20):
        yields.add("digits", 100.0, 100.01, 100.02, 100.0 + number / 1000)
    assert list(yields.recent) == noted[-KEPT:] and yields.status().count == len(noted) == KEPT + 20
    assert yields.status().last_ms == pytest.approx(219) and yields.status().p95_ms == pytest.approx(209)
    assert noted[-1].noticed_ms == pytest.approx(10) and noted[-1].told_ms == pytest.approx(20)
    again = Yields(noted[-KEPT:], len(noted))
    assert again.status() == yields.status()
