"""What passes between worker, command line and the process that writes a trained model for use without Hearth."""

from typing import Annotated, Literal

import msgspec

from core.contracts.control import RunName
from core.contracts.credit import Shown
from core.contracts.errors import CheckpointError
from core.contracts.files import Natural
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice

Form = Literal["hf", "gguf", "safetensors"]
"""For transformers, for llama.cpp, or for the loader that is written beside it."""
Numbers = Literal["f32", "f16", "q8_0"]
NAMED = 500
"""Contributors by name in a model card."""


def form_of(kind: str, form: Form | None) -> Form:
    """In which form a model is written.

    Args:
        kind: of the model.
        form: the one that is wanted; None: the one that fits.

    Raises:
        CheckpointError: a model of this kind has no such form.
    """
    is_decoder = kind == "decoder"
    if form is not None and (form == "safetensors") == is_decoder:
        raise CheckpointError(notice("export.no_such_form", kind=kind, form=form))
    return form or ("hf" if is_decoder else "safetensors")


class CollectParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`collect` -> Collected: have the newest state of each part of a run here."""

    run: RunName | None = None


class CollectedPart(msgspec.Struct, frozen=True):
    """The newest state of a part."""

    path: str
    """Of its file, absolute."""
    version: Natural
    samples: Natural


class Contributor(msgspec.Struct, frozen=True):
    """A peer that computed for others, and has a name for it to be known by."""

    name: Shown
    team: Shown
    verified: float
    """FLOPs."""


class Contributors(msgspec.Struct, frozen=True):
    """Who computed for whom in a run, as far as this PC believes it."""

    named: Annotated[list[Contributor], msgspec.Meta(max_length=NAMED)] = []
    """Who gave most comes first."""
    others: Natural = 0
    """Peers that did not choose a name, and those for whom there is no room."""
    others_verified: float = 0.0
    """FLOPs of all of these."""


class Collected(msgspec.Struct, frozen=True):
    """All states of a run that could be had."""

    run: str
    """Its id."""
    folder: str
    """Of its files on this PC, absolute."""
    manifest: Manifest
    parts: dict[str, CollectedPart]
    """By uid, and the trunk."""
    experts: Natural
    """That the run's grid has."""
    contributors: Contributors = Contributors()


class ExportJob(msgspec.Struct, frozen=True):
    """What the process reads from stdin."""

    collected: Collected
    out: Annotated[str, msgspec.Meta(min_length=1)]
    """The folder to write, absolute."""
    form: Form | None = None
    """None: `hf` of a decoder, `safetensors` of any other model."""
    numbers: Numbers = "f16"
    """What a GGUF file's matrices hold."""


class Exported(msgspec.Struct, frozen=True):
    """What it writes to stdout, and into the folder as `evaluation.json`."""

    run: str
    step: Natural
    samples: Natural
    trained: Natural
    """Experts whose state was found; the others are as each begins."""
    experts: Natural
    loss: float
    """Nats a row on the held-out data."""
    accuracy: float
    """Share of the rows that are right."""
    bits: float | None = None
    """Of text, the loss in bits for each byte."""
    kept: Natural | None = None
    """Experts in each layer, as other programs want equally many; None: all are there."""
    loss_of_all: float | None = None
    """Before others were left out; None: none was."""


class ExportAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the two."""

    done: Exported | None = None
    fault: Notice | None = None
    """Why nothing was written."""
    again: bool = False
    """A state went while it was read, as a newer one has taken its place: they are to be collected anew."""
