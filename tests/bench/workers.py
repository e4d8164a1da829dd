"""Which strategy makes one network of many trunks, with real workers over slow links: `trunk --only workers`.

Each trainer is a `hearth worker` that also hosts experts, in a network namespace of its own, whose cable carries 20 to
100 Mbit/s each way and delays what goes from one worker to another and back by 50 ms. All arms train a small network on
the text of the run `text`, on equally many samples in all; then the trunk that is agreed, with the newest state of
every expert, is judged here on the held-out text:
- one trainer, whose batch is that of all trainers together;
- `local`: so many trainers whose trunks never meet; the loss is the mean of theirs;
- each strategy: the trunk of the trainer that is farthest, without what that one alone has learnt.
"""

import asyncio
import hashlib
import json
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.errors import HearthError
from core.contracts.files import TRUNK
from core.contracts.kinds import MODELS
from core.contracts.ledger import Totals
from core.contracts.manifest import Manifest
from core.contracts.settings import NO_LIMIT
from core.contracts.status import Status
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import Part, unpack
from core.runtime.runtime import Runtime
from core.store.checkpoint_files import BLOBS, CHECKPOINTS, copies_of, newest_states, path_of
from core.store.data_folder import RUNS
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from core.training.trunk.strategy import AGREED
from tests.bench import plot
from tests.bench.machine import progress
from tests.experts import all_experts
from tests.swarm.namespaces import Internet, impossible
from tests.swarm.nat_workers import WorkerPeer
from tests.swarm.trunks import Log
from tests.workers import wait_until

ALONE = "local"
MODEL: dict[str, Any] = {
    "kind": "transformer_dmoe",
    "layers": 2,
    "grid": [2, 2],
    "width": 64,
    "hidden": 128,
    "expert": "ffn",
    "k": 2,
    "heads": 4,
    "sequence": 64,
}
WINDOWS = 32
"""In the batches of all trainers together: as many bytes of text as in the run `text`."""
BATCH = WINDOWS * MODEL["sequence"]
"""Samples in them."""
TRUNKS: dict[str, dict[str, Any]] = {
    ALONE: {"strategy": ALONE},
    "dedloc": {"strategy": "dedloc", "target_samples": BATCH},
    "diloco": {"strategy": "diloco"},
}
TRAINERS, QUICK_TRAINERS = (1, 4, 8), (1, 2)
SAMPLES, QUICK_SAMPLES = 262_144, 8_192
SEEDS = 3
MBIT = 20.0, 100.0
ROUND_TRIP_MS = 50.0
LOOK_S, LEAST_S, TOLD_S = 0.5, 0.05, 15.0
"""Between two looks at how far all are, at most and at least, and between two lines of progress."""
LIMIT_S = 2400.0
"""The longest that one run may train; it is judged as far as it came."""
UNLIMITED = {"upload_kb_s": NO_LIMIT, "download_kb_s": NO_LIMIT}
"""The whole of the line counts, not the quarter that Hearth takes until its user chooses."""
LONE = {"cpu_share_in_use": 20, "cpu_share_idle": 20}
"""Percent of the time for which a trainer without others works. It is so fast that it would be trained on a twentieth
more than the others before it is paused."""
END_S = 240.0
"""For a worker to save and end."""


class Job(NamedTuple):
    """One run."""

    strategy: str
    trainers: int
    seed: int
    samples: int
    """Of all trainers together."""


class Outcome(NamedTuple):
    losses: list[float]
    """Nats a byte of held-out text, of each trunk that there is at the end."""
    samples: int
    """Trained on by all together: more than was asked for, as workers are looked at now and then."""
    seconds: float
    """From the first batch on."""
    steps: int
    """Of the trunk that is farthest."""
    trunk_bytes: int
    """Sent for the trunk by all trainers, by the transport's counters."""
    all_bytes: int
    """Sent by all trainers, whatever for."""
    synchronous_bytes: int
    """What all would send if they averaged each step in fp16: 2 bytes for each number, trainer and step, which is less
    than any all-reduce sends."""
    lost: int
    """Batches dropped."""
    in_vain: int
    """Times that a trainer offered a step again, as its round had no result."""
    waited: int
    """Times that a round waited in vain for a peer."""
    mbit: list[float]

    @property
    def loss(self) -> float:
        return sum(self.losses) / len(self.losses)


def manifest(job: Job) -> dict[str, Any]:
    """The rules of a run, those of `text` but for a smaller network: an expert takes a step when it has as many samples
    as it gets of the batches of all trainers together, so that experts learn alike in all arms, and all that are asked
    are waited for, however busy this machine is."""
    document: dict[str, Any] = json.loads(files("resources").joinpath("runs", "text.json").read_bytes())
    document["training"] |= {
        "batch": WINDOWS // job.trainers,
        "target_samples": BATCH * MODEL["k"] // 4,
        "max_age_s": 30.0,
        "in_flight": 1,
        "evaluate_every": 1_000_000,
        "patience_s": 10.0,
        "k_min": MODEL["k"],
        "seed": job.seed,
    }
    return document | {"model": MODEL, "trunk": TRUNKS[job.strategy]}


def measure(
    quick: bool, strategies: Sequence[str], trainers: Sequence[int], seeds: int | None, samples: int | None, out: Path
) -> dict[str, Any]:
    """All arms with each number of trainers, one after the other.

    Args:
        quick: fewer trainers and samples.
        strategies: the arms; none: all.
        trainers: how many; none: `TRAINERS`, or `QUICK_TRAINERS`. One trainer is one arm, whatever its strategy.
        seeds: runs of each case; None: `SEEDS`, or one.
        samples: of a run, all trainers together; None: `SAMPLES`, or `QUICK_SAMPLES`.
        out: folder for what is known of a benchmark that was broken off.
    """
    if reason := impossible():
        return {"not_measured": reason}
    jobs = [
        Job(strategy, count, 1337 + seed, samples or (QUICK_SAMPLES if quick else SAMPLES))
        for seed in range(seeds or (1 if quick else SEEDS))
        for count in trainers or (QUICK_TRAINERS if quick else TRAINERS)
        for strategy in ((ALONE,) if count == 1 else strategies or TRUNKS)
    ]
    kept = out / "workers"
    kept.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for number, job in enumerate(jobs, 1):
        outcomes[job] = outcome = _run_once(job, kept)
        progress(f"run {number} of {len(jobs)}: {_name(job)}: loss {outcome.loss:.4f}, {outcome}")
    return report(outcomes)


def _name(job: Job) -> str:
    return f"{job.strategy}, {job.trainers} trainer{'s' * (job.trainers > 1)}, seed {job.seed}"


def _run_once(job: Job, kept: Path) -> Outcome:
    """A run, or what it gave when this benchmark was here before and was broken off."""
    rules = msgspec.json.encode((manifest(job), job))
    path = kept / f"{hashlib.sha256(rules).hexdigest()[:16]}.json"
    if not path.exists():
        with _ended_politely(), tempfile.TemporaryDirectory() as folder:
            outcome = _run(job, Path(folder))
        path.write_bytes(msgspec.json.encode(outcome))
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


@contextmanager
def _ended_politely() -> Iterator[None]:
    """Who is told to end removes the namespaces first."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(job: Job, folder: Path) -> Outcome:
    path = folder / "text.json"
    path.write_text(json.dumps(manifest(job)))
    chance = random.Random(job.seed)
    mbit = [round(chance.uniform(*MBIT), 1) for _ in range(job.trainers)]
    with Internet() as internet:
        swarm = _Swarm(internet, folder, path, mbit)
        seconds = swarm.train(job)
        swarm.end()
        told, logs = swarm.told, swarm.logs
    rules = manifests.load(str(path))
    homes = [folder / name / RUNS / rules.run_id for name in told]
    losses, steps = asyncio.run(_judge(rules, homes, folder))
    batches = sum(each.samples for each in told.values()) * job.trainers // BATCH
    return Outcome(
        losses,
        sum(each.samples for each in told.values()),
        round(seconds, 1),
        steps,
        sum(each.sent["trunk"] for each in told.values()),
        sum(each.sent.total() for each in told.values()),
        2 * _numbers(rules) * batches,
        sum(each.lost for each in told.values()),
        sum(log.failed().total() for log in logs),
        sum(log.waited().total() for log in logs),
        mbit,
    )


class _Told(NamedTuple):
    """What a worker told of itself last."""

    samples: int = 0
    sent: Counter[str] = Counter()
    """Bytes by kind of traffic."""
    lost: int = 0


class _Swarm:
    """Workers that begin to train all at once."""

    def __init__(self, internet: Internet, folder: Path, run: Path, mbit: Sequence[float]) -> None:
        self.told: dict[str, _Told] = {}
        self._workers: dict[str, WorkerPeer] = {}
        first = None
        for number, each in enumerate(mbit):
            host = internet.host(f"trainer{number}")
            host.limit(each, ROUND_TRIP_MS / 2)
            arguments = ("--run", str(run), "--role", "host,train")
            (folder / host.name).mkdir()
            settings = UNLIMITED | (LONE if len(mbit) == 1 else {})
            (folder / host.name / "settings.json").write_text(json.dumps({"version": 2, **settings}))
            worker = WorkerPeer(host, folder / host.name, *arguments, via=first)
            first = first or worker
            self._workers[host.name], self.told[host.name] = worker, _Told()
        for worker in self._workers.values():
            if len(mbit) > 1:
                wait_until(lambda: (seen := worker.network()) and seen.peers, "a connection")  # noqa: B023
        self.logs = [Log(worker.folder) for worker in self._workers.values()]

    def _all(self, method: str) -> None:
        with ThreadPoolExecutor(len(self._workers)) as threads:
            for asked in [threads.submit(worker.ask, method, object) for worker in self._workers.values()]:
                asked.result()

    def _look(self) -> int:
        """Samples that all together have trained on."""
        for name, worker in self._workers.items():
            try:
                totals, status = worker.ask("totals", Totals).all, worker.ask("status", Status)
            except HearthError:
                continue
            kinds = {kind.removeprefix("network."): it for kind, it in totals.devices.items() if "network." in kind}
            sent = Counter({kind: amounts.bytes_out for kind, amounts in kinds.items()})
            self.told[name] = _Told(totals.amounts.tokens, sent, status.lost_batches or self.told[name].lost)
        return sum(each.samples for each in self.told.values())

    def train(self, job: Job) -> float:
        """Until all together have trained on so many samples; the seconds that it took from the first batch on."""
        self._all("resume")
        began = now = first = time.monotonic()
        said = rate = 0.0
        while (done := self._look()) < job.samples and now - began < LIMIT_S:
            now = time.monotonic()
            first = first if done else now
            rate = done / max(1.0, now - first)
            if now - said > TOLD_S:
                said = now
                left = f"{(job.samples - done) / rate:.0f} s to go" if rate else "nothing yet"
                progress(f"{_name(job)}: {done:,} of {job.samples:,} samples, {rate:,.0f} a second, {left}")
            # near the end so often that the fastest arm is not trained longer than the others
            time.sleep(max(LEAST_S, min(LOOK_S, (job.samples - done) / (2 * rate))) if rate else LOOK_S)
        self._all("pause")
        return time.monotonic() - first

    def end(self) -> None:
        """Have all save what they have, and end."""
        time.sleep(LOOK_S)
        self._look()
        self._all("quit")
        for worker in self._workers.values():
            worker.process.wait(END_S)


async def _judge(rules: Manifest, homes: Sequence[Path], folder: Path) -> tuple[list[float], int]:
    """The loss of each trunk on the held-out text, with the newest states of the experts; and the most steps.

    Args:
        rules: the run's manifest.
        homes: the run's folders.
        folder: for the run's data.
    """
    backends = {backend.uid: backend for backend in all_experts(rules)}
    saved = [(home / CHECKPOINTS, newest_states(home / CHECKPOINTS)) for home in homes]
    # one that was on its way to another host in the end is among the copies
    files = [(home, file) for home, states in saved for file in states.values()]
    files += [(home / BLOBS, file) for home in homes for file in copies_of(rules.run, home / BLOBS)]
    for uid, backend in backends.items():
        found = [(file.version, home, file) for home, file in files if file.part == str(uid)]
        if found:
            _, home, file = max(found, key=lambda one: one[0])
            backend.load_state(unpack(path_of(home, file.sha256).read_bytes()).tensors)
        else:
            progress(f"Nobody has saved the expert {uid}.")
    trunks = [unpack(path_of(home, known[TRUNK].sha256).read_bytes()) for home, known in saved if TRUNK in known]
    if rules.strategy != ALONE:
        trunks = [max(trunks, key=_progress)]
    torch.set_num_threads(1)
    gate = KernelGate()
    runtime = Runtime(backends, gate)
    gate.open()
    serving = asyncio.create_task(runtime.run())
    losses = []
    for trunk in trunks:
        trainer = Trainer(rules, {LOCAL: runtime}, LocalDirectory(backends), gate, open_stream(rules, folder))
        trainer.take_over(trunk.tensors)
        losses.append((await trainer.evaluate()).loss)
    serving.cancel()
    return losses, max(trunk.version for trunk in trunks)


def _progress(trunk: Part) -> tuple[int, int]:
    """How far what is agreed has come, and its own steps."""
    versions = [int(tensor) for name, tensor in trunk.tensors.items() if AGREED in name and name.endswith(".version")]
    return sum(versions), trunk.version


def _numbers(rules: Manifest) -> int:
    return MODELS[rules.model.kind].numbers(rules.model, rules.ends)


def report(outcomes: Mapping[Job, Outcome]) -> dict[str, Any]:
    """Means and unbiased deviations over the seeds, and how far each arm is from one trainer and from `local`.

    Args:
        outcomes: of all runs.
    """
    table: dict[str, dict[str, Any]] = {}
    for strategy, count in dict.fromkeys((job.strategy, job.trainers) for job in outcomes):
        group = {job: it for job, it in outcomes.items() if (job.strategy, job.trainers) == (strategy, count)}
        mean, deviation = plot.mean_and_deviation([outcome.loss for outcome in group.values()])
        sent = sum(outcome.trunk_bytes for outcome in group.values())
        table.setdefault(f"{count} trainer{'s' * (count > 1)}", {})[strategy] = {
            "loss": round(mean, 4),
            "deviation": round(deviation, 4),
            "behind_one_percent": _behind(group, outcomes, ALONE, 1),
            "behind_local_percent": _behind(group, outcomes, ALONE, count),
            "times_less_than_synchronous": round(sum(it.synchronous_bytes for it in group.values()) / sent, 1)
            if sent
            else None,
            "runs": [outcome._asdict() for outcome in group.values()],
        }
    job = next(iter(outcomes))
    return {"samples": job.samples, "batch": BATCH, "model": MODEL, "round_trip_ms": ROUND_TRIP_MS, "trainers": table}


def _behind(group: Mapping[Job, Outcome], outcomes: Mapping[Job, Outcome], strategy: str, count: int) -> float | None:
    """By how much the loss is higher than that of another arm with the same seed, %; None: that was not measured."""
    others = {job.seed: outcome.loss for job, outcome in outcomes.items() if job[:2] == (strategy, count)}
    behind = [100 * (it.loss / others[job.seed] - 1) for job, it in group.items() if job.seed in others]
    return round(sum(behind) / len(behind), 2) if behind else None
