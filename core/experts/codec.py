"""How tensors travel between peers: fp32, fp16, or block-wise int8 (paper, section 5: lower precision on the wire)."""

import math
import warnings

import torch
from torch import Tensor

from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import BLOCK, Codec, encoded_size

LARGEST_HALF = 65504.0
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    # torch warns once of memory that must not be written to, which nothing here does
    torch.frombuffer(b"\0", dtype=torch.uint8)


def encode(tensor: Tensor, codec: Codec) -> bytes | memoryview:
    """The numbers of a float32 tensor, row-major and little endian. Beyond the range of fp16 they are clamped.

    What is returned may be the tensor's own memory.
    """
    flat = tensor.detach().reshape(-1).to(torch.float32)
    if not len(flat):
        return b""
    if codec == "fp32":
        return flat.numpy().data.cast("B")
    if codec == "fp16":
        return flat.clamp(-LARGEST_HALF, LARGEST_HALF).to(torch.float16).numpy().data.cast("B")
    count = math.ceil(len(flat) / BLOCK)
    packed = torch.empty(encoded_size(codec, len(flat)), dtype=torch.uint8)
    scales, numbers = packed[: 4 * count].view(torch.float32), packed[4 * count :].view(torch.int8)
    for blocks, scale, into in zip(_blocks(flat), _of_blocks(scales, len(flat)), _blocks(numbers), strict=True):
        torch.maximum(blocks.amax(1, keepdim=True), -blocks.amin(1, keepdim=True), out=scale).div_(127)
        into.copy_((blocks / torch.where(scale > 0, scale, 1.0)).round_())
    return packed.numpy().data


def decode(data: bytes | memoryview, codec: Codec, shape: tuple[int, ...]) -> Tensor:
    """The float32 tensor of `shape` that `data` holds, in memory of its own.

    Raises:
        ProtocolError: the size does not fit.
    """
    total = math.prod(shape)
    if len(data) != encoded_size(codec, total):
        raise ProtocolError(f"{len(data)} bytes do not hold {shape} numbers in {codec}.")
    if not total:
        return torch.empty(shape)
    raw = torch.frombuffer(data, dtype=torch.uint8)
    if codec == "fp32" or raw.data_ptr() % 4:  # part of a message may begin anywhere
        raw = raw.clone()
    if codec == "fp32":
        return raw.view(torch.float32).view(shape)
    if codec == "fp16":
        return raw.view(torch.float16).to(torch.float32).view(shape)
    count = math.ceil(total / BLOCK)
    rows = raw[4 * count :].view(torch.int8).to(torch.float32)
    for blocks, scale in zip(_blocks(rows), _of_blocks(raw[: 4 * count].view(torch.float32), total), strict=True):
        blocks.mul_(scale)
    return rows.view(shape)


def _blocks(flat: Tensor) -> list[Tensor]:
    """Views of the whole blocks [n, BLOCK], and of the last one [1, rest], as far as there are any."""
    whole = len(flat) - len(flat) % BLOCK
    return [part for part in (flat[:whole].view(-1, BLOCK), flat[whole:].unsqueeze(0)) if part.numel()]


def _of_blocks(scales: Tensor, total: int) -> list[Tensor]:
    """Views of their scales [n, 1] and [1, 1]."""
    column, whole = scales.unsqueeze(1), total // BLOCK
    return [part for part in (column[:whole], column[whole:]) if part.numel()]
