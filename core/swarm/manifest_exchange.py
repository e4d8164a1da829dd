"""The signed manifest of a run among its peers: a newcomer is given it, and a newer one goes from peer to peer.

Each peer asks one other now and then whether that has a newer one. What comes is believed if the run's organiser has
signed it and it may take the place of the one that is here; it is kept in the run's folder, and holds from when the run
is begun anew.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from pathlib import Path

from core.contracts.errors import HearthError, ManifestError, NetworkError, NotServed
from core.contracts.hosting import AskManifest, ManifestFollows
from core.contracts.manifest import MAX_BYTES, Manifest, decode
from core.contracts.net import PeerAddress, of_run
from core.contracts.notices import Notice, notice
from core.contracts.run_link import RunLink
from core.contracts.signed import opened
from core.contracts.succession import check_successor
from core.identity import PeerId, parse_peer
from core.net.addresses import known_addresses
from core.net.method import Context
from core.net.rpc import RpcNode
from core.regular_files import read_regular
from core.store.settings_file import write_atomically
from core.swarm.fetching import LIAR_POINTS

log = logging.getLogger(__name__)

READ_MANIFEST = "run.manifest"
READ_S = 15.0
"""For 1 MB at 70 KB/s, and the dial."""
COST = 8.0
"""Calls: it may read and send 1 MB."""
UNUSABLE_S = 600.0
"""Until others are asked again, after what this Hearth cannot use."""


class ManifestExchange:
    """Of one signed run."""

    def __init__(self, manifest: Manifest, path: Path, node: RpcNode, others: Callable[[str], list[str]]) -> None:
        """Begin to answer.

        Args:
            manifest: the run's, as it holds now.
            path: where its signed form is kept.
            node: this peer's connections.
            others: the run's other peers, in an order that the name of a part makes (`Members.keepers`).
        """
        self._path, self._node, self._others = path, node, others
        self._held = self._newest = manifest
        self._method = of_run(READ_MANIFEST, manifest.run_id)
        self._unusable: Notice | None = None
        self._rests_until = 0.0
        node.register(self._method, AskManifest, self._answer, cost=COST)

    @property
    def successor(self) -> Manifest | None:
        """The newer manifest that is to take this one's place, if one has come."""
        return None if self._newest is self._held else self._newest

    @property
    def notes(self) -> list[Notice]:
        """What the user is told."""
        return [self._unusable] if self._unusable else []

    async def tend(self) -> None:
        """Ask another peer for a newer manifest.

        Raises:
            NetworkError: it did not answer.
            DataFolderError: what came cannot be kept.
        """
        others = self._others(self._method)
        if not others or time.monotonic() < self._rests_until:
            return
        peer = parse_peer(random.choice(others))
        document = await _ask(self._node, peer, self._held.run_id, self._newest.revision)
        if document and (found := self._believed(peer, document)):
            await asyncio.to_thread(write_atomically, self._path, document)
            self._newest, self._unusable = found, None
            log.info("Revision %d of the manifest of %s has come.", found.revision, found.run_id)

    def _believed(self, peer: PeerId, document: bytes) -> Manifest | None:
        try:
            organiser, _ = opened(document)
            if organiser != self._held.organiser:
                raise ManifestError(notice("manifest.forged", organiser=str(self._held.organiser)[:8]))
            if (found := self._understood(document)) is not None:
                check_successor(self._newest, found)
            return found
        except ManifestError as error:
            self._node.strike(peer, LIAR_POINTS)
            log.warning("Peer %s gave no newer manifest of %s: %s", peer.hex()[:8], self._held.run_id, error)
            return None

    def _understood(self, document: bytes) -> Manifest | None:
        """What the organiser has signed, if this Hearth can use it: whoever gave it is not to blame."""
        try:
            return decode(document, self._held.run_id)
        except ManifestError as error:
            self._rests_until = time.monotonic() + UNUSABLE_S
            self._unusable = notice("run.successor_unusable", why=error.notice)
            log.warning("%s", self._unusable)
            return None

    async def _answer(self, ask: AskManifest, _: bytes, __: Context) -> tuple[ManifestFollows, bytes]:
        """The document, if it is newer than what the asker has."""
        if ask.above >= self._newest.revision:
            return ManifestFollows(), b""
        return ManifestFollows(), await asyncio.to_thread(read_regular, self._path, MAX_BYTES)


async def _ask(node: RpcNode, peer: PeerId, run_id: str, above: int) -> bytes:
    """The signed manifest of a run as a peer has it, unread; nothing if it has none that is newer.

    Args:
        node: this peer's connections.
        peer: who is asked.
        run_id: the run.
        above: the revision that is here; 0: none.

    Raises:
        NetworkError: it does not answer, or not for such a run, or with too much.
    """
    ask = AskManifest(above)
    _, document = await node.call(peer, of_run(READ_MANIFEST, run_id), ask, ManifestFollows, deadline_s=READ_S)
    if len(document) > MAX_BYTES:
        raise NetworkError(f"Peer {peer.hex()[:8]} gave {len(document)} bytes as a manifest.")
    return document


async def fetch_manifest(node: RpcNode, link: RunLink) -> tuple[Manifest, bytes]:
    """The signed manifest of a run that was not joined yet, and its document. All peers of the link are asked at once,
    and the newest that is right is taken.

    Args:
        node: this peer's connections.
        link: what leads to the run.

    Raises:
        NetworkError: none of them gave it.
        ManifestError: what they gave is not of that run and organiser, or not to be used here.
    """
    found: list[tuple[Manifest, bytes]] = []
    wrong: list[HearthError] = []

    async def ask(address: PeerAddress) -> None:
        try:
            node.learn(address)
            document = await _ask(node, PeerId(address.peer), link.run_id, 0)
            found.append((_of_link(decode(document, link.run_id), link), document))
        except HearthError as error:
            left = isinstance(error, NotServed)
            wrong.append(NetworkError(notice("run.link_not_there", peer=address.peer.hex())) if left else error)
            log.info("Peer %s gave no manifest of %s: %s", address.peer.hex()[:8], link.run_id, error)

    await asyncio.gather(*(ask(address) for address in known_addresses(link.peers) if address.peer != node.peer))
    if found:
        return max(found, key=lambda one: one[0].revision)
    for error in wrong:
        if isinstance(error, ManifestError):
            raise error
    raise NetworkError(notice("run.link_nobody", run=link.run_id, why=[one.notice for one in wrong]))


def _of_link(manifest: Manifest, link: RunLink) -> Manifest:
    if manifest.organiser != link.organiser:
        raise ManifestError(notice("manifest.other_organiser", run=link.run_id, organiser=link.organiser))
    if manifest.run_id != link.run_id:
        raise ManifestError(notice("manifest.other_run", run=link.run_id, found=manifest.run_id))
    return manifest
