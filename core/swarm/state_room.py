"""How many experts of a run have room for their states on this disk, and which are parked for want of it."""

from collections.abc import Iterable

from core.contracts.files import TRUNK
from core.contracts.notices import Notice, notice
from core.contracts.status import ExpertStatus
from core.experts.grid import Uid
from core.store.needs import Needs
from core.store.run_files import RunFiles
from core.swarm.hosted import HostedExperts
from core.swarm.placement import least_needed


class StateRoom:
    """Goes by the last look of the quota."""

    def __init__(self, hosted: HostedExperts, files: RunFiles) -> None:
        """
        Args:
            hosted: The experts of the run.
            files: The run's files, and who gives room for them.
        """
        self._hosted, self._files, self._quota = hosted, files, files.quota
        self._limited: int | None = None
        """To how many experts this PC keeps, if it would take more on with more space."""

    @property
    def notes(self) -> list[Notice]:
        """For the user."""
        if self._limited is None:
            return []
        return [notice("disk.limits_experts", n=self._limited, most=self._quota.cap_bytes)]

    def most(self, able: int) -> int:
        """How many of `able` experts may be hosted here."""
        experts = self._hosted.experts
        most = len(experts) - len(self._unsaved()) + self._quota.fits(self._files)
        self._limited = int(max(0, most)) if most < able and most <= len(experts) else None
        return int(max(0, min(able, most)))

    def admit(self) -> list[Uid]:
        """Have room kept for the first states of the experts in compute, as far as there is any.

        Returns:
            Experts for which there is none: those to be parked. Each layer keeps one.
        """
        if self._files.folder not in self._quota.looked:
            return []  # nothing is promised before it is known what there is
        experts, new, states = self._hosted.experts, self._unsaved(), self._needs().states
        fits = max(0, self._quota.fits(self._files))
        over = int(max(0, len(new) - fits))
        waits = len(new) >= fits and any(str(uid) not in states for uid in self._hosted.parked)
        self._limited = len(experts) - over if over or waits else None
        surplus = least_needed(new, over, self._kept())
        admitted = {expert.uid for expert in new} - {*map(str, surplus)}
        self._quota.promise(self._files, admitted, self._least(new))
        return surplus

    def take_back(self, parked: Iterable[Uid], most: int) -> list[Uid]:
        """Have room kept for parked experts that are to be taken on again, beside those in compute.

        Args:
            parked: The experts.
            most: How many shall be taken on.

        Returns:
            Those that there is room for: first those whose state is here anyway, then as many others as fit.
        """
        states, new = self._needs().states, self._unsaved()
        saved, others = ([uid for uid in sorted(parked) if (str(uid) in states) == here] for here in (True, False))
        fit = int(max(0, min(len(others), self._quota.fits(self._files) - len(new))))
        chosen = (saved + others[:fit])[:most]
        if fit:
            self._quota.promise(self._files, [*(expert.uid for expert in new), *map(str, chosen)], self._least(new))
        return chosen

    def _kept(self) -> int:
        """How many new experts each layer keeps even where there is no room: one, until all layers have a state."""
        saved = {Uid.parse(part).layer for part in self._needs().states if part != TRUNK}
        return 0 if saved >= {Uid.parse(expert.uid).layer for expert in self._hosted.experts} else 1

    def _least(self, new: Iterable[ExpertStatus]) -> int:
        return self._kept() * len({Uid.parse(expert.uid).layer for expert in new})

    def _needs(self) -> Needs:
        return self._quota.looked.get(self._files.folder, Needs())

    def _unsaved(self) -> list[ExpertStatus]:
        """Experts in compute that had no state here at the last look."""
        states = self._needs().states
        return [expert for expert in self._hosted.experts if expert.uid not in states]
