"""The ledger: what is counted is kept, whatever happens to the process, the disk, the file and the clock."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.community import days, schema
from core.community import ledger as module
from core.community.calendar import DAY, HOUR, MINUTE, midnight
from core.community.days import plus
from core.community.ledger import Ledger
from core.community.reading import Reader, read_only
from core.contracts.errors import DataFolderError, ProtocolError
from core.contracts.ledger import Amounts, ListParams, Metric, Series, SeriesParams, Totals, Yield
from core.contracts.notices import Notice
from tests import a_year
from tests.workers import ROOT
from tests.zones import unix, zone

NOON = 1_795_262_400.0
"""21 November 2026, 12:00 UTC."""


class Clock:
    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    with zone("UTC"):
        yield


def read(folder: Path, now: float = NOON) -> Totals:
    """What the file holds, as who comes later reads it."""
    return read_only(folder).totals(now)


def history(folder: Path, metric: Metric, start: float, end: float, resolution: str = "day", by: Any = None) -> Series:
    return read_only(folder).series(SeriesParams(metric, start, end, resolution, by))  # type: ignore[arg-type]


def set_aside(folder: Path) -> list[Path]:
    return list(folder.glob("ledger.bad-*.db"))


async def test_what_is_added_is_told_at_once_and_kept_over_restarts(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    assert (await ledger.totals()).since is None
    ledger.add("digits", "cpu", Amounts(samples=32, calls=8, seconds=0.5))
    clock.now += 3 * DAY
    ledger.add("text", "cpu", Amounts(tokens=100, seconds=0.25))
    ledger.add("text", "network.expert", Amounts(bytes_in=7, bytes_out=5))
    told = await ledger.totals()
    assert told.since == NOON + 30, "the middle of the first minute"
    assert told.today.amounts == Amounts(tokens=100, seconds=0.25, bytes_in=7, bytes_out=5)
    assert told.week == told.all and told.all.amounts.samples == 32 and told.all.amounts.seconds == 0.75
    assert told.all.runs["digits"] == Amounts(samples=32, calls=8, seconds=0.5)
    assert told.all.devices["cpu"] == Amounts(samples=32, tokens=100, calls=8, seconds=0.75)
    assert told.all.devices["network.expert"] == Amounts(bytes_in=7, bytes_out=5)
    clock.now += 7 * DAY
    ledger.close()
    kept = read(tmp_path, clock.now)
    assert (kept.all, kept.week.amounts, kept.since) == (told.all, Amounts(), told.since)
    again = Ledger(tmp_path, clock)
    again.add("digits", "cpu", Amounts(samples=1))
    assert (await again.totals()).all.amounts.samples == 33
    again.close()


def test_columns_are_the_metrics_that_clients_know() -> None:
    assert set(schema.METRICS) == set(Metric.__args__)  # type: ignore[attr-defined]


MOMENTS = st.integers(0, 400 * DAY)
AMOUNTS = st.builds(Amounts, samples=st.integers(0, 10**6), bytes_in=st.integers(0, 10**12), seconds=st.floats(0, 60))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(MOMENTS, st.sampled_from(["digits", "text"]), st.sampled_from(["cpu", "GPU-1"]), AMOUNTS)),
    st.integers(1, 4),
)
def test_every_resolution_has_the_sum_of_what_was_added(
    tmp_path_factory: pytest.TempPathFactory, added: list[tuple[int, str, str, Amounts]], written: int
) -> None:
    """In any order of time, that is also with a clock that is set forward and back; some of it not written yet."""
    folder, clock = tmp_path_factory.mktemp("ledger"), Clock()
    ledger = Ledger(folder, clock)
    whole = Amounts()
    for number, (moment, run, device, amounts) in enumerate(added):
        clock.now = NOON + moment
        ledger.add(run, device, amounts)
        whole = plus(whole, amounts)
        if number % 5 == written:
            ledger._write()
    reader = Reader(ledger._connection, ledger._pending.amounts)  # type: ignore[arg-type]
    told = reader.totals(NOON + 400 * DAY).all
    assert told.amounts.samples == whole.samples and told.amounts.bytes_in == whole.bytes_in
    assert told.amounts.seconds == pytest.approx(whole.seconds)
    for resolution, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        for metric in ("samples", "seconds"):
            for by in (None, "run", "device", "both"):
                total, start = 0.0, NOON - DAY
                while start < NOON + 401 * DAY:
                    asked = SeriesParams(metric, start, start + 2000 * length, resolution, by)  # type: ignore[arg-type]
                    if any(start <= NOON + moment < asked.end for moment, *_ in added):  # spare the empty ones
                        series = reader.series(asked)
                        assert all(len(values) == len(series.times) - 1 for values in series.values.values())
                        assert series.resolution == resolution
                        total += sum(map(sum, series.values.values()))
                    start += 2000 * length
                assert total == pytest.approx(getattr(whole, metric))
    ledger.close()


async def test_a_clock_that_is_set_neither_counts_twice_nor_overwrites(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    ledger.begin("digits")
    for _ in range(3):
        for jump in (0.0, -HOUR, 10 * 365 * DAY):
            clock.now = NOON + jump
            ledger.add("digits", "cpu", Amounts(samples=1))
            ledger._write()
    clock.now = NOON - DAY
    ledger.end("digits", "user")
    ledger.close()
    hours = history(tmp_path, "samples", NOON - HOUR, NOON + HOUR, "hour")
    assert hours.values == {"": [3, 3]} and hours.times == [NOON - HOUR, NOON, NOON + HOUR]
    assert read(tmp_path).all.amounts.samples == 9
    (session,) = read_only(tmp_path).sessions(ListParams())
    assert session.start == NOON and NOON <= session.end < NOON + 60


def test_minutes_and_hours_are_dropped_in_time_and_days_never(tmp_path: Path) -> None:
    clock, number_of_days = Clock(), 150
    ledger = Ledger(tmp_path, clock)
    for number in range(number_of_days * 48):
        clock.now = NOON + number * HOUR / 2
        ledger.add("digits", "cpu", Amounts(samples=1))
    ledger._write()
    connection = ledger._connection
    assert connection is not None
    for _ in range(2 * DAY // MINUTE + 1000):
        clock.now += MINUTE
        ledger.add("digits", "cpu", Amounts(samples=1))
    ledger._pruned = float("-inf")
    ledger._write()
    rows = dict(connection.execute("SELECT width, COUNT(*) FROM amounts GROUP BY width"))
    assert module.KEPT[MINUTE] <= rows[MINUTE] <= module.KEPT[MINUTE] + 1440
    assert module.KEPT[HOUR] <= rows[HOUR] <= module.KEPT[HOUR] + 24
    assert rows[DAY] >= number_of_days
    oldest = connection.execute("SELECT MIN(time) FROM amounts WHERE width < ? GROUP BY width", (DAY,)).fetchall()
    assert [time % DAY for (time,) in oldest] == [0, 0]  # no day is left in part
    reader = Reader(connection, {})
    expected = number_of_days * 48 + 2 * DAY // MINUTE + 1000
    assert reader.totals(clock.now).all.amounts.samples == expected
    # what is remembered coarsely only is told so
    long_ago = reader.series(SeriesParams("samples", NOON, NOON + 2 * DAY, "minute"))
    assert long_ago.resolution == "day" and long_ago.values[""] == [24, 48, 48]
    month_ago = reader.series(SeriesParams("samples", clock.now - 30 * DAY, clock.now - 29 * DAY, "minute"))
    assert month_ago.resolution == "hour" and month_ago.values[""][1:-1] == [2.0] * 23
    assert reader.series(SeriesParams("samples", clock.now - DAY, clock.now, "minute")).values == {"": [1.0] * 1440}
    ledger.close()


YEAR = SeriesParams("samples", NOON - 365 * DAY, NOON, "day")
QUERIES: dict[str, tuple[Callable[[Reader], object], int]] = {
    "totals": (lambda reader: reader.totals(NOON), 366 + 7 + 7 * 24 + 24),
    "a year of days": (lambda reader: reader.series(YEAR), 366),
    "by run": (lambda reader: reader.series(msgspec.structs.replace(YEAR, by="run")), 366),
    "by device": (lambda reader: reader.series(msgspec.structs.replace(YEAR, metric="kwh", by="device")), 366),
    "a month of hours": (lambda reader: reader.series(SeriesParams("calls", NOON - 30 * DAY, NOON, "hour")), 721),
    "two days of minutes": (lambda reader: reader.series(SeriesParams("rows", NOON - DAY, NOON, "minute")), 1441),
}
"""Questions about a year's history, and how many of its stretches of time they must look at."""


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("year")
    assert a_year.write(folder, int(NOON)) > 70_000
    return folder


@pytest.mark.parametrize("query", QUERIES)
def test_a_years_history_is_found_by_its_key_and_no_row_more_is_touched(year: Path, query: str) -> None:
    question, stretches = QUERIES[query]
    connection = schema.open_to_read(year / schema.FILE)
    asked: list[str] = []
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 10

    connection.set_trace_callback(asked.append)
    connection.set_progress_handler(step, 10)
    began = time.perf_counter()
    question(Reader(connection, {}))
    print(f"{query}: {1000 * (time.perf_counter() - began):.1f} ms, {steps} steps of SQLite")
    connection.set_trace_callback(None)
    connection.set_progress_handler(None, 0)
    plans = [row[3] for text in asked for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    found = [plan for plan in plans if "amounts" in plan]
    assert found and all(plan.startswith("SEARCH amounts USING PRIMARY KEY (width=?") for plan in found)
    rows = stretches * len(a_year.RUNS) * len(a_year.DEVICES)
    assert steps <= 50 * rows, "far more rows were touched than the answer needs"


def test_a_clock_far_ahead_for_a_while_costs_no_history(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    ledger.add("digits", "cpu", Amounts(samples=1))
    clock.now += 3000 * DAY
    ledger.add("digits", "cpu", Amounts(samples=1))
    ledger._write()
    ledger._pruned = float("-inf")
    ledger._write()
    ledger.close()
    assert history(tmp_path, "samples", NOON, NOON + 1, "minute").values == {"": [1.0]}


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/Los_Angeles", "Pacific/Auckland", "Asia/Kathmandu"])
def test_days_begin_at_local_midnight(tmp_path: Path, name: str) -> None:
    with zone(name):
        start = midnight(NOON)
        assert time.localtime(start)[3:6] == (0, 0, 0)
        clock = Clock(start - 1)
        ledger = Ledger(tmp_path, clock)
        ledger.add("digits", "cpu", Amounts(samples=1))
        clock.now = start
        ledger.add("digits", "cpu", Amounts(samples=10))
        clock.now = start + DAY - 1
        ledger.add("digits", "cpu", Amounts(samples=100))
        ledger.close()
        told = read(tmp_path, NOON)
        assert told.today.amounts.samples == 110 and told.week.amounts.samples == 111
        days = history(tmp_path, "samples", start - DAY, start + DAY)
        assert days.values == {"": [1, 110]} and days.times == [start - DAY, start, start + DAY]


def test_a_day_with_two_midnights_begins_with_the_first_and_one_with_none_when_it_can() -> None:
    with zone("America/Havana"):
        autumn = unix(2026, 11, 1, 12)
        assert time.localtime(midnight(autumn))[2:4] == (1, 0) and midnight(autumn, 1) - midnight(autumn) == 25 * HOUR
        assert midnight(midnight(autumn) + HOUR / 2) == midnight(autumn) == midnight(autumn - DAY, 1)
        spring = unix(2026, 3, 8, 12)
        assert time.localtime(midnight(spring))[2:4] == (8, 1) and midnight(spring, 1) - midnight(spring) == 23 * HOUR


@pytest.mark.parametrize("name", ["America/Los_Angeles", "UTC", "Pacific/Auckland"])
def test_the_first_day_is_a_local_one(tmp_path: Path, name: str) -> None:
    with zone(name):
        for hour in (1, 23):
            begun, folder = midnight(NOON) + hour * HOUR, tmp_path / str(hour)
            folder.mkdir()
            ledger = Ledger(folder, Clock(begun))
            ledger.add("digits", "cpu", Amounts(samples=1))
            ledger.close()
            since = read(folder).since
            assert since is not None and time.localtime(since)[:3] == time.localtime(begun)[:3]


def test_where_midnight_lies_within_an_hour_it_counts_for_the_day_of_its_middle(tmp_path: Path) -> None:
    with zone("Asia/Kathmandu"):  # 5:45 ahead
        clock = Clock(midnight(NOON) + 10 * MINUTE)
        ledger = Ledger(tmp_path, clock)
        ledger.add("digits", "cpu", Amounts(samples=1))
        ledger.close()
        file = sqlite3.connect(tmp_path / schema.FILE)
        with file:
            file.execute("DELETE FROM amounts WHERE width = ?", (MINUTE,))  # as after some days
        file.close()
        assert read(tmp_path, NOON).today.amounts.samples == 1
        assert history(tmp_path, "samples", midnight(NOON), NOON).values == {"": [1]}


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Los_Angeles"])
def test_sums_by_day_and_month_are_exact_also_after_a_restart(tmp_path: Path, name: str) -> None:
    with zone(name):
        december = unix(2026, 12, 1, 0)
        clock = Clock()
        ledger = Ledger(tmp_path, clock)
        for now in (december - 40 * DAY, december - 1, december, december + DAY - 1, december + DAY):
            clock.now = now
            ledger.add("digits", "cpu", Amounts(kwh=0.5, bytes_in=2))
            ledger.add("text", "GPU-1", Amounts(kwh=0.25))
            assert ledger.days.sum(days.day(now)).kwh in (0.75, 1.5)
        clock.now = december - 1  # a clock that is set back finds its day and month again
        ledger.add("digits", "", Amounts(bytes_in=3))
        for _ in range(2):
            assert ledger.days.sum("2026-11") == Amounts(kwh=0.75, bytes_in=5)
            assert ledger.days.sum("2026-12-01") == Amounts(kwh=1.5, bytes_in=4)
            assert ledger.days.sum("2026-12").kwh == 2.25 and ledger.days.sum("2027-01") == Amounts()
            ledger.close()
            ledger = Ledger(tmp_path, clock)
        ledger.close()


def test_a_day_may_have_23_or_25_hours(tmp_path: Path) -> None:
    with zone("Europe/Berlin"):
        spring = unix(2026, 3, 29, 12)
        times = history(tmp_path, "samples", spring - DAY, spring + DAY).times
        assert [end - start for start, end in pairwise(times)] == [DAY, DAY - HOUR, DAY]
        autumn = unix(2026, 10, 25, 12)
        times = history(tmp_path, "samples", autumn, autumn + 1).times
        assert times[1] - times[0] == DAY + HOUR


def test_a_history_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for start, end, resolution, code in (
        (NOON, NOON, "day", "history.end_before_start"),
        (NOON, NOON - 1, "day", "history.end_before_start"),
        (NOON, NOON + 3 * DAY, "minute", "history.too_many"),
    ):
        with pytest.raises(ProtocolError) as refused:
            history(tmp_path, "samples", start, end, resolution)
        assert refused.value.notice.code == code


async def test_sessions_and_yields_are_kept(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    ledger.end("digits", "user")  # nothing had begun
    for why in ("user", "battery"):
        clock.now += 100
        ledger.begin("digits")
        ledger.begin("digits")
        ledger.end("digits", why)
    measured = Yield(NOON, 41.0, 3.0, 5.0)
    ledger.yielded("digits", measured)
    clock.now += 100
    ledger.begin("text")
    sessions = await ledger.sessions(ListParams())
    assert [(one.start - NOON, one.run, one.why) for one in sessions] == [
        (100, "digits", "user"),
        (200, "digits", "battery"),
        (300, "text", ""),
    ]
    assert await ledger.yields(ListParams()) == [measured]
    assert (await ledger.sessions(ListParams(limit=1)))[0].run == "text"
    ledger.close()  # without a word about the session's end
    with pytest.raises(DataFolderError, match="quitting"):
        await ledger.totals()
    again = Ledger(tmp_path, clock)
    assert again.earlier[:2] == ([measured], 1)
    assert [one.why for one in await again.sessions(ListParams())] == ["user", "battery", "lost"]
    assert (await again.totals()).all.devices[""].yields == 1
    again.close()


async def test_old_sessions_and_yields_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SESSIONS", 10)
    monkeypatch.setattr(module, "YIELDS", 10)
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    for number in range(25):
        clock.now += 10
        ledger.begin("digits")
        ledger.end("digits", str(number))
        ledger.yielded("digits", Yield(clock.now, float(number), 0, 0))
        ledger._pruned = float("-inf")
        ledger._write()
    assert [one.why for one in await ledger.sessions(ListParams())] == [str(number) for number in range(15, 25)]
    assert [one.stop_ms for one in await ledger.yields(ListParams())] == [*range(15, 25)]
    assert (await ledger.totals()).all.amounts.yields == 25
    ledger.close()


DAMAGE = {
    "empty of sense": b"this is no database at all, but some text that is long enough to be one " * 20,
    "cut": None,
    "overwritten inside": None,
    "of another program": None,
}


@pytest.mark.parametrize("damage", [*DAMAGE, "newer"])
async def test_a_damaged_file_is_set_aside_and_begun_anew(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / schema.FILE
    clock = Clock()
    before = Ledger(tmp_path, clock)
    for hour in range(500):
        clock.now = NOON - hour * HOUR
        before.add("digits", "cpu", Amounts(samples=1))
    before.close()
    content = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "overwritten inside":
            middle = len(content) // 8192 * 4096  # a page that nothing looks at by the way
            path.write_bytes(content[:middle] + os.urandom(4096) + content[middle + 4096 :])
        case "of another program" | "newer":
            if damage == "of another program":
                path.unlink()
            with sqlite3.connect(path) as other:
                other.execute("CREATE TABLE theirs (x)")
                other.execute(f"PRAGMA user_version = {1 if damage == 'of another program' else 99}")
            other.close()
        case _:
            path.write_bytes(DAMAGE[damage] or b"")
    content = path.read_bytes()
    with pytest.raises(DataFolderError):
        read(tmp_path)
    with pytest.raises((schema.DamagedError, sqlite3.DatabaseError)):
        schema.open_to_write(path)
    ledger = Ledger(tmp_path, Clock())
    ledger.add("digits", "cpu", Amounts(samples=5))
    assert (await ledger.totals()).all.amounts.samples == 5
    (kept,) = set_aside(tmp_path)
    assert kept.read_bytes() == content
    (note,) = ledger.notes
    assert kept.name in str(note) and str(note) in caplog.text
    why = note.args["why"]
    assert isinstance(why, Notice) and (why.code == "ledger.newer") == (damage == "newer")
    assert ("from a newer Hearth" in str(note)) == (damage == "newer")
    ledger.close()
    assert read(tmp_path).all.amounts.samples == 5


async def test_a_file_that_is_damaged_while_it_is_used_costs_only_what_it_held(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path, clock)
    for hour in range(2000):
        clock.now = NOON - hour * HOUR
        ledger.add("digits", "cpu", Amounts(samples=1))
    ledger._write()
    assert ledger._connection is not None
    ledger._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / schema.FILE
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    ledger._connection.execute("PRAGMA shrink_memory")  # or it would look only at what it still knows
    clock.now = NOON
    ledger.add("digits", "cpu", Amounts(samples=7))
    ledger._write()
    ledger._write()
    ledger.add("digits", "cpu", Amounts(samples=4))
    assert (await ledger.totals()).all.amounts.samples == 11
    assert len(ledger.notes) == len(set_aside(tmp_path)) == 1
    ledger.close()
    assert read(tmp_path).all.amounts.samples == 11


def test_an_older_file_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path, Clock())
    ledger.add("digits", "cpu", Amounts(samples=3))
    ledger.close()
    step = "ALTER TABLE sessions ADD COLUMN mood TEXT; UPDATE amounts SET samples = samples + 1"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    assert read(tmp_path).all.amounts.samples == 4  # and the file itself was not touched:
    later = Ledger(tmp_path, Clock())
    later.close()
    assert read(tmp_path).all.amounts.samples == 4
    assert not list(tmp_path.glob("*.bad-*"))


def test_a_file_of_before_trunks_were_counted_is_taken_over(tmp_path: Path) -> None:
    """As Hearth 0.1.0 wrote it."""
    path = tmp_path / schema.FILE
    file = sqlite3.connect(path)
    file.executescript(f"{schema.MIGRATIONS[0]} PRAGMA user_version = 1;")
    day = int(NOON) // DAY * DAY
    row = (day, "digits", "cpu", 7, 0, 5, 0, 9, 3, 1.5, 0, 0, 0.25, 0.0, 2)
    file.executemany(
        f"INSERT INTO amounts VALUES ({', '.join('?' * 16)})", [(width, *row) for width in (60, HOUR, DAY)]
    )
    file.commit()
    file.close()
    before = Amounts(samples=7, calls=5, rows=9, passes=3, seconds=1.5, kwh=0.25, yields=2)
    assert read(tmp_path).all.amounts == before, "who only reads it"
    ledger = Ledger(tmp_path, Clock())
    ledger.add("digits", "", Amounts(accepted=640, reduced=1_000))
    ledger.close()
    assert read(tmp_path).all.amounts == plus(before, Amounts(accepted=640, reduced=1_000))
    assert history(tmp_path, "reduced", NOON - DAY, NOON + 1).values == {"": [0.0, 1_000.0]}
    assert not set_aside(tmp_path)


COUNTS_FOR_EVER = """
import os, sys, time
from pathlib import Path
from core.community import days
from core.community import ledger as module
from core.community.ledger import Ledger
from core.contracts.notices import Notice
from core.contracts.ledger import Amounts
module.FLUSH_S = 0.02
ledger = Ledger(Path(sys.argv[1]))
ledger.begin("digits")
for number in range(1, 10**9):
    ledger.add("digits", "cpu", Amounts(samples=1, bytes_in=1000))
    ledger.tick()
    if number % 1000 == 0:
        print(number, flush=True)
"""


def test_who_is_killed_in_the_middle_of_writing_loses_only_the_last_moments(tmp_path: Path) -> None:
    counted = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", COUNTS_FOR_EVER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        before = counted
        while counted <= before:  # read while it writes on
            assert process.stdout.readline()
            counted = read_only(tmp_path).totals(time.time()).all.amounts.samples
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = read_only(tmp_path).totals(time.time())
        assert kept.all.amounts.samples >= counted
        assert kept.all.amounts.bytes_in == 1000 * kept.all.amounts.samples
        counted = kept.all.amounts.samples
    ledger = Ledger(tmp_path)
    assert not ledger.notes and not list(tmp_path.glob("*.bad-*"))
    ledger.close()
    assert [one.why for one in read_only(tmp_path).sessions(ListParams())] == ["lost"] * 3


FULL_DISK = """
import asyncio, os, resource, sys
from pathlib import Path
from core.community.ledger import Ledger
from core.contracts.notices import Notice
from core.contracts.ledger import Amounts
folder, when = Path(sys.argv[1]), sys.argv[2]

class Clock:
    now = 1_795_262_400.0
    def __call__(self):
        return self.now

def full(yes):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 if yes else hard, hard))

async def main():
    clock = Clock()
    earlier = Ledger(folder, clock)
    earlier.add("digits", "cpu", Amounts(samples=7))
    earlier.close()
    full(when == "from the start")
    ledger = Ledger(folder, clock)
    assert ledger.days.sum("").samples == 7
    full(True)
    for number in range(20_000):  # for two weeks
        clock.now += 60
        ledger.add("digits", "cpu", Amounts(samples=1))
        if number % 4000 == 0:
            ledger._thread.submit(ledger._write).result()
    assert (await ledger.totals()).all.amounts.samples == 20_007
    assert len(ledger._pending.amounts) <= 5001, len(ledger._pending.amounts)
    (note,) = ledger.notes
    print(note)
    full(False)
    ledger.add("digits", "cpu", Amounts(samples=1))
    ledger._thread.submit(ledger._write).result()
    assert not ledger.notes and not ledger._pending.amounts
    assert (await ledger.totals()).all.amounts.samples == 20_008
    ledger.close()

import logging
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["from the start", "later"])
def test_on_a_full_disk_it_goes_on_counting_and_writes_when_there_is_room(tmp_path: Path, when: str) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), when]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    warning, note = done.stdout.splitlines()  # once
    assert warning == f"WARNING {note}" and "counted in memory" in note and "Free some space" in note
    end = NOON + 20_000 * MINUTE
    assert read(tmp_path, end).all.amounts.samples == 20_008
    days = history(tmp_path, "samples", NOON + DAY, NOON + 10 * DAY)
    assert days.values[""] == [1440.0] * 10  # what lies days back has lost its minutes, not its day


async def test_what_fails_half_way_is_as_if_it_had_not_begun(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Clock())
    for _ in range(3):
        ledger.add("digits", "cpu", Amounts(samples=1))
        ledger.yielded("digits", Yield(None, 1.0, 1.0, 1.0))  # type: ignore[arg-type]  # which no table takes
        ledger._write()
    assert ledger.notes and read(tmp_path).since is None
    ledger._pending.yields.clear()
    ledger._write()
    assert not ledger.notes and (await ledger.totals()).all.amounts.samples == 3
    ledger.close()
    assert read(tmp_path).all.amounts == Amounts(samples=3, yields=3)


async def test_a_disk_that_hangs_holds_up_nobody_who_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path, Clock())
    hangs, insert = threading.Event(), module._insert

    def slow(*arguments: Any) -> None:
        assert hangs.wait(60)
        insert(*arguments)

    monkeypatch.setattr(module, "_insert", slow)
    monkeypatch.setattr(module, "FLUSH_S", 0.0)
    for _ in range(100):
        ledger.add("digits", "cpu", Amounts(samples=1))
        ledger.tick()
    hangs.set()
    assert (await ledger.totals()).all.amounts.samples == 100
    ledger.close()
    assert read(tmp_path).all.amounts.samples == 100


def test_nothing_is_written_while_nothing_is_done(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Clock())
    ledger._write()
    wal = tmp_path / f"{schema.FILE}-wal"
    before = wal.stat().st_size, wal.stat().st_mtime_ns
    for _ in range(10):
        ledger._write()
    assert (wal.stat().st_size, wal.stat().st_mtime_ns) == before
    ledger.close()


def test_reading_changes_nothing_and_needs_no_right_to_write(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Clock())
    ledger.add("digits", "cpu", Amounts(samples=3))
    ledger.close()
    assert [path.name for path in tmp_path.iterdir()] == [schema.FILE]
    assert read(tmp_path).all.amounts.samples == 3
    assert [path.name for path in tmp_path.iterdir()] == [schema.FILE]
    assert read(tmp_path / "nowhere").since is None and not (tmp_path / "nowhere").exists()
