"""This peer's part in the rounds of a run: it takes part in its own, and answers the other members of these."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection

from core.averaging.codecs import Numbers
from core.contracts.errors import ProtocolError, RemoteFault, RoundVoid
from core.contracts.expert_calls import encoded_size
from core.contracts.net import Payload, of_run
from core.contracts.trunk_rounds import CHUNK, SAMPLES, Chunk, Group, Heard, Leave, Left, Report, Told
from core.identity import PeerId
from core.net.limits import Newest
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.trunk.ballot import Result
from core.swarm.trunk.reducing import ELSEWHERE, HELD, WINDOW, Answer, Pass, has_left
from core.swarm.trunk.round import Round

EARLY = WINDOW + 1
"""Calls of one peer that may wait for a round which has not begun here: its chunks for this reducer, and a report. A
stranger may name rounds that never begin."""
EARLY_S, LATE_S = 20.0, 5.0
"""They are let go after this: matchmaking ends for all within a few seconds. Who reports has gone through the round: if
it has not begun at its leader by then, that one was started anew."""
LOOK_S = 0.5
"""Between two looks whether it may still begin."""
USED = 1024
"""Vectors of the last rounds of which one that comes again is known by its norm."""
ROUNDS = 2
"""That are kept: the last one for members who are late."""


class AllReduce:
    """This peer's part in the rounds of one run."""

    def __init__(
        self, node: RpcNode, run_id: str, most_samples: int = SAMPLES, expects: Callable[[], bool] = lambda: True
    ) -> None:
        """Other members are answered from now on, until the run's methods are unregistered.

        Args:
            node: this peer's connections.
            run_id: of the run.
            most_samples: that one member can have.
            expects: whether a round may begin here: this peer looks for a group, or is in one.
        """
        self._node, self._run_id, self._most_samples, self._expects = node, run_id, most_samples, expects
        self._rounds = Newest[bytes, Round](ROUNDS)
        self._used = Newest[tuple[PeerId, float], None](USED)
        """Norms of the vectors that were in rounds before."""
        self._begun = asyncio.Condition()
        self._early = Counter[PeerId]()
        self._is_in_one = False
        most = max(encoded_size(codec, numbers) for codec, numbers in CHUNK.items())
        node.register(of_run("trunk.chunk", run_id), Chunk, self._on_chunk, max_payload=most, held=HELD)
        node.register(of_run("trunk.report", run_id), Report, self._on_report)
        node.register(of_run("trunk.heard", run_id), Heard, self._on_heard)
        node.register(of_run("trunk.leave", run_id), Leave, self._on_leave)

    async def average(
        self,
        group: Group,
        vector: Numbers | None,
        samples: int,
        *,
        limit_s: float = 3600.0,
        idle: Collection[PeerId] = (),
    ) -> Result:
        """Have a vector averaged with those of a group.

        Args:
            group: this peer is in it.
            vector: contiguous; it is not changed, and must not be until this returns. None: this member only helps.
            samples: that made it: what it weighs.
            limit_s: the longest that a round may take, however steadily it goes on. 0: this member takes no part, and
                tells the others so.
            idle: peers for whose vectors this member does not wait.

        Raises:
            RoundVoid: there is no result here.
            ProtocolError: the group does not fit.
        """
        if not group.fits() or (vector is not None and len(vector) != sum(group.shares)):
            raise ProtocolError("This is no group for such a vector.")
        for member in group.members:
            if member.peer != self._node.peer:
                self._node.learn(member)
        while len(self._rounds) >= ROUNDS:
            self._rounds.pop(next(iter(self._rounds))).close()
        round_ = Round(self._node, self._run_id, group, vector, samples, self._used, self._most_samples, idle)
        async with self._begun:
            self._rounds[round_.key], self._is_in_one = round_, True
            self._begun.notify_all()
        try:
            async with asyncio.timeout(limit_s):
                result = await round_.run()
                for sent in round_.norms:
                    self._used[sent] = None
                return result
        except asyncio.CancelledError:
            round_.leave()
            raise
        except RoundVoid as error:
            error.spoilt_by = frozenset(round_.peers[member] for member in round_.silent)
            raise
        except TimeoutError as error:
            round_.leave()
            raise RoundVoid(f"The round did not end within {limit_s:.0f} s.") from error
        finally:
            self._is_in_one = False

    # what others ask

    async def _round_of(
        self, key: bytes, attempt: int, peer: PeerId, wait_s: float = EARLY_S
    ) -> tuple[Round, Pass, int]:
        """The round, its pass and the asker's place; waits for a short time if it has not begun here yet."""
        self._early[peer] += 1
        try:
            if self._early[peer] > EARLY:
                raise RemoteFault("not_begun", "Too many calls wait for rounds that have not begun.")
            async with asyncio.timeout(wait_s):
                while key not in self._rounds:
                    if self._is_in_one:
                        raise RemoteFault(ELSEWHERE, "This peer is in another round now.")
                    if not self._expects():
                        raise has_left()  # as where its compute was killed when the group was all but there
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_S), self._begun:
                            await self._begun.wait()
                round_ = self._rounds[key]
                if peer not in round_.peers:
                    raise RemoteFault("no_member", "You are no member of this group.")
                return round_, await round_.pass_of(attempt), round_.peers.index(peer)
        except TimeoutError as error:
            raise RemoteFault("not_begun", "The round has not begun here.") from error
        finally:
            self._early[peer] -= 1
            if not self._early[peer]:
                del self._early[peer]

    def _on_chunk(self, request: Chunk, payload: Payload, context: Context) -> asyncio.Future[Answer]:
        round_ = self._rounds.get(request.key)
        pass_ = round_.passed(request.attempt) if round_ is not None else None
        if round_ is None or pass_ is None:
            return asyncio.ensure_future(self._early_chunk(request, payload, context))
        if context.peer not in round_.peers:
            raise RemoteFault("no_member", "You are no member of this group.")
        return pass_.reducing.deliver(round_.peers.index(context.peer), request, payload)

    async def _early_chunk(self, request: Chunk, payload: Payload, context: Context) -> Answer:
        _, pass_, place = await self._round_of(request.key, request.attempt, context.peer)
        return await pass_.reducing.deliver(place, request, payload)

    async def _on_report(self, request: Report, payload: Payload, context: Context) -> Told:
        round_, pass_, place = await self._round_of(request.key, request.attempt, context.peer, LATE_S)
        if round_.here != round_.leader:
            raise RemoteFault("no_leader", "This peer does not lead the round.")
        round_.report(pass_, place, request)
        return await asyncio.shield(pass_.told)

    async def _on_heard(self, request: Heard, payload: Payload, context: Context) -> Told:
        _, pass_, _ = await self._round_of(request.key, request.attempt, context.peer)
        with contextlib.suppress(asyncio.InvalidStateError):
            return pass_.told.result()
        raise RemoteFault("not_heard", "The leader's verdict has not come here either.")

    async def _on_leave(self, request: Leave, payload: Payload, context: Context) -> Left:
        round_, _, place = await self._round_of(request.key, 0, context.peer)
        round_.left(place)
        return Left()
