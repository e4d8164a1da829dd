"""Several runs share the time by weight, whatever each of them makes of the share that it may use."""

import pytest

from core.policy.sharing import LEAD_S, Sharing, Used, follow, split


def kernel_seconds(weights: dict[str, int], worth: dict[str, float], looks: int) -> dict[str, float]:
    """What runs use in so many looks of a second each.

    Args:
        weights: of each run.
        worth: kernel seconds that a run makes of a second that it may use.
        looks: how often the controller looks.
    """
    sharing, seconds = Sharing(), dict.fromkeys(weights, 0.0)
    for _ in range(looks):
        runs = {run: Used(weight, seconds[run], True) for run, weight in weights.items()}
        sharing = follow(sharing, runs)
        for run in runs:
            seconds[run] += sharing.portion(run, runs) * worth[run]
    return seconds


@pytest.mark.parametrize("worth", [{"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.95}, {"a": 0.95, "b": 0.4}])
def test_kernels_get_their_time_by_weight(worth: dict[str, float]) -> None:
    weights = {"a": 3, "b": 1}
    settled, later = (kernel_seconds(weights, worth, looks) for looks in (30, 90))
    assert (later["a"] - settled["a"]) / (later["b"] - settled["b"]) == pytest.approx(3.0, rel=0.03)


def test_a_run_alone_has_all_of_the_time() -> None:
    runs = {"a": Used(1, 5.0, True), "b": Used(9, 0.0, False)}
    assert follow(Sharing(), runs).portion("a", runs) == 1.0


def test_who_comes_begins_level_and_has_nothing_to_make_up_for() -> None:
    sharing = follow(Sharing(), {"a": Used(1, 0.0, True)})
    for second in range(1, 100):
        sharing = follow(sharing, {"a": Used(1, float(second), True), "b": Used(1, 0.0, False)})
    runs = {"a": Used(1, 100.0, True), "b": Used(1, 0.0, True)}
    sharing = follow(sharing, runs)
    assert sharing.portion("a", runs) == sharing.portion("b", runs) == 0.5


def test_a_run_that_can_use_nothing_holds_nobody_up_for_long() -> None:
    sharing, runs = Sharing(), dict[str, Used]()
    for second in range(20):
        runs = {"stuck": Used(1, 0.0, True), "b": Used(1, float(second), True)}
        sharing = follow(sharing, runs)
    assert sharing.portion("b", runs) == 0.5


def test_a_lead_is_made_up_for_only_so_far() -> None:
    sharing, runs = Sharing(), dict[str, Used]()
    for second in range(100):
        runs = {"slow": Used(1, 0.01 * second, True), "b": Used(1, float(second), True)}
        sharing = follow(sharing, runs)
    assert sharing.leads["b"] == LEAD_S and sharing.portion("b", runs) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("whole", "least", "shares"),
    [
        (1000, 300, {"a": 600, "b": 400}),
        (600, 300, {"a": 300, "b": 300}),
        (400, 300, {"a": 200, "b": 200}),
        (-100, 300, {"a": -50, "b": -50}),
        (1000, 0, {"a": 750, "b": 250}),
    ],
)
def test_each_gets_what_it_needs_and_the_rest_is_shared_by_weight(
    whole: int, least: int, shares: dict[str, int]
) -> None:
    assert split(whole, least, {"a": 3, "b": 1}) == shares


def test_what_is_shared_is_never_more_than_there_is() -> None:
    for whole in range(-7, 50):
        assert sum(split(whole, 5, {"a": 3, "b": 2, "c": 7}).values()) <= whole
