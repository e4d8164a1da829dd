"""Which strategy makes one network of many trunks: K trainers that agree against one trainer, in simulated time.

Every trainer is a shipped Trainer with a trunk and an order of the data of its own; the experts are shared, as in a
swarm. The network and the rules are those of the run `text`, the text is WikiText-2 (Merity et al., 2016): its
validation split is trained on but for its last eighth, by which strategies are tuned (`--split validation`), and its
test split is for reports. All arms train on equally many samples in all:
- `one`: one trainer, whose batch is that of all trainers together;
- `own`: K trainers whose trunks never meet, which is what `local` means for them;
- each strategy: K trainers that agree over links with a bandwidth and a latency (`tests.bench.exchanges`).
Every trainer is as fast as the others, and none leaves.
"""

import asyncio
import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.kinds import DATA, MODELS
from core.contracts.manifest import Manifest, Shard
from core.contracts.model import Model
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.load import Load
from core.runtime.runtime import Runtime
from core.store import shards
from core.training.data.stream import Part, open_stream
from core.training.trainer import Trainer
from core.training.trunk.strategy import AGREED
from tests.bench import plot, virtual_time
from tests.bench.exchanges import ARMS, Exchange
from tests.bench.far_host import FarHost
from tests.bench.machine import progress
from tests.experts import all_experts

ONE, OWN = "one", "own"
TRAINERS, QUICK_TRAINERS = (4, 8, 16, 64), (4, 8)
STEPS, QUICK_STEPS = 1024, 512
"""Batches of `WINDOWS`; where those of all trainers together are larger, there are as many fewer."""
TRAIN, TEST = "wikitext-2/train.txt", "wikitext-2/eval.txt"
Split = Literal["validation", "test"]
SMALL = Model("transformer_dmoe", 2, (2, 2), 64, 128, "ffn", 2, heads=4, sequence=64)
"""The network of a quick benchmark."""
WINDOWS = 16
"""In the batches of all trainers together, as in the run `text`; one each where there are more trainers."""
DELAY_S = 0.1
"""Mean wait for the experts of a layer. A batch waits six times."""
TICK_S = DELAY_S / 10
"""Requests that come within it share the experts' passes, as in a busy Runtime."""
EVALUATIONS = 8
JUDGED = 2
"""Trunks that are evaluated, if there are so many."""
LAST = 2
"""The loss at the end is the mean of the last so many evaluations."""
PASS_SAMPLES = 256
"""A batch's passes take as long as those of so many samples more: for the time that is left."""


class Job(NamedTuple):
    """One run."""

    arm: str
    trainers: int
    seed: int
    model: Model
    steps: int
    """Batches of all trainers together."""
    data: Path
    """A folder with `TRAIN` and `TEST`."""
    split: Split = "test"
    """By which it is judged."""

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

    @property
    def trunks(self) -> int:
        """Trainers there are."""
        return 1 if self.arm == ONE else self.trainers

    @property
    def work(self) -> int:
        """How long it takes, in samples."""
        return self.samples + self.steps * self.trunks * PASS_SAMPLES


class Point(NamedTuple):
    """An evaluation."""

    samples: int
    """Trained on by all trainers together."""
    loss: float
    """Nats a byte of held-out text, as trainers evaluate it: of what they agreed on last, if they do; their mean."""
    own: float
    """The same with what they have learnt since."""
    spread: float
    """Between the trunks that they train: the unbiased deviation of their losses."""
    moved: float
    """Bytes that each trainer has sent and got for agreeing, on average."""


class Outcome(NamedTuple):
    curve: list[Point]
    loss: float
    """At the end."""
    own: float
    lost: int
    """Batches dropped."""
    simulated_s: float
    steps: int
    """Of the trunk that took most. DeDLOC's are fewer where trainers gather more than its target asks for."""
    processor_s: float
    """That it took to compute."""


class _AnySpeed(Load):
    """Passes of experts are not cut by how fast this machine happens to be: equal seeds give equal runs."""

    def served(self, seconds: float, cost: int, device: str) -> None:
        pass


def text(job: Job) -> list[tuple[Shard, bytes]]:
    """The shards of what a run trains on, and of what it is judged by."""
    train, judged = job.data / TRAIN, job.data / TEST
    if not train.exists() or not judged.exists():
        raise SystemExit(f"There is no {TRAIN} or no {TEST} in {job.data}: name a folder with them by --data.")
    parts = _cut(train.read_bytes())
    if job.split == "test":
        unseen = _cut(judged.read_bytes())
        parts = parts[:-1] + [(msgspec.structs.replace(shard, held_out=True), data) for shard, data in unseen]
    return parts


def _cut(data: bytes) -> list[tuple[Shard, bytes]]:
    """As a manifest lists them; the last one is held out."""
    found, start = [], 0
    for shard in shards.cut(data):
        found.append((shard, data[start : start + shard.size]))
        start += shard.size
    return found


def manifest(job: Job) -> Manifest:
    """The rules of a run: those of `text`, with one batch of each trainer on the way.

    An expert takes a step when it has as many samples as it gets of a batch of all trainers together, which is what
    `text` says for its own batch: so experts learn alike in all arms. With steps of half as many, a trunk whose batch
    comes in four parts ends 1.4% worse.
    """
    shipped, model = manifests.load("text"), job.model
    training = msgspec.structs.replace(
        shipped.training,
        batch=job.windows // job.trunks,
        target_samples=job.common * model.k // math.prod(model.grid),
        in_flight=1,
        evaluate_every=1_000_000,
        seed=job.seed,
    )
    listed = tuple(shard for shard, _ in text(job))
    rules = msgspec.structs.replace(shipped, model=model, training=training, shards=listed)
    return msgspec.structs.replace(rules, trunk=ARMS[job.arm].rules(job.common)) if job.arm in ARMS else rules


def run(job: Job) -> Outcome:
    """Train one network, or K of them, in simulated time."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return virtual_time.run(_train(job, Path(folder)), tick=TICK_S)


def run_once(job: Job, kept: Path) -> Outcome:
    """`run`, or what it gave when this benchmark was here before and was broken off."""
    path = kept / f"{_key(job)}.json"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(msgspec.json.encode(run(job)))
        unfinished.rename(path)
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


def _key(job: Job) -> str:
    """The same for jobs that are the same run, as one trainer with the batch of 4 or of 8."""
    return sha256(msgspec.json.encode((manifest(job), job.trunks, job.samples))).hexdigest()[:16]


async def _train(job: Job, folder: Path) -> Outcome:
    began, rules = time.process_time(), manifest(job)
    for shard, data in text(job):
        shards.accept(folder, shard, data)
    experts = {backend.uid: backend for backend in all_experts(rules)}
    kernel_gate, directory = KernelGate(), LocalDirectory(experts)
    kernel_gate.load = _AnySpeed()
    runtime = Runtime(experts, kernel_gate)
    exchange = ARMS[job.arm].exchange(rules.trunk, folder) if job.arm in ARMS else None
    streams = [open_stream(rules, folder, shuffle=number) for number in range(job.trunks)]
    hosts = [{LOCAL: FarHost(runtime, DELAY_S, seed=job.seed + number)} for number in range(job.trunks)]
    trainers = [
        Trainer(rules, host, directory, kernel_gate, stream, calls=exchange.calls_of(str(number)) if exchange else None)
        for number, (host, stream) in enumerate(zip(hosts, streams, strict=True))
    ]
    alone = Trainer(rules, hosts[0], directory, kernel_gate, streams[0])
    curve: list[Point] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runtime.run()), *(group.create_task(trainer.run()) for trainer in trainers)]
        for number in range(1, EVALUATIONS + 1):
            kernel_gate.open()
            while sum(trainer.trained for trainer in trainers) < number * job.samples // EVALUATIONS:  # noqa: ASYNC110
                await asyncio.sleep(DELAY_S)
            kernel_gate.close()
            curve.append(await _judge(trainers, alone, streams[0].held_out, exchange))
            progress(f"  {job.arm}, {job.trainers} trainers: {number} of {EVALUATIONS}, {curve[-1].loss:.4f}")
        seconds = asyncio.get_running_loop().time()
        for task in tasks:
            task.cancel()
    loss, own = (sum(values) / LAST for values in zip(*((p.loss, p.own) for p in curve[-LAST:]), strict=True))
    steps = max(trainer.step for trainer in trainers)
    return Outcome(
        curve, loss, own, sum(trainer.lost for trainer in trainers), seconds, steps, time.process_time() - began
    )


async def _judge(trainers: Sequence[Trainer], alone: Trainer, held_out: Part, exchange: Exchange | None) -> Point:
    """Loss on the held-out text, while nobody trains. Who is alone agrees with nobody, and shows what it trains."""
    mean, _ = plot.mean_and_deviation([await _loss(trainer, held_out) for trainer in trainers[:JUDGED]])
    trained = []
    for trainer in trainers[:JUDGED]:
        alone.load_state({name: each for name, each in trainer.state().items() if not name.startswith(AGREED)})
        trained.append(await _loss(alone, held_out))
    own, spread = plot.mean_and_deviation(trained)
    sent = exchange.sent.total() / len(trainers) if exchange else 0.0
    return Point(sum(trainer.trained for trainer in trainers), mean, own, spread, sent)


async def _loss(trainer: Trainer, held_out: Part) -> float:
    outputs, _ = await trainer.infer(held_out.inputs)
    return float(trainer.task.losses(outputs, held_out.labels).mean())


def measure(
    quick: bool,
    strategies: Sequence[str],
    trainers: Sequence[int],
    seeds: int,
    out: Path,
    data: Path,
    split: Split,
    processes: int | None,
    samples: int | None = None,
) -> dict[str, Any]:
    """All arms with each number of trainers.

    Args:
        quick: a small network and fewer batches.
        strategies: the arms beside one trainer and trunks that do not meet.
        trainers: how many; none: `TRAINERS`, or `QUICK_TRAINERS`.
        seeds: runs of each case.
        out: folder for the plots, and for what is known of a benchmark that was broken off.
        data: as in `Job`.
        split: as in `Job`.
        processes: at once; None: one a core.
        samples: of a run, all trainers together; None: `STEPS` or `QUICK_STEPS` batches.
    """
    model, steps = (SMALL, QUICK_STEPS) if quick else (manifests.load("text").model, STEPS)
    if samples:
        assert model.sequence
        steps = samples // (WINDOWS * model.sequence)
    jobs = [
        Job(arm, count, 1337 + seed, model, steps * WINDOWS // max(WINDOWS, count), data, split)
        for seed in range(seeds)
        for count in trainers or (QUICK_TRAINERS if quick else TRAINERS)
        for arm in (ONE, OWN, *strategies)
        if count > 1 or arm != OWN
    ]
    kept = out / "one_network"
    kept.mkdir(parents=True, exist_ok=True)
    return report(jobs, _run_all(jobs, kept, processes), out)


def _run_all(jobs: Sequence[Job], kept: Path, processes: int | None) -> list[Outcome]:
    """In some processes; tells what came out and how long the rest will take."""
    keys = [_key(job) for job in jobs]
    runs = dict(zip(keys, jobs, strict=True))
    new = {key: job.work for key, job in runs.items() if not (kept / f"{key}.json").exists()}
    left, began = sum(new.values()), time.monotonic()
    outcomes: dict[str, Outcome] = {}
    for key, outcome in _in_turn(runs, kept, processes or os.cpu_count() or 1):
        job, outcomes[key] = runs[key], outcome
        left -= new.get(key, 0)
        minutes = (time.monotonic() - began) / 60 * left / max(1, sum(new.values()) - left)
        progress(
            f"{len(outcomes)} of {len(runs)}: {job.arm}, {job.trainers} trainers, seed {job.seed}: {outcome.loss:.4f}, "
            f"own {outcome.own:.4f}, {outcome.lost} lost; about {minutes:.0f} min left"
        )
    return [outcomes[key] for key in keys]


def _in_turn(runs: Mapping[str, Job], kept: Path, processes: int) -> Iterator[tuple[str, Outcome]]:
    if processes == 1:
        yield from ((key, run_once(job, kept)) for key, job in runs.items())
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(run_once, job, kept): key for key, job in runs.items()}
        yield from ((futures[future], future.result()) for future in as_completed(futures))


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
        own = [100 * (outcome.own / losses[ONE, trainers, job.seed] - 1) for job, outcome in group]
        curves = [outcome.curve for _, outcome in group]
        moved = sum(curve[-1].moved for curve in curves) / len(curves)
        case = f"{trainers} trainer{'s' * (trainers > 1)}"
        table.setdefault(case, {})[arm] = {
            "loss": round(mean, 4),
            "deviation": round(deviation, 4),
            "losses": [round(outcome.loss, 4) for _, outcome in group],
            "behind_one_percent": round(plot.mean_and_deviation(behind)[0], 2),
            "behind_one_percent_each": [round(percent, 2) for percent in behind],
            "own_losses": [round(outcome.own, 4) for _, outcome in group],
            "own_behind_one_percent_each": [round(percent, 2) for percent in own],
            "spread_of_trunks": round(sum(curve[-1].spread for curve in curves) / len(curves), 4),
            "moved_mb_each": round(moved / 1e6, 3),
            "times_less_than_every_step": round(_synchronous(group[0][0]) / moved, 1) if moved else None,
            "lost_batches": sum(outcome.lost for _, outcome in group) / len(group),
            "simulated_s": round(sum(outcome.simulated_s for _, outcome in group) / len(group), 1),
            "steps": sum(outcome.steps for _, outcome in group) / len(group),
            "processor_s": round(sum(outcome.processor_s for _, outcome in group) / len(group), 1),
            "seeds": len(group),
            "curves": curves,
        }
        by_samples.setdefault(case, []).append(_line(arm, curves, [point.samples / 1e3 for point in curves[0]]))
        if arm in ARMS and trainers > 1:
            x = [sum(point.moved for point in points) / len(points) / 1e6 for points in zip(*curves, strict=True)]
            by_traffic.setdefault(case, []).append(_line(arm, curves, x))
    panels = [plot.Panel(case, "kB of text", "loss (nats a byte)", by_samples[case], None) for case in table]
    panels += [
        plot.Panel(case, "MB sent and got by each", "loss (nats a byte)", by_traffic[case], None) for case in by_traffic
    ]
    plot.draw(panels, out / "one_network.png")
    run = {"samples": jobs[0].samples, "split": jobs[0].split, "model": msgspec.to_builtins(jobs[0].model)}
    return {**run, "trainers": table}


def _synchronous(job: Job) -> int:
    """Bytes that each trainer would send and get if all averaged their gradients in fp16 for every common batch: 2 each
    way for each number, which is less than any all-reduce needs."""
    rules = manifest(job)
    return 4 * MODELS[job.model.kind].numbers(job.model, DATA[rules.data].ends(job.model, rules.pictures)) * job.steps


def _line(arm: str, curves: Sequence[Sequence[Point]], x: Sequence[float]) -> plot.Line:
    """Mean over the seeds of curves of evaluations after equally many samples."""
    spreads = [plot.mean_and_deviation([point.loss for point in points]) for points in zip(*curves, strict=True)]
    return plot.Line(arm, x, [mean for mean, _ in spreads], [deviation for _, deviation in spreads])
