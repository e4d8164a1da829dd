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

from core.dht.routing import Contact, PeerHeap, spread

REPLICAS = 6
"""Peers that keep a record: all six gone while 30% of all peers go has a chance of 1 in 1,400."""
PATHS = 2
"""Of a crawl. More would find more rarely lie to all of them, and cost as many more calls."""
ALPHA = 2
"""Calls of one path under way."""
SETTLED = 2
"""Answers of the nearest peers of a path, none of which names a nearer one, that end its search for peers."""
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
    """Looks for the peers nearest to a key, by several paths that share no peer (S/Kademlia, Baumgart and Mies, 2007).

    Who lies leads one of them astray, and names as many peers that do not exist as it likes, but the others arrive.
    """

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
        self._paths = [_Path(node, width) for _ in range(PATHS)]
        self._named: set[bytes] = set()
        """Each peer is on the path by which it was named first."""
        for place, peer in enumerate(sorted(peers, key=node.distance_to)):
            self._put([peer], self._paths[place % PATHS])
        self._ask = ask
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._done: asyncio.Future[None] = self._loop.create_future()

    async def find(self) -> list[Contact]:
        """The nearest peers that are not known to be dead, nearest first."""
        await self._run()
        found = [contact for path in self._paths for contact in path.near]
        return spread(sorted(found, key=self.node.distance_to), self.ksize)

    def _put(self, peers: list[Contact], path: "_Path") -> None:
        path.near.push([peer for peer in peers if peer.id not in self._named])
        self._named.update(peer.id for peer in peers)

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
        if self._complete():
            self._done.set_result(None)
            return
        now = self._loop.time()
        for path in self._paths:
            if not self._is_over(path):
                for contact in path.near.get_uncontacted()[: max(0, self._room(path, now))]:
                    path.near.mark_contacted(contact)
                    path.pending[contact.id] = now
                    self._ask(contact, self.node.id).add_done_callback(partial(self._take, path, contact))

    def _complete(self) -> bool:
        """Whether nothing more is asked."""
        return all(self._is_over(path) for path in self._paths)

    def _is_over(self, path: "_Path") -> bool:
        """Whether a path has arrived, or leads nowhere."""
        best = list(path.near)[: self._settled]
        settled = len(best) == self._settled and all(contact.id in path.answered for contact in best)
        return settled or path.is_spent

    def _room(self, path: "_Path", now: float) -> int:
        """For further questions of a path."""
        return int(self.alpha) - path.waiting(now)

    def _take(self, path: "_Path", contact: Contact, future: "asyncio.Future[Answer | None]") -> None:
        path.pending.pop(contact.id, None)
        answer = None if future.cancelled() or future.exception() is not None else future.result()
        if answer is None:
            path.near.remove([contact.id])
        else:
            path.answered.add(contact.id)
            self._put(answer.nodes, path)
            self._keep(answer)
        self._advance()

    def _keep(self, answer: Answer) -> None:
        """Nothing: peers are all that is looked for."""


class _Path:
    """A part of a crawl."""

    def __init__(self, node: Node, width: int) -> None:
        self.near = PeerHeap(node, width)
        self.answered: set[bytes] = set()
        self.pending: dict[bytes, float] = {}
        """Who was asked when."""

    def waiting(self, now: float) -> int:
        """Questions that are not overdue."""
        return sum(now - since < HEDGE_S for since in self.pending.values())

    @property
    def is_spent(self) -> bool:
        """Whether nobody is left to be asked, or to be waited for."""
        return not self.pending and not self.near.get_uncontacted()


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

    def _complete(self) -> bool:
        if len(self.values) >= QUORUM and self._agree() and all(path.answered or path.is_spent for path in self._paths):
            return True
        if all(path.is_spent for path in self._paths):
            return True
        now, answered = self._loop.time(), any(path.answered for path in self._paths)
        idle = not any(path.near.get_uncontacted() or path.waiting(now) for path in self._paths)
        return bool(self.values and answered and idle)

    def _is_over(self, path: _Path) -> bool:
        return path.is_spent

    def _room(self, path: _Path, now: float) -> int:
        # no more than can still count, but each path is tried
        wanted = max(1, QUORUM - len(self.values)) - sum(path.waiting(now) for path in self._paths)
        return wanted if path.answered or path.pending else max(1, min(ALPHA, wanted))

    def _agree(self) -> bool:
        return len({len(value) for value in self.values}) == 1

    def _keep(self, answer: Answer) -> None:
        if answer.found is not None:
            self.values.append(answer.found)
