"""The kinds of models: every file of this package that declares one."""

import torch

from core.contracts import by_name
from core.contracts.manifest import Manifest
from core.training import models
from core.training.models.kind import Kind, Network


def kind_of(name: str) -> Kind:
    """The kind of that name.

    Raises:
        ManifestError: there is none.
    """
    kind: Kind = by_name.named(models, "KIND", name, "kind of model")
    return kind


def build(manifest: Manifest, inputs: int, classes: int) -> Network:
    """A new trunk, the same on every machine.

    Args: the manifest, numbers of a sample, classes of the data.

    Raises:
        ManifestError: unknown kind of model, or sizes that do not fit it.
    """
    kind = kind_of(manifest.model.kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(manifest.training.seed)
        return kind.build(manifest, inputs, classes)
