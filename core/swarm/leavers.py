"""What a host that leaves says of its experts: which state is the newest, and whether a newer one is still being saved.

Its tombstones name it; who adopts what it left asks it first, so that an expert goes on from where it was left, however
long the disk of its host takes, and whatever the directory and other keepers know by then.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.contracts.errors import NetworkError
from core.contracts.hosting import MAX_NAMED, AskNewest, Newest, NewestReply
from core.contracts.net import of_run
from core.experts.grid import Uid
from core.identity import PeerId
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.replication import Copies, Copy

ANSWER_S = 4.0
ASKED = 16
"""Leavers asked at one look: anybody can publish tombstones of experts that it never had."""


class Word(NamedTuple):
    """Of those that left an expert and answered."""

    copies: list[Copy]
    coming: bool


class Leaving:
    """Both sides: what is asked of leavers, and what this peer answers as one."""

    def __init__(self, node: RpcNode, run_id: str, copies: Copies, coming: Callable[[Uid], bool]) -> None:
        """Begin to answer.

        Args:
            node: this peer's connections.
            run_id: the run whose experts are asked about.
            copies: the states on this disk.
            coming: whether a newer state of an expert will be saved here.
        """
        self._node, self._copies, self._coming = node, copies, coming
        self._method = of_run("host.newest", run_id)
        node.register(self._method, AskNewest, self._answer)

    async def ask(self, left: Mapping[Uid, Iterable[PeerId]]) -> dict[Uid, Word]:
        """What those say that left each expert; nothing of an expert for which nobody answers."""
        by_peer: dict[PeerId, list[Uid]] = {}
        for uid, peers in left.items():
            for peer in peers:
                by_peer.setdefault(peer, []).append(uid)
        asked = random.sample(sorted(by_peer), min(ASKED, len(by_peer)))
        answers = await asyncio.gather(*(self._ask(peer, by_peer[peer][:MAX_NAMED]) for peer in asked))
        words: dict[Uid, Word] = {}
        for peer, states in zip(asked, answers, strict=True):
            for uid, state in zip(by_peer[peer], states, strict=False):
                word = words.get(uid, Word([], False))
                copies = [Copy(peer, state.state)] if state.state and state.state.part == str(uid) else []
                words[uid] = Word(word.copies + copies, word.coming or state.coming)
        return words

    async def _ask(self, peer: PeerId, uids: Sequence[Uid]) -> Sequence[Newest]:
        try:
            request = AskNewest(tuple(map(str, uids)))
            reply, _ = await self._node.call(peer, self._method, request, NewestReply, deadline_s=ANSWER_S)
        except NetworkError:
            return ()
        return reply.states

    def _answer(self, request: AskNewest, payload: bytes, context: Context) -> NewestReply:
        return NewestReply(tuple(self._state(Uid.parse(text)) for text in request.uids))

    def _state(self, uid: Uid) -> Newest:
        return Newest(self._copies.own(str(uid)), self._coming(uid) or self._copies.is_coming(str(uid)))
