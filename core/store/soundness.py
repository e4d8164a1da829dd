"""Which of a PC's files of parts are whole: an older state may go only if the newer one is. To know it, gigabytes are
read at first: nobody who has little time waits for that."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from core.contracts.files import PartFile
from core.store.checkpoint_files import is_whole


class Soundness:
    """What is known of it."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[Path, dict[str, bool]] = {}
        """By folder and hash."""
        self.unknown: set[tuple[Path, PartFile]] = set()
        """What was asked about and is to be checked."""
        self._checking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def wrote(self, folder: Path, files: Iterable[PartFile]) -> None:
        """These were written or checked just now; what was known of others in the folder counts no more."""
        self._known[folder] = {file.sha256: True for file in files}

    def of(self, folder: Path, file: PartFile) -> bool | None:
        """Whether a file is whole; None: it is to be checked. From any thread."""
        known = self._known.get(folder, {}).get(file.sha256)
        if known is None:
            self.unknown.add((folder, file))
        return known

    async def check(self) -> None:
        """Check what is to be checked."""
        async with self._checking:
            while self.unknown:
                folder, file = self.unknown.pop()
                if file.sha256 not in self._known.get(folder, {}):
                    whole = await asyncio.to_thread(is_whole, folder, file)
                    self._known.setdefault(folder, {})[file.sha256] = whole

    def check_soon(self) -> asyncio.Task[None]:
        """Check it in the background."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.check(), name="which files are whole")
        return self._task
