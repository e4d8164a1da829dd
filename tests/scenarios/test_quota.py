"""A month's traffic that is used up: two whole workers, and what the network interface of one counts."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import torch

from core.community.reading import read_only
from core.contracts.ledger import Amounts
from core.contracts.notices import notice
from core.contracts.status import Status
from core.runtime.part_files import Part
from tests.experts import pack
from tests.swarm.namespaces import ROOT, Host, Internet, impossible
from tests.swarm.nat_workers import PORT, WorkerPeer
from tests.workers import DIGITS, PATIENCE_S, contributed, wait_until

QUOTA, USED = 2_000_000, 1_300_000
"""Bytes a month, and those that were moved before."""
BEYOND = 150_000
"""Bytes: a second of the slowest rate both ways, saying goodbye, and peers that knock and are turned away."""


@pytest.fixture
def internet() -> Iterator[Internet]:
    if reason := impossible():
        pytest.fail(reason)
    with Internet() as made:
        yield made


def counted(host: Host) -> int:
    """Bytes both ways by its cable."""
    line = next(line for line in host.inside("cat", "/proc/net/dev").splitlines() if "eth0" in line)
    fields = line.partition(":")[2].split()
    return int(fields[0]) + int(fields[8])


def status(peer: WorkerPeer) -> Status:
    return msgspec.json.decode(peer.host.inside(*peer._command("status", "--json")), type=Status)


@pytest.fixture
def blob(tmp_path: Path) -> str:
    """Hash of a file of 1 MiB that the worker in `tmp_path`/b keeps for others."""
    data = pack("digits", "digits.0.0.0", Part({"weights": torch.zeros(1 << 18)}, 1))
    sha256 = hashlib.sha256(data).hexdigest()
    folder = tmp_path / "b" / "runs" / DIGITS / "blobs"
    folder.mkdir(parents=True)
    (folder / f"{sha256}.safetensors").write_bytes(data)
    return sha256


def test_a_month_whose_traffic_is_used_moves_no_more(internet: Internet, tmp_path: Path, blob: str) -> None:
    (tmp_path / "b" / "settings.json").write_text(json.dumps({"version": 3, "quota_mb": QUOTA // 10**6}))
    contributed(tmp_path / "b", Amounts(bytes_in=USED - 1000, bytes_out=1000))
    a = WorkerPeer(internet.host("a"), tmp_path / "a")
    b = WorkerPeer(internet.host("b"), tmp_path / "b", via=a)
    b.until_path(a, "direct")
    reader = [sys.executable, "-m", "tests.swarm.blob_reader", b.name, f"{b.host.address}:{PORT}", DIGITS, blob]
    internet.host("reader").start(reader, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT)

    wait_until(lambda: not status(b).network, "the end of the network")
    moved = counted(b.host)
    assert 0.8 * QUOTA < USED + moved < QUOTA + BEYOND
    row = next(rule for rule in status(b).why if rule.rule == "quota")
    assert row.live.code == "quota.live" and row.wants == notice("quota.wants", most=2_000_000)
    assert row.stops == ("network",) and row.until == (notice("month.until", end=row.until_time),)
    end = time.localtime(row.until_time)
    assert (end.tm_mday, end.tm_hour, end.tm_min) == (1, 0, 0) and end.tm_mon != time.localtime().tm_mon
    a.until_path(b, None)

    b.process.terminate()  # and it is not forgotten
    assert b.process.wait(PATIENCE_S) == 0
    kept = read_only(tmp_path / "b").totals(time.time()).all.amounts
    assert kept.bytes_in + kept.bytes_out - USED == pytest.approx(counted(b.host), rel=0.1)
    b = WorkerPeer(b.host, tmp_path / "b", via=a)
    assert not status(b).network and a.path(b) is None
    assert counted(b.host) < moved + BEYOND  # what the reader, which does not give up, knocks
