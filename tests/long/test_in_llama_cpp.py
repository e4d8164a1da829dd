"""Exported decoders in llama.cpp itself, built here from llama-cpp-python's source package: a quarter of an hour on two
cores, unless pip has built it before."""

import asyncio
import itertools
import json
import math
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from core.compute.export import export
from core.contracts.chat import Chat
from core.contracts.export import ExportJob, Numbers
from tests.decoders import collected, organised, trained, with_model
from tests.long.test_leaves_the_house import LENGTH, LINES, MODELS, PROMPTS, START, until
from tests.unit.text_run import Setup
from tests.workers import ROOT

PACKAGE = "llama-cpp-python==0.3.36"
BUILD = {"CMAKE_ARGS": "-DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAVA_BUILD=OFF", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
STEPS = 300
"""Of training: rounding matters to gates that have learnt something."""
WORSE: dict[Numbers, float] = {"f32": 1e-4, "f16": 0.005, "q8_0": 0.02}
"""Of the perplexity, the share by which it may differ."""
TOKENS, SHORTEST = 4000, 8
"""Of held-out text, and of each part of it."""
CHAT = Chat(user="Q: {}\n")


@pytest.fixture(scope="module")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has it."""
    folder = tmp_path_factory.mktemp("llama")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python", PACKAGE]
    subprocess.run(command, check=True, env=os.environ | BUILD)
    return python


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ["mixture", "dense"])
async def test_llama_cpp_says_what_the_swarm_says(tmp_path: Path, llama_cpp: Path, name: str) -> None:
    manifest, folder = organised(tmp_path / "organiser")
    manifest = msgspec.structs.replace(with_model(manifest, **MODELS[name]), chat=CHAT)
    setup = await trained(manifest, folder, STEPS)
    tokens = setup.data.tokens
    assert tokens
    given, ours, loss = await asked(setup)
    (tmp_path / "given.json").write_text(json.dumps(given), "utf8")
    states, out = collected(setup, manifest, folder, tmp_path / "states"), tmp_path / "out"
    for numbers, worse in WORSE.items():
        await export(ExportJob(states, str(out), "gguf", numbers))
        [file] = out.glob("*.gguf")
        told = await asyncio.to_thread(said_by, llama_cpp, file, tmp_path / "given.json")
        same = [until(tokens.end, one) for one in told["continued"]]
        alike = sum(one == other for one, other in zip(same, ours, strict=True))
        apart = math.exp(told["loss"] - loss) - 1
        print(f"{name}, {numbers}: {alike} of {PROMPTS} alike, perplexity {math.exp(loss):.3f} {apart:+.5%}")
        assert abs(apart) < worse
        assert numbers != "f32" or same == ours
        assert told["encoded"] == [[tokens.end, *tokens.encode(line.encode())] for line in LINES]
        assert told["decoded"] == LINES and told["template"] == CHAT.template()


def said_by(python: Path, file: Path, given: Path) -> Any:
    command = [python, ROOT / "tests" / "in_llama_cpp.py", file, given]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


async def asked(setup: Setup) -> tuple[dict[str, Any], list[list[int]], float]:
    """What both are asked, our continuations, and our loss in nats a token."""
    tokens, rows = setup.data.tokens, setup.data.held_out.inputs
    assert tokens
    texts = [text for row in rows for text in documents(row.tolist(), tokens.end)]
    ends = [*itertools.accumulate(map(len, texts))]
    texts = texts[: sum(end <= TOKENS for end in ends)]
    known = torch.tensor([text[:START] for text in texts if len(text) >= START][:PROMPTS])
    assert len(known) == PROMPTS
    starts, losses = known.tolist(), []
    async with setup.running(900.0):
        for text in texts:
            scores = (await setup.trainer.infer(torch.tensor([text])))[0][0]
            losses.append(torch.nn.functional.cross_entropy(scores[:-1], torch.tensor(text[1:]), reduction="sum"))
        for _ in range(LENGTH):
            scores = (await setup.trainer.infer(known))[0]
            known = torch.cat((known, scores[:, -1].argmax(-1, keepdim=True)), 1)
    loss = float(sum(losses)) / sum(len(text) - 1 for text in texts)
    ours = [until(tokens.end, one) for one in known.tolist()]
    return {"starts": starts, "texts": texts, "lines": LINES}, ours, loss


def documents(row: list[int], end: int) -> list[list[int]]:
    """The parts of a row that see each other: llama.cpp would have all of a row see all before it."""
    places = [0, *(place for place, token in enumerate(row) if token == end and place), len(row)]
    parts = (row[start:stop] for start, stop in itertools.pairwise(places))
    return [part for part in parts if len(part) >= SHORTEST]
