"""Two ends of the pipe in one process, joined by links that cut and carry frames as the pipe does."""

import asyncio

from core.pipe.calls import Calls
from core.pipe.frames import Data, Frame, Frames


class Joined:
    """A link to the other end."""

    def __init__(self, there: Calls, piece: int, in_parts: bool = False) -> None:
        """Carry frames in pieces.

        Args:
            there: the other end.
            piece: bytes that arrive at once.
            in_parts: whether payloads are given out there as they come, as the worker's end does it.
        """
        self.there, self.piece, self.frames = there, piece, Frames(in_parts)
        self.back: Joined
        self.sent: list[Frame] = []

    def send(self, frame: list[Data], *, urgent: bool = False, lossy: bool = False) -> None:
        """See `core.pipe.calls.Link`."""
        data = b"".join(frame)
        for start in range(0, len(data), self.piece):
            for whole in self.frames.feed(data[start : start + self.piece]):
                self.sent.append(whole)
                self.there.read(whole)
                asyncio.get_running_loop().call_soon(self.there.received, self.back, whole)


def join(worker: Calls, compute: Calls, piece: int = 1 << 20) -> tuple[Joined, Joined]:
    """Attach both ends to each other.

    Args:
        worker: one end.
        compute: the other one.
        piece: bytes that arrive at once.

    Returns:
        The links that the worker and compute send over.
    """
    to, back = Joined(compute, piece), Joined(worker, piece, in_parts=True)
    to.back, back.back = back, to
    worker.attach(to)
    compute.attach(back)
    return to, back
