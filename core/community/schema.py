"""The ledger's file: SQLite, its tables and how they came to be. One worker opens it; others may read meanwhile."""

import contextlib
import sqlite3
from pathlib import Path

from core.contracts.ledger import Amounts
from core.contracts.notices import Notice, notice, plain
from core.store.settings_file import aside

FILE = "ledger.db"
METRICS: tuple[str, ...] = Amounts.__struct_fields__
BUSY_S = 5.0
"""For who reads the file at this moment."""
WAL_BYTES = 4 << 20
"""Kept of the write-ahead log after it grew beyond."""

MIGRATIONS = (
    # 1: amounts by stretch of time (`width` seconds from `time`, UTC), run and device; each is in all three widths
    """
    CREATE TABLE amounts (
        width INTEGER NOT NULL, time INTEGER NOT NULL, run TEXT NOT NULL, device TEXT NOT NULL,
        samples INTEGER NOT NULL, tokens INTEGER NOT NULL, calls INTEGER NOT NULL, peer_calls INTEGER NOT NULL,
        rows INTEGER NOT NULL, passes INTEGER NOT NULL, seconds REAL NOT NULL,
        bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
        kwh REAL NOT NULL, kwh_measured REAL NOT NULL, yields INTEGER NOT NULL,
        PRIMARY KEY (width, time, run, device)
    ) WITHOUT ROWID;
    CREATE TABLE sessions (start_ms INTEGER PRIMARY KEY, end REAL NOT NULL, run TEXT NOT NULL, why TEXT NOT NULL);
    CREATE TABLE yields (
        id INTEGER PRIMARY KEY, time REAL NOT NULL,
        stop_ms REAL NOT NULL, noticed_ms REAL NOT NULL, told_ms REAL NOT NULL
    );
    """,
    # 2: what was done for a trunk that trainers agree on
    """
    ALTER TABLE amounts ADD COLUMN accepted INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE amounts ADD COLUMN reduced INTEGER NOT NULL DEFAULT 0;
    """,
    # 3: credit: what this PC counted by peer and day ("gave": it computed for the peer, "got": the peer for it, "saw":
    # the peer's samples that were accepted), what was signed for it, and what others have shown of theirs
    """
    CREATE TABLE credit_counts (
        run TEXT NOT NULL, day INTEGER NOT NULL, way TEXT NOT NULL, peer BLOB NOT NULL,
        work INTEGER NOT NULL, audited INTEGER NOT NULL,
        PRIMARY KEY (run, day, way, peer)
    ) WITHOUT ROWID;
    CREATE TABLE credit_sheets (
        run TEXT NOT NULL, week INTEGER NOT NULL, way TEXT NOT NULL, peer BLOB NOT NULL,
        signed BLOB NOT NULL, countersigned BLOB NOT NULL,
        PRIMARY KEY (run, week, way, peer)
    ) WITHOUT ROWID;
    CREATE TABLE credit_bundles (
        run TEXT NOT NULL, week INTEGER NOT NULL, host BLOB NOT NULL, page INTEGER NOT NULL, signed BLOB NOT NULL,
        PRIMARY KEY (run, week, host, page)
    ) WITHOUT ROWID;
    """,
)
"""What makes a file of one version one of the next. The version is SQLite's `user_version`."""


class DamagedError(Exception):
    """The file holds no ledger that this Hearth understands; its argument is a notice that says why."""


def why(error: Exception) -> Notice:
    """What a failure says, for a notice about it."""
    said = error.args[0] if isinstance(error, DamagedError) else None
    return said if isinstance(said, Notice) else plain(str(error))


def is_damage(error: Exception) -> bool:
    """Whether an error tells of the file's content, and not of what may pass, such as a full disk."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    return isinstance(error, DamagedError) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def open_to_write(path: Path) -> sqlite3.Connection:
    """The ledger at `path`, made if there is none, brought to the newest version, and checked.

    Raises:
        sqlite3.Error, DamagedError: it cannot be used; `is_damage` tells for how long.
    """
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        _migrate(connection)
        _check(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a power failure may cost the last minutes, never the file
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """A copy of the ledger at `path` in memory (some MB); an empty one if there is none.

    Raises:
        sqlite3.Error, DamagedError: it cannot be read.
    """
    if not path.exists():
        return in_memory()
    # without anything in the log nobody writes: then nothing is put beside it, and its folder may be read-only
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", timeout=BUSY_S, uri=True)) as file:
        file.backup(memory)
    _migrate(memory)
    _check(memory)
    return memory


def in_memory() -> sqlite3.Connection:
    """An empty ledger that stands in for a file while that cannot be opened."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _migrate(connection)
    return connection


def rename_run(path: Path, old: str, new: str) -> None:
    """Give what was contributed to a run another name. To be called before the ledger is opened.

    Args:
        path: the ledger's file.
        old: the run's name so far.
        new: the one from now on, of which there are no rows yet.

    Raises:
        sqlite3.Error, DamagedError: it cannot be done; nothing has changed.
    """
    if path.exists():
        with contextlib.closing(open_to_write(path)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE amounts SET run = ? WHERE run = ?", (new, old))
            connection.execute("UPDATE sessions SET run = ? WHERE run = ?", (new, old))


def set_aside(path: Path) -> str:
    """Keep a file that is damaged under another name; returns that name, or "" if this could not be done."""
    kept = aside(path)
    try:
        path.replace(kept)
    except OSError:
        return ""
    with contextlib.suppress(OSError):  # it may hold what a repair needs
        path.with_name(path.name + "-wal").replace(kept.with_name(kept.name + "-wal"))
    with contextlib.suppress(OSError):
        path.with_name(path.name + "-shm").unlink()
    return kept.name


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise DamagedError(notice("ledger.newer", version=version))
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # there is nothing of what is to be changed
                raise DamagedError(plain(str(error))) from error
            raise


def _check(connection: sqlite3.Connection) -> None:
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise DamagedError(plain(found))
    try:
        connection.execute(f"SELECT width, time, run, device, {', '.join(METRICS)} FROM amounts LIMIT 1").fetchone()
        connection.execute("SELECT start_ms, end, run, why FROM sessions LIMIT 1").fetchone()
        connection.execute("SELECT id, time, stop_ms, noticed_ms, told_ms FROM yields LIMIT 1").fetchone()
        connection.execute("SELECT run, day, way, peer, work, audited FROM credit_counts LIMIT 1").fetchone()
        connection.execute("SELECT run, week, way, peer, signed, countersigned FROM credit_sheets LIMIT 1").fetchone()
        connection.execute("SELECT run, week, host, page, signed FROM credit_bundles LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        raise DamagedError(plain(str(error))) from error
