"""Which experts of a run this PC hosts, and in which state: the one place that knows.

An expert is *loaded* while compute holds it, *claimed* while other peers may call it as well, *leaving* from the moment
it is given up until its newest state is saved, and *parked* while a PC that is alone has no memory or disk for it.
"""

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, KeysView, Sequence, Set

from core.contracts.status import ExpertStatus
from core.experts.grid import Grid, Uid


class HostedExperts:
    """Told by the supervisor what compute reports; whoever has compute take experts on or let them go says so here."""

    def __init__(self, grid: Grid, experts: Sequence[ExpertStatus] = ()) -> None:
        """
        Args:
            grid: The run's grid.
            experts: What the last process held, as its run's figures tell.
        """
        self._grid = grid
        self.experts: Sequence[ExpertStatus] = experts
        """In compute, as it reported last; without a process, those of the last one."""
        self.expert_bytes = 0
        """Memory of one; 0 until compute has told."""
        self.computes = False
        """Whether there is a compute process."""
        self.parked: frozenset[Uid] = frozenset()
        """A process does not begin with these: there was no room for them."""
        self._claimed: dict[Uid, float] = {}
        """What others may call, and since when, time.monotonic()."""
        self._leaving: frozenset[Uid] = frozenset()

    # what compute tells

    def report(self, experts: Sequence[ExpertStatus]) -> None:
        """Compute holds exactly these now."""
        self.experts = experts

    def first(self, alone: bool) -> list[str] | None:
        """The experts that a new process begins with.

        Args:
            alone: Whether nobody else is known who could host experts.

        Returns:
            Their uids; None for all of the run.
        """
        if not alone:
            return []
        return [str(uid) for uid in self._grid.uids() if uid not in self.parked] if self.parked else None

    def versions(self) -> dict[Uid, int]:
        """Optimizer steps of the experts in compute, as of its last report."""
        return {Uid.parse(expert.uid): expert.updates for expert in self.experts}

    # what is decided here

    @property
    def claimed(self) -> KeysView[Uid]:
        """What others may call."""
        return self._claimed.keys()

    def young(self, age_s: float) -> set[Uid]:
        """What was claimed less than `age_s` seconds ago."""
        now = time.monotonic()
        return {uid for uid, since in self._claimed.items() if now - since < age_s}

    def loaded(self) -> Set[Uid]:
        """All that compute holds, or has not finished saving."""
        return self.versions().keys() | self._claimed.keys() | self._leaving

    def claim(self, uids: Iterable[Uid]) -> None:
        """Others may call these from now on."""
        for uid in uids:
            self._claimed.setdefault(uid, time.monotonic())

    def disclaim(self) -> None:
        """Others may call nothing here."""
        self._claimed.clear()

    def renew(self) -> None:
        """All claims are as young as if they were made now."""
        self._claimed = dict.fromkeys(self._claimed, time.monotonic())

    @contextlib.contextmanager
    def leaving(self, uids: Collection[Uid]) -> Iterator[set[Uid]]:
        """While compute saves experts and lets them go: nobody may call them any more.

        Args:
            uids: The experts.

        Yields:
            A set for those that stay after all, as they could not be saved; they are claimed as before.
        """
        claimed = {uid: since for uid in uids if (since := self._claimed.pop(uid, None)) is not None}
        self._leaving |= set(uids)
        stay = set[Uid]()
        try:
            yield stay
            gone = set(uids) - stay
            self.experts = [expert for expert in self.experts if Uid.parse(expert.uid) not in gone]
            self._claimed |= {uid: since for uid, since in claimed.items() if uid in stay}
        finally:
            self._leaving -= set(uids)

    def is_leaving(self, uid: Uid) -> bool:
        """Whether an expert that others may not call is still in compute, or on its way to the disk."""
        return uid not in self._claimed and uid in self.loaded()

    def park(self, uids: Iterable[Uid]) -> None:
        """Processes begin without these."""
        self.parked |= frozenset(uids)

    def unpark(self, uids: Iterable[Uid]) -> None:
        """There is room for these again."""
        self.parked -= frozenset(uids)
