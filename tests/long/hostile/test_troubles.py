"""The PC itself goes wrong: a full disk, a data folder that is removed, a clock that is set by a day, a cut cable.

Each is told by a sentence, spoils no file, and work goes on, or begins again as soon as it can.
"""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts.errors import DataFolderError
from core.contracts.network_status import DhtStatus, Finding
from core.contracts.status import Status
from core.store.checkpoint_files import is_whole, manifests, read_manifest
from tests.swarm.jumping_clock import VARIABLE
from tests.swarm.namespaces import Internet, impossible
from tests.swarm.nat_workers import WorkerPeer
from tests.workers import DIGITS, HERE, RunningWorker, Workers, codes, hearth, wait_until, worker

DISK = "150m"
DAY_S = 86_400.0
SHARE = 20
"""Per cent of the time for which each computes."""
WRONG_S = 60.0
TOLD_S = 60.0
"""In which it has to be told that a clock is wrong."""
EXPERTS = 32
NAMES = "first", "second", "third"


def trains(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0


def told_of(status: Status) -> list[str]:
    """What needs attention, as codes."""
    return codes(tuple(status.attention))


def goes_on(running: RunningWorker, seconds: float = 240.0) -> None:
    """Until it has taken some steps."""
    step = running.status().step
    running.until(lambda status: trains(status) and status.step > step + 3, "more steps", seconds)


def whole(folder: Path) -> int:
    """How many checkpoints there are, all of whose files are whole; nothing was set aside."""
    checkpoints, found = folder / "runs" / DIGITS / "checkpoints", 0
    for path in manifests(checkpoints):
        assert all(is_whole(checkpoints, file) for file in read_manifest(path).parts.values()), path
        found += 1
    assert not [*folder.rglob("*.bad*")]
    return found


def kill(running: RunningWorker) -> None:
    """Worker and compute at once."""
    family = [psutil.Process(running.process.pid)]
    family += family[0].children(recursive=True)
    for process in family:
        process.kill()
    running.process.communicate()
    psutil.wait_procs(family, 60.0)


# the disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


class Filler:
    """A file that takes all that is left of a disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def leave(self) -> None:
        self._path.write_bytes(b"")


def test_a_full_disk(disk: Path) -> None:
    folder, filler = disk / "data", Filler(disk / "filler")
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"version": 2, "disk_free_mb": 0}))  # else it stops in time
    with Workers() as workers:
        running = workers.start(folder, share=SHARE)
        running.until(lambda status: status.checkpoint_step, "a checkpoint")

        def told() -> bool:
            filler.fill()  # also what was given back since
            said = {"checkpoint.disk_full", "ledger.not_written"}
            return said <= {*told_of(running.status())}

        wait_until(told, "sentences about the disk")
        goes_on(running)
        with pytest.raises(DataFolderError) as refused:
            running.call("set_settings", {"changes": {"price_kwh": 0.4}})
        assert refused.value.notice.code == "file.not_written"
        kill(running)
        assert whole(folder) > 0
        filler.fill()
        ended = hearth(folder, "worker")
        assert ended.returncode == DataFolderError.exit_code and "Traceback" not in ended.stderr, ended.stderr
        filler.leave()
        again = workers.start(folder, share=SHARE)
        again.until(lambda status: trains(status) and not status.attention, "training as before")
        began = again.status().checkpoint_step or 0
        assert began > 0
        again.until(lambda status: (status.checkpoint_step or 0) > began, "a new checkpoint")
        assert whole(folder) > 0


# the folder


def test_a_data_folder_that_is_removed(tmp_path: Path) -> None:
    """Of one of two: it ends, and says why; the other one trains on, and takes over."""
    with Workers() as workers:
        first = workers.start(tmp_path / "first", "--listen", HERE, "--role", "host,train,backbone", share=SHARE)
        known = "--listen", HERE, "--bootstrap", hearth(first.folder, "address").stdout.strip()
        second = workers.start(tmp_path / "second", *known, share=SHARE)
        second.until(lambda status: trains(status) and status.experts, "hosting")
        family = psutil.Process(second.process.pid).children()
        shutil.rmtree(second.folder)
        _, said = second.process.communicate(timeout=120)
        print("ended with", second.process.returncode, said.strip())
        assert second.process.returncode == DataFolderError.exit_code and said.strip() and "Traceback" not in said
        assert not psutil.wait_procs(family, 60.0)[1]
        goes_on(first)
        first.until(lambda status: len(status.experts) == EXPERTS, "all experts on the one that is left")
        again = workers.start(tmp_path / "second", *known, share=SHARE)
        goes_on(again)


def test_a_runs_folder_that_is_removed(tmp_path: Path) -> None:
    """What was trained is in memory, and saved again."""
    with worker(tmp_path, share=SHARE) as running:
        step = running.until(lambda status: status.checkpoint_step, "a checkpoint").step
        shutil.rmtree(tmp_path / "runs" / DIGITS)
        saved = running.until(lambda status: (status.checkpoint_step or 0) > step, "a new checkpoint")
        print("attention:", told_of(saved))
        goes_on(running)
    with worker(tmp_path, share=SHARE) as running:
        assert running.status().step >= (saved.checkpoint_step or 0)
        assert whole(tmp_path) > 0


# the clock


class Clock:
    """By how much the wall clock of a worker is wrong, which starts while this is the one that is set."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self.set(0.0)
        monkeypatch.setenv(VARIABLE, str(path))

    def set(self, seconds: float) -> None:
        partial = self._path.with_suffix(".partial")
        partial.write_text(str(seconds))
        partial.replace(self._path)


def hosted(workers: list[RunningWorker]) -> int:
    """How many experts they have, one that several have counted as often."""
    return sum(len(running.status().experts) for running in workers)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("wrong", [DAY_S, -DAY_S], ids=["forward", "back"])
@pytest.mark.parametrize("whose", ["first", "third"])
def test_a_clock_that_is_set_by_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: float, whose: str
) -> None:
    clocks: dict[str, Clock] = {}
    peers: dict[str, RunningWorker] = {}
    known: tuple[str, ...] = ()
    with Workers() as workers:
        for name in NAMES:
            clocks[name] = Clock(tmp_path / f"{name}.clock", monkeypatch)
            roles = "host,train,backbone" if name == "first" else "host,train"
            options = "--listen", HERE, "--role", roles, *known
            peers[name] = workers.start(tmp_path / name, *options, program="tests.swarm.jumping_clock", share=SHARE)
            known = known or ("--bootstrap", hearth(tmp_path / name, "address").stdout.strip())
        everybody = [*peers.values()]
        wait_until(lambda: hosted(everybody) == EXPERTS, "each expert once")
        one = peers[whose]
        clocks[whose].set(wrong)
        began = time.monotonic()

        def told(status: Status) -> bool:
            return "network.clock_wrong" in told_of(status)

        one.until(told, "a sentence about the clock", TOLD_S)
        print(f"{whose}, {wrong:+.0f} s: told after {time.monotonic() - began:.0f} s")
        apart = one.ask("dht_stats", {}, DhtStatus).clock_apart_s
        assert abs(apart + wrong) < 60.0
        most = 0
        while time.monotonic() - began < WRONG_S:
            most = max(most, hosted(everybody))
            time.sleep(1.0)
        print(
            f"hosted at most {most}, in the end {hosted(everybody)}; of {[len(p.status().experts) for p in everybody]}"
        )
        assert most < 1.5 * EXPERTS, "what others have is not taken for gone; what moves is on both for a moment"
        for each in everybody:
            goes_on(each)
        assert not any(told(each.status()) for each in everybody if each is not one)
        clocks[whose].set(0.0)
        one.until(lambda status: not told(status), "the end of the sentence", TOLD_S)
        for each in everybody:
            goes_on(each)
        wait_until(lambda: hosted(everybody) == EXPERTS, "each expert once")


# the network


@pytest.mark.timeout(1800)
@pytest.mark.skipif(impossible() is not None, reason="namespaces cannot be made here")
def test_a_cut_cable(tmp_path: Path) -> None:
    """Who is cut off trains alone; the others take over; together again, each expert is on one of them."""
    with Internet() as internet:
        backbone = WorkerPeer(internet.host("backbone"), tmp_path / "backbone", "--role", "backbone")
        peers = [
            WorkerPeer(internet.host(name), tmp_path / name, "--role", "host,train", via=backbone, computes=True)
            for name in NAMES[:2]
        ]

        def status(peer: WorkerPeer) -> Status:
            return peer.ask("status", Status)

        def once() -> bool:
            return sum(len(peer.experts()) for peer in peers) == EXPERTS and all(peer.experts() for peer in peers)

        wait_until(lambda: once() and all(status(peer).step > 0 for peer in peers), "each expert once")
        one = peers[1]
        one.host.cut()
        began = time.monotonic()
        wait_until(
            lambda: all(len(peer.experts()) == EXPERTS for peer in peers), "all experts on both sides of the cut"
        )
        print(f"all experts on both sides after {time.monotonic() - began:.0f} s; {told_of(status(one))}")
        steps = [status(peer).step for peer in peers]
        wait_until(
            lambda: all(status(p).step > s + 3 for p, s in zip(peers, steps, strict=True)), "steps on both sides"
        )
        network = one.network()
        assert network is not None and network.connected == 0
        assert not next(found for found in one.ask("doctor", list[Finding]) if found.name == "peers").good
        one.host.mend()
        began = time.monotonic()
        wait_until(once, "each expert once")
        print(f"each expert once {time.monotonic() - began:.0f} s after the cut was mended")
        steps = [status(peer).step for peer in peers]
        wait_until(lambda: all(status(p).step > s + 3 for p, s in zip(peers, steps, strict=True)), "more steps")
        for peer in peers:
            assert whole(peer.folder) > 0
