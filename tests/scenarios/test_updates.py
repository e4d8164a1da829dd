"""An installation updates itself: what ran runs again with all its data, and whatever happens, it starts."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.contracts.errors import NotRunning
from core.control.client import ControlClient
from installers.linux.archive import pack
from tests.release_feed import Feed, copy, release_feed, start
from tests.workers import DIGITS, give_key, hearth, never_busy, wait_until

KILLS = 50
SEED = 18
BEGUN: list[subprocess.Popen[bytes]] = []


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    with release_feed(tmp_path / "feed") as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    give_key(folder)
    never_busy(folder)
    yield folder
    end(folder)
    while BEGUN:
        BEGUN.pop().wait(60)


def call(folder: Path, method: str, params: dict[str, Any] | None = None) -> Any:
    with ControlClient(folder) as client:
        return client.call(method, params or {}, Any, 40.0)


def answers(folder: Path) -> bool:
    try:
        call(folder, "status")
    except NotRunning:
        return False
    return True


def end(folder: Path) -> None:
    """End the worker that an update has started again."""
    if (folder / "worker.json").exists() and answers(folder):
        process = psutil.Process(json.loads((folder / "worker.json").read_text())["pid"])
        call(folder, "quit")
        process.wait(60)


def begin(root: Path, folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a worker through the launcher."""
    null = subprocess.DEVNULL
    command = [str(root / "hearth"), "worker", "--data-dir", str(folder), *words]
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    BEGUN.append(process)
    wait_until(lambda: process.poll() is not None or answers(folder), "a worker")
    return process


def version_of(folder: Path) -> str:
    """Of the bundle whose worker serves the folder, by its environment."""
    pid = json.loads((folder / "worker.json").read_text())["pid"]
    return psutil.Process(pid).environ()["HEARTH_VERSION_ID"]


def test_a_worker_goes_on_in_the_new_version_with_all_its_data(feed: Feed, folder: Path) -> None:
    root = feed.install(feed.publish("0.1.0"))
    feed.publish("0.2.0")
    with_data = ("--data-dir", str(folder))
    process = begin(root, folder)
    wait_until(lambda: call(folder, "status")["checkpoint_step"], "a checkpoint")
    call(folder, "set_settings", {"changes": {"price_kwh": 0.31}})
    call(folder, "pause")
    before, peer = call(folder, "status"), (folder / "identity.key").read_bytes()
    asked = start(root, "update", "--check", *with_data)
    assert "Hearth 0.2.0 is available" in asked.stdout and answers(folder) and process.poll() is None
    done = start(root, "update", *with_data)
    assert done.returncode == 0 and "0.2.0 is installed" in done.stdout, done.stderr
    assert process.wait(60) == 0 and version_of(folder) == (root / "current").read_text()
    after = call(folder, "status")
    assert after["state"] == "paused" and (folder / "identity.key").read_bytes() == peer
    assert after["run_id"] == DIGITS and after["checkpoint_step"] >= before["step"] > 0
    assert call(folder, "subscribe")["settings"]["price_kwh"] == 0.31
    assert call(folder, "totals")["all"]["runs"][DIGITS]["samples"] > 0
    assert not (root / "trial").exists() and start(root, "which").stdout == "0.2.0\n"
    again = start(root, "update", *with_data)
    assert again.returncode == 0 and "newest version" in again.stdout


def test_what_does_not_even_run_stops_nothing(feed: Feed, folder: Path) -> None:
    root = feed.install(feed.publish("0.1.0"))
    bundle = feed.publish("0.2.0")
    program = bundle / "hearth"
    program.write_text("#!/bin/sh\necho a library is missing >&2; exit 1\n")
    feed.release("publish", feed.feed, feed.keys, bundle, "--version", "0.2.0")
    process = begin(root, folder)
    done = start(root, "update", "--data-dir", str(folder))
    assert done.returncode == 24 and "a library is missing" in done.stderr
    assert process.poll() is None and answers(folder) and start(root, "which").stdout == "0.1.0\n"


@pytest.mark.parametrize(("then", "least_s"), [("exit 1", 0), ("exec sleep 1000", 50)], ids=["ends", "hangs"])
def test_what_does_not_come_up_is_taken_back_with_the_data(feed: Feed, folder: Path, then: str, least_s: int) -> None:
    """The new version spoils the data first: they are as they were, as its format is another one."""
    spoil = f"echo spoilt > {folder}/settings.json; rm -f {folder}/identity.key"
    root = feed.install(feed.publish("0.1.0"))
    feed.publish("0.2.0", "--data-format", "other", then=f"{spoil}; {then}")
    begin(root, folder)
    call(folder, "pause")
    call(folder, "set_settings", {"changes": {"price_kwh": 0.31}})
    key, begun = (folder / "identity.key").read_bytes(), time.monotonic()
    done = start(root, "update", "--data-dir", str(folder))
    assert done.returncode == 24 and "former version runs again" in done.stderr
    assert time.monotonic() - begun >= least_s
    wait_until(lambda: answers(folder), "the former version's worker")
    assert start(root, "which").stdout == "0.1.0\n" and version_of(folder) == (root / "current").read_text()
    assert (folder / "identity.key").read_bytes() == key
    assert call(folder, "subscribe")["settings"]["price_kwh"] == 0.31 and call(folder, "status")["state"] == "paused"
    assert json.loads(start(root, "update", "--check", "--json", "--data-dir", str(folder)).stdout)["failed"]


def test_what_was_unpacked_updates_itself(feed: Feed, folder: Path, tmp_path: Path) -> None:
    bundle, share = feed.publish("0.1.0"), tmp_path / "share"
    (share / "applications").mkdir(parents=True)
    (share / "doc").mkdir()
    for name, published in (("alone", None), ("with-feed", (feed.feed, [feed.server.url]))):
        pack(bundle, share, tmp_path / f"{name}.tar.zst", ["libegl1"], published)
        subprocess.run(["tar", "-C", str(tmp_path), "-xf", str(tmp_path / f"{name}.tar.zst")], check=True)
    feed.publish("0.2.0")
    root, with_data = tmp_path / "with-feed", ("--data-dir", str(folder))
    assert sorted(path.name for path in root.iterdir()) == [
        "README.txt",
        "current",
        "feed",
        "hearth",
        "share",
        "versions",
    ]
    assert [path.name for path in (root / "share").iterdir()] == ["applications"]
    process = begin(root, folder)
    assert start(root, "update", *with_data).returncode == 0
    assert process.wait(60) == 0 and start(root, "which").stdout == "0.2.0\n" and answers(folder)
    alone = start(tmp_path / "alone", "update", *with_data)
    assert start(tmp_path / "alone", "which").stdout == "0.1.0\n"
    assert alone.returncode == 24 and "no release feed" in alone.stderr


@pytest.mark.skipif(os.name == "nt", reason="no kill -9 there")
def test_it_is_taken_back_also_if_who_waited_for_it_was_killed(feed: Feed, folder: Path) -> None:
    root = feed.install(feed.publish("0.1.0"))
    feed.publish("0.2.0", "--data-format", "other", then=f"rm -f {folder}/identity.key; exec sleep 1000")
    begin(root, folder)
    key = (folder / "identity.key").read_bytes()
    updating = subprocess.Popen([str(root / "hearth"), "update", "--data-dir", str(folder)])
    wait_until(lambda: (root / "tried").exists() and not (folder / "identity.key").exists(), "the new version")
    updating.send_signal(signal.SIGKILL)
    updating.wait()
    for process in psutil.process_iter(["cmdline", "environ"]):
        if (process.info["environ"] or {}).get("HEARTH_INSTALLATION") == str(root):
            process.kill()  # the power fails
    begin(root, folder)
    assert start(root, "which").stdout == "0.1.0\n" and (folder / "identity.key").read_bytes() == key
    assert not (root / "trial").exists() and not (root / "tried").exists()


@pytest.mark.skipif(os.name == "nt", reason="no kill -9 there")
def test_killed_at_fifty_random_moments_it_always_starts(feed: Feed, tmp_path: Path) -> None:
    folder, counted = tmp_path / "data", tmp_path / "count"
    fresh = feed.install(feed.publish("0.1.0"))
    feed.publish("0.2.0", torch=2)
    update = ("update", "--data-dir", str(folder))
    killable = {"HEARTH_TEST_MODULE": "tests.swarm.killed_update"}
    assert start(copy(fresh, tmp_path / "counted"), *update, **killable, COUNTS_TO=str(counted)).returncode == 0
    moments = random.Random(SEED).sample(range(1, int(counted.read_text())), KILLS)
    found = []
    for at, moment in enumerate(moments):
        if at % 10 == 0:
            root = copy(fresh, tmp_path / "installed")  # else it goes on with what the kill before has left
        start(root, *update, **killable, DIES_AT=str(moment))
        which = start(root, "which")
        assert which.returncode == 0 and which.stdout in ("0.1.0\n", "0.2.0\n"), moment
        found.append(which.stdout)
        if at % 10 == 9:
            assert start(root, *update).returncode == 0 and start(root, "which").stdout == "0.2.0\n"
        elif which.stdout == "0.2.0\n":
            root = copy(fresh, tmp_path / "installed")
    assert found.count("0.1.0\n") > 10
    assert len(set(moments)) == KILLS


def test_from_the_sources_it_says_how_they_are_updated(folder: Path) -> None:
    done = hearth(folder, "update")
    assert done.returncode == 24 and "git pull" in done.stderr
