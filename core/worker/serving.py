"""Other peers' calls to the experts of this PC: from the network to compute and back."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from core.compute.messages import Refused, Serve, Served, Shape, Tensor
from core.errors import CallRefused, ProtocolError
from core.experts.calls import MAX_BYTES, METHODS, Direction, ExpertReply, ExpertRequest, payload_size

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.net.rpc import Context, RpcNode

IN_COMPUTE = 64
"""Requests given to compute at once; more are told that this peer is busy."""

Send = Callable[[Serve, Sequence[Tensor]], Awaitable[None]]


class Visitors:
    """Requests of other peers that compute works on. `send` raises ComputeError while there is no compute."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[ExpertReply, bytes | memoryview]]] = {}

    def register(self, node: "RpcNode") -> None:
        """Serve these methods to all peers."""
        for direction, name in METHODS.items():
            node.register(name, ExpertRequest, self._handler(direction), max_payload=MAX_BYTES, cost=4.0)

    def _handler(self, direction: Direction) -> Callable[..., Awaitable[tuple[ExpertReply, bytes | memoryview]]]:
        async def serve(
            request: ExpertRequest, payload: bytes | memoryview, context: "Context"
        ) -> tuple[ExpertReply, bytes | memoryview]:
            _check(direction, request, payload)
            return await self._ask(Serve(next(self._numbers), context.peer.hex(), direction, request), payload)

        return serve

    async def _ask(self, message: Serve, payload: bytes | memoryview) -> tuple[ExpertReply, bytes | memoryview]:
        if len(self._waiting) >= IN_COMPUTE:
            raise CallRefused("This peer is busy with other requests. Ask another one.")
        answer: asyncio.Future[tuple[ExpertReply, bytes | memoryview]] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        try:
            await self._send(message, [Tensor(Shape("uint8", (len(payload),)), payload)])
            return await answer
        finally:
            del self._waiting[message.id]

    def served(self, message: Served, tensors: list[Tensor]) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_result((message.reply, tensors[0].data))

    def refused(self, message: Refused) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_exception(CallRefused(message.text))

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
