"""How this peer is reached from outside: its outside address, its NAT, hole punching, relays, client mode, roaming.

Peers of the role backbone are asked what address they see, and to have this PC dialled (`dial_back.py`). Peers behind
NAT meet by dialling each other at the same moment, told to by a peer that both are connected to; where that fails, a
willing peer relays (`relay.py`). Without one, a peer only dials out, and is called over the connections that it opened.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import msgspec

from core.contracts.errors import HearthError
from core.contracts.net import Observe, Observed, Payload
from core.identity import PeerId
from core.net import limits
from core.net.dial_back import DialBacks
from core.net.limits import Newest
from core.net.method import Context
from core.net.nat import Reachability, judge, nat_kind
from core.net.paths import is_direct, seen_at
from core.net.punching import ASK_S, Punching, ensure
from core.net.relay import Relay
from core.net.relayed import RelayEnds
from core.net.roaming import Roaming
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

MEASURE_S = 600.0
"""Home routers change little; a change of network is noticed by itself."""
AGAIN_S = 10.0
"""To the second measurement after a change: connections may still be on their way, and answers of before it."""
UPGRADE_S = 60.0
"""Between two tries to reach directly the peers that are reached through a relay."""
BACKBONES = 4
"""Backbone peers to which a connection is kept: two tell the kind of NAT, the others are spare."""
COMMON_PEERS = 3
"""Peers asked in turn to arrange a meeting or to relay."""


class Reach:
    """Measures and mends how this peer is reached. Use as `async with Reach(node, ...)` inside the node's context.

    Args:
        bootstrap: peers to stay connected with (their addresses learned by the node before).
        backbone: whether this peer has the role backbone: it dials back.
        relays: whether it relays for others.
    """

    def __init__(
        self, node: RpcNode, *, bootstrap: Sequence[PeerId] = (), backbone: bool = False, relays: bool = False
    ) -> None:
        self.node = node
        self.state = Reachability()
        self.relay = Relay(node, willing=relays)
        self._ends = RelayEnds(node, node.identity)
        self._backbone = backbone
        self._bootstrap = list(bootstrap)
        self._helpers = Newest[PeerId, Observed](limits.CONNECTIONS)
        self._punched: PeerId | None = None
        self._measure_now, self._rest_s = asyncio.Event(), MEASURE_S
        self._tasks: list[asyncio.Task[None]] = []
        self._dial_backs = DialBacks(
            node, backbone=backbone, helpers=self.helpers, is_backbone=self._is_backbone, start=self._start
        )
        self._roaming = Roaming(node, self._bootstrap, lambda: self._start(self._moved(), "moved"))
        self._punching = Punching(
            node, nat=lambda: self.state.nat, common=self._common, met=self._met, start=self._start
        )
        node.register("reach.observe", Observe, self._observe)

    async def __aenter__(self) -> "Reach":
        self.node.connectors += [self._punching.connect, self._connect_by_relay]
        self.node.on_connected.append(self._connected)
        for peer in self._bootstrap:
            self.node.keep(peer)
        self._tasks = [
            self.node.start(self._roaming.watch(), "reach: watch"),
            self.node.start(self._measure_often(), "reach: measure"),
            self.node.start(self._upgrade_often(), "reach: upgrade"),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        own = (self._punching.connect, self._connect_by_relay)
        self.node.connectors[:] = [connector for connector in self.node.connectors if connector not in own]
        self.node.on_connected.remove(self._connected)
        tasks = [*self._tasks, *self._roaming.mending.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._ends.close()
        await self.relay.close()

    def helpers(self) -> list[PeerId]:
        """Connected backbone peers."""
        return [peer for peer, answer in self._helpers.items() if answer.backbone and peer in self.node.pool.links]

    # --- measuring

    async def _measure_often(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._rest_s):
                    await self._measure_now.wait()
            except TimeoutError:
                self._rest_s = min(2 * self._rest_s, MEASURE_S)
            await asyncio.sleep(0.2)  # several connections made at once are asked together
            self._measure_now.clear()
            await self.measure()

    async def measure(self) -> Reachability:
        """Ask the connected backbone peers, and conclude."""
        peers = [peer for peer in self.node.pool.links if is_direct(self.node, peer)]
        # Those named by the run or the user come first: others only say that they are backbone peers.
        named = [peer for peer in self._bootstrap if peer in peers]
        asked = [*named, *(peer for peer in peers if peer in self._helpers and peer not in named)][: 2 * BACKBONES]
        answers = dict(zip(asked, await asyncio.gather(*map(self._ask, asked)), strict=True))
        helpers = {peer: answer for peer, answer in answers.items() if answer is not None and answer.backbone}
        seen = {peer: answer.address for peer, answer in helpers.items() if answer.address is not None}
        outside = sorted(set(seen.values()))
        local = self.node.endpoint.addresses()
        nat = nat_kind([*seen.values()], local, int(self.node.endpoint.sockets[0].rpartition(":")[2]))
        dialled_by = await self._dial_backs.measure(seen)
        relays = {peer for peer, answer in helpers.items() if answer.relays}
        kind, step = judge(nat, dialled_by, self._punched if nat != "symmetric" else None, relays)
        before = self.state
        self.state = Reachability(kind, step, time.time(), nat, tuple(outside))
        self.node.external = outside if nat != "symmetric" or dialled_by == "stranger" else []
        # Whom strangers can dial needs nobody to be met. Those that relay first: all of them can arrange a meeting.
        useful = sorted(helpers, key=lambda peer: peer not in relays)[:BACKBONES]
        self.node.relays = () if dialled_by == "stranger" else tuple(useful)
        self.node.dial_only = kind == "dial-out only"
        if before.kind != kind:
            log.info("this PC is %s: %s", kind, step)
        return self.state

    async def _ask(self, peer: PeerId) -> Observed | None:
        try:
            answer, _ = await self.node.call(peer, "reach.observe", Observe(), Observed, deadline_s=ASK_S)
        except HearthError as error:
            log.debug("peer %s did not tell our address: %s", peer.hex()[:8], error)
            self._helpers.pop(peer, None)
            return None
        if answer.backbone or answer.relays or peer in self._bootstrap:
            self._helpers[peer] = answer
            # Those that are gone count: they are dialled for minutes, and anybody can say that it is a backbone peer.
            if len(self.helpers()) <= BACKBONES and len(self.node.pool.kept.difference(self._bootstrap)) < BACKBONES:
                self.node.keep(peer)
        return answer

    async def _is_backbone(self, peer: PeerId) -> bool:
        answer = self._helpers.get(peer) or await self._ask(peer)
        return answer is not None and answer.backbone

    def _connected(self, peer: PeerId) -> None:
        """A new connection: is it a peer that can help?"""
        if is_direct(self.node, peer) and len(self.helpers()) < BACKBONES:
            self._start(self._greet(peer), "greet")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(self.node.start(work, f"reach: {name}"))

    async def _greet(self, peer: PeerId) -> None:
        answer = await self._ask(peer)
        if answer is not None and answer.backbone:
            self._measure_now.set()

    async def _observe(self, request: Observe, payload: Payload, context: Context) -> Observed:
        return Observed(seen_at(self.node, context.peer), self._backbone, self.relay.willing)

    # --- by way of others

    def _common(self, peer: PeerId) -> list[PeerId]:
        """Peers that may know `peer`: those it names, then our helpers."""
        known = self.node.pool.book.get(peer)
        named = [PeerId(relay) for relay in known.relays] if known else []
        found = [other for other in dict.fromkeys([*named, *self.helpers(), *self._helpers]) if other != peer]
        return [other for other in found if other != self.node.peer][:COMMON_PEERS]

    def _met(self, peer: PeerId) -> None:
        """A hole was punched: this peer is punchable, whatever was concluded before."""
        self._punched = peer
        if self.state.kind in ("unknown", "punchable"):
            kind, step = judge(self.state.nat, "nobody", peer, ())
            self.state = msgspec.structs.replace(self.state, kind=kind, step=step, measured=time.time())

    async def _moved(self) -> None:
        self._punched, self._rest_s = None, AGAIN_S
        await self._roaming.probe()
        self._measure_now.set()

    async def _upgrade_often(self) -> None:
        while True:
            await asyncio.sleep(UPGRADE_S)
            await self.upgrade()

    async def upgrade(self) -> None:
        """Try once more to meet each peer that is reached through a relay; a direct connection takes its place."""
        for peer in [link.peer for link in self.node.pool.links.values() if link.connection.relay]:
            await self._punching.connect(peer)

    async def _connect_by_relay(self, peer: PeerId) -> bool:
        for relay in self._common(peer):
            if not await ensure(self.node, relay):
                continue
            try:
                await self._ends.connect(peer, relay)
            except HearthError as error:
                log.debug("no relay through %s: %s", relay.hex()[:8], error)
                continue
            return True
        return False
