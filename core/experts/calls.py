"""Contract of a call to experts on another peer: one request for each peer, batch and direction.

The payload holds the tensors of all calls one after the other: inputs, and in backward each call's gradients behind its
inputs. float32, row-major, little endian.
"""

from typing import Annotated, Literal

import msgspec

Direction = Literal["inference", "forward", "backward"]
METHODS: dict[Direction, str] = {
    "inference": "expert.inference",
    "forward": "expert.forward",
    "backward": "expert.backward",
}
MAX_CALLS = 256
"""Experts of one peer asked at once for a batch: more than any peer hosts of one layer."""
MAX_BYTES = 64 << 20
"""Payload of one request: 4,096 samples of width 4,096."""

Uids = Annotated[
    tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(min_length=1, max_length=MAX_CALLS)
]
Rows = Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, le=1 << 20)], ...], msgspec.Meta(max_length=MAX_CALLS)]


class ExpertRequest(msgspec.Struct, frozen=True, array_like=True):
    uids: Uids
    rows: Rows
    """Samples of each call."""
    width: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    """Numbers of one sample."""


class ExpertReply(msgspec.Struct, frozen=True, array_like=True):
    answered: tuple[bool, ...]
    """For each call whether the payload holds its answer, of the same shape as its inputs; the others failed."""
