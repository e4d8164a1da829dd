"""Whole workers that are killed, frozen or leave: the others go on, and soon know it."""

import signal
import statistics
import time
from pathlib import Path

from core.contracts.network_status import DhtRecord, DhtStatus
from tests.scenarios.test_network import HERE, address, network
from tests.workers import RunningWorker, hearth, start_paused, wait_until, worker

READ_S = 3.0
"""By which half of the reads may take longer than those before did on this machine, ten times over."""
EXPERT = "digits.0.1.3"
reads_s: list[float] = []


def dht(running: RunningWorker) -> DhtStatus:
    return running.ask("dht_stats", {}, DhtStatus)


def hosts(running: RunningWorker, uid: str = EXPERT) -> list[str]:
    """The hosts of an expert, read from the network."""
    began = time.monotonic()
    records = running.ask("dht_get", {"key": uid}, list[DhtRecord])
    reads_s.append(time.monotonic() - began)
    return [record.peer for record in records]


def test_a_killed_host_vanishes_and_a_frozen_peer_holds_up_nobody(tmp_path: Path) -> None:
    known: tuple[str, ...] = ("--role", "backbone")
    for name in ("watcher", "frozen"):
        start_paused(tmp_path / name)
    with worker(tmp_path / "first", *known, "--listen", HERE) as first:
        known = ("--listen", HERE, "--bootstrap", address(first))
        with (
            worker(tmp_path / "watcher", *known) as watcher,
            worker(tmp_path / "frozen", *known) as frozen,
            worker(tmp_path / "host", "--role", "host", *known) as host,
        ):
            name = network(host).peer
            others = (first, watcher)
            for other in others:
                wait_until(lambda other=other: hosts(other) == [name], "the host in the hash table")  # type: ignore[misc]
                wait_until(lambda other=other: dht(other).experts == len(host.status().experts), "all in the mirror")  # type: ignore[misc]

            host.process.kill()
            host.process.wait()
            frozen.process.send_signal(signal.SIGSTOP)
            killed, usual_s = time.monotonic(), statistics.median(reads_s)
            reads_s.clear()

            def gone() -> bool:
                return all(hosts(other) == [] and dht(other).experts == 0 for other in others)

            wait_until(gone, "the end of a killed host in every directory")
            print(f"a killed host was gone from every directory after {time.monotonic() - killed:.0f} s")
            assert statistics.median(reads_s) < READ_S + 10 * usual_s
            wait_until(lambda: all(dht(other).contacts == 1 for other in others), "the end of both in every table")

            frozen.process.send_signal(signal.SIGCONT)
            wait_until(lambda: dht(first).contacts == 2 == dht(frozen).contacts, "the return of a frozen peer")
            frozen.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            assert hearth(watcher.folder, "quit").returncode == 0
            print(f"quit took {time.monotonic() - began:.1f} s with a frozen peer")
            frozen.process.send_signal(signal.SIGCONT)
