"""What a link asks of the node that it belongs to."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from core.contracts.net import Header, Parts
from core.net.endpoint import Endpoint, SendStream
from core.net.memory import Reservation
from core.net.shaping import Shaper


def nothing() -> None:
    """Gives back no memory."""


L = TypeVar("L", contravariant=True)
"""The link."""


class Owner(Protocol[L]):
    """The node."""

    endpoint: Endpoint
    shaper: Shaper
    far: Shaper
    """That of peers beyond the local network."""

    def admit(self, link: L, header: Header, size: int) -> None:
        """Let a frame in whose payload of `size` is still to come (0: it is here). Raises Refusal."""

    async def reserve(self, link: L, header: Header, size: int, drop: Callable[[], None]) -> Reservation:
        """Reserve memory for a frame's payload that is still to come; see `Memory.reserve`."""

    def charge(self, link: L, size: int) -> float:
        """Count a frame that was refused. Returns the seconds to wait before the next is read."""

    def deliver(self, link: L, header: Header, payload: Parts, release: Callable[[], None]) -> float:
        """Take a whole frame. Returns the seconds to wait before the next is read. Raises Violation."""

    async def open_faster(self, link: L) -> SendStream:
        """A lane that takes less work than the connection's. Raises NetworkError: there is none."""

    def lost(self, link: L) -> None:
        """The link is closed; called once."""

    def violated(self, link: L, reason: str) -> None:
        """The peer broke the rules; called before the link closes."""

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run in the background for as long as the node lives at most."""
