"""VC-ASGD's parameter server: takes in what clients have trained, and gives them the next work (Atre, Jha and Rao,
2021, section III).

Any number of servers share one store, and nothing is known by a server alone: when one dies, clients go on with the
next.
"""

import hashlib
import logging
import math
import struct
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec
import numpy as np

from core.averaging.assimilation import FAR, assimilate, bring_near, check, kept_share
from core.averaging.codecs import Numbers
from core.contracts.errors import UNREADABLE, DataFolderError, ProtocolError
from core.contracts.trunk import MOST, Agreed, Offer, VcAsgd
from core.swarm.trunk.parameter_store import ParameterStore
from core.swarm.trunk.server_copy import Copy
from core.swarm.trunk.work_generator import Subtask, Work, WorkGenerator

log = logging.getLogger(__name__)

PARAMETERS, WORK = "parameters", "work"
"""Names in the store."""
HEAD = struct.Struct("<Q")
"""Before the parameters' bytes: how many arrivals are in them."""
AGAIN_S = 2.0
"""A client that gets no work asks again after so many seconds ..."""
STOPPED_S = 60.0
"""... or so many when the job is done."""
NEAR = 1e-3
"""A result so many times as far as those of whoever is nearest, for its samples, has learnt nothing."""
R = TypeVar("R")
_decode_work = msgspec.msgpack.Decoder(Work).decode


class Damaged(DataFolderError):
    """What the store keeps cannot be read."""


class ParameterServer:
    """Serves clients one after the other, from one thread at a time."""

    def __init__(
        self,
        rules: VcAsgd,
        numbers: int,
        store: ParameterStore,
        reach: float = math.inf,
        most_samples: int = MOST,
        epochs: int = MOST,
    ) -> None:
        """
        Args:
            rules: Of the run.
            numbers: Parameters that there are.
            store: Shared with all other servers of the run.
            reach: As far as a subtask can take a client's parameters; it counts until the first results tell what is
                usual.
            most_samples: That a subtask has. Rates fall with the samples of all, so one could end everybody's training.
            epochs: That there can have been: the table may be of a liar, and results count the less the later they are.
        """
        self._rules, self._numbers, self._store, self._reach = rules, numbers, store, reach
        self._most_samples, self._epochs = most_samples, epochs

    def serve(
        self,
        client: str,
        offer: Offer,
        vector: Numbers | None,
        now: float,
        far: Callable[[float], None] = lambda times: None,
        voice: str = "",
    ) -> tuple[Agreed, Numbers | None]:
        """Assimilate what a client has trained, and give it a subtask.

        Args:
            client: its name.
            offer: `part` and `version` of the subtask, how many samples were trained on, the accuracy of the parameters
                with which it began, and which others the client still works on. With parameters and no samples: those
                that all clients begin with, which the first one of a run gives.
            vector: [all parameters] after the subtask, finite; None: only work is asked for.
            now: Unix time.
            far: told how many times as far as usual the parameters are from the servers', if they had to be brought
                near.
            voice: as in `WorkGenerator.finish`; empty: the client's own.

        Returns:
            The subtask, its number as the version, with the servers' parameters; without any, as long as no client has
            given those that all begin with.

        Raises:
            ProtocolError: the vector has another size, holds what no network learns with, is said to be made of more
                samples than there are, or has learnt nothing.
            NetworkError, DataFolderError: the store failed, or what it keeps is damaged.
        """
        self._check(offer, vector)
        current, counted = None, False
        if vector is not None and offer.samples:
            current = self._take(client, offer, vector, now, far, voice or client)
            counted = current is not None
        elif vector is not None:
            self._store.change(PARAMETERS, lambda before: (before or _written(0, vector), None))
        if current is None:
            current = self._read()[1]
        if current is None:
            return Agreed(0, 0, 0, 0, counted), None
        holding = [self._subtask(version) for version in offer.holding]
        mark = _mark(current)
        given, stopped, work = self._change(
            lambda work: (_give(work, client, now, holding, voice, mark), work.stopped, work.work)
        )
        busy = len({each.client for each in work.open if each.client is not None})
        if given is None:
            again_s = STOPPED_S if stopped else AGAIN_S
            return Agreed(0, 0, work.samples, busy, counted, again_s, stopped, work.done), current
        number = (given.epoch - 1) * self._rules.parts + given.part
        return Agreed(given.part, number, work.samples, busy, counted, mixed=work.done), current

    def _take(
        self, client: str, offer: Offer, vector: Numbers, now: float, far: Callable[[float], None], voice: str
    ) -> Numbers | None:
        """Assimilate a result, if it counts; the servers' parameters then."""
        subtask, mark = self._subtask(offer.version), _mark(vector)
        counted, known, least, is_old = self._change(
            lambda work: (work.reserve(client, subtask, now), work.usual(), work.least(), work.knows(client, mark))
        )
        if not counted:
            return None
        usual = min(known or math.inf, self._reach / FAR)
        least = math.inf if is_old else NEAR * min(least, usual) * offer.samples / self._most_samples
        try:
            current, distance = self._assimilate(vector, subtask.epoch, usual, least)
        except ProtocolError:
            self._change(lambda work: work.refuse(client, subtask))
            raise
        if distance > FAR * usual:
            far(distance / usual)
        believed = min(distance, FAR * usual)
        self._change(lambda work: _finish(work, client, subtask, offer, believed, voice, mark))
        return current

    def lost(self) -> int:
        """Arrivals that servers wrote over each other so far; 0 with strong consistency."""
        return self.work().done - self._read()[0]

    def work(self) -> Work:
        """The table as it is now."""
        return self._change(lambda work: work.work)

    def copy(self) -> Copy | None:
        """All that is here, for another store; None: nothing has begun, or it is damaged, which is as good as that."""
        table = self._store.read(WORK)
        try:
            vector = self._read()[1]
            if not table or vector is None:
                return None
            return Copy(table, vector.tobytes(), _decoded(table).turns)
        except Damaged as error:
            log.warning("%s It is done without.", error)
            self._write(b"", b"")
            return None

    def put(self, copy: Copy) -> None:
        """Go on from there.

        Args:
            copy: another store's, which takes the place of all that is here.
        """
        done = _decoded(copy.table).done
        self._write(copy.table, _written(done, np.frombuffer(copy.vector, "<f4")))

    def _write(self, table: bytes, parameters: bytes) -> None:
        """Both in one transaction: neither is of use without the other."""

        def write(before: bytes | None) -> tuple[bytes, None]:
            self._store.write(PARAMETERS, parameters)
            return table, None

        self._store.change(WORK, write)

    def _check(self, offer: Offer, vector: Numbers | None) -> None:
        if offer.samples > self._most_samples:
            raise ProtocolError(f"{offer.samples} samples came of a subtask that has {self._most_samples}.")
        if vector is not None:
            if len(vector) != self._numbers:
                raise ProtocolError(f"{len(vector)} parameters came of a trunk with {self._numbers}.")
            check(vector)

    def _subtask(self, version: int) -> Subtask:
        epoch, part = divmod(version, self._rules.parts)
        return Subtask(epoch + 1, part)

    def _assimilate(self, vector: Numbers, epoch: int, usual: float, least: float) -> tuple[Numbers, float]:
        """The servers' parameters then, and how far from them the vector was. One nearer than `least` is refused: who
        need not train could do all subtasks at once."""
        kept = kept_share(self._rules.kept, min(epoch, self._epochs))

        def mix(before: bytes | None) -> tuple[bytes, tuple[Numbers, float]]:
            count, current = self._parsed(before)
            if current is None:
                return _written(count + 1, vector), (vector, 0.0)
            near, distance = bring_near(current, vector, usual)
            if distance < least:
                raise ProtocolError("A result came that has learnt nothing.")
            mixed = assimilate(current, near, kept)
            return _written(count + 1, mixed), (mixed, distance)

        if self._rules.strong:
            return self._store.change(PARAMETERS, mix)
        value, told = mix(self._store.read(PARAMETERS))
        self._store.write(PARAMETERS, value)
        return told

    def _read(self) -> tuple[int, Numbers | None]:
        return self._parsed(self._store.read(PARAMETERS))

    def _parsed(self, value: bytes | None) -> tuple[int, Numbers | None]:
        if not value:
            return 0, None
        if len(value) == HEAD.size + 4 * self._numbers:
            vector = np.frombuffer(value, "<f4", offset=HEAD.size)
            if np.isfinite(vector).all():
                return HEAD.unpack_from(value)[0], vector
        raise Damaged("The run's parameters are damaged.")

    def _change(self, change: Callable[[WorkGenerator], R]) -> R:
        def apply(before: bytes | None) -> tuple[bytes, R]:
            work = _decoded(before) if before else Work()
            result = change(WorkGenerator(self._rules, work))
            return msgspec.msgpack.encode(work), result

        return self._store.change(WORK, apply)


def _give(
    work: WorkGenerator, client: str, now: float, holding: Collection[Subtask], voice: str, mark: bytes
) -> Subtask | None:
    given = work.give(client, now, holding, voice)
    if given is not None:
        work.know(client, mark)
    return given


def _finish(
    work: WorkGenerator, client: str, subtask: Subtask, offer: Offer, distance: float, voice: str, mark: bytes
) -> None:
    work.finish(client, subtask, offer.samples, distance, voice)
    work.know(client, mark)
    if offer.accuracy is not None:
        work.judge(subtask, offer.accuracy, voice)


def _mark(vector: Numbers) -> bytes:
    return hashlib.sha256(vector.data).digest()[:8]


def _written(count: int, vector: Numbers) -> bytes:
    return HEAD.pack(count) + vector.astype("<f4", copy=False).tobytes()


def _decoded(table: bytes) -> Work:
    try:
        return _decode_work(table)
    except UNREADABLE as error:
        raise Damaged(f"The table of the run's work is damaged: {error}.") from error
