"""What the benchmarks beside hivemind share: figures in the form of its anchor's drivers, its runs, and the ratios."""

import json
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.machine import progress
from tests.bench.processes import output
from tests.workers import ROOT

ANCHORS = ROOT.parent / "shared" / "anchors" / "hivemind"
AGAINST_S = 1800.0
"""The longest that a driver of the anchor may take."""
HIGHER_IS_BETTER = (
    "mb_per_s_both_ways",
    "mb_per_s_one_way_payload",
    "mb_per_s",
    "parallel_stores_per_s",
    "samples_per_s",
)
LOWER_IS_BETTER = (
    "median",
    "first_call_ms",
    "first_s",
    "again_s",
    "seconds",
    "cold_start_s",
    "processes",
    "rss_mib",
    "pss_mib",
    "slowest_after_s",
)
CASE = ("mib_each_way", "compression", "grid", "hid_dim", "batch_size", "clients", "experts", "layer")
"""What tells the cases of a list apart."""


def figures(
    python: Path, folder: Path | None, name: str, quick: bool, *arguments: str, limit_s: float = AGAINST_S
) -> Any:
    """The figures of one of hivemind's drivers, run by the Python of its environment.

    Args:
        python: that of hivemind's environment.
        folder: of the drivers; None: `ANCHORS`.
        name: of the driver, without `bench_`.
        quick: fewer repetitions.
        arguments: more of its command line.
        limit_s: the longest that it may take.

    Returns:
        What it calls its figures; None where it took too long.
    """
    progress(f"hivemind: {name}")
    command = [str(python), f"bench_{name}.py", *(["--quick"] if quick else []), *arguments]
    try:
        written = output(command, (folder or ANCHORS).resolve(), limit_s)
    except subprocess.TimeoutExpired:
        progress(f"hivemind: {name} took more than {limit_s:.0f} s")
        return None
    return json.loads(written.splitlines()[-1])["figures"]


def ratios(ours: Any, theirs: Any, path: str = "") -> dict[str, float]:
    """For each figure that both have, how many times better ours is."""
    found: dict[str, float] = {}
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours.keys() & theirs.keys():
            found |= ratios(ours[name], theirs[name], f"{path}.{name}" if path else name)
    elif isinstance(ours, list) and isinstance(theirs, list):
        others = {_case(other): other for other in theirs if isinstance(other, dict)}
        for mine in ours:
            if isinstance(mine, dict) and _case(mine) in others:
                label = f"{_case(mine)}, {mine['codec']}" if "codec" in mine else _case(mine)
                found |= ratios(mine, others[_case(mine)], f"{path}[{label}]")
    elif isinstance(ours, int | float) and isinstance(theirs, int | float) and ours and theirs:
        name = path.rpartition(".")[2]
        if name in HIGHER_IS_BETTER:
            found[path] = round(ours / theirs, 2)
        elif name in LOWER_IS_BETTER:
            found[path] = round(theirs / ours, 2)
    return dict(sorted(found.items()))


def _case(figures: dict[str, Any]) -> str:
    values = {name: figures[name] for name in CASE if name in figures}
    return ", ".join(f"{name} {v:g}" if isinstance(v, int | float) else f"{name} {v}" for name, v in values.items())


def memory(pids: Sequence[int]) -> dict[str, int]:
    """MiB of some processes: resident, and with what they share counted once (Linux)."""
    kib = {"Rss:": 0, "Pss:": 0}
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, *rest = line.split()
            if name in kib:
                kib[name] += int(rest[0])
    return {"processes": len(pids), "rss_mib": round(kib["Rss:"] / 1024), "pss_mib": round(kib["Pss:"] / 1024)}


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """n, median, p95, mean, min and max, in ms."""
    times = sorted(1000 * value for value in seconds)
    if not times:
        return {"n": 0}
    p95 = times[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
    figures = {"median": statistics.median(times), "p95": p95, "mean": statistics.fmean(times)}
    figures |= {"min": times[0], "max": times[-1]}
    return {"n": len(times), **{name: round(value, 3) for name, value in figures.items()}}
