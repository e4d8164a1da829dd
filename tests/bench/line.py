"""Behind a line of 10 Mbit/s with the limits that hold until the user chooses some.

What is sent from the first minute on with three peers, and how long calls of experts take while a checkpoint is copied;
the latter also without any limit.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.machine import progress
from tests.swarm.home_line import MBIT, QUARTER, ROUND_TRIP_MS, Caller, home
from tests.swarm.namespaces import Internet, impossible

REPETITIONS, QUICK_REPETITIONS = 5, 2
CALLS_S, SETTLE_S = 15.0, 5.0
MINUTES, QUICK_MINUTES = 5, 2
TIMES = 2.0
"""By which a call's p95 may rise beside a copy."""


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` repeats it less often.

    Raises:
        RuntimeError: this machine has no network namespaces.
    """
    if reason := impossible():
        raise RuntimeError(reason)
    calls = {name: _calls(name == "automatic", quick) for name in ("automatic", "none")}
    runs = {run: _sent(run, quick) for run in ("digits", "text")}
    return {
        "mbit": MBIT,
        "round_trip_ms": ROUND_TRIP_MS,
        "calls": calls,
        "sent": runs,
        "p95_at_most_doubles": calls["automatic"]["times"] <= TIMES,
        "below_a_quarter": all(run["percent_of_line"] < 25 for run in runs.values()),
    }


def _calls(limited: bool, quick: bool) -> dict[str, Any]:
    """Milliseconds at the 95th percentile, alone and beside copies, in turns: medians of the repetitions."""
    with Internet() as internet:
        caller = Caller(internet, limited)
        caller.calls(SETTLE_S, copied=False)
        alone, beside, copied = list[float](), list[float](), list[float]()
        for number in range(QUICK_REPETITIONS if quick else REPETITIONS):
            progress(f"calls, {'automatic limit' if limited else 'no limit'}: repetition {number + 1}")
            alone.append(_p95(caller.calls(CALLS_S, copied=False)["calls_s"]))
            figures = caller.calls(CALLS_S, copied=True)
            beside.append(_p95(figures["calls_s"]))
            copied.append(figures["copied_bytes"] / CALLS_S / 1000)
    found = {"alone_p95_ms": statistics.median(alone), "beside_p95_ms": statistics.median(beside)}
    return {
        **{name: round(value, 1) for name, value in found.items()},
        "times": round(found["beside_p95_ms"] / found["alone_p95_ms"], 2),
        "copied_kb_s": round(statistics.median(copied), 1),
        "each_alone_ms": [round(one, 1) for one in alone],
        "each_beside_ms": [round(one, 1) for one in beside],
    }


def _p95(seconds: list[float]) -> float:
    return 1000 * statistics.quantiles(seconds, n=20)[-1]


def _sent(run: str, quick: bool) -> dict[str, Any]:
    """By the cable's own counters, minute by minute, and by kind as the ledger tells it."""
    minutes = QUICK_MINUTES if quick else MINUTES
    progress(f"three peers, {run}: {minutes} minutes")
    with tempfile.TemporaryDirectory() as folder, home(Path(folder), run) as at:
        rates, kinds, line = at.rates(60.0 * minutes), at.kinds(), at.line()
    seconds = sum(stretch for stretch, _ in rates)
    sent = sum(stretch * rate for stretch, rate in rates)
    by_minute = list[float]()
    for minute in range(minutes):
        part = rates[len(rates) * minute // minutes : len(rates) * (minute + 1) // minutes]
        by_minute.append(sum(s * rate for s, rate in part) / sum(s for s, _ in part))
    return {
        "limit_kb_s": round(line.upload.bytes_s / 1000, 1),
        "kb_s": round(sent / seconds / 1000, 1),
        "percent_of_line": round(25 * sent / seconds / QUARTER, 1),
        "percent_by_minute": [round(25 * rate / QUARTER, 1) for rate in by_minute],
        "mb_by_kind": {kind: round(amount / 1e6, 1) for kind, amount in kinds.items()},
    }
