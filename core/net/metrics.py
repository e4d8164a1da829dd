"""Figures: of a method how often and how much, of lanes over TCP how much."""

from dataclasses import dataclass

TCP_HEADERS = 1.04
"""Bytes on the wire for each byte sent by TCP, about."""


@dataclass
class Meter:
    """Of the calls that this peer made of one method, and of those that it served."""

    calls: int = 0
    """Calls of ours that were answered."""
    served: int = 0
    """Calls of other peers that were answered."""
    errors: int = 0
    """Calls, made or served, that failed."""
    refused: int = 0
    """Calls of other peers that were declined."""
    bytes_in: int = 0
    """Of requests, replies and their payloads."""
    bytes_out: int = 0

    def moved(self, received: int, sent: int) -> None:
        """A call was answered."""
        self.bytes_in += received
        self.bytes_out += sent


def count_as(metrics: dict[str, Meter], method: str, name: str, received: int, sent: int) -> None:
    """Count bytes of a method's calls under a name of their own, as what people are told of apart.

    Args:
        metrics: of a node.
        method: whose calls they are counted in.
        name: under which they are counted from now on.
        received: of these bytes.
        sent: of these bytes.
    """
    metrics[method].moved(-received, -sent)
    metrics.setdefault(name, Meter()).moved(received, sent)


@dataclass
class Moved:
    """Bytes by lanes over TCP since the start."""

    received: int = 0
    sent: int = 0

    def on_the_wire(self) -> tuple[int, int]:
        """Received and sent with the headers of TCP, about."""
        return int(self.received * TCP_HEADERS), int(self.sent * TCP_HEADERS)
