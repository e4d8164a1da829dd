"""A pack with another torch: fetched by hash, tried, used by compute, and left again whenever it does not work."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts.build import PACK
from core.update import packs
from tests.gpu_packs import LIBRARY, Packs, a_pc_with_packs
from tests.swarm.fake_gpu import ID, NAME, NEEDS_PACK
from tests.workers import PATIENCE_S, ROOT, RunningWorker, codes, wait_until, worker

FAILS = "if 'try-pack' in sys.argv: raise OSError('libcuda.so.1: cannot open')"
HANGS = "if 'try-pack' in sys.argv: time.sleep(3600)"
FAILS_LATER = "if 'compute' in sys.argv: raise OSError('libcuda.so.1: cannot open')"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packs]:
    with a_pc_with_packs(tmp_path) as (here, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield here


def trains(running: RunningWorker, on: str) -> None:
    """Wait until it trains on a device of this name, or on any other one but the card."""
    running.until(
        lambda status: (status.device == NAME) == (on == NAME) and status.samples_per_s > 0, f"training on {on}"
    )


def pack_of(running: RunningWorker) -> str:
    """The folder of the pack that the worker's compute process was given; "": none."""
    compute = wait_until(running.compute, "a compute process")
    assert isinstance(compute, psutil.Process)
    return compute.environ()[PACK]


def test_compute_uses_the_pack_until_it_is_removed(here: Packs) -> None:
    with worker(here.data, program="tests.swarm.fake_gpu") as running:
        running.call("set_settings", {"changes": {"gpu_in_use": True, "checkpoints_disk_mb": 64}})  # less than a pack
        trains(running, "the CPU")
        card = next(device for device in running.status().devices if device.id == ID)
        assert codes(card.why) == ["device.torch_has_none"] and pack_of(running) == ""
        answer = json.loads(here.pack("check", "--json").stdout)
        assert answer["cards"] == [NAME] and answer["version"] == "2.90.0" and not answer["installed"]
        assert LIBRARY < answer["size"] < answer["unpacked"] + 1000
        done = here.pack("install")
        assert (done.returncode, done.stdout) == (0, f"Compute uses torch 2.90.0 for {NAME} from now on.\n"), done
        trains(running, NAME)
        assert pack_of(running) == str(packs.chosen(here.data)) and here.chosen == "2.90.0"
        installed = sorted(path.name for path in here.runtimes.iterdir())
        assert installed == sorted([packs.chosen(here.data).name, "chosen", "lock", "trusted"])  # type: ignore[union-attr]
        assert here.pack("install").stdout == "The newest pack is installed already.\n"
        sizes = subprocess.run(
            [sys.executable, "-m", "core", "data", "size", "--json", "--data-dir", str(here.data)],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(sizes.stdout)["bytes"]["packs"] > LIBRARY
        assert here.pack("remove").stdout == "There is no pack here now. Compute uses the CPU.\n"
        trains(running, "the CPU")
        assert pack_of(running) == "" and [path.name for path in here.runtimes.iterdir()] == ["lock"]


def test_a_new_pack_takes_the_place_of_the_former_once_it_has_passed(here: Packs) -> None:
    assert here.pack("install").returncode == 0
    here.publish("2.91.0", FAILS)
    failed = here.pack("install")
    assert failed.returncode == 24 and "does not work on this PC" in failed.stderr and "libcuda.so.1" in failed.stderr
    assert here.chosen == "2.90.0"
    here.publish("2.92.0")
    assert here.pack("install").returncode == 0 and here.chosen == "2.92.0"
    assert len([*here.runtimes.glob("*/pack.json")]) == 1


def test_a_pack_that_hangs_when_it_is_tried_is_not_used(here: Packs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert here.pack("install").returncode == 0
    here.publish("2.91.0", HANGS)
    monkeypatch.setenv(NEEDS_PACK, "2.0")
    hung = here.pack("install")
    assert hung.returncode == 24 and "did not answer within 2 s" in hung.stderr and here.chosen == "2.90.0"


def test_compute_that_does_not_come_up_with_a_pack_goes_by_its_own_torch_again(here: Packs) -> None:
    here.publish("2.91.0", FAILS_LATER)
    assert here.pack("install").returncode == 0 and here.chosen == "2.91.0"
    with worker(here.data, program="tests.swarm.fake_gpu") as running:
        trains(running, "the CPU")
        assert pack_of(running) == "" and here.chosen == ""
    told = here.pack("check")
    assert "Compute did not come up with it" in told.stdout
    here.publish("2.92.0")
    assert here.pack("install").returncode == 0 and here.chosen == "2.92.0"


def test_a_download_that_was_cut_off_or_killed_is_gone_on_with(here: Packs) -> None:
    server = here.feed.server
    server.change = lambda path, data: data[: len(data) // 2] if path.startswith("/files/") else data
    cut = here.pack("install")
    assert cut.returncode == 24 and "No server gave nvidia_cuda" in cut.stderr
    come = server.files
    assert LIBRARY // 2 <= come < LIBRARY
    server.change = lambda path, data: data
    assert here.pack("install").returncode == 0
    assert server.files - come < LIBRARY // 2 + 10_000 and here.chosen == "2.90.0"
    library = here.runtimes / packs.chosen(here.data).name / "nvidia" / "lib" / "libcuda.so"  # type: ignore[union-attr]
    assert library.read_bytes() == hashlib.shake_128(b"cuda").digest(LIBRARY)


def test_killed_after_a_wheel_the_next_try_fetches_the_others(here: Packs) -> None:
    server = here.feed.server
    begun: list[subprocess.Popen[bytes]] = []

    def kill(path: str, data: bytes) -> bytes:
        if path.startswith("/files/") and len(data) < LIBRARY:  # torch, which comes second
            os.kill(begun[0].pid, signal.SIGKILL)
        return data

    server.change = kill
    begun.append(subprocess.Popen(here.command("install"), cwd=ROOT))
    assert begun[0].wait(PATIENCE_S) == -signal.SIGKILL and here.chosen == ""
    server.change, come = lambda path, data: data, server.files
    assert here.pack("install").returncode == 0 and here.chosen == "2.90.0"
    assert server.files - come < 10_000


def test_what_a_killed_install_left_is_removed_by_the_next(here: Packs) -> None:
    """Killed while it tries a pack, and before it removes the former one."""
    assert here.pack("install").returncode == 0
    former = packs.chosen(here.data)
    assert former is not None
    here.publish("2.91.0", HANGS)
    install = subprocess.Popen(here.command("install"), cwd=ROOT)
    tries = wait_until(lambda: psutil.Process(install.pid).children(), "a pack that is tried")
    for process in (psutil.Process(install.pid), *tries):
        process.kill()
    install.wait(PATIENCE_S)
    assert len([*here.runtimes.glob("*/pack.json")]) == 2 and here.chosen == "2.90.0"
    here.publish("2.92.0")
    shutil.copytree(former, kept := here.folder / "kept")
    assert here.pack("install").returncode == 0
    kept.rename(former)
    again = here.pack("install")
    assert "torch 2.92.0" in again.stdout and [*here.runtimes.glob("*/pack.json")] == [
        here.runtimes / packs.chosen(here.data).name / "pack.json"  # type: ignore[union-attr]
    ]


def test_a_damaged_wheel_is_never_unpacked(here: Packs) -> None:
    def damaged(path: str, data: bytes) -> bytes:
        return data[:999] + bytes([data[999] ^ 1]) + data[1000:] if path.startswith("/files/") else data

    here.feed.server.change = damaged
    refused = here.pack("install")
    assert refused.returncode == 24 and "is not what the feed says" in refused.stderr and here.chosen == ""
    assert not [*here.runtimes.rglob("*.py"), *here.runtimes.rglob("*.so")]


def test_a_full_disk_is_told_and_what_has_come_is_kept(here: Packs) -> None:
    """On a file system of its own: too small at first, then without room for another file, then with room."""
    here.runtimes.mkdir()
    disk = """
        mount -t tmpfs -o size=5m tmpfs "$1" || exit 77; small=$1; shift
        "$@"; echo $? >&2
        room=$(($(df --output=iused "$small" | tail -1) + 5))
        mount -o "remount,size=100m,nr_inodes=$room" "$small"; "$@"; echo $? >&2; ls "$small/downloads" >&2
        mount -o remount,nr_inodes=1000 "$small"; "$@"; echo $? >&2
    """
    private = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", disk, "sh", str(here.runtimes)]
    done = subprocess.run([*private, *here.command("install")], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this user may not mount a file system")
    small, refused, full, failed, *kept, passed = done.stderr.splitlines()
    assert "Installing the GPU pack takes" in small and "The disk is full" in full
    assert (refused, failed, passed) == ("24", "24", "0") and kept, done
    assert "Compute uses torch 2.90.0" in done.stdout
