"""One whole worker, and peers that mean ill: each attack is refused or outlived, with bounded memory and CPU."""

import asyncio
import contextlib
import os
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import msgspec
import psutil
import pytest

from core.contracts.dht import MAX_RECORD, FindNode, FindValue, Found, Nodes, Ping, Pong, Store, Stored, Values
from core.contracts.errors import CallRefused, HearthError, PeerUnreachable
from core.contracts.expert_calls import ExpertReply, ExpertRequest
from core.contracts.net import PREFIX, Call, PeerAddress
from core.contracts.network_status import DhtRecord, DhtStatus, NetworkStatus
from core.dht.records import Verdict, make, own_subkey
from core.dht.store import KEY_SUBKEYS
from core.identity import Identity, PeerId
from core.net import limits
from core.net.addresses import parse_address
from core.net.endpoint import LOOPBACK, Connection, Endpoint, SendStream
from core.net.rpc import RpcNode
from core.swarm import hosting
from tests.dht_peers import until
from tests.scenarios.test_network import HERE, address
from tests.worked_peers import worked_peer
from tests.workers import DIGITS_CALLS, PATIENCE_S, RunningWorker, start_paused, worker

MIB = 1024 * 1024
GROWTH_MB = 64.0
READ_S, READS = 3.0, 5
"""Most of so many are as quick as that, though the machine be busy with something else."""


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    folder = tmp_path_factory.mktemp("victim") / "worker"
    start_paused(folder)
    with worker(folder, "--listen", HERE) as running:
        yield running
        assert "Traceback" not in (folder / "logs" / "hearth.log").read_text()


def read_s(victim: RunningWorker) -> float:
    """Seconds until it has looked a record up."""
    began = time.monotonic()
    victim.ask("dht_get", {"key": "digits.0."}, list[DhtRecord])
    return time.monotonic() - began


@pytest.fixture
def where(victim: RunningWorker) -> Iterator[PeerAddress]:
    """The victim's address; after the attack it is as well, as light and as quick as before."""
    process = psutil.Process(victim.process.pid)
    before = process.memory_info().rss
    yield parse_address(address(victim))
    assert victim.status().state == "paused"
    assert statistics.median(read_s(victim) for _ in range(READS)) < READ_S
    assert process.memory_info().rss - before < GROWTH_MB * MIB


@pytest.fixture
async def mallory(where: PeerAddress) -> AsyncIterator[RpcNode]:
    async with worked_peer() as node:
        node.learn(where)
        yield node


@contextlib.asynccontextmanager
async def stranger(where: PeerAddress) -> AsyncIterator[tuple[Connection, SendStream]]:
    """A raw connection."""
    endpoint = await Endpoint.bind(os.urandom(32), LOOPBACK)
    try:
        connection = await endpoint.dial(PeerId(where.peer), where.addresses)
        yield connection, await connection.open()
    finally:
        await endpoint.close()


async def closed(connection: Connection, seconds: float) -> str:
    """Why the victim closed the connection."""
    with pytest.raises(PeerUnreachable) as caught:
        async with asyncio.timeout(seconds):
            streams = [await connection.accept()]
            while True:  # none is given up before the victim has spoken
                streams.append(await connection.accept())
    return str(caught.value)


async def test_records_that_lie_are_refused_each_with_its_reason(mallory: RpcNode, where: PeerAddress) -> None:
    now, me = time.time(), mallory.identity
    good = make(me, "digits.0.1.3", own_subkey(me.peer), b"v", int(now * 1000), now + 60)
    other = make(me, "digits.0.1.4", own_subkey(me.peer), b"v", int(now * 1000), now + 60)
    expected = {
        good.raw[:-1] + bytes([good.raw[-1] ^ 1]): Verdict.FORGED,
        other.raw[:-64] + good.signature: Verdict.FORGED,  # replayed under another key
        make(me, "k", "", b"v", int(now * 1000), now - 1).raw: Verdict.EXPIRED,
        make(me, "k", "", b"v", int(now * 1000), now + 1e6).raw: Verdict.AHEAD,
        make(me, "k", "", b"v", int(now * 1000) + 10**9, now + 60).raw: Verdict.AHEAD,  # a lying clock
        b"nonsense": Verdict.MALFORMED,
        make(me, "k", "", b"v", int(now * 1000), now + 60).raw: Verdict.STORED,
    }
    reply, _ = await mallory.call(PeerId(where.peer), "dht.store", Store([*expected], False), Stored, deadline_s=10)
    assert [Verdict(code) for code in reply.verdicts] == [*expected.values()]


async def test_oversized_and_wrongly_typed_calls_are_refused_and_end_in_a_ban(
    mallory: RpcNode, where: PeerAddress
) -> None:
    class Odd(msgspec.Struct, array_like=True):
        records: object
        serving: object = False

    for records in ([bytes(MAX_RECORD + 1)], [b""] * 1025, "records", [7]):
        with pytest.raises(CallRefused, match=r"dht\.store"):
            await mallory.call(PeerId(where.peer), "dht.store", Odd(records), Stored, deadline_s=10)
    with pytest.raises(PeerUnreachable):
        for _ in range(9):
            with contextlib.suppress(CallRefused):
                await mallory.call(PeerId(where.peer), "dht.store", Odd(None), Stored, deadline_s=10)


async def test_a_list_of_ten_thousand_nodes_is_not_read(
    victim: RunningWorker, mallory: RpcNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_BODY", 64 * MIB)  # of this process: the liar keeps to no rule
    peer = PeerId(parse_address(address(victim)).peer)
    many = Nodes([PeerAddress(os.urandom(32), ("127.0.0.1:9",)) for _ in range(10_000)], [[0]])
    asked = 0

    def list_many(request: FindNode, payload: object, context: object) -> Nodes:
        nonlocal asked
        asked += 1
        return many

    def lie(request: FindValue, payload: object, context: object) -> Values:
        nonlocal asked
        asked += 1
        return Values([Found([], {}, None)] * len(request.keys), many)

    mallory.register("dht.ping", Ping, lambda request, payload, context: Pong(mallory.address(), 9e18, True))
    mallory.register("dht.find_node", FindNode, list_many)
    mallory.register("dht.find_value", FindValue, lie)
    await mallory.call(peer, "dht.ping", Ping(True), Pong, deadline_s=5)

    def dht() -> DhtStatus:
        return victim.ask("dht_stats", {}, DhtStatus)

    def known() -> bool:
        return dht().contacts == 1 or asked > 0  # a search of the victim's own may ask it at once, and drops it then

    await until(lambda: asyncio.to_thread(known), "the liar in the table")
    assert abs(dht().clock_offset_s) <= 60, "its clock moves that of others by no more than a minute"
    await asyncio.to_thread(victim.ask, "dht_get", {"key": "digits.0."}, list[DhtRecord])
    assert asked and dht().contacts == 0


async def test_ten_thousand_members_that_are_none_cost_little(
    victim: RunningWorker, mallory: RpcNode, where: PeerAddress
) -> None:
    room, nobodies = msgspec.msgpack.encode((1_000_000, 0)), [Identity.generate() for _ in range(10_000)]

    def sign(nobody: Identity) -> bytes:
        now = time.time()
        return make(nobody, "digits.hosts", own_subkey(nobody.peer), room, int(now * 1000), now + 3000).raw

    verdicts: Counter[Verdict] = Counter()
    for start in range(0, len(nobodies), 400):
        store = Store([sign(nobody) for nobody in nobodies[start : start + 400]], False)
        with contextlib.suppress(CallRefused):  # as much of it keeps the worker busy
            reply, _ = await mallory.call(PeerId(where.peer), "dht.store", store, Stored, deadline_s=30)
            verdicts.update(map(Verdict, reply.verdicts))
    assert {*verdicts} - {Verdict.KEY_FULL} == {Verdict.STORED} and verdicts[Verdict.STORED] <= KEY_SUBKEYS

    process = psutil.Process(victim.process.pid)
    used, began = sum(process.cpu_times()[:2]), time.monotonic()
    await asyncio.sleep(3 * hosting.TICK_S)  # it looks at its fellow members three times
    share = (sum(process.cpu_times()[:2]) - used) / (time.monotonic() - began)
    print(f"with {KEY_SUBKEYS} members that are none the worker used {share:.0%} of a core")
    assert share < 0.5


async def test_a_frame_that_drips_is_given_up(where: PeerAddress) -> None:
    async with stranger(where) as (connection, stream):

        async def drip() -> None:
            for byte in PREFIX.pack(1000, 0) + bytes(1000):
                await stream.write(bytes([byte]))
                await asyncio.sleep(0.1)

        dripping = asyncio.create_task(drip())
        why = await closed(connection, PATIENCE_S)
        assert "too slow" in why or "silent" in why  # bytes of a frame that never ends are no sign of life
        with pytest.raises(PeerUnreachable):
            await dripping


async def test_a_flood_of_dear_questions_leaves_time_for_others(
    victim: RunningWorker, mallory: RpcNode, where: PeerAddress
) -> None:
    process = psutil.Process(victim.process.pid)
    question = msgspec.Raw(msgspec.msgpack.encode(FindNode([os.urandom(20) for _ in range(256)], False)))
    # by a call for which it shows its work: strangers of one network wait for each other
    await mallory.call(PeerId(where.peer), "dht.store", Store([], False), Stored, deadline_s=60)
    header = [msgspec.msgpack.encode(Call(number, "dht.find_node", 60_000, question)) for number in range(1, 400)]
    flood = b"".join(PREFIX.pack(len(part), 0) + part for part in header)
    async with stranger(where) as (_, stream):

        async def pour() -> None:
            with contextlib.suppress(PeerUnreachable):
                await stream.write(flood)

        pouring = asyncio.create_task(pour())
        used, began = sum(process.cpu_times()[:2]), time.monotonic()
        took = []
        while time.monotonic() - began < 3.0:
            asked = time.monotonic()
            await mallory.call(PeerId(where.peer), "dht.ping", Ping(False), Pong, deadline_s=5)
            took.append(time.monotonic() - asked)
        share = (sum(process.cpu_times()[:2]) - used) / (time.monotonic() - began)
        print(f"under a flood a ping took {max(took) * 1000:.0f} ms at most; the worker used {share:.0%} of a core")
        assert statistics.median(took) < 1.0
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)


async def test_a_call_for_an_expert_that_is_not_hosted_is_refused_at_once(
    victim: RunningWorker, mallory: RpcNode, where: PeerAddress
) -> None:
    """Who believes the announcement asks once, is refused at once, and leaves that host out (`not_hosted`)."""
    request = ExpertRequest(("digits.0.1.3",), (1,), (64,))
    with pytest.raises(HearthError, match=r"paused|comput|given back"):
        await mallory.call(
            PeerId(where.peer), DIGITS_CALLS["inference"], request, ExpertReply, bytes(4 * 64), deadline_s=10
        )
    status = victim.ask("network", {}, NetworkStatus)
    assert mallory.peer.hex() in {peer.peer for peer in status.peers}
