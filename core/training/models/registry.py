"""The kinds of models: every file of this package that declares one."""

import importlib
import pkgutil

import torch

from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest
from core.training import models
from core.training.models.kind import Kind, Network


def kinds() -> list[str]:
    """Names of the kinds that there are."""
    files = {module.name for module in pkgutil.iter_modules(models.__path__)}
    return sorted(files - {"kind", "registry"})


def kind_of(name: str) -> Kind:
    """The kind of that name.

    Raises:
        ManifestError: there is none.
    """
    known = kinds()
    if name not in known:
        raise ManifestError(f"There is no kind of model named {name!r}. Known kinds: {', '.join(known)}.")
    kind: Kind = importlib.import_module(f"{models.__name__}.{name}").KIND
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
