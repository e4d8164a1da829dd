"""What must hold of trunks and is no figure: tests with real workers or peers that assert it."""

import subprocess
import sys
from typing import Any, NamedTuple

from tests.bench.machine import progress
from tests.workers import ROOT

SCENARIO, UNIT = "tests/scenarios/test_", "tests/unit/test_"


class Check(NamedTuple):
    """Tests that assert one thing."""

    what: str
    arguments: tuple[str, ...]
    """Of pytest."""
    quick: bool = False
    """Whether they take seconds."""


CHECKS = (
    Check(
        "the linear program has its special cases, no link above its bandwidth, the same bytes everywhere",
        (f"{UNIT}averaging_plan.py",),
        True,
    ),
    Check("VC-ASGD, P1C1T1: plain SGD, bit for bit", (f"{UNIT}vc_asgd.py", "-k", "bit_for_bit"), True),
    Check("DeDLOC: a killed or frozen trainer costs a round at most", (f"{SCENARIO}dedloc.py",)),
    Check("DeDLOC: a trainer whose network is cut for a minute costs a round at most", (f"{SCENARIO}dedloc_cut.py",)),
    Check("DiLoCo: a frozen trainer costs the grace at most; a killed syncer is replaced", (f"{SCENARIO}diloco.py",)),
    Check("VC-ASGD: a killed server is replaced, nothing accepted is lost", (f"{SCENARIO}vc_asgd.py",)),
    Check("DeDLOC: a bad trainer is named, the others continue", (f"{UNIT}dedloc_peers.py", "-k", "bad_trainer")),
    Check("DiLoCo: one liar of eight costs 3% at most and is named", (f"{UNIT}trunk_peers.py", "-k", "liar")),
)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Each check, what pytest said last, and whether all tests of it passed.

    Args:
        quick: only those that take seconds.
    """
    return [_run(check) for check in CHECKS if check.quick or not quick]


def _run(check: Check) -> dict[str, Any]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *check.arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[-1]
    progress(f"{check.what}: {said}")
    return {"what": check.what, "said": said, "passed": done.returncode == 0 and "skipped" not in said}
