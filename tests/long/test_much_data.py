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
"""From a worker's start to its first trained batch, on a machine at rest."""
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


def cut(place: Path, data: Path, out: Path) -> str:
    """What `hearth run new` says. For one volunteer: nobody waits for an agreement."""
    chosen = ["--out", str(out), "--volunteers", "1", "--name", out.stem, "--yes"]
    made = hearth(data, "run", "new", str(place), *chosen, seconds=3600)
    assert made.returncode == 0, made.stderr
    return made.stdout


def trained(folder: Path, out: Path) -> dict[str, object]:
    """Figures of the organiser's PC, which has the data, and of one that joins it and is started again."""
    figures: dict[str, object] = {}
    one, two, run = folder / "one", folder / "two", manifests.load(str(out)).run_id
    start = time.monotonic()
    with worker(one, "--run", str(out), "--listen", HERE) as first:
        figures["the organiser trains after, s"] = round(begun(first, start), 1)
        address = hearth(one, "address").stdout.strip()
        start = time.monotonic()
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address) as second:
            figures["who joins trains after, s"] = round(begun(second, start), 1)
            wait_until(lambda: len(shards.here(two / "runs" / run)) >= 12, "some are here")
            time.sleep(WATCHED_S)  # not for something to happen, but to see how much memory it takes
            figures["memory of the organiser, MB"], figures["memory of who joins, MB"] = memory(first), memory(second)
            figures["shards of who joins"] = len(shards.here(two / "runs" / run))
        start = time.monotonic()
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address) as again:
            before = again.status().samples
            again.until(lambda status: status.samples > before > 0, "it goes on", 120)
            figures["it goes on after a restart after, s"] = round(time.monotonic() - start, 1)
            assert not again.status().attention
    return figures


def test_much_text_is_trained_on_at_once_and_in_little_memory(folder: Path) -> None:
    """Beside the same model on little text, on the same machine."""
    for name in ("much", "little"):
        (folder / name / "texts").mkdir(parents=True)
    start = time.monotonic()
    generated(folder / "much" / "texts")
    print(f"{SIZE // 1_000_000} MB generated in {time.monotonic() - start:.0f} s.")
    start = time.monotonic()
    print(cut(folder / "much" / "texts", folder / "much" / "one", folder / "much.toml"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"hearth run new took {time.monotonic() - start:.0f} s and {peak} MB of memory.")
    shutil.rmtree(folder / "much" / "texts")
    for number in range(400):
        (folder / "little" / "texts" / f"{number}.txt").write_text(f"{number} " * 800)
    cut(folder / "little" / "texts", folder / "little" / "one", folder / "little.toml")
    model = (folder / "much.toml").read_text().partition("[model]")[2]
    little = (folder / "little.toml").read_text().partition("[model]")[0]
    (folder / "little.toml").write_text(f"{little}[model]{model}")

    found = {name: trained(folder / name, folder / f"{name}.toml") for name in ("little", "much")}
    print(json.dumps(found, indent=1))
    assert peak < 200
    for who in ("memory of the organiser, MB", "memory of who joins, MB"):
        usual, here = found["little"][who], found["much"][who]
        assert isinstance(usual, dict) and isinstance(here, dict)
        assert all(here[process] - usual[process] < DATA_BYTES >> 20 for process in here)
    for who in ("the organiser trains after, s", "who joins trains after, s"):
        usually, seconds = found["little"][who], found["much"][who]
        assert isinstance(usually, float) and isinstance(seconds, float)
        assert seconds < max(BEGINS_S, 2 * usually)
