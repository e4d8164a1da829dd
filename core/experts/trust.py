"""What is believed of other peers' answers, and what is not.

Outputs: an expert adds something to its inputs, and the norm of that is alike for all experts of a layer. An answer
with a row that changed more than `OUTLIER` times the usual (the median of the last calls' largest changes) is left
out. Gradients: an expert's gradient by its inputs is scaled down to `CLIP` times the usual ratio of its norm to that of
the gradient it was sent. Neither catches noise of the right size: that is what audits are for. Part of a request is
asked again, in another grouping; an honest expert gives the same again. A gradient is tried: a step along it changes
the outputs as it says. An honest expert may also take over another peer's newer state in between, and answer like
another one from then on: that is excused a few times, until it has passed again.
"""

import math
import random
import statistics
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.expert_calls import Direction
from core.experts.directory import LOCAL

OUTLIER = 10.0
CLIP = 4.0
WINDOW = 64
"""Calls over which the usual is taken."""
ENOUGH = 16
"""Calls before anything is called unusual."""
FIRST = 4
"""Requests of a host that are all audited: it is not known yet."""
SAME = 0.05
"""Relative distance of two answers of one version to the same rows, by rounding on the wire (int8: 1% each)."""
DIFFERENT = 0.7
"""The same if the expert has learnt in between: a young one moves by a fifth in a step, noise is at 1.4."""
UNLIKE = 1.0
"""The same of two hosts, whose copies of an expert may have learnt from different batches."""
STEP = 0.1
"""Of a gradient's trial, relative to the norm of a row: beyond the rounding on the wire."""
TRUE = 0.5
"""The least share of the promised change that a gradient's trial must give. It is 1 but for the expert's curvature and
what it has learnt in between; noise gives 0 (0.03 in 16 rows of 64 numbers)."""
FAINT = 0.01
"""Rows whose gradient is smaller than this part of the one that was sent are not tried: rounding would decide."""
EXCUSED = 3
"""Audits in a row that a host may fail where the version has changed in between: so many may be on their way."""
POINTS_BROKEN = 5.0
"""For NaN, infinity or a wrong shape; ten points are a ban."""
POINTS_OUTLIER = 2.0
POINTS_AUDIT = 5.0

Suspect = Callable[[str, float, str], None]
"""Host, points, why."""
Vouch = Callable[[str, Direction], None]
"""Host, and in which direction it passed an audit."""


def distance_of(a: Tensor, b: Tensor) -> float:
    """How far two answers (rows [n, ...]) to the same inputs are from each other, in shares of their mean norm."""
    return float((a - b).norm() / (0.5 * (a.norm() + b.norm())).clamp(min=1e-6))


class Trust:
    """Of one layer. Answers of this process are believed."""

    def __init__(self, suspect: Suspect, vouch: Vouch = lambda host, direction: None) -> None:
        self._suspect, self._vouch = suspect, vouch
        self._changes: deque[float] = deque(maxlen=WINDOW)
        self._ratios: deque[float] = deque(maxlen=WINDOW)
        self._asked: Counter[tuple[str, Direction]] = Counter()
        self._excused: Counter[tuple[str, Direction]] = Counter()

    def outputs(self, host: str, inputs: Tensor, rows: Tensor) -> Tensor | None:
        """The answer of a host in forward, or None if it cannot be right."""
        if host == LOCAL:
            return rows
        if rows.shape != inputs.shape or rows.dtype != inputs.dtype:
            self._suspect(host, POINTS_BROKEN, f"It answered {tuple(rows.shape)} to {tuple(inputs.shape)}.")
            return None
        change = float((rows - inputs).flatten(1).norm(dim=1).max())
        if not math.isfinite(change):
            self._suspect(host, POINTS_BROKEN, "Its answer held NaN or infinity.")
            return None
        if (usual := _usual(self._changes)) is not None and change > OUTLIER * usual:
            self._changes.append(OUTLIER * usual)  # should all experts have changed, they are believed after a while
            why = f"Its answer changed a row by {change:.3g}, where {usual:.3g} is usual."
            self._suspect(host, POINTS_OUTLIER, why)
            return None
        self._changes.append(change)
        return rows

    def gradients(self, host: str, sent: Tensor, rows: Tensor) -> Tensor | None:
        """The answer of a host in backward, clipped, or None if it cannot be right."""
        if host == LOCAL:
            return rows
        if rows.shape != sent.shape or rows.dtype != sent.dtype:
            self._suspect(host, POINTS_BROKEN, f"It answered {tuple(rows.shape)} to {tuple(sent.shape)}.")
            return None
        ratio = float(rows.norm() / sent.norm().clamp(min=1e-12))
        if not math.isfinite(ratio):
            self._suspect(host, POINTS_BROKEN, "Its gradient held NaN or infinity.")
            return None
        usual = _usual(self._ratios)
        if usual is not None and ratio > CLIP * usual:
            self._ratios.append(CLIP * usual)
            return rows * (CLIP * usual / ratio)
        self._ratios.append(ratio)
        return rows

    def is_to_be_audited(self, host: str, share: float, direction: Direction = "forward") -> bool:
        """Whether to check part of a request: always the first ones of a host, then ever fewer, at last the share."""
        self._asked[host, direction] += 1
        return host != LOCAL and share > 0 and random.random() < max(share, FIRST / self._asked[host, direction])

    def compare(self, host: str, first: tuple[Tensor, int], again: tuple[Tensor, int], same_host: bool) -> None:
        """Judge a host by two answers (rows [n, ...], version) to the same inputs.

        Of two hosts only answers as different as noise speak against the first, and not much.
        """
        (a, version), (b, later) = first, again
        distance = distance_of(a, b)
        allowed = (SAME if version == later else DIFFERENT) if same_host else UNLIKE
        points = POINTS_AUDIT if same_host else POINTS_OUTLIER
        why = f"It answered the same inputs differently (relative distance {distance:.2f})."
        self._judge(host, "forward", distance <= allowed, version != later, points, why)

    def try_gradient(self, host: str, trial: "Trial", rows: Tensor, moved: bool) -> None:
        """Judge a host's gradient by what came of `trial.inputs`. `moved`: the expert's version, since it was given."""
        plus, minus = rows.chunk(2)
        change = ((plus - minus) * trial.sent).flatten(1).sum(1) / (2 * trial.steps)
        share = float((change / trial.lengths).mean())
        why = f"A step along its gradient changed {share:.2f} of what it said."
        self._judge(host, "backward", share >= TRUE, moved, POINTS_AUDIT, why)

    def _judge(self, host: str, direction: Direction, passed: bool, moved: bool, points: float, why: str) -> None:
        if passed:
            self._excused.pop((host, direction), None)
            self._vouch(host, direction)
            return
        self._asked[host, direction] = 0  # it is looked at closely, also should it come back from a ban
        if moved and self._excused[host, direction] < EXCUSED:
            self._excused[host, direction] += 1
        else:
            self._suspect(host, points, why)


class Trial(NamedTuple):
    """A gradient is the change of the loss along it: central differences, n rows of it."""

    inputs: Tensor
    """[2n, ...]: a step along the gradient, and one against it."""
    sent: Tensor
    """[n, ...]: the gradient by the outputs."""
    steps: Tensor
    """[n]: length of the steps."""
    lengths: Tensor
    """[n]: of the gradient by the inputs, as the host gave it: the loss changes by so much a step."""


def trial(inputs: Tensor, sent: Tensor, rows: Tensor) -> Trial | None:
    """How to try a host's gradients; None if they are too faint.

    Args:
        inputs: [n, ...].
        sent: [n, ...], the gradient by the outputs.
        rows: [n, ...], the gradient by the inputs that came back.
    """
    lengths = rows.flatten(1).norm(dim=1)
    clear = lengths > FAINT * sent.flatten(1).norm(dim=1)
    if not clear.any():
        return None
    inputs, sent, rows, lengths = inputs[clear], sent[clear], rows[clear], lengths[clear]
    steps = STEP * inputs.flatten(1).norm(dim=1).clamp(min=STEP)
    along = (steps / lengths).view(-1, *[1] * (rows.dim() - 1)) * rows
    return Trial(torch.cat([inputs + along, inputs - along]), sent, steps, lengths)


def _usual(recent: deque[float]) -> float | None:
    return statistics.median(recent) if len(recent) >= ENOUGH else None
