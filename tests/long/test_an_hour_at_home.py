"""The first hour behind a line of 10 Mbit/s with three peers: a quarter of its upload is not passed in any minute."""

from pathlib import Path

import pytest

from tests.swarm.home_line import LOOK_S, QUARTER, home
from tests.swarm.namespaces import impossible

HOUR_S = 3600.0
MINUTE = int(60 / LOOK_S)
"""Stretches in one."""


@pytest.mark.timeout(HOUR_S + 900)
def test_the_first_hour_stays_below_a_quarter_of_the_upload(tmp_path: Path) -> None:
    assert not impossible()
    with home(tmp_path, "text") as at:
        rates = at.rates(HOUR_S)
        print(f"{at.sent() / 1e6:.0f} MB in an hour: {at.kinds()}")
        minutes = [rates[start : start + MINUTE] for start in range(0, len(rates) - MINUTE, MINUTE)]
        means = [sum(s * rate for s, rate in part) / sum(s for s, _ in part) for part in minutes]
        assert max(means[1:]) < QUARTER and sum(means) / len(means) < QUARTER, means
