"""What is shown of a compute process: what it told last, and what it told of its run."""

import logging
import math
import time
from collections.abc import Callable

from msgspec.structs import replace

from core.contracts import pipe
from core.contracts.notices import Notice
from core.contracts.pipe import Measured, Work
from core.contracts.status import CurvePoint
from core.pipe.calls import Calls
from core.store.progress import Progress
from core.swarm.hosted import HostedExperts
from core.worker.compute.owner import Owner

log = logging.getLogger(__name__)

IDLE = pipe.Progress(0, 0, 0.0, 0.0, 0, 0, None, [])
"""What is shown while there is no process."""


class Figures:
    """Those of one run's process after the other."""

    def __init__(
        self,
        owner: Owner,
        calls: Calls,
        hosted: HostedExperts,
        progress: Progress,
        is_at_work: Callable[[], bool],
    ) -> None:
        """Nothing is told yet.

        Args:
            owner: who is told of what is new.
            calls: to whichever process there is.
            hosted: what knows which experts compute has.
            progress: the run's figures so far; kept up to date.
            is_at_work: whether compute trains or serves now.
        """
        self.report = IDLE
        """Of its pace."""
        self.device = ""
        """The processor's name; empty: no process has told yet."""
        self.notes: tuple[Notice, ...] = ()
        """For the user, of the last start."""
        self.save_error: Notice | None = None
        self.fell_back = False
        """Compute began without a trunk, or something of its checkpoints was damaged."""
        self.measured: Measured | None = None
        """How fast this PC is; None: not known yet."""
        self._owner, self._hosted, self._progress, self._is_at_work = owner, hosted, progress, is_at_work
        self._work: dict[str, Work] = {}
        calls.listen(pipe.PROGRESS, self._progressed)
        calls.listen(pipe.EVALUATED, self._evaluated)
        calls.listen(pipe.MEASURED, self._was_measured)
        calls.listen(pipe.SAVED, self._saved)

    @property
    def measuring(self) -> bool:
        """Whether compute must find out first how fast this PC is."""
        return self._is_at_work() and self.measured is None

    @property
    def expert_samples_per_s(self) -> float:
        """What one expert alone gets through here; 0: not measured yet."""
        return self.measured.samples_per_s if self.measured else 0.0

    def begin(self) -> None:
        """A new process has done nothing yet."""
        self._work = {}

    def ready(self, message: pipe.Ready) -> None:
        """The process has loaded everything."""
        self.device, self.notes = message.device, message.notes
        self.fell_back = not message.step or bool(message.notes)
        for note in message.notes:
            log.warning("%s", note)
        self._hosted.expert_bytes = message.expert_bytes
        self._progress.step, self._progress.samples = message.step, message.samples
        self._progress.resume_at(message.step)

    def stopped(self) -> None:
        """The process has stopped."""
        self.report = replace(self.report, samples_per_s=0.0, calls_per_s=0.0, load=0.0, stuck_s=0.0)

    def ended(self) -> None:
        """There is no process any more."""
        self.report = IDLE

    def _progressed(self, message: pipe.Progress) -> None:
        self._progress.step, self._progress.samples = message.step, message.samples
        self._hosted.report(message.experts)
        if message.loss is not None:
            self._progress.loss = message.loss
        self.report = message if self._is_at_work() else replace(message, samples_per_s=0.0)
        for device, work in message.work.items():
            before, self._work[device] = self._work.get(device, Work()), work
            if work != before:
                self._owner.worked(device, work.since(before))
        self._owner.changed()

    def _evaluated(self, point: CurvePoint) -> None:
        if math.isfinite(point.loss):  # JSON has no other
            point = replace(point, time=time.time())
            self._progress.add(point)
            self._progress.step = max(self._progress.step, point.step)  # figures never lag behind the curve
            self._owner.evaluated(point)
            self._owner.changed()

    def _was_measured(self, message: Measured) -> None:
        self.measured = message
        self._owner.changed()

    def _saved(self, message: pipe.Saved) -> None:
        self.save_error = message.error
        if message.error is None:
            self._progress.checkpoint_step, self._progress.checkpoint_time = message.step, message.time
        else:
            log.error("%s", message.error)
