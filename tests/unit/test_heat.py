"""The heat controller on simulated coolers: quick and slow ones, with sensors that are late and tell whole degrees."""

import random
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from core.policy import heat
from core.policy.heat import FREE, LEAST, Heat, follow, follow_power

TARGET = 70.0


class Moment(NamedTuple):
    time: float
    celsius: float
    share: float
    stop: bool


@dataclass
class Pc:
    """A first-order thermal model: celsius' = (ambient + gain * share - celsius) / tau."""

    tau: float
    gain: float
    delay_s: float = 0.0
    step: float = 1.0
    """Of the sensor, degrees."""
    period_s: float = 2.0
    ambient: float = 30.0

    def run(self, seconds: float, warmer_at: float = 1e9, warmer: float = 0.0) -> list[Moment]:
        """Controlled from a cold start; from a moment on it is warmer around it."""
        celsius, share, found = self.ambient, 0.25, FREE
        noise = random.Random(1)
        moments: list[Moment] = []
        for tick in range(int(seconds * 10)):
            now = tick / 10
            around = self.ambient + (warmer if now >= warmer_at else 0.0)
            celsius += (around + self.gain * share - celsius) * 0.1 / self.tau
            if tick % int(self.period_s * 10) == 0:
                late = moments[max(0, tick - 1 - int(self.delay_s * 10))].celsius if moments else celsius
                told = round((late + noise.gauss(0, 0.3)) / self.step) * self.step
                found = follow(found, told, TARGET, share, now)
                share = found.share
            moments.append(Moment(now, celsius, share, found.stop))
        return moments


PCS = [(tau, gain, delay) for tau in (3, 10, 30, 60, 120, 180) for gain in (45, 70) for delay in (0, 4)]


@pytest.mark.parametrize(("tau", "gain", "delay_s"), PCS)
def test_the_target_is_held_within_three_degrees_without_flapping(tau: float, gain: float, delay_s: float) -> None:
    moments = Pc(tau, gain, delay_s).run(1500, warmer_at=900, warmer=5.0)
    assert max(m.celsius for m in moments if m.time < 900) < TARGET + 3
    for begin, end in ((700, 900), (1150, 1500)):
        settled = [m for m in moments if begin <= m.time < end]
        assert all(abs(m.celsius - TARGET) < 3 for m in settled)
        assert max(m.share for m in settled) - min(m.share for m in settled) < 0.1
    assert max(m.celsius for m in moments) < TARGET + 3 + 5  # the step itself cannot be foreseen
    assert not any(m.stop for m in moments)


def test_a_cool_pc_is_not_held_back() -> None:
    assert Pc(30, 25).run(300)[-1].share == 1.0


def test_after_a_hot_time_all_of_it_comes_back() -> None:
    found, share = FREE, 1.0
    for second in range(1000):
        found = follow(found, TARGET + 5, TARGET, found.share, float(second))
    assert found.share == LEAST
    for second in range(1000, 1400):
        found = follow(found, TARGET - 20, TARGET, found.share, float(second))
    assert found.share == pytest.approx(share)


def test_what_is_held_lower_by_something_else_does_not_wind_up() -> None:
    found = FREE
    for second in range(1000):
        found = follow(found, TARGET - 30, TARGET, 0.1, float(second))
    before = found.share
    assert before <= 0.1 + heat.RISE_PER_S * heat.LONGEST_S + 0.011


def test_without_a_sensor_or_a_target_nothing_is_held_back() -> None:
    hot = Heat(share=0.2, smooth=90.0, stop=True)
    assert follow(hot, None, TARGET, 0.2, 1.0) == FREE == follow(hot, 95.0, 0.0, 0.2, 1.0)
    assert follow(hot, float("nan"), TARGET, 0.2, 1.0) == FREE


def test_it_stops_where_resting_does_not_help_and_goes_on_when_cool() -> None:
    found, stopped = FREE, None
    for second in range(600):  # another program heats this PC
        found = follow(found, TARGET + 10, TARGET, found.share, float(second))
        stopped = stopped or (second if found.stop else None)
    assert stopped is not None and stopped >= heat.STUCK_S
    assert follow(found, TARGET - 3, TARGET, LEAST, 601.0).stop
    assert not follow(found, TARGET - 7, TARGET, LEAST, 601.0).stop
    assert follow(follow(FREE, 60, TARGET, 1.0, 0.0), TARGET + 16, TARGET, 1.0, 2.0).stop  # at once


def test_a_limit_of_power_is_held_as_well() -> None:
    found, share = FREE, 0.25
    for second in range(0, 900, 2):
        watts = 10 + 60 * share
        found = follow_power(found, round(watts), 40.0, share, float(second))
        share = found.share
    assert 10 + 60 * share == pytest.approx(40.0, abs=2.0) and not found.stop
    assert follow_power(found, None, 40.0, share, 901.0) == FREE
