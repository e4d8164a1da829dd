"""Which strategy makes one network of many trunks: K trainers that agree against one trainer, in simulated time.

Every trainer is a shipped Trainer with a trunk and an order of the data of its own; the experts are shared, as in a
swarm. All arms train the run `text` on equally many samples in all:
- `one`: one trainer, whose batch is that of all trainers together;
- `own`: K trainers whose trunks never meet, which is what `local` means for them;
- each strategy: K trainers that agree over links with a bandwidth and a latency (`tests.bench.exchanges`).
Every trainer is as fast as the others, and none leaves.
"""

import asyncio
import itertools
import math
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.contracts.model import Model
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data.stream import Part, open_stream
from core.training.trainer import Trainer
from tests.bench import plot, virtual_time
from tests.bench.exchanges import ARMS, Exchange
from tests.bench.far_host import FarHost
from tests.bench.machine import progress
from tests.experts import all_experts

ONE, OWN = "one", "own"
TRAINERS, QUICK_TRAINERS = (4, 8, 16, 64), (1, 4, 8)
STEPS, QUICK_STEPS = 1024, 512
"""Batches of all trainers together."""
SMALL = Model("transformer_dmoe", 2, (2, 2), 64, 128, "ffn", 2, heads=4, sequence=64)
"""The network of a quick benchmark."""
WINDOWS = 16
"""In the batches of all trainers together, as in the run `text`; one each where there are more trainers."""
DELAY_S = 0.1
"""Mean wait for the experts of a layer. A batch waits six times."""
EVALUATIONS = 8
JUDGED = 2
"""Trunks that are evaluated, if there are so many."""
LAST = 2
"""The loss at the end is the mean of the last so many evaluations."""


class Job(NamedTuple):
    """One run."""

    arm: str
    trainers: int
    seed: int
    model: Model
    steps: int
    """Batches of all trainers together."""

    @property
    def windows(self) -> int:
        """In such a batch."""
        return max(WINDOWS, self.trainers)

    @property
    def common(self) -> int:
        """Samples in it: bytes of text."""
        assert self.model.sequence
        return self.windows * self.model.sequence

    @property
    def samples(self) -> int:
        """In the run."""
        return self.steps * self.common


class Point(NamedTuple):
    """An evaluation."""

    samples: int
    """Trained on by all trainers together."""
    loss: float
    """Nats a byte of held-out text; the mean of the trunks'."""
    spread: float
    """Between the trunks: the unbiased deviation of their losses."""
    moved: float
    """Bytes that each trainer has sent and got for agreeing, on average."""


class Outcome(NamedTuple):
    curve: list[Point]
    loss: float
    """At the end."""
    lost: int
    """Batches dropped."""
    simulated_s: float
    steps: int
    """Of the trunk that took most. DeDLOC's are fewer where trainers gather more than its target asks for."""


def manifest(job: Job) -> Manifest:
    """The rules of a run: those of `text`, with one batch of each trainer on the way.

    An expert takes a step when it has as many samples as it gets of a batch of all trainers together, which is what
    `text` says for its own batch: so experts learn alike in all arms. With steps of half as many, a trunk whose batch
    comes in four parts ends 1.4% worse.
    """
    text, model = manifests.load("text"), job.model
    training = msgspec.structs.replace(
        text.training,
        batch=job.windows if job.arm == ONE else job.windows // job.trainers,
        target_samples=job.common * model.k // math.prod(model.grid),
        in_flight=1,
        evaluate_every=1_000_000,
        seed=job.seed,
    )
    rules = msgspec.structs.replace(text, model=model, training=training)
    return msgspec.structs.replace(rules, trunk=ARMS[job.arm].rules(job.common)) if job.arm in ARMS else rules


def run(job: Job) -> Outcome:
    """Train one network, or K of them, in simulated time."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return virtual_time.run(_train(job, Path(folder)))


def run_once(job: Job, kept: Path) -> Outcome:
    """`run`, or what it gave when this benchmark was here before and was broken off."""
    rules = msgspec.json.encode((manifest(job), 1 if job.arm == ONE else job.trainers, job.samples))
    path = kept / f"{sha256(rules).hexdigest()[:16]}.json"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(msgspec.json.encode(run(job)))
        unfinished.rename(path)
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


async def _train(job: Job, folder: Path) -> Outcome:
    rules = manifest(job)
    experts = {backend.uid: backend for backend in all_experts(rules)}
    kernel_gate, directory = KernelGate(), LocalDirectory(experts)
    runtime = Runtime(experts, kernel_gate)
    count = 1 if job.arm == ONE else job.trainers
    exchange = ARMS[job.arm].exchange(rules.trunk, folder) if job.arm in ARMS else None
    streams = [open_stream(rules, folder, shuffle=number) for number in range(count)]
    trainers = [
        Trainer(
            rules,
            {LOCAL: FarHost(runtime, DELAY_S, seed=job.seed + number)},
            directory,
            kernel_gate,
            stream,
            calls=exchange.calls_of(str(number)) if exchange else None,
        )
        for number, stream in enumerate(streams)
    ]
    curve: list[Point] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runtime.run()), *(group.create_task(trainer.run()) for trainer in trainers)]
        for number in range(1, EVALUATIONS + 1):
            kernel_gate.open()
            while sum(trainer.trained for trainer in trainers) < number * job.samples // EVALUATIONS:  # noqa: ASYNC110
                await asyncio.sleep(DELAY_S)
            kernel_gate.close()
            curve.append(await _judge(trainers, streams[0].held_out, exchange))
        seconds = asyncio.get_running_loop().time()
        for task in tasks:
            task.cancel()
    loss = sum(point.loss for point in curve[-LAST:]) / LAST
    steps = max(trainer.step for trainer in trainers)
    return Outcome(curve, loss, sum(trainer.lost for trainer in trainers), seconds, steps)


async def _judge(trainers: Sequence[Trainer], held_out: Part, exchange: Exchange | None) -> Point:
    """Loss on the held-out text, while nobody trains."""
    losses = []
    for trainer in trainers[:JUDGED]:
        outputs, _ = await trainer.infer(held_out.inputs)
        losses.append(float(trainer.task.losses(outputs, held_out.labels).mean()))
    mean, spread = plot.mean_and_deviation(losses)
    samples = sum(trainer.trained for trainer in trainers)
    return Point(samples, mean, spread, exchange.sent.total() / len(trainers) if exchange else 0.0)


def measure(quick: bool, strategies: Sequence[str], trainers: Sequence[int], seeds: int, out: Path) -> dict[str, Any]:
    """All arms with each number of trainers; one process a core.

    Args:
        quick: a small network and fewer batches.
        strategies: the arms beside one trainer and trunks that do not meet.
        trainers: how many; none: `TRAINERS`, or `QUICK_TRAINERS`.
        seeds: runs of each case.
        out: folder for the plots, and for what is known of a benchmark that was broken off.
    """
    model, steps = (SMALL, QUICK_STEPS) if quick else (manifests.load("text").model, STEPS)
    jobs = [
        Job(arm, count, 1337 + seed, model, steps)
        for count in trainers or (QUICK_TRAINERS if quick else TRAINERS)
        for seed in range(seeds)
        for arm in (ONE, OWN, *strategies)
        if count > 1 or arm != OWN
    ]
    kept = out / "one_network"
    kept.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for job, outcome in zip(jobs, pool.map(run_once, jobs, itertools.repeat(kept)), strict=True):
            progress(f"{job.arm}, {job.trainers} trainers, seed {job.seed}: {outcome.loss:.4f}, {outcome.lost} lost")
            outcomes.append(outcome)
    return report(jobs, outcomes, out)


def report(jobs: Sequence[Job], outcomes: Sequence[Outcome], out: Path) -> dict[str, Any]:
    """Means and unbiased deviations over the seeds, how far each arm is from one trainer, and the plots."""
    losses = {(job.arm, job.trainers, job.seed): outcome.loss for job, outcome in zip(jobs, outcomes, strict=True)}
    groups: dict[tuple[int, str], list[tuple[Job, Outcome]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        groups.setdefault((job.trainers, job.arm), []).append((job, outcome))
    table: dict[str, dict[str, Any]] = {}
    by_samples: dict[str, list[plot.Line]] = {}
    by_traffic: dict[str, list[plot.Line]] = {}
    for (trainers, arm), group in groups.items():
        mean, deviation = plot.mean_and_deviation([outcome.loss for _, outcome in group])
        behind = [100 * (outcome.loss / losses[ONE, trainers, job.seed] - 1) for job, outcome in group]
        curves = [outcome.curve for _, outcome in group]
        case = f"{trainers} trainer{'s' * (trainers > 1)}"
        table.setdefault(case, {})[arm] = {
            "loss": round(mean, 4),
            "deviation": round(deviation, 4),
            "behind_one_percent": round(plot.mean_and_deviation(behind)[0], 2),
            "spread_of_trunks": round(sum(curve[-1].spread for curve in curves) / len(curves), 4),
            "moved_mb_each": round(sum(curve[-1].moved for curve in curves) / len(curves) / 1e6, 3),
            "lost_batches": sum(outcome.lost for _, outcome in group) / len(group),
            "simulated_s": round(sum(outcome.simulated_s for _, outcome in group) / len(group), 1),
            "steps": sum(outcome.steps for _, outcome in group) / len(group),
            "seeds": len(group),
            "curves": curves,
        }
        by_samples.setdefault(case, []).append(_line(arm, curves, [point.samples / 1e3 for point in curves[0]]))
        if arm in ARMS and trainers > 1:
            moved = [sum(point.moved for point in points) / len(points) / 1e6 for points in zip(*curves, strict=True)]
            by_traffic.setdefault(case, []).append(_line(arm, curves, moved))
    panels = [plot.Panel(case, "kB of text", "loss (nats a byte)", by_samples[case], None) for case in table]
    panels += [
        plot.Panel(case, "MB sent and got by each", "loss (nats a byte)", by_traffic[case], None) for case in by_traffic
    ]
    plot.draw(panels, out / "one_network.png")
    return {"steps": jobs[0].steps, "model": msgspec.to_builtins(jobs[0].model), "trainers": table}


def _line(arm: str, curves: Sequence[Sequence[Point]], x: Sequence[float]) -> plot.Line:
    """Mean over the seeds of curves of evaluations after equally many samples."""
    spreads = [plot.mean_and_deviation([point.loss for point in points]) for points in zip(*curves, strict=True)]
    return plot.Line(arm, x, [mean for mean, _ in spreads], [deviation for _, deviation in spreads])
