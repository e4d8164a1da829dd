"""How fast this PC's line sends: tried with peers beyond the local network, a few seconds once in each network.

There is no server to measure against. The first such peers that connect are sent up to four payloads, each larger than
the one before, and answer with its hash, so that none can answer before all of it is there. The best rate counts: a
slow peer says nothing about this line. Whoever is asked takes no more of that from one peer, nor from all together,
than is harmless, and sends back 32 bytes.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable

from core.contracts.errors import CallRefused, HearthError
from core.contracts.net import LINE_TEST, AskLine, LineTested
from core.identity import PeerId
from core.net.addresses import host_of
from core.net.limits import FAULTY_PEERS, KIB, MIB, Newest, TokenBucket
from core.net.link import Link
from core.net.method import Context
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

SIZES = 64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB
"""Bytes of the payloads."""
ENOUGH_S = 0.5
"""A payload that took so long is the last: a slow line is kept busy for a few seconds, a fast one for less."""
STEP_S = 10.0
"""For one payload."""
PEERS = 2
"""With which it is tried."""
OF_PEER = sum(SIZES) / 3600, 2.0 * sum(SIZES)
"""Bytes a second that one peer may send here for its test, and at once: one an hour, and two."""
OF_ALL = 16.0 * KIB, 12.0 * MIB
"""Bytes a second that all together may, and at once."""


class LineTest:
    """Of one node."""

    def __init__(self, node: RpcNode, found: Callable[[float], None]) -> None:
        """It begins with the first peer that connects.

        Args:
            node: whose line it is. What its user has limited is not tried.
            found: is told each rate that is the best so far in this network, bytes a second.
        """
        self._node, self._found = node, found
        self._network: frozenset[str] = frozenset()
        """This PC's own addresses while it was tried last."""
        self._tried: set[PeerId] = set()
        self._best = 0.0
        self._busy = False
        self._from_peers = Newest[PeerId, TokenBucket](FAULTY_PEERS)
        self._from_all = TokenBucket(*OF_ALL)
        node.register(LINE_TEST, AskLine, self._answer, max_payload=max(SIZES))
        node.lets[LINE_TEST] = self._lets
        node.on_connected.append(self._met)

    def _lets(self, peer: PeerId, size: int) -> bool:
        if self._node.shaper.download.rate:  # the user's own limit, or the last of the month's traffic
            return False
        of_peer = self._from_peers[peer] = self._from_peers.get(peer) or TokenBucket(*OF_PEER)
        now = time.monotonic()
        return of_peer.allows(size, now) and self._from_all.allows(size, now)

    def _answer(self, request: AskLine, payload: bytes, context: Context) -> LineTested:
        return LineTested(hashlib.sha256(payload).digest())

    def _met(self, peer: PeerId) -> None:
        link = self._node.pool.links.get(peer)
        if link is None or link.near or link.connection.relay or self._busy or self._node.shaper.upload.rate:
            return
        network = frozenset(map(host_of, self._node.endpoint.addresses()))
        if network != self._network:
            self._network, self._tried, self._best = network, set(), 0.0
        if peer not in self._tried and len(self._tried) < PEERS:
            self._tried.add(peer)
            self._busy = True
            self._node.start(self._try(link), "line test")

    async def _try(self, link: Link) -> None:
        try:
            for size in SIZES:
                payload, began = os.urandom(size), time.monotonic()
                reply, _ = await self._node.call(
                    link.peer, LINE_TEST, AskLine(), LineTested, payload, deadline_s=STEP_S
                )
                seconds = time.monotonic() - began
                if reply.sha256 != hashlib.sha256(payload).digest():
                    self._node.strike(link.peer, 5.0)
                    return
                rate = size / seconds  # the way there and back counts as well: a little less than the line can do
                if rate > self._best:
                    self._best = rate
                    self._found(rate)
                if seconds > ENOUGH_S:
                    return
        except HearthError as error:
            if isinstance(error, CallRefused):
                self._tried.discard(link.peer)  # another time, or another peer
            log.debug("the line was not tried with peer %s: %s", link.peer.hex()[:8], error)
        finally:
            self._busy = False
