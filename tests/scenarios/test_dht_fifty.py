"""Fifty peers in real processes: nothing written is lost, also when a third of them are killed."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kademlia.node import Node

from core.dht.crawl import REPLICAS
from core.dht.records import key_digest, node_id
from tests.workers import ROOT

PROCESSES, EACH = 10, 5
KILLED = 3
"""Processes, 30% of the peers."""
DEADLINE_S = 240.0
"""For what must happen, however busy the machine is."""
READ_S = 3.0
"""By which half of the reads may take longer after the deaths than they did before on this machine, ten times over."""
AGAIN = 0.5
"""Of the processes, the share that may have to read once more."""


class Process:
    """Five peers, driven by lines of JSON."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.swarm.dht_peers_process"]
        self.popen = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, name: str, *arguments: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps([name, *arguments]) + "\n")
        self.popen.stdin.flush()

    def answer(self) -> Any:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, "the process has ended"
        return json.loads(line)

    def ask(self, name: str, *arguments: Any) -> Any:
        self.send(name, *arguments)
        return self.answer()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.communicate()


@pytest.fixture
def swarm() -> Iterator[tuple[list[Process], list[Any]]]:
    processes = [Process() for _ in range(PROCESSES)]
    try:
        known = processes[0].ask("start", EACH, [])
        for process in processes[1:]:
            process.send("start", EACH, known[:3])
        for process in processes[1:]:
            process.answer()
        yield processes, known
    finally:
        for process in processes:
            process.kill()


def test_fifty_peers(swarm: tuple[list[Process], list[Any]]) -> None:
    processes, known = swarm
    subkeys = [str(number) for number in range(40)]
    assert all(announce(processes))

    took, again = read_by_all(processes, subkeys)
    keys = [f"key{number}" for number in range(100)]
    assert all(processes[1].ask("store", *[[0, key, ""] for key in keys]))

    for process in processes[-KILLED:]:
        process.kill()
    left = processes[:-KILLED]
    later, once_more = read_by_all(left, subkeys)
    assert statistics.median(later) < READ_S + 10 * statistics.median(took)
    print(f"processes that read again, as not all was there: {again} at first, {once_more} after the deaths")
    assert again <= AGAIN * len(processes) and once_more <= AGAIN * len(left)

    newcomer_holds_the_right_records(left, known, keys)


def announce(processes: list[Process]) -> list[bool]:
    """40 writes by 40 peers at the same time, as those who host experts do every 20 s."""
    for number, process in enumerate(processes):
        process.send("store", *[[which, "digits.0.", str(4 * number + which)] for which in range(4)])
    return [stored for process in processes for stored in process.answer()]


def read_by_all(processes: list[Process], subkeys: list[str]) -> tuple[list[float], int]:
    """Every peer reads the prefix, in full and compact, until it has all: on a busy machine some calls come too late,
    and the next announcements make up for them. Returns the seconds of each pair of reads, and how many processes
    read again."""
    took, again, deadline = list[float](), set[Process](), time.monotonic() + DEADLINE_S
    for process in processes:
        while True:
            answers = process.ask("read", "digits.0.")
            took += [seconds for seconds, _, _ in answers]
            if all(full == compact == sorted(subkeys) for _, full, compact in answers):
                break
            again.add(process)
            announce(processes)
            assert time.monotonic() < deadline, answers
    return took, len(again)


def newcomer_holds_the_right_records(processes: list[Process], known: list[Any], keys: list[str]) -> None:
    """Of all peers alive, a newcomer holds what it is near to, and little else."""
    everybody = [text for process in processes for text, _ in process.ask("start", 0, [])]
    joining = Process()
    try:
        [[newcomer, _]] = joining.ask("start", 1, known[:3])

        def place(key: str) -> int:
            target = Node(key_digest(key))
            order = sorted([*everybody, newcomer], key=lambda t: target.distance_to(Node(node_id(bytes.fromhex(t)))))
            return order.index(newcomer)

        alive = {key for process in processes for held in process.ask("held") for key in held}
        right = {key for key in keys if place(key) < REPLICAS and key in alive}
        deadline = time.monotonic() + DEADLINE_S
        while not right <= (held := set(joining.ask("held")[0]) & set(keys)):
            assert time.monotonic() < deadline, f"{len(right - held)} of {len(right)} are missing"
        assert len(held) <= 2 * len(right) + 5, "not everything was handed over"
    finally:
        joining.kill()
