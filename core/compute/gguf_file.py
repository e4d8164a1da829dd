"""A file that llama.cpp reads, and with it LM Studio, Ollama and Jan."""

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray
from torch import Tensor

from core.compute.qwen3 import Config, shapes
from core.compute.qwen3_reading import Get
from core.contracts.chat import Chat
from core.contracts.errors import CheckpointError
from core.contracts.export import Numbers
from core.contracts.notices import notice
from core.store.tokens import Tokens

BLOCK = 32
"""Numbers that share a factor in Q8_0."""
NEVER = "\u0120 \u0120\u0120\u0120"
"""A merge that never applies: an empty list is dropped, and the file does not load."""
KINDS = {"f32": Kind.F32, "f16": Kind.F16, "q8_0": Kind.Q8_0}
FILE_TYPES = {
    "f32": gguf.LlamaFileType.ALL_F32,
    "f16": gguf.LlamaFileType.MOSTLY_F16,
    "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
}
WHOLE = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
OF_A_LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate": "ffn_gate_inp",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
ROUTER = "ffn_gate_inp"
"""In fp32 always: rounded, it chooses other experts."""
Place = tuple[str, int | None]
"""A tensor's name in the file, and which expert's of it."""


def write(
    path: Path,
    config: Config,
    tensors: dict[str, Tensor],
    tokens: Tokens,
    numbers: Numbers,
    title: str,
    chat: Chat | None,
) -> None:
    """Write the file.

    Args:
        path: where to.
        config: of the model.
        tensors: with Hugging Face's names.
        tokens: the tokenizer.
        numbers: what matrices hold.
        title: of the model.
        chat: how a conversation with it is written.

    Raises:
        CheckpointError: llama.cpp does not know such a model.
        OSError: it cannot be written.
    """
    if config["model_type"] == "qwen3_moe" and config["mlp_only_layers"]:
        raise CheckpointError(notice("export.dense_beside_experts"))
    writer = gguf.GGUFWriter(path, config["model_type"].replace("_", ""))
    _describe(writer, config)
    writer.add_name(title)
    writer.add_file_type(FILE_TYPES[numbers])
    _add_tokens(writer, config, tokens)
    if chat is not None:
        writer.add_chat_template(chat.template())
    for name, parts in _gathered(config, tensors):
        _add(writer, name, parts, numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, config: Config) -> None:
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    if config["model_type"] == "qwen3_moe":
        writer.add_expert_count(config["num_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def _add_tokens(writer: gguf.GGUFWriter, config: Config, tokens: Tokens) -> None:
    """Exactly as many tokens as the model has room for, all different."""
    known = tokens.vocabulary
    unused = [f"[PAD{number}]" for number in range(len(known), config["vocab_size"])]
    types = [gguf.TokenType.CONTROL if n in tokens.special else gguf.TokenType.NORMAL for n in range(len(known))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(tokens.words)
    writer.add_token_list([*known, *unused])
    writer.add_token_types([*types, *([gguf.TokenType.UNUSED] * len(unused))])
    writer.add_token_merges([" ".join(pair) for pair in tokens.merges] or [NEVER])
    writer.add_bos_token_id(tokens.end)
    writer.add_eos_token_id(tokens.end)
    writer.add_add_bos_token(True)


def _place(name: str) -> Place:
    """Where a tensor of Hugging Face's name is."""
    stem = name.removesuffix(".weight")
    if stem in WHOLE:
        return f"{WHOLE[stem]}.weight", None
    _, _, layer, part = stem.split(".", 3)
    if not part.startswith("mlp.experts."):
        return f"blk.{layer}.{OF_A_LAYER[part]}.weight", None
    _, _, expert, which = part.split(".")
    return f"blk.{layer}.ffn_{which.removesuffix('_proj')}_exps.weight", int(expert)


def _gathered(config: Config, tensors: dict[str, Tensor]) -> Iterator[tuple[str, list[Tensor]]]:
    """Tensors by their names in the file, those of a layer's experts together and in their order."""
    found: dict[str, list[Tensor]] = {}
    for name in shapes(config):
        found.setdefault(_place(name)[0], []).append(tensors[name])
    return iter(found.items())


def _add(writer: gguf.GGUFWriter, name: str, parts: list[Tensor], numbers: Numbers) -> None:
    matrix = parts[0].dim() == 2 and ROUTER not in name
    kind = KINDS[numbers] if matrix else Kind.F32
    if kind is Kind.Q8_0 and parts[0].shape[-1] % BLOCK:
        kind = Kind.F16
    arrays = [quantize(part.numpy(), kind) for part in parts]
    whole = np.stack(arrays) if name.endswith("_exps.weight") else arrays[0]
    writer.add_tensor(name, whole, raw_dtype=kind)


def read(path: Path, tokens: Tokens) -> tuple[Config, Get]:
    """The file as another program finds it.

    Args:
        path: where it was written.
        tokens: the tokenizer that should be in it.

    Raises:
        CheckpointError: keys or tensors are missing, are there without need or have other shapes.
    """
    reader = gguf.GGUFReader(path)
    try:
        config = _config(reader)
        vocabulary = reader.fields["tokenizer.ggml.tokens"].contents()
        ends = {reader.fields[f"tokenizer.ggml.{end}_token_id"].contents() for end in ("bos", "eos")}
        words = reader.fields["tokenizer.ggml.pre"].contents(), reader.fields["tokenizer.ggml.model"].contents()
    except KeyError as error:
        raise CheckpointError(notice("export.odd_tensors", count=1, first=str(error))) from error
    known = len(set(vocabulary)) == config["vocab_size"] and vocabulary[: len(tokens)] == tokens.vocabulary
    if not known or ends != {tokens.end} or words != (tokens.words, "gpt2"):
        raise CheckpointError(notice("export.odd_tensors", count=1, first="tokenizer.ggml"))
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    wanted: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes(config).items():
        place, expert = _place(name)
        wanted[place] = shape if expert is None else (config["num_experts"], *shape)
    found = {name: tuple(map(int, reversed(tensor.shape))) for name, tensor in tensors.items()}
    if found != wanted:
        odd = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        raise CheckpointError(notice("export.odd_tensors", count=len(odd), first=odd[0]))

    def get(name: str) -> Tensor:
        place, expert = _place(name)
        data: NDArray[np.generic] = tensors[place].data if expert is None else tensors[place].data[expert]
        return torch.from_numpy(np.array(dequantize(data, tensors[place].tensor_type), np.float32))

    return config, get


def _config(reader: gguf.GGUFReader) -> Config:
    """What the file's keys say.

    Raises:
        KeyError: one is missing.
    """
    kind = reader.fields["general.architecture"].contents()

    def key(name: str) -> int | float:
        number: int | float = reader.fields[f"{kind}.{name}"].contents()
        return number

    names = {tensor.name for tensor in reader.tensors}
    config: Config = {
        "model_type": {"qwen3moe": "qwen3_moe"}.get(kind, kind),
        "vocab_size": len(reader.fields["tokenizer.ggml.tokens"].contents()),
        "hidden_size": key("embedding_length"),
        "intermediate_size": key("feed_forward_length"),
        "num_hidden_layers": key("block_count"),
        "num_attention_heads": key("attention.head_count"),
        "num_key_value_heads": key("attention.head_count_kv"),
        "head_dim": key("attention.key_length"),
        "rms_norm_eps": key("attention.layer_norm_rms_epsilon"),
        "rope_theta": key("rope.freq_base"),
        "tie_word_embeddings": "output.weight" not in names,
        "mlp_only_layers": [],
    }
    if config["model_type"] == "qwen3_moe":
        config["num_experts"] = key("expert_count")
        config["num_experts_per_tok"] = key("expert_used_count")
        config["moe_intermediate_size"] = key("expert_feed_forward_length")
    return config
