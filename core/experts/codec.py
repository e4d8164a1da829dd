"""How tensors travel between peers: fp32, fp16, or block-wise int8 (paper, section 5: lower precision on the wire)."""

import torch
from torch import Tensor
from torch.nn import functional

from core.errors import ProtocolError
from core.experts.calls import BLOCK, Codec, encoded_size

LARGEST = {"fp16": 65504.0}


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
        half = flat.clamp(-LARGEST["fp16"], LARGEST["fp16"]).to(torch.float16)
        return half.numpy().data.cast("B")
    blocks = functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
    scales = blocks.abs().amax(1) / 127
    steps = torch.where(scales > 0, scales, 1.0).unsqueeze(1)
    quantised = (blocks / steps).round_().to(torch.int8).view(-1)[: len(flat)]
    return scales.numpy().tobytes() + quantised.numpy().tobytes()


def decode(data: bytes | memoryview, codec: Codec, shape: tuple[int, ...]) -> Tensor:
    """The float32 tensor of `shape` that `data` holds.

    Raises:
        ProtocolError: the size does not fit.
    """
    numbers = 1
    for side in shape:
        numbers *= side
    if len(data) != encoded_size(codec, numbers):
        raise ProtocolError(f"{len(data)} bytes do not hold {shape} numbers in {codec}.")
    if not numbers:
        return torch.empty(shape)
    writable = bytearray(data)  # torch warns about memory that it must not write to
    if codec == "fp32":
        return torch.frombuffer(writable, dtype=torch.float32).view(shape)
    if codec == "fp16":
        return torch.frombuffer(writable, dtype=torch.float16).to(torch.float32).view(shape)
    count = -(-numbers // BLOCK)
    scales = torch.frombuffer(writable, dtype=torch.float32, count=count)
    quantised = torch.frombuffer(writable, dtype=torch.int8, offset=4 * count)
    padded = functional.pad(quantised, (0, -numbers % BLOCK)).view(count, BLOCK)
    return (padded * scales.unsqueeze(1)).view(-1)[:numbers].view(shape)
