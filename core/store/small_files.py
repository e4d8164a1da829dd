"""The worker's small files: read when it starts, written by a thread of their own.

Each is on the disk before it counts (fsync), which a slow disk takes seconds for: no decision and no answer waits.
"""

import contextlib
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.contracts.errors import UNREADABLE, DataFolderError
from core.contracts.notices import Notice, notice
from core.regular_files import read_regular
from core.store.settings_file import aside, write_atomically

log = logging.getLogger(__name__)

File = TypeVar("File")


class Files:
    """The files of one data folder, by name. One writes at a time, in the order of the first `save` of each; of a
    file that waits only the newest content is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: dict[str, Notice] = {}
        """For the user, about files that could not be used, by name."""
        self._writer = ThreadPoolExecutor(1, "files")
        self._waiting: dict[str, tuple[bytes, Future[None]]] = {}
        self._lock = threading.Lock()

    def read(self, name: str, kind: type[File], loss: Notice) -> File:
        """What was saved, or a new `kind` if there is nothing. A damaged file is set aside, and the user told.

        Args:
            name: the file.
            kind: its type.
            loss: what its loss leads to.
        """
        path = self.folder / name
        try:
            return msgspec.json.decode(read_regular(path), type=kind)
        except FileNotFoundError:
            return kind()
        except (*UNREADABLE, OSError) as error:
            kept = notice("file.left")
            with contextlib.suppress(OSError):
                kept = notice("file.kept", name=path.replace(aside(path)).name)
            self.notes[name] = notice("file.unreadable", name=path.name, why=str(error), kept=kept, loss=loss)
            log.warning("%s", self.notes[name])
            return kind()

    def save(self, name: str, content: Any, loss: Notice | None = None) -> "Future[None]":
        """Write a file soon.

        Args:
            name: the file.
            content: bytes, or what is encoded as JSON now.
            loss: said in the log should it fail.

        Returns:
            Done when this content, or a newer one, is on the disk; DataFolderError if it cannot be written.
        """
        data = content if isinstance(content, bytes) else msgspec.json.encode(content)
        with self._lock:
            waiting = self._waiting.get(name)
            done = waiting[1] if waiting else self._writer.submit(self._write, name, loss)
            self._waiting[name] = data, done
            return done

    def _write(self, name: str, loss: Notice | None) -> None:
        with self._lock:
            data, _ = self._waiting.pop(name)
        try:
            write_atomically(self.folder / name, data)
        except DataFolderError as error:
            log.warning("%s %s", error, loss or "")
            raise

    def flush(self) -> None:
        """Wait until all that was saved so far is on the disk."""
        self._writer.submit(lambda: None).result()
