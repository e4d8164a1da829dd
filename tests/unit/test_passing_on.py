"""An expert's call goes through the workers as it came: nothing of it is decoded there, and no payload is copied."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from core.contracts.errors import CallRefused, ComputeError
from core.contracts.expert_calls import METHODS
from core.contracts.net import Parts, of_run
from core.contracts.remote_experts import ASK, FOLLOW, SERVE, Banned, Cells, ExpertCall
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.identity import Identity, PeerId
from core.net.endpoint import ReceiveStream, SendStream
from core.net.method import Context
from core.net.rpc import RpcNode
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Data, Frames, Payload
from core.swarm.incoming_calls import IncomingCalls
from core.swarm.outgoing_calls import OutgoingCalls
from tests.dht_peers import until
from tests.joined_calls import Joined, join

PEER = Identity.generate().peer
NONSENSE = b"\xc1 no msgpack at all"
"""Who decodes it, fails."""
PIECES = [bytes([number]) * 50_000 for number in range(4)]


class Network:
    """What the two ends need of a node: it registers methods, and answers calls with what it is given."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[..., Any]] = {}
        self.asked: list[tuple[str, bytes, Parts]] = []

    def register(self, name: str, request: type, handler: Callable[..., Any], **_: Any) -> None:
        assert request is bytes, "it would be decoded"
        self.handlers[name] = handler

    async def call_undecoded(
        self, peer: PeerId, name: str, request: bytes, payload: Parts, *, deadline_s: float
    ) -> tuple[bytes, Parts]:
        self.asked.append((name, request, payload))
        return NONSENSE, PIECES


class Recorder(Joined):
    """Notes the buffers of each frame before they are joined for the way."""

    def __init__(self, there: Calls) -> None:
        super().__init__(there, 1 << 20)
        self.buffers: list[Data] = []

    def send(self, frame: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
        self.buffers += frame
        super().send(frame, urgent=urgent, lossy=lossy)


async def test_what_peers_ask_reaches_compute_in_the_memory_in_which_it_came() -> None:
    worker, compute, network = Calls(), Calls(), Network()
    _, back = join(worker, compute)
    recorder = Recorder(compute)
    recorder.back = back
    worker.attach(recorder)

    def serve(call: ExpertCall, payload: Payload, incoming: Incoming) -> tuple[bytes, Payload]:
        assert (call.peer, call.request, call.crowd) == (PEER.hex(), NONSENSE, "crowd of 192.0.2.1:1")
        assert payload == b"".join(PIECES)
        return NONSENSE, PIECES[0]

    compute.register_carrier(SERVE, serve)
    incoming = IncomingCalls(worker, lambda: True)
    incoming.register(cast(RpcNode, network), "run", lambda peer, size: None, lambda address: f"crowd of {address}")
    handler = network.handlers[of_run(METHODS["forward"], "run")]
    context = Context(PEER, "192.0.2.1:1", math.inf)
    reply, payload = await handler(NONSENSE, PIECES, context)
    assert reply == NONSENSE and b"".join(payload) == PIECES[0]
    assert all(any(piece is buffer for buffer in recorder.buffers) for piece in PIECES), "it was copied"

    waiting = handler(NONSENSE, PIECES, context)
    incoming.refuse("The user is back.")
    with pytest.raises(CallRefused, match="user is back"):
        await waiting


async def test_a_few_that_ask_as_much_as_they_may_keep_out_nobody() -> None:
    worker, compute, network = Calls(), Calls(), Network()
    join(worker, compute)
    compute.register_carrier(SERVE, lambda call, payload, incoming: asyncio.get_running_loop().create_future())
    IncomingCalls(worker, lambda: True).register(cast(RpcNode, network), "run", lambda peer, size: None, str)
    handler = network.handlers[of_run(METHODS["forward"], "run")]

    def given(peer: PeerId, size: int) -> int:
        """Requests of so many bytes that compute gets of it."""
        with contextlib.suppress(CallRefused):
            for count in range(10_000):  # noqa: B007 - how many is asked
                handler(NONSENSE, [bytes(size)], Context(peer, None, math.inf))
        return count

    for _ in range(4):
        assert given(Identity.generate().peer, 1) == 64
    honest = [given(Identity.generate().peer, 1) for _ in range(3)]
    assert honest == [256 // 5, 256 // 6, 256 // 7]


async def test_what_compute_asks_goes_out_in_the_pieces_in_which_it_came_through_the_pipe() -> None:
    worker, compute, network = Calls(), Calls(), Network()
    join(worker, compute, piece=70_000)
    directory = cast(DHTDirectory, type("Directory", (), {"run_id": "run"})())
    OutgoingCalls(cast(RpcNode, network), directory, Grid("run", 1, (2, 2)), worker, lambda peers: None)
    call = ExpertCall(PEER.hex(), "backward", NONSENSE)
    reply, payload = await compute.exchange(ASK, call, PIECES, asyncio.get_running_loop().time() + 5)
    assert reply == NONSENSE and payload == b"".join(PIECES)
    [(name, request, parts)] = network.asked
    assert (name, request) == (of_run(METHODS["backward"], "run"), NONSENSE)
    assert b"".join(parts) == b"".join(PIECES)


async def test_who_is_banned_while_no_compute_process_is_there_is_not_remembered_for_one() -> None:
    worker, compute = Calls(), Calls()
    join(worker, compute)
    directory = cast(DHTDirectory, type("Directory", (), {"run_id": "run", "mirror": lambda self, layer: ()})())
    calls = OutgoingCalls(cast(RpcNode, Network()), directory, Grid("run", 1, (2, 2)), worker, lambda peers: None)
    async with contextlib.aclosing(compute.stream(FOLLOW, None)) as told:
        assert isinstance(await anext(told), Cells)
        calls.banned(PEER, 30.0)
        assert await anext(told) == Banned(PEER.hex(), 30.0)
        followed = calls._bans
        assert followed is not None
    worker.detach(ComputeError("It has ended."))
    await until(lambda: calls._bans is None, "nobody who wants to know")
    calls.banned(PEER, 30.0)
    assert followed.empty()


def test_a_payload_is_given_out_in_the_memory_in_which_it_was_read() -> None:
    from_compute = Frames(in_parts=True)
    frame: Sequence[Data] = []

    class Sink:
        def send(self, buffers: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
            nonlocal frame
            frame = buffers

    async def ask() -> None:
        calls = Calls()
        calls.attach(Sink())
        calls.exchange(ASK, ExpertCall("aa" * 32, "forward", NONSENSE), PIECES)

    asyncio.run(ask())
    read = [bytes(frame[0]), *PIECES]
    [whole] = [done for chunk in read for done in from_compute.feed(chunk)]
    assert [part.obj for part in cast(list[memoryview], whole.payload)] == PIECES
    assert all(part.obj is piece for part, piece in zip(cast(list[memoryview], whole.payload), PIECES, strict=True))


async def test_a_payload_is_copied_into_the_transport_and_out_of_it_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice on the whole way, with the tests above: between pipe and transport it stays where it is, at either peer."""
    written: list[Data] = []
    read: list[Data] = []
    write, read_exactly = SendStream.write, ReceiveStream.read_exactly

    async def noted_write(stream: SendStream, data: bytes | memoryview) -> None:
        written.append(data)
        await write(stream, data)

    async def noted_read(stream: ReceiveStream, size: int) -> bytes:
        read.append(await read_exactly(stream, size))
        return cast(bytes, read[-1])

    monkeypatch.setattr(SendStream, "write", noted_write)
    monkeypatch.setattr(ReceiveStream, "read_exactly", noted_read)
    taken: list[Data] = []

    def take(request: bytes, payload: Parts, context: Context) -> tuple[bytes, Payload]:
        taken.extend(payload)
        return b"\x90", b""

    nodes = [RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) for _ in range(2)]
    async with nodes[0] as here, nodes[1] as there:
        there.register("take", bytes, take, max_payload=1 << 20)
        here.learn(there.address())
        reply, _ = await here.call_undecoded(there.peer, "take", b"\x90", PIECES, deadline_s=10)
    assert reply == b"\x90" and b"".join(taken) == b"".join(PIECES)
    assert all(any(isinstance(d, memoryview) and d.obj is piece for d in written) for piece in PIECES), "a copy"
    rest = taken[1:] if isinstance(taken[0], memoryview) else taken  # its beginning may come together with the header
    assert rest and all(any(part is data for data in read) for part in rest), "a copy"
