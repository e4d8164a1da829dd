"""The rounds of one fragment at its syncer: offers come, wait for each other, and become one step of all."""

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Callable, Collection, Mapping

from core.averaging.collecting import Collecting, Made
from core.averaging.fragment import Fragment, form_of
from core.averaging.mean import JUDGED
from core.contracts.errors import CallRefused, ProtocolError
from core.contracts.trunk import Diloco
from core.identity import PeerId
from core.net.rpc import RpcNode

log = logging.getLogger(__name__)

YOUNG_S = 60.0
"""For so long after a claim a newer copy that somebody has is gone on from; later nobody replaces what is agreed."""
USED = 1 << 14
"""Differences that a syncer knows again: hundreds of rounds of dozens of trainers."""
CLIPPED = 1 / 30
"""Who offers a difference of which only so much is left is named: that of an honest one was 18 times as long as that of
another which had just begun."""
CLIPPED_POINTS = 1.0
"""As after a long pause it may happen to an honest one."""


def name_clipped(node: RpcNode, clipped: Mapping[bytes, float], givers: Collection[bytes]) -> None:
    """Tell of trainers whose differences were scaled down by far.

    Args:
        node: this peer.
        clipped: to which part of its length each was: 0, if it led back from where the others went.
        givers: all who took part in the round.
    """
    far = {PeerId(peer): part for peer, part in clipped.items() if part < CLIPPED}
    voters = [{node.pool.voter(PeerId(peer)) for peer in peers} for peers in (far, givers)]
    # Of two nobody can tell which one is wrong, or has just begun; and one PC may have most of the keys.
    is_sure = len(givers) >= JUDGED and 2 * len(voters[0]) < len(voters[1])
    for peer, part in far.items():
        if peer != node.peer:
            why = f"is {1 / part:.0f} times as long as others" if part else "leads back from where the others go"
            log.warning("Peer %s offered a difference that %s.", peer.hex()[:8], why)
            if is_sure:
                node.strike(peer, CLIPPED_POINTS)


class Claim:
    """On a fragment: who has a newer copy may say so once, and all of a block of addresses together, so that nobody
    replaces what is agreed again and again."""

    def __init__(self) -> None:
        """It is made now."""
        self._ends, self._heard = time.monotonic() + YOUNG_S, set[bytes]()

    def takes_from(self, voter: bytes) -> bool:
        """Whether a copy is taken from a peer; then it is the last one.

        Args:
            voter: of `core.net.crowds.voter_of`.
        """
        takes = time.monotonic() < self._ends and voter not in self._heard
        self._heard.add(voter)
        return takes


class Syncer:
    """Of one fragment. It has no task of its own: rounds are made when offers come, or a timer says that it is time.
    A thread makes them: a large one takes seconds, and the worker has to see at once that its user is back."""

    def __init__(
        self,
        fragment: Fragment,
        rules: Diloco,
        clipped: Callable[[Mapping[bytes, float], Collection[bytes]], object] = lambda *told: None,
        gave: Callable[[bytes, int, int], object] = lambda *told: None,
    ) -> None:
        """
        Args:
            fragment: as it is agreed now.
            rules: quorum and grace.
            clipped: called once a round with the trainers whose differences were scaled down, to which part of their
                length (to 0 if one led back from where the others went), and all who took part.
            gave: called once a round with each trainer in it, its samples that counted and the bytes that it sent.
        """
        self.fragment = fragment
        self._collecting = Collecting(fragment, rules.quorum, rules.grace_s)
        self._clipped, self._gave = clipped, gave
        self._used: dict[bytes, int] = {}
        """Digests of trainers and their differences, the oldest first, and what these were made on."""
        self._reading = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._round: asyncio.Future[None] = self._loop.create_future()

    def expect(self, peer: bytes) -> None:
        """A trainer has begun with what is agreed, and is about to take part."""
        self._collecting.expect(peer)

    async def offer(self, peer: bytes, version: int, samples: int, message: bytes) -> bool:
        """Take what a trainer has, and wait for the round. The offer stays if its trainer does not wait.

        Args:
            peer: who it is.
            version: what the difference was made on.
            samples: that made it.
            message: of `core.averaging.fragment.Encoder`.

        Returns:
            Whether it is in what is agreed now; else it was too old, or there were too many.

        Raises:
            ProtocolError: it is no such message, or one that was offered on another version before.
            OtherVersion: its form is unknown here.
            CallRefused: there is another syncer by now.
        """
        if self.fragment.counted(peer, version):
            return True
        async with self._reading:  # one after the other: of many on one version the first is read
            if not self._collecting.has(peer, version):
                form_of(message)  # what is of none is not remembered
                if self._is_old(peer, version, message):
                    raise ProtocolError("It was offered before.")
                norm = await self._loop.run_in_executor(None, self._collecting.length_of, message)
                if not self._collecting.offer(peer, version, samples, message, norm, self._loop.time()):
                    return False
        if self.fragment.counted(peer, version):  # meanwhile, as it was offered twice
            return True
        self._look()
        await asyncio.shield(self._round)
        while self._collecting.has(peer, version):  # it came while that round was being made
            await asyncio.shield(self._round)
        return self.fragment.counted(peer, version)

    def close(self) -> None:
        """Make no further round: who waits is to ask another syncer."""
        if self._timer:
            self._timer.cancel()
        self._round.set_exception(
            CallRefused("This peer is not the syncer of this fragment any more. Ask another one.")
        )
        self._round.exception()  # nobody may wait for it

    def _is_old(self, peer: bytes, version: int, message: bytes) -> bool:
        """Whether a trainer has offered that on another version. Others may have heard of it, and say the same."""
        if not any(message[1:]):  # who has learnt nothing may say so again
            return False
        if len(self._used) >= USED:
            del self._used[next(iter(self._used))]
        digest = hashlib.blake2b(message, digest_size=16, key=peer).digest()
        return self._used.setdefault(digest, version) != version

    def _look(self) -> None:
        if self._round.done():  # there is another syncer by now
            return
        if self._timer:
            self._timer.cancel()
            self._timer = None
        wait_s = self._collecting.due_s(self._loop.time())
        if wait_s == 0.0:
            making = self._loop.run_in_executor(None, self._collecting.begin().make)
            making.add_done_callback(self._end)
        elif wait_s < math.inf:
            self._timer = self._loop.call_later(wait_s, self._look)

    def _end(self, making: asyncio.Future[Made]) -> None:
        if self._round.done():  # there is another syncer by now
            return
        ended, self._round = self._round, self._loop.create_future()
        if error := making.exception():
            self._collecting.end(None)
            ended.set_exception(error)
            ended.exception()  # nobody may wait for it
        else:
            made = making.result()
            self._collecting.end(made)
            self._clipped(made.clipped, made.given)
            for peer, (samples, size) in made.given.items():
                self._gave(peer, samples, size)
            ended.set_result(None)
        self._look()
