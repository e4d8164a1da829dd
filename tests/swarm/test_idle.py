"""Computing only while the user is away: real input on a real X server, as `make test` provides."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers import RunningWorker, codes, worker

PLACES = itertools.cycle((10, 200))


def touch_the_mouse() -> bool:
    """Always true, so that a condition can have the user be there at every look, however seldom those come."""
    subprocess.run(["xdotool", "mousemove", str(next(PLACES)), "10"], check=True, timeout=60)
    return True


@pytest.fixture
def idle_only(tmp_path: Path) -> Iterator[RunningWorker]:
    assert os.environ.get("DISPLAY"), "this test needs a display: run it with `make test`"
    (tmp_path / "settings.json").write_text(json.dumps({"idle_only": True, "idle_threshold_s": 5, "memory_grace_s": 1}))
    with worker(tmp_path) as running:
        yield running


def test_it_waits_trains_when_the_user_is_away_and_yields_when_they_come_back(idle_only: RunningWorker) -> None:
    waiting = idle_only.until(lambda status: touch_the_mouse() and status.state == "waiting", "a user who is there")
    assert waiting.idle_s is not None and waiting.idle_source == "XScreenSaver"
    assert codes(waiting.until) == ["user.until"] and waiting.until_time is not None

    away = idle_only.until(lambda status: status.state == "contributing", "training while the user is away")
    assert away.idle_s is not None and away.idle_s >= 5

    touch_the_mouse()
    back = idle_only.until(lambda status: status.yields.count > 0, "a measured stop")
    assert back.state in ("yielding", "waiting")
    gone = idle_only.until(lambda status: len(status.processes) == 1, "the end of the compute process")
    assert gone.state in ("yielding", "waiting", "preparing", "contributing")
    idle_only.until(lambda status: status.state == "contributing" and status.step >= back.step, "training again")


def test_start_now_computes_whatever_the_user_does(idle_only: RunningWorker) -> None:
    idle_only.call("start_now", {"seconds": 600})
    idle_only.until(lambda status: status.state == "contributing", "training")
    status = idle_only.until(lambda status: touch_the_mouse() and (status.idle_s or 9) < 5, "the input to be seen")
    assert status.state == "contributing" and "choice.you_started" in codes(status.reason)
    idle_only.call("pause")
    idle_only.until(lambda status: status.state == "paused", "the pause")
    idle_only.call("resume")
    status = idle_only.until(lambda status: touch_the_mouse() and status.state != "preparing", "what follows")
    assert status.state == "contributing" and "choice.you_started" in codes(status.reason)


def test_without_a_desktop_it_says_so_and_follows_the_users_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    (tmp_path / "settings.json").write_text(json.dumps({"idle_only": True}))
    with worker(tmp_path) as running:
        status = running.until(lambda status: status.state == "attention", "that it cannot be measured")
        assert status.reason[-1] == status.idle_source
        assert next(rule for rule in status.why if rule.rule == "user").unknown
        running.call("set_settings", {"changes": {"idle_unknown": "run"}})
        running.until(lambda status: status.state == "contributing", "training")
