"""DMoE over the swarm beside hivemind, under the names that its anchor's drivers use.

`moe`: a layer of 16 experts on two workers that only host, under a worker that only trains: the whole way from one
compute process to the other. The network around the layer is one linear map in front and one behind. The anchor has
one batch on its way at a time; the trainer has `in_flight`, which is how it works (`in_flight` 1 is given too).
`failure`: the same, with one of the two hosts frozen or killed; the slowest step is what the trainer itself reports.
"""

import contextlib
import json
import math
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
QUICK_S = 240.0
"""A part is begun only within this time of a quick run, and hivemind's part of it ends by then, so that all of it takes
less than five minutes."""
QUICK_DRIVER_S = 45.0
"""The longest that a part of hivemind's may take of it."""


class Part(NamedTuple):
    """One part of the benchmark, and what makes hivemind's driver of that name measure the same; None: nothing does."""

    measure: Callable[[bool], Any]
    driver: tuple[str, ...] | None = None
    quick_driver: tuple[str, ...] | None = None


def parts() -> dict[str, Part]:
    """In the order in which they are measured."""
    cases = ("--clients", "4", "--hid-dims", "256", "1024", "--batch-sizes", "64", "512")
    return {
        "codec": Part(codec.measure, (), ()),
        "moe": Part(layers, (), ()),
        "throughput": Part(server.throughputs, cases, ("--clients", "4", "--hid-dims", "256", "--batch-sizes", "64")),
        "server": Part(server.starts, ("--experts", "64"), ("--experts", "64")),
        "beam": Part(beam.measure, (), ("--sides", "16", "--limit", "10")),
        "yields_ms": Part(server.yields),
        "failure": Part(failures, ("--cases", "freeze_default")),  # it follows a frozen host for a minute and longer
    }


def measure(
    quick: bool, python: Path | None = None, anchors: Path | None = None, only: Sequence[str] = ()
) -> dict[str, Any]:
    """All figures, and beside hivemind also its own and the ratios.

    Args:
        quick: less of each, and less than five minutes in all; what that leaves no time for is named as `left_out`.
        python: that of hivemind's environment; None: measure only ours.
        anchors: the folder of hivemind's drivers.
        only: names of parts; empty: all.
    """
    end = time.monotonic() + (QUICK_S if quick else math.inf)
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    left_out: list[str] = []
    for name, part in parts().items():  # in turn, so that both see the machine in the same mood
        if only and name not in only:
            continue
        if time.monotonic() > end:
            left_out.append(name)
            continue
        ours[name] = part.measure(quick)
        progress(f"{name}: {json.dumps(ours[name])}")
        driver = part.quick_driver if quick else part.driver
        if python is None or driver is None:
            continue
        limit_s = min(end - time.monotonic(), QUICK_DRIVER_S if quick else anchor.AGAINST_S)
        found = anchor.figures(python, anchors, name, quick, *driver, limit_s=limit_s) if limit_s > 0 else None
        if found is None:
            left_out.append(f"hivemind: {name}")
        else:
            theirs[name] = found
    if python is None:
        return {"figures": ours, "left_out": left_out}
    return {"figures": ours, "hivemind": theirs, "left_out": left_out, "times_better": anchor.ratios(ours, theirs)}


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
    flights = IN_FLIGHT[::-1][: 1 if quick else None]
    return [_layer(width, in_flight, quick) for width in WIDTHS for in_flight in flights]


def _layer(width: int, in_flight: int, quick: bool) -> dict[str, Any]:
    rates, gaps = [], [0.0]
    with swarm(width, in_flight) as (trainer, hosts):
        for _ in range(1 if quick else 3):
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
    faults = ("freeze_default",) if quick else tuple(FAULTS)
    return {name: _failure(FAULTS[name], 10 if quick else 60) for name in faults}


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
