"""On which terms compute works: threads, share of the time, device. It is told of changes as soon as it can hear."""

import asyncio
from collections.abc import Callable

from core.contracts import pipe
from core.pipe.calls import Calls
from core.worker.compute.accelerator import Accelerator
from core.worker.compute.figures import Figures
from core.worker.compute.life import Life
from core.worker.compute.owner import Owner

SHARE_STEP = 0.005
"""A smaller change of the share of time is not worth a message."""


class Terms:
    """What is wanted of them, and what the process was told last."""

    def __init__(
        self,
        owner: Owner,
        calls: Calls,
        figures: Figures,
        life: Callable[[], Life],
        threads: int,
    ) -> None:
        """All of the time, on the processor.

        Args:
            owner: who is told when compute is on another device, or has left one.
            calls: to whichever process there is.
            figures: what know whether this PC is measured: the processor is, before anything else computes.
            life: the process's, as it is now.
            threads: how many may be used; 0: half of the cores.
        """
        self.threads, self.share = threads, 1.0
        self.accelerator = Accelerator(owner, self.tell)
        self._owner, self._calls, self._figures, self._life = owner, calls, figures, life
        self._aside = False
        self._threads_sent, self._share_sent, self._aside_sent = threads, 1.0, False
        self._to_measure = False
        self._placing: asyncio.Future[pipe.Placed] | None = None
        calls.listen(pipe.PROGRESS, self.accelerator.reported)
        calls.listen(pipe.MEASURED, lambda _: self.tell())

    def set_threads(self, threads: int) -> None:
        """How many may be used; 0: half of the cores."""
        self.threads = threads
        self.tell()

    def set_share(self, share: float) -> None:
        """Compute for this share of the time."""
        if abs(share - self.share) > SHARE_STEP or (share != self.share and share == 1.0):
            self.share = share
            self.tell()

    def step_aside(self, wanted: bool) -> None:
        """Give way, or not, to somebody who asks another run of this PC."""
        if wanted != self._aside:
            self._aside = wanted
            self.tell()

    def measure(self) -> None:
        """Measure this PC anew, as soon as it may compute."""
        self._to_measure = True
        self.tell()

    def begin(self) -> None:
        """A new process knows its threads, and nothing else."""
        self._threads_sent, self._share_sent, self._aside_sent = self.threads, 1.0, False
        self.accelerator.begin()

    def tell(self) -> None:
        """Tell compute what is to be different, if it can hear."""
        life = self._life()
        if life.phase not in ("stopped", "training", "stopping") or life.dying:
            return
        if self.threads != self._threads_sent:
            self._threads_sent = self.threads
            self._calls.tell(pipe.THREADS, self.threads)
        if self.share != self._share_sent:
            self._share_sent = self.share
            self._calls.tell(pipe.SHARE, self.share)
        if self._aside != self._aside_sent:
            self._aside_sent = self._aside
            self._calls.tell(pipe.ASIDE, self._aside)
        if self._figures.measured and (device := self.accelerator.unsent(life.phase == "training")):
            if self._placing:
                self._placing.cancel()
            self._placing = self._calls.call(pipe.DEVICE, device)
            self._placing.add_done_callback(lambda answer: self._placed(device, answer))
        if self._to_measure:
            self._to_measure = False
            self._calls.tell(pipe.MEASURE, None)

    def _placed(self, request: pipe.SetDevice, answer: "asyncio.Future[pipe.Placed]") -> None:
        if not answer.cancelled() and answer.exception() is None:
            self.accelerator.placed(request, answer.result())
            self._owner.changed()
