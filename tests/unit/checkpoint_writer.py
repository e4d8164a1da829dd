"""Saves under adverse conditions; a process of its own, `python -m tests.unit.checkpoint_writer MODE FOLDER`."""

import asyncio
import os
import resource
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

import torch

from core.errors import CheckpointError
from core.runtime.checkpoints import CheckpointStore, Part

RUN = "digits"
LIMIT = 256 * 1024
EVENTS = {"open", "os.rename", "os.remove"}


def parts(step: int, numbers: int = 64) -> dict[str, Part]:
    """Three parts that all carry the step, and one that never changes."""
    changing = {name: Part({"w": torch.full((numbers,), float(step))}, step, step) for name in ("a", "b", "trunk")}
    return {**changing, "idle": Part({"w": torch.zeros(8)})}


def restored_step(folder: Path) -> int:
    """The step that all parts agree on."""
    got: dict[str, Part] = {}
    found = CheckpointStore(folder, RUN).restore({name: partial(got.__setitem__, name) for name in parts(0)})
    assert found.checkpoint and not found.missing and not found.notes, found
    steps = {int(value) for name in ("a", "b", "trunk") for value in got[name].tensors["w"].tolist()}
    assert steps == {found.checkpoint.step}, steps
    return found.checkpoint.step


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
    """Kills a process at the first, second, ... access to a file of a save; prints how many deaths were survived."""
    save(folder, 1)
    save(folder, 2)
    seen = set()
    for deaths in range(200):
        copy = folder.with_name(f"{folder.name}-{deaths}")
        shutil.copytree(folder, copy)
        child = os.fork()
        if child == 0:
            _die_at(copy, deaths)
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


def _die_at(folder: Path, count: int) -> None:
    left = [count]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and str(arguments[0]).startswith(str(folder)):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    sys.addaudithook(hook)


if __name__ == "__main__":
    if sys.argv[1] == "killed":
        killed(Path(sys.argv[2]))
    else:
        full(Path(sys.argv[2]), limited=sys.argv[1] == "limited")
