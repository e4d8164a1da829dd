"""A run and its lines to brokers, as both know them who ask for these and who keeps them up."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from core.contracts.credit import Bundle, SignedBundle
from core.contracts.telemetry import Body, Rights

Heard = Body | tuple[Bundle, SignedBundle]
Hear = Callable[[Heard, bytes], object]
Refused = Callable[[str, str], object]


class Moved(NamedTuple):
    """Bytes."""

    received: int
    sent: int


class Joined(NamedTuple):
    """A run, as telemetry knows it."""

    id: str
    rights: Rights
    brokers: Sequence[str]
    reads: bool
    """Whether this peer reads what others tell: it is a board."""
    hear: Hear
    """Called in the worker's loop with what somebody told and signed, and with the payload."""
    refused: Refused
    """Likewise, with a broker that does not know this peer, and the password for it."""


class Line(Protocol):
    """A run's connection to one of its brokers, which is kept up: `core.community.connection.Connection`."""

    run: Joined
    broker: str
    connected: bool
    trouble: str
    """Why it is not."""
    moved: Moved

    def tell(self, topic: str, payload: bytes) -> None:
        """See `Telemetry.tell`; in the thread."""

    async def end(self) -> None:
        """Tell that this peer is gone, and let the broker go; in the thread."""


def added(parts: Sequence[Moved]) -> Moved:
    """The sum of some."""
    return Moved(sum(one.received for one in parts), sum(one.sent for one in parts))
