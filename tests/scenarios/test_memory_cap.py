"""The memory that Hearth may use, with a real compute process, as the system accounts for it."""

import asyncio
import contextlib
import math
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from core.contracts import manifest
from core.contracts.notices import Notice, plain
from core.contracts.status import ExpertStatus
from core.experts.grid import Uid
from core.policy.limits.cgroups import group_of
from core.policy.limits.system_limits import Bounds
from core.store.checkpoint_files import newest_states
from core.store.checkpoints import KEPT
from core.swarm.placement import least_needed
from core.swarm.state_room import StateRoom
from core.worker import memory, no_network
from core.worker.compute.owner import Owner
from core.worker.memory import Memory
from core.worker.no_network import LoneSwarm
from tests.disks import run_files, supervisor

MB = 1 << 20
ROOMY, TIGHT = 8192 * MB, 640 * MB
DEADLINE_S = 240.0


class Capped(Owner):
    """A supervisor of compute and the cap around it, applied as the worker does."""

    def __init__(self, folder: Path, bounds: Bounds | None = None, hidden: int = 1024) -> None:
        run = manifest.load("digits")
        model = msgspec.structs.replace(run.model, width=128, hidden=hidden)  # 32 experts of 21 MB
        run = msgspec.structs.replace(run, model=model)
        self.failures: list[str] = []
        files = run_files(folder, folder)
        self.compute = supervisor(run, folder, files, self)
        self.hosted = self.compute.hosted
        self.swarm = LoneSwarm(self.compute, StateRoom(self.hosted, files))
        self.memory = Memory(self.compute, self.swarm, bounds)
        self.cap, self.later = ROOMY, 0.0

    async def admit(self, pid: int) -> None:
        await self.memory.bounds.admit(pid)

    def explain(self, code: int) -> Notice | None:
        return self.memory.explain(code)

    async def settle(self) -> None:
        await self.swarm.settle()

    @property
    def taken(self) -> int:
        """Resident bytes of compute."""
        return 0 if self.compute.pid is None else int(psutil.Process(self.compute.pid).memory_info().rss)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.taken // MB} MB, {self.compute.failure}"
            self.memory.apply(
                self.cap, 2 * self.cap, time.monotonic() + self.later
            )  # as beside another run of its weight
            if self.compute.failure:
                self.failures.append(str(self.compute.failure))
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def training(folder: Path, bounds: Bounds | None = None, hidden: int = 1024) -> AsyncIterator[Capped]:
    capped = Capped(folder, bounds, hidden)
    capped.compute.want(True, time.monotonic())
    running = asyncio.create_task(capped.compute.run())
    try:
        await capped.until(lambda: len(capped.hosted.experts) == 32, "all experts")
        yield capped
    finally:
        capped.compute.leave()
        await running


async def test_experts_are_parked_to_fit_and_come_back_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(no_network, "COME_BACK_S", 0.0)
    monkeypatch.setattr(memory, "PATIENCE_S", DEADLINE_S)  # a disk that others keep busy saves what is parked late
    async with training(tmp_path) as capped:
        compute = capped.compute
        await capped.until(lambda: capped.taken > TIGHT + 50 * MB, "more than will be allowed")
        capped.cap = TIGHT
        await capped.until(
            lambda: capped.hosted.parked and 0 < capped.taken <= TIGHT and compute.at_work, "fewer experts"
        )
        before = {Uid.parse(expert.uid): expert.updates for expert in capped.hosted.experts}
        assert 8 <= len(before) < 32
        step = compute.progress.step
        await capped.until(lambda: compute.progress.step > step + 5, "training with those that are left")
        assert capped.taken <= TIGHT * 1.05
        assert not capped.hosted.parked & before.keys()
        process = psutil.Process(compute.pid)
        await capped.until(lambda: process.rlimit(psutil.RLIMIT_DATA)[0] < 2 * TIGHT, "a bound of the system's own")
        capped.cap = ROOMY
        await capped.until(lambda: not capped.hosted.parked, "all experts again")  # reported before it is answered
        assert len(capped.hosted.experts) == 32 and not capped.failures
        versions = capped.hosted.versions()
        assert all(versions[uid] >= updates for uid, updates in before.items())


def saved_versions(folder: Path) -> dict[str, int]:
    """Of the parts whose newest checkpoint is whole."""
    return {part: blob.version for part, blob in newest_states(folder / "checkpoints").items()}


async def test_parked_experts_stay_in_every_later_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_network, "COME_BACK_S", math.inf)
    async with training(tmp_path, hidden=128) as capped:
        compute = capped.compute
        await capped.until(lambda: min(capped.hosted.versions().values()) > 0, "a step of every expert")
        before = capped.hosted.versions()
        await capped.swarm.park(least_needed(capped.hosted.experts, 12))
        parked = {str(uid): saved_versions(tmp_path)[str(uid)] for uid in capped.hosted.parked}
        assert len(parked) == 12 and all(version >= before[Uid.parse(text)] for text, version in parked.items())
        for _ in range(KEPT + 2):  # each save would push out what it does not hold
            step, saved = compute.progress.step, compute.progress.checkpoint_time
            await capped.until(lambda step=step: compute.progress.step > step, "a step")  # type: ignore[misc]
            compute.want(False, time.monotonic())
            await capped.until(
                lambda saved=saved: compute.progress.checkpoint_time != saved and not compute.saving,  # type: ignore[misc]
                "a save",
            )
            compute.want(True, time.monotonic())
            await capped.until(lambda: compute.at_work, "training again")
        assert parked.items() <= saved_versions(tmp_path).items()
    async with training(tmp_path, hidden=128) as capped:  # a new process, with room for all, goes on from them
        versions = capped.hosted.versions()
        assert all(versions[Uid.parse(text)] >= version for text, version in parked.items())


async def test_a_process_that_is_over_its_cap_ends_with_a_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PATIENCE_S", 1.0)
    monkeypatch.setattr(no_network, "COME_BACK_S", 0.0)
    async with training(tmp_path) as capped:
        compute = capped.compute
        await capped.until(lambda: compute.progress.step > 10, "some steps")
        capped.cap = 64 * MB  # less than torch takes
        await capped.until(lambda: compute.failure, "the end of the process")
        assert "Of the 128 MB that Hearth may use in all, 64 MB are left to it." in str(compute.failure)
        assert capped.memory.notes == [compute.failure]
        step = compute.progress.step
        assert compute.progress.checkpoint_step is not None and compute.progress.checkpoint_step >= step
        capped.cap = ROOMY
        await capped.until(lambda: compute.at_work and compute.progress.step > step, "training again")
        assert compute.failure is None and len(capped.hosted.experts) < 32
        capped.later = memory.AGAIN_S
        await capped.until(lambda: len(capped.hosted.experts) == 32, "all experts once more")


def bounded_by(pid: int, words: str) -> int:
    """Bytes beyond which the system steps in, by its own account."""
    if "control group" in words:
        return int((group_of(pid) / "memory.max").read_text())
    assert "RLIMIT_DATA" in words
    return psutil.Process(pid).rlimit(psutil.RLIMIT_DATA)[0]


async def test_the_system_bounds_each_process_from_its_start_and_follows_the_cap(tmp_path: Path) -> None:
    async with training(tmp_path) as capped:
        compute, bounds = capped.compute, capped.memory.bounds
        assert compute.pid is not None and bounds.kept_by is not None
        before = bounded_by(compute.pid, str(bounds.kept_by))
        assert ROOMY < before < 1.4 * ROOMY
        capped.cap = 6144 * MB
        await capped.until(
            lambda: compute.pid and bounded_by(compute.pid, str(bounds.kept_by)) < before, "the new bound"
        )
        assert 6144 * MB < bounded_by(compute.pid, str(bounds.kept_by)) < 1.4 * 6144 * MB


class Ending:
    """A bound by which the system ends a process; the test ends it."""

    def __init__(self, pid: int, left: int) -> None:
        self.pid = pid

    def keep(self, left: int) -> None:
        pass

    def said(self) -> Notice:
        return plain("the test ends compute")

    def overran(self) -> bool:
        return True

    def close(self) -> None:
        pass


async def test_a_process_that_the_system_ended_comes_back_smaller_from_its_start(tmp_path: Path) -> None:
    async with training(tmp_path, Bounds([[Ending]])) as capped:
        compute = capped.compute
        await capped.until(lambda: compute.progress.step > 2, "some steps")
        assert compute.pid is not None
        os.kill(compute.pid, signal.SIGKILL)
        await capped.until(lambda: compute.failure, "the end of the process")
        assert "far more memory than the 8 GB" in str(compute.failure)
        assert len(capped.hosted.parked) == 10  # of 32
        life = compute.life
        await capped.until(lambda: compute.life > life and compute.at_work and capped.hosted.experts, "its return")
        await capped.until(lambda: len(capped.hosted.experts) == 22, "fewer experts")


def test_the_least_trained_experts_of_the_fullest_layers_are_parked() -> None:
    experts = [
        ExpertStatus(f"digits.{layer}.0.{n}", 1, 10 * n + layer)
        for layer, count in ((0, 4), (1, 2))
        for n in range(count)
    ]
    assert [*map(str, least_needed(experts, 3))] == ["digits.0.0.0", "digits.0.0.1", "digits.1.0.0"]
    assert len(least_needed(experts, 99)) == 4  # each layer keeps one
    assert least_needed([], 3) == []
