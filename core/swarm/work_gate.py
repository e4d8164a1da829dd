"""The gate of runs that are open to everybody: a peer's key has cost it some work (`core.puzzle`).

One for all such runs of this PC: the work is done once for each key.
"""

import asyncio
import logging
from pathlib import Path

from core.contracts.access import Shown
from core.contracts.errors import DataFolderError
from core.identity import PeerId
from core.net.limits import Newest
from core.puzzle import SIZE, solve, solves
from core.regular_files import read_regular
from core.store.settings_file import write_atomically

log = logging.getLogger(__name__)

FILE = "identity.work"
"""In the data folder: the answer for its key, in hexadecimal digits."""
PROVED = 65_536
"""Keys remembered."""


class WorkGate:
    """Lets those in whose work was done."""

    private = False

    def __init__(self, folder: Path, me: PeerId) -> None:
        """Nobody is known yet, and nobody lets this PC in before `work`.

        Args:
            folder: the data folder.
            me: this PC's key.
        """
        self._path, self._me = folder / FILE, me
        self._shown = Shown()
        self._proved = Newest[PeerId, bool](PROVED)

    async def work(self) -> None:
        """Do the work for this PC's key, unless it was done; it takes a second or two."""
        try:
            answer = bytes.fromhex(read_regular(self._path, 4 * SIZE).decode("ascii"))
        except (OSError, ValueError):
            answer = b""
        if not solves(self._me, answer):
            log.info("Working for a second or two, so that other peers let this key in.")
            answer = await asyncio.to_thread(solve, self._me)
            try:
                await asyncio.to_thread(write_atomically, self._path, answer.hex().encode() + b"\n")
            except DataFolderError as error:
                log.warning("The work will be done again at the next start: %s", error)
        self._shown = Shown(answer)

    def admits(self, peer: PeerId) -> bool:
        """See `core.net.admission.Gate`."""
        return peer in self._proved

    def showing(self) -> Shown:
        """See `core.net.admission.Gate`."""
        return self._shown

    def meet(self, peer: PeerId, shown: Shown) -> None:
        """See `core.net.admission.Gate`."""
        if peer not in self._proved and solves(peer, shown.token):
            self._proved[peer] = True
