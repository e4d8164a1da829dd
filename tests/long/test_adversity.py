"""The paper's promise with whole workers: the network learns as well while peers die, freeze, lie and join late.

A swarm in adversity is compared with the same swarm left in peace, after as many steps of each trainer: the share of
digits, or of next bytes, that the trainers get right on what they never saw. The seeds are fixed, but the order in
which PCs answer is not, so that two equal swarms differ; hence some pairs, and a one-sided t-test: the test passes
where the loss in adversity is below `TOLERANCE` with a confidence of 95%.
"""

import math
import statistics
from pathlib import Path

import pytest

from tests.adversity import BLOCKED_S, in_adversity, in_peace, longest_s

STEPS = {"digits": 900, "text": 400}
"""Of each trainer."""
SEEDS = (1337, 1338, 1339, 1340)
T_95 = 2.353
"""Of Student's distribution, one-sided, for the three degrees of freedom of four pairs."""
TOLERANCE = 0.015
"""Of the share that is right."""


@pytest.mark.timeout(2 * len(SEEDS) * longest_s(max(STEPS.values())))
@pytest.mark.parametrize("run", STEPS)
def test_a_swarm_learns_as_well_while_peers_die_freeze_lie_and_join(tmp_path: Path, run: str) -> None:
    losses = []
    for seed in SEEDS:
        peace = in_peace(tmp_path / f"peace {seed}", run, seed, STEPS[run])
        war = in_adversity(tmp_path / f"adversity {seed}", run, seed, STEPS[run])
        print(f"{run}, {STEPS[run]} steps, seed {seed}: {peace} in peace, {war} in adversity")
        assert war.blocked_s < peace.blocked_s + BLOCKED_S
        assert war.slowest_s < 2 * peace.slowest_s + BLOCKED_S
        losses.append(peace.accuracy - war.accuracy)
    uncertain = T_95 * statistics.stdev(losses) / math.sqrt(len(losses))
    assert statistics.mean(losses) + uncertain < TOLERANCE, losses
