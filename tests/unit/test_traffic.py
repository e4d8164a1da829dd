"""Bytes by calendar month, and the lock against sleep."""

import threading
import time
from pathlib import Path

import pytest

from core.community.ledger import Ledger
from core.community.reading import read_only
from core.policy.limits.stay_awake import Awake
from core.policy.limits.traffic import Traffic


def moment(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def test_bytes_count_for_the_month_in_which_they_moved(tmp_path: Path) -> None:
    now = 0.0

    def begin() -> tuple[Ledger, Traffic]:
        ledger = Ledger(tmp_path, lambda: now)
        return ledger, Traffic(ledger, lambda: ["digits"])

    def count(moved: tuple[int, int], text: str) -> int:
        nonlocal now
        now = moment(text)
        return traffic.count(moved, {}, now)

    ledger, traffic = begin()
    assert count((100, 50), "2026-01-31 23:59") == 150
    assert count((100, 50), "2026-02-01 00:01") == 0
    assert count((110, 70), "2026-02-01 00:02") == 30
    ledger.close()
    ledger, traffic = begin()  # a new process counts from zero again
    assert count((7, 0), "2026-02-05 10:00") == 37
    assert count((7, 0), "2026-01-20 10:00") == 150  # a clock set back finds its month again
    assert count((0, 0), "2026-02-05 10:00") == 37  # nothing moves backwards
    assert count((8, 0), "2026-02-05 10:00") == 38
    ledger.close()


def test_every_byte_is_counted_once_by_its_kind_or_as_the_rest(tmp_path: Path) -> None:
    now = time.time()
    ledger = Ledger(tmp_path, lambda: now)
    traffic = Traffic(ledger, lambda: ["digits"])
    assert traffic.count((50, 70), {}, now) == 120  # a call is under way
    ended = {"expert.forward": (30, 40), "expert.backward": (5, 5), "dht.store": (0, 9)}
    ended |= {"net.ticket": (1, 2), "reach.dial": (3, 1)}  # both open connections
    for _ in range(2):
        assert traffic.count((60, 80), ended, now) == 140
    ledger.close()
    kept = read_only(tmp_path).totals(now).all
    assert (kept.amounts.bytes_in, kept.amounts.bytes_out) == (60, 80)
    assert {device: (amounts.bytes_in, amounts.bytes_out) for device, amounts in kept.devices.items()} == {
        "network.expert": (35, 45),
        "network.dht": (0, 9),
        "network.reach": (4, 3),
        "network.other": (21, 23),
    }


def test_what_belongs_to_no_one_run_counts_for_all_in_equal_parts(tmp_path: Path) -> None:
    now, runs = time.time(), ["digits", "text", "wide"]
    ledger = Ledger(tmp_path, lambda: now)
    traffic = Traffic(ledger, lambda: runs)
    ended = {"expert.forward@text": (30, 40), "dht.store": (9, 12)}
    assert traffic.count((51, 61), ended, now) == 112  # a call is under way
    ended["file.read@digits"] = 12, 9
    assert traffic.count((51, 61), ended, now) == 112  # it was that of one run
    ended["dht.find"] = 1, 2
    assert traffic.count((52, 63), ended, now) == 115  # not one for each
    runs[:] = ["text"]
    ended["dht.find"] = 8, 2
    assert traffic.count((59, 63), ended, now) == 122
    ledger.close()
    kept = read_only(tmp_path).totals(now).all
    assert {device: (amounts.bytes_in, amounts.bytes_out) for device, amounts in kept.devices.items()} == {
        "network.expert": (30, 40),
        "network.dht": (17, 14),
        "network.file": (12, 9),
        "network.other": (0, 0),
    }
    assert (kept.amounts.bytes_in, kept.amounts.bytes_out) == (59, 63)
    shared = {"digits": 12 + 9, "text": 30 + 40 + 7, "wide": 0}
    parts = {run: amounts.bytes_in + amounts.bytes_out - shared[run] for run, amounts in kept.runs.items()}
    assert sum(parts.values()) == 21 + 3 and all(7 <= part <= 9 for part in parts.values()), parts


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
    assert lock.taken.wait(60) and lock.held == 1
    awake.hold(False)
    assert lock.freed.wait(60) and lock.held == 0
    assert len(set(lock.threads)) == 1 and lock.threads[0] != threading.get_ident()


def test_a_system_that_refuses_is_told_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def refuse() -> object:
        done.set()
        raise OSError("logind is not there")

    awake = Awake(refuse)  # type: ignore[arg-type]
    for _ in range(5):
        awake.hold(True)
    assert done.wait(60)
    awake.hold(False)
    deadline = time.monotonic() + 10
    while "logind is not there" not in caplog.text:
        assert time.monotonic() < deadline
    assert caplog.text.count("may fall asleep") == 1
