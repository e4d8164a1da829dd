"""What the ledger tells: totals, histories, sessions, yields. What is not written yet is added to what is."""

import bisect
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.community import schema
from core.community.calendar import DAY, HOUR, MINUTE, SECONDS, borders, midnight
from core.community.days import KEPT, day, plus
from core.community.schema import METRICS
from core.contracts.errors import DataFolderError
from core.contracts.ledger import (
    Amounts,
    ListParams,
    Metric,
    Period,
    Resolution,
    Series,
    SeriesParams,
    Session,
    Totals,
    Yield,
)
from core.contracts.notices import notice

WIDTHS = (MINUTE, HOUR, DAY)
"""Of the rows, in seconds. Each amount is in one row of each width, as long as such rows are kept."""
BY = {None: "''", "both": "run || ' ' || device"}
"""What series are told apart by, in SQL, where it is no column."""
SUMS = ", ".join(f"SUM({metric})" for metric in METRICS)


class Key(NamedTuple):
    """Of an amount: the minute in which it was done (unix time, UTC), for which run and by which device."""

    time: int
    run: str
    device: str


class Earlier(NamedTuple):
    """What a process goes on from."""

    yields: Sequence[Yield] = ()
    """The last ones, oldest first."""
    yield_count: int = 0
    """How many there were ever."""
    days: Mapping[str, Amounts] = {}
    """What was done, by local day (of `core.community.days`)."""


Pending = Mapping[Key, Amounts]
Done = Iterable[tuple[str, str, Amounts]]
"""Run, device, amounts."""


class Reader:
    """Asks one connection; to be used by the thread that owns it."""

    def __init__(self, connection: sqlite3.Connection, pending: Pending) -> None:
        """Ask one file.

        Args:
            connection: to the ledger's file.
            pending: what is not written to it yet, and counts as well.
        """
        self._connection, self._pending = connection, pending

    def totals(self, now: float) -> Totals:
        """What was contributed today, this week, and ever.

        Args:
            now: unix time.
        """
        tomorrow = midnight(now, 1)
        return Totals(
            time=now,
            since=self._since(),
            today=self._between(midnight(now), tomorrow),
            week=self._between(midnight(now, -6), tomorrow),
            all=_period(self._done(DAY, None)),
        )

    def _since(self) -> float | None:
        """The middle of the first row; of the finest that are still there, as a day (UTC) may be two local ones."""
        width = self._finest(float("-inf"))
        (first,) = self._connection.execute("SELECT MIN(time) FROM amounts WHERE width = ?", (width,)).fetchone()
        begun = [] if first is None else [first + width // 2]
        return min(begun + [key.time + MINUTE // 2 for key in self._pending], default=None)

    def _between(self, start: int, end: int) -> Period:
        return _period(self._done(self._width([start, end], DAY), (start, end)))

    def _done(self, width: int, limits: tuple[int, int] | None) -> Done:
        start, end = limits or (-(2**62), 2**62)
        query = (
            f"SELECT run, device, {SUMS} FROM amounts WHERE width = ? AND time >= ? AND time < ? GROUP BY run, device"
        )
        # a row counts where its middle lies
        for run, device, *sums in self._connection.execute(query, (width, start - width // 2, end - width // 2)):
            yield run, device, Amounts(*sums)
        for key, amounts in self._pending.items():
            if start <= key.time + MINUTE // 2 < end:
                yield key.run, key.device, amounts

    def series(self, asked: SeriesParams) -> Series:
        """How much of a metric was done in each stretch of time.

        Raises:
            ProtocolError: no time, or more of it than is answered at once.
        """
        return self._series(asked.metric, asked.start, asked.end, asked.resolution, asked.by)

    def _series(self, metric: Metric, start: float, end: float, resolution: Resolution, by: str | None) -> Series:
        times = borders(start, end, resolution)
        finest = self._finest(times[0])
        if finest > SECONDS[resolution]:
            return self._series(metric, start, end, "hour" if finest == HOUR else "day", by)
        width = self._width(times, SECONDS[resolution])
        values: dict[str, list[float]] = {}

        def add(moment: int, name: str, amount: float) -> None:
            place = bisect.bisect_right(times, moment) - 1
            if amount and 0 <= place < len(times) - 1:
                values.setdefault(name, [0.0] * (len(times) - 1))[place] += amount

        half, column = width // 2, BY.get(by, by)
        query = (
            f"SELECT time, {column}, SUM({metric}) FROM amounts "
            "WHERE width = ? AND time >= ? AND time < ? GROUP BY 1, 2"
        )
        for time, name, amount in self._connection.execute(query, (width, times[0] - half, times[-1] - half)):
            add(time + half, name, amount)
        for key, amounts in self._pending.items():
            add(key.time + MINUTE // 2, _name(key, by), getattr(amounts, metric))
        return Series(resolution, times, values)

    def _finest(self, start: float) -> int:
        """The width of the finest rows that are complete since `start`; only whole days of them are ever dropped."""
        query = "SELECT MIN(time) / ? FROM amounts WHERE width = ?"
        oldest = {width: self._connection.execute(query, (DAY, width)).fetchone()[0] for width in WIDTHS}
        for width in WIDTHS:
            if oldest[width] == oldest[DAY] or (oldest[width] is not None and oldest[width] * DAY <= start):
                return width
        return DAY

    def _width(self, times: list[int], most: int) -> int:
        """The widest rows, up to `most`, of which none lies across a border; the finest ones if there are none such."""
        finest = self._finest(times[0])
        fitting = (
            width for width in reversed(WIDTHS) if finest <= width <= most and not any(time % width for time in times)
        )
        return next(fitting, finest)

    def sessions(self, asked: ListParams) -> list[Session]:
        query = "SELECT start_ms / 1000.0, end, run, why FROM sessions ORDER BY start_ms DESC LIMIT ?"
        return [Session(*row) for row in reversed(self._connection.execute(query, (asked.limit,)).fetchall())]

    def yields(self, asked: ListParams) -> list[Yield]:
        query = "SELECT time, stop_ms, noticed_ms, told_ms FROM yields ORDER BY id DESC LIMIT ?"
        return [Yield(*row) for row in reversed(self._connection.execute(query, (asked.limit,)).fetchall())]

    def rows(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """What a query finds, as it stands in the file."""
        return self._connection.execute(query, arguments).fetchall()

    def earlier(self) -> Earlier:
        """What there is so far."""
        query = "SELECT COALESCE(SUM(yields), 0) FROM amounts WHERE width = ?"
        return Earlier(self.yields(ListParams()), self._connection.execute(query, (DAY,)).fetchone()[0], self._days())

    def _days(self) -> dict[str, Amounts]:
        """By local day, from rows of hours as far as there are some, else of days (UTC)."""
        (hours,) = self._connection.execute("SELECT MIN(time) FROM amounts WHERE width = ?", (HOUR,)).fetchone()
        whole = 0 if hours is None else hours - hours % DAY
        query = f"SELECT time, {SUMS} FROM amounts WHERE width = ? AND time >= ? AND time < ? GROUP BY time"
        found: dict[str, Amounts] = {}
        for width, start, end in ((DAY, whole - KEPT * DAY, whole), (HOUR, whole, 2**62)):
            for time, *sums in self._connection.execute(query, (width, start, end)):
                name = day(time + width // 2)
                found[name] = plus(found.get(name, Amounts()), Amounts(*sums))
        return found


def read_only(folder: Path) -> Reader:
    """The ledger of a data folder, as it is now, whether or not a worker serves it.

    Raises:
        DataFolderError: it cannot be read.
    """
    path = folder / schema.FILE
    try:
        return Reader(schema.open_to_read(path), {})
    except (sqlite3.Error, schema.DamagedError) as error:
        raise DataFolderError(notice("ledger.unreadable", why=schema.why(error))) from error


def _name(key: Key, by: str | None) -> str:
    """Of the series that an amount belongs to."""
    return {None: "", "run": key.run, "device": key.device}.get(by, f"{key.run} {key.device}")


def _period(done: Done) -> Period:
    whole, runs, devices = Amounts(), dict[str, Amounts](), dict[str, Amounts]()
    for run, device, amounts in done:
        whole = plus(whole, amounts)
        runs[run] = plus(runs.get(run, Amounts()), amounts)
        devices[device] = plus(devices.get(device, Amounts()), amounts)
    return Period(whole, runs, devices)
