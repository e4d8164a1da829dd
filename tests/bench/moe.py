"""DMoE over the swarm beside hivemind, under the names that its anchor's drivers use.

`moe`: a layer of 16 experts on two workers that only host, under a worker that only trains: the whole way from one
compute process to the other. The network around the layer is one linear map in front and one behind. The anchor has
one batch on its way at a time; the trainer has `in_flight`, which is how it works (`in_flight` 1 is given too).
`failure`: the same, with one of the two hosts frozen or killed; the slowest step is what the trainer itself reports.
"""

import contextlib
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import anchor, beam, codec, server
from tests.bench.machine import progress
from tests.workers import HERE, RunningWorker, hearth, wait_until, worker

WIDTHS = (64, 512)
BATCH, K = 64, 4
IN_FLIGHT = (1, 16)
WINDOW_S = 15
"""Three of them: checkpoints of all experts are written meanwhile (every 30 s). A worker reports twice a second."""
LIKE = "RemoteMixtureOfExperts"
"""What the anchor calls such a layer."""
DRIVERS: dict[str, tuple[str, ...]] = {
    "codec": (),
    "beam": (),
    "server": ("--experts", "64"),
    "moe": (),
    "throughput": ("--hid-dims", "256", "1024", "--batch-sizes", "64", "512", "--clients", "4"),
    "failure": ("--cases", "freeze_default"),
}


def measure(
    quick: bool, python: Path | None = None, anchors: Path | None = None, only: Sequence[str] = ()
) -> dict[str, Any]:
    """All figures, or those of some names; with `python`, that of hivemind's environment, also its figures and the
    ratios."""
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    makers: dict[str, Callable[[bool], Any]] = {
        "codec": codec.measure,
        "beam": beam.measure,
        "server": server.starts,
        "throughput": server.throughputs,
        "yields_ms": server.yields,
        "moe": layers,
        "failure": failures,
    }
    for name, make in makers.items():  # in turn, so that both see the machine in the same mood
        if only and name not in only:
            continue
        ours[name] = make(quick)
        progress(f"{name}: {json.dumps(ours[name])}")
        if python is not None and name in DRIVERS:
            theirs[name] = anchor.figures(python, anchors, name, quick, *DRIVERS[name])
    if python is None:
        return {"figures": ours}
    return {"figures": ours, "hivemind": theirs, "times_better": anchor.ratios(ours, theirs)}


def manifest(folder: Path, width: int, in_flight: int) -> Path:
    """A run of one DMoE layer of 4 x 4 experts of the anchor's kind: width -> 4 width -> width."""
    model = {
        "kind": "ffn_dmoe",
        "layers": 1,
        "grid": [4, 4],
        "width": width,
        "hidden": 4 * width,
        "expert": "transformer_ffn",
        "k": K,
    }
    training = {
        "batch": BATCH,
        "trunk_rate": 1e-4,
        "expert_rate": 1e-4,
        "warmup_samples": 1000,
        "decay_samples": 1_000_000,
        "target_samples": 256,
        "max_age_s": 2.0,
        "clip": 1.0,
        "balance": 0.01,
        "in_flight": in_flight,
        "evaluate_every": 1_000_000,
        "seed": 1,
    }
    document = {
        "version": 1,
        "run": "bench",
        "title": "A layer for a benchmark",
        "data": "digits",
        "model": model,
        "training": training,
    }
    path = folder / "bench.json"
    path.write_text(json.dumps(document))
    return path


@contextlib.contextmanager
def swarm(width: int, in_flight: int) -> Iterator[tuple[RunningWorker, list[RunningWorker]]]:
    """A worker that trains, at work, and the two that host its experts."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = str(manifest(folder, width, in_flight))
        common = ("--run", run, "--listen", HERE)
        hosts = [stack.enter_context(worker(folder / "first", *common, "--role", "host,backbone"))]
        known = hearth(hosts[0].folder, "address").stdout.strip()
        hosts.append(stack.enter_context(worker(folder / "second", *common, "--role", "host", "--bootstrap", known)))
        wait_until(lambda: sorted(len(host.status().experts) for host in hosts) == [8, 8], "a grid in halves", 120)
        joined = ("--role", "train", "--bootstrap", known)
        trainer = stack.enter_context(worker(folder / "trainer", *common, *joined))
        trainer.until(lambda status: status.step >= 20, "training", 120)
        yield trainer, hosts


def layers(quick: bool) -> list[dict[str, Any]]:
    """Samples a second of forward and backward through the layer, by width and batches in flight."""
    return [_layer(width, in_flight, quick) for width in WIDTHS for in_flight in reversed(IN_FLIGHT)]


def _layer(width: int, in_flight: int, quick: bool) -> dict[str, Any]:
    rates, gaps = [], [0.0]
    with swarm(width, in_flight) as (trainer, hosts):
        for _ in range(3):
            began = moved = time.monotonic()
            before = after = trainer.status().samples
            while time.monotonic() - began < (3 if quick else WINDOW_S):
                time.sleep(0.05)
                now, samples = time.monotonic(), trainer.status().samples
                gaps.append(now - moved)
                if samples > after:
                    after, moved = samples, now
            rates.append((after - before) / (time.monotonic() - began))
        memory = anchor.memory(server.processes(hosts[0]))
    rate = statistics.median(rates)
    name = LIKE if in_flight == IN_FLIGHT[-1] else f"{LIKE}, {in_flight} in flight"
    figures = {"layer": name, "hid_dim": width, "batch_size": BATCH, "k_best": K, "in_flight": in_flight}
    figures |= {"samples_per_s": round(rate, 1), "samples_per_s_runs": [round(r, 1) for r in rates]}
    figures |= {"longest_without_a_step_s": round(max(gaps), 2)}
    return {**figures, "step_ms": {"median": round(BATCH / rate * 1000, 1)}, "memory_of_one_server": memory}


def failures(quick: bool) -> dict[str, Any]:
    """The slowest step after a host froze or died, with default settings."""
    return {name: _failure(number, 20 if quick else 60) for name, number in FAULTS.items()}


FAULTS = {"freeze_default": signal.SIGSTOP, "kill_default": signal.SIGKILL}


def _failure(number: signal.Signals, seconds: float) -> dict[str, Any]:
    with swarm(64, 4) as (trainer, hosts):
        healthy = trainer.status()
        victims = [hosts[1].process.pid, *([compute.pid] if (compute := hosts[1].compute()) else [])]
        for pid in victims:
            os.kill(pid, number)
        began, before = time.monotonic(), trainer.status().step
        slowest = 0.0
        while time.monotonic() - began < seconds:
            status = trainer.status()
            slowest = max(slowest, status.slowest_step_s or 0.0)
            time.sleep(0.2)
        after = trainer.status()
        if number == signal.SIGSTOP:
            for pid in victims:
                os.kill(pid, signal.SIGCONT)
    return {
        "healthy": {"seconds": healthy.slowest_step_s},
        "steps_after": after.step - before,
        "slowest_after_s": slowest,
    }
