"""One server of experts: its throughput under several clients, its start and memory; the names are the anchor's.

The server is `hearth worker --role host` on a manifest of its own, with its compute process; each client is a process.
The experts are of the anchor's kind: width -> 4 width -> width. A client keeps some calls in flight, as a trainer does;
forward + backward means a forward pass, and a backward pass that runs forward again and gathers gradients for steps of
at least `TARGET` samples (the anchor steps at each call).
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench import pauses
from tests.bench.anchor import memory, milliseconds
from tests.bench.machine import progress
from tests.workers import HERE, ROOT, RunningWorker, hearth, wait_until, worker

RUN = "bench"
CLIENTS, EXPERTS, IN_FLIGHT = 4, 4, 2
TARGET = 512
CASES: tuple[tuple[int, int, str, str], ...] = (
    (256, 64, "fp32", "fp32"),
    (1024, 512, "fp32", "fp32"),
    (1024, 512, "fp16", "fp32"),
    (1024, 512, "fp16", "bf16"),
)
"""Width, batch, codec and products, as in a manifest."""
LONG_S = 3600.0
THREADS = os.cpu_count() or 1
"""Of the server, as many as the anchor's has: torch's default."""
START_WIDTH, START_EXPERTS = 256, 64


def throughputs(quick: bool) -> list[dict[str, Any]]:
    """Samples/s of each case, the middle of the repeats."""
    seconds, repeats = (2.0, 1) if quick else (5.0, 3)
    figures = []
    for case in CASES[: 1 if quick else None]:
        runs = sorted((_throughput(*case, seconds) for _ in range(repeats)), key=lambda run: run["samples_per_s"])
        figures.append(runs[len(runs) // 2] | {"samples_per_s_runs": [run["samples_per_s"] for run in runs]})
        progress(f"throughput: {figures[-1]}")
    return figures


def starts(quick: bool) -> list[dict[str, Any]]:
    """Start and memory of a host with many experts, the middle of the repeats."""
    runs = sorted((_start() for _ in range(1 if quick else 3)), key=lambda start: start["cold_start_s"])
    return [runs[len(runs) // 2]]


@contextlib.contextmanager
def server(width: int, experts: int, products: str = "fp32") -> Iterator[tuple[RunningWorker, float]]:
    """A host of so many experts that serves them all, and the seconds from its start until it did."""
    manifest = {
        "version": 1,
        "run": RUN,
        "title": "Benchmark",
        "data": "digits",
        "model": {
            "kind": "ffn_dmoe",
            "layers": 1,
            "grid": [experts],
            "width": width,
            "hidden": 4 * width,
            "expert": "transformer_ffn",
            "k": min(4, experts),
        },
        "training": {
            "batch": 32,
            "trunk_rate": 0.001,
            "expert_rate": 0.001,
            "warmup_samples": 1000,
            "decay_samples": 1_000_000,
            "target_samples": TARGET,
            "max_age_s": 5.0,
            "clip": 1.0,
            "balance": 0.01,
            "in_flight": 1,
            "evaluate_every": 1_000_000,
            "seed": 1,
            "products": products,
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.json"
        path.write_text(json.dumps(manifest))
        data = Path(folder) / "data"
        data.mkdir()
        (data / "settings.json").write_text(json.dumps({"version": 1, "threads": THREADS}))
        began = time.perf_counter()
        with worker(data, "--run", str(path), "--role", "host", "--listen", HERE) as running:
            wait_until(lambda: _serving(running) == experts, "all experts")
            yield running, time.perf_counter() - began


def _serving(running: RunningWorker) -> int:
    status = running.status()
    return len(status.experts) if status.state == "contributing" else 0


def _throughput(width: int, batch: int, encoding: str, products: str, seconds: float) -> dict[str, Any]:
    with (
        server(width, EXPERTS, products) as (running, _),
        _clients(running, width, batch, encoding, seconds) as clients,
    ):
        results = [_line(client) for client in clients]
        used = memory(processes(running))
    return {
        "hid_dim": width,
        "batch_size": batch,
        "codec": encoding if products == "fp32" else f"{encoding}, products in {products}",
        "clients": CLIENTS,
        "experts": EXPERTS,
        "samples_per_s": round(sum(result["samples"] / result["elapsed"] for result in results), 1),
        "call_ms": milliseconds([duration for result in results for duration in result["durations"]]),
        "server_memory": used,
    }


@contextlib.contextmanager
def _clients(
    running: RunningWorker, width: int, batch: int, encoding: str, seconds: float
) -> "Iterator[list[subprocess.Popen[str]]]":
    """Clients that have warmed up and call for so long; each says a line at the end."""
    command, pipe = _client(running, width, EXPERTS, batch, encoding, seconds), subprocess.PIPE
    clients = [subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(CLIENTS)]
    try:
        for client in clients:
            _line(client)
        for client in clients:
            assert client.stdin
            client.stdin.write("go\n")
            client.stdin.flush()
        yield clients
    finally:
        for client in clients:
            client.kill()
            client.communicate()


def yields(quick: bool) -> dict[str, Any]:
    """How fast the machine is given back while the largest experts of `CASES` are served."""
    width, batch, encoding, products = CASES[-1]
    with server(width, EXPERTS, products) as (running, _), _clients(running, width, batch, encoding, LONG_S):
        return {"hid_dim": width, "batch_size": batch, **pauses.measure(running, 4 if quick else 20)}


def _client(running: RunningWorker, width: int, experts: int, batch: int, encoding: str, seconds: float) -> list[str]:
    """The command line of a client."""
    address = hearth(running.folder, "address").stdout.strip()
    command = [sys.executable, "-m", "tests.bench.server_client", f"--server={address}", f"--width={width}"]
    command += [f"--run-id={running.status().run_id}"]
    command += [f"--uids={','.join(f'{RUN}.0.{index}' for index in range(experts))}", f"--batch-size={batch}"]
    return [*command, f"--codec={encoding}", f"--seconds={seconds}", f"--in-flight={IN_FLIGHT}"]


def _line(client: "subprocess.Popen[str]") -> Any:
    assert client.stdout
    line = client.stdout.readline()
    assert line, "a client has ended"
    return json.loads(line)


def _start() -> dict[str, Any]:
    """At the start, and after every expert has been called: an expert's weights take memory once it is used."""
    with server(START_WIDTH, START_EXPERTS) as (running, seconds):
        used = memory(processes(running))
        command = _client(running, START_WIDTH, START_EXPERTS, batch=1, encoding="fp32", seconds=0.0)
        subprocess.run(command, cwd=ROOT, input="go\n", stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        then = memory(processes(running))
    figures = {"experts": START_EXPERTS, "hid_dim": START_WIDTH, "cold_start_s": round(seconds, 2), "memory": used}
    return {**figures, "memory_after_calls": then}


def processes(running: RunningWorker) -> list[int]:
    process = psutil.Process(running.process.pid)
    return [process.pid, *(child.pid for child in process.children(recursive=True))]
