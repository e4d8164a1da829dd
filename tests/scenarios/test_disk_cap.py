"""The disk space that Hearth may use, kept under load by real workers, as the system accounts for it."""

import contextlib
import errno
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest
from core.contracts.errors import DataFolderError
from core.contracts.files import PartFile
from core.contracts.notices import Notice, notice
from core.contracts.status import Status
from core.store.checkpoint_files import manifests, path_of, read_manifest
from core.store.part_header import read_metadata
from tests.disks import used
from tests.workers import DIGITS, HERE, RunningWorker, hearth, wait_until, worker

MB = 1 << 20
PROGRAM = "tests.swarm.busy_disk"
EXPERTS, MOST = 32, 24
"""Experts, and so many of them at least that the gate asks soon; the others have no state of their own."""
STATE_MB = 4.6
"""Of each expert; all take 147 MB, and two checkpoints of them twice as much."""
PAGE = 256 << 10
"""Bytes by which the cap may be passed for a moment: what is small grows without being asked, into 4 MB that are left
free for it, so that nothing is seen of this here."""

HASHES: dict[tuple[int, ...], str] = {}
"""Of files that were read, by what the system knows of them."""


@pytest.fixture
def run(tmp_path: Path) -> str:
    """The path of a run whose experts take more than they need for the digits."""
    digits = manifest.load("digits")
    model = msgspec.structs.replace(digits.model, width=64, hidden=564)
    path = tmp_path / "wide.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(digits, run="wide", model=model)))
    return str(path)


def allowed(folder: Path, mb: int) -> Path:
    folder.mkdir()
    chosen = {"version": 2, "checkpoints_disk_mb": mb, "memory_grace_s": 1}
    (folder / "settings.json").write_text(json.dumps(chosen))
    return folder


class Watch:
    """Looks at a folder all the time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._most = folder, 0
        self._looking = threading.Lock()  # or a look that began before `most` was asked would count after it
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.03):
            with self._looking:
                self._most = max(self._most, used(self._folder))

    @property
    def most(self) -> int:
        """Bytes that it took at most since this was asked last."""
        with self._looking:
            most, self._most = self._most, used(self._folder)
            return max(most, self._most)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    watch = Watch(folder)
    try:
        yield watch
    finally:
        watch.close()


def saved_states(checkpoints: Path) -> Mapping[str, PartFile]:
    """The parts of the newest checkpoint, whose files are whole. All are opened before any is read: they may go as soon
    as there is a newer checkpoint."""
    while found := manifests(checkpoints)[:1]:
        with contextlib.ExitStack() as opened:
            try:
                parts = read_manifest(found[0]).parts
                files = [opened.enter_context(path_of(checkpoints, part.sha256).open("rb")) for part in parts.values()]
            except FileNotFoundError:
                assert manifests(checkpoints)[:1] != found, "a file of the newest checkpoint is missing"
                continue
            for part, file in zip(parts.values(), files, strict=True):
                assert sha256_of(file) == part.sha256
            return parts
    return {}


def sha256_of(file: BufferedReader) -> str:
    """The hash of a file, which is read once as long as nobody writes to it."""
    status = os.fstat(file.fileno())
    known = status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
    if known not in HASHES:
        HASHES[known] = hashlib.file_digest(file, "sha256").hexdigest()
    return HASHES[known]


def versions(folder: Path) -> dict[str, int]:
    """Of the experts whose newest state is saved."""
    states = saved_states(next(folder.glob("runs/wide-*")) / "checkpoints")
    return {part: blob.version for part, blob in states.items() if part != "trunk"}


def rule(status: Status) -> tuple[Notice, bool]:
    """Live value of the rule about the disk space, and whether it stops compute."""
    (row,) = [row for row in status.why if row.rule == "own_disk"]
    return row.live, "cpu" in row.stops


def saves(running: RunningWorker, count: int) -> Status:
    """The first status after so many checkpoints."""
    for _ in range(count):
        last = running.status().checkpoint_time
        status = running.until(lambda status: status.checkpoint_time != last, "a checkpoint")  # noqa: B023
        assert not any("not saved" in str(text) for text in status.attention), status.attention
    return status


def test_a_new_worker_trains_as_many_experts_as_their_states_have_room(tmp_path: Path, run: str) -> None:
    folder = allowed(tmp_path / "data", 64)
    with worker(folder, "--run", run, program=PROGRAM, share=30) as running, watched(folder) as watch:
        running.until(
            lambda status: any(f"Only {len(status.experts)} experts" in str(text) for text in status.attention),
            "fewer experts",
        )
        wait_until(lambda: min(versions(folder).values(), default=0) > 0, "states of these")
        saves(running, 3)
        assert watch.most <= 64 * MB + PAGE and not rule(running.status())[1]
        few = versions(folder)
        assert len(few) <= 13

        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 256}})
        running.until(lambda status: len(status.experts) == EXPERTS, "all experts")
        wait_until(lambda: len(versions(folder)) >= MOST, "states of most")
        saves(running, 2)
        peaks = [watch.most]

        def two_checkpoints() -> bool:
            peaks.append(watch.most)
            return max(peaks) > 1.5 * MOST * STATE_MB * MB

        wait_until(two_checkpoints, "an older checkpoint beside the newest one")
        now = versions(folder)
        assert all(now[uid] >= version for uid, version in few.items())
        running.until(
            lambda status: not any("Only" in str(text) for text in status.attention), "the end of the sentence"
        )
        assert max(*peaks, watch.most) <= 256 * MB + PAGE

        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 192}})  # a checkpoint, and no two
        saves(running, 1)  # one that had begun may go on with what it was granted before
        wait_until(lambda: used(folder) <= 192 * MB, "older states to go")
        watch.most  # noqa: B018
        saves(running, 2)
        assert watch.most <= 192 * MB + PAGE and now.keys() <= versions(folder).keys()

        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 64}})  # less than the newest states take
        status = running.until(lambda status: rule(status)[1], "no more room")
        assert status.reason == (notice("own_disk.reason", most=64 * MB),)
        running.until(lambda status: not status.samples_per_s, "the end of training")
        before = used(folder)
        wait_until(lambda: running.compute() is None, "the end of compute")
        assert watch.most <= 192 * MB + PAGE and used(folder) <= before + 8 * MB
        last = versions(folder)
        assert all(last[uid] >= version for uid, version in now.items())
        status = running.status()
        assert not any("not saved" in str(text) for text in status.attention)
        if last.keys() >= {expert.uid for expert in status.experts if expert.updates}:  # no first state came too late
            assert not any("before all" in str(text) for text in status.attention)

        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 256}})
        running.until(lambda status: status.samples_per_s and not rule(status)[1], "training again")
        status = running.until(
            lambda status: last.keys() <= {expert.uid for expert in status.experts}, "all experts with a saved state"
        )
        now = {expert.uid: expert.updates for expert in status.experts}
        assert all(now[uid] >= version for uid, version in last.items())


def test_two_runs_keep_to_the_space_together(tmp_path: Path, run: str) -> None:
    folder, other = allowed(tmp_path / "data", 128), tmp_path / "other.json"
    other.write_bytes(Path(run).read_bytes().replace(b'"wide"', b'"broad"'))
    ids = [manifest.load(str(path)).run_id for path in (run, other)]
    with worker(folder, "--run", run, program=PROGRAM, share=30) as running, watched(folder) as watch:
        assert hearth(folder, "run", "join", str(other), "--yes").returncode == 0

        def states() -> list[list[PartFile]]:
            """Those of each run."""
            return [[*saved_states(folder / "runs" / one / "checkpoints").values()] for one in ids]

        def saved() -> list[int]:
            """Versions of the states of each run, added up."""
            return [sum(file.version for file in files) for files in states()]

        wait_until(lambda: min(saved()) > 0, "states of both")
        before = saved()
        wait_until(lambda: all(now > then for now, then in zip(saved(), before, strict=True)), "newer ones of both")
        # with less, experts that have none yet would be parked below, and the others would go on
        wait_until(lambda: sum(file.size for files in states() for file in files) > 64 * MB, "more than 64 MB")
        assert watch.most <= 128 * MB + PAGE and not rule(running.status())[1]
        assert not any("not saved" in str(text) for text in running.status().attention)
        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 64}})
        running.until(lambda status: rule(status)[1], "no more room")
        wait_until(lambda: all(one.phase == "absent" for one in running.status().runs), "the end of both")
        last = saved()
        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 256}})
        wait_until(lambda: all(now > then for now, then in zip(saved(), last, strict=True)), "training again")


def test_a_run_that_has_no_room_waits_and_the_other_goes_on(tmp_path: Path, run: str) -> None:
    folder, other = allowed(tmp_path / "data", 64), tmp_path / "other.json"
    wide = manifest.load(run)
    model = msgspec.structs.replace(wide.model, hidden=3 * wide.model.hidden, grid=(2, 2))
    other.write_bytes(msgspec.json.encode(msgspec.structs.replace(wide, run="broad", model=model)))
    with worker(folder, "--run", run, program=PROGRAM, share=30) as running, watched(folder) as watch:
        wait_until(lambda: len({part.split(".")[1] for part in versions(folder)}) == 2, "a first state in each layer")
        process = running.compute()
        assert (
            hearth(folder, "run", "join", str(other), "--yes").returncode == 0
        )  # an expert of each layer takes more than is left
        running.until(lambda status: [one.waits is None for one in status.runs] == [True, False], "one that waits")
        status = running.until(lambda status: status.runs[1].phase == "absent", "the end of its process")
        assert status.runs[0].phase == "training" and not rule(status)[1]
        assert any(str(status.runs[1].waits) in str(text) for text in status.attention)
        before = versions(folder)
        wait_until(lambda: sum(versions(folder).values()) > sum(before.values()), "newer states of the other")
        assert watch.most <= 64 * MB + PAGE and running.compute() == process, "it was not disturbed"

        running.call("set_settings", {"changes": {"checkpoints_disk_mb": 512}})
        running.until(lambda status: status.runs[1].phase == "training", "what had no room")
        states = next(folder.glob("runs/broad-*")) / "checkpoints"
        wait_until(lambda: any(part != "trunk" for part in saved_states(states)), "its states")


def copied(folder: Path) -> tuple[set[str], set[str]]:
    """Names of the copies that are kept, and whose states they are: all at once, for one that goes has a newer one."""
    while True:
        paths, parts = [*folder.glob("runs/wide-*/blobs/*.safetensors")], set()
        with contextlib.suppress(FileNotFoundError):
            for path in paths:
                with path.open("rb") as file:
                    parts.add(read_metadata(file.read(1 << 16), path.stat().st_size).part)
            return {path.name for path in paths}, parts


def test_copies_for_others_take_no_more_than_is_allowed(
    tmp_path: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVE_S", "3.0")
    full, free = allowed(tmp_path / "full", 64), allowed(tmp_path / "free", 512)
    listen = ("--run", run, "--listen", HERE)
    with worker(full, *listen, "--role", "backbone", program=PROGRAM) as keeper, watched(full) as watch:
        known = hearth(full, "address").stdout.strip()
        with worker(free, *listen, "--bootstrap", known, program=PROGRAM, share=30) as giver:
            wait_until(lambda: len(copied(full)[1]) >= 8, "copies")
            names, parts = copied(full)
            wait_until(lambda: len(names & copied(full)[0]) <= 2, "newer ones in their place")
            saves(giver, 2)
            assert watch.most <= 64 * MB + PAGE and not rule(keeper.status())[1]
            assert parts <= copied(full)[1]


def test_a_disk_that_refuses_while_it_saves_costs_no_state_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fills, and then becomes one that can only be read, such as after an error of the file system."""
    refused = tmp_path / "refused"
    monkeypatch.setenv("REFUSED", str(refused))
    with worker(tmp_path / "data", program=PROGRAM, share=30) as running:
        checkpoints = tmp_path / "data" / "runs" / DIGITS / "checkpoints"
        wait_until(lambda: len(saved_states(checkpoints)) > MOST, "states of most")
        refused.write_text(str(int(errno.ENOSPC)))
        status = running.until(
            lambda status: any("Free some space" in str(text) for text in status.attention), "the news"
        )
        kept = saved_states(checkpoints)
        running.until(lambda now: now.step > status.step + 20, "training all the same")
        refused.write_text(str(int(errno.EROFS)))
        running.until(lambda status: any("right to write" in str(text) for text in status.attention), "the other news")
        with pytest.raises(DataFolderError, match="written"):
            running.call("set_settings", {"changes": {"checkpoints_disk_mb": 300}})
        assert saved_states(checkpoints) == kept
        refused.unlink()
        running.until(lambda status: not any("not saved" in str(text) for text in status.attention), "that it is saved")
        saves(running, 1)
        assert running.status().checkpoint_step > status.step  # type: ignore[operator]
