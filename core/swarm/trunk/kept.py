"""Fragments on the disk: all PCs of a run may be off at once, and what was agreed is there when they come back."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path

from core.averaging.fragment import Fragment, dump, load
from core.contracts.errors import ProtocolError
from core.contracts.trunk import PARTS
from core.regular_files import open_regular
from core.store.writing import write_whole

log = logging.getLogger(__name__)

SAVE_S = 20.0
"""Between two times that fragments are written to the disk."""
SUFFIX = ".fragment"
DIGEST = 32
"""Bytes of the SHA-256 that a file begins with."""


class Kept:
    """One folder with a file for each fragment."""

    def __init__(self, folder: Path) -> None:
        """
        Args:
            folder: is made when there is something for it.
        """
        self._folder = folder
        self._lines: dict[int, bytes] = {}
        """Of what is in each file."""
        self._saved = 0.0

    def load(self, most: int) -> dict[int, Fragment]:
        """What is there; a damaged file is as good as none, as others have the fragment too.

        Args:
            most: numbers that a fragment may have.
        """
        found: dict[int, Fragment] = {}
        for part in range(PARTS):
            try:
                with open_regular(self._path(part)) as file:
                    data = file.read()
                if hashlib.sha256(data[DIGEST:]).digest() != data[:DIGEST]:
                    raise ProtocolError("its hash is wrong")
                found[part] = load(data[DIGEST:], most, is_own=True)
                self._lines[part] = found[part].line
            except FileNotFoundError:
                continue
            except (OSError, ProtocolError) as error:
                log.warning("%s cannot be used: %s", self._path(part), error)
        return found

    async def save_now_and_then(self, fragments: Mapping[int, Fragment]) -> None:
        """As `save`, if that is long ago.

        Args:
            fragments: as they are now.
        """
        if time.monotonic() - self._saved > SAVE_S:
            await self.save(fragments)

    async def save(self, fragments: Mapping[int, Fragment]) -> None:
        """Write what has changed; what cannot be written is told in the log, and tried again at the next time.

        Args:
            fragments: as they are now.
        """
        self._saved = time.monotonic()
        for part, fragment in [*fragments.items()]:
            if self._lines.get(part) != fragment.line:
                line = fragment.line
                try:
                    await asyncio.to_thread(self._write, part, fragment.copy())
                    self._lines[part] = line
                except OSError as error:
                    log.warning("%s could not be written: %s", self._path(part), error)

    def _write(self, part: int, fragment: Fragment) -> None:
        data = dump(fragment, is_own=True)
        self._folder.mkdir(exist_ok=True)
        write_whole(self._path(part), (hashlib.sha256(data).digest(), data))

    def _path(self, part: int) -> Path:
        return self._folder / f"{part}{SUFFIX}"
