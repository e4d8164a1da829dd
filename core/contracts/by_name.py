"""What a manifest names and a file of that name brings: kinds, tasks, data, trunk strategies."""

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any

from core.contracts.errors import ManifestError
from core.contracts.notices import notice


def names(package: ModuleType, attribute: str) -> list[str]:
    """The files of a package that bring something.

    Args:
        package: the folder they are in.
        attribute: under which each of them has it; files without it are no such files.
    """
    found = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return [name for name in found if hasattr(importlib.import_module(f"{package.__name__}.{name}"), attribute)]


@functools.cache
def named(package: ModuleType, attribute: str, name: str, what: str) -> Any:
    """What the file `name` of a package brings.

    Args:
        package: the folder the file is in.
        attribute: under which the file has it.
        name: any text; only files that are there are imported.
        what: what it is, in the code of the notice.

    Raises:
        ManifestError: there is no such file; the sentence lists those that exist.
    """
    known = names(package, attribute)
    if name not in known:
        raise ManifestError(notice(f"manifest.no_{what}", name=repr(name), known=known))
    return getattr(importlib.import_module(f"{package.__name__}.{name}"), attribute)
