"""On a small screen that shows everything larger the window and its dialogs stay within it, and scroll."""

import json
import subprocess
import sys

import pytest

from tests import virtual_screen
from tests.workers import ROOT

SMALL = "1366x768x24"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("scale", [1, 1.25, 1.5, 2, 2.5])
def test_every_place_can_be_seen_and_reached(scale: float) -> None:
    with virtual_screen.desktop(SMALL) as screen:
        done = subprocess.run(
            [sys.executable, "-m", "tests.desktop.scaled"],
            env={**screen, "QT_SCALE_FACTOR": str(scale)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
            timeout=800,
        )
    assert json.loads(done.stdout.splitlines()[-1]) == []
