"""A home whose line carries 10 Mbit/s, in a namespace: what is sent there, and how long calls of experts take."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.contracts.ledger import Totals
from core.contracts.line import LineStatus
from core.contracts.status import Status
from core.identity import Identity
from tests.swarm.namespaces import ROOT, Host, Internet
from tests.swarm.nat_workers import WorkerPeer
from tests.workers import wait_until

MBIT, ROUND_TRIP_MS = 10.0, 40.0
QUARTER = MBIT * 125_000 / 4
"""Bytes a second."""
PEERS = 3
LOOK_S = 5.0


def counted(host: Host) -> tuple[int, int]:
    """Bytes received and sent by its cable."""
    line = next(line for line in host.inside("cat", "/proc/net/dev").splitlines() if "eth0" in line)
    fields = line.partition(":")[2].split()
    return int(fields[0]), int(fields[8])


class Caller:
    """A peer behind such a line that calls another's experts."""

    def __init__(self, internet: Internet, limited: bool) -> None:
        """
        Args:
            internet: where both are.
            limited: whether the limits hold that do so until the user chooses some.
        """
        pipe, program = subprocess.PIPE, [sys.executable, "-m", "tests.swarm.copying_peer"]
        other, home, identity = internet.host("other"), internet.host("home"), Identity.generate()
        home.limit(MBIT, ROUND_TRIP_MS)
        command = [*program, "served", identity.seed.hex(), "0.0.0.0:4401"]
        self._other = other.start(command, stdin=pipe, stdout=pipe, cwd=ROOT)
        assert self._other.stdout is not None and self._other.stdout.readline() == "ready\n"
        arguments = json.dumps([limited, identity.peer.hex(), f"{other.address}:4401"])
        self._home = home.start([*program, arguments], stdin=pipe, stdout=pipe, cwd=ROOT)
        assert self._home.stdout is not None and self._home.stdout.readline() == "ready\n"

    def calls(self, seconds: float, copied: bool) -> dict[str, Any]:
        """What it measured while it called experts; `copied`: while its files were copied as well."""
        assert self._home.stdin is not None and self._home.stdout is not None
        self._home.stdin.write(json.dumps([seconds, copied]) + "\n")
        self._home.stdin.flush()
        figures: dict[str, Any] = json.loads(self._home.stdout.readline())
        return figures


class Home:
    """A whole worker behind such a line, which trains with others from its first second on."""

    def __init__(self, internet: Internet, folder: Path, run: str) -> None:
        """
        Args:
            internet: where all are.
            folder: for their data.
            run: what they train.
        """
        arguments = ("--run", run, "--role", "host,train")
        first = WorkerPeer(internet.host("peer0"), folder / "peer0", *arguments, computes=True)
        for number in range(1, PEERS):
            host = internet.host(f"peer{number}")
            WorkerPeer(host, folder / host.name, *arguments, via=first, computes=True)
        host = internet.host("home")
        host.limit(MBIT, ROUND_TRIP_MS)
        self.began, self._before = time.monotonic(), counted(host)
        self.worker = WorkerPeer(host, folder / "home", *arguments, via=first, computes=True)

    def line(self) -> LineStatus:
        """The limits in force."""
        line = self.worker.ask("status", Status).line
        assert line is not None
        return line

    def sent(self) -> int:
        """Bytes, since its worker's start."""
        return counted(self.worker.host)[1] - self._before[1]

    def kinds(self) -> dict[str, int]:
        """Bytes sent by kind of traffic, by the ledger."""
        devices = self.worker.ask("totals", Totals).all.devices
        return {name.removeprefix("network."): it.bytes_out for name, it in devices.items() if "network." in name}

    def rates(self, seconds: float) -> list[tuple[float, float]]:
        """Look at what is sent, for so long after its start: seconds of each stretch, and bytes a second in it."""
        found, at, before = [], self.began, 0
        while at - self.began < seconds:
            time.sleep(max(0.0, at + LOOK_S - time.monotonic()))
            now, sent = time.monotonic(), self.sent()
            found.append((now - at, (sent - before) / (now - at)))
            at, before = now, sent
        return found


@contextlib.contextmanager
def home(folder: Path, run: str) -> Iterator[Home]:
    """A home whose worker has connected with all of the others."""
    with Internet() as internet:
        found = Home(internet, folder, run)
        wait_until(lambda: (seen := found.worker.network()) and seen.connected >= PEERS, "all peers")
        yield found
