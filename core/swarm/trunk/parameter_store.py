"""Where VC-ASGD's parameter servers keep what they share: a few values by name, each whole (Atre, Jha and Rao, 2021,
section III-D). It is a file of SQLite, unless the address names a Redis or PostgreSQL server for several PCs.
"""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from core.contracts.errors import DataFolderError, NetworkError

R = TypeVar("R")
Change = Callable[[bytes | None], tuple[bytes, R]]
"""Makes a value out of the one before, and something to hand back. It may run again if another server was faster."""

LARGEST = 512 << 20
"""Bytes of a value: as many as Redis takes."""
PATIENCE_S = 30.0
"""For another server to let go of a value, or for the store's server to answer."""
BUSY_S = 0.01
MODULES = {"redis": "redis_store", "postgresql": "postgresql_store"}
"""By an address's scheme; each module's `STORE` is its class."""


class ParameterStore(ABC):
    """Values by name, which servers read and write at the same time.

    All methods raise a NetworkError if the store cannot be reached (SQLite: a DataFolderError). They wait, so they are
    for a thread of their own; one store is for one thread at a time.
    """

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A value, whole; None if there is none."""

    @abstractmethod
    def write(self, name: str, value: bytes) -> None:
        """Put a value in place of the one before. What another server wrote between this one's read and its write is
        lost: eventual consistency, as the paper has it."""

    @abstractmethod
    def change(self, name: str, change: Change[R]) -> R:
        """Make a value out of the one before so that no other server's change is lost: strong consistency.

        Args:
            name: the value's.
            change: how.
        """

    @abstractmethod
    def close(self) -> None:
        """Leave it to the others."""


@contextmanager
def reaching(server: str, *errors: type[Exception]) -> Iterator[None]:
    """Ask a store's server, whose own errors become network errors.

    Args:
        server: its kind, for people.
        errors: those.
    """
    try:
        yield
    except errors as error:
        raise NetworkError(
            f"The {server} server of the run's parameters did not do what it was asked: {error}."
        ) from error


class SqliteStore(ParameterStore):
    """A file on this PC, for all servers of this PC."""

    def __init__(self, path: Path) -> None:
        """
        Args:
            path: The file, which is made if it is not there.
        """
        try:
            self._database = sqlite3.connect(path, PATIENCE_S, isolation_level=None, check_same_thread=False)
            self._write_ahead()
            self._database.execute("PRAGMA synchronous = NORMAL")  # the last seconds may go with the power, no more
            self._database.execute("CREATE TABLE IF NOT EXISTS trunk (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
        except sqlite3.Error as error:
            raise _unusable(error) from error

    def _write_ahead(self) -> None:
        """Of two that open a new file at the same time one is refused at once: SQLite does not wait here."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(BUSY_S)

    def read(self, name: str) -> bytes | None:
        try:
            row = self._database.execute("SELECT value FROM trunk WHERE name = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            raise _unusable(error) from error
        return row[0] if row else None

    def write(self, name: str, value: bytes) -> None:
        try:
            self._database.execute("INSERT OR REPLACE INTO trunk VALUES (?, ?)", (name, value))
        except sqlite3.Error as error:
            raise _unusable(error) from error

    def change(self, name: str, change: Change[R]) -> R:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                value, result = change(self.read(name))
                self.write(name, value)
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # a full disk may have ended it already
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise _unusable(error) from error
        return result

    def close(self) -> None:
        self._database.close()


def _unusable(error: sqlite3.Error) -> DataFolderError:
    return DataFolderError(f"The file of the run's parameters cannot be used: {error}.")


def open_store(address: str | None, run_id: str, path: Path) -> ParameterStore:
    """The store of a run.

    Args:
        address: of a server, as `redis://host:6379/0` or `postgresql://host/database`; None: a file.
        run_id: what the run's values are kept under: several runs may share a server.
        path: of the file.

    Raises:
        DataFolderError: the file cannot be used.
        NetworkError: the server cannot be reached, or there is no such kind of store.
    """
    if address is None:
        return SqliteStore(path)
    scheme = address.partition(":")[0]
    if scheme not in MODULES:
        raise NetworkError(f"There is no kind of store {scheme!r}. Name one of {', '.join(MODULES)}.")
    try:
        module = import_module(f"{__package__}.{MODULES[scheme]}")
    except ImportError as error:
        raise NetworkError(f"A driver is missing: {error}. Install it with: pip install 'hearth[{scheme}]'") from error
    store: ParameterStore = module.STORE(address, run_id)
    return store
