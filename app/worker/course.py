"""How far training of the run that is shown has come: its curve, and what a restart cost."""

from core.contracts.status import CurvePoint, Status

CURVE_POINTS = 4000


class Course:
    """Follows what the worker tells, one status after the other."""

    def __init__(self) -> None:
        self.curve: list[CurvePoint] = []
        """All evaluations so far, oldest first."""
        self._last: tuple[int | None, Status] | None = None

    def add(self, point: CurvePoint) -> None:
        """There was one more evaluation; of very many, every other old one is dropped."""
        self.curve.append(point)
        if len(self.curve) > CURVE_POINTS:
            half = CURVE_POINTS // 2
            self.curve[:half] = self.curve[:half:2]

    def cut(self, step: int) -> bool:
        """Drop evaluations after a step, as compute may have gone on from an older checkpoint; whether any were."""
        if not self.curve or self.curve[-1].step <= step:
            return False
        self.curve = [point for point in self.curve if point.step <= step]
        return True

    def lost(self, pid: int | None, status: Status) -> int:
        """How many steps since the status before are to be done again.

        Args:
            pid: of the worker that tells the status. Within one worker, only a stop of compute can cost steps.
            status: the newest one.
        """
        before, self._last = self._last, (pid, status)
        if before is None or before[1].run_id != status.run_id:
            return 0
        restarted = before[0] != pid or before[1].state != "contributing"
        return max(0, before[1].step - status.step) if restarted else 0
