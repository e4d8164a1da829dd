"""Samples/s through the whole path and of the same maths in one plain PyTorch loop, side by side in one run."""

import asyncio
import itertools
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.experts.balance import Balance
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.gating import Gate, add_up, balance_loss
from core.experts.grid import Grid
from core.runtime.adam import Adam
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data.stream import open_stream
from core.training.models.network import build as build_trunk
from core.training.tasks.task import Task, task_of
from core.training.trainer import Trainer
from tests.experts import all_experts, build


class PlainLoop:
    """The manifest's network in one ordinary training loop: chosen experts only, one autograd graph, no Runtime.

    The same initial weights, order of batches, losses, clipping and optimizer as the Trainer's; with one batch in
    flight and a step for every gradient the two compute the same numbers.
    """

    def __init__(self, manifest: Manifest, folder: Path | None = None) -> None:
        model, training = manifest.model, manifest.training
        self.batches = open_stream(manifest, folder)
        self.task: Task[Any] = task_of(manifest.task.name, self.batches)
        grid = Grid(manifest.run, model.layers, model.grid)
        self.k, self.balance = model.k, training.balance
        self.network = build_trunk(manifest, self.batches.ends)
        self.cells = cells = list(itertools.product(*map(range, model.grid)))
        self.columns = Gate(model.width, model.grid).columns(torch.tensor(cells))
        self.experts = [
            [build(model, training.seed, grid.uid(layer, cell)) for cell in cells] for layer in range(model.layers)
        ]
        self.balances = [Balance() for _ in range(model.layers)]
        self.trunk_adam = Adam(self.network, training.trunk_rate, training)
        share = model.k / len(cells)
        self.expert_adams = [
            [Adam(expert, training.expert_rate, training, share) for expert in row] for row in self.experts
        ]
        self.step = 0
        self.samples = 0

    def train_batch(self) -> float:
        """One step of trunk and chosen experts; the mean loss."""
        inputs, labels = self.batches[self.step]
        extra = torch.zeros(())
        counts = []
        h = inputs
        *segments, head = self.network.segments
        beside = self.network.beside(inputs)
        layers = zip(segments, self.network.gates, self.balances, self.experts, strict=True)
        for segment, gate, balance, experts in layers:
            given = segment(h, *beside)
            x = self.network.into_layer(given).flatten(0, -2)
            scores = add_up(gate(x), self.columns)
            chosen = balance.choose(self.cells, scores.detach(), self.k)
            weights = scores.gather(1, chosen).softmax(1)
            h = torch.zeros_like(x)
            for index, expert in enumerate(experts):
                rows, places = (chosen == index).nonzero(as_tuple=True)
                counts.append(len(rows))
                if len(rows):
                    h = h.index_add(0, rows, expert(x[rows]) * weights[rows, places, None])
            h = self.network.after_layer(given, h)
            extra = extra + self.balance * len(x) * balance_loss(scores, scores.topk(self.k).indices)
        loss = self.task.losses(head(h, *beside), labels).sum()
        adams = itertools.chain([self.trunk_adam], *self.expert_adams)
        used = [(adam, count) for adam, count in zip(adams, [labels.numel(), *counts], strict=True) if count]
        parameters = [parameter for adam, _ in used for parameter in adam.parameters]
        gradients = iter(torch.autograd.grad(loss + extra, parameters))
        for adam, count in used:
            adam.step(torch.cat([next(gradients).flatten() for _ in adam.parameters]) / count, count)
        self.step += 1
        self.samples += labels.numel()
        return loss.item() / labels.numel()


def measure(quick: bool) -> dict[str, object]:
    """Train the run `digits` both ways in turn, on one thread.

    Returns:
        Medians of samples/s of `path` (Runtime and Trainer) and `plain`, and the median of their `ratio` by round.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return asyncio.run(_measure(rounds=3 if quick else 9, seconds=1.0 if quick else 3.0))
    finally:
        torch.set_num_threads(threads)


async def _measure(rounds: int, seconds: float) -> dict[str, object]:
    manifest = manifests.load("digits")
    # Evaluation is not part of the plain loop either.
    training = msgspec.structs.replace(manifest.training, evaluate_every=1_000_000)
    manifest = msgspec.structs.replace(manifest, training=training)
    backends = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate = KernelGate()
    runtime = Runtime(backends, kernel_gate)
    trainer = Trainer(manifest, {LOCAL: runtime}, LocalDirectory(backends), kernel_gate)
    plain = PlainLoop(manifest)
    path_rates, plain_rates = [], []
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    try:
        for number in range(rounds + 1):
            start, samples = time.perf_counter(), trainer.samples
            kernel_gate.open()
            await asyncio.sleep(seconds)
            kernel_gate.close()
            path_rate = (trainer.samples - samples) / (time.perf_counter() - start)
            start, samples = time.perf_counter(), plain.samples
            while time.perf_counter() < start + seconds:
                plain.train_batch()
            plain_rate = (plain.samples - samples) / (time.perf_counter() - start)
            if number:  # the first round warms up
                path_rates.append(path_rate)
                plain_rates.append(plain_rate)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "run": manifest.run,
        "threads": 1,
        "rounds": rounds,
        "path_samples_per_s": statistics.median(path_rates),
        "plain_samples_per_s": statistics.median(plain_rates),
        "ratio": statistics.median(a / b for a, b in zip(path_rates, plain_rates, strict=True)),
        "joined_calls_per_pass": runtime.calls / runtime.passes,
    }
