"""A wall clock that is set by hours and months, forwards and back, under a live worker."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts.ledger import Amounts
from core.contracts.notices import english
from core.contracts.status import Status
from tests.swarm.jumping_clock import VARIABLE
from tests.workers import RunningWorker, codes, contributed, worker

PROGRAM = "tests.swarm.jumping_clock"


class Clock:
    """The wall clock of the workers that a test starts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(12)

    def set(self, hour: int, minute: int = 0, month: int = 3) -> float:
        """Let it be this local time of the fifth of a month, and go on from there; its unix time."""
        moment = time.mktime((2031, month, 5, hour, minute, 0, 0, 0, -1))
        partial = self._path.with_suffix(".partial")
        partial.write_text(str(moment - time.time()))
        partial.replace(self._path)
        return moment


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    path = tmp_path / "clock"
    monkeypatch.setenv(VARIABLE, str(path))
    yield Clock(path)


def trains(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0


def deciding(status: Status) -> str:
    """The rule that stops computing; "" if none does."""
    return next((rule.rule for rule in status.why if "cpu" in rule.stops), "")


def waits_for(running: RunningWorker, rule: str) -> Status:
    return running.until(lambda status: deciding(status) == rule and not status.samples_per_s, f"a stop by {rule}")


def test_schedule_pause_start_now_and_month_follow_the_clock(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"version": 2, "compute_hours": "10:00-20:00"}))
    contributed(folder, Amounts(kwh=6.0), time.mktime((2031, 3, 4, 12, 0, 0, 0, 0, -1)))
    with worker(folder, program=PROGRAM) as running:
        running.until(trains, "training at noon")

        clock.set(21)
        evening = waits_for(running, "hours")
        assert codes(evening.until) == ["hours.starts_at"] and evening.until_time is not None
        clock.set(11)
        running.until(trains, "training before noon")

        running.call("pause", {"seconds": 3600})
        noon = running.status().until_time
        clock.set(10, 30)  # it lasts until the hour that was told, neither for ever nor for less
        paused = running.until(lambda status: abs(status.time - clock.set(10, 30)) < 60, "the clock set back")
        assert (paused.state, paused.until_time) == ("paused", noon)
        clock.set(12, 1)
        running.until(trains, "training after the pause")

        clock.set(21)
        waits_for(running, "hours")
        running.call("start_now", {"seconds": 3600})
        running.until(trains, "training by Start now")
        clock.set(22, 1)
        waits_for(running, "hours")
        clock.set(12)
        running.until(trains, "training at noon")

        running.call("set_settings", {"changes": {"energy_budget_kwh": 5}})
        spent = waits_for(running, "energy")
        assert "1 April" in english(spent.until)
        clock.set(12, month=4)
        running.until(trains, "training in the new month")
        clock.set(12)
        waits_for(running, "energy")

        process = psutil.Process(running.process.pid)
        before = sum(process.cpu_times()[:2])
        time.sleep(1.0)  # a measurement
        assert sum(process.cpu_times()[:2]) - before < 0.3, "it spins"
        assert all(0 <= (moment or 0) < 60_000 for moment in (running.status().yields.p95_ms,))


def test_a_used_up_quota_ends_with_the_month_and_comes_back_with_it(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"version": 2, "quota_gb": 1}))
    contributed(folder, Amounts(bytes_in=10**9, bytes_out=10**9), time.mktime((2031, 3, 4, 12, 0, 0, 0, 0, -1)))
    with worker(folder, "--role", "backbone", "--listen", "127.0.0.1:0", program=PROGRAM) as running:
        for month, allowed in ((3, False), (4, True), (3, False)):
            clock.set(12, month=month)
            running.until(lambda status: status.network == allowed, f"the network in month {month}")  # noqa: B023
