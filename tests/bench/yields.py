"""How fast the machine is given back: a user's return, at random moments, to the end of the last kernel.

Real input by xdotool on a virtual screen, a real worker; the parts are those that the worker records, the whole is
taken from outside: from before xdotool begins to the end of the last kernel.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from tests.bench.machine import progress, spread
from tests.returns import GRACE_S, User, recorded, returns, yielding_worker
from tests.virtual_screen import desktop

RETURNS = 50
WAIT_S = 8.0
"""The longest time that is trained before a return: longer than coming back takes."""
IDLE_S = 30.0
"""Over which the policy's cost is taken."""


def measure(quick: bool, count: int | None) -> dict[str, Any]:
    """Run the benchmark; `quick` has ten returns, `count` any number."""
    wanted = count or (10 if quick else RETURNS)
    with tempfile.TemporaryDirectory() as name, desktop() as env, patch.dict(os.environ, env, clear=True):
        folder = Path(name)
        with yielding_worker(folder) as running:
            seen = []
            for back in returns(running, User(seed=1), wanted, WAIT_S):
                seen.append(back)
                progress(
                    f"return {len(seen)}: {running.status().yields.last_ms:.0f} ms, gone {back.gone_s - GRACE_S:.1f} s"
                )
            running.call("pause")
            core_percent = _cost(running.process.pid)
        kept = recorded(folder)
    whole = [1000 * (y.time - back.input) + y.stop_ms for back, y in zip(seen, kept, strict=True)]
    p95 = spread(whole)["p95"]
    return {
        "input_to_last_kernel_ms": spread(whole),
        "within_250_ms": p95 <= 250,
        "parts_ms": {
            "xdotool_to_input": spread([1000 * (y.time - back.input) for back, y in zip(seen, kept, strict=True)]),
            "input_to_noticed": spread([y.noticed_ms for y in kept]),
            "noticed_to_told": spread([y.told_ms - y.noticed_ms for y in kept]),
            "told_to_last_kernel": spread([max(0.0, y.stop_ms - y.told_ms) for y in kept]),
        },
        "memory_gone_after_grace_s": spread([back.gone_s - GRACE_S for back in seen]),
        "input_to_training_again_s": spread([back.resumed_s for back in seen if back.resumed_s]),
        "policy_core_percent_at_rest": core_percent,
    }


def _cost(pid: int) -> float:
    """Share of a core that the worker takes while it only watches, with nobody connected: policy and all else."""
    process = psutil.Process(pid)
    time.sleep(3.0)
    before, began = process.cpu_times(), time.monotonic()
    time.sleep(IDLE_S)
    after, elapsed = process.cpu_times(), time.monotonic() - began
    return round(100 * (after.user + after.system - before.user - before.system) / elapsed, 3)
