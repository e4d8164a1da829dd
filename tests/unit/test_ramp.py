"""Coming back in steps, and the record of yields."""

import math
from pathlib import Path

import pytest

from core.policy.ramp import RISE_S, SHORT_RISE_S, Ramp, follow
from core.worker.yields import KEPT, Yields


def shares(ramp: Ramp, since: float, seconds: int) -> list[float]:
    return [ramp.share(since + second) for second in range(seconds)]


def test_after_a_yield_the_share_rises_in_steps() -> None:
    stopped = follow(Ramp(), computes=False, gradual=True, now=1000.0)
    assert follow(stopped, False, True, 1001.0) == stopped
    back = follow(stopped, True, True, 2000.0)
    rising = shares(back, 2000.0, 25)
    assert rising[0] == 0.25 and rising == sorted(rising) and set(rising) == {0.25, 0.5, 0.75, 1.0}
    assert rising.index(1.0) == math.ceil(RISE_S)
    assert follow(back, True, True, 2003.0) == back
    assert back.next_step(2000.0) == pytest.approx(2000.0 + RISE_S / 3)
    assert back.next_step(2000.0 + RISE_S) == math.inf


def test_after_a_short_yield_it_comes_back_faster_and_at_a_word_at_once() -> None:
    stopped = follow(Ramp(), False, True, 1000.0)
    assert shares(follow(stopped, True, True, 1010.0), 1010.0, 25).index(1.0) == math.ceil(SHORT_RISE_S)
    assert follow(stopped, True, False, 1010.0).share(1010.0) == 1.0


def test_the_first_start_is_no_coming_back() -> None:
    assert follow(Ramp(), True, True, 5.0).share(5.0) == 1.0


def test_yields_are_kept_over_restarts(tmp_path: Path) -> None:
    yields = Yields(tmp_path)
    assert (yields.status().count, yields.status().last_ms, yields.status().p95_ms) == (0, None, None)
    for number in range(KEPT + 20):
        yields.add(100.0, 100.01, 100.02, 100.0 + number / 1000)
    yields.save()
    again = Yields(tmp_path)
    assert again.recent == yields.recent and len(again.recent) == KEPT
    assert again.status().count == KEPT + 20
    assert again.status().last_ms == pytest.approx(219) and again.status().p95_ms == pytest.approx(209)
    assert again.recent[-1].noticed_ms == pytest.approx(10) and again.recent[-1].told_ms == pytest.approx(20)


@pytest.mark.parametrize("damage", [b"", b"\xff", b'{"count": -1}', b'{"yields": [[1, -5]]}', b"[" * 5000])
def test_a_damaged_file_of_yields_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "yields.json").write_bytes(damage)
    yields = Yields(tmp_path)
    yields.add(0.0, 0.0, 0.0, 0.05)
    yields.save()
    assert Yields(tmp_path).status().count == 1
    assert [*tmp_path.glob("yields.bad-*")]
