"""Experts of other peers, as compute reaches them: over the pipe to its worker, which calls the peers."""

import asyncio
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
import torch
from torch import Tensor

from core.compute.tally import Tally
from core.contracts.errors import (
    UNREADABLE,
    AllowanceSpent,
    CallRefused,
    CallTimeout,
    HearthError,
    ProtocolError,
    RemoteFault,
)
from core.contracts.expert_calls import MAX_BYTES, MAX_CALLS, Codec, Direction, ExpertReply, ExpertRequest, encoded_size
from core.contracts.manifest import Training
from core.contracts.remote_experts import ASK, ASKED, SUSPECT, ExpertCall, Suspect
from core.experts import codec, layer
from core.experts.calls import Call, Output
from core.experts.grid import Uid
from core.experts.standing import Standing
from core.pipe.calls import Calls
from core.pipe.frames import Data, Payload

ASKS = 512
"""Requests under way: half of what the pipe may have waiting, so that a slow worker is never taken for a dead one."""
ASKED_BYTES = 256 << 20
"""Payloads of requests under way."""
NONSENSE = 2.0
"""Strikes for an answer of wrong types: its version may differ."""
CALLS_REFUSED = {"not_hosted", "bad_shape", "bad_values", "stale", AllowanceSpent.code}
"""What a peer says of a request of which it could answer no call (`core.runtime.task_pool.Problem`)."""
FEW = 8
"""Samples of a question of work."""
PASSAGES = itertools.count(random.SystemRandom().randrange(layer.PASSAGES))
"""Of these, and of trials."""
_encode = msgspec.msgpack.Encoder().encode
_decode_reply = msgspec.msgpack.Decoder(ExpertReply).decode


class Asking:
    """Bounds what is asked of peers at once."""

    def __init__(self, calls: Calls, tally: Tally | None = None) -> None:
        """Nothing is under way.

        Args:
            calls: to the worker, which calls the peers.
            tally: where it is counted what they do; None: one that nobody reads.
        """
        self._calls = calls
        self.tally = tally or Tally(calls)
        self._requests = self._bytes = 0
        self._freed = asyncio.Event()
        self.answered: Counter[str] = Counter()
        """Calls that were answered, by uid; taken away when they are told."""

    async def ask(
        self, peer: str, direction: Direction, request: ExpertRequest, payload: Sequence[Data], deadline: float
    ) -> tuple[ExpertReply, memoryview]:
        """Have a peer's experts called. Cancelling this cancels the call there.

        Args:
            peer: its key as hex digits.
            direction: which of the three calls.
            request: what is asked.
            payload: the tensors; they must not change any more.
            deadline: time of the loop after which the answer is of no use.

        Raises:
            NetworkError: as `RpcNode.call`.
            ComputeError: the worker has no network.
        """
        size = sum(map(len, payload))
        while self._requests >= ASKS or (self._requests and self._bytes + size > ASKED_BYTES):
            self._freed.clear()
            await self._freed.wait()
        if deadline <= asyncio.get_running_loop().time():
            raise CallTimeout("It was too late to ask: too many requests were under way.")
        call = ExpertCall(peer, direction, _encode(request))
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        try:
            body, data = await self._calls.exchange(ASK, call, payload, deadline)
            reply = _decode_reply(body)
        except UNREADABLE as error:
            self.suspect(peer, NONSENSE, f"Its answer has wrong types: {error}.")
            raise RemoteFault("bad_reply", f"Peer {peer[:8]} answered with wrong types: {error}.") from error
        finally:
            self._requests, self._bytes = self._requests - 1, self._bytes - size
            self._freed.set()
        self.answered.update(request.uids)
        return reply, whole(data)

    def suspect(self, peer: str, points: float, why: str) -> None:
        """Tell the worker, which keeps the list of bans, of a fault of a peer."""
        self.tally.doubt(peer)
        self._calls.tell(SUSPECT, Suspect(peer, points, why))

    def tell_answered(self) -> None:
        """Tell how many calls were answered since the last time."""
        if self.answered:
            self._calls.tell(ASKED, dict(self.answered))
            self.answered.clear()


class Watcher(Protocol):
    """Who wants to know what a `RemoteHost` learns."""

    def changed(self) -> None:
        """A peer was suspended, or is back."""

    def missing(self, peer: str, uids: Sequence[Uid]) -> None:
        """The peer does not host these experts, or they fail."""


class RemoteHost:
    """The experts of one peer; an `ExpertHost`."""

    def __init__(self, peer: str, asking: Asking, training: Training, watcher: Watcher) -> None:
        """Nothing is known of the peer yet.

        Args:
            peer: its key as hex digits.
            asking: how it is asked.
            training: the run's rules.
            watcher: told what is learnt.
        """
        self.peer = peer
        self.standing = Standing(f"Peer {peer[:8]}", self._probe, watcher.changed, self._ask_for_work)
        self._asking, self._codec, self._patience_s = asking, training.codec, training.patience_s
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
        self._asking.suspect(self.peer, points, why)

    def vouch(self, direction: Direction) -> None:
        """It passed an audit."""
        self._asking.tally.vouch(self.peer, direction)

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
            reply, answers = await self._ask(direction, calls, passage, deadline)
        except HearthError as error:
            if not _refuses_the_calls(error):
                self.standing.failed(str(error))
            elif direction != "backward" and not _is_spent(error):
                self._miss(calls, failed[0].answered)
            return failed
        if any(reply.answered):
            self.standing.proof.served()
        return reply, answers

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
        reply, data = await self._asking.ask(self.peer, direction, request, payload, deadline)
        if reply.forgotten and backward:  # nothing was done there
            request = msgspec.structs.replace(request, with_inputs=True)
            payload = self._encode([tensor for call in calls for tensor in (call.inputs, call.gradients)])
            reply, data = await self._asking.ask(self.peer, direction, request, payload, deadline)
        answers = self._decode(reply, data, calls)
        self._asking.tally.helped(self.peer, direction, request.rows, reply.answered)
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

    async def _ask_for_work(self, within_s: float) -> bool | None:
        """Ask for what a batch asks for, which looks like it; see `Proof`. A peer that is not reached may serve others,
        and one that says that it does not host the expert has told so."""
        if self._known is None:
            return None
        uid, shape = self._known
        deadline = asyncio.get_running_loop().time() + within_s
        try:
            _, answers = await self._ask("forward", [Call(uid, torch.randn(FEW, *shape))], next(PASSAGES), deadline)
        except (CallTimeout, CallRefused, RemoteFault) as error:
            return None if _refuses_the_calls(error) else False
        except HearthError:
            return None
        return None if answers[0] is None else True

    def _miss(self, calls: Sequence[Call], answered: Sequence[bool]) -> None:
        missing = [call.uid for call, is_answered in zip(calls, answered, strict=True) if not is_answered]
        if missing:
            self._watcher.missing(self.peer, missing)

    def _encode(self, tensors: Iterable[Tensor | None]) -> list[Data]:
        return [codec.encode(tensor, self._codec) for tensor in tensors if tensor is not None]

    def _decode(self, reply: ExpertReply, data: memoryview, calls: Sequence[Call]) -> list[Tensor | None]:
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
        start, answers = 0, list[Tensor | None]()
        for answered, size, shape in zip(reply.answered, sizes, shapes, strict=True):
            answers.append(codec.decode(data[start : start + size], self._codec, shape) if answered else None)
            start += size if answered else 0
        return answers


def whole(payload: Payload) -> memoryview:
    """A payload in one piece; this end of the pipe reads it to one."""
    return memoryview(payload if isinstance(payload, bytes | bytearray | memoryview) else b"".join(payload))


def _refuses_the_calls(error: HearthError) -> bool:
    """Whether the peer is well, but hosts none of the experts or cannot use what they were sent."""
    return isinstance(error, RemoteFault) and error.fault in CALLS_REFUSED


def _is_spent(error: HearthError) -> bool:
    """Whether the peer hosts the experts, and answers this PC no more questions for now."""
    return isinstance(error, RemoteFault) and error.fault == AllowanceSpent.code


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
