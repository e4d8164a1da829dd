"""Other peers' calls to the experts of this PC: from the network to compute and back."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence

from core.compute.messages import Refused, Serve, Served, Shape, Tensor
from core.errors import CallRefused, ProtocolError
from core.experts.calls import MAX_BYTES, METHODS, Direction, ExpertReply, ExpertRequest
from core.net.rpc import Context, RpcNode

IN_COMPUTE = 64
"""Requests given to compute at once; more are told that this peer is busy."""
FLOAT = 4

Send = Callable[[Serve, Sequence[Tensor]], Awaitable[None]]


class Visitors:
    """Requests of other peers that compute works on. `send` raises ComputeError while there is no compute."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[Served, list[Tensor]]]] = {}

    def register(self, node: RpcNode) -> None:
        """Serve these methods to all peers."""
        for direction, name in METHODS.items():
            node.register(name, ExpertRequest, self._handler(direction), max_payload=MAX_BYTES, cost=4.0)

    def _handler(self, direction: Direction) -> Callable[..., Awaitable[tuple[ExpertReply, bytes]]]:
        async def serve(
            request: ExpertRequest, payload: bytes | memoryview, context: Context
        ) -> tuple[ExpertReply, bytes]:
            served, tensors = await self._ask(direction, request, _cut(direction, request, payload))
            return ExpertReply(served.answered), b"".join(tensor.data for tensor in tensors)

        return serve

    async def _ask(
        self, direction: Direction, request: ExpertRequest, tensors: list[Tensor]
    ) -> tuple[Served, list[Tensor]]:
        if len(self._waiting) >= IN_COMPUTE:
            raise CallRefused("This peer is busy with other requests. Ask another one.")
        number = next(self._numbers)
        answer: asyncio.Future[tuple[Served, list[Tensor]]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send(Serve(number, direction, request.uids), tensors)
            return await answer
        finally:
            del self._waiting[number]

    def served(self, message: Served, tensors: list[Tensor]) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_result((message, tensors))

    def refused(self, message: Refused) -> None:
        if (answer := self._waiting.get(message.id)) and not answer.done():
            answer.set_exception(CallRefused(message.text))

    def fail(self, why: str) -> None:
        """Compute is gone: nobody will answer."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(CallRefused(why))


def _cut(direction: Direction, request: ExpertRequest, payload: bytes | memoryview) -> list[Tensor]:
    """The tensors of a request, as views of its payload.

    Raises:
        ProtocolError: the payload does not hold what the request says.
    """
    each = 2 if direction == "backward" else 1
    if len(request.rows) != len(request.uids):
        raise ProtocolError(f"{len(request.rows)} sizes do not fit {len(request.uids)} expert calls.")
    if len(payload) != each * sum(request.rows) * request.width * FLOAT:
        raise ProtocolError(f"A payload of {len(payload)} bytes does not fit the expert calls it came with.")
    view, start, tensors = memoryview(payload), 0, []
    for rows in request.rows:
        for _ in range(each):
            end = start + rows * request.width * FLOAT
            tensors.append(Tensor(Shape("float32", (rows, request.width)), view[start:end]))
            start = end
    return tensors
