"""What a release is: lists of files by their hash, in parts, of which only what changed is fetched.

The feed is a repository of The Update Framework (TUF): its signed metadata vouch for `release_target` and for the list
of each part (`part_target`), and these, by hash, for every file. So files may come from anywhere.
"""

import hashlib
import platform
import re
import sys
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec

MOST_RELEASE, MOST_LIST = 256 << 10, 16 << 20
"""Bytes of a release and of the list of one part; a part has 3,000 files, 200 bytes each."""
MOST_FILES, MOST_PARTS, MOST_MIRRORS, MOST_DEPTH = 50_000, 16, 16, 24
ID_DIGITS = 16
PROGRAM = "hearth.exe" if sys.platform == "win32" else "hearth"
"""The executable, in each version's folder."""

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Url = Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s]+\Z", max_length=512)]
PartName = Annotated[str, msgspec.Meta(pattern=r"^[a-z]{1,16}\Z")]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Relative = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
DRIVE = re.compile(r"[A-Za-z]:")


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file, or a link to another one of the same release."""

    path: Relative
    """From the version's folder, with slashes."""
    size: Bytes = 0
    sha256: str = ""
    packed: Bytes = 0
    """Bytes of the file as it is served: packed by gzip."""
    executable: bool = False
    link: str = ""
    """For a link: where it leads, from the folder in which it is."""


class Part(msgspec.Struct, frozen=True):
    """The files of one part."""

    files: Annotated[tuple[File, ...], msgspec.Meta(max_length=MOST_FILES)]


class Release(msgspec.Struct, frozen=True):
    """What the feed offers."""

    format: Literal[1]
    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9][0-9A-Za-z.+-]{0,63}\Z")]
    """As people read it."""
    number: Annotated[int, msgspec.Meta(ge=1)]
    """Greater with each release: what is older is never installed."""
    data_format: Annotated[str, msgspec.Meta(max_length=64)]
    """Data are backed up before a release with another one (`core.update.trial`)."""
    parts: Annotated[
        dict[Annotated[str, msgspec.Meta(pattern=r"^[a-z]{1,16}\Z")], Sha256], msgspec.Meta(max_length=MOST_PARTS)
    ]
    """SHA-256 of the list of each."""
    mirrors: Annotated[tuple[Url, ...], msgspec.Meta(max_length=MOST_MIRRORS)] = ()
    """Folders of web servers that have the files by their hash, beside the feed's own."""
    notes: Annotated[str, msgspec.Meta(max_length=8192)] = ""


def release_id(document: bytes) -> str:
    """The name of a version's folder: the first digits of the hash of its release."""
    return hashlib.sha256(document).hexdigest()[:ID_DIGITS]


def this_platform() -> str:
    """Such as linux-x86_64."""
    return f"{sys.platform}-{platform.machine().lower()}"


def release_target(of: str) -> str:
    """The name of a platform's newest release in the feed."""
    return f"{of}/release.json"


def part_target(of: str, part: str) -> str:
    """The name of the list of a part."""
    return f"{of}/{part}.json"


def is_inside(path: str) -> bool:
    """Whether a path stays within the folder that it starts from, on every system."""
    parts = PurePosixPath(path).parts
    plain = path == "/".join(parts) != "" and ".." not in parts and not path.startswith("/")
    return plain and "\\" not in path and "\0" not in path and not DRIVE.match(path) and len(parts) <= MOST_DEPTH


def leads_inside(file: File) -> bool:
    """Whether a link leads to somewhere within the version's folder."""
    if file.link.startswith("/") or "\\" in file.link or DRIVE.match(file.link):
        return False
    depth = len(PurePosixPath(file.path).parts) - 1
    for part in PurePosixPath(file.link).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return True
