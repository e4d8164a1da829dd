"""A method that others call by its name: what it takes, who calls it, and what is answered."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from core.contracts.errors import CallRefused, HearthError, RemoteFault
from core.contracts.net import INTERNAL, Answer, Call, Fault, Parts, Payload, size_of
from core.identity import PeerId
from core.net import limits
from core.net.link import Link
from core.net.memory import Memory
from core.net.metrics import Meter
from core.net.shares import Branch

log = logging.getLogger(__name__)
_encode = msgspec.msgpack.Encoder().encode


class Context(NamedTuple):
    """Who calls, from where and by which connection, and until when the answer is of use."""

    peer: PeerId
    address: str | None
    """The peer's outside address as seen here."""
    deadline: float
    """time.monotonic() of this process."""
    branch: Branch = ("",)
    """Where it stands among the users of what is scarce."""
    link: Link | None = None


Result = msgspec.Struct | tuple[msgspec.Struct | bytes, Payload | Parts]
Handler = Callable[[Any, Any, Context], Awaitable[Result] | Result]
"""Takes request, payload (`bytes`; `Parts` if the request is passed on undecoded) and context; gives the reply, or the
reply (`bytes`: it is encoded already) and its payload.

A plain function is run at once, without a task: best for what neither waits nor computes for long. It may also give a
Future of what others work on, which is cancelled if nobody waits for it any more.
"""
Cost = float | Callable[[Any], float]
"""How many calls one counts for in the caller's quota; a function of the request where that asks for more or less."""


class Method(NamedTuple):
    """A registered method."""

    decode: Callable[[msgspec.Raw], Any] | None
    """None: what comes is passed on undecoded."""
    handler: Handler
    waits: bool
    """Whether the handler is a coroutine function."""
    max_payload: int
    cost: Callable[[Any], float]
    meter: Meter
    is_common: bool
    """Whether it is of no run: such work for others comes after training."""
    memory: Memory
    """For its payloads."""


def answer_to(call: Call, result: Result) -> tuple[Answer, Payload | Parts]:
    """A handler's result as it is sent.

    Args:
        call: that it was given.
        result: what it gave.

    Raises:
        RemoteFault: it is too large.
    """
    reply, data = result if isinstance(result, tuple) else (result, b"")
    body, size = reply if isinstance(reply, bytes) else _encode(reply), size_of(data)
    if len(body) > limits.MAX_BODY or size > limits.MAX_PAYLOAD:
        text = f"The answer to {call.method} has {len(body)} + {size} bytes, which is over the limit. Ask for less."
        raise RemoteFault("too_large", text)
    return Answer(call.id, msgspec.Raw(body)), data


def failure_of(call: Call, method: Method, error: Exception) -> Fault:
    """What the caller is told of a handler's failure, which is counted: ours by code, anything else without its text.

    Args:
        call: that it was given.
        method: whose handler it is.
        error: that it raised.
    """
    method.meter.errors += 1
    if isinstance(error, RemoteFault):
        return Fault(call.id, error.fault, str(error)[:500])
    if isinstance(error, HearthError):
        return Fault(call.id, "busy" if isinstance(error, CallRefused) else error.code, str(error)[:500])
    log.error("serving %s failed", call.method, exc_info=error)
    return Fault(call.id, INTERNAL, f"{call.method} failed on this peer; its log says why.")
