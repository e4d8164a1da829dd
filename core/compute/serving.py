"""Other peers' expert calls, as compute serves them: decoded, checked, run together with the own Trainer's, encoded."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from torch import Tensor

from core.compute.lead import Lead
from core.compute.peers import whole
from core.compute.recent_calls import (
    DONE,
    DONE_BYTES,
    DONE_BYTES_PEER,
    DONE_PEER,
    DONE_S,
    KEPT_BYTES,
    KEPT_BYTES_PEER,
    Memory,
)
from core.compute.tally import Tally
from core.contracts.errors import UNREADABLE, CallRefused, HearthError, ProtocolError, RemoteFault
from core.contracts.expert_calls import Codec, ExpertReply, ExpertRequest, encoded_size, payload_size
from core.contracts.remote_experts import SERVE, SUSPECT, ExpertCall, Suspect
from core.experts import codec
from core.experts.calls import Call
from core.experts.grid import Uid
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.runtime.admission import Misconduct
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.runtime.task_pool import Request

log = logging.getLogger(__name__)

WAIT_S = 2.0
"""A forward pass that would wait for longer than this, or a backward pass, in which work was put already, for twice as
long, is refused at once, so that its caller can ask another peer."""
MISCONDUCT = 2.0
"""Strikes for values that are not finite or beyond all bounds: the fifth within a minute means a ban."""

_decode = msgspec.msgpack.Decoder(ExpertRequest).decode
_encode = msgspec.msgpack.Encoder().encode

Key = tuple[int, Uid]
"""Passage and expert: what a peer's forward and backward have in common."""
Answers = Callable[[Tensor | None], None]


class Inputs(NamedTuple):
    """Those of a forward pass, as they travelled."""

    data: memoryview
    codec: Codec
    shape: tuple[int, ...]


class _Visit:
    """A request under way: the answers of its calls come one by one."""

    def __init__(self, message: ExpertCall, asked: ExpertRequest, payload: memoryview, call: Incoming) -> None:
        self.peer, self.crowd, self.direction = message.peer, message.crowd, message.direction
        self.asked, self.payload, self.call = asked, payload, call
        self.request: Request | None = None
        self.answers: list[Tensor | None] = [None] * len(asked.uids)
        self.versions = [0] * len(asked.uids)
        self.open = len(asked.uids)


def suspecting(calls: Calls) -> Misconduct:
    """Tells the worker of callers that sent what no honest one sends."""
    return lambda caller, what: calls.tell(SUSPECT, Suspect(caller, MISCONDUCT, what))


class Serving:
    """Serves `SERVE` without waiting: to be called from the loop's thread. What comes is another peer's word: nothing
    of it is believed."""

    def __init__(
        self,
        calls: Calls,
        runtime: Runtime,
        kernel_gate: KernelGate,
        tally: Tally | None = None,
        lead: Lead | None = None,
    ) -> None:
        """Serve from now on.

        Args:
            calls: to the worker, which passes on what peers ask.
            runtime: runs the experts.
            kernel_gate: closed while the machine is given back.
            tally: where it is counted what is done for whom; None: one that nobody reads.
            lead: how far forward passes may be ahead of backward passes; None: as if trainers had nothing on the way.
        """
        self._calls, self._runtime, self._kernel_gate = calls, runtime, kernel_gate
        self._tally, self._lead = tally or Tally(calls), lead or Lead()
        self._visits: set[_Visit] = set()
        self._inputs: Memory[Key, Inputs] = Memory(KEPT_BYTES, KEPT_BYTES_PEER)
        self._outcomes: Memory[Key, Tensor] = Memory(DONE_BYTES, DONE_BYTES_PEER)
        self._done: Memory[Key, bool] = Memory(DONE, DONE_PEER, DONE_S)
        self._under_way: dict[tuple[str, Key], list[Answers]] = {}
        """Backward passes that are not done yet, and who waits for them beside the first who asked."""
        calls.register_carrier(SERVE, self._serve)

    def _serve(self, message: ExpertCall, payload: Payload, call: Incoming) -> None:
        """Run experts for another peer.

        Raises:
            HearthError: why not.
        """
        try:
            if not self._kernel_gate.is_open:
                raise CallRefused("This PC is given back to its user. Ask another peer.")
            visit = _Visit(message, self._decoded(message), whole(payload), call)
            if len(visit.payload) != payload_size(visit.asked, visit.direction == "backward"):
                size = len(visit.payload)
                raise ProtocolError(f"A payload of {size} bytes does not fit the expert calls it came with.")
            if visit.direction == "backward":
                self._backward(visit)
            else:
                self._forward(visit)
        except HearthError:
            raise
        except Exception as error:  # whatever another peer sends, this one must go on
            log.exception("A request of peer %s failed.", message.peer[:8])
            raise RemoteFault("internal", f"This peer failed ({type(error).__name__}).") from error

    def _decoded(self, message: ExpertCall) -> ExpertRequest:
        """What the peer asks for.

        Raises:
            ProtocolError: it is not in the contract, and the peer has a strike for it.
        """
        try:
            request = _decode(message.request)
        except UNREADABLE as error:
            self._calls.tell(SUSPECT, Suspect(message.peer, MISCONDUCT, f"Its request has wrong types: {error}."))
            raise RemoteFault("bad_request", f"Your request has wrong types: {error}.") from error
        if len(request.rows) != len(request.uids):
            raise ProtocolError(f"{len(request.rows)} sizes do not fit {len(request.uids)} expert calls.")
        return request

    def _begun(self, visit: _Visit) -> None:
        self._visits.add(visit)
        visit.call.when_cancelled(partial(self._cancel, visit))

    def _cancel(self, visit: _Visit) -> None:
        """Nobody waits any more: what has not begun is dropped."""
        self._visits.discard(visit)
        if visit.request is not None:
            visit.request.answers.cancel()

    def leave(self) -> None:
        """The machine is given back: the worker has told all who wait to ask elsewhere."""
        for visit in list(self._visits):
            self._cancel(visit)

    def tidy(self) -> None:
        """Forget what is too old. To be called now and then."""
        self._inputs.tidy()
        self._outcomes.tidy()
        self._done.tidy()

    def _forward(self, visit: _Visit) -> None:
        request, view, peer = visit.asked, visit.payload, visit.peer
        if visit.direction == "forward":
            self._lead.check(peer)
        uids = [Uid.parse(text) for text in request.uids]
        shapes = [(rows, *request.shape) for rows in request.rows]
        parts = _cut(view, [encoded_size(request.codec, math.prod(shape)) for shape in shapes])
        calls = [
            Call(uid, codec.decode(part, request.codec, shape))
            for uid, part, shape in zip(uids, parts, shapes, strict=True)
        ]
        self._admit(visit, calls)
        self._begun(visit)

        def done(finished: Request, answers: Sequence[Tensor | None]) -> None:
            visit.request, visit.versions = finished, finished.versions
            for index, (rows, part, shape) in enumerate(zip(answers, parts, shapes, strict=True)):
                if rows is not None and request.passage and visit.direction == "forward":
                    # a copy: a small part must not keep a large payload in memory
                    kept = Inputs(part if len(part) == len(view) else memoryview(bytes(part)), request.codec, shape)
                    self._inputs.put(peer, (request.passage, uids[index]), kept, len(part))
                self._answer(visit, index, rows)

        asks = visit.direction == "inference"
        visit.request = self._runtime.submit(calls, "forward", peer, visit.call.deadline, done, is_question=asks)

    def _backward(self, visit: _Visit) -> None:
        """A pass that this peer has asked for before, under the same number, is not applied again."""
        request, peer = visit.asked, visit.peer
        keys = [(request.passage, Uid.parse(text)) for text in request.uids]
        named = request.passage != 0
        known = [named and ((peer, key) in self._under_way or bool(self._done.get(peer, key))) for key in keys]
        calls = self._gradient_calls(visit, keys, known)
        if calls is None:
            visit.call.answer(_encode(ExpertReply((False,) * len(keys), forgotten=True)))
            return
        self._admit(visit, list(calls.values()))
        self._begun(visit)
        for index in calls:
            self._inputs.pop(peer, keys[index])
            if named:
                self._under_way[peer, keys[index]] = []

        def done(finished: Request, answers: Sequence[Tensor | None]) -> None:
            visit.request = finished
            for index, rows, version in zip(calls, answers, finished.versions, strict=True):
                visit.versions[index] = version
                self._answer(visit, index, rows)
                self._applied(peer, keys[index], rows)

        for index, key in enumerate(keys):
            if known[index]:
                visit.versions[index] = self._runtime.version(key[1])
                if (peer, key) in self._under_way:
                    self._under_way[peer, key].append(partial(self._answer, visit, index))
                else:
                    self._answer(visit, index, self._outcomes.get(peer, key))
        if calls:
            deadline = visit.call.deadline
            visit.request = self._runtime.submit([*calls.values()], "backward", peer, deadline, done, crowd=visit.crowd)

    def _gradient_calls(self, visit: _Visit, keys: list[Key], known: list[bool]) -> dict[int, Call] | None:
        """The calls that are new, by their number in the request; None: the inputs of one are not kept any more."""
        request, view = visit.asked, visit.payload
        if len(request.versions) not in (0, len(keys)):
            raise ProtocolError(f"{len(request.versions)} versions do not fit {len(keys)} expert calls.")
        shapes = [(rows, *request.shape) for rows in request.rows]
        size = 2 if request.with_inputs else 1
        parts = _cut(view, [encoded_size(request.codec, math.prod(shape)) for shape in shapes for _ in range(size)])
        calls = {}
        for index, (key, shape) in enumerate(zip(keys, shapes, strict=True)):
            if known[index]:
                continue
            sent = Inputs(parts[size * index], request.codec, shape)
            kept = sent if request.with_inputs else self._inputs.get(visit.peer, key)
            if kept is None:
                return None
            if kept.shape != shape:
                raise ProtocolError(f"Gradients {shape} do not fit the inputs {kept.shape} of {key[1]}.")
            gradients = codec.decode(parts[size * index + size - 1], request.codec, shape)
            version = request.versions[index] if request.versions else self._runtime.version(key[1])
            calls[index] = Call(key[1], codec.decode(kept.data, kept.codec, kept.shape), gradients, version)
        return calls

    def _applied(self, peer: str, key: Key, rows: Tensor | None) -> None:
        """A new backward pass came to its end; `rows` None: nothing was applied, and it may be asked for again."""
        if rows is not None:
            self._lead.learnt(peer, _rows_of(rows))
        if rows is not None and key[0]:
            self._done.put(peer, key, True, 1)
            whole = rows.untyped_storage().nbytes() == rows.nbytes  # not a part of a larger pass
            self._outcomes.put(peer, key, rows if whole else rows.clone(), rows.nbytes)
        for answer in self._under_way.pop((peer, key), []):
            answer(rows)

    def _admit(self, visit: _Visit, calls: Sequence[Call]) -> None:
        """Raises:
        CallRefused: it would take too long. What is merely expected to miss its deadline is let in: it may do better,
            and is dropped if not.
        """
        backward = visit.direction == "backward"
        asks = visit.direction == "inference"
        delay = self._runtime.delay(visit.peer, calls, "backward" if backward else "forward", asks)
        if delay > WAIT_S * (2 if backward else 1) or asyncio.get_running_loop().time() > visit.call.deadline:
            raise CallRefused(f"This peer is busy: your request would wait {delay:.1f} s. Ask another one.")

    def _answer(self, visit: _Visit, index: int, rows: Tensor | None) -> None:
        """One call of a request is done; the last one sends the answer."""
        visit.answers[index] = rows
        visit.open -= 1
        if visit.open or visit not in self._visits:
            return
        self._visits.discard(visit)
        problems = visit.request.problems if visit.request else {}
        if len(problems) == len(visit.answers) and all(problem.code != "stale" for problem in problems.values()):
            visit.call.refuse(RemoteFault(problems[0].code, f"{visit.asked.uids[0]}: {problems[0].text}"))
            return
        answered = tuple(rows is not None for rows in visit.answers)
        self._tally.served(visit.peer, visit.direction, visit.asked.rows, answered)
        if visit.direction == "forward":
            self._lead.answered(visit.peer, sum(_rows_of(rows) for rows in visit.answers if rows is not None))
        reply = ExpertReply(answered, tuple(visit.versions), load=min(self._runtime.load, 1e6))
        visit.call.answer(
            _encode(reply), [codec.encode(rows, visit.asked.codec) for rows in visit.answers if rows is not None]
        )


def _rows_of(samples: Tensor) -> int:
    """Those of all sequences, if the samples are such."""
    return samples.numel() // samples.shape[-1]


def _cut(view: memoryview, sizes: Sequence[int]) -> list[memoryview]:
    """Consecutive parts of a payload, whose size has been checked."""
    parts, start = [], 0
    for size in sizes:
        parts.append(view[start : start + size])
        start += size
    return parts
