"""The run `text` on the text of this Python, whichever it is, and small enough for a test."""

from typing import Any

import msgspec

from core import manifest as manifests
from core.manifest import Manifest
from core.training import shards

SMALL: dict[str, Any] = {"layers": 2, "grid": (2, 3), "width": 16, "hidden": 12, "heads": 2, "sequence": 16}


def text_run(model: dict[str, Any], **training: float) -> Manifest:
    """The manifest with another model and other rules."""
    run = manifests.load("text")
    return msgspec.structs.replace(
        run,
        model=msgspec.structs.replace(run.model, **model),
        training=msgspec.structs.replace(run.training, **training),
        shards=tuple(shards.cut(shards.local_text())),
    )
