"""Convergence with many trainers, far experts and failures (paper, section 4.2 and Fig. 5), in simulated time.

The shipped Trainer, gate, beam search, DMoE layer and Runtime train on MNIST; only time is simulated, and the experts'
host answers late and not always. The baseline, a network of four feed-forward blocks, is a mixture of one expert a
layer on the same path: what makes its gradients stale is the same. That is the number of batches on the way, not the
length of the delay, which only decides how long everything takes.
"""

import asyncio
import gzip
import itertools
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor

from core.contracts import kinds
from core.contracts.manifest import Manifest, Training
from core.contracts.model import Model
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data.stream import Part, Table
from core.training.trainer import Trainer
from tests.bench import plot, virtual_time
from tests.bench.far_host import FarHost
from tests.bench.machine import progress
from tests.experts import all_experts
from tests.workers import ROOT

DATA = ROOT.parent / "shared" / "data"
IMAGES, LABELS = "images-idx3-ubyte.gz", "labels-idx1-ubyte.gz"
HELD_OUT = 1_000
MEAN, DEVIATION = 0.1307, 0.3081
"""Of MNIST's pixels, 0 to 1; the paper's code."""
LAYERS = 4
BATCHES = 2_624
"""Of 8 images: three times through 7,000."""
EVALUATIONS = 32
LAST = 4
"""The accuracy at the end is the mean of the last so many evaluations."""
MODELS = {
    "FFN": Model("ffn_dmoe", LAYERS, (1,), 128, 256, "ffn", 1),
    "DMoE-16": Model("ffn_dmoe", LAYERS, (4, 4), 64, 128, "ffn", 4),
    "DMoE-64": Model("ffn_dmoe", LAYERS, (8, 8), 64, 128, "ffn", 4),
}
"""An expert has a quarter of the weights of a block of the FFN, and four are asked: equal work for each image."""


class Rates(NamedTuple):
    """Greatest learning rates, the same for any number of trainers."""

    trunk: float
    expert: float


RATES = {"FFN": Rates(1e-4, 1e-4), "DMoE-16": Rates(3e-5, 1e-3), "DMoE-64": Rates(3e-5, 1e-3)}
"""Tuned with 64 trainers. With 3e-4 a trunk swings by tens of points until the rate has fallen: 784 pixels move
together, and 64 updates go by before a batch sees its effect.
An FFN's blocks are as stale, a mixture's experts far less."""


class Case(NamedTuple):
    trainers: int
    """Batches on the way at once."""
    delay_s: float
    """Mean that a batch spends waiting: an eighth for each of 4 layers, forward and backward, exponential."""
    failures: float
    """Share of the calls to experts that fail."""

    @property
    def title(self) -> str:
        delay = f"{self.delay_s:g} s" if self.delay_s >= 1 else f"{self.delay_s * 1000:g} ms"
        failures = f", {self.failures:.0%} failures" if self.failures else ""
        return f"{self.trainers} trainer{'s' * (self.trainers > 1)}, {delay}{failures}"


CASES = (Case(1, 0.1, 0.0), Case(16, 0.1, 0.0), Case(64, 1.0, 0.0), Case(64, 1.0, 0.1))
"""The middle two are the paper's."""
TICK = 1.0
"""Of the mean delay of a request: those that come within it share the experts' passes, as in a busy Runtime."""


class Job(NamedTuple):
    """One run."""

    model: str
    case: Case
    seed: int
    batches: int
    data: Path


class Outcome(NamedTuple):
    curve: list[tuple[int, float]]
    """Batches trained, accuracy on the images never seen, all experts answering."""
    accuracy: float
    """At the end."""
    failing: float
    """Once more at the end, with the failures of training: those experts' shares are missing from the mixtures."""
    lost: int
    """Batches dropped because no expert answered for any of their images."""
    simulated_s: float


kinds.DATA["mnist"] = kinds.DataKind("picture", lambda model, _: kinds.Ends(784, 10))  # known to this benchmark alone


def mnist(folder: Path, batch: int = 8, seed: int = 0) -> Table:
    """Images in MNIST's own format, below or in `folder`; the last `HELD_OUT` of a fixed order are held out."""
    found = sorted(folder.glob(f"**/{IMAGES}"))
    if not found:
        raise SystemExit(f"There is no {IMAGES} in {folder}: name a folder with MNIST's files by --data.")
    pixels, labels = _idx(found[0], 16).view(-1, 784), _idx(found[0].parent / LABELS, 8).long()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    inputs, labels = ((pixels.float() / 255 - MEAN) / DEVIATION)[order], labels[order]
    train, held_out = (Part(inputs[rows], labels[rows]) for rows in (slice(0, -HELD_OUT), slice(-HELD_OUT, None)))
    return Table(train, held_out, 10, batch, seed)


def _idx(path: Path, header: int) -> Tensor:
    return torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())[header:]), dtype=torch.uint8)


def manifest(job: Job) -> Manifest:
    """The rules of a run."""
    training = Training(
        batch=8,
        trunk_rate=RATES[job.model].trunk,
        expert_rate=RATES[job.model].expert,
        warmup_samples=1_600,
        decay_samples=10**12,
        planned_samples=8 * job.batches,
        target_samples=4,
        max_age_s=2.0,
        clip=1.0,
        balance=0.01,
        in_flight=job.case.trainers,
        evaluate_every=1_000_000,
        seed=job.seed,
    )
    return Manifest(1, "mnist", "MNIST", "mnist", MODELS[job.model], training)


def run(job: Job) -> Outcome:
    """Train one network in simulated time."""
    torch.set_num_threads(1)
    return virtual_time.run(_train(job), tick=TICK * job.case.delay_s / (2 * LAYERS))


def run_once(job: Job, kept: Path) -> Outcome:
    """`run`, or what it gave when this benchmark was here before and was broken off: all runs take an hour."""
    rules = msgspec.json.encode((manifest(job), job.case))
    path = kept / f"{sha256(rules).hexdigest()[:16]}.json"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(msgspec.json.encode(run(job)))
        unfinished.rename(path)
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


async def _train(job: Job) -> Outcome:
    rules = manifest(job)
    data = mnist(job.data, rules.training.batch, rules.training.seed)
    experts = {backend.uid: backend for backend in all_experts(rules)}
    kernel_gate = KernelGate()
    runtime = Runtime(experts, kernel_gate)
    far = FarHost(runtime, job.case.delay_s / (2 * LAYERS), job.case.failures, job.seed)
    trainer = Trainer(rules, {LOCAL: far}, LocalDirectory(experts), kernel_gate, data)
    curve: list[tuple[int, float]] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runtime.run()), group.create_task(trainer.run())]
        for number in range(1, EVALUATIONS + 1):
            kernel_gate.open()
            while trainer.step < number * job.batches // EVALUATIONS:  # noqa: ASYNC110  (time is simulated)
                await asyncio.sleep(job.case.delay_s / job.case.trainers)
            kernel_gate.close()
            outputs, _ = await trainer.infer(data.held_out.inputs)
            right = (outputs.argmax(1) == data.held_out.labels).float().mean()
            curve.append((number * job.batches // EVALUATIONS, float(right)))
        seconds = asyncio.get_running_loop().time()
        kernel_gate.open()
        failing = (await trainer.evaluate()).accuracy
        for task in tasks:
            task.cancel()
    accuracy = sum(accuracy for _, accuracy in curve[-LAST:]) / LAST
    return Outcome(curve, accuracy, failing, trainer.lost, seconds)


def measure(quick: bool, data: Path, seeds: int, out: Path) -> dict[str, Any]:
    """All models in all cases; one process a core."""
    batches = 384 if quick else BATCHES
    cases = (CASES[0], CASES[-1]) if quick else CASES
    jobs = [
        Job(model, case, 1337 + seed, batches, data)
        for case in cases
        for seed in range(1 if quick else seeds)
        for model in reversed(MODELS)
    ]
    outcomes: list[Outcome] = []
    kept = out / "convergence"
    kept.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for job, outcome in zip(jobs, pool.map(run_once, jobs, itertools.repeat(kept)), strict=True):
            progress(f"{job.model}, {job.case.title}, seed {job.seed}: {outcome.accuracy:.1%}, {outcome.lost} lost")
            outcomes.append(outcome)
    return report(jobs, outcomes, out)


def report(jobs: Sequence[Job], outcomes: Sequence[Outcome], out: Path) -> dict[str, Any]:
    """Means and unbiased deviations over the seeds, and the plot."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        groups.setdefault((job.case.title, job.model), []).append(outcome)
    table: dict[str, dict[str, Any]] = {}
    panels: dict[str, list[plot.Line]] = {}
    for (case, model), group in sorted(groups.items(), key=lambda item: list(MODELS).index(item[0][1])):
        mean, deviation = plot.mean_and_deviation([100 * outcome.accuracy for outcome in group])
        table.setdefault(case, {})[model] = {
            "accuracy_percent": round(mean, 2),
            "deviation": round(deviation, 2),
            "seeds": len(group),
            "with_failures_percent": round(sum(100 * outcome.failing for outcome in group) / len(group), 2),
            "lost_batches": sum(outcome.lost for outcome in group) / len(group),
            "simulated_s": sum(outcome.simulated_s for outcome in group) / len(group),
            "curves": [outcome.curve for outcome in group],
        }
        panels.setdefault(case, []).append(_line(model, group))
    order = [case.title for case in CASES if case.title in panels]
    plot.draw(
        [plot.Panel(case, "batches", "accuracy (%)", panels[case], least=40.0) for case in order],
        out / "convergence.png",
    )
    batches = {job.batches for job in jobs}
    return {"batches": max(batches), "batch": 8, "held_out": HELD_OUT, "lost_by_64": _lost(table), "cases": table}


def _lost(table: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Points of accuracy that each model loses where 64 trainers train it instead of one."""
    one, many = table.get(CASES[0].title, {}), table.get(CASES[2].title, {})
    return {
        model: round(one[model]["accuracy_percent"] - many[model]["accuracy_percent"], 2)
        for model in one.keys() & many.keys()
    }


def _line(model: str, group: Sequence[Outcome]) -> plot.Line:
    """Mean over the seeds of a curve of evaluations at the same numbers of batches."""
    steps = [step for step, _ in group[0].curve]
    spreads = [
        plot.mean_and_deviation([100 * accuracy for _, accuracy in points])
        for points in zip(*(outcome.curve for outcome in group), strict=True)
    ]
    return plot.Line(model, steps, [mean for mean, _ in spreads], [deviation for _, deviation in spreads])
