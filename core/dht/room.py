"""Which records give way where there is no room for all: those of strangers to those of the runs that are here."""

from enum import IntEnum
from typing import NamedTuple

from core.identity import PeerId
from core.net.shares import Branch, Shares

Name = tuple[bytes, str, PeerId]
"""Digest of the key, subkey, publisher."""


class Rank(IntEnum):
    """What gives way first."""

    TOMBSTONE = 0
    """It only keeps older records from coming back."""
    STRANGER = 1
    """Of a run that is not here, or brought for a peer who has not shown here that it may take part."""
    MEMBER = 2
    """Of a run that is here, by one who may take part in it; or from an old acquaintance."""
    OWN = 3
    """Published here, or kept since before the start."""


class Payer(NamedTuple):
    """To whom a record is charged."""

    rank: Rank
    branch: Branch
    """Who brought it."""


OWN = Payer(Rank.OWN, ("",))


class Room:
    """Who has brought the records of one place where room is short."""

    def __init__(self) -> None:
        self._shares = [Shares() for _ in Rank]
        self._names: list[dict[Branch, dict[Name, None]]] = [{} for _ in Rank]
        """By rank and who brought them, in the order in which they came."""

    def up_to(self, rank: Rank) -> int:
        """Records of a rank, and of those below it."""
        return sum(self._shares[below].of(()) for below in Rank if below <= rank)

    def add(self, name: Name, payer: Payer) -> None:
        """A record has come."""
        self._names[payer.rank].setdefault(payer.branch, {})[name] = None
        self._shares[payer.rank].change(payer.branch, 1)

    def remove(self, name: Name, payer: Payer) -> None:
        """A record has gone."""
        names = self._names[payer.rank]
        del names[payer.branch][name]
        if not names[payer.branch]:
            del names[payer.branch]
        self._shares[payer.rank].change(payer.branch, -1)

    def victim(self, asker: Payer) -> Name | None:
        """The record that gives way to a new one, the youngest of who has most; None: none does.

        Args:
            asker: whose the new one is.
        """
        for rank in Rank:
            if rank <= asker.rank and self._names[rank]:
                holder = self._shares[rank].greatest(self._names[rank])
                if rank < asker.rank or self._shares[rank].gives_way(holder, asker.branch):
                    return next(reversed(self._names[rank][holder]))
                return None
        return None
