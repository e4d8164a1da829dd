"""Which calls an expert serves, and how much each caller's gradients count in its step."""

import itertools
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence

from torch import Tensor

from core.experts.grid import Uid
from core.runtime.agreement import LEAST, Agreement
from core.runtime.backend import ExpertBackend
from core.runtime.gradient_guard import GradientGuard
from core.runtime.task_pool import Problem, Request, Task, TaskPool, is_finite

log = logging.getLogger(__name__)

NOT_FINITE = Problem("bad_values", "NaN or infinity in its numbers.")
Misconduct = Callable[[str, str], None]
"""Called with a caller of another process that sent what no honest one sends, and what that was."""


class Admission:
    """Refuses what must not be served, and counts it."""

    def __init__(self, suspect: Misconduct) -> None:
        """Nothing was refused yet.

        Args:
            suspect: told of callers.
        """
        self._suspect = suspect
        self.refused: Counter[str] = Counter()
        """Calls that were not served for what they are, by caller ("": this process)."""
        self.clipped: Counter[str] = Counter()
        """Calls whose gradients were scaled down for their size, by caller."""
        self._all = GradientGuard()
        """Of all experts here."""
        self.agreement = Agreement()
        """Likewise: whose gradients lead where others' do."""

    def refuse(self, request: Request, index: int, uid: Uid, problem: Problem) -> None:
        """Note what speaks against a call.

        Args:
            request: it belongs to.
            index: of the call in its request.
            uid: the expert's name.
            problem: what speaks against it.
        """
        before = any(known.code == "bad_values" for known in request.problems.values())
        request.problems[index] = problem
        self.refused[request.caller] += 1
        if is_worth_a_line(self.refused.total()):
            level = logging.INFO if problem.code == "not_hosted" else logging.WARNING  # after a hand-over it is usual
            log.log(level, "Refused a call to %s: %s (%d so far)", uid, problem.text, self.refused.total())
        if problem.code == "bad_values" and request.caller and not before:  # a request counts once
            self._suspect(request.caller, f"in a call to {uid}: {problem.text}")

    def factors(self, pool: TaskPool, tasks: Sequence[Task], inputs: Tensor, gradients: Tensor) -> list[float]:
        """How much each task counts; 0: not at all, it is refused.

        Args:
            pool: the expert and the direction.
            tasks: of one pass.
            inputs: [n, ...], of all tasks, one after the other.
            gradients: [n, ...], likewise; empty unless the direction is backward.
        """
        if pool.direction != "backward":
            if math.isfinite(float(inputs.sum())):
                return [1.0] * len(tasks)
            return [float(self._accept(task, is_finite(task.call), NOT_FINITE)) for task in tasks]
        norms = gradients.flatten(1).norm(dim=1).tolist()
        if math.isfinite(float(inputs.sum()) + sum(norms)):
            finite = [True] * len(tasks)
        else:
            finite = [is_finite(task.call) for task in tasks]
        sizes, rest = [task.call.inputs.shape[0] for task in tasks], iter(norms)
        means = [sum(itertools.islice(rest, size)) / size for size in sizes]
        return [
            self._factor(pool.backend, task, norm) if self._accept(task, good, NOT_FINITE) else 0.0
            for task, good, norm in zip(tasks, finite, means, strict=True)
        ]

    def believes(self, task: Task) -> bool:
        """Whether the samples of a task are a reason for a step.

        Args:
            task: of a backward pass.
        """
        crowd = task.request.crowd
        return self.agreement.weight(crowd) > LEAST and not self._all.sends_nothing(crowd)

    def _factor(self, backend: ExpertBackend, task: Task, norm: float) -> float:
        """How much a task's finite gradients count: less if they are stale, or far larger than others'."""
        staleness = max(0, backend.version - task.call.version)
        if staleness > backend.max_staleness:
            return float(self._accept(task, False, Problem("stale", f"its gradients are {staleness} steps old.")))
        caller, crowd = task.request.caller, task.request.crowd
        rows = len(task.call.inputs)
        assert task.call.gradients is not None
        agreed = self.agreement.factor(crowd, backend.uid, task.call.inputs, task.call.gradients)
        self._all.factor(crowd, norm, rows, agreed=agreed)
        factor = backend.guard.factor(crowd, norm, rows, self._all.typical(), agreed)
        if factor == 0.0:
            problem = Problem("bad_values", f"gradients of norm {norm:.3g} are far beyond all others.")
            return float(self._accept(task, False, problem))
        self.clipped[caller] += factor < agreed
        return factor / (1 + staleness)

    def _accept(self, task: Task, good: bool, problem: Problem) -> bool:
        """Note what speaks against a task, if it is not good."""
        if not good:
            self.refuse(task.request, task.index, task.call.uid, problem)
        return good


def is_worth_a_line(count: int) -> bool:
    """At 1, 2, 4, 8 ..: what goes on failing must not fill the log.

    Args:
        count: how often it has happened.
    """
    return count & (count - 1) == 0
