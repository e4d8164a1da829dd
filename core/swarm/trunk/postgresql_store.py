"""Parameters of VC-ASGD on a PostgreSQL server."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import psycopg

from core.swarm.trunk.parameter_store import PATIENCE_S, Change, ParameterStore, R, reaching

POSTGRESQL = "PostgreSQL"

_TABLE = """CREATE TABLE IF NOT EXISTS hearth_trunk (
    run TEXT, name TEXT, value BYTEA, PRIMARY KEY (run, name))"""
_READ = "SELECT value FROM hearth_trunk WHERE run = %s AND name = %s"
_WRITE = """INSERT INTO hearth_trunk VALUES (%s, %s, %s)
    ON CONFLICT (run, name) DO UPDATE SET value = excluded.value"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
"""Until the transaction's end; a row's own lock would not do for a row that is not there yet."""


class PostgresqlStore(ParameterStore):
    """Values in one table."""

    def __init__(self, address: str, run_id: str) -> None:
        """
        Args:
            address: Of the server and its database.
            run_id: Of the run.
        """
        self._run = run_id
        with reaching(POSTGRESQL, psycopg.Error, ValueError):  # as of a name that is none
            self._connection = psycopg.connect(address, autocommit=True, connect_timeout=int(PATIENCE_S))
        with self._reaching():
            self._connection.execute(f"SET statement_timeout = '{PATIENCE_S:.0f}s'")
            with self._connection.transaction():
                self._connection.execute(_LOCK, ("hearth_trunk",))  # two that make the table at once would collide
                self._connection.execute(_TABLE)

    def read(self, name: str) -> bytes | None:
        with self._reaching():
            row = self._connection.execute(_READ, (self._run, name), binary=True).fetchone()
        return row[0] if row else None

    def write(self, name: str, value: bytes) -> None:
        with self._reaching():
            self._connection.execute(_WRITE, (self._run, name, value))

    def change(self, name: str, change: Change[R]) -> R:
        with self._reaching(), self._connection.transaction():
            self._connection.execute(_LOCK, (f"{self._run}:{name}",))
            value, result = change(self.read(name))
            self.write(name, value)
        return result

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """The server keeps the time of what it is asked. On one that hangs, or is cut off, this side hangs up."""
        patience = threading.Timer(2 * PATIENCE_S, self._hang_up)
        patience.daemon = True
        patience.start()
        try:
            with reaching(POSTGRESQL, psycopg.Error):
                yield
        finally:
            patience.cancel()

    def _hang_up(self) -> None:
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.fromfd(self._connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)


STORE = PostgresqlStore
