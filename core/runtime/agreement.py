"""Whose gradients lead where those of all others lead: by their directions, over all experts of this process.

Trainers of one run want about the same of an expert, as their data are alike. So what one caller's gradients would do
to it goes with what others' did lately, a little more than by chance. Noise does not, nor does a drift of somebody's
own; gradients turned round go against it. A single call shows none of that, some dozens of them do.
"""

import math
import random
from collections import OrderedDict
from typing import NamedTuple

import torch
from torch import Tensor

from core.experts.grid import Uid

SIDE = 16
"""Numbers to which a sample's inputs and gradients are brought down: by chance, but always by the same one."""
KEPT = 0.95
"""Of all directions at an expert, from call to call: what is wanted of it changes with every step."""
LARGEST = 1e12
LOOK, PAUSE = 32, 96
"""Calls of an expert in a row that are looked at, and that are passed over between two looks in the mean: nobody knows
which. A look takes a tenth of a small expert's time."""
REMEMBERED = 1 - 1 / 128
"""Of how far a caller agrees, from call to call."""
ENOUGH = 32
"""Calls of a caller before it is judged."""
GAP = 0.08
"""Cosine by which a caller may always agree less than is usual: that is chance."""
FAR, FARTHEST = 0.6, 0.9
"""Shares of the usual agreement that a caller may lack as well: up to the first one all its gradients count, from the
second on as little as `LEAST`. Honest callers were seen to lack up to 0.5. Noise, and true gradients with as large a
drift in them, lack all of it."""
LEAST = 1 / 32
NEW = 1 / 4
"""What the gradients of a caller count that is not judged yet."""
AT_EXPERT = 16
"""Callers whose direction is remembered for each expert; those who have not called for longest go first."""
CALLERS = 256
"""Callers remembered; likewise."""


class _Caller(NamedTuple):
    total: float
    """Sum of the cosines, decayed."""
    weight: float
    """Number of the calls, decayed likewise."""


class _Expert:
    """What callers want of one expert: directions, of which those of the last calls count most."""

    def __init__(self) -> None:
        self._by_caller: OrderedDict[str, Tensor] = OrderedDict()
        self._all: Tensor | None = None
        self._unit = 1.0
        """What a direction counts now: more and more, in place of less and less for all those before."""
        self._looks, self._calls = 0, 0
        """How often it was looked at; calls that are still looked at, or, below 0, passed over."""

    def is_looked_at(self) -> bool:
        """Whether the next call is; at first nearly all are. Each look begins anew, as much has changed meanwhile."""
        if self._calls == 0:
            self._by_caller.clear()
            self._all, self._unit, self._calls, self._looks = None, 1.0, LOOK, self._looks + 1
        if self._calls < 0:
            self._calls += 1
            return False
        self._calls -= 1
        if self._calls == 0:
            self._calls = -random.randrange(2 * min(PAUSE, LOOK * (self._looks - 1)) + 1)
        return True

    def others(self, caller: str) -> Tensor | None:
        """The sum of all directions but a caller's own."""
        own = self._by_caller.get(caller)
        return self._all if self._all is None or own is None else self._all - own

    def add(self, caller: str, direction: Tensor, weight: float) -> None:
        """Note what a call would have done."""
        self._unit /= KEPT
        if self._unit > LARGEST:
            for one in (*self._by_caller.values(), *(() if self._all is None else (self._all,))):
                one.div_(self._unit)
            self._unit = 1.0
        direction = direction * (weight * self._unit)
        self._all = direction.clone() if self._all is None else self._all.add_(direction)
        before = self._by_caller.pop(caller, None)
        self._by_caller[caller] = direction if before is None else before.add_(direction)
        if len(self._by_caller) > AT_EXPERT:
            self._by_caller.popitem(last=False)


class Agreement:
    """Of all callers, and with each other. What is learnt of them decays."""

    def __init__(self) -> None:
        self._experts: dict[Uid, _Expert] = {}
        self._callers: OrderedDict[str, _Caller] = OrderedDict()
        self._chance: dict[int, Tensor] = {}
        self._first: str | None = None
        self._is_alone = True
        """Whether nobody has called but the first caller, who is measured by nobody."""

    def factor(self, caller: str, uid: Uid, inputs: Tensor, gradients: Tensor) -> float:
        """How much a call's gradients count, from `LEAST` to 1; some calls are looked at, too.

        Args:
            caller: who sent it; "", this process, is believed.
            uid: the expert.
            inputs: [n, ..., width], finite.
            gradients: likewise, by the expert's outputs.
        """
        self._first = caller if self._first is None else self._first
        self._is_alone = self._is_alone and caller == self._first
        expert = self._experts.get(uid) or self._experts.setdefault(uid, _Expert())
        if expert.is_looked_at():
            self._look(caller, expert, _rows(inputs), _rows(gradients))
        return self.weight(caller)

    def weight(self, caller: str) -> float:
        """The same without a call.

        Args:
            caller: as in `factor`.
        """
        known = self._callers.get(caller)
        if not caller or self._is_alone:
            return 1.0
        if known is None or known.weight < ENOUGH:
            return NEW
        usual = self._usual()
        lacks = usual - known.total / known.weight
        most, all_of_it = max(FAR * usual, GAP), max(FARTHEST * usual, GAP * FARTHEST / FAR)
        return min(1.0, max(LEAST, (all_of_it - lacks) / (all_of_it - most)))

    def forget(self, uid: Uid) -> None:
        """An expert has gone."""
        self._experts.pop(uid, None)

    def _usual(self) -> float:
        """The median of the callers that are known well, not below 0."""
        found = sorted(one.total / one.weight for one in self._callers.values() if one.weight >= ENOUGH)
        return max(0.0, found[len(found) // 2]) if found else 0.0

    def _look(self, caller: str, expert: _Expert, inputs: Tensor, gradients: Tensor) -> None:
        direction = self._direction(inputs, gradients)
        others = expert.others(caller)
        if others is not None and (length := float(others.norm())):
            total, weight = self._callers.pop(caller, _Caller(0.0, 0.0))
            cosine = float(direction @ others) / length
            self._callers[caller] = _Caller(REMEMBERED * total + cosine, REMEMBERED * weight + 1)
            if len(self._callers) > CALLERS:
                self._callers.popitem(last=False)
        expert.add(caller, direction, self.weight(caller))

    def _direction(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """What gradients [n, width] would do to a linear expert, in few numbers; of length 1, or 0 if they are 0."""
        width = inputs.shape[1]
        if width not in self._chance:
            made = torch.randn(width, SIDE, generator=torch.Generator().manual_seed(width), dtype=torch.float32)
            self._chance[width] = (made / math.sqrt(width)).to(inputs.dtype)
        chance = self._chance[width]
        inputs, gradients = inputs @ chance, gradients @ chance
        found = torch.cat([(inputs.T @ gradients).flatten(), gradients.sum(0)])
        length = float(found.norm())
        return found / length if 0.0 < length < math.inf else torch.zeros_like(found)


def _rows(samples: Tensor) -> Tensor:
    return samples.reshape(-1, samples.shape[-1])
