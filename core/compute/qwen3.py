"""A `decoder` as others know it: Qwen3-MoE, or Qwen3 where it has no experts, with Hugging Face's names.

The gate of a layer is written out: a router's row for each expert, A_i + B_j for that of cell (i, j).
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from core.contracts.kinds import inner
from core.contracts.model import Model
from core.experts.grid import Coords
from core.training.models.decoder import EPSILON, LONGEST_TURN

Config = dict[str, Any]
ATTENTION = {
    "norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "query_norm": "self_attn.q_norm",
    "key_norm": "self_attn.k_norm",
    "leave": "self_attn.o_proj",
}
DENSE = {"norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
PARTS = ("gate", "up", "down")
"""Of a feed-forward part."""


def config(model: Model, experts: int, end: int) -> Config:
    """What `config.json` says, for transformers 4.57 and 5.

    Args:
        model: its sizes.
        experts: in each layer that has some.
        end: the token that ends a text.
    """
    assert model.heads and model.sequence
    name = "Qwen3Moe" if model.layers else "Qwen3"
    mixture: Config = {
        "num_experts": experts,
        "num_local_experts": experts,
        "num_experts_per_tok": model.k,
        "moe_intermediate_size": model.hidden,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": list(range(model.dense)),
        "output_router_logits": False,
    }
    return {
        "architectures": [f"{name}ForCausalLM"],
        "model_type": "qwen3_moe" if model.layers else "qwen3",
        "vocab_size": model.vocabulary or 256,
        "hidden_size": model.width,
        "intermediate_size": inner(model),
        "num_hidden_layers": model.dense + model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads or model.heads,
        "head_dim": model.width // model.heads,
        "max_position_embeddings": model.sequence,
        "rms_norm_eps": EPSILON,
        "rope_theta": LONGEST_TURN,
        "rope_parameters": {"rope_type": "default", "rope_theta": LONGEST_TURN},
        "tie_word_embeddings": model.tied,
        "hidden_act": "silu",
        "attention_bias": False,
        "use_sliding_window": False,
        "bos_token_id": end,
        "eos_token_id": end,
        "torch_dtype": "float32",
        **(mixture if model.layers else {}),
    }


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all tensors of a model, as `config.json` describes it."""
    width, head = config["hidden_size"], config["head_dim"]
    heads, shared = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], width),
        "model.norm.weight": (width,),
    }
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        found |= {f"{at}.{norm}.weight": (width,) for norm in ("input_layernorm", "post_attention_layernorm")}
        found |= {f"{at}.self_attn.{norm}.weight": (head,) for norm in ("q_norm", "k_norm")}
        found |= {f"{at}.self_attn.{name}_proj.weight": (shared, width) for name in "kv"}
        found[f"{at}.self_attn.q_proj.weight"] = heads, width
        found[f"{at}.self_attn.o_proj.weight"] = width, heads
        if is_dense(config, layer):
            found |= _forward_shapes(f"{at}.mlp", width, config["intermediate_size"])
            continue
        found[f"{at}.mlp.gate.weight"] = config["num_experts"], width
        for number in range(config["num_experts"]):
            found |= _forward_shapes(f"{at}.mlp.experts.{number}", width, config["moe_intermediate_size"])
    return found


def is_dense(config: Config, layer: int) -> bool:
    """Whether a layer has no experts."""
    return config["model_type"] == "qwen3" or layer in config["mlp_only_layers"]


def _forward_shapes(at: str, width: int, inside: int) -> dict[str, tuple[int, ...]]:
    return {f"{at}.{name}_proj.weight": (width, inside) if name == "down" else (inside, width) for name in PARTS}


def written_out(
    model: Model,
    trunk: Mapping[str, Tensor],
    experts: Mapping[tuple[int, Coords], Mapping[str, Tensor]],
    cells: Sequence[Sequence[Coords]],
) -> dict[str, Tensor]:
    """The tensors with their names.

    Args:
        model: its sizes.
        trunk: as the trainer names its parameters.
        experts: by layer and cell, as the kind `swiglu` names its parameters.
        cells: of each layer, those whose experts there are, in the order that they get.
    """
    last = f"segments.{model.layers}"
    first = "segments.0" if model.layers else f"{last}.before"
    found = {"model.embed_tokens.weight": trunk[f"{first}.first.weight"]}
    found["model.norm.weight"] = trunk[f"{last}.norm.weight"]
    if not model.tied:
        found["lm_head.weight"] = trunk[f"{last}.words.weight"]
    for layer in range(model.dense):
        found |= _renamed(trunk, f"{first}.parts.{2 * layer}", f"model.layers.{layer}", ATTENTION)
        found |= _renamed(trunk, f"{first}.parts.{2 * layer + 1}", f"model.layers.{layer}", DENSE)
    for index in range(model.layers):
        at, part = f"model.layers.{model.dense + index}", 0 if index else 2 * model.dense
        found |= _renamed(trunk, f"segments.{index}.parts.{part}", at, ATTENTION)
        found[f"{at}.post_attention_layernorm.weight"] = trunk[f"segments.{index}.norm.weight"]
        found[f"{at}.mlp.gate.weight"] = router(trunk[f"gates.{index}.heads.weight"], model.grid, cells[index])
        for number, cell in enumerate(cells[index]):
            for name in PARTS:
                found[f"{at}.mlp.experts.{number}.{name}_proj.weight"] = experts[index, cell][f"{name}.weight"]
    return {name: tensor.detach().contiguous() for name, tensor in found.items()}


def router(heads: Tensor, grid: Coords, cells: Sequence[Coords]) -> Tensor:
    """An additive gate as one row for each cell.

    Args:
        heads: [sum of M, width], all heads one after the other.
        grid: M_0 .. M_{d-1}.
        cells: in the order of the rows.
    """
    starts = [0, *itertools.accumulate(grid[:-1])]
    return torch.stack([heads[[start + at for start, at in zip(starts, cell, strict=True)]].sum(0) for cell in cells])


def _renamed(trunk: Mapping[str, Tensor], of: str, to: str, names: Mapping[str, str]) -> dict[str, Tensor]:
    return {f"{to}.{new}.weight": trunk[f"{of}.{name}.weight"] for name, new in names.items()}
