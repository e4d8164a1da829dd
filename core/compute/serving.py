"""Other peers' expert calls, as compute serves them: decoded, checked, run together with the own Trainer's, encoded."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor

from core.compute.recent_calls import DONE_BYTES, DONE_BYTES_PEER, KEPT_BYTES, KEPT_BYTES_PEER, Done, Memory
from core.contracts import pipe as messages
from core.contracts.errors import CallRefused, HearthError, ProtocolError, RemoteFault
from core.contracts.expert_calls import Codec, ExpertReply, encoded_size
from core.contracts.pipe import Cancel, Refused, Serve, Served, Shape, Suspect
from core.experts import codec
from core.experts.calls import Call
from core.experts.grid import Uid
from core.pipe.old import OldMessages
from core.runtime.kernel_gate import Switch
from core.runtime.runtime import Runtime
from core.runtime.task_pool import Request

log = logging.getLogger(__name__)

WAIT_S = 2.0
"""A forward pass that would wait for longer than this, or a backward pass, in which work was put already, for twice as
long, is refused at once, so that its caller can ask another peer."""
MISCONDUCT = 2.0
"""Strikes for values that are not finite or beyond all bounds: the fifth within a minute means a ban."""

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

    def __init__(self, message: Serve, calls: int) -> None:
        self.message = message
        self.request: Request | None = None
        self.answers: list[Tensor | None] = [None] * calls
        self.versions = [0] * calls
        self.open = calls


class Serving:
    """Answers `Serve` by `Served` or `Refused`, both without waiting: to be called from the loop's thread."""

    def __init__(self, pipe: OldMessages, runtime: Runtime, switch: Switch) -> None:
        self._pipe, self._runtime, self._switch = pipe, runtime, switch
        self._visits: dict[int, _Visit] = {}
        self._inputs: Memory[Key, Inputs] = Memory(KEPT_BYTES, KEPT_BYTES_PEER)
        self._outcomes: Memory[Key, Tensor] = Memory(DONE_BYTES, DONE_BYTES_PEER)
        self._done: Done[Key] = Done()
        self._under_way: dict[tuple[str, Key], list[Answers]] = {}
        """Backward passes that are not done yet, and who waits for them beside the first who asked."""
        runtime.on_misconduct = lambda caller, what: pipe.send(Suspect(caller, MISCONDUCT, what))

    def serve(self, message: Serve, payload: messages.Data) -> None:
        """Run experts for another peer."""
        try:
            if not self._switch.is_on:
                raise CallRefused("This PC is given back to its user. Ask another peer.")
            if message.direction == "backward":
                self._backward(message, payload)
            else:
                self._forward(message, payload)
        except HearthError as error:
            self._refuse(message.id, error)
        except Exception as error:  # whatever another peer sends, this one must go on
            log.exception("A request of peer %s failed.", message.peer[:8])
            self._refuse(message.id, RemoteFault("internal", f"This peer failed ({type(error).__name__})."))

    def cancel(self, message: Cancel) -> None:
        """Nobody waits any more: what has not begun is dropped."""
        visit = self._visits.pop(message.id, None)
        if visit is not None and visit.request is not None:
            visit.request.answers.cancel()

    def leave(self) -> None:
        """The machine is given back: the worker has told all who wait to ask elsewhere."""
        visits, self._visits = self._visits, {}
        for visit in visits.values():
            if visit.request is not None:
                visit.request.answers.cancel()

    def tidy(self) -> None:
        """Forget what is too old. To be called now and then."""
        self._inputs.tidy()
        self._outcomes.tidy()

    def _forward(self, message: Serve, payload: messages.Data) -> None:
        request, view = message.request, memoryview(payload)
        uids = [Uid.parse(text) for text in request.uids]
        shapes = [(rows, *request.shape) for rows in request.rows]
        parts = _cut(view, [encoded_size(request.codec, math.prod(shape)) for shape in shapes])
        calls = [
            Call(uid, codec.decode(part, request.codec, shape))
            for uid, part, shape in zip(uids, parts, shapes, strict=True)
        ]
        self._admit(message, calls)
        visit = self._visits[message.id] = _Visit(message, len(calls))

        def done(finished: Request, answers: Sequence[Tensor | None]) -> None:
            visit.request, visit.versions = finished, finished.versions
            for index, (rows, part, shape) in enumerate(zip(answers, parts, shapes, strict=True)):
                if rows is not None and request.passage and message.direction == "forward":
                    # a copy: a small part must not keep a large payload in memory
                    kept = Inputs(part if len(part) == len(view) else memoryview(bytes(part)), request.codec, shape)
                    self._inputs.put(message.peer, (request.passage, uids[index]), kept, len(part))
                self._answer(visit, index, rows)

        visit.request = self._runtime.submit(calls, "forward", message.peer, message.deadline, done)

    def _backward(self, message: Serve, payload: messages.Data) -> None:
        """A pass that this peer has asked for before, under the same number, is not applied again."""
        request, peer = message.request, message.peer
        keys = [(request.passage, Uid.parse(text)) for text in request.uids]
        named = request.passage != 0
        known = [named and ((peer, key) in self._under_way or (peer, key) in self._done) for key in keys]
        calls = self._gradient_calls(message, payload, keys, known)
        if calls is None:
            self._send(message.id, ExpertReply((False,) * len(keys), forgotten=True), b"")
            return
        self._admit(message, list(calls.values()))
        visit = self._visits[message.id] = _Visit(message, len(keys))
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
            visit.request = self._runtime.submit(list(calls.values()), "backward", peer, message.deadline, done)

    def _gradient_calls(
        self, message: Serve, payload: messages.Data, keys: list[Key], known: list[bool]
    ) -> dict[int, Call] | None:
        """The calls that are new, by their number in the request; None: the inputs of one are not kept any more."""
        request, view = message.request, memoryview(payload)
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
            kept = sent if request.with_inputs else self._inputs.get(message.peer, key)
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
        if rows is not None and key[0]:
            self._done.add(peer, key)
            whole = rows.untyped_storage().nbytes() == rows.nbytes  # not a part of a larger pass
            self._outcomes.put(peer, key, rows if whole else rows.clone(), rows.nbytes)
        for answer in self._under_way.pop((peer, key), []):
            answer(rows)

    def _admit(self, message: Serve, calls: Sequence[Call]) -> None:
        """Raises:
        CallRefused: it would take too long. What is merely expected to miss its deadline is let in: it may do better,
            and is dropped if not.
        """
        backward = message.direction == "backward"
        delay = self._runtime.delay(message.peer, calls, "backward" if backward else "forward")
        if delay > WAIT_S * (2 if backward else 1) or time.monotonic() > message.deadline:
            raise CallRefused(f"This peer is busy: your request would wait {delay:.1f} s. Ask another one.")

    def _answer(self, visit: _Visit, index: int, rows: Tensor | None) -> None:
        """One call of a request is done; the last one sends the answer."""
        visit.answers[index] = rows
        visit.open -= 1
        message = visit.message
        if visit.open or self._visits.pop(message.id, None) is None:
            return
        problems = visit.request.problems if visit.request else {}
        if len(problems) == len(visit.answers) and all(problem.code != "stale" for problem in problems.values()):
            self._refuse(message.id, RemoteFault(problems[0].code, f"{message.request.uids[0]}: {problems[0].text}"))
            return
        parts = [codec.encode(rows, message.request.codec) for rows in visit.answers if rows is not None]
        answered = tuple(rows is not None for rows in visit.answers)
        reply = ExpertReply(answered, tuple(visit.versions), load=min(self._runtime.load, 1e6))
        self._send(message.id, reply, parts[0] if len(parts) == 1 else b"".join(parts))

    def _send(self, number: int, reply: ExpertReply, data: bytes | memoryview) -> None:
        self._pipe.send(Served(number, reply), [messages.Tensor(Shape("uint8", (len(data),)), data)])

    def _refuse(self, number: int, error: HearthError) -> None:
        self._visits.pop(number, None)
        code = "busy" if isinstance(error, CallRefused) else error.code
        self._pipe.send(Refused(number, error.fault if isinstance(error, RemoteFault) else code, str(error)))


def _cut(view: memoryview, sizes: Sequence[int]) -> list[memoryview]:
    """Consecutive parts of a payload, whose size the worker has checked."""
    parts, start = [], 0
    for size in sizes:
        parts.append(view[start : start + size])
        start += size
    return parts
