"""What a written model says, computed from its file alone: so a file with swapped, missing or damaged tensors is found
before it is called good. It shares no code with what is trained."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from core.compute.qwen3 import Config, is_dense

Get = Callable[[str], Tensor]
"""A tensor by its name."""


@torch.no_grad()
def scores(config: Config, get: Get, tokens: Tensor) -> Tensor:
    """The scores of what comes after each token, [1, length] -> [length, vocabulary].

    Args:
        config: as in `config.json`.
        get: reads the file.
        tokens: of one text.
    """
    h = functional.embedding(tokens[0], get("model.embed_tokens.weight"))
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        h = h + _attention(config, get, at, _norm(config, h, get(f"{at}.input_layernorm.weight")))
        x = _norm(config, h, get(f"{at}.post_attention_layernorm.weight"))
        h = h + (_forward(get, f"{at}.mlp", x) if is_dense(config, layer) else _mixture(config, get, f"{at}.mlp", x))
    head = "model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
    return _norm(config, h, get("model.norm.weight")) @ get(head).T


def _norm(config: Config, x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]) * weight


def _attention(config: Config, get: Get, at: str, x: Tensor) -> Tensor:
    head, length = config["head_dim"], len(x)
    frequencies = config["rope_theta"] ** -(torch.arange(0, head, 2) / head)
    angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)

    def heads(name: str) -> Tensor:
        return (x @ get(f"{at}.self_attn.{name}_proj.weight").T).view(length, -1, head).transpose(0, 1)

    def turned(name: str) -> Tensor:
        y = _norm(config, heads(name), get(f"{at}.self_attn.{name}_norm.weight"))
        other = torch.cat((-y[..., head // 2 :], y[..., : head // 2]), -1)
        return torch.addcmul(y * angles.cos(), other, angles.sin())

    shared = config["num_attention_heads"] // config["num_key_value_heads"]
    keys, values = (y.repeat_interleave(shared, 0) for y in (turned("k"), heads("v")))
    weights = turned("q") @ keys.transpose(1, 2) / math.sqrt(head)
    weights = weights.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)
    mixed: Tensor = (weights @ values).transpose(0, 1).reshape(length, -1)
    return mixed @ get(f"{at}.self_attn.o_proj.weight").T


def _forward(get: Get, at: str, x: Tensor) -> Tensor:
    y = functional.silu(x @ get(f"{at}.gate_proj.weight").T) * (x @ get(f"{at}.up_proj.weight").T)
    return y @ get(f"{at}.down_proj.weight").T


def _mixture(config: Config, get: Get, at: str, x: Tensor) -> Tensor:
    shares, chosen = (x @ get(f"{at}.gate.weight").T).softmax(-1).topk(config["num_experts_per_tok"])
    shares = shares / shares.sum(-1, keepdim=True)
    mixed = torch.zeros_like(x)
    for expert in sorted({*chosen.flatten().tolist()}):
        rows, places = (chosen == expert).nonzero(as_tuple=True)
        mixed[rows] += shares[rows, places, None] * _forward(get, f"{at}.experts.{expert}", x[rows])
    return mixed
