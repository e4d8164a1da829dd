"""Who asks for files or states by the hundred and reads none has few of them made."""

import asyncio

import msgspec
import pytest

from core.contracts.hosting import CHUNK, FileRead, ReadFile
from core.contracts.net import READ_FILE, Call, Payload, of_run
from core.identity import Identity
from core.net import limits
from core.net.method import Context
from core.net.rpc import RpcNode
from tests.dht_peers import until

METHOD = of_run(READ_FILE, "digits")
STATE = "state.read"
LARGE = 1 << 20
CALLS = limits.CALLS_BY_PEER
LONG_MS = 600_000


async def test_what_is_read_from_a_disk_for_a_peer_that_reads_nothing_is_bounded() -> None:
    made = most = 0

    async def read(request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, bytes]:
        nonlocal made, most
        data = await asyncio.to_thread(bytes, request.length)
        made += 1
        most = max(most, host._service._unsent.of(context.branch))
        return FileRead(1 << 30), data

    assert CHUNK <= limits.CHUNK, "for which there is room before it is read"
    async with RpcNode(Identity.generate()) as host, RpcNode(Identity.generate()) as asker:
        host.register(METHOD, ReadFile, read)
        asker.learn(host.address())
        await asker.call(host.peer, METHOD, ReadFile("ab" * 32, 0, 1), FileRead, deadline_s=10)
        served = host.pool.links[asker.peer]
        await ask_and_read_nothing(asker, host, METHOD, ReadFile("ab" * 32, 0, CHUNK))
        room = host._service.memory.by_peer // CHUNK
        await until(lambda: made > room // 2 and len(served.serving) <= room + 1, "what there is room for")
        assert most <= (room + 1) * (CHUNK + limits.SMALL)
        assert made <= 2 * room < CALLS, "some are on their way, as many as may be there before they are read"


async def test_large_answers_that_are_made_at_once_for_a_peer_that_reads_nothing_are_few() -> None:
    together = asyncio.Event()

    async def read(request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, bytes]:
        await together.wait()
        return FileRead(LARGE), bytes(LARGE)

    async with RpcNode(Identity.generate()) as host, RpcNode(Identity.generate()) as asker:
        host.register(STATE, ReadFile, read)
        asker.learn(host.address())
        await asker.pool.link(host.peer)
        await until(lambda: asker.peer in host.pool.links, "a connection")
        served = host.pool.links[asker.peer]
        await ask_and_read_nothing(asker, host, STATE, ReadFile("ab" * 32, 0, 1))
        await until(lambda: len(served.serving) == CALLS, "all calls")
        together.set()
        room = host._service.memory.by_peer // LARGE
        await until(lambda: len(served.serving) <= room + limits.LANES + 2, "what there is room for")
        assert host._service._unsent.of(served.branch) <= (room + 1) * (LARGE + limits.SMALL)


async def test_who_reads_nothing_keeps_nobody_from_being_sent_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are sent to one far peer at a time."""
    monkeypatch.setattr(limits, "FRAME_S", 4.0)
    monkeypatch.setattr("core.net.link.in_local_network", lambda host, own: False)

    async def read(request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, bytes]:
        return FileRead(1 << 30), bytes(4 * LARGE if context.peer == asker.peer else CHUNK)

    async with RpcNode(Identity.generate()) as host, RpcNode(Identity.generate()) as asker:
        host.register(METHOD, ReadFile, read)
        host.limit(0, 0, (64 * LARGE, 64 * LARGE))
        asker.limit(0, 0, (0, LARGE))  # little is on its way before it is read
        question = ReadFile("ab" * 32, 0, CHUNK)
        asker.learn(host.address())
        await asker.pool.link(host.peer)
        await ask_and_read_nothing(asker, host, METHOD, question, 1)
        await until(lambda: host.far._copies._held[asker.peer], "an answer on its way")
        async with RpcNode(Identity.generate()) as other:
            other.learn(host.address())
            _, data = await other.call(host.peer, METHOD, question, FileRead, deadline_s=60)
        assert len(data) == CHUNK and not host.far._copies._held[asker.peer]
        assert asker.peer in host.pool.links, "who is slow loses the answer and nothing else"


async def ask_and_read_nothing(
    asker: RpcNode, host: RpcNode, method: str, question: ReadFile, calls: int = CALLS
) -> None:
    """Send as many calls as one peer may have in flight, or fewer."""
    link = asker.pool.links[host.peer]
    for task in link._tasks[1:]:
        task.cancel()
    body = msgspec.Raw(msgspec.msgpack.encode(question))
    await asyncio.gather(*(link.send(Call(1 << 40 | n, method, LONG_MS, body)) for n in range(calls)))
