"""The stores that parameter servers share: SQLite, and real Redis and PostgreSQL servers where they are installed."""

import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from core.contracts.errors import DataFolderError, NetworkError
from core.contracts.trunk import Offer, VcAsgd
from core.swarm.trunk import postgresql_store
from core.swarm.trunk.parameter_server import PARAMETERS, WORK, ParameterServer
from core.swarm.trunk.parameter_store import Change, ParameterStore, R, SqliteStore, open_store
from core.swarm.trunk.postgresql_store import PostgresqlStore
from core.swarm.trunk.server_copy import Copy
from tests import store_servers

MISSING = store_servers.missing()
SERVERS = pytest.mark.skipif(MISSING is not None, reason=f"{MISSING} is not installed")
KINDS = [
    pytest.param("sqlite"),
    pytest.param("redis", marks=SERVERS),
    pytest.param("postgresql", marks=SERVERS),
]
NUMBERS = 10_000
PATIENCE_S = 120.0


@contextmanager
def address_of(kind: str) -> Iterator[str | None]:
    if kind == "redis":
        with store_servers.redis() as address:
            yield address
    elif kind == "postgresql":
        with store_servers.postgresql() as address:
            yield address
    else:
        yield None


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest) -> Iterator[str | None]:
    with address_of(request.param) as address:
        yield address


Open = Callable[..., ParameterStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens stores of one run, or of the one that is named, and closes them."""
    with ExitStack() as stack:

        def open_one(address: str | None, run_id: str = "digits-0a1b2c3d") -> ParameterStore:
            store = open_store(address, run_id, tmp_path / "parameters")
            stack.callback(store.close)
            return store

        yield open_one


def test_values_are_kept_whole_by_run_and_change_one_after_the_other(address: str | None, opened: Open) -> None:
    one, two = opened(address), opened(address)
    value = np.random.default_rng(0).bytes(1 << 20)
    assert one.read("weights") is None
    one.write("weights", value)
    assert two.read("weights") == value
    if address:
        assert opened(address, "text-0a1b2c3d").read("weights") is None

    def add(before: bytes | None) -> tuple[bytes, int]:
        count = struct.unpack("<Q", before)[0] if before else 0
        return struct.pack("<Q", count + 1), count

    def add_often(store: ParameterStore) -> None:
        for _ in range(50):
            store.change("count", add)

    threads = [threading.Thread(target=add_often, args=(store,)) for store in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert one.change("count", add) == 100, "a change was lost"

    def fail(before: bytes | None) -> tuple[bytes, int]:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        one.change("count", fail)
    assert two.change("count", add) == 101, "what failed has changed something, or holds others up"


class Interleaved(ParameterStore):
    """Another server writes between this one's read and its write."""

    def __init__(self, store: ParameterStore, other: ParameterServer) -> None:
        self._store, self._other, self.armed = store, other, False

    def read(self, name: str) -> bytes | None:
        value = self._store.read(name)
        if self.armed:
            self.armed = False
            agreed, _ = self._other.serve("other", Offer(0, 0, 0), None, 1.0)
            ones = np.ones(NUMBERS, np.float32)
            assert self._other.serve("other", Offer(agreed.part, agreed.version, 7), ones, 2.0)[0].counted
        return value

    def write(self, name: str, value: bytes) -> None:
        self._store.write(name, value)

    def change(self, name: str, change: Change[R]) -> R:
        return self._store.change(name, change)

    def close(self) -> None:
        """The test closes it."""


class Full(SqliteStore):
    """A disk that has room for one value."""

    room = 1

    def write(self, name: str, value: bytes) -> None:
        if not self.room:
            raise DataFolderError("The disk is full.")
        self.room -= 1
        super().write(name, value)


def test_a_copy_that_cannot_be_written_whole_changes_nothing(tmp_path: Path) -> None:
    rules, store, other = VcAsgd(parts=4), Full(tmp_path / "parameters"), SqliteStore(tmp_path / "other")
    server, copies = ParameterServer(rules, 3, other), list[Copy | None]()
    server.serve("a", Offer(0, 0, 0), np.zeros(3, np.float32), 0.0)
    for number in range(2):
        copies.append(server.copy())
        agreed, _ = server.serve("a", Offer(0, 0, 0), None, 0.0)
        server.serve("a", Offer(agreed.part, agreed.version, 7), np.full(3, 1.0 + number, np.float32), 1.0)
    first, second = copies
    assert first and second and first != second
    mine = ParameterServer(rules, 3, store)
    store.room = 2
    mine.put(first)
    store.room = 1
    with pytest.raises(DataFolderError, match="full"):
        mine.put(second)
    assert mine.copy() == first
    store.close()
    other.close()


@pytest.mark.parametrize("name", [PARAMETERS, WORK])
@pytest.mark.parametrize("damaged", [b"x", b"\xff" * 19, b"\xff" * 20])
def test_what_is_damaged_says_so_and_is_begun_anew(tmp_path: Path, name: str, damaged: bytes) -> None:
    store = SqliteStore(tmp_path / "parameters")
    server = ParameterServer(VcAsgd(parts=4), 3, store)
    server.serve("a", Offer(0, 0, 0), np.zeros(3, np.float32), 0.0)
    assert server.copy()
    store.write(name, damaged)
    with pytest.raises(DataFolderError, match="damaged"):
        server.serve("a", Offer(0, 0, 0), None, 1.0)
    assert server.copy() is None
    assert server.serve("a", Offer(0, 0, 0), None, 1.0)[1] is None, "as if nothing had begun"
    agreed, current = server.serve("a", Offer(0, 0, 0), np.ones(3, np.float32), 1.0)
    assert current is not None and current.all() and not agreed.again_s
    store.close()


def test_what_servers_write_over_each_other_is_counted(address: str | None, opened: Open) -> None:
    rules = VcAsgd(("00" * 32,), parts=4, kept=0.5)
    other = ParameterServer(rules, NUMBERS, opened(address))
    store = Interleaved(opened(address), other)
    server = ParameterServer(rules, NUMBERS, store)
    begun = server.serve("mine", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0)[0]
    store.armed = True
    agreed, current = server.serve("mine", Offer(begun.part, begun.version, 7), np.full(NUMBERS, 2, np.float32), 3.0)
    assert agreed.counted and agreed.samples == 14, "the work is counted strictly"
    assert server.lost() == other.lost() == 1
    assert current is not None and current[0] == 1.0, "the other's arrival is not in the parameters"


def test_two_that_open_a_new_file_at_the_same_time_both_have_it(tmp_path: Path) -> None:
    for number in range(30):
        began, opened = threading.Barrier(2), list[ParameterStore]()

        def open_one(path: Path = tmp_path / str(number), began: threading.Barrier = began) -> None:
            began.wait(PATIENCE_S)
            opened.append(open_store(None, "digits-0a1b2c3d", path))  # noqa: B023 - it ends within the round

        threads = [threading.Thread(target=open_one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        for store in opened:
            store.close()
        assert len(opened) == 2, "one was refused"


def test_a_change_that_fails_at_its_end_holds_nobody_up(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "parameters")

    def end_it(before: bytes | None) -> tuple[bytes, None]:
        store._database.execute("ROLLBACK")  # as SQLite itself does when the disk is full
        raise DataFolderError("The disk is full.")

    with pytest.raises(DataFolderError, match="full"):
        store.change("count", end_it)
    store.change("count", lambda before: (b"1", None))
    assert store.read("count") == b"1"
    store.close()


def test_a_store_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="no kind of store 'mysql'"):
        open_store("mysql://host", "digits-0a1b2c3d", tmp_path)
    with pytest.raises(DataFolderError, match="cannot be used"):
        open_store(None, "digits-0a1b2c3d", tmp_path / "nowhere" / "parameters")
    (tmp_path / "damaged").write_bytes(b"This is no database." * 100)
    with pytest.raises(DataFolderError, match="cannot be used"):
        open_store(None, "digits-0a1b2c3d", tmp_path / "damaged")


@SERVERS
@pytest.mark.parametrize("kind", ["redis", "postgresql"])
def test_a_server_that_has_gone_is_a_network_error(kind: str, opened: Open) -> None:
    with address_of(kind) as address:
        store = opened(address)
        store.write("weights", b"one")
    with pytest.raises(NetworkError, match="did not do what it was asked"):
        store.read("weights")
    with pytest.raises(NetworkError, match="did not do what it was asked"):
        opened(address)


@pytest.mark.parametrize("scheme", ["redis", "postgresql"])
@pytest.mark.parametrize(
    "rest", ["host:abc/0", "[::1/0", "host:99999/0", "a..b/0", 70 * "a" + "/0", "127.0.0.1:1/0?x=y"]
)
def test_an_address_that_is_none_is_a_network_error(scheme: str, rest: str, opened: Open) -> None:
    with pytest.raises(NetworkError, match="did not do what it was asked"):
        opened(f"{scheme}://{rest}")


@SERVERS
def test_a_postgresql_server_that_hangs_is_given_up(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with address_of("postgresql") as address:
        store = opened(address)
        assert isinstance(store, PostgresqlStore)
        monkeypatch.setattr(postgresql_store, "PATIENCE_S", 0.5)
        backend = store._connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        try:
            with pytest.raises(NetworkError, match="did not do what it was asked"):
                store.read("weights")
        finally:
            os.kill(backend, signal.SIGCONT)
