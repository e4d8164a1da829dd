"""A folder that transformers loads, by the names on disk that its versions 4.57 and 5 share."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from core.compute.qwen3 import Config, shapes
from core.compute.qwen3_reading import Get
from core.contracts.chat import Chat
from core.contracts.errors import CheckpointError
from core.contracts.notices import notice
from core.store.tokens import END, Tokens

FILES = {"model.safetensors", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}


def write(folder: Path, config: Config, tensors: dict[str, Tensor], tokens: Tokens, chat: Chat | None) -> None:
    """Write all but the card.

    Args:
        folder: where to.
        config: of the model.
        tensors: with their names.
        tokens: the tokenizer.
        chat: how a conversation with the model is written.

    Raises:
        OSError: it cannot be written.
    """
    ends = {"bos_token_id": tokens.end, "eos_token_id": tokens.end}
    tokenizer: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "pad_token": END,
        "model_max_length": config["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
    }
    if chat is not None:
        tokenizer["chat_template"] = chat.template()
    documents = {"config": config, "generation_config": ends, "tokenizer_config": tokenizer}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n", "utf8")
    (folder / "tokenizer.json").write_bytes(tokens.file_with_start())
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def read(folder: Path) -> tuple[Config, Get]:
    """The folder as another program finds it.

    Args:
        folder: where it was written.

    Raises:
        CheckpointError: tensors are missing, are there without need or have other shapes, or the tokenizer is not one.
    """
    config: Config = json.loads((folder / "config.json").read_text("utf8"))
    tensors = load_file(folder / "model.safetensors")
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = shapes(config)
    if found != wanted:
        odd = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        raise CheckpointError(notice("export.odd_tensors", count=len(odd), first=odd[0]))
    Tokens((folder / "tokenizer.json").read_bytes())
    return config, tensors.__getitem__
