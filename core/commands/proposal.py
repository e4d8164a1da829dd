"""What a new run could be like: sizes, grid and rates for its data and so many volunteers, and what that costs."""

import math
from typing import NamedTuple

import msgspec

from core.contracts.data import samples_in
from core.contracts.kinds import DATA, EXPERTS, MODELS, Ends
from core.contracts.manifest import Manifest, Training
from core.contracts.manifest_limits import STATE_BYTES
from core.contracts.model import Model
from core.contracts.trunk import Diloco, Local, Trunk, VcAsgd
from core.policy.limits.bandwidth import PART

FLOPS_PER_S, HOURS = 20e9, 8
"""Of a volunteer's PC, and for how many hours a day it trains: what the estimate counts with."""
LINE_BITS_PER_S = 10e6
"""Of a home line's upload."""
UPLOAD_BYTES_PER_S = LINE_BITS_PER_S / 8 / PART
"""What is sent of it, unless its user chooses another limit."""
MOST_DAYS = 30
"""A model for which one pass over the data takes longer is too large."""
PROCESS_BYTES = 700 << 20
"""Of a worker and its compute process without a model, after a minute of training."""
COPIES = 3
"""Of states on a disk: the newest, the one that takes its place, and copies for others."""
EXPERTS_OF_A_PC = 8
"""Of all layers together: each volunteer's part of the grid."""
ROWS_OF_AN_EXPERT = 50_000
"""In a pass over the data, at least: with fewer it learns nothing."""
PICTURES_OF_AN_EXPERT = 500
VOLUNTEERS = 4
"""For whom it is reckoned if nobody says how many there are."""
SEED = 1337


class Size(NamedTuple):
    layers: int
    width: int
    hidden: int
    heads: int
    sequence: int


SIZES = (
    Size(3, 128, 256, 4, 128),
    Size(4, 256, 1024, 8, 256),
    Size(6, 512, 2048, 8, 512),
    Size(8, 1024, 4096, 16, 512),
)
"""Of models of text, the smallest first."""


class Proposal(NamedTuple):
    """A run's model and rules."""

    model: Model
    training: Training
    trunk: Trunk


class Estimate(NamedTuple):
    """What a pass over the data costs each of the volunteers."""

    memory_bytes: int
    sent_bytes: int
    days: float
    by_line: bool
    """Whether a home line takes longer than the processor."""
    disk_bytes: int
    """For the newest states of trunk and experts, and those that take their place; without data."""

    @property
    def sent_per_hour(self) -> float:
        """Bytes that each sends in an hour of training, and as many that it receives."""
        return self.sent_bytes / (self.days * HOURS) if self.days else 0.0


def of_text(size: int, volunteers: int) -> Proposal:
    """A model of text that such data and so many PCs can train.

    Args:
        size: bytes to train on.
        volunteers: PCs.
    """
    found = [_text_of(one, size, volunteers) for one in SIZES]
    fit = [one for one in found if _days(one, size, volunteers) <= MOST_DAYS and _is_fed(one, size)]
    return fit[-1] if fit else found[0]


def of_tokens(tokens: int, vocabulary: int, volunteers: int) -> Proposal:
    """A decoder that such data and so many PCs can train.

    Args:
        tokens: to train on.
        vocabulary: of its tokenizer.
        volunteers: PCs.
    """
    found = [_decoder_of(_text_of(one, tokens, volunteers), one, vocabulary) for one in SIZES]
    fit = [one for one in found if _days(one, tokens, volunteers) <= MOST_DAYS and _is_fed(one, tokens)]
    return fit[-1] if fit else found[0]


def _decoder_of(text: Proposal, one: Size, vocabulary: int) -> Proposal:
    """The same with modern layers. Its experts are smaller, as a decoder's trunk does more."""
    model = msgspec.structs.replace(
        text.model,
        kind="decoder",
        expert="swiglu",
        hidden=2 * one.width,
        kv_heads=one.heads // 2,
        tied=True,
        vocabulary=vocabulary,
    )
    return text._replace(model=model)


def _days(proposal: Proposal, size: int, volunteers: int) -> float:
    return estimate(_ends(proposal.model), proposal, size, volunteers).days


def _ends(model: Model) -> Ends:
    """Of text."""
    return DATA["tokens" if model.vocabulary else "text"].ends(model, None)


def of_pictures(pictures: int, volunteers: int, *, experts: bool) -> Proposal:
    """A model that tells pictures apart.

    Args:
        pictures: to train on.
        volunteers: PCs.
        experts: whether it has some; else each PC holds all of a small model, and parts of the data are dealt out.
    """
    batch = 32
    training = Training(
        batch=batch,
        trunk_rate=0.0005 if experts else 0.001,
        expert_rate=0.001,
        warmup_samples=20 * batch,
        decay_samples=max(300 * batch, pictures),
        target_samples=8,
        max_age_s=2.0,
        clip=1.0,
        balance=0.1 if experts else 0.0,
        in_flight=4 if experts else 1,
        evaluate_every=64,
        seed=SEED,
    )
    if not experts:
        parts = max(1, min(50, pictures // (8 * batch)))
        model = Model(kind="mlp", layers=0, grid=(), width=128, hidden=64)
        return Proposal(model, training, VcAsgd(parts=parts, batches=max(1, pictures // parts // batch), strong=True))
    layers, k = 2, 4
    side = _side(EXPERTS_OF_A_PC * volunteers / layers, k * pictures / PICTURES_OF_AN_EXPERT)
    model = Model(kind="ffn_dmoe", layers=layers, grid=(side, side), width=128, hidden=256, expert="ffn", k=k)
    return Proposal(model, training, Diloco() if volunteers > 1 else Local())


def _is_fed(proposal: Proposal, size: int) -> bool:
    """Whether there is a byte, or a token, for each number that the model has."""
    return numbers(_ends(proposal.model), proposal) <= size


def numbers(ends: Ends, proposal: Proposal) -> int:
    """How many a run trains.

    Args:
        ends: what its data look like.
        proposal: the run.
    """
    model = proposal.model
    experts = model.layers * math.prod(model.grid) * EXPERTS[model.expert].numbers(model) if model.expert else 0
    return experts + MODELS[model.kind].numbers(model, ends)


def _text_of(one: Size, size: int, volunteers: int) -> Proposal:
    k, batch = 2, 16
    side = _side(EXPERTS_OF_A_PC * volunteers / one.layers, k * size / ROWS_OF_AN_EXPERT)
    model = Model(
        "transformer_dmoe",
        one.layers,
        (side, side),
        one.width,
        one.hidden,
        "ffn",
        k,
        one.heads,
        one.sequence,
    )
    rows = batch * one.sequence
    rate = float(f"{0.002 * math.sqrt(128 / one.width):.2g}")
    training = Training(
        batch=batch,
        trunk_rate=rate,
        expert_rate=rate,
        warmup_samples=50 * rows,
        decay_samples=max(300 * rows, size // 4),
        target_samples=256,
        max_age_s=2.0,
        clip=1.0,
        balance=0.01,
        in_flight=2,  # with 4 of each of three trainers an expert's gradients come too late, and the run learns little
        evaluate_every=64,
        seed=SEED,
    )
    return Proposal(model, training, Diloco() if volunteers > 1 else Local())


def _side(experts: float, most: float) -> int:
    """Cells along each of two sides: for so many experts in a layer, and no more than the data feed."""
    return max(2, min(64, math.ceil(math.sqrt(experts)), math.isqrt(int(most)) or 1))


def estimate(ends: Ends, proposal: Proposal, rows: int, volunteers: int) -> Estimate:
    """What a run takes of each volunteer.

    Args:
        ends: what its data look like.
        proposal: the run.
        rows: of a pass: bytes or tokens of text, or pictures.
        volunteers: PCs, which share the pass.
    """
    model, training = proposal.model, proposal.training
    kind = MODELS[model.kind]
    expert = EXPERTS[model.expert] if model.expert else None
    trunk = STATE_BYTES * kind.numbers(model, ends)
    experts = math.ceil(model.layers * math.prod(model.grid) / volunteers) if expert else 0
    states = trunk + experts * (STATE_BYTES * expert.numbers(model) if expert else 0)
    inputs = 4 * training.batch * kind.rows(model) * model.width
    memory = PROCESS_BYTES + states
    memory += training.in_flight * inputs * (1 + model.layers * (2 + 2 * model.k))
    flops = 2 * kind.multiplications(model, ends)
    flops += 2 * model.layers * model.k * (expert.multiplications(model) if expert else 0)
    mine = rows / volunteers
    # inputs and gradients to other hosts, and as many answers to other trainers, in fp16
    sent = mine * model.layers * model.k * model.width * 2 * 4 * (volunteers - 1) / volunteers
    if isinstance(proposal.trunk, VcAsgd):  # each result is the whole trunk
        sent += proposal.trunk.parts / volunteers * trunk / STATE_BYTES * 4
    computing, sending = mine * 4 * flops / FLOPS_PER_S, sent / UPLOAD_BYTES_PER_S
    days = max(computing, sending) / 3600 / HOURS
    return Estimate(int(memory), int(sent), days, sending > computing, COPIES * states)


def of_manifest(manifest: Manifest, data_bytes: int, volunteers: int) -> Estimate:
    """What a run takes of each volunteer, by its manifest.

    Args:
        manifest: the run's.
        data_bytes: of all shards; 0: not known. What is taken in an hour hardly depends on it.
        volunteers: PCs.
    """
    trunk, training = manifest.trunk, manifest.training
    rows = samples_in(manifest, data_bytes) or training.decay_samples
    if isinstance(trunk, VcAsgd):
        rows = trunk.parts * trunk.batches * training.batch * MODELS[manifest.model.kind].rows(manifest.model)
    return estimate(manifest.ends, Proposal(manifest.model, training, trunk), rows, volunteers)
