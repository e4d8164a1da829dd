"""Packing and unpacking of a tensor for the wire, under the names of the anchor's driver."""

import time
from typing import Any

import torch

from core.contracts.expert_calls import Codec
from core.experts import codec
from tests.bench.anchor import milliseconds

ELEMENTS = 1_000_000
LIKE: dict[Codec, str] = {"fp32": "NONE", "fp16": "FLOAT16", "int8": "UNIFORM_8BIT"}
"""Our codecs and what hivemind calls the nearest one of its own."""


def measure(quick: bool) -> list[dict[str, Any]]:
    """Milliseconds for a million numbers, and the error that the codec adds."""
    torch.manual_seed(0)
    tensor = torch.randn(ELEMENTS)
    figures = []
    for name, like in LIKE.items():
        pack, unpack = [], []
        for _ in range(1 + (5 if quick else 15)):
            began = time.perf_counter()
            packed = codec.encode(tensor, name)
            middle = time.perf_counter()
            restored = codec.decode(memoryview(bytearray(packed)), name, (ELEMENTS,))
            pack.append(middle - began)
            unpack.append(time.perf_counter() - middle)
        figures.append(
            {
                "compression": like,
                "codec": name,
                "elements": ELEMENTS,
                "bytes": len(packed),
                "pack_ms": milliseconds(pack[1:]),
                "unpack_ms": milliseconds(unpack[1:]),
                "mean_squared_error": float((tensor - restored).square().mean()),
            }
        )
    return figures
