"""The duty cycle with a clock of its own: the share is kept, rests are short, nobody spins."""

import asyncio
import time

import pytest

from core.runtime.duty_cycle import LONGEST_S, PERIOD_S, DutyCycle
from core.runtime.kernel_gate import KernelGate


class Clock:
    """Time, and the processor time of a process that does nothing but work and rest."""

    def __init__(self) -> None:
        self.now = self.used = 0.0

    def work(self, seconds: float, threads: int = 1) -> None:
        self.now += seconds
        self.used += seconds * threads


def duty_of(clock: Clock, share: float, threads: int = 1) -> DutyCycle:
    duty = DutyCycle(lambda: clock.now, lambda: clock.used)
    duty.threads = threads
    duty.set(share)
    return duty


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("kernel_s", [0.002, 0.05, 0.08])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_share_is_kept_by_short_rests(share: float, kernel_s: float, threads: int) -> None:
    clock = Clock()
    duty, rests = duty_of(clock, share, threads), 0
    while clock.now < 60.0:
        rest = duty.rest_s()
        assert rest <= PERIOD_S + kernel_s / share
        clock.now += rest
        rests += rest > 0
        clock.work(kernel_s, threads)
    assert clock.used / threads / clock.now == pytest.approx(share, abs=0.02)
    assert rests <= 60.0 / PERIOD_S * 1.2  # turns, not a pause after each kernel


def test_idle_time_is_rest_but_is_not_saved_up() -> None:
    clock = Clock()
    duty = duty_of(clock, 0.5)
    clock.now += 3600.0
    worked = 0.0
    while not duty.rest_s():
        clock.work(0.01)
        worked += 0.01
    assert worked <= PERIOD_S


def test_the_whole_never_rests_and_a_stall_is_no_debt() -> None:
    clock = Clock()
    duty = duty_of(clock, 1.0)
    clock.work(100.0)
    assert duty.rest_s() == 0.0
    duty.set(0.1)
    clock.work(100.0)
    assert 0 < duty.rest_s() <= LONGEST_S + PERIOD_S


async def test_a_switch_rests_wakes_all_who_wait_and_is_off_at_once() -> None:
    kernel_gate, clock = KernelGate(), Clock()
    kernel_gate.duty = duty_of(clock, 0.5)
    woken: list[str] = []
    kernel_gate.listen(lambda: woken.append("turned on"))
    kernel_gate.listen(lambda: woken.append("may start"), rests=True)
    kernel_gate.open()
    order: list[int] = []

    def kernel(number: int) -> None:
        order.append(number)
        clock.work(0.06)

    async def kernels(number: int) -> None:
        for _ in range(3):
            await kernel_gate.run(kernel, number)
            await asyncio.sleep(0)

    waiting = [asyncio.create_task(kernels(number)) for number in range(4)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert kernel_gate.resting
    done = len(order)
    assert 1 <= done < 12 and not kernel_gate.may_start() and kernel_gate.is_open
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(order) == done  # nothing starts meanwhile
    while len(order) < 12:
        clock.now += 0.1
        await asyncio.sleep(0.01)
    await asyncio.gather(*waiting)
    assert woken[:2] == ["turned on", "may start"] and "turned on" not in woken[2:]
    assert max(order.index(number) for number in range(4)) < 8  # all have had a turn before any has finished twice over
    kernel_gate.close()
    assert not kernel_gate.may_start()


async def test_an_answer_is_not_made_up_for_by_a_rest() -> None:
    gate = KernelGate()
    gate.duty.set(0.1)
    gate.open()
    with gate.aside():
        busy = time.process_time() + 0.5
        while time.process_time() < busy:
            pass
    while gate.is_aside:  # noqa: ASYNC110  (it ends soon)
        await asyncio.sleep(0.01)
    assert gate.may_start(), "at once, although a tenth of the time is to be used"
    with gate.aside():
        gate.load.worked(0.5, time.monotonic())  # a training kernel that other peers waited for
    while gate.is_aside:  # noqa: ASYNC110  (it ends soon)
        await asyncio.sleep(0.01)
    assert not gate.may_start() and gate.resting, "which counts"
