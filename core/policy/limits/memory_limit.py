"""One bound that the system keeps to the memory of compute: what each of them is, and how far from the user's limit."""

from collections.abc import Callable
from typing import Protocol

from core.contracts.errors import HearthError
from core.contracts.notices import Notice

BASE = 320 << 20
"""Bytes that compute takes without experts: Python, torch, a trunk, the batches of a small run; until it is known."""
HARD = 1.25
"""Times what compute may use: far enough above that saving never meets it."""


def beyond(left: int) -> int:
    """The bytes at which the system steps in, where compute may use `left`."""
    return int(max(BASE, left) * HARD)


class BoundError(HearthError):
    """The system does not offer this here; the sentence says why."""


class Bound(Protocol):
    """One way to bound one process. Made with its pid and the bytes that it may use; its methods may block.

    Raises:
        BoundError, OSError: also by `keep`: it does not hold.
    """

    def keep(self, left: int) -> None:
        """So many bytes may be used from now on."""

    def said(self) -> Notice:
        """What it does, as a phrase."""

    def overran(self) -> bool:
        """Whether the system has ended the process because of this bound."""
        return False

    def close(self) -> None:
        """The process has ended. Never raises."""


Way = Callable[[int, int], Bound]
