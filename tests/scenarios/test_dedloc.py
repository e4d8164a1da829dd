"""Real workers gather one batch and take the same steps; one is killed and comes back, another is frozen. Who is alone
trains by itself."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from core.contracts.network_status import NetworkStatus
from core.contracts.trunk_status import TrunkStatus
from tests.swarm.trunks import PATIENCE_S, Log, Trunks, lost, manifest
from tests.workers import HERE, RunningWorker, Workers, hearth, wait_until

WAITING = 10
"""Percent of the time for which one trains that waits for what others announced to expire."""


def family(running: RunningWorker) -> list[psutil.Process]:
    worker = psutil.Process(running.process.pid)
    return [worker, *worker.children(recursive=True)]


@contextmanager
def frozen(running: RunningWorker) -> Iterator[None]:
    processes = family(running)
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def trained_alone(running: RunningWorker) -> int:
    """The step of one that has taken some without others, as soon as it has."""
    wait_until(lambda: not running.ask("trunk", {}, TrunkStatus).parts, "a trunk that nobody else has", PATIENCE_S)
    running.give(100)
    begun = running.status().step
    return running.until(lambda status: status.step > begun + 20, "steps of one alone", PATIENCE_S).step


def called(running: RunningWorker) -> str:
    """The beginning of its name."""
    return running.ask("network", {}, NetworkStatus).peer[:8]


@pytest.mark.timeout(900)
def test_trunks_stay_equal_though_trainers_are_killed_frozen_and_come_back(tmp_path: Path) -> None:
    run = manifest(tmp_path)
    known: list[str] = []
    swarm = Trunks()
    trainers: dict[str, RunningWorker] = {}
    with Workers() as workers:

        def start(name: str, role: str = "host,train") -> RunningWorker:
            running = workers.start(tmp_path / name, "--run", run, "--listen", HERE, "--role", role, *known, share=100)
            if "train" in role:
                trainers[name] = running
                swarm.ask[name] = partial(running.ask, "trunk", {}, TrunkStatus)
            return running

        backbone = start("backbone", "backbone")
        known += ["--bootstrap", hearth(backbone.folder, "address").stdout.strip()]
        first = start("first")
        by_itself = trained_alone(first)
        start("second")
        third = start("third")
        met = swarm.joined("first", "second", "third", after=by_itself)
        swarm.all_take_part()
        assert "trainers agree by dedloc" in hearth(first.folder, "trunk").stdout
        wait_until(lambda: "Reduced for step" in backbone.log(), "help of a peer without compute", PATIENCE_S)
        assert backbone.compute() is None

        logs = {called(running): Log(running.folder) for running in (first, trainers["second"])}
        for process in family(third):  # with SIGKILL
            process.kill()
        third.process.wait()
        met = swarm.together("first", "second", after=met + 2)
        assert lost(logs) <= 1
        start("third")
        met = swarm.joined("first", "second", "third", after=met)
        met = swarm.together("first", "second", "third", after=met + 1)
        swarm.all_take_part()

        second = trainers["second"]
        name = called(second)
        logs = {called(running): Log(running.folder) for running in (first, trainers["third"])}
        with frozen(second):
            met = swarm.together("first", "third", after=met + 3)
            assert lost(logs) <= 1
            assert all(log.waited()[name] <= 1 for log in logs.values()), "it was waited for in more than one round"
            waking = Log(second.folder)
        met = swarm.joined("first", "second", "third", after=met)
        swarm.together("first", "second", "third", after=met + 1)
        swarm.all_take_part()
        assert waking.taken_over() <= 2, f"it fell behind again and again: {waking.new()}"

        for name in ("second", "third"):
            trainers[name].leave()
        first.give(WAITING)
        trained_alone(first)
