"""The promise: the user comes back at any moment, compute stops, its memory goes, nothing is lost, it resumes."""

from pathlib import Path

from tests.returns import GONE_S, GRACE_S, User, recorded, returns, yielding_worker

RETURNS = 4
"""`python -m tests.bench yield` does fifty."""
LATE_MS = 10_000.0
"""Far more than is promised: the machine of a test is shared. The benchmark measures."""


def test_the_machine_is_given_back_again_and_again(tmp_path: Path) -> None:
    with yielding_worker(tmp_path) as running:
        seen = [*returns(running, User(seed=1), RETURNS, wait_s=1.5)]
        assert running.status().yields.count == RETURNS
    kept = recorded(tmp_path)
    assert len(kept) == RETURNS
    for back, found in zip(seen, kept, strict=True):
        # the cause is the input, though only its age is known; then noticed, told, stopped
        assert back.input - 0.1 < found.time < back.sent + 0.3
        assert 0 <= found.noticed_ms <= found.told_ms <= LATE_MS and found.stop_ms <= LATE_MS
        assert back.gone_s <= GRACE_S + GONE_S + LATE_MS / 1000
    assert all(back.resumed_s for back in seen[1:])


def test_the_end_of_start_now_is_no_late_return(tmp_path: Path) -> None:
    with yielding_worker(tmp_path) as running:
        running.call("start_now", {"seconds": 3600})
        running.until(lambda status: status.samples_per_s > 0, "training while the user is here")
        User(seed=1).touch()
        count = running.status().yields.count
        running.call("start_now", {"seconds": 4})
        running.until(lambda status: status.yields.count > count, "its end")
    assert recorded(tmp_path)[-1].stop_ms <= LATE_MS, "counted from an input that had to stop nothing"
