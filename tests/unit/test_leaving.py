"""A decoder is written for other programs, and what is not the model is not called good."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.compute import gguf_file, hf_folder, leaving
from core.compute.export import export
from core.contracts.chat import Chat
from core.contracts.errors import CheckpointError
from core.contracts.export import Collected, ExportJob
from core.contracts.manifest import Manifest
from core.store.tokens import Tokens
from tests.decoders import collected, organised, trained, with_model

MODELS: dict[str, dict[str, Any]] = {
    "mixture": {"layers": 2, "grid": (2, 3), "width": 32, "hidden": 48, "tied": False},
    "tied, dense first": {"dense": 1, "width": 32},
    "dense": {"layers": 0, "dense": 2, "grid": (), "k": 0, "expert": None, "width": 32},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    return organised(tmp_path_factory.mktemp("organiser"))


async def states(run: tuple[Manifest, Path], folder: Path, **model: Any) -> Collected:
    manifest = with_model(run[0], **model)
    return collected(await trained(manifest, run[1], 30), manifest, run[1], folder / "states")


@pytest.mark.parametrize("name", MODELS)
async def test_a_decoder_is_written_for_transformers_and_llama_cpp(
    run: tuple[Manifest, Path], tmp_path: Path, name: str
) -> None:
    states_of = await states(run, tmp_path, **MODELS[name])
    done = await export(ExportJob(states_of, str(tmp_path / "hf")))
    assert {path.name for path in (tmp_path / "hf").iterdir()} == hf_folder.FILES | {"README.md"}
    assert done.bits and done.loss_of_all is None
    assert done.kept == {"mixture": 6, "tied, dense first": 4, "dense": None}[name]
    Tokens((tmp_path / "hf" / "tokenizer.json").read_bytes())
    for numbers in ("f32", "f16", "q8_0"):
        job = ExportJob(states_of, str(tmp_path / "gguf"), "gguf", numbers)
        if name == "tied, dense first":
            with pytest.raises(CheckpointError, match="llama"):
                await export(job)
            assert not (tmp_path / "gguf").exists()
            continue
        await export(job)
        [path] = (tmp_path / "gguf").glob("*.gguf")
        kinds = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(path).tensors}
        assert kinds["token_embd.weight"] == numbers.upper()
        assert {kinds[key] for key in kinds if "norm" in key or "gate_inp" in key} == {"F32"}


async def test_how_a_conversation_is_written_goes_along(run: tuple[Manifest, Path], tmp_path: Path) -> None:
    chat, out = Chat(user="<u>{}</u>"), tmp_path / "out"
    mute = await states(run, tmp_path)
    talks = msgspec.structs.replace(mute, manifest=msgspec.structs.replace(mute.manifest, chat=chat))
    for states_of, told in ((mute, None), (talks, chat.template())):
        await export(ExportJob(states_of, str(out)))
        assert json.loads((out / "tokenizer_config.json").read_text("utf8")).get("chat_template") == told
        assert ("ends before" in (out / "README.md").read_text("utf8")) == bool(told)
        await export(ExportJob(states_of, str(out), "gguf"))
        [path] = out.glob("*.gguf")
        field = gguf.GGUFReader(path).fields.get("tokenizer.chat_template")
        assert (field and field.contents()) == told


async def test_each_layer_gets_equally_many_experts_those_that_were_used_most(
    run: tuple[Manifest, Path], tmp_path: Path
) -> None:
    states_of = await states(run, tmp_path, layers=2, grid=(2, 3))
    prefix = states_of.manifest.run
    parts = {name: part for name, part in states_of.parts.items() if name != f"{prefix}.0.0.1"}
    parts[f"{prefix}.1.1.2"] = msgspec.structs.replace(parts[f"{prefix}.1.1.2"], samples=1)
    fewer = msgspec.structs.replace(states_of, parts=parts)
    first, second = leaving.chosen(fewer)
    assert (0, 1) not in first and (1, 2) not in second and len(first) == len(second) == 5
    done = await export(ExportJob(fewer, str(tmp_path / "hf")))
    assert done.kept == 5 and done.loss_of_all is not None and done.loss_of_all != done.loss
    one = {name: part for name, part in parts.items() if not name.startswith(f"{prefix}.0.") or name.endswith("0.0")}
    with pytest.raises(CheckpointError, match="only 1 trained"):
        await export(ExportJob(msgspec.structs.replace(fewer, parts=one), str(tmp_path / "other")))


async def test_other_models_have_their_own_form(run: tuple[Manifest, Path], tmp_path: Path) -> None:
    states_of = await states(run, tmp_path)
    with pytest.raises(CheckpointError, match="hf or gguf"):
        await export(ExportJob(states_of, str(tmp_path / "out"), "safetensors"))
    assert not (tmp_path / "out").exists()


Change = Callable[[dict[str, Tensor]], object]


def swap(one: str, other: str) -> Change:
    def change(tensors: dict[str, Tensor]) -> None:
        tensors[one], tensors[other] = tensors[other], tensors[one]

    return change


EXPERT = "model.layers.0.mlp.experts.{}.{}_proj.weight"
WRONG: dict[str, tuple[Change, str]] = {
    "missing": (lambda tensors: tensors.pop(EXPERT.format(1, "up")), "1 of its parts are missing or odd"),
    "one more": (lambda tensors: tensors.update(more=torch.zeros(1)), "more"),
    "transposed": (
        lambda tensors: tensors.update({EXPERT.format(0, "up"): tensors[EXPERT.format(0, "up")].T.contiguous()}),
        "missing or odd",
    ),
    "gate and up": (swap(EXPERT.format(0, "gate"), EXPERT.format(0, "up")), "differ"),
    "two experts": (swap(EXPERT.format(0, "down"), EXPERT.format(1, "down")), "differ"),
    "key and value": (
        swap("model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.v_proj.weight"),
        "differ",
    ),
    "norms": (lambda tensors: tensors["model.layers.0.self_attn.q_norm.weight"].mul_(1.1), "differ"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_swapped_missing_and_changed_tensors_are_found(
    run: tuple[Manifest, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    change, told = WRONG[what]

    def damaged(folder: Path, *_: object) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    await written_wrong(run, tmp_path, monkeypatch, hf_folder, damaged, None, told)


@pytest.mark.parametrize("key", ["rope.freq_base", "attention.key_length", "expert_used_count", "bos_token_id"])
async def test_a_missing_or_wrong_key_of_a_gguf_file_is_found(
    run: tuple[Manifest, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    def damaged(path: Path, *_: object) -> None:
        reader = gguf.GGUFReader(path, "r+")
        [field] = [field for name, field in reader.fields.items() if name.endswith(key)]
        value = field.parts[field.data[0]]
        value[0] = value[0] * 2 if key == "rope.freq_base" else value[0] + 1

    await written_wrong(run, tmp_path, monkeypatch, gguf_file, damaged, "gguf", "is not the model")


async def written_wrong(
    run: tuple[Manifest, Path],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    damaged: Callable[..., None],
    form: Any,
    told: str,
) -> None:
    """Export with a file that is damaged between writing and reading it back."""
    states_of = await states(run, folder, width=32, hidden=48)
    write = module.write

    def wrong(path: Path, *arguments: Any) -> None:
        write(path, *arguments)
        damaged(path)

    monkeypatch.setattr(module, "write", wrong)
    with pytest.raises(CheckpointError, match=told):
        await export(ExportJob(states_of, str(folder / "out"), form, "f32"))
    assert not (folder / "out").exists()
