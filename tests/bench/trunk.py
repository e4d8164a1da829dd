"""How trainers agree on the trunk: planning, averaging and each strategy, in rows that can be measured by themselves.

`python -m tests.bench trunk [--only ROW ...]`. A row is a function of the options that returns its figures; it stands
in the module of what it measures.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import all_reduce, averaging_plan, diloco, restarts, vc_asgd
from tests.bench.machine import progress


class Options(NamedTuple):
    """What a row may need of the command line."""

    quick: bool
    """A minute for all rows together."""
    python: Path | None
    """That of hivemind's environment; None: only ours is measured."""
    anchors: Path | None
    """The folder of hivemind's drivers; None: `anchor.ANCHORS`."""
    data: Path
    """MNIST's folder."""
    out: Path
    """Where plots are written."""


ROWS: dict[str, Callable[[Options], Any]] = {
    "plan": lambda o: averaging_plan.measure(o.quick),
    "diloco": lambda o: diloco.measure(o.quick),
    "all_reduce": lambda o: all_reduce.measure(o.quick, o.python, o.anchors),
    "restarts": lambda o: restarts.measure(o.quick),
    "vc_asgd": lambda o: vc_asgd.measure(o.quick, o.data, o.out),
}
"""In the order in which they are measured."""


def measure(options: Options, only: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of the rows, by their names.

    Args:
        options: for each of them.
        only: names of rows; empty: all.
    """
    figures: dict[str, Any] = {}
    for name, row in ROWS.items():
        if not only or name in only:
            figures[name] = row(options)
            progress(f"{name}: {json.dumps(figures[name])}")
    return {"figures": figures}
