"""Decoders of several sizes on WikiText-2 in 4,096 tokens: with 16 experts a layer of which each token asks two, dense
at as many multiplications a token, and, at the compute of one of them, the kind of the run `text` on the same bytes.

All training ends after the same number of tokens, but for the last kind; one process a core. Nothing was tuned on the
text that is judged.
"""

import asyncio
import hashlib
import math
import multiprocessing
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from unittest import mock

import msgspec
import numpy as np
import torch
from scipy.optimize import curve_fit

from core.contracts import manifest as manifests
from core.contracts.kinds import EXPERTS, MODELS
from core.contracts.manifest import Manifest, Shard
from core.contracts.model import TokenizerFile
from core.contracts.status import CurvePoint
from core.store import shards, tokens
from core.store.tokens import ITEM
from core.training.data import text
from tests.bench.machine import progress
from tests.bench.plot import Line, Panel, draw
from tests.bench.training import trained

TRAIN, JUDGED = "wikitext-2/train.txt", "wikitext-2/eval.txt"
VOCABULARY, SEQUENCE, SHARDS = 4096, 128, 7
TOKENS, QUICK = 1_200_000, 120_000
"""Trained on, of all sizes: about four passes. Later the largest learn the text by heart, those of experts first."""
INNER = 1 / 4
"""Of the model's width, that of one expert; a dense layer has twice that, as each token asks two. Where experts are 1.5
times as wide as the model, a dense layer has room for all that so little text teaches, and experts gain nothing."""
RATE = 0.002
"""Of experts, which see an eighth of the tokens each, so that their gradients are noisier; the trunk's, and that of
dense ones, is that of the run `stories`. All were chosen on an eighth of the training text, of 0.0007 to 0.006."""
GATHERED = 128
"""Rows of an expert's step: those of a batch, so that experts take as many steps as what is dense."""
WARM_UP, DECAY = 30_000, 1_080_000
"""Tokens until the rates are reached, and until they fall."""
WINDOWS, EVERY = 512, 128
"""Of the unseen text that are judged, so that what a size gains is more than what they differ by; and in how many
batches."""
HEAD = 16
"""Width of one, of attention."""
FORWARD_AND_BACK = 3 * 2
"""Floating-point operations of a multiplication with its sum, forward and, twice as many, back."""
MOST_POINTS = 12
"""Of the frontier to which the curve is fitted."""


class Size(NamedTuple):
    """A decoder's; as in `core.contracts.model.Model`."""

    width: int
    layers: int


SIZES = (Size(32, 2), Size(48, 2), Size(64, 2), Size(96, 2))
BESIDE = Size(64, 2)
"""At whose compute the run `text` is measured."""
Curve = list[tuple[float, float]]
"""Floating-point operations, and the loss on unseen text then, nats a token."""


def measure(quick: bool, seeds: int, data: Path, out: Path) -> dict[str, object]:
    """Train all of them.

    Args:
        quick: on a tenth of the tokens.
        seeds: of each.
        data: the folder with WikiText-2.
        out: where the plot is written.

    Returns:
        By size and way the operations of a token and, by seed, the loss on unseen text in nats a token and bits a byte;
        the same of the other kind; and, by way, the least loss by operations, fitted, and all curves.
    """
    with (
        tempfile.TemporaryDirectory() as name,
        ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"), _prepare) as pool,
    ):
        return _measure(QUICK if quick else TOKENS, seeds, data, Path(name), out, pool)


def _prepare() -> None:
    """A process trains one model at a time, on one core."""
    torch.set_num_threads(1)
    mock.patch.object(text, "HELD_OUT_WINDOWS", WINDOWS).start()


def _measure(
    trained_on: int, seeds: int, data: Path, folder: Path, out: Path, pool: ProcessPoolExecutor
) -> dict[str, object]:
    run, of_bytes = _run(data, folder), _of_bytes(data, folder)

    def train(manifest: Manifest, samples: int) -> list[Future[list[CurvePoint]]]:
        return [pool.submit(_trained, manifest, folder, samples, seed) for seed in range(seeds)]

    read = int(trained_on * _operations(_sized(run, BESIDE, dense=False)) / _operations(of_bytes))
    running = {
        (size, way): train(_sized(run, size, dense=way == "dense"), trained_on)
        for size in sorted(SIZES, reverse=True)  # so that no long one is left for the end
        for way in ("experts", "dense")
    }
    beside_running = train(of_bytes, read)
    sizes, curves = list[dict[str, Any]](), dict[str, list[Curve]]()
    for size in SIZES:
        for way in ("experts", "dense"):
            manifest, found = _sized(run, size, dense=way == "dense"), [one.result() for one in running[size, way]]
            curves.setdefault(way, []).extend(_curve(manifest, points) for points in found)
            sizes.append({**size._asdict(), "way": way, "operations": _operations(manifest), **_ends(found)})
            progress(str(sizes[-1]))
    bits = [_bits(one.result()) for one in beside_running]
    beside = {"operations": _operations(of_bytes), "bytes": read, "bits_a_byte": bits}
    progress(str(beside))
    fits = {way: _fitted(of_way) for way, of_way in curves.items()}
    draw([_panel(curves)], out / "sizes.png")
    kind = {"beside": BESIDE._asdict(), **beside}
    return {"tokens": trained_on, "sizes": sizes, "text": kind, "fits": fits, "curves": curves}


def _run(data: Path, folder: Path) -> Manifest:
    """A run of decoders on the text, with its shards in `folder`."""
    documents = [part for name in (TRAIN, JUDGED) for part in (data / name).read_bytes().split(b"\n \n")]
    unseen = len((data / JUDGED).read_bytes().split(b"\n \n"))
    known = tokens.train(documents[:-unseen], VOCABULARY)
    file = known.file()
    named = TokenizerFile(hashlib.sha256(file).hexdigest(), len(file), known.end)
    shards.accept(folder, named, file)
    train, judged = (b"".join(known.documents(part)) for part in (documents[:-unseen], documents[-unseen:]))
    stories = manifests.load("stories")
    training = msgspec.structs.replace(
        stories.training,
        expert_rate=RATE,
        target_samples=GATHERED,
        warmup_samples=WARM_UP,
        decay_samples=DECAY,
        evaluate_every=EVERY,
    )
    return msgspec.structs.replace(
        stories, training=training, tokenizer=named, shards=(*_shards(train, judged, folder, ITEM),)
    )


def _shards(train: bytes, judged: bytes, folder: Path, item: int) -> Iterator[Shard]:
    each = math.ceil(len(train) / SHARDS / item) * item
    parts = [(train[at : at + each], False) for at in range(0, len(train), each)]
    for part, held_out in (*parts, (judged, True)):
        shard = Shard(hashlib.sha256(part).hexdigest(), len(part), held_out=held_out)
        shards.accept(folder, shard, part)
        yield shard


def _sized(run: Manifest, size: Size, *, dense: bool) -> Manifest:
    model = msgspec.structs.replace(
        run.model,
        width=size.width,
        hidden=int(size.width * INNER),
        heads=size.width // HEAD,
        kv_heads=size.width // HEAD // 2,
        sequence=SEQUENCE,
        vocabulary=VOCABULARY,
        layers=0 if dense else size.layers,
        dense=size.layers if dense else 0,
        grid=() if dense else (4, 4),
        expert=None if dense else "swiglu",
    )
    return msgspec.structs.replace(run, model=model)


def _of_bytes(data: Path, folder: Path) -> Manifest:
    """The run `text` on the same text."""
    train, judged = ((data / name).read_bytes() for name in (TRAIN, JUDGED))
    return msgspec.structs.replace(manifests.load("text"), shards=(*_shards(train, judged, folder, 1),))


def _operations(manifest: Manifest) -> float:
    """Of training on a token, or on a byte."""
    model = manifest.model
    experts = model.layers * model.k * EXPERTS[model.expert].multiplications(model) if model.expert else 0
    return float(FORWARD_AND_BACK * (MODELS[model.kind].multiplications(model, manifest.ends) + experts))


def _trained(manifest: Manifest, folder: Path, samples: int, seed: int) -> list[CurvePoint]:
    training = msgspec.structs.replace(manifest.training, seed=manifest.training.seed + seed)
    return asyncio.run(trained(msgspec.structs.replace(manifest, training=training), folder, samples))


def _curve(manifest: Manifest, points: Sequence[CurvePoint]) -> Curve:
    return [(point.samples * _operations(manifest), point.loss) for point in points if point.samples]


def _bits(points: Sequence[CurvePoint]) -> float:
    last = points[-1]
    return round(last.loss / math.log(2) if last.bits is None else last.bits, 4)


def _ends(found: Sequence[Sequence[CurvePoint]]) -> dict[str, list[float]]:
    return {"loss": [round(points[-1].loss, 4) for points in found], "bits_a_byte": [*map(_bits, found)]}


def _fitted(curves: Sequence[Curve]) -> dict[str, Any]:
    """Least loss E + (C / c)^-a by operations C, over the frontier of all curves."""
    ends = [curve[-1][0] for curve in curves]
    least, most = min(ends) / 4, max(ends)  # before that the rates still rise
    frontier = list[tuple[float, float]]()
    for operations in np.geomspace(least, most, MOST_POINTS):
        reached = [one for curve in curves if curve[-1][0] >= operations and (one := _at(curve, operations))]
        frontier.append((float(operations), min(reached)))
    x, y = (np.array(values) for values in zip(*frontier, strict=True))
    (floor, log_c, a), _ = curve_fit(
        lambda c, floor, log_c, a: floor + np.exp(-a * (np.log(c) - log_c)),
        x,
        y,
        p0=(min(y) / 2, math.log(x[0]), 0.2),
        bounds=([0.0, 0.0, 0.01], [min(y), 100.0, 2.0]),
    )
    told = floor + np.exp(-a * (np.log(x) - log_c))
    off = float(np.abs(told - y).max())
    return {
        "floor": float(floor),
        "c": math.exp(log_c),
        "exponent": float(a),
        "furthest_off": off,
        "frontier": frontier,
    }


def _at(curve: Curve, operations: float) -> float:
    x, y = zip(*curve, strict=True)
    return float(np.interp(math.log(operations), np.log(x), y))


def _panel(curves: dict[str, list[Curve]]) -> Panel:
    lines = []
    for way, of_way in curves.items():
        each = len(of_way) // len(SIZES)
        for at, size in enumerate(SIZES):
            some = of_way[at * each : (at + 1) * each]
            x = [math.log10(operations) for operations, _ in some[0]]
            y = [mean(_at(one, 10**place) for one in some) for place in x]
            lines.append(Line(f"{size.width} x {size.layers}, {way}", x, y, dashed=way == "dense"))
    return Panel("Loss by compute", "log10 of operations", "nats a token", lines, least=None)
