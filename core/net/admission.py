"""Who may take part in the runs here: what peers show each other of that, and the one place where it is asked.

Whoever calls a method of a run that has a gate, or reads or stores records of one in the DHT, has introduced itself
over the connection before, whose other end is the key that it names (TLS): what it shows is of use to that key alone,
and nothing can be replayed by another one or to another receiver. The answer introduces the other side likewise. When
something that is shown here changes, it is shown to all that are connected.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from core.contracts.access import Introduction, Shown
from core.contracts.errors import CallRefused, HearthError
from core.contracts.net import Payload
from core.contracts.notices import notice
from core.identity import PeerId
from core.net.link import Link
from core.net.method import Context

log = logging.getLogger(__name__)

SHOW = "access.show"
SHOW_S = 4.0
SHOW_COST = 8.0
"""Calls: it may check a signature for each run."""
OPEN_METHODS = frozenset({"run.manifest", "access.revoked"})
"""What is given to those who are not in: what they join, and why they are not."""
TOKENS = ".access"
"""The end of the key of the DHT under which each peer of a run publishes what it shows."""
ReplyT = TypeVar("ReplyT", bound=msgspec.Struct)


class Gate(Protocol):
    """Who is let into one run."""

    private: bool
    """Whether its records are for those alone who are let in, and only these are believed."""

    def admits(self, peer: PeerId) -> bool:
        """Whether a peer may take part now."""

    def showing(self) -> Shown:
        """What this PC shows to those who are let in."""

    def meet(self, peer: PeerId, shown: Shown) -> None:
        """Take note of what a peer shows."""


class Node(Protocol):
    """What is asked of the node."""

    peer: PeerId

    def register(
        self,
        name: str,
        request: type[Introduction],
        handler: Callable[[Introduction, Payload, Context], Introduction],
        *,
        cost: float,
    ) -> None:
        """See `RpcNode.register`."""

    async def call(
        self, peer: PeerId, name: str, request: msgspec.Struct, reply: type[ReplyT], *, deadline_s: float
    ) -> tuple[ReplyT, bytes]:
        """See `RpcNode.call`."""

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """See `RpcNode.start`."""


class Admission:
    """Of one peer: its runs' gates."""

    def __init__(self, node: Node, links: Callable[[], Iterable[Link]]) -> None:
        """No run has a gate yet.

        Args:
            node: this peer's calls.
            links: gives its connections.
        """
        self._node, self._links = node, links
        self._gates: dict[str, Gate] = {}
        """By run id."""
        self._private = False
        """Whether one of them is."""
        self._edition = 0
        """Of what is shown."""
        self._shown: WeakKeyDictionary[Link, int] = WeakKeyDictionary()
        """The edition that was shown over each connection."""
        self._showing: WeakKeyDictionary[Link, asyncio.Future[None]] = WeakKeyDictionary()
        node.register(SHOW, Introduction, self._on_show, cost=SHOW_COST)

    def guard(self, run_id: str, gate: Gate) -> None:
        """Ask a gate about the run from now on."""
        self._gates[run_id] = gate
        self._private |= gate.private
        self.changed()

    def unguard(self, run_id: str) -> None:
        """The run is not here any more."""
        self._gates.pop(run_id, None)
        self._private = any(gate.private for gate in self._gates.values())

    def changed(self) -> None:
        """What is shown has changed: show it to all that are connected."""
        self._edition += 1
        for link in [*self._links()]:
            self._show_soon(link)

    def is_stranger(self, peer: PeerId) -> bool:
        """Whether runs are guarded here, and the peer may take part in none of them."""
        return bool(self._gates) and not any(gate.admits(peer) for gate in self._gates.values())

    def admits(self, peer: PeerId, run_id: str) -> bool:
        """Whether a peer may take part in a run, as far as that is guarded here."""
        gate = self._gates.get(run_id)
        return gate is None or peer == self._node.peer or gate.admits(peer)

    def admits_call(self, peer: PeerId, name: str) -> bool:
        """Whether a peer may be answered.

        Args:
            peer: who calls.
            name: of a method.
        """
        method, _, run_id = name.partition("@")
        return not self._gates or method in OPEN_METHODS or self.admits(peer, run_id)

    def lets_store(self, peer: PeerId, key: str) -> bool:
        """Whether a peer may bring records to the DHT.

        Args:
            peer: who calls.
            key: the record's, which begins with the id of a run.
        """
        return not self._gates or self.admits(peer, key.partition(".")[0])

    def is_inside(self, peer: PeerId, key: str) -> bool:
        """Whether a run is here, or none is, and a peer may take part in it.

        Args:
            peer: who brings or publishes a record.
            key: the record's.
        """
        gate = self._gates.get(key.partition(".")[0])
        return not self._gates or (gate is not None and (peer == self._node.peer or gate.admits(peer)))

    def lets_read(self, peer: PeerId, key: str) -> bool:
        """Whether a peer may be told of records of the DHT.

        Args:
            peer: who asks.
            key: the records'.
        """
        if not self._private:
            return True
        gate = self._gates.get(key.partition(".")[0])
        return gate is None or not gate.private or peer == self._node.peer or gate.admits(peer)

    def believes(self, publisher: PeerId, key: str) -> bool:
        """Whether a record that was read is to be believed.

        Args:
            publisher: who has signed it.
            key: its key; who publishes its token there is not known yet.
        """
        return key.endswith(TOKENS) or self.lets_read(publisher, key)

    async def before_call(self, link: Link, name: str) -> None:
        """Have this PC introduced before it calls.

        Args:
            link: to whom.
            name: of the method.

        Raises:
            CallRefused: the other side may not take part in the run.
        """
        method, _, run_id = name.partition("@")
        if method in OPEN_METHODS or (run_id not in self._gates and not self._asks(name)):
            return
        if self._shown.get(link) != self._edition:
            await asyncio.wait([self._show_soon(link)])
        if not self.admits(link.peer, run_id):
            raise CallRefused(notice("access.peer_without", peer=link.peer.hex(), run=run_id))

    def _asks(self, name: str) -> bool:
        """Whether who answers a method of the DHT asks who calls."""
        return bool(self._gates) and (name == "dht.store" or (name == "dht.find_value" and self._private))

    def forget(self, link: Link) -> None:
        """The other side did not know this PC: it is introduced again before the next call."""
        self._shown.pop(link, None)

    def _show_soon(self, link: Link) -> asyncio.Future[None]:
        """One introduction at a time over one connection."""
        under_way = self._showing.get(link)
        if under_way is None or under_way.done():
            under_way = self._showing[link] = self._node.start(self._show(link), "introduction")
        return under_way

    async def _show(self, link: Link) -> None:
        """Until nothing has changed meanwhile."""
        while self._gates and self._shown.get(link) != self._edition and link.closed_because is None:
            edition, mine = self._edition, {run_id: gate.showing() for run_id, gate in self._gates.items()}
            try:
                theirs, _ = await self._node.call(link.peer, SHOW, Introduction(mine), Introduction, deadline_s=SHOW_S)
            except CallRefused as error:
                log.debug("Peer %s does not want to meet: %s", link.peer.hex()[:8], error)
            except HearthError as error:
                log.debug("Peer %s was not met: %s", link.peer.hex()[:8], error)
                return  # again at the next call
            else:
                self._meet(link.peer, theirs)
            self._shown[link] = edition

    def _meet(self, peer: PeerId, shown: Introduction) -> dict[str, Gate]:
        """The gates of the runs that are here as well."""
        known = {run_id: self._gates[run_id] for run_id in shown.runs if run_id in self._gates}
        for run_id, gate in known.items():
            gate.meet(peer, shown.runs[run_id])
        return known

    def _on_show(self, shown: Introduction, _: Payload, context: Context) -> Introduction:
        """Who is not let in is told the number of the list alone, which may be why."""
        mine = {}
        for run_id, gate in self._meet(context.peer, shown).items():
            showing = gate.showing()
            mine[run_id] = showing if gate.admits(context.peer) else Shown(number=showing.number)
        return Introduction(mine)
