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

from core.contracts.errors import DataFolderError
from core.store.settings_file import aside, write_atomically

log = logging.getLogger(__name__)

File = TypeVar("File")


class Files:
    """The files of one data folder, by name. One writes at a time, in the order of the first `save` of each; of a
    file that waits only the newest content is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: dict[str, str] = {}
        """Sentences for the user about files that could not be used, by name."""
        self._writer = ThreadPoolExecutor(1, "files")
        self._waiting: dict[str, tuple[bytes, Future[None]]] = {}
        self._lock = threading.Lock()

    def read(self, name: str, kind: type[File], loss: str) -> File:
        """What was saved, or a new `kind` if there is nothing. A damaged file is set aside, and the user told.

        Args: the file, its type, and a sentence on what its loss leads to.
        """
        path = self.folder / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except FileNotFoundError:
            return kind()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
            kept = "It was left as it is."
            with contextlib.suppress(OSError):
                kept = f"It was kept as {path.replace(aside(path)).name}."
            self.notes[name] = f"{path.name} could not be read ({error}). {kept} {loss}"
            log.warning("%s", self.notes[name])
            return kind()

    def save(self, name: str, content: Any, loss: str = "") -> "Future[None]":
        """Write a file soon.

        Args: the file, its content (bytes, or what is encoded as JSON now), a sentence for the log should it fail.

        Returns:
            Done when this content, or a newer one, is on the disk; DataFolderError if it cannot be written.
        """
        data = content if isinstance(content, bytes) else msgspec.json.encode(content)
        with self._lock:
            waiting = self._waiting.get(name)
            done = waiting[1] if waiting else self._writer.submit(self._write, name, loss)
            self._waiting[name] = data, done
            return done

    def _write(self, name: str, loss: str) -> None:
        with self._lock:
            data, _ = self._waiting.pop(name)
        try:
            write_atomically(self.folder / name, data)
        except DataFolderError as error:
            log.warning("%s", f"{error} {loss}".rstrip())
            raise

    def flush(self) -> None:
        """Wait until all that was saved so far is on the disk."""
        self._writer.submit(lambda: None).result()
