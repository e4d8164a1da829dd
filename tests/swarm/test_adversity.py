"""The paper's promise with whole workers: the network goes on learning while peers die, freeze, lie and join late.

Default settings; two trainers that host as well, a host that is killed, one that freezes, one that answers with noise
from the start, and one that joins when the others are gone. Compared with the same swarm left in peace.
"""

import contextlib
import os
import signal
import statistics
import time
from pathlib import Path

import pytest

from core.control.messages import Snapshot
from tests.workers import RunningWorker, hearth, wait_until, worker

HERE = "127.0.0.1:0"
EVALUATIONS = 5
"""The last ones, whose mean is compared."""
TOLERANCE = 0.015
ADOPTED_S = 120.0
STEP_S = 2.0


class Swarm:
    """Five workers on loopback."""

    def __init__(self, folder: Path, run: str, stack: contextlib.ExitStack, noisy: bool) -> None:
        self._folder, self._run, self._stack = folder, run, stack
        self._known: list[str] = []
        self.trainers = [self.start("trainer 1", "host,train,backbone")]
        self._known = ["--bootstrap", hearth(self.trainers[0].folder, "address").stdout.strip()]
        self.killed, self.frozen = self.start("killed", "host"), self.start("frozen", "host")
        self.liar = self.start("liar", "host", "tests.swarm.noisy" if noisy else "core")
        self.trainers.append(self.start("trainer 2", "host,train"))

    def start(self, name: str, roles: str, program: str = "core") -> RunningWorker:
        arguments = ("--run", self._run, "--listen", HERE, "--role", roles, *self._known)
        return self._stack.enter_context(worker(self._folder / name, *arguments, program=program))

    def until_step(self, step: int, seconds: float) -> None:
        for trainer in self.trainers:
            trainer.until(lambda status: status.step >= step, f"step {step}", seconds)

    def accuracy(self) -> float:
        """Of both trainers' trunks, each with the swarm's experts, as they evaluated it last."""
        curves = [trainer.ask("subscribe", {}, Snapshot).curve for trainer in self.trainers]
        return statistics.mean(point.accuracy for curve in curves for point in curve[-EVALUATIONS:])


def hosted(workers: list[RunningWorker]) -> set[str]:
    return {expert.uid for running in workers for expert in running.status().experts}


def pids(running: RunningWorker) -> list[int]:
    """Of the worker and its compute."""
    compute = running.compute()
    return [running.process.pid, *([compute.pid] if compute else [])]


def send(number: signal.Signals, processes: list[int]) -> None:
    for pid in processes:
        os.kill(pid, number)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("run", "steps"), [("digits", 900)])
def test_a_swarm_learns_as_well_while_peers_die_freeze_lie_and_join(tmp_path: Path, run: str, steps: int) -> None:
    with contextlib.ExitStack() as stack:
        swarm = Swarm(tmp_path / "peace", run, stack, noisy=False)
        swarm.until_step(steps, 300)
        undisturbed = swarm.accuracy()

    with contextlib.ExitStack() as stack:
        swarm = Swarm(tmp_path / "war", run, stack, noisy=True)
        swarm.until_step(steps // 5, 120)
        everything = hosted([*swarm.trainers, swarm.killed, swarm.frozen, swarm.liar])
        send(signal.SIGKILL, pids(swarm.killed))
        killed = time.monotonic()
        swarm.until_step(2 * steps // 5, 120)
        frozen = pids(swarm.frozen)
        send(signal.SIGSTOP, frozen)
        try:
            late = swarm.start("late", "host")
            alive = [*swarm.trainers, swarm.liar, late]
            wait_until(lambda: hosted(alive) >= everything, "the adoption of the dead and frozen hosts' experts", 180)
            adopted_s = time.monotonic() - killed
            swarm.until_step(steps, 300)
            slowest = max(trainer.status().slowest_step_s or 0.0 for trainer in swarm.trainers)
            disturbed = swarm.accuracy()
        finally:
            send(signal.SIGCONT, frozen)
    print(
        f"{run}: {undisturbed:.4f} in peace, {disturbed:.4f} in war, adopted after {adopted_s:.0f} s, {slowest=:.2f} s"
    )
    assert disturbed >= undisturbed - TOLERANCE
    assert adopted_s < ADOPTED_S
    assert slowest < STEP_S
