"""Which program this is: a hash over its files, and the libraries that it uses with their licences. No Qt."""

import hashlib
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from core.contracts.build import this_build

PARTS = ("app", "core", "resources")
"""The packages that a build is made of."""
SHOWN = 16
"""Hexadecimal digits."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
OF_AN_EXTRA = re.compile(r";.*\bextra\b")
WORDS = 60
"""A longer "licence" is its whole text."""


class Library(NamedTuple):
    """A library in use."""

    name: str
    version: str
    licence: str
    """In a few words; empty if it does not tell."""


class Build(NamedTuple):
    """What runs here."""

    digest: str
    """Of all of the program's files: two installations with the same files have the same one."""
    libraries: list[Library]


def read() -> Build:
    """Read all of the program's files, and what the installed libraries say of themselves. Takes some 100 ms.

    Raises:
        OSError: a file cannot be read.
    """
    return Build(digest(), libraries())


def digest(root: Path = Path(__file__).parents[1]) -> str:
    """The first `SHOWN` digits of SHA-256 over names and contents of the program's files; of a package, as they were
    when it was built, with all libraries.

    Raises:
        OSError: a file cannot be read.
    """
    if this_build().frozen:
        return this_build().hash[:SHOWN]
    whole = hashlib.sha256()
    for path in sorted(_files(root)):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()[:SHOWN]


def _files(root: Path) -> Iterator[Path]:
    for part in PARTS:
        yield from (path for path in (root / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def libraries(of: str = "hearth") -> list[Library]:
    """The installed libraries that a package needs, and those that these need, by name; of a bundle, all in it."""
    found: dict[str, Library] = {}
    waiting = [one.name for one in metadata.distributions()] if this_build().frozen else [of]
    while waiting:
        try:
            distribution = metadata.distribution(waiting.pop())
        except metadata.PackageNotFoundError:
            continue  # of another system
        name = distribution.metadata["Name"]
        if name in found:
            continue
        found[name] = Library(name, distribution.version, licence_of(distribution.metadata))
        for requirement in distribution.requires or []:
            needed = NAME.match(requirement)
            if needed and not OF_AN_EXTRA.search(requirement):
                waiting.append(needed[0])
    return sorted((one for one in found.values() if one.name != of), key=lambda one: one.name.casefold())


def licence_of(told: metadata.PackageMetadata) -> str:
    """What a library says of its licence, in a few words: the expression, the classifiers, or the field for it."""
    if "License-Expression" in told:
        return str(told["License-Expression"])
    classifiers = [str(one) for one in told.get_all("Classifier") or [] if str(one).startswith("License ::")]
    if classifiers:
        return ", ".join(one.rpartition(" :: ")[2] for one in classifiers)
    words = str(told["License"]).strip() if "License" in told else ""
    return words if words and len(words) <= WORDS and "\n" not in words else ""
