"""The states that compute saves on this PC: of each part's newest one a copy is kept, to be given to others."""

import asyncio
from collections.abc import Callable, Iterable

from core.contracts.files import PartFile
from core.store.run_files import RunFiles


class OwnStates:
    """Keeps them one after the other in the background: the disk may be slow, or have all of each file copied, and the
    user may come back meanwhile."""

    def __init__(self, files: RunFiles, kept: Callable[[], object]) -> None:
        """
        Args:
            files: Of the run, on this disk.
            kept: Called when all are kept.
        """
        self._files, self._kept = files, kept
        self._waiting: dict[str, str] = {}
        """By part the hash of its newest state, while no copy of that is kept."""
        self._task: asyncio.Task[None] | None = None

    def keep(self, files: Iterable[PartFile]) -> None:
        """Keep these soon, and older ones of the same parts no more."""
        self._waiting |= {file.part: file.sha256 for file in files}
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._keep_all(), name="copies of own states")

    def is_coming(self, part: str) -> bool:
        """Whether a newer state of a part is there, and will be kept."""
        return part in self._waiting

    async def done(self) -> None:
        """Wait until all are kept."""
        if self._task:
            await asyncio.wait([self._task])

    async def _keep_all(self) -> None:
        while self._waiting:
            part, sha256 = next(iter(self._waiting.items()))
            try:
                await self._files.keep(sha256)
            finally:
                if self._waiting.get(part) == sha256:
                    del self._waiting[part]
        self._kept()
