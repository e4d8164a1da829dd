"""Other peers' calls to the experts of this PC: from the network to compute and back."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.contracts.errors import CallRefused, HearthError, ProtocolError, RemoteFault
from core.contracts.expert_calls import MAX_BYTES, METHODS, Direction, ExpertReply, ExpertRequest, payload_size
from core.contracts.net import of_run
from core.contracts.pipe import Cancel, Data, Refused, Serve, Served, Shape, Tensor

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.net.rpc import Context, RpcNode

IN_COMPUTE, IN_COMPUTE_PEER = 256, 64
"""Requests given to compute at once, and those of one peer; more are told that this peer is busy."""
FIRST = 1 << 32
"""Number of the first: `Refused` names questions of this PC's user by lower ones."""
BYTES, BYTES_PEER = 128 << 20, 64 << 20
"""Of their payloads."""

Send = Callable[[Serve | Cancel, Sequence[Tensor]], None]
Reply = tuple[ExpertReply, Data]


class Visitors:
    """Requests of other peers that compute works on. `send` raises ComputeError while there is no compute."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = itertools.count(FIRST)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._requests: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def register(self, node: "RpcNode", run_id: str) -> None:
        """Serve the run's methods to all peers.

        Args:
            node: this peer's connections.
            run_id: the run that is asked by them.
        """
        for direction, name in METHODS.items():
            node.register(
                of_run(name, run_id), ExpertRequest, self._handler(direction), max_payload=MAX_BYTES, cost=4.0
            )

    def _handler(self, direction: Direction) -> Callable[..., asyncio.Future[Reply]]:
        def serve(request: ExpertRequest, payload: bytes, context: "Context") -> asyncio.Future[Reply]:
            _check(direction, request, payload)
            message = Serve(next(self._numbers), context.peer.hex(), direction, request, context.deadline)
            return self._ask(message, payload)

        return serve

    def _ask(self, message: Serve, payload: bytes) -> asyncio.Future[Reply]:
        """Compute's answer. Without a task or a wait in between: each would take longer than a tiny expert."""
        peer, size = message.peer, len(payload)
        for many, by_peer, all_most, peer_most in (
            (self._requests, 1, IN_COMPUTE, IN_COMPUTE_PEER),
            (self._bytes, size, BYTES, BYTES_PEER),
        ):
            if many.total() + by_peer > all_most or many[peer] + by_peer > peer_most:
                raise CallRefused("This peer is busy with other requests. Ask another one.")
        self._send(message, [Tensor(Shape("uint8", (size,)), payload)])
        self._count(peer, 1, size)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        answer.add_done_callback(partial(self._answered, message, size))
        return answer

    def _answered(self, message: Serve, size: int, answer: asyncio.Future[Reply]) -> None:
        del self._waiting[message.id]
        self._count(message.peer, -1, -size)
        if answer.cancelled():
            with contextlib.suppress(HearthError):
                self._send(Cancel(message.id), [])

    def _count(self, peer: str, requests: int, size: int) -> None:
        self._requests[peer] += requests
        self._bytes[peer] += size
        if not self._requests[peer]:
            del self._requests[peer], self._bytes[peer]

    def served(self, message: Served, tensors: list[Tensor]) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_result((message.reply, tensors[0].data))

    def refused(self, message: Refused) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            busy = message.code == "busy"
            answer.set_exception(CallRefused(message.text) if busy else RemoteFault(message.code, message.text))

    def fail(self, why: str) -> None:
        """Compute is gone: nobody will answer."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(CallRefused(why))


def _check(direction: Direction, request: ExpertRequest, payload: bytes | memoryview) -> None:
    """Raises:
    ProtocolError: the payload does not hold what the request says.
    """
    if len(request.rows) != len(request.uids):
        raise ProtocolError(f"{len(request.rows)} sizes do not fit {len(request.uids)} expert calls.")
    if len(payload) != payload_size(request, direction == "backward"):
        raise ProtocolError(f"A payload of {len(payload)} bytes does not fit the expert calls it came with.")
