"""The disk space of a data folder, as the worker keeps it, and what the system says that its files take."""

from pathlib import Path

from core.contracts.manifest import Manifest, load
from core.experts.grid import Grid
from core.store.progress import Progress
from core.store.quota import HEADROOM, Disk
from core.swarm.hosted import HostedExperts
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.compute.yields import Yields

ROOMY = 1 << 40


def supervisor(run: Manifest, folder: Path) -> ComputeSupervisor:
    """Of a compute process that nobody has asked for yet."""
    hosted = HostedExperts(Grid(run.run, run.model.layers, run.model.grid))
    return ComputeSupervisor(run, folder, 1, Progress(), lambda: None, lambda point: None, Yields(), hosted)


def disk(folder: Path, cap_bytes: int = ROOMY, run: str = "digits") -> Disk:
    """Of a run that nobody computes."""
    return Disk(folder, run, supervisor(load(run), folder), cap_bytes)


async def fill(disk: Disk, left: int = 0) -> None:
    """Allow no more than what is there, and so many bytes."""
    await disk.look()
    disk.cap_bytes = disk.used + HEADROOM + disk._working + left


def used(folder: Path) -> int:
    """Bytes that all files of a folder take, as `du` counts them; what vanishes meanwhile counts for nothing."""
    sizes: dict[tuple[int, int], int] = {}
    for path in [folder, *folder.rglob("*")]:
        try:
            status = path.lstat()
        except OSError:
            continue
        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())
