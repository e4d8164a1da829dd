"""Bytes by calendar month, and the lock against sleep."""

import threading
import time
from pathlib import Path

import pytest

from core.worker.awake import Awake
from core.worker.traffic import FILE, MONTHS, Traffic


def moment(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def test_bytes_count_for_the_month_in_which_they_moved(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path)
    assert traffic.count((100, 50), moment("2026-01-31 23:59")) == 150
    assert traffic.count((100, 50), moment("2026-02-01 00:01")) == 0
    assert traffic.count((110, 70), moment("2026-02-01 00:02")) == 30
    traffic.save()
    again = Traffic(tmp_path)  # a new process counts from zero again
    assert again.count((7, 0), moment("2026-02-05 10:00")) == 37
    assert again.count((7, 0), moment("2026-01-20 10:00")) == 150  # a clock set back finds its month again
    assert again.count((0, 0), moment("2026-02-05 10:00")) == 37  # nothing moves backwards


def test_the_file_stays_small_and_the_present_month_stays_in_it(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path)
    for number in range(60):
        traffic.count((number + 1, 0), moment(f"{2030 + number // 12}-{number % 12 + 1:02}-15 12:00"))
    assert traffic.count((61, 0), moment("2026-01-01 12:00")) == 1  # the oldest of all
    traffic.save()
    assert (tmp_path / FILE).read_bytes().count(b"-") <= MONTHS + 1


@pytest.mark.parametrize("damage", [b"", b"{", b'{"months": {"2026-01": [-1, 0]}}', b'{"months": {"x": [1, 2]}}'])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    traffic = Traffic(tmp_path)
    assert traffic.count((1, 1), moment("2026-01-01 12:00")) == 2
    assert next(tmp_path.glob("traffic.bad-*")).read_bytes() == damage


class Lock:
    """The system's lock against sleep."""

    def __init__(self) -> None:
        self.held, self.taken, self.freed = 0, threading.Event(), threading.Event()
        self.threads: list[int] = []

    def take(self) -> object:
        self.held += 1
        self.threads.append(threading.get_ident())
        self.taken.set()
        return self.release

    def release(self) -> None:
        self.held -= 1
        self.threads.append(threading.get_ident())
        self.freed.set()


def test_the_lock_is_held_while_asked_for_by_one_thread() -> None:
    lock = Lock()
    awake = Awake(lock.take)  # type: ignore[arg-type]
    for wanted in (False, True, True):
        awake.hold(wanted)
    assert lock.taken.wait(10) and lock.held == 1
    awake.hold(False)
    assert lock.freed.wait(10) and lock.held == 0
    assert len(set(lock.threads)) == 1 and lock.threads[0] != threading.get_ident()


def test_a_system_that_refuses_is_told_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def refuse() -> object:
        done.set()
        raise OSError("logind is not there")

    awake = Awake(refuse)  # type: ignore[arg-type]
    for _ in range(5):
        awake.hold(True)
    assert done.wait(10)
    awake.hold(False)
    deadline = time.monotonic() + 10
    while "logind is not there" not in caplog.text:
        assert time.monotonic() < deadline
    assert caplog.text.count("may fall asleep") == 1
