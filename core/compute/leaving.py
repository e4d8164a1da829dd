"""A decoder is written for other programs: transformers (`hf`) or llama.cpp (`gguf`); and read back before it is called
good."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import torch
from torch import Tensor

from core.compute import gguf_file, hf_folder, qwen3, qwen3_reading
from core.compute.model_card import card
from core.compute.qwen3 import Config
from core.compute.qwen3_reading import Get
from core.compute.restored import Restored
from core.contracts.errors import CheckpointError
from core.contracts.export import Collected, Exported, ExportJob
from core.contracts.notices import notice
from core.contracts.status import CurvePoint
from core.experts.grid import Coords
from core.store.tokens import Tokens

MOST_EXPERTS = 1024
"""In a layer: more than llama.cpp takes."""
TEXTS, SHORTEST = 8, 8
"""By which a file is checked, and the tokens that each has at least."""
ALIKE = 1e-3
"""By which scores in fp32 may differ: sums in another order."""
WORSE = {"f32": 1e-4, "f16": 0.005, "q8_0": 0.02}
"""Nats a token by which rounded numbers may be worse: 0.5% and 2% of perplexity."""
GGUF, HF_FILES = ".gguf", hf_folder.FILES


class Written(NamedTuple):
    """A file, read back."""

    config: Config
    get: Get


async def leave(job: ExportJob, folder: Path) -> Exported:
    """Write the model.

    Args:
        job: what is to be written.
        folder: an empty one.

    Raises:
        HearthError: a state is missing or damaged, or what was written is not the model.
        OSError: it cannot be written.
    """
    collected = job.collected
    manifest = collected.manifest
    restored = Restored(collected, all_experts=False)
    tokens = restored.stream.tokens
    if tokens is None:
        raise CheckpointError(notice("export.no_tokenizer", kind=manifest.model.kind))
    cells = chosen(collected)
    texts = _texts(restored.stream.held_out.inputs, tokens.end)
    async with restored.serving():
        of_all = point = await restored.trainer.evaluate()
        left_out = [uid for uid in restored.backends if uid.coords not in cells[uid.layer]]
        for uid in left_out:
            restored.directory.remove(uid)
        if left_out:
            point = await restored.trainer.evaluate()
        expected = [(await restored.trainer.infer(text))[0][0] for text in texts]
    experts = {(uid.layer, uid.coords): backend.module.state_dict() for uid, backend in restored.backends.items()}
    tensors = qwen3.written_out(manifest.model, restored.trainer.agreed_weights(), experts, cells)
    count = len(cells[0]) if cells else 0
    config = qwen3.config(manifest.model, count, tokens.end)
    loss_of_all = of_all.loss if left_out else None
    done = msgspec.structs.replace(told(collected, point), bits=point.bits, kept=count or None, loss_of_all=loss_of_all)
    written = _write(job, folder, config, tensors, tokens)
    (folder / "README.md").write_text(card(manifest, done, collected.contributors, _use(job)), "utf8")
    check(written, texts, expected, job.numbers if job.form == "gguf" else "f32")
    return done


def chosen(collected: Collected) -> list[list[Coords]]:
    """The cells of each layer that are written: those whose experts were trained most, equally many in each layer.

    Raises:
        CheckpointError: a layer has fewer than a token asks for.
    """
    model = collected.manifest.model
    by_layer: list[dict[Coords, int]] = [{} for _ in range(model.layers)]
    for layer, cell, samples in _trained(collected):
        by_layer[layer][cell] = samples
    count = min([MOST_EXPERTS, *map(len, by_layer)])
    if model.layers and count < model.k:
        raise CheckpointError(notice("export.too_few_experts", experts=count, k=model.k))
    return [sorted(sorted(cells, key=lambda cell: (-cells[cell], cell))[:count]) for cells in by_layer]


def _trained(collected: Collected) -> list[tuple[int, Coords, int]]:
    found = []
    for name, part in collected.parts.items():
        _, dot, place = name.partition(".")
        if dot:
            layer, *cell = map(int, place.split("."))
            found.append((layer, tuple(cell), part.samples))
    return found


def _write(job: ExportJob, folder: Path, config: Config, tensors: dict[str, Tensor], tokens: Tokens) -> Written:
    """Write and read back."""
    manifest = job.collected.manifest
    if job.form == "hf":
        hf_folder.write(folder, config, tensors, tokens, manifest.chat)
        return Written(*hf_folder.read(folder))
    path = folder / f"{manifest.run}-{job.numbers}{GGUF}"
    gguf_file.write(path, config, tensors, tokens, job.numbers, manifest.title, manifest.chat)
    return Written(*gguf_file.read(path, tokens))


def check(written: Written, texts: Sequence[Tensor], expected: Sequence[Tensor], numbers: str) -> None:
    """Compare what a file says with what the model says.

    Args:
        written: the file.
        texts: tokens [1, length].
        expected: the model's scores for each of them, [length, vocabulary].
        numbers: what the file's matrices hold.

    Raises:
        CheckpointError: it says something else.
    """
    worse = 0.0
    for text, wanted in zip(texts, expected, strict=True):
        found = qwen3_reading.scores(written.config, written.get, text)
        if numbers == "f32" and not torch.allclose(found, wanted, rtol=ALIKE, atol=ALIKE):
            raise CheckpointError(notice("export.not_alike", difference=float((found - wanted).abs().max())))
        worse += float(_loss(found, text) - _loss(wanted, text))
    worse /= sum(text.shape[1] - 1 for text in texts)
    if not worse <= WORSE[numbers]:
        raise CheckpointError(notice("export.worse", difference=worse))


def _loss(scores: Tensor, text: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(scores[:-1], text[0, 1:], reduction="sum")


def _texts(held_out: Tensor, end: int) -> list[Tensor]:
    """Parts of single documents, [1, length]: other programs have one of them before them."""
    found: list[Tensor] = []
    for row in held_out:
        starts = [0, *((row == end).nonzero().flatten().tolist()), len(row)]
        spans = [row[start:stop] for start, stop in itertools.pairwise(starts)]
        found += [span.unsqueeze(0) for span in spans if len(span) >= SHORTEST]
    return (found or [held_out[:1, :1].repeat(1, SHORTEST)])[:TEXTS]


def told(collected: Collected, point: CurvePoint) -> Exported:
    """What is told of a model, as it was evaluated."""
    trained = len(collected.parts) - 1
    return Exported(collected.run, point.step, point.samples, trained, collected.experts, point.loss, point.accuracy)


def _use(job: ExportJob) -> str:
    chat = job.collected.manifest.chat
    name = f"{job.collected.manifest.run}-{job.numbers}{GGUF}"
    use = f"""`{name}` is read by llama.cpp and by programs that are made of it, such as LM Studio, Ollama and Jan.
"""
    if job.form == "hf":
        use = """It is a model of transformers, and needs no code of its own:

    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained("."), AutoTokenizer.from_pretrained(".")
    asked = tokenizer("Once upon a time", return_tensors="pt")
    print(tokenizer.decode(model.generate(**asked, max_new_tokens=50)[0]))
"""
    if chat is None:
        return use
    return f"""{use}
It has a chat template. An answer ends before {json.dumps(chat.stop, ensure_ascii=False)}: tell programs to stop there.
"""
