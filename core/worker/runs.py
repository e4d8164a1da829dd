"""The runs that this PC has joined: which there are, and what the policy sees and tells of all of them together."""

from collections.abc import Iterator

from core.contracts.errors import RunError
from core.contracts.notices import notice, plain
from core.contracts.words import sentence
from core.policy.inputs import Compute, Phase
from core.worker.run import Run

BUSIEST: tuple[Phase, ...] = ("training", "stopping", "starting", "stopped", "leaving", "absent")
"""Whose state stands for all."""


class Runs:
    """In the order in which they were joined; there is always one."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    def __iter__(self) -> Iterator[Run]:
        return iter([*self._runs.values()])

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: Run) -> None:
        """It has been joined."""
        self._runs[run.id] = run

    def remove(self, run: Run) -> None:
        """It has been left."""
        del self._runs[run.id]

    @property
    def first(self) -> Run:
        """The one that is shown unless another is asked for."""
        return next(iter(self._runs.values()))

    def named(self, name: str | None) -> Run:
        """A run by its id, or its name if no other has that.

        Args:
            name: None: the first run.

        Raises:
            RunError: there is none, or several.
        """
        if name is None:
            return self.first
        if name in self._runs:
            return self._runs[name]
        found = [run for run in self if run.manifest.run == name]
        if len(found) == 1:
            return found[0]
        known = list(self._runs)
        raise RunError(notice("run.name_of_several" if found else "run.not_joined", run=name, known=known))

    # what the policy sees and tells

    @property
    def can_use_gpus(self) -> bool:
        """Whether compute has said that it can use graphics processors."""
        return any(run.compute.accelerator.present for run in self)

    def view(self, now: float) -> Compute:
        """What is known of compute, of all runs together.

        Args:
            now: unix time.
        """
        computes = [run.compute for run in self]
        one = min(computes, key=lambda compute: (BUSIEST.index(compute.phase), compute.failure is not None))
        ends = [compute.memory_free_time for compute in computes if compute.memory_free_time is not None]
        measured = next((compute.measured for compute in computes if compute.measured), None)
        failed = {
            device: failure.until
            for compute in computes
            for device, failure in compute.accelerator.failures(now).items()
        }
        return Compute(
            phase=one.phase,
            experts=sum(len(compute.hosted.experts) for compute in computes),
            failure=None if one.failure is None else plain(sentence(one.failure)),
            retry_time=one.retry_time,
            memory_free_time=max(ends, default=None),
            answering=any(compute.answering for compute in computes),
            reachable=any(compute.reachable for compute in computes),
            trains=one.trains,
            measuring=one.measuring,
            device=one.accelerator.device,
            speeds=measured.devices if measured else {},
            failed=failed,
        )

    def want(self, training: bool, cause: float) -> None:
        """Compute, or stop at once. See `ComputeSupervisor.want`."""
        for run in self:
            run.compute.want(training, cause)

    def want_device(self, device: str, memory_share: float, cause: float) -> None:
        """Compute on a device; the runs share its memory alike. See `Accelerator.want`."""
        for run in self:
            run.compute.accelerator.want(device, memory_share / len(self), cause)
