"""The gate of a run whose organiser gives tokens: whose token holds, and the list of those that do not any more.

The list goes from peer to peer: each shows the number of the one that it has whenever it introduces itself, and to all
that are connected when it gets a newer one; who has an older one asks for it.
"""

import asyncio
import contextlib
import logging
import time
from pathlib import Path

from core.access import check_holder, opened, void_before
from core.contracts.access import MAX_LIST, AskRevoked, RevokedFollow, RevokedList, Shown, Token
from core.contracts.errors import AccessError, DataFolderError, HearthError
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice, notice
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.identity import PeerId, parse_peer
from core.net.admission import TOKENS
from core.net.limits import Newest
from core.net.method import Context
from core.net.rpc import RpcNode
from core.puzzle import SIZE
from core.store.access_files import REVOKED_FILE, TOKEN_FILE, read_signed, write
from core.swarm.fetching import LIAR_POINTS

log = logging.getLogger(__name__)

READ_REVOKED = "access.revoked"
READ_S = 15.0
PUBLISH_S, LIFE_S = 30.0, 90.0
"""How often a token is published, and for how long."""
STRANGERS_ASKED = 8
"""At once, for a list; of those that are let in, all."""
MEMBERS = 16_384
ENDS_SOON_MS = 3 * 86_400_000
"""Before a token expires its user is told."""


class TokenGate:
    """Of one signed run whose access is by tokens."""

    private = True

    def __init__(self, manifest: Manifest, folder: Path, node: RpcNode, dht: DHTNode) -> None:
        """Let nobody in yet but the organiser, and those that show a token from now on.

        Args:
            manifest: the run's.
            folder: the run's, with this PC's token.
            node: this peer's connections.
            dht: where each peer publishes its token.
        """
        assert manifest.organiser
        self._manifest, self._run_id, self._organiser = manifest, manifest.run_id, manifest.organiser
        self._folder, self._node, self._dht = folder, node, dht
        self._leader = parse_peer(manifest.organiser)
        self._document = b""
        self._own: Token | None = None
        self._revoked = RevokedList(1, self._run_id, 0)
        self._list = b""
        """The list as it was signed."""
        self._void: dict[bytes, int] = {}
        self._tokens = Newest[bytes, Token](MEMBERS)
        """Those that peers have shown, by their keys."""
        self._clock = dht.clock.now() - time.monotonic()
        """Unix seconds less the steady clock's, as of the last look: it is asked at each call."""
        self._files: list[tuple[int, int] | None] = []
        """As they were when they were read last."""
        self._published = 0.0
        self._asked: set[PeerId] = set()
        """For a newer list, now: one that says it has one and gives none holds nobody up."""
        self._method = of_run(READ_REVOKED, self._run_id)
        node.register(self._method, AskRevoked, self._answer, cost=4.0)
        self._read_files()

    # who is let in

    def admits(self, peer: PeerId) -> bool:
        """See `core.net.admission.Gate`. Nobody is, where this PC itself is not."""
        me = self._node.peer
        return self._holds(peer, self._tokens.get(peer)) and (me == peer or self._holds(me, self._own))

    def _holds(self, peer: PeerId, token: Token | None) -> bool:
        """Whether a peer may take part by a token that is its own."""
        if token is None:
            return peer == self._leader
        return token.expires > self._now() and token.issued > self._void.get(peer, -1)

    def showing(self) -> Shown:
        """See `core.net.admission.Gate`."""
        return Shown(self._document, self._revoked.number)

    def meet(self, peer: PeerId, shown: Shown) -> None:
        """See `core.net.admission.Gate`."""
        self._learn(peer, shown.token)
        believed = self.admits(peer) or len(self._asked) < STRANGERS_ASKED
        if shown.number > self._revoked.number and peer not in self._asked and believed:
            self._asked.add(peer)
            self._node.start(self._fetch(peer), "list of the revoked")

    def _learn(self, peer: PeerId, document: bytes) -> None:
        """Take note of a token that a peer shows, if it is its own and of use."""
        if len(document) <= SIZE:  # nothing, or the work that is shown where the run is still open to all
            return
        try:
            token = opened(document, Token, self._run_id, self._organiser)
            check_holder(token, peer, self._now())
        except AccessError as error:
            log.debug("What peer %s shows does not let it in: %s", peer.hex()[:8], error)
            return
        known = self._tokens.get(peer)
        if known is None or token.issued > known.issued:
            self._tokens[peer] = token

    def _now(self) -> int:
        """Unix time in ms, as the swarm has it."""
        return int((time.monotonic() + self._clock) * 1000)

    # what is here

    async def tend(self) -> None:
        """Look for a renewed token or list in the run's folder; publish the token, and read the others'.

        Raises:
            HearthError: a file cannot be read, or nobody answers.
        """
        self._clock = self._dht.clock.now() - time.monotonic()
        if self._read_files():
            self._published = 0.0
            self._node.admission.changed()
        if not self._dht.contacts():
            return
        key = self._run_id + TOKENS
        if self._document and time.monotonic() - self._published > PUBLISH_S:
            await self._dht.store_many({key: {own_subkey(self._node.peer): self._document}}, LIFE_S)
            self._published = time.monotonic()
        for record in (await self._dht.get(key)).values():
            if record.subkey == own_subkey(record.peer) and not record.dead and not self.admits(record.peer):
                self._learn(record.peer, record.value)

    def _read_files(self) -> bool:
        """Read the files that have changed; whether what is shown has."""
        files = [_state(self._folder / name) for name in (TOKEN_FILE, REVOKED_FILE)]
        if files == self._files:
            return False
        self._files, before = files, self.showing()
        self._own, self._document = None, self._kept(TOKEN_FILE)
        with contextlib.suppress(AccessError):
            self._own = opened(self._document, Token, self._run_id, self._organiser)
        with contextlib.suppress(AccessError):
            self._apply(self._kept(REVOKED_FILE))
        return self.showing() != before

    def _kept(self, name: str) -> bytes:
        """A file, or nothing where it cannot be read."""
        try:
            return read_signed(self._folder, name)
        except DataFolderError as error:
            log.warning("Access to %s: %s", self._run_id, error)
            return b""

    def _apply(self, document: bytes) -> bool:
        """Go by a list, if it is newer; whether it is.

        Raises:
            AccessError: it is none of this run's organiser.
        """
        revoked = opened(document, RevokedList, self._run_id, self._organiser)
        if revoked.number <= self._revoked.number:
            return False
        self._revoked, self._void, self._list = revoked, void_before(revoked), document
        for peer in [PeerId(peer) for peer in self._void if peer in self._tokens]:
            if not self.admits(peer):
                del self._tokens[peer]
                self._put_out(peer)
        log.info("List %d of the revoked of %s holds: %d peers.", revoked.number, self._run_id, len(self._void))
        return True

    def _put_out(self, peer: PeerId) -> None:
        """What it has asked for and not got yet ends, and what was asked of it."""
        log.info("Peer %s may take part in %s no more.", peer.hex()[:8], self._run_id)
        if link := self._node.pool.links.get(peer):
            link.close("access revoked")

    # the list among peers

    async def _fetch(self, peer: PeerId) -> None:
        try:
            ask = AskRevoked(self._revoked.number)
            _, document = await self._node.call(peer, self._method, ask, RevokedFollow, deadline_s=READ_S)
            if not document:
                return
            if len(document) > MAX_LIST:
                raise AccessError(notice("access.unreadable", why=f"{len(document)} bytes"))
            if self._apply(document):
                self._node.admission.changed()  # others learn of it also where this disk is full
                await asyncio.to_thread(write, self._folder, REVOKED_FILE, document)
                self._files = [_state(self._folder / name) for name in (TOKEN_FILE, REVOKED_FILE)]
        except AccessError as error:
            self._node.strike(peer, LIAR_POINTS)
            log.warning("Peer %s gave no list of the revoked of %s: %s", peer.hex()[:8], self._run_id, error)
        except HearthError as error:
            log.info("Peer %s gave no list of the revoked of %s: %s", peer.hex()[:8], self._run_id, error)
        finally:
            self._asked.discard(peer)

    async def _answer(self, ask: AskRevoked, _: bytes, __: Context) -> tuple[RevokedFollow, bytes]:
        return RevokedFollow(), self._list if ask.above < self._revoked.number else b""

    # what the user is told

    @property
    def barred(self) -> Notice | None:
        """Why this PC is not let in; None: it is."""
        title, me = self._manifest.title, self._node.peer
        if me == self._leader:
            return None
        if self._own is None:
            return notice("access.no_token", run=title)
        if self._own.issued <= self._void.get(me, -1):
            return notice("access.was_revoked", run=title)
        try:
            check_holder(self._own, me, self._now())
        except AccessError as error:
            return notice("access.token_useless", run=title, why=error.notice)
        return None

    @property
    def notes(self) -> list[Notice]:
        """That this PC is let in for a short time only."""
        own = self._own
        if own is None or self.barred or own.expires - self._now() >= ENDS_SOON_MS:
            return []
        return [notice("access.ends_soon", run=self._manifest.title, at=own.expires / 1000)]


def keep_token(folder: Path, manifest: Manifest, document: bytes, me: PeerId) -> None:
    """Keep a token with which its organiser lets this PC into a run.

    Args:
        folder: the run's.
        manifest: the run's.
        document: the token, with its signature.
        me: this PC's key.

    Raises:
        AccessError: it is not of that run, organiser, peer or time.
        DataFolderError: it cannot be written.
    """
    token = opened(document, Token, manifest.run_id, str(manifest.organiser))
    check_holder(token, me, int(time.time() * 1000))
    write(folder, TOKEN_FILE, document)


def _state(path: Path) -> tuple[int, int] | None:
    """By which it is seen that a file was replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
