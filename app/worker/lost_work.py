"""What a restart cost: steps since the last checkpoint, which are done again."""

from core.contracts.status import Status


class LostWork:
    """Follows one status after the other."""

    def __init__(self) -> None:
        self._last: tuple[int | None, Status] | None = None

    def follow(self, pid: int | None, status: Status) -> int:
        """How many steps are to be done again.

        Args:
            pid: of the worker that tells the status. Within one worker, only a stop of compute can cost steps.
            status: the newest one.
        """
        before, self._last = self._last, (pid, status)
        if before is None or before[1].run_id != status.run_id:
            return 0
        restarted = before[0] != pid or before[1].state != "contributing"
        return max(0, before[1].step - status.step) if restarted else 0
