"""Electricity that Hearth uses, by device: measured where something measures, otherwise an estimate marked so.

What a device takes is shared among programs by the time that they use it: the figure is Hearth's part of it, also of
what the device would take if it did nothing, as nobody else uses it then.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping

from core.contracts.ledger import Amounts
from core.policy.signals.reading import Gpu

CPU = "cpu"
WATTS_A_CORE = 5.0
"""A guess: PCs of 16 logical cores take about 80 W for the processor under full load; laptops half, servers alike."""
GPU_WATTS = 120.0
"""A guess for a graphics processor that tells its use but not its power."""
GAP_S = 10.0
"""A longer time between two measurements is not counted: the PC slept, or this process was stopped."""
JOULES_A_KWH = 3.6e6


@dataclasses.dataclass(frozen=True)
class Draw:
    """What a device takes for Hearth at this moment."""

    watts: float
    measured: bool


def used(draws: Mapping[str, Draw], seconds: float) -> dict[str, Amounts]:
    """What each device took since it was measured last.

    Args:
        draws: what each device draws, as measured now.
        seconds: since the last measurement.
    """
    if not 0.0 < seconds <= GAP_S:
        return {}
    found = {}
    for device, draw in draws.items():
        if math.isfinite(draw.watts) and draw.watts > 0.0:
            kwh = draw.watts * seconds / JOULES_A_KWH
            found[device] = Amounts(kwh=kwh, kwh_measured=kwh if draw.measured else 0.0)
    return found


def cpu_draw(own: float, others: float | None, watts: float | None, estimate_watts: float, cores: int) -> Draw:
    """What the processor takes for Hearth.

    Args:
        own: share of all cores that Hearth uses, 0 to 1.
        others: the others' share; None if unknown.
        watts: of the whole processor as measured; None if nothing measures.
        estimate_watts: what the user says that it takes under full load; 0: a guess from the cores.
        cores: logical ones.
    """
    own = min(1.0, max(0.0, own))
    if own == 0.0:
        return Draw(0.0, watts is not None)
    if watts is not None and others is not None:
        return Draw(watts * own / (own + others), True)
    return Draw((estimate_watts or WATTS_A_CORE * cores) * own, False)


def gpu_draws(gpus: Iterable[Gpu], used: Collection[str]) -> dict[str, Draw]:
    """What graphics processors take for Hearth.

    Args:
        gpus: as read.
        used: ids of those on which Hearth computes at the moment.
    """
    return {gpu.id: _gpu_draw(gpu) for gpu in gpus if gpu.id in used}


def _gpu_draw(gpu: Gpu) -> Draw:
    if gpu.own is None or gpu.others is None:  # the card does not tell whose work it does
        return Draw(GPU_WATTS if gpu.watts is None else gpu.watts, False)
    if gpu.watts is None:
        return Draw(GPU_WATTS * gpu.own, False)
    # between two kernels the card may do nothing at all: then it is still kept awake for Hearth
    return Draw(gpu.watts * gpu.own / (gpu.own + gpu.others) if gpu.own + gpu.others else gpu.watts, True)
