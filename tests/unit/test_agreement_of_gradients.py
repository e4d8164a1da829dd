"""Whose gradients lead where others' lead: noise, a drift and a turn are found out; honest callers are left alone."""

import random

import pytest
import torch
from torch import Tensor

from core.experts.grid import Uid
from core.runtime.agreement import ENOUGH, LEAST, NEW, Agreement

EXPERTS = [Uid("digits", 0, (0, number)) for number in range(4)]
WIDTH, ROWS = 32, 8
TRUE = 1.0
"""Of a call's gradient that all have in common; the rest is of its own samples."""


class Swarm:
    """Callers whose gradients have a little in common, that of each expert."""

    def __init__(self) -> None:
        random.seed(1)
        self.chance = torch.Generator().manual_seed(1)
        self.agreement = Agreement()
        self.common = {uid: self.normal(WIDTH, WIDTH) / WIDTH**0.5 for uid in EXPERTS}

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.chance)

    def call(self, caller: str, of_common: float = TRUE, more: Tensor | float = 0.0) -> float:
        uid = EXPERTS[int(torch.randint(4, (1,), generator=self.chance))]
        inputs = self.normal(ROWS, WIDTH)
        gradients = of_common * inputs @ self.common[uid] + self.normal(ROWS, WIDTH) + more
        return self.agreement.factor(caller, uid, inputs, gradients)


LIES = {"noise": (0.0, 0.0), "turned round": (-TRUE, 0.0), "drift": (0.0, 10.0), "zeros": (TRUE, float("nan"))}


@pytest.mark.parametrize("lie", LIES)
def test_who_never_agrees_is_weighed_less_and_honest_callers_are_not(lie: str) -> None:
    swarm, (of_common, drift) = Swarm(), LIES[lie]
    away = swarm.normal(WIDTH) * drift
    for _ in range(400):
        for caller in ("", "a", "b", "c"):
            assert swarm.call(caller) >= NEW
        if lie == "zeros":
            swarm.agreement.factor("liar", EXPERTS[0], swarm.normal(ROWS, WIDTH), torch.zeros(ROWS, WIDTH))
        else:
            swarm.call("liar", of_common, away)
    assert swarm.agreement.weight("liar") == LEAST
    assert [swarm.agreement.weight(caller) for caller in ("", "a", "b", "c")] == [1.0] * 4


def test_who_lies_no_more_counts_again() -> None:
    swarm = Swarm()
    for turned in (-TRUE, TRUE):
        for _ in range(1200):
            for caller in ("a", "b", "c"):
                swarm.call(caller)
            swarm.call("d", turned)
        assert swarm.agreement.weight("d") == (LEAST if turned < 0 else 1.0)


def test_nobody_is_judged_by_a_few_calls_or_where_nothing_is_in_common() -> None:
    swarm = Swarm()
    assert swarm.call("a") == 1.0, "who is alone is measured by nobody"
    swarm.call("b")
    for _ in range(ENOUGH // 2):
        assert [swarm.call(caller, -TRUE if caller == "b" else TRUE) for caller in "abc"] == [NEW] * 3
    swarm = Swarm()
    for _ in range(500):
        assert all(swarm.call(caller, 0.0) >= NEW for caller in "abcd"), "what is noise for all is nobody's lie"


def test_this_process_is_believed_whatever_a_crowd_agrees_on() -> None:
    swarm = Swarm()
    for _ in range(300):
        assert swarm.call("") == 1.0
        for number in range(5):
            swarm.call(f"liar {number}", -TRUE)
