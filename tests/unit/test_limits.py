import ast
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.words import counted, electricity
from core.net import limits
from core.net.limits import FAULTY_PEERS, Backoff, Bans, TokenBucket


def test_every_limit_is_explained() -> None:
    body = ast.parse(Path(limits.__file__).read_text("utf8")).body
    for node, after in itertools.pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assert isinstance(after, ast.Expr), node.targets[0].id
            assert isinstance(after.value, ast.Constant), node.targets[0].id


def test_a_cut_is_noticed_within_ten_seconds() -> None:
    ticks = 1.0 * 2  # `tend` runs once a second: at worst one before it asks, and one before it gives up
    assert limits.PING_S + limits.DEAD_ROUNDS + ticks < 10.0


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=10.0, burst=5.0)
    assert [bucket.spend(1.0, 0.0) for _ in range(5)] == [0.0] * 5
    assert bucket.spend(1.0, 0.0) == pytest.approx(0.1)
    assert bucket.spend(1.0, 0.2) == 0.0
    assert not bucket.allows(1.0, 0.2)
    assert bucket.allows(1.0, 0.4)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-10, 1e6)), max_size=50))
def test_a_bucket_never_gives_more_than_its_rate(requests: list[tuple[float, float]]) -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    now = given = 0.0
    for wait, amount in requests:
        now += wait
        if bucket.allows(abs(amount), now):
            given += abs(amount)
    assert given <= 10.0 + 2.0 * now + 1e-6


def test_a_debt_is_bounded_so_that_one_huge_request_is_not_paid_for_ever() -> None:
    bucket = TokenBucket(rate=1.0, burst=10.0)
    assert bucket.spend(1e12, 0.0) == 10.0


def test_strikes_ban_for_a_time_that_doubles_and_is_forgotten() -> None:
    bans = Bans(limit=10.0, half_life_s=60.0, first_s=30.0)
    assert not bans.strike(b"peer", 9.0, now=0.0)
    assert bans.strike(b"peer", 2.0, now=1.0)
    assert bans.banned(b"peer", now=1.0) == 30.0
    assert bans.banned(b"peer", now=32.0) == 0.0
    assert bans.strike(b"peer", 10.0, now=40.0)
    assert bans.banned(b"peer", now=40.0) == pytest.approx(60.0, rel=0.02)
    assert bans.strike(b"peer", 10.0, now=40.0 + 20 * 3600)
    assert bans.banned(b"peer", now=40.0 + 20 * 3600) == pytest.approx(30.0, rel=0.01)
    assert bans.banned(b"other", now=40.0) == 0.0


def test_who_was_banned_is_distrusted_for_longer_than_the_ban() -> None:
    bans = Bans(limit=10.0, first_s=30.0, forget_s=3600.0)
    bans.strike(b"peer", 9.0, now=0.0)
    assert not bans.distrusts(b"peer", now=0.0) and not bans.distrusts(b"other", now=0.0)
    bans.strike(b"peer", 9.0, now=0.0)
    assert bans.distrusts(b"peer", now=0.0) and bans.distrusts(b"peer", now=3599.0)
    assert not bans.distrusts(b"peer", now=3601.0)


def test_strikes_decay() -> None:
    bans = Bans(limit=10.0, half_life_s=60.0)
    for minute in range(100):  # one small fault a minute is forgiven
        assert not bans.strike(b"peer", 4.0, now=60.0 * minute)
    assert bans.score(b"peer", now=60.0 * 99) == pytest.approx(8.0, rel=0.01)


def test_the_memory_of_strikes_is_bounded() -> None:
    bans, many = Bans(), range(FAULTY_PEERS + 100)
    for number in many:
        bans.strike(number.to_bytes(4), 1.0, now=0.0)
    known = [number for number in many if bans.score(number.to_bytes(4), 0.0) > 0]
    assert known == [*many][-FAULTY_PEERS:], "the longest unseen are forgotten"


def test_a_backoff_doubles_up_to_its_longest_and_starts_again() -> None:
    backoff = Backoff(first_s=1.0, longest_s=5.0)
    waits = []
    for _ in range(5):
        backoff.failed(now=100.0)
        waits.append(backoff.wait_s(now=100.0))
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.succeeded()
    assert backoff.wait_s(now=100.0) == 0.0
    backoff.failed(now=100.0)
    assert backoff.wait_s(now=100.4) == pytest.approx(0.6)


def test_electricity_is_told_in_figures_that_people_read() -> None:
    told = {8.75e-07: "0 Wh", 0.0042: "4.2 Wh", 0.0999: "99.9 Wh", 0.1: "0.1 kWh", 1234.567: "1235 kWh"}
    for kwh, words in told.items():
        assert electricity(kwh) == words
    assert [counted(number, "peer") for number in (0, 1, 2500)] == ["0 peers", "1 peer", "2,500 peers"]
