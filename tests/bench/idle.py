"""What a worker that knows many peers costs while nothing happens: its share of a core, and its memory.

The peers are light (transport and DHT only) and real: in a few processes on loopback, joined through the worker.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from core.contracts.network_status import DhtStatus, NetworkStatus
from core.net.addresses import parse_address
from tests.bench.machine import progress
from tests.workers import ROOT, RunningWorker, start_paused, wait_until, worker

PEERS, PROCESSES = 200, 4
JOIN_S = 180.0
SETTLE_S = 20.0
"""After the last has joined: records handed over, newcomers met."""


@contextlib.contextmanager
def light_peers(running: RunningWorker, count: int, processes: int) -> Iterator[None]:
    """Peers in processes of their own, all joined through the worker."""
    where = parse_address(running.ask("network", {}, NetworkStatus).address)
    known = [[where.peer.hex(), list(where.addresses)]]
    command = [sys.executable, "-m", "tests.swarm.dht_peers_process"]
    made = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    try:
        for process in made:
            assert process.stdin is not None
            process.stdin.write(json.dumps(["start", count // processes, known]) + "\n")
            process.stdin.flush()
        for process in made:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("A process of light peers ended. Its error is above.")
        yield
    finally:
        for process in made:
            process.kill()
            process.communicate()


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` measures for 30 s instead of two minutes."""
    seconds = 30.0 if quick else 120.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "worker"
        start_paused(folder)
        with (
            worker(folder, "--role", "host,backbone", "--listen", "127.0.0.1:0") as running,
            light_peers(running, PEERS, PROCESSES),
        ):
            progress("joined")

            def contacts() -> int:
                return running.ask("dht_stats", {}, DhtStatus).contacts

            wait_until(lambda: contacts() >= PEERS, f"{PEERS} peers known", JOIN_S)
            progress(f"{contacts()} peers known")
            time.sleep(SETTLE_S)
            found = _look(psutil.Process(running.process.pid), seconds)
            connected = len(running.ask("network", {}, NetworkStatus).peers)
            return {"peers": contacts(), "connected": connected, **found}


def _look(process: psutil.Process, seconds: float) -> dict[str, float]:
    before, began = process.cpu_times(), time.monotonic()
    time.sleep(seconds)
    after, elapsed = process.cpu_times(), time.monotonic() - began
    used = after.user + after.system - before.user - before.system
    memory = process.memory_info().rss / 2**20
    return {"seconds": round(elapsed, 1), "core_percent": round(100 * used / elapsed, 2), "rss_mb": round(memory, 1)}
