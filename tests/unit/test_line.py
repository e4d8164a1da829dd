"""The line: which limits hold, how it is measured, and that copies give way to calls."""

import asyncio
import contextlib
import hashlib
import socket
import time
from collections.abc import AsyncIterator, Callable

import pytest

from core.contracts.errors import CallRefused
from core.contracts.line import Line
from core.contracts.net import LINE_TEST, AskLine, LineTested, Payload, kind_of
from core.contracts.notices import Notice
from core.contracts.settings import NO_LIMIT, Settings
from core.identity import Identity, PeerId
from core.net import line
from core.net.addresses import in_local_network, of_interfaces
from core.net.line import SIZES, LineTest
from core.net.method import Context
from core.net.rpc import RpcNode
from core.net.shaping import BURST_S, OVERHEAD, Bucket, Shaper
from core.policy.limits.bandwidth import UNMEASURED, limits
from tests.workers import PATIENCE_S

KB = 1000.0
ONE, TWO = PeerId(bytes(32)), PeerId(bytes([1]) * 32)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# which limits hold


def test_until_the_user_chooses_a_quarter_of_the_measured_upload_goes_to_peers_outside() -> None:
    found = limits(Settings(), Line(1_000 * KB, 1.0), 0.0)
    assert found.all == (0.0, 0.0)  # the local network is not limited
    assert found.far == (250 * KB, 500 * KB)
    assert found.told.upload.far and str(found.told.upload.why) == (
        "At most 250 kB/s to peers outside your local network: a quarter of the 1 MB/s measured."
    )


def test_before_anything_is_measured_a_low_limit_holds() -> None:
    found = limits(Settings(), Line(), 0.0)
    assert found.far == (UNMEASURED, 2 * UNMEASURED)
    assert found.told.upload.why.code == "line.unmeasured"


def test_what_the_user_chooses_holds_for_all_peers_and_each_way_for_itself() -> None:
    found = limits(Settings(upload_kb_s=700), Line(1_000 * KB, 1.0), 0.0)
    assert found.all == (700 * KB, 0.0) and found.far == (0.0, 500 * KB)
    assert (found.told.upload.far, found.told.download.far) == (False, True)


def test_no_limit_is_none_until_the_months_traffic_runs_out() -> None:
    found = limits(Settings(upload_kb_s=NO_LIMIT, download_kb_s=NO_LIMIT), Line(1_000 * KB, 1.0), 0.0)
    assert found.all == found.far == (0.0, 0.0) and str(found.told.download.why) == "No limit, as you chose."
    assert limits(Settings(upload_kb_s=NO_LIMIT), Line(), 100 * KB).all[0] == 100 * KB


@pytest.mark.parametrize(("last", "code"), [(100 * KB, "line.quota"), (10_000 * KB, "line.measured")])
def test_the_end_of_the_months_traffic_limits_all_peers(last: float, code: str) -> None:
    found = limits(Settings(), Line(1_000 * KB, 1.0), last)
    assert found.all == (last, last)
    assert found.told.upload.why.code == code
    assert found.told.upload.bytes_s == min(last, 250 * KB)


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("192.168.1.7", True),
        ("fe80::1%eth0", True),
        ("2001:db8:1:2::7", True),  # in this PC's own /64: homes have addresses of the internet within
        ("2001:db8:1:3::7", False),
        ("203.0.113.4", True),  # this PC: another worker of it listens there
        ("203.0.113.5", False),
        ("", False),
    ],
)
def test_who_is_in_the_local_network_is_told_by_the_address(host: str, near: bool) -> None:
    assert in_local_network(host, lambda: ["203.0.113.4", "2001:db8:1:2::1"]) is near


def test_this_pcs_own_addresses_are_those_of_its_interfaces() -> None:
    own = {"127.0.0.1"}
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("203.0.113.5", 9))  # which sends nothing: only the interface that leads there is chosen
        own.add(out.getsockname()[0])
    assert own <= set(of_interfaces())


# how bytes are held back


def test_what_goes_outside_counts_in_what_goes_to_all_peers() -> None:
    clock = Clock()
    everyone = Shaper(clock)
    far = Shaper(clock, within=everyone)
    everyone.set(100 * KB, 0)
    far.set(25 * KB, 0)
    assert (everyone.upload.rate, far.upload.rate) == (100 * KB, 25 * KB)
    clock.now += 1.0
    size = int(BURST_S * 25 * KB / OVERHEAD)
    assert far.upload.spend(size) == pytest.approx(0, abs=1e-3)
    assert far.upload.spend(size) == pytest.approx(BURST_S, abs=1e-3)
    assert everyone.upload.spend(int(BURST_S * 100 * KB / OVERHEAD)) == pytest.approx(BURST_S / 2, abs=1e-3)
    far.set(0, 0)
    assert far.upload.rate == 100 * KB  # the user's limit is one for all peers


def test_a_copy_leaves_to_calls_what_may_be_sent_at_once() -> None:
    clock = Clock()
    bucket = Bucket(clock)
    bucket.set(100 * KB)
    clock.now += 1.0
    assert bucket.until_saved() <= 0
    bucket.spend(bucket.chunk)  # the copy's
    assert bucket.until_saved() <= 1e-6
    bucket.spend(int(0.8 * BURST_S * 100 * KB / OVERHEAD))  # a call's: none waits for it
    assert bucket.until_saved() == pytest.approx(0.8 * BURST_S, abs=0.01)


def test_what_reads_files_is_a_copy_in_every_run() -> None:
    assert [kind_of(name) for name in ("file.read@digits-2ac90b73", "line.test", "expert.forward@digits")] == [
        "copy", "test", "call",
    ]  # fmt: skip


async def test_a_copy_waits_while_a_call_is_being_sent_and_not_for_ever() -> None:
    shaper, order = Shaper(), list[str]()

    async def copy() -> None:
        async with shaper.large(ONE, "copy"):
            await shaper.sent(ONE, 1000, "copy", 1.0)
            order.append("copy")

    async with shaper.large(TWO, "call"):
        task = asyncio.create_task(copy())
        await asyncio.sleep(0)
        await shaper.sent(TWO, 1000, "call", 1.0)
        order.append("call")
    await task
    assert order == ["call", "copy"]
    async with shaper.large(TWO, "call"):  # it never ends: a copy's receiver would give it up
        await shaper.sent(ONE, 1000, "copy", 0.001)


# measuring


@contextlib.asynccontextmanager
async def pair(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[RpcNode, RpcNode, list[float]]]:
    """Two nodes, of which the first measures its line; this PC is far from itself for once."""
    monkeypatch.setattr("core.net.link.in_local_network", lambda host, own: False)
    found = list[float]()
    async with (
        RpcNode(Identity.generate(), listen=["127.0.0.1:0"]) as mine,
        RpcNode(Identity.generate(), listen=["127.0.0.1:0"]) as other,
    ):
        LineTest(mine, found.append)
        mine.learn(other.address())
        yield mine, other, found


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_first_peer_outside_shows_how_fast_the_line_is(monkeypatch: pytest.MonkeyPatch) -> None:
    size = int(2 * line.STEP_S * 20 * KB)
    monkeypatch.setattr(line, "SIZES", (size,))
    async with pair(monkeypatch) as (mine, other, found):
        LineTest(other, lambda rate: None)
        mine.limit(0, 0, (20 * KB, 20 * KB))  # which do not hold for what tests the line: it would take too long
        began = time.monotonic()
        await mine.pool.link(other.peer)
        await until(lambda: found and mine.metrics[LINE_TEST].calls)
        await until(lambda: not mine.pool.links[other.peer].waiting)
        assert found[0] > size / (time.monotonic() - began)


async def test_a_peer_that_answers_before_it_has_all_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lies(request: AskLine, payload: Payload, context: Context) -> LineTested:
        return LineTested(hashlib.sha256(b"").digest())

    async with pair(monkeypatch) as (mine, other, found):
        other.register(LINE_TEST, AskLine, lies, max_payload=max(SIZES))
        link = await mine.pool.link(other.peer)
        await until(lambda: mine.metrics[LINE_TEST].calls and not link.waiting)
        assert found == [] and mine.bans.score(other.peer, time.monotonic()) > 0


async def test_nothing_is_tried_where_the_user_has_chosen_a_limit_or_the_peer_is_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pair(monkeypatch) as (mine, other, found):
        mine.limit(500 * KB, 0)
        await mine.pool.link(other.peer)
        assert mine.metrics[LINE_TEST].calls == 0 and not mine.pool.links[other.peer].waiting and not found
    monkeypatch.undo()
    async with RpcNode(Identity.generate()) as mine, RpcNode(Identity.generate(), listen=["127.0.0.1:0"]) as other:
        LineTest(mine, found.append)
        mine.learn(other.address())
        assert (await mine.pool.link(other.peer)).near
        assert not mine.pool.links[other.peer].waiting and not found


async def test_a_peer_may_not_send_test_after_test(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pair(monkeypatch) as (mine, other, _):
        monkeypatch.setattr(line, "OF_PEER", (1.0, 300.0 * KB))
        LineTest(other, lambda rate: None)
        mine.limit(10_000 * KB, 0)  # it does not measure by itself
        await mine.call(other.peer, LINE_TEST, AskLine(), LineTested, bytes(200_000), deadline_s=30)
        with pytest.raises(CallRefused, match="often enough"):
            await mine.call(other.peer, LINE_TEST, AskLine(), LineTested, bytes(200_000), deadline_s=30)


def test_a_notice_tells_rates() -> None:
    assert "312 kB/s" in str(Notice("line.chosen", {"rate": 312_000}))
