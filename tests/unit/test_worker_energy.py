"""The worker's meter and list of devices: what work costs, what rest does not, and what survives a restart."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.notices import notice, plain
from core.contracts.pipe import Placed, SetDevice
from core.contracts.settings import Settings
from core.contracts.status import DeviceStatus, EnergyStatus, ExpertStatus
from core.policy.decide import decide
from core.policy.hysteresis import Held
from core.policy.inputs import Compute, Machine, Usage, Wishes
from core.policy.signals.reading import Gpu, Reading, Signals
from core.worker.devices import Devices
from core.worker.energy import STEP_S, Energy
from tests.disks import supervisor

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
        meter.step({"digits": 1.0} if works else {}, SIGNALS, settings or Settings())


def test_work_is_metered_and_rest_is_not(tmp_path: Path) -> None:
    clock = Clock()
    meter = Energy(Ledger(tmp_path), lambda: [os.getpid()], clock)
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
    meter = Energy(Ledger(tmp_path), lambda: [os.getpid()], clock)
    run(meter, clock, 50, works=True)
    month = meter.status(settings).month
    assert month.cost == pytest.approx(month.kwh * 0.5) and month.co2_kg == pytest.approx(month.kwh * 0.4)


def test_what_was_used_is_kept_by_the_ledger(tmp_path: Path) -> None:
    clock, ledger = Clock(), Ledger(tmp_path)
    meter = Energy(ledger, lambda: [os.getpid()], clock)
    run(meter, clock, 60, works=True)
    ledger.close()
    kept = Ledger(tmp_path)
    again = Energy(kept, lambda: [], clock)
    kept.close()
    assert again.kwh_month == pytest.approx(meter.kwh_month) and again.kwh_month > 0
    status = again.status(Settings())
    assert isinstance(status, EnergyStatus) and status.month.measured == 1.0


async def test_every_device_says_why_it_is_used_or_not(tmp_path: Path) -> None:
    settings = Settings(gpus_off=("GPU-2",))
    compute = supervisor(manifest.load("digits"), tmp_path)
    compute.hosted.report([ExpertStatus(f"digits.0.0.{n}", 0, 0) for n in range(32)])
    compute.figures.device = "CPU"

    def status(paused: bool = False, **facts: Any) -> list[DeviceStatus]:
        machine = Machine(uses_gpus=compute.accelerator.present)
        wishes, known = Wishes(paused=paused), Compute("training", **facts)
        decision = decide(SIGNALS, settings, wishes, known, Usage(), Held(), 1.8e9, machine)
        return Devices(16 << 30).status(decision, SIGNALS, settings, 0.25, [compute])

    for paused in (False, True):
        cpu, first, second = status(paused)
        assert (cpu.id, cpu.kind, cpu.on, cpu.celsius, cpu.watts) == ("cpu", "cpu", not paused, 61.0, 90.0)
        assert (cpu.load, cpu.experts, cpu.memory_bytes) == (0.25, 32, 16 << 30)
        assert bool(cpu.why) == paused
        assert (first.name, first.on, first.celsius, first.memory_bytes) == ("Card A", False, 44.0, 8 << 30)
        assert first.why == (notice("device.torch_has_none"),) and second.why == (notice("device.off"),)
        assert second.celsius is None and second.watts is None
    compute.accelerator.present = True
    _, first, second = status()
    assert first.why == (notice("gpu_user.reason"),) and not first.on
    settings = Settings(gpus_off=("GPU-2",), gpu_in_use=True)
    _, first, second = status()
    assert first.on and not first.why and not second.on
    compute.accelerator.want("GPU-1", 0.8, 0.0)
    request = SetDevice("GPU-1", 0.8)
    assert compute.accelerator.unsent(True) == request
    compute.accelerator.placed(request, Placed("GPU-1", "Card A", 0.0))
    cpu, first, _ = status()
    assert (cpu.experts, first.experts) == (0, 32)
    compute.accelerator.ended(plain("Compute was killed (signal 6, SIGABRT)."))
    cpu, first, _ = status(failed={"GPU-1": 1.9e9})
    assert (cpu.experts, first.experts, first.on) == (32, 0, False)
    assert first.why == (plain("Compute was killed (signal 6, SIGABRT)."),)
