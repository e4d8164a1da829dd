"""A host that serves peers over the real network: fairly, each gradient once, and nothing that is wrong."""

import asyncio
import contextlib
import statistics
import time
from array import array
from collections.abc import Iterator

import pytest

from core.compute.lead import START
from core.contracts.errors import AllowanceSpent, CallRefused, RemoteFault
from core.contracts.expert_calls import Direction, ExpertReply, ExpertRequest
from core.contracts.net import PeerAddress
from core.contracts.status import ExpertStatus
from core.identity import PeerId
from core.net.addresses import parse_address
from core.net.rpc import RpcNode
from core.swarm.allowance import LITTLE
from tests.worked_peers import worked_peer
from tests.workers import DIGITS_CALLS, RunningWorker, hearth, worker

HERE = "127.0.0.1:0"
WIDTH, TARGET = 64, 8
UID = "digits.0.1.3"
UIDS = tuple(f"digits.0.{row}.{column}" for row in range(4) for column in range(4))
DEADLINE_S = 240.0


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    with worker(tmp_path_factory.mktemp("host"), "--role", "host", "--listen", HERE) as running:
        running.until(lambda status: {*UIDS} <= {expert.uid for expert in status.experts}, "its experts")
        yield running


@pytest.fixture
def where(host: RunningWorker) -> PeerAddress:
    return parse_address(hearth(host.folder, "address").stdout.strip())


def numbers(rows: int, value: float = 0.5) -> bytes:
    return array("f", [value] * (rows * WIDTH)).tobytes()


class Client:
    """A peer that calls the host."""

    def __init__(self, node: RpcNode, where: PeerAddress) -> None:
        self.node, self.peer = node, PeerId(where.peer)
        node.learn(where)

    async def call(
        self, direction: Direction, payload: bytes, rows: int, uids: tuple[str, ...] = (UID,), passage: int = 0
    ) -> tuple[ExpertReply, bytes]:
        request = ExpertRequest(uids, (rows,) * len(uids), (WIDTH,), "fp32", passage)
        return await self.node.call(
            self.peer, DIGITS_CALLS[direction], request, ExpertReply, payload, deadline_s=DEADLINE_S
        )


async def test_a_backward_that_is_sent_again_is_applied_once(host: RunningWorker, where: PeerAddress) -> None:
    def expert() -> ExpertStatus:
        return next(expert for expert in host.status().experts if expert.uid == UID)

    async with worked_peer() as node:
        client = Client(node, where)

        async def send(passage: int) -> bytes:
            reply, data = await client.call("backward", numbers(TARGET) * 2, TARGET, passage=passage)
            assert reply.answered == (True,)
            return bytes(data)

        assert len({*await asyncio.gather(*(send(1) for _ in range(5))), await send(1)}) == 1
        await send(2)
    await asyncio.to_thread(host.until, lambda _: expert().updates >= 2, "both steps")
    assert (expert().updates, expert().samples) == (2, 2 * TARGET)


async def test_a_peer_that_floods_does_not_starve_another(where: PeerAddress) -> None:
    rows, times = 16, {"flood": list[float](), "other": list[float]()}
    async with (
        worked_peer() as first,
        worked_peer() as second,
    ):
        flood, other = Client(first, where), Client(second, where)

        async def timed(name: str, client: Client, uids: tuple[str, ...], rows: int) -> None:
            began = time.monotonic()
            reply, _ = await client.call("forward", numbers(rows) * len(uids), rows, uids)
            assert all(reply.answered)
            times[name].append(time.monotonic() - began)

        async def keep_flooding() -> None:
            while True:
                with contextlib.suppress(CallRefused):  # as busy as that
                    await timed("flood", flood, UIDS, rows)

        floods = [asyncio.create_task(keep_flooding()) for _ in range(24)]
        while len(times["flood"]) < len(floods):
            await timed("other", other, (UID,), 1)
        times["other"].clear()
        for _ in range(20):
            await timed("other", other, (UID,), 1)
        for task in floods:
            assert not task.done()
            task.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
    assert statistics.median(times["other"]) < statistics.median(times["flood"]) / 3


async def test_a_stranger_asks_the_model_a_little_and_trains_all_the_same(where: PeerAddress) -> None:
    """See `core.swarm.allowance`, and `core.compute.lead` for training without gradients."""
    async with worked_peer() as node:
        client, rows = Client(node, where), 512
        asked = 0
        with pytest.raises(RemoteFault, match="ask again later") as refused:
            while asked < 2 * LITTLE:
                reply, _ = await client.call("inference", numbers(rows) * len(UIDS), rows, UIDS)
                assert all(reply.answered)
                asked += rows * len(UIDS)
        assert refused.value.fault == AllowanceSpent.code and asked >= LITTLE / 2 - rows * len(UIDS)
        with pytest.raises(RemoteFault, match="too few gradients"):
            for _ in range(2 * START // (rows * len(UIDS))):
                reply, _ = await client.call("forward", numbers(rows) * len(UIDS), rows, UIDS)
                assert all(reply.answered)
        await client.call("backward", numbers(2 * rows) * len(UIDS), rows, UIDS)
        reply, _ = await client.call("forward", numbers(rows), rows)
        assert all(reply.answered)


async def test_what_is_wrong_is_refused_with_its_reason(host: RunningWorker, where: PeerAddress) -> None:
    async with worked_peer() as node:
        client = Client(node, where)
        for direction, payload, rows, uid, fault in (
            ("forward", numbers(2), 2, "digits.0.9.9", "not_hosted"),
            ("forward", numbers(2, float("nan")), 2, UID, "bad_values"),
            ("backward", numbers(2) + numbers(2, float("inf")), 2, UID, "bad_values"),
            ("forward", numbers(3), 2, UID, "protocol"),
        ):
            with pytest.raises(RemoteFault) as refused:
                await client.call(direction, payload, rows, (uid,))  # type: ignore[arg-type]
            assert refused.value.fault == fault
        request = ExpertRequest((UID,), (2,), (WIDTH // 2,))
        with pytest.raises(RemoteFault, match="2 x 32"):
            await node.call(
                client.peer, DIGITS_CALLS["forward"], request, ExpertReply, numbers(1), deadline_s=DEADLINE_S
            )
        _, data = await client.call("forward", numbers(2), 2)
        assert len(data) == len(numbers(2))
    assert host.status().state == "contributing"
