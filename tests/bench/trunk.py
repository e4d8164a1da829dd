"""How trainers agree on the trunk: planning, averaging and each strategy, in parts that can be measured by themselves.

`python -m tests.bench trunk [--only PART ...]`. A part is a function of the options that returns its figures; it stands
in the module of what it measures. Where there are several, each runs in a process of its own: one that fails or hangs
costs the others nothing, and is named in `failed`. What must hold is then read off all figures (`tests.bench.holds`).
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import all_reduce, averaging_plan, checks, diloco, holds, one_network, restarts, vc_asgd, workers
from tests.bench.machine import progress
from tests.bench.processes import output

STRATEGIES = ("dedloc", "diloco", "diloco_sparse")
"""In simulated time, with a small network: with that of the run `text` it takes many hours (`convergence --trunk`)."""
TRAINERS, SEEDS = (4, 8, 16, 64), 3
QUICK_S, QUICK_PART_S = 570.0, 240.0
"""In a quick run: of all parts together, and of one at most."""


class Options(NamedTuple):
    """What a part may need of the command line."""

    quick: bool
    """Less than ten minutes for all parts together."""
    python: Path | None
    """That of hivemind's environment; None: only ours is measured."""
    anchors: Path | None
    """The folder of hivemind's drivers; None: `anchor.ANCHORS`."""
    data: Path
    """With the folders of MNIST and of WikiText-2."""
    out: Path
    """Where plots are written, and what is known of a benchmark that was broken off."""
    trainers: Sequence[int]
    """So many; none: as each row has them."""
    strategies: Sequence[str]
    """None: all."""
    seeds: int | None
    """Runs of each case; None: as each row has them."""
    samples: int | None
    """Of a run; None: as each row has them."""
    arguments: Sequence[str]
    """The command line itself, for parts in processes of their own."""


def _simulated(o: Options) -> dict[str, Any]:
    strategies, trainers, seeds = (STRATEGIES[:2], (4,), 1) if o.quick else (STRATEGIES, TRAINERS, SEEDS)
    return one_network.measure(True, o.strategies or strategies, trainers, seeds, o.out, o.data, "test", None)


ROWS: dict[str, Callable[[Options], Any]] = {
    "plan": lambda o: averaging_plan.measure(o.quick),
    "diloco": lambda o: diloco.measure(o.quick),
    "all_reduce": lambda o: all_reduce.measure(o.quick, o.python, o.anchors),
    "restarts": lambda o: restarts.measure(o.quick, o.out, o.strategies or tuple(restarts.TRUNKS)),
    "vc_asgd": lambda o: vc_asgd.measure(o.quick, o.data, o.out),
    "workers": lambda o: workers.measure(o.quick, o.strategies, o.trainers, o.seeds, o.samples, o.out),
    "tests": lambda o: checks.measure(o.quick),
    "convergence": _simulated,
}
"""In the order in which they are measured."""


def measure(options: Options, only: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of the parts, by their names, and what must hold.

    Args:
        options: for each of them.
        only: names of parts; empty: all. A single one runs in this process.
    """
    names = [name for name in ROWS if not only or name in only]
    figures: dict[str, Any] = {}
    failed: dict[str, str] = {}
    end = time.monotonic() + (QUICK_S if options.quick else math.inf)
    for name in names:
        if len(names) == 1:
            figures[name] = ROWS[name](options)
            continue
        left_s = min(end - time.monotonic(), QUICK_PART_S if options.quick else math.inf)
        try:
            figures[name] = apart(name, options.arguments, left_s)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            failed[name] = str(error)
        progress(f"{name}: {json.dumps(figures[name]) if name in figures else failed[name]}")
    return {"holds": holds.rows(figures), "failed": failed, "figures": figures}


def apart(name: str, arguments: Sequence[str], limit_s: float) -> Any:
    """The figures of a part, measured by a process of its own.

    Args:
        name: of the part.
        arguments: of the command line for all parts.
        limit_s: the longest that it may take.

    Raises:
        OSError, SubprocessError, ValueError, KeyError: it has none.
    """
    if limit_s <= 0:
        raise ValueError("There was no time left for it.")
    progress(name)
    rest = [each for each in arguments if each != "--keep"]
    written = output([sys.executable, "-m", "tests.bench", *rest, "--only", name], None, limit_s)
    return json.loads(written)["figures"][name]
