"""A decoder of 8 layers and width 256, asked through three workers on loopback: tokens a second, and how long an answer
stands still when a host is killed in the middle of it."""

import contextlib
import re
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from core.contracts.control import Continued, GenerateParams
from core.control.client import ControlClient
from core.store import shards
from tests.bench.machine import progress, spread
from tests.workers import HERE, PATIENCE_S, RunningWorker, Workers, hearth, wait_until

MODEL = {"layers": 8, "grid": [4, 4], "width": 256, "hidden": 256, "heads": 8, "kv_heads": 4, "sequence": 128, "k": 2}
EXPERTS = 128
LENGTH, ROUNDS, QUICK = 100, 5, 2
"""Tokens of an answer, and answers."""
KILL_AT, KILLED_LENGTH = 40, 110
"""Tokens of the answer in whose middle a host is killed: all that the model sees at once."""
HOSTS = ("host,train", "host", "host")
"""Roles; the first is asked. It trains as well, which waits while it answers."""


def measure(quick: bool) -> dict[str, Any]:
    """Ask, then ask and kill.

    Returns:
        Tokens a second of each answer, milliseconds between two tokens, those of a core's time that all three workers
        took for one (what a busy machine changes little), the share of experts' answers that came from
        other workers, and for the killed host the longest pause after it, seconds.
    """
    with tempfile.TemporaryDirectory() as name, Workers() as workers:
        folder = Path(name)
        run, known = str(_organised(folder)), list[str]()
        started: list[RunningWorker] = []
        for number, roles in enumerate(HOSTS):
            at = folder / str(number)
            started.append(workers.start(at, "--run", run, "--listen", HERE, "--role", roles, *known))
            known = known or ["--bootstrap", hearth(at, "address").stdout.strip()]
        hosted = wait_until(lambda: _spread(started), "experts of each worker", 2 * PATIENCE_S)
        progress(f"hosted: {hosted}")
        answers = [_asked(started, LENGTH) for _ in range(1 + (QUICK if quick else ROUNDS))][1:]
        rates = [answer["per_s"] for answer in answers]
        progress(f"tokens a second: {rates}")
        killed = _asked(started, KILLED_LENGTH, kill=started[2])
        return {
            "model": MODEL,
            "hosted": hosted,
            "per_s": round(statistics.median(rates), 1),
            "each_per_s": rates,
            "ms_between_tokens": spread([ms for answer in answers for ms in answer["ms"]]),
            "cpu_ms": spread([answer["cpu_ms"] for answer in answers]),
            "share_from_others": statistics.mean(answer["others"] for answer in answers),
            "killed": {name: killed[name] for name in ("tokens", "longest_pause_s", "per_s")},
        }


def _organised(folder: Path) -> Path:
    """A signed run of tokens of this Python's manual."""
    texts, out = folder / "texts", folder / "talk.toml"
    texts.mkdir()
    for number, page in enumerate(shards.local_text()[:1_000_000].split(b"\n\n\n")):
        (texts / f"{number}.txt").write_bytes(page)
    new = ("run", "new", str(texts), "--yes", "--name", "talk", "--template", "decoder", "--out", str(out))
    made = hearth(folder / "0", *new)
    assert made.returncode == 0, made.stderr
    text = out.read_text("utf8")
    for field, value in MODEL.items():
        text = re.sub(rf"^{field} = .*$", f"{field} = {value}", text, flags=re.MULTILINE)
    out.write_text(text, "utf8")
    signed = hearth(folder / "0", "run", "sign", str(out))
    assert signed.returncode == 0, signed.stderr
    return folder / "talk.signed.json"


def _spread(workers: list[RunningWorker]) -> list[int] | None:
    """Experts of each worker, once all are hosted and each has about as many."""
    counts = [len(worker.status().experts) for worker in workers]
    progress(f"{counts}")
    return counts if sum(counts) == EXPERTS and min(counts) > EXPERTS // 5 else None


def _asked(workers: list[RunningWorker], length: int, kill: RunningWorker | None = None) -> dict[str, Any]:
    """An answer of the first one; another one may be killed in its middle."""
    family = [process for worker in workers for process in _processes(worker)]
    times: list[float] = []
    hosts: list[str] = []

    def each(piece: dict[str, Any]) -> None:
        times.append(time.monotonic())
        hosts.extend(answer["host"] for answer in piece["experts"])
        if kill and len(times) == KILL_AT:
            kill.process.kill()

    start, cpu = time.monotonic(), _cpu_s(family)
    params = GenerateParams("The for statement is used to ", length, 1.0, seed=1)
    with ControlClient(workers[0].folder) as client:
        done = client.call("generate", params, Continued, PATIENCE_S, each)
    gaps = [after - before for before, after in pairwise(times)]
    return {
        "tokens": done.written,
        "per_s": round(done.written / (time.monotonic() - start), 1),
        "cpu_ms": 1000 * (_cpu_s(family) - cpu) / done.written,
        "ms": [1000 * gap for gap in gaps],
        "others": round(sum(host not in ("local", "") for host in hosts) / len(hosts), 2),
        "longest_pause_s": round(max(gaps[KILL_AT - 1 :], default=0.0), 2),
    }


def _processes(worker: RunningWorker) -> list[psutil.Process]:
    one = psutil.Process(worker.process.pid)
    return [one, *one.children(recursive=True)]


def _cpu_s(processes: list[psutil.Process]) -> float:
    """Of a core, so far; one that has ended counts no more."""
    seconds = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += sum(process.cpu_times()[:2])
    return seconds
