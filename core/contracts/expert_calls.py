"""Contract of a call to experts on another peer: one request for each peer, batch and direction.

The payload holds the tensors of all calls one after the other, each encoded by the request's codec (`encoded_size`,
`core.experts.codec`): in forward each call's inputs, in backward each call's gradients, with its inputs before them
only if `with_inputs`.
"""

import math
from typing import Annotated, Literal

import msgspec

Direction = Literal["inference", "forward", "backward"]
METHODS: dict[Direction, str] = {
    "inference": "expert.inference",
    "forward": "expert.forward",
    "backward": "expert.backward",
}
Codec = Literal["fp32", "fp16", "int8"]
"""How numbers travel: as they are, halved, or as bytes with one float32 scale for each block of `BLOCK`."""
BLOCK = 1024
MAX_CALLS = 256
"""Experts of one peer asked at once for a batch: more than any peer hosts of one layer."""
MAX_BYTES = 64 << 20
"""Payload of one request: 4,096 samples of width 4,096."""
MAX_PASSAGE = 2**63 - 1

Uids = Annotated[
    tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(min_length=1, max_length=MAX_CALLS)
]
Rows = Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=1 << 20)], ...], msgspec.Meta(max_length=MAX_CALLS)]
Sample = Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=1 << 20)], ...], msgspec.Meta(min_length=1, max_length=3)]
Versions = Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, lt=2**53)], ...], msgspec.Meta(max_length=MAX_CALLS)]


class ExpertRequest(msgspec.Struct, frozen=True, array_like=True):
    """What a peer is asked of its experts."""

    uids: Uids
    rows: Rows
    """Samples of each call."""
    shape: Sample
    """Of one sample: (width,), or (sequence, width)."""
    codec: Codec = "fp32"
    passage: Annotated[int, msgspec.Meta(ge=0, le=MAX_PASSAGE)] = 0
    """The caller's number of this batch's way through a layer. Backward names the forward whose inputs it goes with;
    a second backward of the same passage and expert is answered like the first, but applied only once."""
    versions: Versions = ()
    """In backward: those that answered in forward, one for each call."""
    with_inputs: bool = True
    """In backward: whether the payload holds the inputs too. They are kept for a short time only."""


class ExpertReply(msgspec.Struct, frozen=True, array_like=True):
    """What came of it."""

    answered: tuple[bool, ...]
    """For each call whether the payload holds its answer, of the same shape as its inputs; the others failed."""
    versions: Versions = ()
    """Of each expert, when it answered."""
    forgotten: bool = False
    """In backward: the inputs are not kept (any more), nothing was done; ask again with them."""
    load: Annotated[float, msgspec.Meta(ge=0.0, le=1e6)] = 0.0
    """Of this peer: 0 idle, 1 busy without pause; above that, requests wait."""


def encoded_size(codec: Codec, numbers: int) -> int:
    """Bytes of a tensor of so many numbers."""
    match codec:
        case "fp32":
            return 4 * numbers
        case "fp16":
            return 2 * numbers
        case "int8":
            return numbers + 4 * math.ceil(numbers / BLOCK)


def payload_size(request: ExpertRequest, backward: bool) -> int:
    """Bytes of a request's payload."""
    each = 2 if backward and request.with_inputs else 1
    sample = math.prod(request.shape)
    return each * sum(encoded_size(request.codec, rows * sample) for rows in request.rows)
