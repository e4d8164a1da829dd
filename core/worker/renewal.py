"""Has compute begin anew, as when another torch is there, or must not be used any more."""

import asyncio

from core.worker.runs import Runs

LOOK_S = 0.1
"""Between two looks at whether a process has ended."""


async def renew(runs: Runs) -> None:
    """Have the compute processes of all runs save and end; those that are needed begin anew.

    Returns when no process of before is left.

    Args:
        runs: of this PC.
    """
    before = {run.compute.pid for run in runs} - {None}
    for run in runs:
        run.compute.renew()
    while before & {run.compute.pid for run in runs}:
        await asyncio.sleep(LOOK_S)
