"""Saves under adverse conditions; a process of its own, `python -m tests.unit.checkpoint_writer MODE FOLDER`."""

import asyncio
import os
import resource
import shutil
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from types import FrameType

import torch

from core.contracts.errors import CheckpointError
from core.runtime.part_files import Part, unpack
from core.store.checkpoint_files import manifests, read_manifest
from core.store.checkpoints import CheckpointStore

RUN = "digits"
LIMIT = 256 * 1024
DEATHS = {"open", "write", "flush", "__exit__", "fsync", "replace", "unlink", "close"}
"""Calls into the system; between two of them a process may die."""


def parts(step: int, numbers: int = 64) -> dict[str, Part]:
    """Three parts that all carry the step, and one that never changes."""
    sizes = {"a": 64, "b": 64, "trunk": numbers}
    changing = {name: Part({"w": torch.full((size,), float(step))}, step, step) for name, size in sizes.items()}
    return {**changing, "idle": Part({"w": torch.zeros(8)})}


def _take(got: dict[str, Part], name: str, data: bytes) -> None:
    got[name] = unpack(data)


def restored_step(folder: Path) -> int:
    """The step that all parts agree on."""
    got: dict[str, Part] = {}
    notes = CheckpointStore(folder, RUN).restore({name: partial(_take, got, name) for name in parts(0)})
    assert got.keys() == parts(0).keys() and not notes, notes
    newest = read_manifest(manifests(folder)[0]).step
    steps = {int(value) for name in ("a", "b", "trunk") for value in got[name].tensors["w"].tolist()}
    assert steps == {newest}, steps
    return newest


def save(folder: Path, step: int, numbers: int = 64) -> None:
    asyncio.run(CheckpointStore(folder, RUN).save(step, step * 32, parts(step, numbers)))


def full(folder: Path, limited: bool) -> None:
    """Saves on a disk too small for the second checkpoint; prints what the user would read."""
    if limited:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    save(folder, 1)
    before = sorted(folder.iterdir())
    try:
        save(folder, 2, numbers=LIMIT // 4 + 1)
    except CheckpointError as error:
        print(error)
    assert sorted(folder.iterdir()) == before
    assert restored_step(folder) == 1
    save(folder, 3)
    assert restored_step(folder) == 3


def killed(folder: Path) -> None:
    """Kills a process before the first, second, ... call to the system of a save; prints how many were survived."""
    save(folder, 1)
    save(folder, 2)
    seen = set()
    for deaths in range(200):
        copy = folder.with_name(f"{folder.name}-{deaths}")
        shutil.copytree(folder, copy)
        child = os.fork()
        if child == 0:
            _die_at(deaths)
            save(copy, 3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        seen.add(restored_step(copy))
        if os.waitstatus_to_exitcode(status) == 0:
            assert seen == {2, 3}
            print(deaths)
            return
        save(copy, 4)
        assert restored_step(copy) == 4
        assert not list(copy.glob("*.partial"))
    raise AssertionError("saving never ended")


def _die_at(count: int) -> None:
    """Kill this process before the call to the system with this number."""
    left = [count]

    def hook(frame: FrameType, event: str, function: object) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in DEATHS:
            return
        if Path(frame.f_code.co_filename).name in ("checkpoints.py", "writing.py", "pathlib.py"):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    threading.setprofile(hook)


if __name__ == "__main__":
    if sys.argv[1] == "killed":
        killed(Path(sys.argv[2]))
    else:
        full(Path(sys.argv[2]), limited=sys.argv[1] == "limited")
