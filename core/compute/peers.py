"""Experts of other peers, as compute reaches them: over the pipe to its worker, which calls the peers."""

import asyncio
import itertools
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
import torch
from torch import Tensor

from core.contracts import pipe as messages
from core.contracts.errors import ERRORS_BY_CODE, CallTimeout, HearthError, ProtocolError, RemoteFault
from core.contracts.expert_calls import MAX_BYTES, MAX_CALLS, Codec, Direction, ExpertReply, ExpertRequest, encoded_size
from core.contracts.manifest import Training
from core.contracts.pipe import (
    Answered,
    Ask,
    FindSuffixes,
    Forget,
    Locate,
    Located,
    Place,
    Shape,
    Suffixes,
    Suspect,
    ToCompute,
    ToWorker,
    Unanswered,
)
from core.experts import codec
from core.experts.grid import Coords, Uid
from core.experts.latency import Pace
from core.experts.layer import Call, Output
from core.net.limits import Backoff, Bans

log = logging.getLogger(__name__)

ASKS = 512
"""Requests under way: half of what the pipe may have waiting, so that a slow worker is never taken for a dead one."""
ASKED_BYTES = 256 << 20
"""Payloads of requests under way."""
WORKER_S = 1.0
"""Beyond a request's deadline: time for the worker to say that it failed."""
LOOK_UP_S = 5.0
"""For a question to the directory."""
SHORTEST_S = 0.75
"""Time that a peer gets for a request at least; at most it is the run's `patience_s`. A frozen peer costs a batch that
once, at most: it is suspended then. Where others can answer, the layer does not wait for so long."""
HEALTHY_S = 60.0
"""A peer without a failure for so long is suspended for a short time again at its next one."""
SUSPENDED_S = (0.5, 30.0)
AWAKE_TRIES = 2
"""A peer that answers the small question is only slow: it is asked for work again after 2 s at most, also if that is
late again and again, while one that does not answer is left alone for ever longer."""
LOAD_S = 5.0
"""What a peer said of its load is of no use after this."""
CALLS_REFUSED = {"not_hosted", "bad_shape", "bad_values", "stale"}
"""What a peer says of a request of which it could answer no call (`core.runtime.task_pool.Problem`)."""
PROBES = 20
"""Ten minutes."""


class Peers:
    """Questions that wait for the worker's answer."""

    def __init__(self, send: Callable[[ToWorker, Sequence[messages.Tensor]], None]) -> None:
        """Args: send, hands a frame to the pipe and does not wait."""
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[ToCompute, list[messages.Tensor]]]] = {}
        self._asks = self._bytes = 0
        self._freed = asyncio.Event()

    async def ask(
        self, peer: str, direction: Direction, request: ExpertRequest, payload: messages.Data, deadline_s: float
    ) -> tuple[ExpertReply, messages.Data]:
        """Have a peer's experts called. Cancelling this cancels the call there.

        Raises:
            NetworkError: as `RpcNode.call`.
        """
        size = len(payload)
        while self._asks >= ASKS or (self._asks and self._bytes + size > ASKED_BYTES):
            self._freed.clear()
            await self._freed.wait()
        number = next(self._numbers)
        tensor = messages.Tensor(Shape("uint8", (size,)), payload)
        self._asks, self._bytes = self._asks + 1, self._bytes + size
        try:
            message = Ask(number, peer, direction, request, deadline_s)
            answer, tensors = await self._exchange(message, [tensor], deadline_s + WORKER_S)
        except (asyncio.CancelledError, CallTimeout):
            self._send(Forget(number), ())
            raise
        finally:
            self._asks, self._bytes = self._asks - 1, self._bytes - size
            self._freed.set()
        if not isinstance(answer, Answered) or len(tensors) != 1:
            raise ProtocolError(f"The worker answered a request by {type(answer).__name__}.")
        return answer.reply, tensors[0].data

    async def locate(self, uids: Sequence[Uid]) -> list[list[Place]]:
        """The hosts of experts on other peers, best first.

        Raises:
            NetworkError: the directory could not be read.
        """
        answer, _ = await self._exchange(Locate(next(self._numbers), [str(uid) for uid in uids]), (), LOOK_UP_S)
        if not isinstance(answer, Located) or len(answer.hosts) != len(uids):
            raise ProtocolError("The worker's answer does not fit the experts that were looked for.")
        return answer.hosts

    async def find_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[list[int]]:
        """The coordinates that follow each prefix.

        Raises:
            NetworkError: the directory could not be read.
        """
        answer, _ = await self._exchange(FindSuffixes(next(self._numbers), layer, list(prefixes)), (), LOOK_UP_S)
        if not isinstance(answer, Suffixes) or len(answer.suffixes) != len(prefixes):
            raise ProtocolError("The worker's answer does not fit the prefixes that were looked for.")
        return answer.suffixes

    def suspect(self, peer: str, points: float, why: str) -> None:
        """Tell the worker of a fault of a peer."""
        self._send(Suspect(peer, points, why), ())

    async def _exchange(
        self, message: Ask | Locate | FindSuffixes, tensors: Sequence[messages.Tensor], limit_s: float
    ) -> tuple[ToCompute, list[messages.Tensor]]:
        answer: asyncio.Future[tuple[ToCompute, list[messages.Tensor]]] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = answer
        try:
            self._send(message, tensors)
            async with asyncio.timeout(limit_s):
                return await answer
        except TimeoutError:
            raise CallTimeout(f"The worker did not answer within {limit_s:.1f} s.") from None
        finally:
            del self._waiting[message.id]

    def received(self, message: Answered | Located | Suffixes | Unanswered, tensors: list[messages.Tensor]) -> None:
        """Hand an answer to who waits for it; nobody does if that was cancelled."""
        waiting = self._waiting.get(message.id)
        if waiting is None or waiting.done():
            return
        if isinstance(message, Unanswered):
            waiting.set_exception(_error(message))
        else:
            waiting.set_result((message, tensors))


def _error(message: Unanswered) -> HearthError:
    kind = ERRORS_BY_CODE.get(message.code, RemoteFault)
    return RemoteFault(message.code, message.text) if kind is RemoteFault else kind(message.text)


class Watcher(Protocol):
    """Who wants to know what a `RemoteHost` learns."""

    def changed(self) -> None:
        """A peer was suspended, or is back."""

    def not_hosted(self, uid: Uid, peer: str) -> None:
        """The peer does not host the expert, or the expert fails."""


class RemoteHost:
    """The experts of one peer; an `ExpertHost`.

    A peer that fails is suspended: nothing is asked of it, until it has answered a small question of its own again.
    The time between two such questions grows with its failures.
    """

    def __init__(self, peer: str, peers: Peers, training: Training, watcher: Watcher) -> None:
        """Args: its key as hex digits, how it is asked, the run's rules, who is told what is learnt."""
        self.peer = peer
        self.suspended = False
        self.load = 0.0
        """As it said last."""
        self._load_at = -math.inf
        self.paces: dict[Direction, Pace] = {"inference": Pace(), "forward": Pace(), "backward": Pace()}
        self._peers, self._codec, self._longest_s = peers, training.codec, training.patience_s
        self._watcher = watcher
        self._known: tuple[Uid, tuple[int, ...]]
        """An expert that it was asked for, and the shape of a sample."""
        self._backoff, self._bans = Backoff(*SUSPENDED_S), Bans()
        self._failed_at = -math.inf
        self._cut_off = 0
        self._recovery: asyncio.Task[None] | None = None

    async def forward(self, calls: Sequence[Call], passage: int, inference: bool = False) -> list[Output | None]:
        """See `ExpertHost`."""
        answers: list[Output | None] = []
        for reply, rows in await self._ask_in_parts("inference" if inference else "forward", calls, passage):
            versions = reply.versions or (0,) * len(rows)
            answers += [None if r is None else Output(r, v) for r, v in zip(rows, versions, strict=True)]
        return answers

    async def backward(self, calls: Sequence[Call], passage: int) -> list[Tensor | None]:
        """See `ExpertHost`. The peer still has the inputs, unless too much time has passed."""
        return [rows for _, part in await self._ask_in_parts("backward", calls, passage) for rows in part]

    @property
    def queue_s(self) -> float | None:
        """Seconds of work that wait there; None: it has not been asked lately."""
        return max(0.0, self.load - 1.0) if self._now() - self._load_at < LOAD_S else None

    def distrust(self, points: float, why: str) -> None:
        """It gave an answer that cannot be right; 10 points suspend it as a ban does."""
        self._peers.suspect(self.peer, points, why)
        log.warning("Peer %s: %s", self.peer[:8], why)
        if self._bans.strike(b"", points, self._now()):
            self._suspend(why)

    async def _ask_in_parts(
        self, direction: Direction, calls: Sequence[Call], passage: int
    ) -> list[tuple[ExpertReply, list[Tensor | None]]]:
        """One request, or several if it were beyond the limits of one."""
        parts = list(_parts(calls, self._codec, 2 if direction == "backward" else 1))
        return list(await asyncio.gather(*(self._try(direction, part, passage) for part in parts)))

    async def _try(
        self, direction: Direction, calls: Sequence[Call], passage: int
    ) -> tuple[ExpertReply, list[Tensor | None]]:
        """Ask; all None if the peer is suspended or fails."""
        nothing: list[Tensor | None] = [None] * len(calls)
        failed = ExpertReply((False,) * len(calls)), nothing
        if self.suspended:
            return failed
        start = self._now()
        self._known = (calls[0].uid, tuple(calls[0].inputs.shape[1:]))
        try:
            answer = await self._ask(direction, calls, passage, self.paces[direction].late_s(*self._deadlines()))
        except asyncio.CancelledError:
            self._late(direction, self._now() - start)
            raise
        except HearthError as error:
            if not _refuses_the_calls(error):
                self._suspend(str(error))
            elif direction != "backward":
                self._miss(calls, failed[0].answered)
            return failed
        self.paces[direction].note(self._now() - start)
        self._cut_off = 0
        return answer

    async def _ask(
        self, direction: Direction, calls: Sequence[Call], passage: int, deadline_s: float
    ) -> tuple[ExpertReply, list[Tensor | None]]:
        backward = direction == "backward"
        request = ExpertRequest(
            tuple(str(call.uid) for call in calls),
            tuple(call.inputs.shape[0] for call in calls),
            tuple(calls[0].inputs.shape[1:]),
            self._codec,
            passage,
            tuple(call.version for call in calls) if backward else (),
            with_inputs=not backward,
        )
        payload = self._encode([call.gradients if backward else call.inputs for call in calls])
        reply, data = await self._peers.ask(self.peer, direction, request, payload, deadline_s)
        if reply.forgotten and backward:  # nothing was done there
            request = msgspec.structs.replace(request, with_inputs=True)
            payload = self._encode([tensor for call in calls for tensor in (call.inputs, call.gradients)])
            reply, data = await self._peers.ask(self.peer, direction, request, payload, deadline_s)
        answers = self._decode(reply, data, calls)
        if not backward:
            self._miss(calls, reply.answered)
        return reply, answers

    def _miss(self, calls: Sequence[Call], answered: Sequence[bool]) -> None:
        for call, is_answered in zip(calls, answered, strict=True):
            if not is_answered:
                self._watcher.not_hosted(call.uid, self.peer)

    def _encode(self, tensors: Iterable[Tensor | None]) -> bytes:
        return b"".join(codec.encode(tensor, self._codec) for tensor in tensors if tensor is not None)

    def _decode(self, reply: ExpertReply, data: messages.Data, calls: Sequence[Call]) -> list[Tensor | None]:
        """The rows of each call, which may be NaN or infinite; None if the peer refused it.

        Raises:
            ProtocolError: the reply does not fit the request.
        """
        shapes = [tuple(call.inputs.shape) for call in calls]
        fits = len(reply.answered) == len(calls) and len(reply.versions) in (0, len(calls)) and not reply.forgotten
        sizes = [encoded_size(self._codec, math.prod(shape)) for shape in shapes]
        if not fits or sum(itertools.compress(sizes, reply.answered)) != len(data):
            self.distrust(5.0, "Its answer does not fit the request.")
            raise ProtocolError(f"Peer {self.peer[:8]} gave an answer that does not fit the request.")
        self.load, self._load_at = reply.load, self._now()
        view, start, answers = memoryview(data), 0, list[Tensor | None]()
        for answered, size, shape in zip(reply.answered, sizes, shapes, strict=True):
            answers.append(codec.decode(view[start : start + size], self._codec, shape) if answered else None)
            start += size if answered else 0
        return answers

    # Trouble

    def _deadlines(self) -> tuple[float, float]:
        return min(SHORTEST_S, self._longest_s), self._longest_s

    def _late(self, direction: Direction, seconds: float) -> None:
        """The caller did not want to wait any longer: too late once may be chance, twice running is not."""
        pace = self.paces[direction]
        if pace.mean is not None and seconds < pace.mean:
            return
        pace.note(seconds)
        self._cut_off += 1
        if self._cut_off >= 2:
            self._suspend("It was late twice running.")

    def _suspend(self, why: str) -> None:
        now = self._now()
        if now - self._failed_at > HEALTHY_S:
            self._backoff.succeeded()
        self._failed_at, self._cut_off = now, 0
        if not self.suspended:
            self.suspended = True
            log.info("Peer %s is not asked for a while: %s", self.peer[:8], why)
            self._backoff.failed(now)
            self._recovery = asyncio.create_task(self._recover(), name=f"probe {self.peer[:8]}")
            self._watcher.changed()

    async def _recover(self) -> None:
        """Ask a small question ever again until it is answered; a peer that has gone is left to the directory."""
        for _ in range(PROBES):
            now = self._now()
            await asyncio.sleep(max(self._backoff.wait_s(now), self._bans.banned(b"", now)))
            uid, shape = self._known
            try:
                await self._ask("inference", [Call(uid, torch.zeros(1, *shape))], 0, self._longest_s)
            except HearthError as error:
                if _refuses_the_calls(error):
                    break
                self._backoff.failed(self._now())
            else:
                self._backoff.tries = min(self._backoff.tries, AWAKE_TRIES)
                break
        self.suspended = False
        self._watcher.changed()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _refuses_the_calls(error: HearthError) -> bool:
    """Whether the peer is well, but hosts none of the experts or cannot use what they were sent."""
    return isinstance(error, RemoteFault) and error.fault in CALLS_REFUSED


def _parts(calls: Sequence[Call], codec: Codec, tensors: int) -> Iterator[list[Call]]:
    """The calls in requests within the limits; each call has so many tensors."""
    part, size = list[Call](), 0
    for call in calls:
        more = tensors * encoded_size(codec, call.inputs.numel())
        if part and (len(part) == MAX_CALLS or size + more > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(call)
        size += more
    yield part
