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

from core.contracts.ledger import Yield
from tests.bench.machine import progress, spread
from tests.returns import GRACE_S, Return, User, recorded, returns, yielding_worker
from tests.virtual_screen import desktop
from tests.workers import hearth

RETURNS = 50
WAIT_S = 8.0
"""The longest time that is trained before a return: longer than coming back takes."""
IDLE_S = 30.0
"""Over which the policy's cost is taken."""
SLOWEST = 5
"""Returns that are told one by one."""


def measure(quick: bool, count: int | None) -> dict[str, Any]:
    """Run the benchmark; `quick` has ten returns, `count` any number, each with one run and with two."""
    wanted = count or (10 if quick else RETURNS)
    with desktop() as env, patch.dict(os.environ, env, clear=True):
        seen, kept, core_percent = _returns(wanted, [])
        both, of_both, _ = _returns(wanted, ["text"])
    whole = [_whole_ms(back, [stop]) for back, stop in zip(seen, kept, strict=True)]
    slower = [_whole_ms(back, of_both[at : at + 2]) for back, at in zip(both, range(0, len(of_both), 2), strict=True)]
    stages = [_stages(back, found) for back, found in zip(seen, kept, strict=True)]
    slowest = sorted(zip(whole, stages, seen, strict=True), key=lambda one: -one[0])[:SLOWEST]
    return {
        "input_to_last_kernel_ms": spread(whole),
        "within_250_ms": spread(whole)["p95"] <= 250,
        "two_runs": {"input_to_last_kernel_ms": spread(slower), "within_250_ms": spread(slower)["p95"] <= 250},
        "parts_ms": {name: spread([parts[name] for parts in stages]) for name in stages[0]},
        "slowest": [
            {"ms": round(ms, 1), "parts_ms": parts, "input": back.command, "load": round(back.load, 1)}
            for ms, parts, back in slowest
        ],
        "memory_gone_after_grace_s": spread([back.gone_s - GRACE_S for back in seen]),
        "input_to_training_again_s": spread([back.resumed_s for back in seen if back.resumed_s]),
        "policy_core_percent_at_rest": core_percent,
    }


def _returns(wanted: int, joined: list[str]) -> tuple[list[Return], list[Yield], float]:
    """Come back to a PC again and again.

    Args:
        wanted: so many times.
        joined: runs that it trains beside the digits.

    Returns:
        What was seen from outside, what the worker recorded, and what its policy costs.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        with yielding_worker(folder) as running:
            for run in joined:
                hearth(folder, "run", "join", run, "--yes").check_returncode()
            for back in returns(running, User(seed=1), wanted, WAIT_S, 1 + len(joined)):
                seen.append(back)
                progress(
                    f"return {len(seen)}: {running.status().yields.last_ms:.0f} ms, gone {back.gone_s - GRACE_S:.1f} s"
                )
            running.call("pause")
            core_percent = 0.0 if joined else _cost(running.process.pid)
        return seen, recorded(folder), core_percent


def _whole_ms(back: Return, stops: list[Yield]) -> float:
    """Milliseconds from the input to the end of the last kernel of all runs."""
    return max(1000 * (stop.time - back.input) + stop.stop_ms for stop in stops)


def _stages(back: Return, found: Yield) -> dict[str, float]:
    """Milliseconds of each part of a return, one after the other."""
    parts = {
        "xdotool_to_input": 1000 * (found.time - back.input),
        "input_to_noticed": found.noticed_ms,
        "noticed_to_told": found.told_ms - found.noticed_ms,
        "told_to_last_kernel": max(0.0, found.stop_ms - found.told_ms),
    }
    return {name: round(ms, 1) for name, ms in parts.items()}


def _cost(pid: int) -> float:
    """Share of a core that the worker takes while it only watches, with nobody connected: policy and all else."""
    process = psutil.Process(pid)
    time.sleep(3.0)
    before, began = process.cpu_times(), time.monotonic()
    time.sleep(IDLE_S)
    after, elapsed = process.cpu_times(), time.monotonic() - began
    return round(100 * (after.user + after.system - before.user - before.system) / elapsed, 3)
