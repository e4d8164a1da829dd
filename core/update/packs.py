"""Packs: a torch for GPUs, in the data folder, by which compute goes instead of Hearth's own.

    runtimes/ID/        a pack, unpacked: Python packages, and its list (`Pack`) as the feed had it
    runtimes/chosen     the id of the pack that compute is started with
    runtimes/failed     the id of a pack with which compute did not come up: it goes by Hearth's own torch again
    runtimes/wheels/    the newest pack's wheels, by their hash, if the user keeps them for peers (`hearth pack keep`)

`hearth pack` puts them there (`core.commands.pack`).
"""

import hashlib
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from core.regular_files import read_json
from core.store.sizes import RUNTIMES
from core.store.writing import write_whole
from core.update.installation import TRUSTED, read_id
from core.update.releases import ID_DIGITS, MOST_RELEASE, Bytes, Sha256, Url, this_platform

CHOSEN, FAILED, PACK_FILE = "chosen", "failed", "pack.json"
WHEELS = "wheels"
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
"""As wheels name the Python that they are for."""


class Wheel(msgspec.Struct, frozen=True):
    """One package."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\.whl\Z", max_length=256)]
    size: Bytes
    sha256: Sha256
    unpacked: Bytes
    url: Annotated[str, msgspec.Meta(pattern=r"^(https?://[^\s]+)?\Z", max_length=1024)] = ""
    """Where it is, beside the feed's own files and mirrors."""


class Pack(msgspec.Struct, frozen=True):
    """What the feed offers for a kind of card, a platform and a Python: all wheels, none is ever chosen here."""

    format: Literal[1]
    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9][0-9A-Za-z.+-]{0,63}\Z")]
    """Torch's, as people read it."""
    python: Annotated[str, msgspec.Meta(max_length=16)]
    """As `PYTHON`."""
    wheels: Annotated[tuple[Wheel, ...], msgspec.Meta(min_length=1, max_length=256)]
    mirrors: Annotated[tuple[Url, ...], msgspec.Meta(max_length=16)] = ()


def pack_target(kind: str, of: str = "", python: str = PYTHON) -> str:
    """The name of a pack in the feed.

    Args:
        kind: of card, such as cuda.
        of: the platform; "": this one.
        python: as `PYTHON`.
    """
    return f"{of or this_platform()}/{kind}-{python}.json"


def pack_id(document: bytes) -> str:
    """The name of a pack's folder: the first digits of the hash of its list."""
    return hashlib.sha256(document).hexdigest()[:ID_DIGITS]


def read(pack: Path) -> Pack | None:
    """What is unpacked in a folder; None: it is no pack, or one for another Python."""
    found = read_json(pack / PACK_FILE, Pack, MOST_RELEASE)
    return found if found and found.python == PYTHON else None


def chosen(folder: Path) -> Path | None:
    """The pack that compute is started with; None: it goes by Hearth's own torch.

    Args:
        folder: the data folder.
    """
    runtimes = folder / RUNTIMES
    id_ = read_id(runtimes / CHOSEN)
    return runtimes / id_ if id_ and id_ != read_id(runtimes / FAILED) and read(runtimes / id_) else None


def has_failed(folder: Path) -> bool:
    """Whether compute did not come up with the pack that was chosen.

    Args:
        folder: the data folder.
    """
    failed = read_id(folder / RUNTIMES / FAILED)
    return failed != "" and failed == read_id(folder / RUNTIMES / CHOSEN)


def is_any(folder: Path) -> bool:
    """Whether there is a pack, or a part of one.

    Args:
        folder: the data folder.
    """
    return any(path.is_dir() and path.name != TRUSTED for path in (folder / RUNTIMES).glob("*"))


def choose(pack: Path) -> None:
    """Have compute started with a pack from now on.

    Raises:
        OSError: it cannot be noted; compute goes by what it went by.
    """
    (pack.parent / FAILED).unlink(missing_ok=True)
    write_whole(pack.parent / CHOSEN, [pack.name.encode()])


def give_up(pack: Path) -> None:
    """Have compute go by Hearth's own torch again, as it did not come up with this one.

    Raises:
        OSError: it cannot be noted.
    """
    write_whole(pack.parent / FAILED, [pack.name.encode()])
