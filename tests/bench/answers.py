"""How fast the model answers a person while this PC trains, beside the same while it is paused; real workers.

The two are asked in turn, so that a machine that is busier for a while slows both down.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from core.contracts.control import Continued, GenerateParams, Prediction, PredictParams
from core.contracts.ledger import Totals
from core.contracts.status import Status
from core.control.client import ControlClient
from tests.bench.machine import progress, spread
from tests.workers import PATIENCE_S, RunningWorker, wait_until, worker

ROUNDS, QUICK = 7, 3
LENGTH = 120
"""Bytes of a text."""
PICTURES = 150
"""Asked one after the other, as somebody draws."""
SIDE = 16
ONE = bytes(0 if abs(column - 8) > 1 or not 2 < row < 13 else 255 for row in range(SIDE) for column in range(SIDE))
"""A picture of a one."""
RUNS = {"text": ["text"], "digits": ["digits"], "text_beside_digits": ["text", "digits"]}
"""What this PC trains; the first is asked."""


class Answering(msgspec.Struct):
    """One time that the model was asked."""

    per_s: float
    """Bytes or pictures a second, from the question to the last of them."""
    first_s: float
    """Until the first of them."""
    cpu_ms: float = 0.0
    """Of Hearth's processes, for each of them: what a busy machine changes little."""


def measure(quick: bool) -> dict[str, Any]:
    """Ask while training and while paused, in turn.

    Returns:
        For each setting the medians, the share of the paused speed, and the seconds from the end of the answer until
        each run trains again: until the worker tells of more seconds of training kernels, and of further samples, which
        come with whole batches. It tells twice a second. Beside that, how long samples take with no question.
    """
    return {name: _of(runs, QUICK if quick else ROUNDS) for name, runs in RUNS.items()}


def _of(runs: list[str], rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, worker(Path(name), "--run", runs[0]) as running:
        for run in runs[1:]:
            running.call("join_run", {"run": run})
        return _in_turn(running, runs, rounds)


def _in_turn(running: RunningWorker, runs: list[str], rounds: int) -> dict[str, Any]:
    training, paused = list[Answering](), list[Answering]()
    back, samples, usual = list[float](), list[float](), list[float]()
    answers, count = (_pictures, PICTURES) if runs[0] == "digits" else (_text, LENGTH)

    def ask(client: ControlClient, run: str) -> Answering:
        before = _cpu_s(running)
        found = answers(client, run)
        found.cpu_ms = 1000 * (_cpu_s(running) - before) / count
        return found

    with ControlClient(running.folder) as client:
        for number in range(rounds):
            _until_all_grew(client, runs)
            usual.append(_until_all_grew(client, runs)[1])
            training.append(ask(client, runs[0]))
            for times, seconds in zip((back, samples), _until_all_grew(client, runs), strict=True):
                times.append(seconds)
            client.call("pause", {}, dict)
            wait_until(lambda: _is_idle(client), "a stop")
            ask(client, runs[0])  # what is saved after the stop is no part of a paused PC's speed
            paused.append(ask(client, runs[0]))
            client.call("resume", {}, dict)
            progress(f"{runs} {number + 1}: {training[-1]} training, {paused[-1]} paused, back after {back[-1]:.2f} s")
    pairs = [one.per_s / other.per_s for one, other in zip(training, paused, strict=True)]
    return {
        "per_s_training": round(statistics.median(one.per_s for one in training), 2),
        "per_s_paused": round(statistics.median(one.per_s for one in paused), 2),
        "share_of_paused": round(statistics.median(pairs), 3),
        "shares": [round(pair, 3) for pair in pairs],
        "cpu_ms_training": spread([one.cpu_ms for one in training]),
        "cpu_ms_paused": spread([one.cpu_ms for one in paused]),
        "first_s_training": spread([one.first_s for one in training]),
        "first_s_paused": spread([one.first_s for one in paused]),
        "training_again_s": spread(back),
        "samples_again_s": spread(samples),
        "samples_usually_s": spread(usual),
    }


def _text(client: ControlClient, run: str) -> Answering:
    start, first = time.monotonic(), []
    params = GenerateParams("The for statement is used to ", LENGTH, run=run)
    client.call("generate", params, Continued, PATIENCE_S, lambda _: first.append(time.monotonic()))
    return Answering(LENGTH / (time.monotonic() - start), first[0] - start)


def _pictures(client: ControlClient, run: str) -> Answering:
    start, first = time.monotonic(), []
    for _ in range(PICTURES):
        client.call("predict", PredictParams(SIDE, SIDE, ONE, run), Prediction, PATIENCE_S)
        first.append(time.monotonic())
    return Answering(PICTURES / (time.monotonic() - start), first[0] - start)


def _cpu_s(running: RunningWorker) -> float:
    """Of the worker and its children, so far."""
    worker = psutil.Process(running.process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in (worker, *worker.children()))


def _until_all_grew(client: ControlClient, runs: list[str]) -> tuple[float, float]:
    """Seconds until the worker tells of more training kernels of each run, and of more samples."""
    start, before, found = time.monotonic(), _done(client, runs), [0.0, 0.0]

    def both() -> bool:
        for which, (now, then) in enumerate(zip(_done(client, runs), before, strict=True)):
            if not found[which] and all(one > other for one, other in zip(now, then, strict=True)):
                found[which] = time.monotonic() - start
        return all(found)

    wait_until(both, "training")
    return found[0], found[1]


def _done(client: ControlClient, runs: list[str]) -> tuple[list[float], list[float]]:
    """Seconds of kernels, and samples, of each run so far."""
    told = [run for run in client.call("status", {}, Status).runs if run.name in runs]
    totals = client.call("totals", {}, Totals).all.runs
    return [totals[run.id].seconds if run.id in totals else 0.0 for run in told], [run.samples for run in told]


def _is_idle(client: ControlClient) -> bool:
    return all(run.phase == "stopped" for run in client.call("status", {}, Status).runs)
