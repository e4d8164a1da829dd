"""Functions of a system's libraries by name, found when they are first needed.

One table a system, which sources are given: tests give them one whose functions are recorded answers, made by the same
prototypes, so that what is passed and returned is converted as on the real system.
"""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from core.contracts.notices import notice
from core.policy.signals.reading import SourceError

Function = Callable[..., Any]
Signature = tuple[Any, ...]
"""Type of what is returned (None: nothing), types of the arguments."""


class Table:
    """`table("user32.GetTickCount")` is that function, ready to be called.

    Args:
        signatures: of every function that is used, by library and name.
        library: loads a library by its short name.
    """

    def __init__(self, signatures: Mapping[str, Signature], library: Callable[[str], Any]) -> None:
        self._signatures, self._library = signatures, library
        self._found: dict[str, Function] = {}

    def __call__(self, name: str) -> Function:
        """The function.

        Raises:
            SourceError: this version of the system has none of that name.
        """
        if name not in self._found:
            library, function = name.split(".")
            try:
                found = getattr(self._library(library), function)
            except (OSError, AttributeError):
                raise SourceError(notice("source.no_function", name=name)) from None
            found.restype, *found.argtypes = self._signatures[name]
            self._found[name] = found
        return self._found[name]


SYSTEM32_ONLY = 0x800
"""LOAD_LIBRARY_SEARCH_SYSTEM32: not what lies beside the program."""


def windows(signatures: Mapping[str, Signature]) -> Table:
    """The functions of this Windows."""
    load: Callable[..., Any] = getattr(ctypes, "WinDLL")  # noqa: B009 (other systems' type stubs have none)
    return Table(signatures, lambda name: load(name + ".dll", winmode=SYSTEM32_ONLY))
