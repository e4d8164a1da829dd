"""The user's limits of bandwidth, as the network interfaces of namespaces count them."""

import json
import subprocess
import sys
from typing import Any

import pytest

from core.identity import Identity
from tests.swarm.home_line import counted
from tests.swarm.namespaces import ROOT, Internet, impossible

SECONDS = 6.0
BEGUN = 500_000
"""Bytes that were on their way, or in the windows of two connections, when the limit was set."""


@pytest.fixture(scope="module")
def possible() -> None:
    if reason := impossible():
        pytest.fail(reason)


def load(upload: int, download: int) -> dict[str, Any]:
    """One limited peer between two others, of which one is sent four times as many calls at once as the other."""
    pipe = subprocess.PIPE
    with Internet() as internet:
        peers = []
        for name, at_once in (("one", 4), ("two", 1)):
            host, identity = internet.host(name), Identity.generate()
            command = [sys.executable, "-m", "tests.swarm.echo_peer", identity.seed.hex(), "0.0.0.0:4401"]
            process = host.start(command, stdin=pipe, stdout=pipe, cwd=ROOT)
            assert process.stdout is not None and process.stdout.readline()
            peers.append([identity.peer.hex(), [f"{host.address}:4401"], at_once])
        host = internet.host("limited")
        arguments = json.dumps([upload, download, SECONDS, peers])
        command = [sys.executable, "-m", "tests.swarm.limited_peer", arguments]
        process = host.start(command, stdin=pipe, stdout=pipe, cwd=ROOT)
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        before = counted(host)
        process.stdin.write("\n")
        process.stdin.flush()
        figures: dict[str, Any] = json.loads(process.stdout.readline())
        after = counted(host)
        figures["counted"] = [b - a for a, b in zip(before, after, strict=True)]
        return figures


@pytest.mark.parametrize(("upload", "download"), [(400_000, 0), (0, 400_000), (100_000, 0)])
def test_a_limit_is_kept_by_the_networks_own_count(possible: None, upload: int, download: int) -> None:
    figures = load(upload, download)
    received, sent = figures["counted"]
    assert figures["alive"]  # slow, but nobody gave up or was banned
    for count, limit in ((sent, upload), (received, download)):
        if limit:
            assert 0.5 * limit < count / figures["seconds"] < 1.05 * limit + BEGUN / figures["seconds"]
    few, many = sorted(figures["echoes"])
    assert few >= 0.4 * many - 1  # four calls at once are no four turns
    assert figures["small_s"] < 2.0  # questions pass what is large
    for moved, count in zip(figures["moved"], figures["counted"], strict=True):
        assert moved == pytest.approx(count, rel=0.1)
