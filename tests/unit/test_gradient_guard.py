"""Whose gradients count: a trainer that has been here for long sets the measure, whatever strangers send."""

import pytest

from core.runtime.gradient_guard import CALLERS, CLIP, GradientGuard


def trained() -> GradientGuard:
    """By one trainer, for a while."""
    guard = GradientGuard()
    for _ in range(50):
        assert guard.factor("trainer", 1.0, 32) == 1.0
    return guard


@pytest.mark.parametrize("norm", [0.0, 1e-44, 1e-30, 1e-3])
def test_tiny_gradients_of_a_stranger_do_not_make_the_trainer_s_look_huge(norm: float) -> None:
    guard = trained()
    for number in range(20):
        guard.factor(f"stranger {number % 3}", norm, 32)
        assert guard.factor("trainer", 1.0, 32) == 1.0


def test_huge_gradients_of_strangers_are_scaled_down_although_they_are_many() -> None:
    guard = trained()
    for number in range(9):
        assert guard.factor(f"stranger {number}", 1e3, 32) <= CLIP / 100
        assert guard.factor(f"stranger {number}", 1e6, 32) == 0.0
    assert guard.factor("trainer", 1.0, 32) == 1.0


def test_a_crowd_does_not_make_the_trainer_forgotten() -> None:
    guard = trained()
    for number in range(2 * CALLERS):
        guard.factor(f"stranger {number}", 1e-30, 1)
    assert guard.factor("trainer", 1.0, 32) == 1.0 and len(guard._callers) <= CALLERS
    assert guard.factor("late", 1e3, 32) <= CLIP / 100


def test_an_expert_that_the_gates_passed_by_takes_usual_gradients_again() -> None:
    guard, usual = GradientGuard(), 0.2
    for _ in range(50):
        assert guard.factor("trainer", 1e-13, 32, usual) == 1.0
    for caller in ("trainer", "another"):
        assert guard.factor(caller, 2e-6, 32, usual) == 1.0
        assert guard.factor(caller, usual, 32, usual) > 0.0
    assert guard.factor("liar", 1e4 * usual, 32, usual) == 0.0


def test_one_who_trains_an_expert_alone_does_not_set_what_is_usual() -> None:
    of_all = trained()
    for _ in range(20):
        of_all.factor("liar", 1e6, 32)
    assert of_all.typical() == 1.0


@pytest.mark.parametrize("norm", [1e-30, 1e-6, 1e6])
def test_a_liar_that_came_first_does_not_keep_the_others_out(norm: float) -> None:
    guard = GradientGuard()
    guard.factor("liar", norm, 32)
    factors = []
    for _ in range(60):
        factors = [guard.factor(caller, 1.0, 32) for caller in ("a", "b", "c")]
        guard.factor("liar", norm, 32)
    assert factors == [1.0] * 3


def test_who_sends_most_counts_less_where_several_train_an_expert() -> None:
    guard, flood = GradientGuard(), [1.0]
    for _ in range(40):
        assert [guard.factor(caller, 1.0, 32) for caller in ("a", "b", "c")] == [1.0] * 3
        flood = [guard.factor("flood", 1.0, 32) for _ in range(4)]
    assert flood[-1] == pytest.approx(3 / 4, rel=0.05)


def test_who_was_here_for_long_and_went_is_forgotten() -> None:
    guard = trained()
    for _ in range(3000):
        guard.factor("next", 1e3, 32)
    assert guard.typical() == pytest.approx(1e3)
    assert guard.factor("next", 1e3, 32) == 1.0


def test_who_does_not_agree_sets_no_measure() -> None:
    guard = trained()
    for _ in range(200):
        assert guard.factor("liar", 1e3, 32, agreed=1 / 32) <= 0.1 / 32
        assert guard.factor("trainer", 1.0, 32) == 1.0


def test_who_sends_next_to_nothing_is_told_from_one_whose_gradients_are_small() -> None:
    guard = GradientGuard()
    for _ in range(20):
        guard.factor("trainer", 1.0, 32)
        guard.factor("another", 0.2, 32)
        guard.factor("liar", 1e-6, 32)
    assert [guard.sends_nothing(name) for name in ("trainer", "another", "liar", "stranger")] == [
        False,
        False,
        True,
        False,
    ]
