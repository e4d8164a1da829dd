"""Who trained a state: its host signs it for those that keep it, and they tell the signature with it.

What a peer tells in the DHT, or says over its own connection, it answers for: where no trainer is named there, it says
that it trained the state itself. That goes for all files of a data folder from before there were signatures. A keeper
that names another trainer has to show that one's signature of exactly this version, these samples and this content. So
it can claim nothing for others, and who vouches for a lie is known wherever the lie is kept.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from core.contracts.errors import UNREADABLE
from core.contracts.files import PartFile, Sha256, SignedFile
from core.identity import Identity, PeerId, verify
from core.net.limits import Newest
from core.regular_files import read_regular
from core.store.writing import write_whole

log = logging.getLogger(__name__)

CONTEXT = b"hearth state 1\0"
"""A key signs nothing else with it."""
VERIFIED = 16_384
"""Signatures that need not be verified again."""
_decode = msgspec.msgpack.Decoder(dict[Sha256, tuple[bytes, bytes]]).decode


class Signatures:
    """Those of one run's states that are kept here for other trainers."""

    def __init__(self, run_id: str, identity: Identity, path: Path) -> None:
        """
        Args:
            run_id: the run.
            identity: that of this PC.
            path: where they outlive this process.
        """
        self._run_id, self._identity, self._path = run_id, identity, path
        self._known = Newest[str, tuple[bytes, bytes]](VERIFIED)
        """By hash: trainer and signature."""
        self._saved: dict[str, tuple[bytes, bytes]] = {}
        self._verified = Newest[bytes, None](VERIFIED)

    def told(self, file: PartFile) -> SignedFile:
        """What is told in the DHT of a file: with the signature of its trainer, if that is another peer.

        Args:
            file: that is here.
        """
        return SignedFile.of(file, *self._known.get(file.sha256, (b"", b"")))

    def given(self, file: PartFile) -> SignedFile:
        """What a keeper is told with a file that it is given. Who has it kept hosts the part, and has trained or tried
        it: this PC signs it, whoever did before.

        Args:
            file: that is here.
        """
        return SignedFile.of(file, self._identity.peer, self._identity.sign(self._statement(file)))

    def trainer(self, signed: SignedFile, teller: PeerId) -> PeerId | None:
        """Who answers for a state; None: it is signed wrongly.

        Args:
            signed: as it was told.
            teller: who told it.
        """
        if not signed.trainer:
            return teller
        trainer, statement = PeerId(signed.trainer), self._statement(signed.file)
        seen = signed.trainer + signed.signature + statement
        if seen not in self._verified:
            if not verify(trainer, statement, signed.signature):
                return None
            self._verified[seen] = None
        return trainer

    def remember(self, signed: SignedFile) -> None:
        """Tell from now on who trained a state that comes here.

        Args:
            signed: as it was told, and its signature found right.
        """
        if signed.trainer and signed.trainer != self._identity.peer:
            self._known[signed.sha256] = signed.trainer, signed.signature

    async def load(self) -> None:
        """What was known before; if that is lost, this PC answers for what it keeps."""
        try:
            self._saved = _decode(await asyncio.to_thread(read_regular, self._path))
            self._known.update(self._saved)
        except FileNotFoundError:
            return
        except (*UNREADABLE, OSError) as error:
            log.warning("%s cannot be read: %s", self._path, error)

    async def save(self, get: Callable[[str], PartFile | None]) -> None:
        """Write down what has changed.

        Args:
            get: a file that is here, by its hash.
        """
        known = {sha256: known for sha256, known in self._known.items() if get(sha256)}
        if known != self._saved:
            try:
                await asyncio.to_thread(write_whole, self._path, [msgspec.msgpack.encode(known)])
                self._saved = known
            except OSError as error:
                log.warning("%s could not be written: %s", self._path, error)

    def _statement(self, file: PartFile) -> bytes:
        return CONTEXT + msgspec.msgpack.encode((self._run_id, file))
