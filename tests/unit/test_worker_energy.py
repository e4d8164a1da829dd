"""The worker's meter and list of devices: what work costs, what rest does not, and what survives a restart."""

import os
import time
from pathlib import Path

import pytest

from core.control.messages import EnergyStatus
from core.policy.decide import decide
from core.policy.facts import Compute, Usage, Wishes
from core.policy.hold import Held
from core.policy.signals.reading import Gpu, Reading, Signals
from core.settings import Settings
from core.worker.devices import Devices
from core.worker.energy import SAVE_S, STEP_S, Energy

SIGNALS = Signals(
    cpu_others=Reading(0.0, "test"),
    watts=Reading(90.0, "RAPL"),
    celsius=Reading(61.0, "hwmon"),
    gpus=Reading((Gpu("GPU-1", "Card A", 8 << 30, celsius=44.0, watts=20.0), Gpu("GPU-2", "Card B")), "NVML"),
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(meter: Energy, clock: Clock, seconds: float, works: bool, settings: Settings | None = None) -> None:
    """Let time pass; this process really works for so long between two measurements that its system notices."""
    for _ in range(round(seconds / STEP_S)):
        clock.now += STEP_S
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        meter.step(works, SIGNALS, settings or Settings())


def test_work_is_metered_and_rest_is_not(tmp_path: Path) -> None:
    clock = Clock()
    meter = Energy(tmp_path, lambda: [os.getpid()], clock)
    run(meter, clock, 20, works=False)
    assert meter.kwh_month == 0.0
    run(meter, clock, 200, works=True)
    # the others use nothing: all that the processor takes while it works is Hearth's
    assert meter.kwh_month == pytest.approx(0.005, rel=0.08)
    today = meter.status(Settings()).today
    assert (today.measured, today.cost, today.co2_kg) == (1.0, None, None)
    before = meter.kwh_month
    run(meter, clock, 50, works=False)
    assert meter.kwh_month == pytest.approx(before, rel=0.08)  # at most the step that had begun


def test_money_and_carbon_dioxide_follow_what_the_user_told(tmp_path: Path) -> None:
    clock, settings = Clock(), Settings(price_kwh=0.5, co2_g_kwh=400)
    meter = Energy(tmp_path, lambda: [os.getpid()], clock)
    run(meter, clock, 50, works=True)
    month = meter.status(settings).month
    assert month.cost == pytest.approx(month.kwh * 0.5) and month.co2_kg == pytest.approx(month.kwh * 0.4)


def test_the_book_is_written_rarely_and_read_again(tmp_path: Path) -> None:
    clock = Clock()
    meter = Energy(tmp_path, lambda: [os.getpid()], clock)
    meter.save()
    assert not list(tmp_path.iterdir())  # nothing was used
    run(meter, clock, SAVE_S - STEP_S, works=True)
    assert not list(tmp_path.iterdir())
    run(meter, clock, 2 * STEP_S, works=True)
    assert [path.name for path in tmp_path.iterdir()] == ["energy.json"]
    run(meter, clock, 60, works=True)
    meter.save()
    again = Energy(tmp_path, lambda: [], clock)
    assert again.kwh_month == pytest.approx(meter.kwh_month) and again.kwh_month > 0
    assert isinstance(again.status(Settings()), EnergyStatus)


def test_every_device_says_why_it_is_used_or_not() -> None:
    settings = Settings(gpus_off=("GPU-2",))
    for paused in (False, True):
        decision = decide(SIGNALS, settings, Wishes(paused=paused), Compute("training"), Usage(), Held(), 1.8e9)
        cpu, first, second = Devices(16 << 30).status(decision, SIGNALS, settings, 0.25, 32)
        assert (cpu.id, cpu.kind, cpu.on, cpu.celsius, cpu.watts) == ("cpu", "cpu", not paused, 61.0, 90.0)
        assert (cpu.load, cpu.experts, cpu.memory_bytes) == (0.25, 32, 16 << 30)
        assert bool(cpu.why) == paused
        assert (first.name, first.on, first.celsius, first.memory_bytes) == ("Card A", False, 44.0, 8 << 30)
        assert "processor only" in first.why and "switched it off" in second.why
        assert second.celsius is None and second.watts is None
