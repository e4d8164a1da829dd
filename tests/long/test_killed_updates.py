"""An update is killed at random moments while a worker runs, and the power fails with it: Hearth always starts again,
old or new, with the same key, settings and checkpoints."""

import random
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.release_feed import Feed, copy, release_feed, start
from tests.scenarios import test_updates as updates

KILLS, SEED = 25, 18
folder = updates.folder


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    with release_feed(tmp_path / "feed") as one:
        yield one


def power_fails(root: Path) -> None:
    """Kill all that the installation has started."""
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get("HEARTH_INSTALLATION") == str(root):
            process.kill()
            process.wait(60)


@pytest.mark.parametrize("data_format", ["other", "same"])
def test_killed_while_a_worker_runs(feed: Feed, folder: Path, tmp_path: Path, data_format: str) -> None:
    fresh, count = feed.install(feed.publish("0.1.0")), tmp_path / "count"
    feed.publish("0.2.0", *(["--data-format", "other"] if data_format == "other" else []))
    update, killable = ("update", "--data-dir", str(folder)), {"HEARTH_TEST_MODULE": "tests.swarm.killed_update"}
    root = copy(fresh, tmp_path / "installed")
    updates.begin(root, folder)
    updates.call(folder, "pause")
    updates.call(folder, "set_settings", {"changes": {"price_kwh": 0.31}})
    key = (folder / "identity.key").read_bytes()
    assert start(root, *update, **killable, COUNTS_TO=str(count)).returncode == 0
    found = []
    for moment in random.Random(SEED).sample(range(1, int(count.read_text())), KILLS):
        updates.end(folder)
        root = copy(fresh, tmp_path / "installed")
        updates.begin(root, folder)
        start(root, *update, **killable, DIES_AT=str(moment))
        power_fails(root)
        updates.begin(root, folder)
        found.append(start(root, "which").stdout.strip())
        assert found[-1] in ("0.1.0", "0.2.0"), moment
        assert (folder / "identity.key").read_bytes() == key, moment
        assert updates.call(folder, "status")["state"] == "paused", moment
        assert updates.call(folder, "subscribe")["settings"]["price_kwh"] == 0.31, moment
    assert "0.1.0" in found
