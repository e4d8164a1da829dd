"""Who took over whose experts, as seen from here."""

from collections import Counter
from collections.abc import Collection, Mapping

from core.contracts.notices import Notice, notice
from core.experts.grid import Uid
from core.net.limits import Newest

REMEMBERED = 16_384
"""Experts whose host is remembered."""


class Takeovers:
    """Of one run, from one look at the directory to the next.

    Args:
        me: this PC, as the directory's hosts are named.
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self._owners = Newest[Uid, str](REMEMBERED)

    def look(self, hosts: Mapping[Uid, Collection[str]]) -> list[Notice]:
        """What has changed hands: an expert whose host is not among its hosts any more, and that has others.

        Args:
            hosts: by expert, best first; of those that nobody is known to host, the one before is remembered.
        """
        passed = Counter[tuple[str, str]]()
        for uid, now in hosts.items():
            if not now or (owner := self._owners.get(uid)) in now:
                continue
            new = self._me if self._me in now else next(iter(now))
            if owner is not None:
                passed[owner, new] += 1
            self._owners[uid] = new
        return [self._said(old, new, count) for (old, new), count in passed.items()]

    def _said(self, old: str, new: str, count: int) -> Notice:
        if new == self._me:
            return notice("event.adopted", n=count, peer=old)
        if old == self._me:
            return notice("event.taken", n=count, peer=new)
        return notice("event.passed", n=count, peer=new, other=old)
