"""The run `stories` from nothing: what its model tells after ten minutes on this PC alone, how much of it makes sense
(`tests.stories.follows`), and what it gains from ten PCs, each of which trains on as much as one does."""

import asyncio
import itertools
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import torch

from core.contracts import manifest as manifests
from core.contracts.control import Continued, GenerateParams
from core.contracts.errors import QuestionError
from core.contracts.trunk import Diloco
from core.control.client import ControlClient
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.store.shards import prepare
from core.store.stories import stories
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.bench import virtual_time
from tests.bench.far_host import FarHost
from tests.bench.machine import progress
from tests.experts import all_experts
from tests.joined_trunks import JoinedTrunks
from tests.stories import follows
from tests.workers import HERE, PATIENCE_S, hearth, worker

MINUTES, QUICK = 10, 2
ASKED, EACH = 40, 2
"""Stories that are asked for at the end, and after each minute."""
UNSEEN = 1
"""The seed of what is asked: other stories than those of the run."""
LENGTH = 250
"""Tokens of a story, at most."""
PCS = (1, 10)
TOKENS = 100_000, 200_000
"""Of each PC; after each of these the loss is looked at."""
DELAY_S = 0.1
"""Mean wait for the experts of a layer, whose passes the PCs share."""
JUDGED = 2
"""PCs of whose trunks the loss is the mean."""


def measure(quick: bool) -> dict[str, Any]:
    """Train, and ask for stories.

    Returns:
        By minute the tokens that were trained on, the training loss in nats a token, the share of unseen tokens that
        are foretold, and the shares of stories with all that was asked for in them (`named`) and of those of which
        every sentence follows (`sense`); some stories; and by the number of PCs the held-out loss, in nats a token,
        after each has trained on `TOKENS`.
    """
    return {**_alone(quick), "pcs": together(TOKENS[:1] if quick else TOKENS)}


def together(tokens: Sequence[int]) -> dict[int, list[float]]:
    """Some PCs train one network in simulated time: their trunks and data are their own, the experts are shared.

    Args:
        tokens: of each PC, after which the held-out loss is looked at.

    Returns:
        The losses, by the number of PCs.
    """
    with ProcessPoolExecutor(len(PCS), multiprocessing.get_context("spawn")) as pool:
        return dict(zip(PCS, pool.map(_losses, PCS, [tokens] * len(PCS)), strict=True))


def _losses(pcs: int, tokens: Sequence[int]) -> list[float]:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        return virtual_time.run(_train(pcs, tokens, Path(name)), tick=DELAY_S / 10)


async def _train(pcs: int, tokens: Sequence[int], folder: Path) -> list[float]:
    shipped = manifests.load("stories")
    training = msgspec.structs.replace(shipped.training, evaluate_every=1_000_000)
    manifest = msgspec.structs.replace(shipped, training=training)
    assert isinstance(manifest.trunk, Diloco)
    prepare(manifest, folder)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate, directory, losses = KernelGate(), LocalDirectory(experts), list[float]()
    runtime, trunks = Runtime(experts, kernel_gate), JoinedTrunks(manifest.trunk)
    trainers = [
        Trainer(
            manifest,
            {LOCAL: FarHost(runtime, DELAY_S, seed=pc)},
            directory,
            kernel_gate,
            open_stream(manifest, folder, shuffle=pc),
            calls=trunks.calls_of(str(pc)),
        )
        for pc in range(pcs)
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runtime.run()), *(group.create_task(trainer.run()) for trainer in trainers)]
        kernel_gate.open()
        for target in tokens:
            while sum(trainer.trained for trainer in trainers) < target * pcs:  # noqa: ASYNC110
                await asyncio.sleep(DELAY_S)
            losses.append(mean([(await trainer.evaluate()).loss for trainer in trainers[:JUDGED]]))
            progress(f"{pcs} PCs, {target} tokens each: {losses[-1]:.4f}")
        for task in tasks:
            task.cancel()
    return losses


def _alone(quick: bool) -> dict[str, Any]:
    """One worker, which is asked for stories."""
    with tempfile.TemporaryDirectory() as name, worker(Path(name), "--run", "stories", "--listen", HERE) as running:
        asked = (story.decode().partition("\n")[0] + "\n" for story in stories(10_000, UNSEEN))
        assert hearth(Path(name), "start").returncode == 0
        running.until(lambda status: status.step > 0, "the first step")
        began, minutes = time.monotonic(), list[dict[str, Any]]()
        last = QUICK if quick else MINUTES
        for minute in range(1, last + 1):
            time.sleep(max(0.0, began + 60 * minute - time.monotonic()))
            told = [_told(Path(name), prompt) for prompt in itertools.islice(asked, ASKED if minute == last else EACH)]
            status = running.status()
            trained = {"tokens": status.samples, "loss": status.loss, "accuracy": status.accuracy}
            minutes.append({"minute": minute, **trained, **_judged(told)})
            progress(str(minutes[-1]))
        return {"minutes": minutes, "stories": told[:5]}


def _told(folder: Path, prompt: str) -> str:
    with ControlClient(folder) as client:
        pieces: list[str] = []
        params = GenerateParams(prompt, LENGTH, 0.5, seed=len(prompt), stop=("\n\n",))  # another story may follow
        try:
            client.call("generate", params, Continued, PATIENCE_S, lambda piece: pieces.append(piece["text"]))
        except QuestionError:
            return prompt
    return prompt + "".join(pieces)


def _judged(told: list[str]) -> dict[str, float]:
    return {
        "named": sum(map(_names, told)) / len(told),
        "sense": sum(map(follows, told)) / len(told),
    }


def _names(story: str) -> bool:
    """Whether it is told with the words of its first line."""
    asked, _, told = story.partition("\n")
    people, thing = asked.removeprefix("Tell me a story about ").rstrip(".").split(" and the ")[0].split(", ")
    place = asked.rstrip(".").split(" and the ")[1]
    return all(f" {word}" in told for word in (people.split(" ")[1], thing.split(" ", 1)[1], place))
