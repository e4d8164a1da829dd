"""Who asks for pieces of files by the hundred and reads none has few of them made."""

import asyncio

import msgspec

from core.contracts.hosting import CHUNK, FileRead, ReadFile
from core.contracts.net import READ_FILE, Call, of_run
from core.identity import Identity
from core.net import limits
from core.net.rpc import Context, Payload, RpcNode
from tests.dht_peers import until

METHOD = of_run(READ_FILE, "digits")
CALLS = limits.CALLS_BY_PEER
LONG_MS = 600_000


async def test_what_is_read_from_a_disk_for_a_peer_that_reads_nothing_is_bounded() -> None:
    made = 0

    async def read(request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, bytes]:
        nonlocal made
        data = await asyncio.to_thread(bytes, request.length)
        made += 1
        return FileRead(1 << 30), data

    assert CHUNK <= limits.CHUNK, "for which there is room before it is read"
    async with RpcNode(Identity.generate()) as host, RpcNode(Identity.generate()) as asker:
        host.register(METHOD, ReadFile, read)
        asker.learn(host.address())
        await asker.call(host.peer, METHOD, ReadFile("ab" * 32, 0, 1), FileRead, deadline_s=10)
        link, served = asker.pool.links[host.peer], host.pool.links[asker.peer]
        for task in link._tasks[1:]:
            task.cancel()
        question = msgspec.Raw(msgspec.msgpack.encode(ReadFile("ab" * 32, 0, CHUNK)))
        await asyncio.gather(*(link.send(Call(1 << 40 | n, METHOD, LONG_MS, question)) for n in range(CALLS)))
        room = host._service.memory.by_peer // CHUNK
        await until(lambda: made > room // 2 and len(served.serving) <= room + 1, "what there is room for")
        assert made <= room + 2 < CALLS
