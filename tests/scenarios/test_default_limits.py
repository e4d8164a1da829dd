"""The limits that hold until the user chooses some, behind a line of 10 Mbit/s."""

from pathlib import Path

import pytest

from tests.swarm.home_line import QUARTER, Caller, home
from tests.swarm.namespaces import Internet, impossible
from tests.workers import wait_until

SECONDS = 60.0
STEADY_S = 30.0
CALLS_S = 6.0


@pytest.fixture(scope="module")
def possible() -> None:
    if reason := impossible():
        pytest.fail(reason)


def test_with_three_peers_a_quarter_of_the_line_is_not_passed_from_the_start_on(possible: None, tmp_path: Path) -> None:
    with home(tmp_path, "digits") as at:
        rates, line = at.rates(SECONDS), at.line()
        seconds = sum(stretch for stretch, _ in rates)
        steady = rates[-int(STEADY_S / SECONDS * len(rates)) :]
        assert line.upload.why.code == "line.measured" and line.upload.bytes_s <= QUARTER
        assert sum(stretch * rate for stretch, rate in rates) / seconds < QUARTER, rates
        assert sum(stretch * rate for stretch, rate in steady) / sum(stretch for stretch, _ in steady) < QUARTER, rates
        wait_until(lambda: at.kinds().keys() >= {"expert", "line"}, "calls of experts")


def test_a_copy_takes_what_calls_leave_of_the_limit(possible: None) -> None:
    with Internet() as internet:
        caller = Caller(internet, limited=True)
        before = caller.calls(CALLS_S, copied=False)
        alone, beside = caller.calls(CALLS_S, copied=False), caller.calls(CALLS_S, copied=True)
        assert 0 < before["limit"] <= QUARTER
        assert beside["copied_bytes"] > 0
        assert alone["sent_bytes_s"] < beside["sent_bytes_s"] < 1.1 * QUARTER
        assert len(beside["calls_s"]) > 0.7 * len(alone["calls_s"])  # by latency: the benchmark `line`
