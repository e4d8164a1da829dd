"""Kilowatt-hours by day and device: what is counted, what is not, and what a file may hold."""

import math
import time
from pathlib import Path

import pytest

from core.policy import energy
from core.policy.energy import Book, Draw, Meter
from core.policy.signals.reading import Gpu

NOON = time.mktime((2026, 11, 21, 12, 0, 0, 0, 0, -1))
DAY_S = 86_400.0


def test_an_hour_of_a_hundred_watts_is_a_tenth_of_a_kilowatt_hour() -> None:
    meter = Meter(Book())
    for second in range(3601):
        meter.step(5.0 + second, NOON + second, {"cpu": Draw(100.0, True), "GPU-a": Draw(50.0, False)})
    book = meter.book
    assert book.kwh("2026-11") == book.kwh() == pytest.approx(0.15)
    assert book.kwh_by_device("2026-11-21") == {"cpu": pytest.approx(0.1), "GPU-a": pytest.approx(0.05)}
    assert book.kwh("2026-10") == 0.0
    assert book.measured_share() == pytest.approx(2 / 3)
    assert energy.cost(book.kwh(), 0.30) == pytest.approx(0.045)
    assert energy.co2_kg(book.kwh(), 350) == pytest.approx(0.0525)
    assert energy.over_budget(book, NOON, 0.14) and not energy.over_budget(book, NOON, 0.16)
    assert not energy.over_budget(book, NOON, 0) and not energy.over_budget(book, NOON + 40 * DAY_S, 0.14)


def test_sleep_and_jumps_of_the_clock_add_nothing() -> None:
    meter = Meter(Book())
    draws = {"cpu": Draw(100.0, True)}
    meter.step(0.0, NOON, draws)
    meter.step(8 * 3600.0, NOON, draws)  # slept, on a system whose clock goes on
    meter.step(8 * 3600.0 - 50.0, NOON, draws)  # no clock that only grows does this
    assert meter.book.kwh() == 0.0
    meter.step(8 * 3600.0 - 49.0, NOON + 365 * DAY_S, draws)  # somebody set the date; a second is a second
    assert meter.book.kwh() == pytest.approx(100 / 3.6e6)
    for watts in (math.nan, math.inf, -50.0):
        meter.step(8 * 3600.0 - 48.0, NOON, {"cpu": Draw(watts, True)})
    assert meter.book.kwh() == pytest.approx(100 / 3.6e6)


def test_the_processors_power_is_shared_by_use() -> None:
    assert energy.cpu_draw(0.5, 0.25, 60.0, 0, 8) == Draw(40.0, True)
    assert energy.cpu_draw(0.5, 0.25, None, 0, 8) == Draw(20.0, False)
    assert energy.cpu_draw(0.5, 0.25, None, 90, 8) == Draw(45.0, False)
    assert energy.cpu_draw(0.5, None, 60.0, 90, 8) == Draw(45.0, False)
    assert energy.cpu_draw(0.0, 0.0, 60.0, 0, 8) == Draw(0.0, True)


def test_a_graphics_processors_power_is_shared_by_use() -> None:
    gpus = (
        Gpu("a", "A", watts=200.0, own=0.6, others=0.2),
        Gpu("b", "B", watts=30.0, own=0.0, others=0.0),
        Gpu("c", "C", watts=150.0),
        Gpu("d", "D", own=0.5, others=0.0),
        Gpu("e", "E", watts=99.0, own=0.0, others=1.0),
    )
    assert energy.gpu_draws(gpus, {"a", "b", "c", "d"}) == {
        "a": Draw(pytest.approx(150.0), True),  # type: ignore[arg-type]
        "b": Draw(30.0, True),
        "c": Draw(150.0, False),
        "d": Draw(energy.GPU_WATTS / 2, False),
    }


def test_the_book_is_kept_and_stays_small(tmp_path: Path) -> None:
    book = Book()
    for day in range(energy.DAYS + 30):
        book.add(time.strftime("%Y-%m-%d", time.localtime(NOON + day * DAY_S)), "cpu", 3.6e6, True)
    for device in range(1000):
        book.add("2030-01-01", f"GPU-{device}", 1.0, False)
    assert len(book.days) == energy.DAYS and "2026-11-21" not in book.days
    assert len(book.days["2030-01-01"]) == energy.DEVICES
    energy.save(tmp_path, book)
    assert energy.load(tmp_path) == book
    assert (tmp_path / energy.FILE).stat().st_size < 60_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"days": {"2026-11-21": {"cpu": {"measured": -1}}}}',
        b'{"days": {"2026-11-21": {"cpu": {"measured": 1e300}}}}',
        b'{"days": {"../../etc": {}}}',
        b'{"days": [1]}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_book_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / energy.FILE).write_bytes(content)
    assert energy.load(tmp_path) == Book()
    (aside,) = tmp_path.glob("energy.bad-*.json")
    assert aside.read_bytes() == content
    assert energy.load(tmp_path / "nowhere") == Book()


def test_a_disk_that_is_full_stops_nothing(tmp_path: Path) -> None:
    energy.save(tmp_path / "missing", Book())
