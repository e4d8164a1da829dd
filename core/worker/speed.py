"""What this PC can do for its run, as compute measured it and as the traffic with peers showed."""

from core.contracts.settings import cores
from core.contracts.status import BenchmarkStatus, SpeedStatus
from core.hardware import processor
from core.worker.run import Run

WINDOW_S = 5.0
"""Over which a rate is taken."""
Moved = tuple[int, int]
"""Bytes received and sent."""


class Benchmark:
    """The network's part is the best that was seen: a test would cost other peers as much as this PC."""

    def __init__(self) -> None:
        self._best = (0.0, 0.0)
        self._window: tuple[float, Moved] | None = None

    def moved(self, moved: Moved, now: float) -> None:
        """Note what was moved since the start, at `now` (seconds of a clock that only grows)."""
        if self._window is None or now - self._window[0] >= WINDOW_S:
            if self._window is not None:
                start, before = self._window
                rates = ((new - old) / (now - start) for new, old in zip(moved, before, strict=True))
                down, up = (max(best, rate) for best, rate in zip(self._best, rates, strict=True))
                self._best = down, up
            self._window = now, moved

    def status(self, run: Run) -> BenchmarkStatus:
        """What is known, for one run."""
        measured, (down, up) = run.compute.figures.measured, self._best
        return BenchmarkStatus(
            run=run.manifest.run,
            device=processor(),
            cores=cores(),
            time=measured.time if measured else None,
            speeds=[
                SpeedStatus(one.threads, one.samples_per_s, one.label) for one in (measured.speeds if measured else ())
            ],
            expert_bytes=run.hosted.expert_bytes or None,
            capacity=run.swarm.capacity if measured else None,
            upload_bytes_s=up or None,
            download_bytes_s=down or None,
        )
