"""Parameters of VC-ASGD on a PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from core.contracts.errors import NetworkError
from core.swarm.trunk.parameter_store import PATIENCE_S, Change, ParameterStore, R

SILENT: dict[str, Any] = {
    "connect_timeout": int(PATIENCE_S),
    "tcp_user_timeout": int(1000 * PATIENCE_S),
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}
"""A host that falls silent would hold a question up for as long as the system has it: two hours."""
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
        with _reaching():
            self._connection = psycopg.connect(address, autocommit=True, **SILENT)
            self._connection.execute(f"SET statement_timeout = '{PATIENCE_S:.0f}s'")
            with self._connection.transaction():
                self._connection.execute(_LOCK, ("hearth_trunk",))  # two that make the table at once would collide
                self._connection.execute(_TABLE)

    def read(self, name: str) -> bytes | None:
        with _reaching():
            row = self._connection.execute(_READ, (self._run, name), binary=True).fetchone()
        return row[0] if row else None

    def write(self, name: str, value: bytes) -> None:
        with _reaching():
            self._connection.execute(_WRITE, (self._run, name, value))

    def change(self, name: str, change: Change[R]) -> R:
        with _reaching(), self._connection.transaction():
            self._connection.execute(_LOCK, (f"{self._run}:{name}",))
            value, result = change(self.read(name))
            self.write(name, value)
        return result

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, ValueError) as error:
        raise NetworkError(
            f"The PostgreSQL server of the run's parameters did not do what it was asked: {error}."
        ) from error


STORE = PostgresqlStore
