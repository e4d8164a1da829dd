"""What a compute process's supervisor asks of, and tells, whom the process works for."""

from pathlib import Path

from core.contracts.notices import Notice
from core.contracts.pipe import Work
from core.contracts.status import CurvePoint


class Owner:
    """Whom a compute process works for: told what becomes of it, asked what it may do. This one lets it be."""

    def changed(self) -> None:
        """Something that can be read of the supervisor has changed."""

    def evaluated(self, point: CurvePoint) -> None:
        """There is a new point of the curve."""

    def yielded(self, cause: float, noticed: float, told: float, stopped: float) -> None:
        """The PC, or a graphics processor, was given back.

        Args:
            cause: what led to it, such as input; this and the next ones are moments of time.monotonic().
            noticed: when that was known.
            told: when compute was told to stop.
            stopped: the end of the last kernel.
        """

    def worked(self, device: str, work: Work) -> None:
        """A device has done more than was told last."""

    def alone(self) -> bool:
        """Whether nobody else is known who could host experts: a process then begins with all of the run's."""
        return True

    def networked(self) -> bool:
        """Whether the experts of other peers may be asked; else all of the run's are here."""
        return False

    def reachable(self) -> bool:
        """Whether every layer has an expert, here or on a peer, as far as the network knows."""
        return True

    def explain(self, code: int) -> Notice | None:
        """Why a process ended by itself with this exit code, if that is known."""
        return None

    async def admit(self, pid: int) -> None:
        """Awaited before a process is told anything: until then it takes next to no memory."""

    async def pack(self) -> Path | None:
        """The folder of another torch than Hearth's own, by which the next process goes."""
        return None

    async def give_up(self, pack: Path, why: Notice) -> None:
        """A process did not come up with a pack, or several in a row soon died.

        Args:
            pack: its folder.
            why: it ended.
        """

    async def settle(self) -> None:
        """Awaited before a process trains for the first time, for `core.worker.compute.life.SETTLE_S` at most."""
