"""Exported decoders in plain transformers, with nothing of Hearth: installed here in an environment of its own."""

import asyncio
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.compute.export import export
from core.contracts.chat import Chat
from core.contracts.export import ExportJob
from core.store import shards
from core.store.tokens import END
from tests.decoders import collected, organised, trained, with_model
from tests.unit.text_run import Setup
from tests.workers import ROOT

VERSIONS = ["5.24.0", "4.57.6"]
MODELS: dict[str, dict[str, Any]] = {
    "mixture": {"layers": 2, "grid": (4, 4), "k": 4, "width": 64, "hidden": 96, "heads": 4, "kv_heads": 2},
    "tied, dense first": {"dense": 1, "layers": 1, "width": 64, "heads": 4, "kv_heads": 1, "tied": True},
    "dense": {"layers": 0, "dense": 2, "grid": (), "k": 0, "expert": None, "width": 64, "tied": False},
}
MODELS = {name: {"sequence": 64} | model for name, model in MODELS.items()}
PROMPTS, START, LENGTH = 50, 16, 20
CHAT = Chat("{}\n\n", "Q: {}\n", "A: {}\n\t'\\é\n")
SAID = [("system", " Be kind. "), ("user", "it's {{ odd }}\n"), ("assistant", "Yes."), ("user", "漢字?")]
LINES = ["The return value", " two  blanks\t\n", "naïve 漢字 😀 ខ្មែរ 1234 'll\r\nx", "film , television ."]


@pytest.fixture(scope="module", params=VERSIONS)
def transformers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transformers")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    wanted = [f"transformers=={request.param}", f"torch=={torch.__version__.partition('+')[0]}", "safetensors", "numpy"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", MODELS)
async def test_transformers_says_what_the_swarm_says(tmp_path: Path, transformers: Path, name: str) -> None:
    manifest, folder = organised(tmp_path / "organiser")
    manifest = msgspec.structs.replace(with_model(manifest, **MODELS[name]), chat=CHAT)
    setup = await trained(manifest, folder, 100)
    await export(ExportJob(collected(setup, manifest, folder, tmp_path / "states"), str(tmp_path / "out"), "hf"))
    given, ours = await asked(setup)
    save_file(given, tmp_path / "given.safetensors")
    command = [transformers, ROOT / "tests" / "elsewhere.py", tmp_path / "out", tmp_path / "given.safetensors"]
    told = await asyncio.to_thread(said_by, command, tmp_path)
    assert [told[f"{keys}_keys"] for keys in ("missing", "unexpected", "mismatched")] == [[], [], []]
    assert told["kind"] == ("Qwen3ForCausalLM" if name == "dense" else "Qwen3MoeForCausalLM")
    assert told["apart"] < 1e-4
    tokens = setup.data.tokens
    assert tokens and told["same"]
    assert [until(tokens.end, one) for one in told["continued"]] == [until(tokens.end, one) for one in ours]
    talk = CHAT.text(SAID)
    assert told["talk"] == [END + talk, [tokens.end, *tokens.encode(talk.encode())]]
    assert told["encoded"] == [[tokens.end, *tokens.encode(line.encode())] for line in LINES]


def until(end: int, tokens: list[int]) -> list[int]:
    """What comes before the end of the text: what comes after it does not see it."""
    return tokens[: tokens.index(end, 1)] if end in tokens[1:] else tokens


def said_by(command: list[Path], folder: Path) -> Any:
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=folder).stdout)


def bytes_of(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


async def asked(setup: Setup) -> tuple[dict[str, Tensor], list[list[int]]]:
    """What both are asked, with our scores, and our continuations."""
    tokens = setup.data.tokens
    assert tokens
    text = shards.local_text()[300_000:]
    known = torch.tensor([[tokens.end, *tokens.encode(text[3000 * n :][:400])[: START - 1]] for n in range(PROMPTS)])
    said = json.dumps([{"role": who, "content": what} for who, what in SAID])
    given = {"starts": known, "lines": bytes_of("\0".join(LINES)), "said": bytes_of(said)}
    async with setup.running(900.0):
        given["scores"] = (await setup.trainer.infer(known))[0].clone()
        for _ in range(LENGTH):
            scores = (await setup.trainer.infer(known))[0]
            known = torch.cat((known, scores[:, -1].argmax(-1, keepdim=True)), 1)
    return given, known.tolist()
