"""How a run stands: its pace, its end, its loss by day, in words and as a page."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core import cli
from core.commands import common
from core.community.run_page import lines, page
from core.contracts.run_report import DAY_S, RunReport, days_of, end_of, pace_of
from core.contracts.status import CurvePoint
from tests.unit.test_command_line import Worker

NOON = 20_000 * DAY_S + DAY_S / 2
"""Of 4 October 2024, UTC."""


def curve(days: int = 3) -> list[CurvePoint]:
    """An evaluation an hour, 3,600 samples apart, that ends at noon."""
    count = 24 * days
    return [CurvePoint(n, 3600 * n, 3.0 - n / 100, n / 100, NOON - 3600 * (count - 1 - n)) for n in range(count)]


def report(**changes: Any) -> RunReport:
    points = curve()
    made = RunReport(
        NOON, "mine-12345678", "Mine & <others>", "What <b>it</b> is for", "text", "ab" * 32, 71, 255_600, 100_000,
        None, False, 0.5, pace_of(points, NOON), None, 16, 15, 3, 2, points, days_of(points),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def test_pace_is_the_mean_of_the_last_day_and_tells_when_the_plan_is_fulfilled() -> None:
    assert pace_of(curve(), NOON) == pytest.approx(1.0)
    rested = [msgspec.structs.replace(point, time=(point.time or 0) - 20 * 3600) for point in curve()]
    assert pace_of(rested, NOON) == pytest.approx(1.0), "what lies back longer than a day does not count"
    assert pace_of(rested, NOON + DAY_S) is None and pace_of([], NOON) is None
    assert pace_of([CurvePoint(1, 32, 1.0, 0.5), CurvePoint(2, 64, 1.0, 0.5)], NOON) is None, "of an older Hearth"
    assert end_of(1000, 87_400, 1.0, NOON) == NOON + DAY_S
    assert end_of(1000, None, 1.0, NOON) is end_of(1000, 2000, None, NOON) is None


def test_each_day_is_told_by_its_last_evaluation() -> None:
    days = days_of(curve())
    assert [day.day for day in days] == [19_997, 19_998, 19_999, 20_000]
    assert days[-1].samples == 3600 * 71 and days[0].samples == 3600 * 10


def test_what_is_said() -> None:
    said = dict(lines(report(planned_samples=600_000, ends=NOON + 4 * DAY_S)))
    assert said["Progress"] == "255,600 of 600,000 planned bytes, 2.56 passes over the data, step 71"
    assert said["Experts"] == "15 of 16 alive" and said["Peers"] == "3 PCs take part, 2 trainers in the last agreement"
    assert said["End"] == "about 2024-10-08, in 4 days" and said["Loss"].startswith("2.2900 (3.304 bits per byte)")
    young = dict(lines(report(curve=[], days=[], pace=None, alive=None, trainers=0)))
    assert "not measured yet" in young["Loss"] and "none planned" in young["End"] and "unknown" in young["Experts"]


def test_the_page_shows_both_curves_and_nothing_in_it_is_believed() -> None:
    shown = page(report())
    assert shown.count("<figure>") == 2 and "Loss by day" in shown and "2024-10-04" in shown
    assert "<b>" not in shown and "&lt;others&gt;" in shown and "script" not in shown
    assert not re.search(r"(src|href)=|https?:|url\(", shown), "it asks nobody for anything"
    assert "<figure>" not in page(report(curve=[], days=[]))
    one = curve()[:1]
    assert "By day" in page(report(curve=one, days=days_of(one)))


def test_the_command_prints_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "client", lambda options: Worker(run_report=[report()]))
    assert cli.main(["run", "status", "mine", "--html", str(tmp_path / "run.html")]) == 0
    assert "15 of 16 alive" in capsys.readouterr().out
    assert "Loss by samples" in (tmp_path / "run.html").read_text()
    assert cli.main(["run", "status", "mine", "--html", str(tmp_path / "no" / "run.html")]) == 5
    assert "cannot be written" in capsys.readouterr().err
