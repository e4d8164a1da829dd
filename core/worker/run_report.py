"""How a run stands, put together from what this PC knows anyway; nobody is asked for it."""

import math
import time

from core.contracts.data import samples_in
from core.contracts.run_report import RunReport, days_of, end_of, pace_of
from core.store.shards import known_shards
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
    trained = sum(shard.size for shard in known_shards(run.manifest, run.files.folder) if not shard.held_out)
    return samples_in(run.manifest, trained) or None


def _alive(run: Run) -> int | None:
    """Experts that somebody hosts, here or elsewhere; who is not let in is told nothing of the others'."""
    if run.swarm.barred:
        return None
    layers = [run.grid(layer) for layer in range(run.manifest.model.layers)]
    if run.swarm.networked and not all(layer.whole for layer in layers):
        return None
    return sum(len(layer.cells) for layer in layers)
