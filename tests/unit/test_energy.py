"""Kilowatt-hours by device: what is counted, and what is not."""

import math

import pytest

from core.policy import energy
from core.policy.energy import Draw
from core.policy.signals.reading import Gpu


def test_an_hour_of_a_hundred_watts_is_a_tenth_of_a_kilowatt_hour() -> None:
    draws = {"cpu": Draw(100.0, True), "GPU-a": Draw(50.0, False)}
    used = [energy.used(draws, 5.0) for _ in range(720)]
    cpu, gpu = (sum(step[device].kwh for step in used) for device in draws)
    assert cpu == pytest.approx(0.1) and gpu == pytest.approx(0.05)
    assert used[0]["cpu"].kwh_measured == used[0]["cpu"].kwh and used[0]["GPU-a"].kwh_measured == 0.0


def test_sleep_and_impossible_power_add_nothing() -> None:
    draws = {"cpu": Draw(100.0, True)}
    assert energy.used(draws, 8 * 3600.0) == {}  # slept, on a system whose clock goes on
    assert energy.used(draws, -50.0) == {}  # no clock that only grows does this
    for watts in (math.nan, math.inf, -50.0, 0.0):
        assert energy.used({"cpu": Draw(watts, True)}, 5.0) == {}


def test_the_processors_power_is_shared_by_use() -> None:
    assert energy.cpu_draw(0.5, 0.25, 60.0, 0, 8) == Draw(40.0, True)
    assert energy.cpu_draw(0.5, 0.25, None, 0, 8) == Draw(20.0, False)
    assert energy.cpu_draw(0.5, 0.25, None, 90, 8) == Draw(45.0, False)
    assert energy.cpu_draw(0.5, None, 60.0, 90, 8) == Draw(45.0, False)
    assert energy.cpu_draw(0.0, 0.0, 60.0, 0, 8) == Draw(0.0, True)


def test_a_graphics_processors_power_is_shared_by_use() -> None:
    gpus = (
        Gpu("a", "A", watts=200.0, own=0.6, others=0.2),
        Gpu("b", "B", watts=30.0, own=0.0, others=0.0),
        Gpu("c", "C", watts=150.0),
        Gpu("d", "D", own=0.5, others=0.0),
        Gpu("e", "E", watts=99.0, own=0.0, others=1.0),
    )
    assert energy.gpu_draws(gpus, {"a", "b", "c", "d"}) == {
        "a": Draw(pytest.approx(150.0), True),  # type: ignore[arg-type]
        "b": Draw(30.0, True),
        "c": Draw(150.0, False),
        "d": Draw(energy.GPU_WATTS / 2, False),
    }
