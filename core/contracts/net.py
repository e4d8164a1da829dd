"""The contract of the wire: frame headers and addresses. A leaf that both ends import.

A connection is a set of one-way QUIC streams. Each carries frames one after the other:
prefix (header length and payload length, two big-endian u32), header (msgpack of one struct below), raw payload.
Small frames share one stream and one write; a large one has a stream to itself, which is used again afterwards.
Between peers near each other such a stream may also be a TCP connection.
"""

import struct
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from core.contracts.errors import CallRefused, CallTimeout, HearthError, NotServed, RemoteFault

PREFIX = struct.Struct(">II")
"""Header length, payload length, in bytes."""

Payload = bytes | bytearray | memoryview
Parts = Sequence[Payload]
"""A payload in the pieces in which it came or is to be sent, so that nobody has to join them."""


def parts_of(payload: Payload | Parts) -> Parts:
    """A payload in parts."""
    return (payload,) if isinstance(payload, bytes | bytearray | memoryview) else payload


def size_of(payload: Payload | Parts) -> int:
    """Bytes of a payload."""
    return len(payload) if isinstance(payload, bytes | bytearray | memoryview) else sum(map(len, payload))


def joined(parts: Parts) -> bytes:
    """A payload in one piece."""
    return parts[0] if len(parts) == 1 and isinstance(parts[0], bytes) else b"".join(parts)


Id = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Peer = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
SocketAddress = Annotated[str, msgspec.Meta(max_length=64)]
ANYWHERE = ("0.0.0.0:0", "[::]:0")
"""To listen at every address of this PC, on a free port."""


class PeerAddress(msgspec.Struct, frozen=True):
    """Where a peer may be dialled: "ip:port" or "[v6]:port"; `relays` are peers that relay for it."""

    peer: Peer
    addresses: Annotated[tuple[SocketAddress, ...], msgspec.Meta(max_length=8)] = ()
    relays: Annotated[tuple[Peer, ...], msgspec.Meta(max_length=4)] = ()


class Call(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Run a method. `deadline_ms` is what is left of the caller's patience when it is sent."""

    id: Id
    method: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=86_400_000)]
    body: msgspec.Raw


def of_run(method: str, run_id: str) -> str:
    """A method as one run's peers call it: several runs share a PC's connections, and none answers for another.

    Args:
        method: its name within the run, such as "expert.forward".
        run_id: `Manifest.run_id`.
    """
    return f"{method}@{run_id}"


Kind = Literal["call", "copy", "test"]
"""Of a large frame: a copy gives way to calls; what tests the line is held back by no limit."""
LINE_TEST, READ_FILE = "line.test", "file.read"
DATA_READ = "data.read"
"""Under this, what `READ_FILE` moves of a run's data is counted: copies of checkpoints are another thing to people."""
PACK_READ = "pack.read"
"""The same for files of GPU packs."""
_KINDS: dict[str, Kind] = {LINE_TEST: "test", READ_FILE: "copy"}


def kind_of(method: str) -> Kind:
    """What a method's calls and answers are.

    Args:
        method: its name, with or without a run's id.
    """
    return _KINDS.get(method.partition("@")[0], "call")


class Answer(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The reply to the call with this id."""

    id: Id
    body: msgspec.Raw


class Fault(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The call with this id was refused (`code` in REFUSALS) or failed."""

    id: Id
    code: Annotated[str, msgspec.Meta(max_length=64)]
    message: Annotated[str, msgspec.Meta(max_length=500)]

    def error(self) -> HearthError:
        """What is raised to the caller."""
        if self.code in REFUSALS:
            return NotServed(self.message) if self.code == NOT_SERVED else CallRefused(self.message)
        return CallTimeout(self.message) if self.code == TIMED_OUT else RemoteFault(self.code, self.message)


class Cancel(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The caller no longer waits for the call with this id."""

    id: Id


class Ping(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Are you there?"""


class Pong(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """I am."""


Header = Call | Answer | Fault | Cancel | Ping | Pong

NOT_SERVED = "unknown_method"
NO_ACCESS = "no_access"
"""Code of the fault for who may not take part in a run."""
REFUSALS = frozenset({"busy", "limit", NOT_SERVED, "bad_request", NO_ACCESS})
"""Codes of faults with which a peer declines a call before its handler runs."""
TIMED_OUT = "timeout"
"""Code of the fault for a call whose deadline passed at the server."""
INTERNAL = "internal"
"""Code of the fault for a handler that failed unexpectedly."""


TCP_NAME, TCP_KEY = 16, 32
"""Bytes."""


class AskTicket(msgspec.Struct, frozen=True):
    """Let me send you large frames by a TCP connection."""


class Ticket(msgspec.Struct, frozen=True):
    """Connect to this port of the host at which you see me, say the name first, and seal all that follows."""

    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    name: Annotated[bytes, msgspec.Meta(min_length=TCP_NAME, max_length=TCP_NAME)]
    key: Annotated[bytes, msgspec.Meta(min_length=TCP_KEY, max_length=TCP_KEY)]


class AskLine(msgspec.Struct, frozen=True):
    """How fast does the payload of this call reach you?"""


class LineTested(msgspec.Struct, frozen=True):
    """All of it is here."""

    sha256: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """Of the payload: who does not have all of it cannot tell."""


class Observe(msgspec.Struct, frozen=True):
    """What address do you see me at?"""


class Observed(msgspec.Struct, frozen=True):
    """The asker's address (None through a relay), and what the answerer does for others."""

    address: SocketAddress | None
    backbone: bool
    relays: bool
