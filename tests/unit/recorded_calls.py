"""Tables of a foreign system's functions with recorded answers: real C function pointers of the real prototypes."""

import ctypes
import types
from collections.abc import Callable, Mapping
from typing import Any

from core.policy.signals.foreign import Signature, Table


def recorded(signatures: Mapping[str, Signature], answers: Mapping[str, Callable[..., Any]]) -> Table:
    """A table of those functions; any other is missing, as on an older system.

    Pointers arrive as addresses: see `at`.
    """
    made: dict[str, types.SimpleNamespace] = {}
    for name, answer in answers.items():
        library, function = name.split(".")
        # a callback of ctypes cannot return a structure
        by_value = isinstance(signatures[name][0], type) and issubclass(signatures[name][0], ctypes.Structure)
        pointer = answer if by_value else ctypes.CFUNCTYPE(*signatures[name])(answer)
        setattr(made.setdefault(library, types.SimpleNamespace()), function, pointer)

    def load(library: str) -> Any:
        if library not in made:
            raise OSError(f"{library} could not be found")
        return made[library]

    return Table(signatures, load)


def at(kind: Any, address: int) -> Any:
    """What lies at an address that was passed."""
    return kind.from_address(address)
