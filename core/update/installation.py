"""An installation that updates itself: a folder with versions side by side, and a file that says which one is started.

    hearth              the launcher: starts what `current` names, or `former` if that is not there
    current, former     the ids of two versions
    versions/ID/        one version, whole: nothing in it changes
    feed/               the feed's address, the root of trust, and what was trusted last
    trial, tried        a version that has not come up yet, and that it was started (`core.update.trial`)

The launcher tells Hearth by two variables of the environment that it was started so.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.contracts.build import FOLDER, this_build
from core.contracts.errors import UNREADABLE
from core.contracts.notices import Notice, notice
from core.regular_files import read_json, read_regular
from core.store.writing import write_whole
from core.update.releases import ID_DIGITS, PROGRAM, Release, Url

ROOT, VERSION = "HEARTH_INSTALLATION", "HEARTH_VERSION_ID"
"""In the environment: the folder, and the id of the version that runs."""
CURRENT, FORMER, VERSIONS, FEED = "current", "former", "versions", "feed"
RELEASE_FILE, FILES_FILE = "release.json", "files.json"
"""In a version's folder: its release as the feed had it, and all its files."""
FEED_FILE, ROOT_FILE, TRUSTED = "feed.json", "root.json", "trusted"
ID = re.compile(rb"[0-9a-f]{%d}" % ID_DIGITS)
DOWNLOADS = "downloads"
"""Packed files that come; one that was cut off is gone on with."""


class FeedAddress(msgspec.Struct, frozen=True):
    """The file `feed/feed.json`."""

    urls: tuple[Url, ...]
    """Where the feed is; the next one is asked where one does not answer."""


class Installation(NamedTuple):
    """Where it is, and which of its versions runs this process."""

    root: Path
    id: str

    @property
    def launcher(self) -> Path:
        return self.root / (PROGRAM if os.name != "nt" else "hearth.cmd")

    @property
    def current(self) -> str:
        """The version that is started: where none is named, the one that the launcher has found and that runs."""
        return read_id(self.root / CURRENT) or self.id

    def folder(self, version: str) -> Path:
        return self.root / VERSIONS / version

    def release(self, version: str) -> Release | None:
        """What a version is; None: it is not there."""
        return read_json(self.folder(version) / RELEASE_FILE, Release)

    def feed(self) -> tuple[FeedAddress, bytes] | None:
        """Where the feed is, and the root of trust; None: this installation has none."""
        return _feed(self.root / FEED)

    def switch(self, version: str) -> None:
        """Have a version started from now on, and the one so far in case it is not there.

        Raises:
            OSError: it cannot be written; what was started is still started.
        """
        now = self.current
        if now and now != version:
            write_whole(self.root / FORMER, [now.encode()])
        write_whole(self.root / CURRENT, [version.encode()])


def this_installation() -> Installation | None:
    """The installation that this process was started from; None: it is none that updates itself."""
    root = os.environ.get(ROOT, "")
    return Installation(Path(root), os.environ.get(VERSION, "")) if root and Path(root).is_dir() else None


def hindrance() -> Notice | None:
    """Why this Hearth does not update itself; None: it does."""
    build, installation = this_build(), this_installation()
    if build.managed_by_distribution:
        return notice("update.managed")
    if installation is None or not installation.id:
        return notice("update.by_hand" if build.frozen else "update.sources")
    return None


def feed_here() -> tuple[FeedAddress, bytes] | None:
    """The feed of the installation that this process was started from, or of a package that the system updates."""
    installation = this_installation()
    return installation.feed() if installation else _feed(FOLDER / FEED)


def _feed(folder: Path) -> tuple[FeedAddress, bytes] | None:
    try:
        address = msgspec.json.decode(read_regular(folder / FEED_FILE), type=FeedAddress)
        return address, read_regular(folder / ROOT_FILE)
    except (OSError, *UNREADABLE):
        return None


def read_id(path: Path) -> str:
    """The id that a small file holds; "" if it is not there, or holds anything else."""
    try:
        found = ID.fullmatch(read_regular(path, 4096).strip())
    except OSError:
        return ""
    return found[0].decode() if found else ""
