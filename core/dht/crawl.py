"""The kademlia package's crawl, without its rounds: the next peer is asked as soon as an answer is here or overdue.

A dead peer therefore costs a crawl `HEDGE_S` and not a time-out. Crawls for many keys at once run side by side, and
the protocol puts their questions to the same peer into one call.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kademlia.crawling import NodeSpiderCrawl, ValueSpiderCrawl
from kademlia.node import Node

from core.dht.routing import Contact, PeerHeap

REPLICAS = 6
"""Peers that keep a record: all six gone while 30% of all peers go has a chance of 1 in 1,400."""
ALPHA = 3
"""Calls of one crawl under way."""
SETTLED = 3
"""Answers of the nearest peers, none of which names a nearer one, that end a search for peers."""
QUORUM = 3
"""Replicas whose records are compared: the newest valid one wins."""
HEDGE_S = 0.25
"""A call that takes longer no longer keeps others from being made."""
READ_S = 2.5
"""A crawl ends after this with what it has."""


class Answer(NamedTuple):
    """What a peer said. None instead of an Answer: it did not answer."""

    nodes: list[Contact]
    found: Any = None
    """Records or suffixes of the key; None: it has none."""


Ask = Callable[[Contact, bytes], "asyncio.Future[Answer | None]"]


class PeerCrawl(NodeSpiderCrawl):  # type: ignore[misc]
    """Looks for the peers nearest to a key."""

    def __init__(
        self,
        node: Node,
        peers: list[Contact],
        ask: Ask,
        width: int = REPLICAS,
        settled: int = SETTLED,
        alpha: int = ALPHA,
    ):
        super().__init__(None, node, [], width, alpha)
        self.nearest = PeerHeap(node, width)
        self.nearest.push(peers)
        self._ask = ask
        self._settled = settled
        self._answered: set[bytes] = set()
        self._pending: dict[bytes, float] = {}
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._done: asyncio.Future[None] = self._loop.create_future()

    async def find(self) -> list[Contact]:
        """The nearest peers that are not known to be dead, nearest first."""
        await self._run()
        return list(self.nearest)

    async def _run(self) -> None:
        self._advance()
        timer = None
        if not self._done.done():
            timer = self._loop.call_later(HEDGE_S, self._tick)
        try:
            await self._done
        finally:
            if timer is not None:
                timer.cancel()
            if not self._done.done():
                self._done.cancel()

    def _tick(self) -> None:
        if not self._done.done():
            if self._loop.time() - self._began > READ_S:
                self._done.set_result(None)
                return
            self._loop.call_later(HEDGE_S, self._tick)
            self._advance()

    def _advance(self) -> None:
        if self._done.done():
            return
        now = self._loop.time()
        waiting = sum(now - since < HEDGE_S for since in self._pending.values())
        uncontacted = self.nearest.get_uncontacted()
        if self._complete(bool(uncontacted), waiting):
            self._done.set_result(None)
            return
        for contact in uncontacted[: max(0, self._side_by_side() - waiting)]:
            self.nearest.mark_contacted(contact)
            self._pending[contact.id] = now
            self._ask(contact, self.node.id).add_done_callback(partial(self._take, contact))

    def _complete(self, more: bool, waiting: int) -> bool:
        if not more and not self._pending:
            return True
        best = list(self.nearest)[: self._settled]
        return len(best) == self._settled and all(contact.id in self._answered for contact in best)

    def _side_by_side(self) -> int:
        return int(self.alpha)

    def _take(self, contact: Contact, future: "asyncio.Future[Answer | None]") -> None:
        self._pending.pop(contact.id, None)
        answer = None if future.cancelled() or future.exception() is not None else future.result()
        if answer is None:
            self.nearest.remove([contact.id])
        else:
            self._answered.add(contact.id)
            self.nearest.push(answer.nodes)
            self._keep(answer)
        self._advance()

    def _keep(self, answer: Answer) -> None:
        """Nothing: peers are all that is looked for."""


class ValueCrawl(PeerCrawl, ValueSpiderCrawl):  # type: ignore[misc]
    """Looks for what is stored under a key: asks replicas side by side until a quorum of them has answered.

    What is kept here counts as an answer, yet never as the only one: stores may have missed this peer. Where one has
    fewer records than another, they may have missed that one too, and all replicas are asked.
    """

    def __init__(self, node: Node, peers: list[Contact], ask: Ask, local: Any = None) -> None:
        PeerCrawl.__init__(self, node, peers, ask)
        self.values: list[Any] = [] if local is None else [local]

    async def find(self) -> list[Any]:
        """What each replica has, in no order; empty if there is nothing."""
        await self._run()
        return self.values

    def _complete(self, more: bool, waiting: int) -> bool:
        if (len(self.values) >= QUORUM and self._agree()) or (not more and not self._pending):
            return True
        return bool(self.values and self._answered) and not more and not waiting

    def _side_by_side(self) -> int:
        return min(int(self.alpha), max(1, QUORUM - len(self.values)))  # no more than can still count

    def _agree(self) -> bool:
        return len({len(value) for value in self.values}) == 1

    def _keep(self, answer: Answer) -> None:
        if answer.found is not None:
            self.values.append(answer.found)
