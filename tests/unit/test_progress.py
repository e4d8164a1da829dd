"""What the worker remembers of a run."""

from pathlib import Path

from core.contracts.notices import plain
from core.contracts.status import CurvePoint, ExpertStatus
from core.store.progress import CURVE_POINTS, FILE, Progress
from core.store.small_files import Files


def point(step: int, accuracy: float = 0.5) -> CurvePoint:
    return CurvePoint(step, step * 32, 1.0, accuracy)


def test_the_curve_keeps_its_ends_and_stays_bounded() -> None:
    kept = Progress()
    for step in range(3 * CURVE_POINTS):
        kept.add(point(step))
    assert len(kept.curve) <= CURVE_POINTS
    assert (kept.curve[0].step, kept.curve[-1].step) == (0, 3 * CURVE_POINTS - 1)
    steps = [kept_point.step for kept_point in kept.curve]
    assert steps == sorted(set(steps))


def test_figures_come_back(tmp_path: Path) -> None:
    kept = Progress(step=3, samples=96, loss=0.5, experts=[ExpertStatus("digits.0.0.0", 1, 2)])
    kept.add(point(3, 0.75))
    files = Files(tmp_path)
    files.save(FILE, kept).result()
    assert files.read(FILE, Progress, plain("")) == kept


def test_figures_after_the_step_that_compute_resumed_at_are_forgotten() -> None:
    kept = Progress()
    for step in (10, 20, 30):
        kept.add(point(step, step / 100))
    kept.resume_at(25)
    assert [kept_point.step for kept_point in kept.curve] == [10, 20]
    assert kept.accuracy == 0.2
