"""What this PC contributed, kept for ever: amounts by minute, hour and day; sessions; the last yields.

The worker counts in memory, which costs it next to nothing; a thread of the ledger's own writes every 20 s, and
answers. What cannot be written, as the disk is full, stays in memory until it can be. A file that is damaged is set
aside and begun anew.

Each amount is written in one transaction as a row of a minute, of an hour and of a day (UTC), added to what that row
has already: so all three always have the same sum, and a clock that is set back adds to earlier rows and overwrites
none. Rows of days stay for ever (40 KB a year and device), those of the other two as long as `KEPT` says.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.community import schema
from core.community.calendar import DAY, HOUR, MINUTE
from core.community.days import Days, plus
from core.community.reading import WIDTHS, Earlier, Key, Reader
from core.community.schema import METRICS
from core.contracts.errors import DataFolderError
from core.contracts.ledger import Amounts, ListParams, Series, SeriesParams, Session, Totals, Yield
from core.contracts.notices import Notice, notice

log = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH_S = 20.0
"""Between two writes: what a crash may lose, and what it takes to write, is half a minute at most."""
PRUNE_S = 3600.0
KEPT = {MINUTE: 2 * 1440, HOUR: 62 * 24}
"""Rows' times kept, newest first, and what else is of the same day: at least two days of work by the minute, and two
months by the hour. Counted and not dated, so that a clock that is far ahead for a while costs no more than its rows."""
SESSIONS, YIELDS = 20_000, 1000
"""Kept of these."""
IN_MEMORY = 5000
"""Keys that wait to be written; when there are more, their minutes become hours, then days."""

_UPSERT = (
    f"INSERT INTO amounts (width, time, run, device, {', '.join(METRICS)}) "
    f"VALUES (?, ?, ?, ?{', ?' * len(METRICS)}) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{metric} = {metric} + excluded.{metric}" for metric in METRICS)
)


class _Pending:
    """What is not written yet."""

    def __init__(self) -> None:
        self.amounts: dict[Key, Amounts] = {}
        self.sessions: dict[float, Session] = {}
        """By their start."""
        self.yields: list[Yield] = []
        self.rows: dict[tuple[object, ...], tuple[object, ...]] = {}
        """Of the tables of credit, whole, by the table's name and the row's key."""

    def add(self, key: Key, amounts: Amounts) -> None:
        self.amounts[key] = plus(self.amounts[key], amounts) if key in self.amounts else amounts
        for width in (HOUR, DAY):
            if len(self.amounts) > IN_MEMORY:
                self._coarsen(width)

    def take(self, newer: "_Pending") -> None:
        """Take in what came later."""
        for key, amounts in newer.amounts.items():
            self.add(key, amounts)
        self.sessions = dict([*(self.sessions | newer.sessions).items()][-SESSIONS:])
        self.yields = [*self.yields, *newer.yields][-YIELDS:]
        self.rows |= newer.rows

    def _coarsen(self, width: int) -> None:
        before, self.amounts = self.amounts, {}
        for key, amounts in before.items():
            coarse = key._replace(time=key.time - key.time % width)
            self.amounts[coarse] = plus(self.amounts[coarse], amounts) if coarse in self.amounts else amounts


class Ledger:
    """That of one data folder. Counting and asking belong to the worker's loop; no call waits for the disk."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Open the file, or make it.

        Args:
            folder: the data folder.
            clock: the time of day, unix seconds.
        """
        self._path, self._clock = folder / schema.FILE, clock
        self._lock = threading.Lock()
        self._pending = _Pending()
        self._sessions: dict[str, tuple[float, float]] = {}
        """Those that go on, by run: start by the clock, start by time.monotonic()."""
        self._connection: sqlite3.Connection | None = None
        """None: the file cannot be opened now. Used by one thread: the first one until this returns, then its own."""
        self._copy: sqlite3.Connection | None = None
        """What is asked instead then."""
        self._trouble: Notice | None = None
        self._damage: Notice | None = None
        """Sentences about why nothing can be written now, and about what was lost."""
        self._flushed, self._pruned = time.monotonic(), float("-inf")
        self._writing = self._closed = False
        self._write()
        if self._connection is None:  # what was damaged is out of the way now
            self._write()
        self.earlier = Earlier()
        """What there was before this process."""
        with contextlib.suppress(DataFolderError):  # then it begins anew
            self.earlier = self._answer(lambda reader: reader.earlier())
        self.days = Days(self.earlier.days)
        """What was done by local day, up to this moment. In a time zone that is off by half an hour, half an hour of
        work at the border of two days may count for the other one after a restart."""
        self._thread = ThreadPoolExecutor(1, "ledger")

    @property
    def notes(self) -> list[Notice]:
        """For the user."""
        return [note for note in (self._damage, self._trouble) if note]

    # counting

    def add(self, run: str, device: str, amounts: Amounts) -> None:
        """Count what was just done."""
        now = int(self._clock())
        self.days.add(now, amounts)
        with self._lock:
            self._pending.add(Key(now - now % MINUTE, run, device), amounts)

    def yielded(self, run: str, measured: Yield) -> None:
        """Note that the machine was given back."""
        with self._lock:
            self._pending.yields.append(measured)
            del self._pending.yields[:-YIELDS]
        self.add(run, "", Amounts(yields=1))

    def keep(self, table: str, key: tuple[object, ...], values: tuple[object, ...]) -> None:
        """Write a row of credit soon, in the place of the one with this key."""
        with self._lock:
            self._pending.rows[table, *key] = (*key, *values)

    def begin(self, run: str) -> None:
        """Computing has begun, if it had not."""
        if run not in self._sessions:
            start, taken = self._clock(), {round(1000 * other) for other, _ in self._sessions.values()}
            while round(1000 * start) in taken:  # the file tells them apart by the millisecond in which they began
                start += 0.001
            self._sessions[run] = start, time.monotonic()

    def end(self, run: str, why: str) -> None:
        """Computing has ended, if it had begun.

        Args:
            run: for which.
            why: see `Session.why`.
        """
        if run in self._sessions:
            self._note_session(run, why)
            del self._sessions[run]

    def _note_sessions(self) -> None:
        """If nobody can say later when they ended, it was about now."""
        for run in self._sessions:
            self._note_session(run, "")

    def _note_session(self, run: str, why: str) -> None:
        start, began = self._sessions[run]
        session = Session(start, start + time.monotonic() - began, run, why)  # a clock that is set does not bend it
        with self._lock:
            self._pending.sessions[start] = session

    def tick(self) -> None:
        """Write if it is time to. To be called about once a second."""
        now = time.monotonic()
        if now - self._flushed >= FLUSH_S and not self._writing:
            self._flushed, self._writing = now, True
            self._note_sessions()
            self._thread.submit(self._write)

    def close(self) -> None:
        """Write the rest and let go of the file. Waits for the disk."""
        self._closed = True
        self._thread.submit(self._write).result()
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()

    # asking

    async def totals(self) -> Totals:
        """What was contributed today, this week and ever.

        Raises:
            DataFolderError: the file cannot be read.
        """
        return await self._ask(lambda reader: reader.totals(self._clock()))

    async def series(self, asked: SeriesParams) -> Series:
        """A history of one metric.

        Raises:
            ProtocolError, DataFolderError: as `Reader.series`; the file cannot be read.
        """
        return await self._ask(lambda reader: reader.series(asked))

    async def sessions(self, asked: ListParams) -> list[Session]:
        """The last sessions, without what cannot be written now.

        Raises:
            DataFolderError: the file cannot be read.
        """
        self._note_sessions()
        return await self._ask(lambda reader: reader.sessions(asked), listing=True)

    async def yields(self, asked: ListParams) -> list[Yield]:
        """The last yields, without what cannot be written now.

        Raises:
            DataFolderError: the file cannot be read.
        """
        return await self._ask(lambda reader: reader.yields(asked), listing=True)

    async def asked(self, question: Callable[[Reader], T]) -> T:
        """The answer to another question, without what cannot be written now.

        Raises:
            DataFolderError: the file cannot be read.
        """
        return await self._ask(question, listing=True)

    async def rows(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """What a query finds in the file, without what cannot be written now.

        Raises:
            DataFolderError: the file cannot be read.
        """
        return await self.asked(lambda reader: reader.rows(query, *arguments))

    def rows_at_start(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """The same, at once and before anything was counted; nothing if the file cannot be read."""
        with contextlib.suppress(DataFolderError):
            return self._answer(lambda reader: reader.rows(query, *arguments))
        return []

    async def _ask(self, question: Callable[[Reader], T], listing: bool = False) -> T:
        if self._closed:
            raise DataFolderError(notice("ledger.closed"))
        return await asyncio.wrap_future(self._thread.submit(self._list if listing else self._answer, question))

    def _answer(self, question: Callable[[Reader], T]) -> T:
        with self._lock:
            pending = dict(self._pending.amounts)
        try:
            return question(Reader(self._connection or self._copied(), pending))
        except sqlite3.Error as error:
            if schema.is_damage(error):
                self._begin_anew(error)
            raise DataFolderError(notice("ledger.unreadable", why=schema.why(error))) from error

    def _copied(self) -> sqlite3.Connection:
        """A copy of the file in memory, while it cannot be opened to be written."""
        if self._copy is None:
            try:
                self._copy = schema.open_to_read(self._path)
            except (sqlite3.Error, schema.DamagedError):
                self._copy = schema.in_memory()
        return self._copy

    def _list(self, question: Callable[[Reader], T]) -> T:
        self._write()
        return self._answer(question)

    # writing

    def _write(self) -> None:
        """Write all that waits; what cannot be written waits on."""
        with self._lock:
            batch, self._pending = self._pending, _Pending()
        try:
            if self._connection is None:
                self._connection, self._copy = _opened(self._path), None
            _insert(self._connection, batch)
            if time.monotonic() - self._pruned >= PRUNE_S:
                _prune(self._connection)
                self._pruned = time.monotonic()
            if self._trouble:
                log.info("What this PC contributes is written again.")
                self._trouble = None
        except (sqlite3.Error, schema.DamagedError) as error:
            with self._lock:
                batch.take(self._pending)
                self._pending = batch
            if schema.is_damage(error):
                self._begin_anew(error)
            elif not self._trouble:
                self._trouble = notice("ledger.not_written", path=str(self._path), why=schema.why(error))
                log.warning("%s", self._trouble)
        finally:
            self._writing = False

    def _begin_anew(self, error: Exception) -> None:
        """Keep a damaged file under another name; the next write makes a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._copy = None
        kept = schema.set_aside(self._path)
        if kept:
            self._damage = notice("ledger.damaged", why=schema.why(error), kept=str(kept))
            log.warning("%s", self._damage)


def _opened(path: Path) -> sqlite3.Connection:
    connection = schema.open_to_write(path)
    connection.execute("UPDATE sessions SET why = 'lost' WHERE why = ''")
    return connection


def _insert(connection: sqlite3.Connection, batch: _Pending) -> None:
    rows = [
        (width, key.time - key.time % width, key.run, key.device, *msgspec.structs.astuple(amounts))
        for key, amounts in batch.amounts.items()
        for width in WIDTHS
    ]
    sessions = [(round(1000 * one.start), one.end, one.run, one.why) for one in batch.sessions.values()]
    yields = [msgspec.structs.astuple(one) for one in batch.yields]
    if not (rows or sessions or yields or batch.rows):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_UPSERT, rows)
        connection.executemany("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", sessions)
        connection.executemany("INSERT INTO yields (time, stop_ms, noticed_ms, told_ms) VALUES (?, ?, ?, ?)", yields)
        for (table, *_), row in batch.rows.items():
            connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _prune(connection: sqlite3.Connection) -> None:
    """Drop what is too old, of amounts by whole days (UTC) only: what is left is complete since its oldest day."""
    nth = "SELECT DISTINCT time FROM amounts WHERE width = ? ORDER BY time DESC LIMIT 1 OFFSET ?"
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for width, kept in KEPT.items():
            for (last,) in connection.execute(nth, (width, kept)).fetchall():
                connection.execute("DELETE FROM amounts WHERE width = ? AND time < ?", (width, last - last % DAY))
        nth = "SELECT start_ms FROM sessions ORDER BY start_ms DESC LIMIT 1 OFFSET ?"
        connection.execute(f"DELETE FROM sessions WHERE start_ms <= ({nth})", (SESSIONS,))
        connection.execute("DELETE FROM yields WHERE id <= (SELECT MAX(id) FROM yields) - ?", (YIELDS,))
