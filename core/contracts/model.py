"""The part of a manifest that says which network is trained."""

from typing import Annotated, Literal

import msgspec

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}\Z")]
LINE = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*\Z"
"""A text that stays in its line and writes from the left to the right, whoever wrote it and wherever it is shown."""
Line = Annotated[str, msgspec.Meta(pattern=LINE, min_length=1, max_length=80)]


class Licence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What others may do with it, by the name of a licence such as `CC-BY-SA-4.0`."""

    data: Line
    model: Line
    """That which is trained."""


PICTURE_BYTES = 32 << 10
PICTURE_STARTS = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
"""Of PNG and of JPEG."""
Picture = Annotated[bytes, msgspec.Meta(max_length=PICTURE_BYTES)]
"""One of a run, in a manifest; base64 there."""
Size = Annotated[int, msgspec.Meta(ge=1, le=16_384)]
MOST_TOKENS = 1 << 16
"""Of a vocabulary: a token takes two bytes of a shard."""
MOST_TOKENIZER = 4 << 20
"""Bytes of a tokenizer's file; 32,768 tokens take about 2 MB."""


Side = Annotated[int, msgspec.Meta(ge=1, le=256)]
Label = Annotated[str, msgspec.Meta(pattern=LINE, min_length=1, max_length=64)]
LABEL = 2
"""Bytes of a picture's class in a shard, the higher one first; its pixels follow, row by row."""


class Pictures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run's pictures are, where they are its data."""

    width: Side
    height: Side
    channels: Literal[1, 3]
    """Grey, or red, green and blue of each pixel."""
    classes: Annotated[tuple[Label, ...], msgspec.Meta(min_length=2, max_length=1000)]
    """What there is to tell apart, by the number that a shard names."""

    @property
    def pixels(self) -> int:
        """Bytes of a picture."""
        return self.width * self.height * self.channels


class TokenizerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run's `tokenizer.json` (`core.store.tokens`), named by its content as shards are."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    size: Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENIZER)]
    """Bytes."""
    end: Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]
    """The token that ends a text."""


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A network cut at its DMoE layers (paper, section 3.1).

    It is part of what a run lastingly is, so nobody can do without a field of it: one that is added later has a default
    that means what was before.
    """

    kind: Name
    """One of `core.contracts.kinds.MODELS`."""
    layers: Annotated[int, msgspec.Meta(ge=0, le=256)]
    """DMoE layers; 0: the model has no experts, and every trainer holds all of it."""
    grid: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=4096)], ...], msgspec.Meta(max_length=4)]
    """Cells of each grid dimension, M_0 .. M_{d-1}; none without experts."""
    width: Size
    hidden: Size
    """Width inside an expert, or of the second layer of a model without experts. A dense layer of a `decoder` is k
    times as wide inside, so that it costs what the k experts of another do."""
    expert: Name | None = None
    """One of `core.contracts.kinds.EXPERTS`."""
    k: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    """Experts asked for each sample."""
    heads: Annotated[int, msgspec.Meta(ge=1, le=256)] | None = None
    """Of attention; kinds with attention need it."""
    sequence: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    """Tokens that a model of sequences sees at once."""
    kv_heads: Annotated[int, msgspec.Meta(ge=1, le=256)] | None = None
    """Heads of keys and values that those of attention share, of a `decoder`; None: each has its own."""
    dense: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    """Layers of a `decoder` without experts, before those with them."""
    tied: bool = False
    """Whether a `decoder` tells tokens by the numbers by which it reads them."""
    vocabulary: Annotated[int, msgspec.Meta(ge=2, le=MOST_TOKENS)] | None = None
    """Tokens that a model of data that are tokens can tell apart; the tokenizer may have fewer."""
