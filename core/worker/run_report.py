"""How a run stands, put together from what this PC knows anyway; nobody is asked for it."""

import contextlib
import math
import time

from core.contracts.errors import DataError
from core.contracts.manifest import Manifest
from core.contracts.model import LABEL
from core.contracts.run_report import RunReport, days_of, end_of, pace_of
from core.store.shards import listed
from core.worker.run import Run


def report_of(run: Run) -> RunReport:
    """Progress, loss, experts, peers and the end of a run.

    Args:
        run: of this PC.
    """
    manifest, progress, trunk, now = run.manifest, run.compute.progress, run.trunk(), time.time()
    samples = max(progress.samples, *(part.samples for part in trunk.parts), 0)
    pace, planned = pace_of(progress.curve, now), manifest.training.planned_samples
    return RunReport(
        time=now,
        id=run.id,
        title=manifest.title,
        description=manifest.description,
        task=manifest.task.name,
        organiser=manifest.organiser,
        step=progress.step,
        samples=samples,
        pass_samples=_of_a_pass(run),
        planned_samples=planned,
        reached=run.reached,
        here_per_s=run.compute.figures.report.samples_per_s,
        pace=pace,
        ends=None if run.reached else end_of(samples, planned, pace, now),
        experts=manifest.model.layers * math.prod(manifest.model.grid),
        alive=_alive(run),
        peers=run.swarm.members,
        trainers=trunk.trainers,
        curve=progress.curve,
        days=days_of(progress.curve),
    )


def _of_a_pass(run: Run) -> int | None:
    with contextlib.suppress(DataError):  # the list of shards may not have come yet
        trained = sum(shard.size for shard in listed(run.manifest, run.files.folder) if not shard.held_out)
        return trained // _bytes_of_a_sample(run.manifest) or None
    return None


def _bytes_of_a_sample(manifest: Manifest) -> int:
    return LABEL + manifest.pictures.pixels if manifest.pictures else 1


def _alive(run: Run) -> int | None:
    """Experts that somebody hosts, here or elsewhere."""
    layers = [run.grid(layer) for layer in range(run.manifest.model.layers)]
    if run.swarm.networked and not all(layer.whole for layer in layers):
        return None
    return sum(len(layer.cells) for layer in layers)
