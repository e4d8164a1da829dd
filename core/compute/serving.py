"""Other peers' expert calls, as compute serves them: decoded, checked, run together with the own Trainer's, encoded."""

import logging
import math

from torch import Tensor

from core.compute import messages
from core.compute.messages import Refused, Serve, Served, Shape
from core.compute.pipe import Pipe
from core.errors import HearthError
from core.experts import codec
from core.experts.calls import ExpertReply, ExpertRequest, encoded_size
from core.experts.grid import Uid
from core.experts.layer import Call
from core.runtime.runtime import Runtime, Switch

log = logging.getLogger(__name__)


class Serving:
    """Answers `Serve` by `Served` or `Refused`."""

    def __init__(self, pipe: Pipe, runtime: Runtime, switch: Switch) -> None:
        self._pipe, self._runtime, self._switch = pipe, runtime, switch

    async def serve(self, message: Serve, payload: messages.Tensor) -> None:
        """Run experts for another peer."""
        if not self._switch.is_on:
            self._refuse(message, "busy", "This PC is given back to its user. Ask another peer.")
            return
        request, backward = message.request, message.direction == "backward"
        if backward and not request.with_inputs:  # no inputs are kept yet
            forgotten = ExpertReply((False,) * len(request.uids), forgotten=True)
            self._pipe.send(Served(message.id, forgotten), [messages.Tensor(Shape("uint8", (0,)), b"")])
            return
        try:
            calls = _calls(request, backward, payload.data)
        except HearthError as error:
            self._refuse(message, error.code, str(error))
            return
        versions: tuple[int, ...] = ()
        if backward:
            answers = await self._runtime.backward(calls, request.passage)
        else:
            outputs = await self._runtime.forward(calls, request.passage, message.direction == "inference")
            answers = [None if output is None else output.rows for output in outputs]
            versions = tuple(0 if output is None else output.version for output in outputs)
        data = b"".join(codec.encode(answer, request.codec) for answer in answers if answer is not None)
        reply = ExpertReply(tuple(answer is not None for answer in answers), versions)
        self._pipe.send(Served(message.id, reply), [messages.Tensor(Shape("uint8", (len(data),)), data)])

    def _refuse(self, message: Serve, code: str, text: str) -> None:
        self._pipe.send(Refused(message.id, code, text))


def _calls(request: ExpertRequest, backward: bool, data: bytes | memoryview) -> list[Call]:
    """The calls of a request, whose payload's size the worker has checked.

    Raises:
        ProtocolError: something that is no uid.
    """
    view, start, calls = memoryview(data), 0, []

    def take(rows: int) -> Tensor:
        nonlocal start
        end = start + encoded_size(request.codec, rows * math.prod(request.shape))
        tensor = codec.decode(view[start:end], request.codec, (rows, *request.shape))
        start = end
        return tensor

    for text, rows in zip(request.uids, request.rows, strict=True):
        uid, inputs = Uid.parse(text), take(rows)
        calls.append(Call(uid, inputs, take(rows) if backward else None))
    return calls
