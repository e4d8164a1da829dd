"""The benchmark of the pages of a large swarm goes on running. How fast they are it tells, not a test."""

import json
import subprocess
import sys

from tests.workers import ROOT


def test_the_pages_of_a_large_swarm_are_measured() -> None:
    command = [sys.executable, "-m", "tests.bench.desktop_pages", "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["peers"], found["experts"]) == (5000, 10_000)
    assert found["page_change"].keys() == {"home", "model", "contribution", "network", "experts", "settings"}
    assert found["network_scrolling"]["frames"] == found["experts_new_calls"]["frames"] == 8
