"""One of four trainers lies in its gradients, from its first batch to its last: the others learn `digits` all the same.

About an hour; `python -m tests.bench gradients` measures the same, and says what each trainer reached.
"""

from statistics import mean

import pytest

from tests.bench import gradients

SEEDS = 3
POINTS = 2.0
"""Of accuracy that a lie may cost, in the mean of the seeds."""

pytestmark = pytest.mark.timeout(4 * 3600)


def accuracy(found: dict[str, list[dict[str, list[float]]]], name: str) -> float:
    return mean(percent for one in found[name] for percent in one["accuracy"])


@pytest.fixture(scope="module")
def found() -> dict[str, list[dict[str, list[float]]]]:
    measured: dict[str, list[dict[str, list[float]]]] = gradients.measure(False, SEEDS, [*gradients.LIES])[
        "accuracy_percent"
    ]
    return measured


@pytest.mark.parametrize("lie", gradients.LIES)
def test_a_lie_of_one_in_four_costs_little(found: dict[str, list[dict[str, list[float]]]], lie: str) -> None:
    assert accuracy(found, lie) > accuracy(found, "peace") - POINTS
