"""The disk space of a data folder, as the worker keeps it, and what the system says that its files take."""

from collections.abc import Sequence
from pathlib import Path

from core.community.ledger import Ledger
from core.contracts.manifest import Manifest
from core.experts.grid import Grid
from core.pipe.calls import Calls
from core.store.progress import Progress
from core.store.quota import HEADROOM, Quota
from core.store.run_files import RunFiles
from core.swarm.hosted import HostedExperts
from core.worker.compute.owner import Owner
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.network import Network
from core.worker.places import NetworkOptions
from tests.workers import give_key

ROOMY = 1 << 40
GRID = Grid("digits", 2, (4, 4))


def files_of(folder: Path, cap_bytes: int = ROOMY, grid: Grid = GRID) -> RunFiles:
    """The files of a run in a data folder, of which nothing is hosted yet; its folder has the name of the run."""
    return run_files(folder, folder / "runs" / grid.run, cap_bytes, grid)


def run_files(folder: Path, run_folder: Path, cap_bytes: int = ROOMY, grid: Grid = GRID) -> RunFiles:
    """The same, of a run in another folder."""
    return RunFiles(run_folder, grid, HostedExperts(grid), Quota(folder, cap_bytes))


def supervisor(
    run: Manifest, folder: Path, files: RunFiles | None = None, owner: Owner | None = None
) -> ComputeSupervisor:
    """Of a compute process that nobody has asked for yet.

    Args:
        run: What it trains.
        folder: The run's own.
        files: Its files; None: with room for all.
        owner: Who is told of it.
    """
    files = files or run_files(folder, folder, grid=Grid(run.run, run.model.layers, run.model.grid))
    hosted = files.hosted
    assert isinstance(hosted, HostedExperts)
    who = owner or Owner()
    return ComputeSupervisor(who, Calls(), run, folder, hosted, files, Progress(), threads=1)


async def fill(files: RunFiles, left: int = 0) -> None:
    """Allow no more than what is there, and so many bytes."""
    quota = files.quota
    await quota.look()
    quota.cap_bytes = quota.used + HEADROOM + working(files) + left


def working(files: RunFiles) -> int:
    """Bytes that are kept free for states that take the place of others."""
    return files.quota.looked[files.folder].working


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


def network_of(folder: Path, options: NetworkOptions, manifests: Sequence[Manifest] = ()) -> Network:
    """A PC's place among peers, with a ledger of its own in the folder."""
    give_key(folder)
    return Network(folder, options, Ledger(folder), lambda: ("", ""), manifests)
