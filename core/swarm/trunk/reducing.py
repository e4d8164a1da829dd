"""What one member of a group reduces: each chunk is averaged and answered as soon as all senders have delivered it."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from core.averaging.codecs import Numbers, decode, encode
from core.averaging.mean import mean_of, squared_norm
from core.contracts.errors import ProtocolError, RemoteFault
from core.contracts.expert_calls import Codec, encoded_size
from core.contracts.net import Payload
from core.contracts.trunk_rounds import CHUNK, MEMBERS, Averaged, Chunk, Group, Report, Told
from core.swarm.trunk.ballot import LEAST, Limits, Piece, Span

log = logging.getLogger(__name__)

ROUNDED = 1.02
"""By rounding a vector gets longer by two parts in a hundred at most."""
WINDOW = 8
"""Chunks that a member has under way to each reducer at most: 2 MiB."""
HELD = 24 << 20
"""Bytes of memory for them there. All wait for the slowest member's: if they took all of it, that one would find none.
One chunk of each member of the largest group fits into what peers of one block of addresses may take of it."""
QUICK_S = 0.5
"""An answer within this shows that the line has room: on a slow one so much is under way, and busy PCs take a part."""
Answer = tuple[Averaged, Payload]
LEFT = "left"
"""The fault of who is in the round no more."""
ELSEWHERE = "elsewhere"
"""That of who is in another round: who gathered has lied to one of the two, or who says so lies."""


def has_left() -> RemoteFault:
    """What the others are told; a new one each time, as whoever raises it leaves its frames in it."""
    return RemoteFault(LEFT, "This peer has left the round.")


class Blame(Protocol):
    """What is done about a sender."""

    def __call__(self, sender: int, why: str, *, is_refused: bool = True) -> None:
        """Name it.

        Args:
            sender: its place.
            why: what it sends.
            is_refused: whether nothing of it counts; otherwise it was clipped.
        """


class Sent(NamedTuple):
    """What a member sends: the reducer's own counts as well."""

    vector: Numbers
    samples: int
    norm: float
    """Of the whole vector."""


class Window:
    """How many chunks are under way to one reducer. On a slow line few, so that the first have long been averaged, and
    come back, when the last are sent."""

    def __init__(self, reducers: int, group: Group) -> None:
        """One of so many, in a group."""
        of_all = sum(group.sends) * encoded_size(group.codec, CHUNK[group.codec])
        self._most = max(1, min(WINDOW, HELD * 3 // 4 // of_all))
        self.size = self._least = max(1, min(LEAST // reducers, self._most))
        self.free = asyncio.Semaphore(self.size)

    def answered(self, seconds: float) -> None:
        """A chunk's mean has come after so long; another chunk may go, or two, or none."""
        wanted = min(self.size + 1, self._most) if seconds < QUICK_S else max(self.size - 1, self._least)
        for _ in range(1 + wanted - self.size):
            self.free.release()
        self.size = wanted


class Reducing:
    """Of one pass. Memory: as many chunks as the senders' windows hold, and the answers, for those who are late."""

    def __init__(
        self,
        chunks: Mapping[int, Span],
        senders: Collection[int],
        codec: Codec,
        clip: float,
        most_samples: int,
        own: Sent | None,
        blame: "Blame",
        repeats: Callable[[int, float], bool],
        limits: Limits,
    ) -> None:
        """Nothing has come yet.

        Args:
            chunks: that are reduced here, by their number.
            senders: places of the other members who send.
            codec: in which chunks come and are answered.
            clip: as in `mean_of`.
            most_samples: that a sender can have.
            own: this member's vector, if it has one.
            blame: told of a sender that sends what nobody honest does.
            repeats: whether a sender's vector, of this norm, was in a round before.
            limits: of the group.
        """
        self._repeats, self._most_samples = repeats, most_samples
        self._chunks, self._codec, self._clip, self._own, self._blame = chunks, codec, clip, own, blame
        self._missing = {number: set(senders) for number in chunks}
        """Senders, by the chunk that they have not delivered."""
        self._delivered: dict[int, dict[int, Sent]] = defaultdict(dict)
        self._waiting: dict[int, list[asyncio.Future[Answer]]] = defaultdict(list)
        self._refused: set[int] = set()
        self._clipped: set[int] = set()
        self.norms: dict[int, float] = {}
        """Of the senders' vectors."""
        self._closed = False
        self.late: set[int] = set()
        """Senders that others waited for in vain, or for too long."""
        self._rest = [*chunks][::-1]
        """Chunks that are not averaged yet: all send the last of these first."""
        self.counted: dict[int, int] = {}
        """Samples of the other members that are in a mean."""
        self.size = 0
        """Bytes of their chunks that were averaged."""
        self.answers: dict[int, Answer] = {}
        self.complete = asyncio.Event()
        self._since = now = asyncio.get_running_loop().time()
        self._heard, self._limits = dict.fromkeys(senders, now + limits.first), limits
        self._held_up = dict.fromkeys(senders, 0.0)
        """For how many seconds the others waited for each, until `_since`."""
        for number in chunks:
            self._settle(number)
        self._check()

    def deliver(self, sender: int, chunk: Chunk, payload: Payload) -> asyncio.Future[Answer]:
        """A chunk has come; the mean is in what is returned, soon or later.

        Raises:
            RemoteFault: it is not reduced here.
        """
        number, span = chunk.number, self._chunks.get(chunk.number)
        if span is None:
            raise RemoteFault("not_reduced_here", f"Chunk {number} is not reduced here.")
        if self._closed:
            raise has_left()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if sender in self._missing[number]:  # else it comes too late to count
            self._note_waiting()
            if number == self._rest[-1]:  # others after it prove nothing
                self._heard[sender] = asyncio.get_running_loop().time()
            try:
                vector = decode(payload, self._codec, span.stop - span.start)
                if squared_norm(vector) > (ROUNDED * chunk.norm) ** 2:
                    raise ProtocolError("A part of its numbers is larger than the whole is said to be.")
                if chunk.samples > self._most_samples:
                    raise ProtocolError("It says that it has more samples than a trainer comes to.")
                if chunk.norm and self._repeats(sender, chunk.norm):
                    raise ProtocolError("It sends again what was in a round before.")
                self.norms[sender] = chunk.norm
            except ProtocolError as error:
                self._refuse(sender, str(error))  # what counts it is told all the same
            else:
                self._missing[number].discard(sender)
                self._delivered[number][sender] = Sent(vector, chunk.samples, chunk.norm)
        if number in self.answers:
            future.set_result(self.answers[number])
            return future
        future.add_done_callback(lambda answer: self.leave_out(sender) if answer.cancelled() else None)
        self._waiting[number].append(future)
        self._settle(number)
        self._check()
        return future

    def leave_out(self, sender: int) -> None:
        """Wait for a sender no more: it is late, or has given up. What it has delivered counts."""
        self._heard.pop(sender, None)
        for number, missing in self._missing.items():
            if sender in missing:
                missing.discard(sender)
                self._settle(number)
        self._check()

    async def tend(self) -> None:
        """Leave out who is late, until all is averaged."""
        clock = asyncio.get_running_loop().time
        while not self.complete.is_set():
            self._note_waiting()
            owing, rest = self._owing(), [self._limits.silent]
            for sender in [*self._heard]:
                if sender not in owing:
                    self._heard[sender] = max(self._heard[sender], clock())
                    continue
                left = min(
                    self._heard[sender] + self._limits.silent - clock(), self._limits.sender - self._held_up[sender]
                )
                rest.append(left)
                if left <= 0:
                    log.info("member %d of the round is late and left out", sender)
                    self.late.add(sender)
                    self.leave_out(sender)
            try:
                async with asyncio.timeout(max(0.01, min(rest))):
                    await self.complete.wait()
            except TimeoutError:
                pass

    def give_up(self) -> None:
        """Wait for no sender any more."""
        for sender in [*self._heard]:
            self.leave_out(sender)

    def close(self) -> None:
        """This member leaves, or the round is over: nobody is answered any more."""
        self._closed = True
        for future in (future for futures in self._waiting.values() for future in futures):
            if not future.done():
                future.set_exception(has_left())

    def _owing(self) -> set[int]:
        """The senders that all others wait for: they have not delivered the first chunk that is not averaged, which
        waits for nothing but them."""
        while self._rest and not self._missing[self._rest[-1]]:
            self._rest.pop()
        return self._missing[self._rest[-1]] if self._rest else set()

    def _note_waiting(self) -> None:
        now = asyncio.get_running_loop().time()
        for sender in self._owing():
            self._held_up[sender] += now - self._since
        self._since = now

    def _refuse(self, sender: int, why: str) -> None:
        if sender not in self._refused:
            self._refused.add(sender)
            self._blame(sender, why)
        self.leave_out(sender)

    def _settle(self, number: int) -> None:
        """Average a chunk if nobody is waited for any more."""
        if number in self.answers or self._missing[number]:
            return
        came = self._delivered.pop(number, {})
        senders, parts = list(came), list(came.values())
        start, stop = self._chunks[number]
        self.size += len(senders) * encoded_size(self._codec, stop - start)
        if self._own is not None:
            parts.append(self._own._replace(vector=self._own.vector[start:stop]))
        if not parts:
            return  # all senders are gone: it is done again by others, or by nobody
        vectors, samples, norms = zip(*parts, strict=True)
        mean = mean_of(vectors, samples, norms, self._clip)
        self.answers[number] = answer = Averaged(mean.samples, mean.counted), encode(mean.vector, self._codec)
        now = asyncio.get_running_loop().time()
        for place, sender in enumerate(senders):
            self._heard[sender] = now  # it may send the next one from now on
            if place not in mean.refused:
                self.counted[sender] = samples[place]
        for future in self._waiting.pop(number, []):
            if not future.done():
                future.set_result(answer)
        if len(senders) not in mean.refused:  # else most lie, and refuse this member's own numbers
            for place in mean.refused:
                self._refuse(senders[place], "Its numbers are absurdly large.")
        for place in mean.clipped:
            if place < len(senders) and senders[place] not in self._clipped:
                self._clipped.add(senders[place])
                self._blame(senders[place], "Its numbers are far from the others'.", is_refused=False)

    def _check(self) -> None:
        if not any(self._missing.values()):
            self.complete.set()


class Pass:
    """One way of the pieces through all members, as this one sees it."""

    def __init__(
        self,
        reducing: Reducing,
        attempt: int,
        pieces: Sequence[Piece],
        chunks: Sequence[Mapping[int, Span]],
        alive: tuple[int, ...],
    ) -> None:
        """
        Args:
            reducing: what this member reduces in it.
            attempt: its number.
            pieces: all that is reduced in it.
            chunks: of each of them, by their numbers.
            alive: places of the members that take part.
        """
        self.reducing, self.attempt, self.pieces, self.chunks, self.alive = reducing, attempt, pieces, chunks, alive
        self.digests: list[bytes] = [b""] * len(pieces)
        self.squares = [0.0] * len(pieces)
        """Of the lengths of the pieces that others have reduced."""
        self.least = [Averaged(2**53, MEMBERS)] * len(pieces)
        """Of the chunks of each that have come."""
        self.reports: dict[int, Report] = {}
        self.reported = asyncio.Event()
        """More than half of the members have, or one more."""
        loop = asyncio.get_running_loop()
        self.told: asyncio.Future[Told] = loop.create_future()
        self.began = loop.time()
