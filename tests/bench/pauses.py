"""How fast the machine is given back: `hearth pause` again and again."""

import subprocess
import sys
import time
from typing import Any

from core.contracts.status import Status
from core.control.client import ControlClient
from tests.bench.machine import progress, spread
from tests.workers import ROOT, RunningWorker, wait_until


def measure(running: RunningWorker, count: int) -> dict[str, Any]:
    """Pause and resume a worker that is busy.

    Returns:
        Milliseconds. `command`: from the start of the command to the moment the worker says that compute has stopped,
        so with the command's own start-up, and more than the user's wait. `worker`: from the request's arrival to the
        end of the last kernel, as the worker measures it and the app shows it.
    """
    commands, inside = [], []
    with ControlClient(running.folder) as client:
        for number in range(count):
            running.until(lambda status: status.samples_per_s > 0 or status.calls_per_s > 0, "work")
            time.sleep(0.1 + 0.037 * number)  # not always at the same place between two reports
            before = _status(client).yields.count
            start = time.monotonic()
            command = [sys.executable, "-m", "core", "pause", "--data-dir", str(running.folder)]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL):
                stopped = wait_until(lambda: _if_more_yields(client, before), "a measured stop")  # noqa: B023
                commands.append((time.monotonic() - start) * 1000)
            inside.append(stopped.yields.last_ms)
            progress(f"pause {number + 1}: {commands[-1]:.0f} ms, of that in the worker {inside[-1]:.1f} ms")
            running.call("resume")
    return {"command": spread(commands), "worker": spread(inside)}


def _status(client: ControlClient) -> Status:
    return client.call("status", {}, Status)


def _if_more_yields(client: ControlClient, count: int) -> Status | None:
    status = _status(client)
    return status if status.yields.count > count else None
