"""Calls between peers that are not on the call layer yet: messages in both directions, each with one payload."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from core.contracts.pipe import OLD, Old, OldMessage, Shape, Tensor
from core.pipe.calls import Calls, Incoming


class OldMessages:
    """One end."""

    def __init__(self, calls: Calls, received: Callable[[Old, list[Tensor]], object]) -> None:
        """Send over `calls`, and have `received` called with each message and its payload."""
        self._calls = calls

        def receive(request: OldMessage, payload: bytearray, call: Incoming) -> tuple[None, bytes]:
            received(request.message, [Tensor(Shape("uint8", (len(payload),)), payload)])
            return None, b""

        calls.register_carrier(OLD, receive)

    def send(self, message: Old, tensors: Sequence[Tensor] = ()) -> None:
        """Send a message without waiting.

        Raises:
            ComputeError: nobody is at the other end.
        """
        answer = self._calls.exchange(OLD, OldMessage(message), [tensor.data for tensor in tensors])
        answer.add_done_callback(_forget)


def _forget(answer: "asyncio.Future[Any]") -> None:
    if not answer.cancelled():
        answer.exception()
