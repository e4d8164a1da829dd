"""Butterfly all-reduce (Li et al., 2017; DeDLOC, section 3.2): the members of a group average one vector each.

The vector is cut by shares; each member reduces its own. A member sends each reducer the chunks of its share, and gets
the mean of each as the answer to the call, so that peers that only dial out take part like any other.

**The result is the same on every member, or there is none.** The mean of a chunk is made, and rounded, in one place.
When a member has all, it reports the digests of all pieces to the leader, and takes the result only on the leader's
signed verdict that names the same digests; who does not hear from the leader asks the others what it decided. Pieces
whose reducer failed, or that differ, are reduced once more by those who are left, out of the vectors of those who are
left. If that fails too, or no more than half of the members report, the round is void for all. A member that misses
the verdict takes nothing and is one step behind. (A leader that lies can sign two verdicts, and so part the members;
DeDLOC compares digests of what they came to.)

Whoever does not go on costs the others `grace_s` at most: a sender is left out by the reducers after half of it, a
reducer given up after three quarters, and the leader waits a quarter for the last reports. Who goes on, but by a line
slower than the least rate, costs what the vector takes at that, there and back, and is late. As one may hold up the
leader and not the others, it decides in time also on what it has not gone through itself.
"""

import asyncio
import hashlib
import logging
import math
from collections.abc import Collection

import msgspec
import numpy as np

from core.averaging.codecs import Numbers, decode, encode
from core.averaging.mean import longest_mean, norm_of, squared_norm
from core.contracts.errors import UNREADABLE, CallTimeout, HearthError, NetworkError, ProtocolError, RoundVoid
from core.contracts.net import of_run
from core.contracts.trunk_rounds import (
    LARGEST_NORM,
    SAMPLES,
    Averaged,
    Chunk,
    Group,
    Heard,
    Leave,
    Left,
    Report,
    Told,
    Verdict,
)
from core.identity import PeerId, verify
from core.net.rpc import RpcNode
from core.swarm.trunk.agreement import LIE
from core.swarm.trunk.ballot import (
    Piece,
    Result,
    Span,
    can_be,
    chunks_of,
    decide,
    first_pieces,
    in_most,
    leader_of,
    least,
    limits_of,
    pieces_again,
)
from core.swarm.trunk.reducing import ELSEWHERE, LEFT, Answer, Pass, Reducing, Sent, Window, has_left

log = logging.getLogger(__name__)

LEAVE_S = 5.0
"""For telling the others that this member goes."""
WITHHELD = 4.0
"""Points for a leader that is there and tells nobody what it has decided: its PC may have been busy."""


class Round:
    """One group's work, at one member."""

    def __init__(
        self,
        node: RpcNode,
        run_id: str,
        group: Group,
        vector: Numbers | None,
        samples: int,
        used: Collection[tuple[PeerId, float]] = (),
        most_samples: int = SAMPLES,
        idle: Collection[PeerId] = (),
    ) -> None:
        """Nothing is sent yet.

        Args:
            node: this peer's connections.
            run_id: of the run.
            group: this peer is in it.
            vector: what it sends; None: it only helps.
            samples: that made the vector.
            used: peers with the norms of their vectors in rounds before: whoever sends such a one again is refused.
            most_samples: that one member can have.
            idle: peers for whose vectors this member does not wait.

        Raises:
            ProtocolError: the vector is not finite, or nobody else would take it.
        """
        self.group, self.key, self._node, self._run_id = group, group.digest(), node, run_id
        self.peers = [PeerId(member.peer) for member in group.members]
        self.here, self.leader = self.peers.index(node.peer), leader_of(group)
        norm = 0.0 if vector is None else norm_of(vector)
        if not norm < LARGEST_NORM:
            raise ProtocolError("What is to be averaged has numbers that are infinite or none.")
        self.sent = None if vector is None else Sent(vector, samples, norm)
        self.out = None if vector is None else np.full_like(vector, np.nan)  # what does not come is seen
        self._used, self.most_samples, self._idle = used, most_samples, idle
        self._limits = limits_of(group)
        self._passes: dict[int, Pass] = {}
        self._left: set[int] = set()
        self.silent: set[int] = set()
        """Members that did not go on, as far as this one has seen that itself."""
        self._begun = asyncio.Condition()

    async def pass_of(self, attempt: int) -> Pass:
        """A pass; waits until it begins here."""
        async with self._begun:
            await self._begun.wait_for(lambda: attempt in self._passes)
        return self._passes[attempt]

    def passed(self, attempt: int) -> Pass | None:
        """A pass, if it has begun here."""
        return self._passes.get(attempt)

    def blame(self, sender: int, why: str, *, is_refused: bool = True) -> None:
        """As `Blame`."""
        done = "left out of" if is_refused else "clipped in"
        log.warning("peer %s is %s a round: %s", self.peers[sender].hex()[:8], done, why)
        if is_refused:
            self._node.strike(self.peers[sender], LIE)

    def repeats(self, sender: int, norm: float) -> bool:
        """Whether a sender's vector was in a round before."""
        return (self.peers[sender], norm) in self._used

    @property
    def norms(self) -> set[tuple[PeerId, float]]:
        """Of the vectors of the others that came here."""
        return {(self.peers[each], norm) for one in self._passes.values() for each, norm in one.reducing.norms.items()}

    def leave(self) -> None:
        """This member goes before the end, and says so."""
        self.close()
        for peer in self.peers:
            if peer != self._node.peer:
                self._node.start(self._tell(peer), "leaving a round")

    async def _tell(self, peer: PeerId) -> None:
        await self._node.call(peer, of_run("trunk.leave", self._run_id), Leave(self.key), Left, deadline_s=LEAVE_S)

    def left(self, member: int) -> None:
        """Another member has gone."""
        self._left.add(member)
        for pass_ in self._passes.values():
            pass_.reducing.leave_out(member)
            pass_.reported.set()

    def close(self) -> None:
        """This member leaves, or forgets the round: nobody is answered any more."""
        for pass_ in self._passes.values():
            pass_.reducing.close()
            if not pass_.told.done():
                pass_.told.set_exception(has_left())
                pass_.told.exception()  # nobody need wait for it

    async def run(self) -> Result:
        """Take part from beginning to end.

        Raises:
            RoundVoid: there is no result here.
        """
        counts = list[Averaged]()
        pass_ = await self._begin(0, first_pieces(self.group), tuple(range(len(self.peers))))
        while True:
            verdict = await self._verdict(pass_)
            self.silent |= pass_.reducing.late
            if not can_be(verdict, pass_.pieces, pass_.alive):
                self.silent.add(self.leader)
                self._node.strike(self.peers[self.leader], LIE)
                raise RoundVoid("The leader's verdict is none on such a round.")
            if verdict.void:
                self.silent |= {1 - self.here} if len(self.peers) == 2 else set()
                raise RoundVoid("The round is void: too many members have left it.")
            for place, digest in enumerate(verdict.digests if self.sent is not None else ()):
                if digest and digest != pass_.digests[place]:
                    raise RoundVoid("The others went on without this peer, which did not get all of the result.")
                if digest:  # of a piece that is lost some members have a part
                    counts.append(pass_.least[place])
            if not verdict.lost:
                if self.out is not None and math.isnan(self.out.min(initial=0.0)):
                    raise RoundVoid("Not all of the result came.")
                reduced = sum(each.reducing.size for each in self._passes.values())
                late, of_most = frozenset(self.peers[member] for member in self.silent), in_most(counts)
                return Result(self.out, of_most.samples, of_most.peers, self._counted(), reduced, late)
            if self.here not in verdict.alive:
                raise RoundVoid("The others went on without this peer, which was late.")
            if not (again := pieces_again(self.group, pass_.pieces, verdict)):
                raise RoundVoid("Nobody is left to reduce what is missing.")
            pass_ = await self._begin(pass_.attempt + 1, again, verdict.alive)

    def _counted(self) -> dict[PeerId, int]:
        reduced = [pass_.reducing for pass_ in self._passes.values() if pass_.reducing.answers]
        counted = {self.peers[member]: samples for each in reduced for member, samples in each.counted.items()}
        return counted | ({self.peers[self.here]: self.sent.samples} if reduced and self.sent is not None else {})

    async def _begin(self, attempt: int, pieces: list[Piece], alive: tuple[int, ...]) -> Pass:
        chunks = chunks_of(pieces, self.group.codec)
        own = [some for piece, some in zip(pieces, chunks, strict=True) if piece.reducer == self.here]
        mine = {number: span for some in own for number, span in some.items()}
        senders = [each for each in alive if self.group.sends[each] and self.peers[each] not in self._idle]
        of = mine, {*senders} - {self.here}, self.group.codec, self.group.clip, self.most_samples, self.sent
        async with self._begun:
            reducing = Reducing(*of, self.blame, self.repeats, self._limits)
            pass_ = self._passes[attempt] = Pass(reducing, attempt, pieces, chunks, alive)
            self._begun.notify_all()
        return pass_

    # the pieces

    async def _go_through(self, pass_: Pass) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pass_.reducing.tend())
            for place, piece in enumerate(pass_.pieces):
                if piece.reducer == self.here:
                    tasks.create_task(self._own_piece(pass_, place))
                elif self.sent is not None:
                    tasks.create_task(self._piece_of(pass_, place, self.sent))
        if self.sent is not None:
            self._refuse_false(pass_, self.sent)

    def _refuse_false(self, pass_: Pass, sent: Sent) -> None:
        """Report as missing the pieces that no mean can be, so that others reduce them. To judge it this member must
        have heard from all senders, as one that reduces has, how long their vectors are."""
        known = {each: norm for one in self._passes.values() for each, norm in one.reducing.norms.items()}
        senders = [member for member in pass_.alive if self.group.sends[member] and member != self.here]
        if not {*senders} <= known.keys():
            return
        longest = longest_mean([sent.norm, *(known[member] for member in senders)])
        for place, piece in enumerate(pass_.pieces):
            if pass_.squares[place] > longest**2:
                pass_.digests[place] = b""
                log.warning("peer %s gave what is no mean: it is too long", self.peers[piece.reducer].hex()[:8])

    async def _own_piece(self, pass_: Pass, place: int) -> None:
        await pass_.reducing.complete.wait()
        answers = pass_.reducing.answers
        if self.out is None or any(number not in answers for number in pass_.chunks[place]):
            return
        hashes = []
        for number, span in pass_.chunks[place].items():
            hashes.append(self._take(pass_, place, span, answers[number]))
            await asyncio.sleep(0)  # others are answered between two chunks
        pass_.digests[place] = hashlib.sha256(b"".join(hashes)).digest()

    async def _piece_of(self, pass_: Pass, place: int, sent: Sent) -> None:
        """Have another member reduce a piece; it stays without a digest if that fails."""
        reducer, chunks = self.peers[pass_.pieces[place].reducer], pass_.chunks[place]
        others = {piece.reducer for piece in pass_.pieces} - {self.here}
        clock, window, limits = asyncio.get_running_loop().time, Window(len(others), self.group), self._limits
        hashes: dict[int, bytes] = {}

        async def one(number: int, span: Span) -> None:
            began = clock()
            request = Chunk(self.key, pass_.attempt, number, sent.samples, sent.norm)
            payload = encode(sent.vector[span.start : span.stop], self.group.codec)
            method = of_run("trunk.chunk", self._run_id)
            answer = await self._node.call(reducer, method, request, Averaged, payload, deadline_s=86_400)
            hashes[number] = self._take(pass_, place, span, answer)
            assert self.out is not None
            pass_.squares[place] += squared_norm(self.out[span.start : span.stop])
            if not limit.expired():  # what came in the last moment lets nobody wait longer
                limit.reschedule(min(clock() + limits.reducer, pass_.began + limits.whole))
            window.answered(clock() - began)

        try:
            async with (
                asyncio.timeout(self._limits.first + self._limits.reducer) as limit,
                asyncio.TaskGroup() as calls,
            ):
                for number, span in chunks.items():
                    await window.free.acquire()
                    calls.create_task(one(number, span))
        except* (HearthError, TimeoutError) as errors:
            log.info("member %s does not reduce its share: %r", reducer.hex()[:8], errors.exceptions[0])
            if any(getattr(error, "fault", "") in (LEFT, ELSEWHERE) for error in errors.exceptions):
                self.left(pass_.pieces[place].reducer)
            if any(isinstance(error, ProtocolError) for error in errors.exceptions):
                self.blame(pass_.pieces[place].reducer, "What it gave is no mean.")
        else:
            pass_.digests[place] = hashlib.sha256(b"".join(hashes[number] for number in chunks)).digest()
        finally:
            held_s = limits.held_up if hashes else limits.first + limits.reducer
            if not pass_.digests[place] and clock() - pass_.began >= held_s:  # no sender can keep it so long
                self.silent |= {pass_.pieces[place].reducer} - self._left

    def _take(self, pass_: Pass, place: int, span: Span, answer: Answer) -> bytes:
        """Put the mean of a piece's chunk where it belongs; the hash of it.

        Raises:
            ProtocolError: it is no mean.
        """
        averaged, payload = answer
        peers, samples = averaged.peers, averaged.samples
        if not (1 <= peers <= sum(self.group.sends) and peers <= samples <= peers * self.most_samples):
            raise ProtocolError(f"No {averaged.peers} members have {averaged.samples} samples.")
        assert self.out is not None
        self.out[span.start : span.stop] = decode(payload, self.group.codec, span.stop - span.start)
        pass_.least[place] = least(pass_.least[place], averaged)
        digest = hashlib.sha256(msgspec.msgpack.encode(averaged))
        digest.update(payload)
        return digest.digest()

    # the verdict

    async def _verdict(self, pass_: Pass) -> Verdict:
        """Go through a pass, and hear what has come of it."""
        work = asyncio.create_task(self._go_through(pass_))
        try:
            if self.here == self.leader:
                work.add_done_callback(lambda done: self.report(pass_, self.here, self._report(pass_)))
                told = await self._decide(pass_)
            else:
                await work
                told = await self._ask(pass_, self._report(pass_))
        finally:
            work.cancel()
            await asyncio.wait([work])
            pass_.reducing.give_up()
        if not work.cancelled():
            work.result()
        if not pass_.told.done():
            pass_.told.set_result(told)
        return msgspec.msgpack.decode(told.verdict, type=Verdict)

    def _report(self, pass_: Pass) -> Report:
        return Report(self.key, pass_.attempt, tuple(pass_.digests) if self.sent is not None else ())

    def _is_verdict(self, told: Told, attempt: int) -> bool:
        """Whether this is what the leader has decided on a pass."""
        try:
            verdict = msgspec.msgpack.decode(told.verdict, type=Verdict)
        except UNREADABLE:
            return False
        is_this = (verdict.key, verdict.attempt) == (self.key, attempt)
        return is_this and verify(self.peers[self.leader], told.verdict, told.signature)

    def report(self, pass_: Pass, member: int, report: Report) -> None:
        """To the leader: a member has reported; the first word counts."""
        if member in pass_.alive:
            pass_.reports.setdefault(member, report)
            pass_.reported.set()

    async def _decide(self, pass_: Pass) -> Told:
        """As the leader: wait for the reports and say what they mean."""
        loop, limit = asyncio.get_running_loop(), None
        while {*pass_.alive} - pass_.reports.keys() - self._left:
            if pass_.reports:
                is_most = 2 * len(pass_.reports) > len(pass_.alive)
                ends = loop.time() + (self._limits.reports if is_most else self._limits.held_up)
                limit = min(limit or ends, ends)
            try:
                async with asyncio.timeout_at(limit):
                    await pass_.reported.wait()
            except TimeoutError:
                break
            pass_.reported.clear()
        self.report(pass_, self.here, self._report(pass_))  # as far as it has come
        verdict = decide(self.group, pass_.pieces, pass_.attempt, pass_.reports)
        body = msgspec.msgpack.encode(verdict)
        return Told(body, self._node.identity.sign(body))

    async def _ask(self, pass_: Pass, report: Report) -> Told:
        """Report to the leader and hear its verdict; if it does not answer, ask the others for it."""
        others = [member for member in pass_.alive if member not in (self.here, self.leader)]
        limit_s = self._limits.held_up + self._limits.reports
        for member, name, request in [
            (self.leader, "trunk.report", report),
            *((member, "trunk.heard", Heard(self.key, pass_.attempt)) for member in others),
        ]:
            peer = self.peers[member]
            try:
                told, _ = await self._node.call(peer, of_run(name, self._run_id), request, Told, deadline_s=limit_s)
            except NetworkError as error:
                log.info("no verdict from member %s: %s", peer.hex()[:8], error)
                if member == self.leader and isinstance(error, CallTimeout) and peer in self._node.pool.links:
                    log.warning("peer %s leads a round and tells nobody what came of it", peer.hex()[:8])
                    self._node.strike(peer, WITHHELD)
                elif member == self.leader and getattr(error, "fault", "") == ELSEWHERE:
                    self.silent.add(0)  # who gathered may have given it another group
                limit_s = self._limits.reports
                continue
            if self._is_verdict(told, pass_.attempt):
                return told
            log.warning("peer %s gave as a round's verdict what the leader has not decided", peer.hex()[:8])
            self._node.strike(peer, LIE)
        self.silent.add(self.leader)
        raise RoundVoid("The round's leader has gone, and nobody has heard its verdict.")
