"""Networks that change and links that are cut: noticed, and mended."""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Sequence

from core.contracts.errors import HearthError
from core.contracts.net import Observe, Observed
from core.identity import PeerId
from core.net.rpc import RpcNode
from core.net.shaping import Seen

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often this PC's own addresses and lost connections are looked at."""
MEND_S = (1.0, 2.0, 4.0)
"""Pauses between tries to dial a lost peer; with `MEND_DIAL_S` the longest gap is under 10 s."""
MEND_DIAL_S = 3.0
MEND_TRIES = 150
"""Some ten minutes; then only the peers named by the run or the user are still dialled."""
PROBE_S = 1.5
"""After a change of network a connection must answer within this, or is made anew."""


class Roaming:
    """Stays connected with the peers named by the run or the user, and with those that the node keeps.

    Args:
        moved: called when this PC's addresses have changed.
    """

    def __init__(self, node: RpcNode, bootstrap: Sequence[PeerId], moved: Callable[[], None]) -> None:
        self.node = node
        self.mending: dict[PeerId, asyncio.Task[None]] = {}
        self._bootstrap = bootstrap
        self._moved = moved

    async def watch(self) -> None:
        """Notice how fast this PC's line is, changes of its addresses, and lost peers; mend these."""
        before = frozenset(self.node.endpoint.addresses())
        while True:
            local = frozenset(self.node.endpoint.addresses())
            if local != before:
                before = local
                log.info("this PC's network changed")
                for link in self.node.pool.links.values():
                    link.lanes.renew()
                self.node.shaper.seen = Seen()  # it is another line
                self._moved()
            self.node.shaper.seen.note(self.node.moved(), time.monotonic())
            self._mend_lost()
            await asyncio.sleep(LOOK_S)

    def _mend_lost(self) -> None:
        for peer in self._wanted() - self.node.pool.links.keys() - self.mending.keys():
            self.mending[peer] = self.node.start(self._mend(peer), "reach: mend")

    def _wanted(self) -> set[PeerId]:
        return {*self._bootstrap, *self.node.pool.kept}

    async def _mend(self, peer: PeerId) -> None:
        """Dial until the peer is back; its turn comes again while it is wanted."""
        try:
            for tries in itertools.count():
                if tries >= MEND_TRIES and peer not in self._bootstrap:
                    self.node.keep(peer, False)
                known = self.node.pool.book.get(peer)
                try:
                    if known is not None and known.addresses:
                        await self.node.pool.dial_at(peer, known.addresses, MEND_DIAL_S)
                    if tries % 3 == 0:
                        await self.node.pool.link(peer)  # also by the connectors
                except HearthError as error:
                    log.debug("peer %s is not back: %s", peer.hex()[:8], error)
                if peer in self.node.pool.links or peer not in self._wanted():
                    return
                await asyncio.sleep(MEND_S[min(tries, len(MEND_S) - 1)])
        finally:
            del self.mending[peer]

    async def probe(self) -> None:
        """After a change of network: replace the connections that did not survive it."""
        await asyncio.gather(*(self._probe(peer) for peer in self._wanted() & self.node.pool.links.keys()))
        self._mend_lost()

    async def _probe(self, peer: PeerId) -> None:
        link = self.node.pool.links.get(peer)
        try:
            await self.node.call(peer, "reach.observe", Observe(), Observed, deadline_s=PROBE_S)
        except HearthError:
            if link is not None and self.node.pool.links.get(peer) is link:
                link.close("the network changed")
