"""Sizes that no PC could train, and what of a manifest each is about."""

import math
from collections.abc import Collection
from typing import Any

import msgspec

from core.contracts.errors import ManifestError
from core.contracts.kinds import DATA, EXPERTS, MODELS
from core.contracts.model import Model, Pictures, TokenizerFile
from core.contracts.notices import Notice, notice
from core.contracts.positions import Path
from core.contracts.trunk import Local, Trunk, VcAsgd

MAX_CELLS = 1 << 24
"""Of a layer's grid, and of all layers' together: 16 million experts are as many as a swarm of thousands of PCs will
ever host."""
MAX_STATE = 4 << 30
"""Bytes of an expert or a trunk with its optimizer's state, as files of checkpoints may have
(`core.store.part_header`), and of a layer's inputs for one batch."""
MAX_IN_FLIGHT = 16 << 30
"""Bytes of all layers' inputs for all batches that a trainer keeps on the way: it has them until the gradients come. A
built-in run needs 6 MB; eight sequences of 2,048 tokens in 32 layers of width 4,096 are 8 GiB."""
MOST_MIXED = 19_300_000
"""Parameters of a trunk that travel in one message, 64 MiB, with the table of the work: each takes up to 3.44 bytes."""
STATE_BYTES = 12
"""Of a number that is trained: itself and two Adam moments."""
ABOUT: dict[str, Path] = {
    "manifest.no_data_set": ("data",),
    "manifest.two_lists": ("shard_list",),
    "manifest.picture_kind": ("picture",),
    "manifest.no_such_day": ("schedule",),
    "manifest.ends_early": ("schedule", "end"),
    "manifest.access_unsigned": ("access",),
    "manifest.pictures_missing": ("data",),
    "manifest.no_pictures": ("pictures",),
    "manifest.tokens_missing": ("data",),
    "manifest.end_beyond": ("tokenizer", "end"),
    "manifest.no_model_kind": ("model", "kind"),
    "manifest.no_expert_kind": ("model", "expert"),
    "manifest.grid_too_large": ("model", "grid"),
    "manifest.k_too_large": ("model", "k"),
    "manifest.batch_too_large": ("training", "batch"),
    "manifest.in_flight_too_large": ("training", "in_flight"),
}
"""Where what is impossible is to be changed first; for the rest it is the model."""


def impossible(
    data: str, pictures: Pictures | None, model: Model, batch: int, in_flight: int, trunk: Trunk
) -> Notice | None:
    """Why no PC could train a run although each of its values may be; None if one could. Told here, before anything is
    begun, and not by a process that ends again and again.

    Args:
        data: the name of its data set.
        pictures: what they are, for data that are pictures.
        model: what is trained.
        batch: samples of a batch.
        in_flight: batches on the way at once.
        trunk: how trainers agree on it.
    """
    try:
        if DATA[data].pictures != (pictures is not None):
            return notice("manifest.pictures_missing" if DATA[data].pictures else "manifest.no_pictures")
        kind, ends = MODELS[model.kind], DATA[data].ends(model, pictures)
        expert = EXPERTS[model.expert].numbers(model) if model.expert else 0
    except ManifestError as error:
        return error.notice
    has_experts = bool(model.layers) if kind.experts is None else kind.experts
    if not has_experts and (model.layers or model.grid or model.expert or model.k):
        return notice("manifest.without_experts", kind=model.kind)
    if has_experts and not (model.layers and model.grid and model.expert and model.k):
        return notice("manifest.experts_missing", kind=model.kind)
    cells = math.prod(model.grid)
    if cells > MAX_CELLS:
        return notice("manifest.grid_too_large", cells=cells, most=MAX_CELLS)
    if model.k > cells:
        return notice("manifest.k_too_large", k=model.k, cells=cells)
    if trouble := kind.trouble(model, ends):
        return trouble
    for what, size in (
        ("expert", STATE_BYTES * expert),
        ("trunk", STATE_BYTES * kind.numbers(model, ends)),
        ("batch", 4 * batch * kind.rows(model) * model.width),
    ):
        if size > MAX_STATE:
            return notice(f"manifest.{what}_too_large", size=size, most=MAX_STATE)
    travels = isinstance(trunk, VcAsgd) and (trunk.servers or not trunk.store)  # else each peer serves itself
    if travels and (numbers := kind.numbers(model, ends)) > MOST_MIXED:
        return notice("manifest.mixed_too_large", numbers=numbers, most=MOST_MIXED)
    if (size := in_flight * model.layers * 4 * batch * kind.rows(model) * model.width) > MAX_IN_FLIGHT:
        return notice("manifest.in_flight_too_large", size=size, most=MAX_IN_FLIGHT)
    if model.layers * cells > MAX_CELLS:
        return notice("manifest.layers_too_many", experts=model.layers * cells, most=MAX_CELLS)
    return None


def impossible_tokens(data: str, tokenizer: TokenizerFile | None, model: Model) -> Notice | None:
    """Why a run's tokenizer does not fit its data or its model; None if it does.

    Args:
        data: the name of its data set.
        tokenizer: the run's, for data that are tokens.
        model: what is trained.
    """
    if (data == "tokens") != (tokenizer is not None) or (data == "tokens") != (model.vocabulary is not None):
        return notice("manifest.tokens_missing" if data == "tokens" else "manifest.no_tokens")
    if tokenizer and model.vocabulary and tokenizer.end >= model.vocabulary:
        return notice("manifest.end_beyond", end=tokenizer.end, vocabulary=model.vocabulary)
    return None


def impossible_beside(fields: dict[str, Any], faulty: Collection[str]) -> Notice | None:
    """What is impossible in a document with other faults, as far as these do not hide it.

    Args:
        fields: the document.
        faulty: fields of it in which there are faults; all others are valid, or are not there.
    """
    if {"data", "pictures", "model"} & {*faulty} or not fields.keys() >= {"data", "model"}:
        return None
    pictures = msgspec.convert(fields.get("pictures"), Pictures | None)
    training = {} if "training" in faulty else fields.get("training", {})
    sizes = training.get("batch", 1), training.get("in_flight", 1)
    trunk = Local() if "trunk" in faulty else msgspec.convert(fields.get("trunk", Local()), Trunk)
    return impossible(fields["data"], pictures, msgspec.convert(fields["model"], Model), *sizes, trunk)
