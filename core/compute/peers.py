"""Experts of other peers, as compute reaches them: over the pipe to its worker, which calls the peers."""

import asyncio
import itertools
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
from core.experts.calls import Call, Output
from core.experts.grid import Coords, Uid
from core.experts.standing import Standing

ASKS = 512
"""Requests under way: half of what the pipe may have waiting, so that a slow worker is never taken for a dead one."""
ASKED_BYTES = 256 << 20
"""Payloads of requests under way."""
WORKER_S = 1.0
"""Beyond a request's deadline: time for the worker to say that it failed."""
LOOK_UP_S = 5.0
"""For a question to the directory."""
CALLS_REFUSED = {"not_hosted", "bad_shape", "bad_values", "stale"}
"""What a peer says of a request of which it could answer no call (`core.runtime.task_pool.Problem`)."""


class Peers:
    """Questions that wait for the worker's answer."""

    def __init__(self, send: Callable[[ToWorker, Sequence[messages.Tensor]], None]) -> None:
        """Nothing is asked yet.

        Args:
            send: hands a frame to the pipe and does not wait.
        """
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[ToCompute, list[messages.Tensor]]]] = {}
        self._asks = self._bytes = 0
        self._freed = asyncio.Event()

    async def ask(
        self, peer: str, direction: Direction, request: ExpertRequest, payload: messages.Data, deadline: float
    ) -> tuple[ExpertReply, messages.Data]:
        """Have a peer's experts called. Cancelling this cancels the call there.

        Args:
            peer: its key as hex digits.
            direction: which of the three calls.
            request: what is asked.
            payload: the tensors.
            deadline: time of the loop after which the answer is of no use.

        Raises:
            NetworkError: as `RpcNode.call`.
        """
        size = len(payload)
        while self._asks >= ASKS or (self._asks and self._bytes + size > ASKED_BYTES):
            self._freed.clear()
            await self._freed.wait()
        number = next(self._numbers)
        tensor = messages.Tensor(Shape("uint8", (size,)), payload)
        deadline_s = deadline - asyncio.get_running_loop().time()
        if deadline_s <= 0:
            raise CallTimeout("It was too late to ask: too many requests were under way.")
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
    """The experts of one peer; an `ExpertHost`."""

    def __init__(self, peer: str, peers: Peers, training: Training, watcher: Watcher) -> None:
        """Nothing is known of the peer yet.

        Args:
            peer: its key as hex digits.
            peers: how it is asked.
            training: the run's rules.
            watcher: told what is learnt.
        """
        self.peer = peer
        self.standing = Standing(f"Peer {peer[:8]}", self._probe, watcher.changed)
        self._peers, self._codec, self._patience_s = peers, training.codec, training.patience_s
        self._watcher = watcher
        self._known: tuple[Uid, tuple[int, ...]] | None = None
        """An expert that it was asked for, and the shape of a sample."""

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        """See `ExpertHost`."""
        answers: list[Output | None] = []
        direction: Direction = "inference" if inference else "forward"
        for reply, rows in await self._ask_in_parts(direction, calls, passage, deadline):
            versions = reply.versions or (0,) * len(rows)
            answers += [None if r is None else Output(r, v) for r, v in zip(rows, versions, strict=True)]
        return answers

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        """See `ExpertHost`. The peer still has the inputs, unless too much time has passed."""
        return [rows for _, part in await self._ask_in_parts("backward", calls, passage, deadline) for rows in part]

    def distrust(self, points: float, why: str) -> None:
        """It gave an answer that cannot be right: the worker, which keeps the list of bans, is told."""
        self._peers.suspect(self.peer, points, why)

    async def _ask_in_parts(
        self, direction: Direction, calls: Sequence[Call], passage: int, deadline: float
    ) -> list[tuple[ExpertReply, list[Tensor | None]]]:
        """One request, or several if it were beyond the limits of one."""
        parts = list(_parts(calls, self._codec, 2 if direction == "backward" else 1))
        return list(await asyncio.gather(*(self._try(direction, part, passage, deadline) for part in parts)))

    async def _try(
        self, direction: Direction, calls: Sequence[Call], passage: int, deadline: float
    ) -> tuple[ExpertReply, list[Tensor | None]]:
        """Ask; all None if the peer is suspended or fails."""
        nothing: list[Tensor | None] = [None] * len(calls)
        failed = ExpertReply((False,) * len(calls)), nothing
        if self.standing.suspended:
            return failed
        self._known = (calls[0].uid, tuple(calls[0].inputs.shape[1:]))
        try:
            return await self._ask(direction, calls, passage, deadline)
        except HearthError as error:
            if not _refuses_the_calls(error):
                self.standing.failed(str(error))
            elif direction != "backward":
                self._miss(calls, failed[0].answered)
            return failed

    async def _ask(
        self, direction: Direction, calls: Sequence[Call], passage: int, deadline: float
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
        reply, data = await self._peers.ask(self.peer, direction, request, payload, deadline)
        if reply.forgotten and backward:  # nothing was done there
            request = msgspec.structs.replace(request, with_inputs=True)
            payload = self._encode([tensor for call in calls for tensor in (call.inputs, call.gradients)])
            reply, data = await self._peers.ask(self.peer, direction, request, payload, deadline)
        answers = self._decode(reply, data, calls)
        if not backward:
            self._miss(calls, reply.answered)
        return reply, answers

    async def _probe(self) -> bool:
        """Ask a small question of an expert that was asked before; whether the peer answers, be it that it refuses."""
        if self._known is None:
            return True
        uid, shape = self._known
        deadline = asyncio.get_running_loop().time() + self._patience_s
        try:
            await self._ask("inference", [Call(uid, torch.zeros(1, *shape))], 0, deadline)
        except HearthError as error:
            return _refuses_the_calls(error)
        return True

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
        self.standing.said(reply.load)
        view, start, answers = memoryview(data), 0, list[Tensor | None]()
        for answered, size, shape in zip(reply.answered, sizes, shapes, strict=True):
            answers.append(codec.decode(view[start : start + size], self._codec, shape) if answered else None)
            start += size if answered else 0
        return answers


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
