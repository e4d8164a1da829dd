"""5 GB of text in 5,000 shards: training begins at once, memory stays bounded, a restart goes on.

`HEARTH_MUCH_MB=500 make test-long ARGS=...` takes less. Figures are printed. It needs twice as much disk.
"""

import json
import os
import random
import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts import manifest as manifests
from core.store import shards
from tests.workers import HERE, RunningWorker, hearth, wait_until, worker

SIZE = int(os.environ.get("HEARTH_MUCH_MB", "5000")) * 1_000_000
FILES = 25
BEGINS_S = 10.0
"""From a worker's start to its first trained batch; a busy machine may take twice as long."""
DATA_BYTES = 200 << 20
"""That the data may take of compute's memory, whatever their size."""
WATCHED_S = 60.0

pytestmark = pytest.mark.timeout(3 * 3600)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not where tests' folders are kept for a while."""
    place = Path(os.environ.get("TMPDIR", "/tmp"), f"hearth-much-{os.getpid()}")
    place.mkdir()
    yield place
    shutil.rmtree(place)


def generated(folder: Path) -> None:
    """Documents of some KB, of words that follow each other by chance."""
    chance = random.Random(5)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(5000)]
    for number in range(FILES):
        with (folder / f"{number}.jsonl").open("w") as file:
            written = 0
            while written < SIZE // FILES:
                written += file.write(json.dumps({"text": " ".join(chance.choices(words, k=chance.randint(50, 1500)))}))
                written += file.write("\n")


def memory(of: RunningWorker) -> dict[str, int]:
    """MB of its processes."""
    compute = of.compute()
    found = {"worker": psutil.Process(of.process.pid).memory_info().rss >> 20}
    return found | ({"compute": compute.memory_info().rss >> 20} if compute else {})


def begun(of: RunningWorker, start: float) -> float:
    of.until(lambda status: status.step > 0, "the first batch", 120)
    return time.monotonic() - start


def test_much_text_is_trained_on_at_once_and_in_little_memory(folder: Path) -> None:
    figures: dict[str, object] = {"MB": SIZE // 1_000_000}
    (texts := folder / "texts").mkdir()
    generated(texts)
    one, two, out = folder / "one", folder / "two", folder / "much.toml"
    start = time.monotonic()
    made = hearth(one, "run", "new", str(texts), "--out", str(out), "--name", "much", "--yes", seconds=3600)
    assert made.returncode == 0, made.stderr
    figures["run new, s"] = round(time.monotonic() - start, 1)
    figures["run new, MB of memory"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(made.stdout)
    shutil.rmtree(texts)
    run = manifests.load(str(out)).run_id
    small = folder / "small"
    (small / "texts").mkdir(parents=True)
    for number in range(400):
        (small / "texts" / f"{number}.txt").write_text(f"{number} " * 800)
    figures |= {"without much data: " + name: value for name, value in usual(small, out).items()}

    start = time.monotonic()
    with worker(one, "--run", str(out), "--listen", HERE) as first:
        figures["organiser trains after, s"] = round(begun(first, start), 1)
        address = hearth(one, "address").stdout.strip()
        start = time.monotonic()
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address) as second:
            figures["who joins trains after, s"] = round(begun(second, start), 1)
            wait_until(lambda: len(shards.here(two / "runs" / run)) >= 22, "some are ahead")
            time.sleep(WATCHED_S)  # not for something to happen, but to see how much memory it takes
            figures["organiser"], figures["who joins"] = memory(first), memory(second)
            figures["shards of who joins"] = len(shards.here(two / "runs" / run))
            samples = second.status().samples
        start = time.monotonic()
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address) as again:
            again.until(lambda status: status.samples > samples, "it goes on", 120)
            figures["goes on after a restart after, s"] = round(time.monotonic() - start, 1)
            assert not again.status().attention
    print(json.dumps(figures, indent=1))
    usually, here = figures["without much data: compute"], figures["who joins"]
    assert isinstance(here, dict) and isinstance(usually, int)
    assert here["compute"] - usually < DATA_BYTES >> 20
    assert here["worker"] < 200
    assert isinstance(seconds := figures["who joins trains after, s"], float) and seconds < 2 * BEGINS_S


def usual(folder: Path, like: Path) -> dict[str, int]:
    """Memory of the same model on little data."""
    made = hearth(
        folder, "run", "new", str(folder / "texts"), "--out", str(folder / "x.toml"), "--name", "little", "--yes"
    )
    assert made.returncode == 0, made.stderr
    lines, text = like.read_text().split("[model]"), (folder / "x.toml").read_text().split("[model]")
    (folder / "x.toml").write_text(text[0] + "[model]" + lines[1])
    with worker(folder, "--run", str(folder / "x.toml"), "--listen", HERE) as running:
        running.until(lambda status: status.step > 8, "some batches", 120)
        return memory(running)
