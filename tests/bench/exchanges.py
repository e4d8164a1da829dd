"""What a swarm does so that its trainers agree on a trunk, in memory and in simulated time: one class a strategy.

Each trainer has its end of a pipe, and behind it what serves as a worker does. It takes the time that a link of a
bandwidth and a latency needs.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.averaging import codecs
from core.averaging.packing import pack
from core.contracts.expert_calls import Codec, encoded_size
from core.contracts.pipe import AGREE, ENOUGH, GATHERED, REACHED
from core.contracts.trunk import Agreed, Dedloc, Diloco, Gathered, Offer, Reached, Trunk, VcAsgd
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.trunk.parameter_server import ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore
from tests.joined_calls import join
from tests.joined_trunks import JoinedTrunks

BYTES_PER_S = 20e6 / 8
"""Of each trainer's link: the slowest for which strategies are to be good."""
LATENCY_S = 0.05
GRACE_S = 5.0
KEPT = 2
"""Steps whose means are kept, for trainers that come."""


def delay_s(size: float) -> float:
    """For how long so many bytes are on their way."""
    return LATENCY_S + size / BYTES_PER_S


class _Sum:
    """What is offered for one step."""

    def __init__(self, awaited: set[str]) -> None:
        """
        Args:
            awaited: the trainers there are.
        """
        self.awaited = awaited
        self.samples = self.peers = self.total = 0
        self.numbers: NDArray[np.float32] = np.empty(0, np.float32)
        self.all_here = asyncio.Event()


class JoinedSums:
    """DeDLOC: the trainers' sums are averaged by a butterfly all-reduce as soon as all have offered theirs."""

    def __init__(
        self,
        rules: Dedloc,
        delay_s: Callable[[float], float] = lambda size: 0.0,
        codec: Codec = "fp16",
    ) -> None:
        """Nobody has gathered anything.

        Args:
            rules: of the run.
            delay_s: for how long so many bytes are on their way.
            codec: how numbers travel.
        """
        self._target, self._delay_s, self._codec = rules.target_samples, delay_s, codec
        self.sent: Counter[str] = Counter()
        """Bytes by trainer, both ways."""
        self._workers: dict[str, Calls] = {}
        self._gathered: dict[str, Gathered] = {}
        self._steps: dict[int, _Sum] = {}
        self._reached: dict[int, bytes] = {}
        """Digests of trunks, by step."""
        self._samples = 0
        """In all steps."""

    def calls_of(self, trainer: str) -> Calls:
        """Compute's end of a trainer's pipe."""
        worker, compute = Calls(), Calls()
        self._workers[trainer] = worker
        worker.register_carrier(AGREE, partial(self._answer, trainer))
        worker.listen(GATHERED, partial(self._note, trainer))
        worker.listen(REACHED, partial(self._compare, trainer))
        join(worker, compute)
        return compute

    def leave(self, trainer: str) -> None:
        """A trainer has gone: nobody waits for it any more."""
        del self._workers[trainer]
        self._gathered.pop(trainer, None)
        for step in self._steps.values():
            self._came(trainer, step)

    def _note(self, trainer: str, gathered: Gathered) -> None:
        self._gathered[trainer] = gathered
        version = gathered.version
        if version in self._steps:
            self._workers[trainer].tell(ENOUGH, version)
        elif sum(each.samples for each in self._gathered.values() if each.version == version) >= self._target:
            self._steps[version] = _Sum(set(self._workers))
            for worker in self._workers.values():
                worker.tell(ENOUGH, version)

    def _compare(self, trainer: str, reached: Reached) -> None:
        """All come to the same bits."""
        expected = self._reached.setdefault(reached.version, reached.digest)
        assert reached.digest == expected, f"trainer {trainer} has another trunk at step {reached.version}"
        while len(self._reached) > KEPT:
            del self._reached[min(self._reached)]

    def _answer(
        self, trainer: str, offer: Offer, payload: Payload, call: Incoming
    ) -> Awaitable[tuple[Agreed, Payload]]:
        return self._agree(trainer, offer, _numbers(payload))

    async def _agree(self, trainer: str, offer: Offer, numbers: NDArray[np.float32]) -> tuple[Agreed, Payload]:
        step = self._steps[offer.version]
        counted = not step.all_here.is_set()
        if offer.samples and counted:
            weight = np.float32(offer.samples)
            numbers = weight * self._travelled(numbers / weight)
            step.numbers = step.numbers + numbers if step.peers else numbers
            step.samples += offer.samples
            step.peers += 1
        self._came(trainer, step)
        await step.all_here.wait()
        agreed = Agreed(0, offer.version + 1, step.total, step.peers, counted)
        # each sends all but its own share, and its own to all others; and gets as much
        size = 2 * encoded_size(self._codec, len(step.numbers)) * (step.peers - 1) // step.peers
        self.sent[trainer] += 2 * size
        await asyncio.sleep(self._delay_s(size))
        return agreed, step.numbers.tobytes()

    def _came(self, trainer: str, step: _Sum) -> None:
        """A trainer has offered, or has gone. The last one makes the mean."""
        step.awaited.discard(trainer)
        if not step.awaited and not step.all_here.is_set():
            step.numbers = self._travelled(step.numbers / np.float32(step.samples))
            self._samples = step.total = self._samples + step.samples
            step.all_here.set()
            while len(self._steps) > KEPT:
                del self._steps[min(self._steps)]

    def _travelled(self, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        return codecs.decode(codecs.encode(numbers, self._codec), self._codec, len(numbers))


class JoinedServer:
    """VC-ASGD: one parameter server, over a file, deals out subtasks and mixes in what comes."""

    def __init__(self, rules: VcAsgd, folder: Path, delay_s: Callable[[float], float] = lambda size: 0.0) -> None:
        """Nobody has given the parameters to begin with.

        Args:
            rules: of the run.
            folder: for the file.
            delay_s: for how long so many bytes are on their way.
        """
        self._rules, self._delay_s = rules, delay_s
        self.sent: Counter[str] = Counter()
        """Bytes by trainer, both ways."""
        self._store = SqliteStore(folder / "store")
        self._server: ParameterServer | None = None

    def calls_of(self, trainer: str) -> Calls:
        """Compute's end of a trainer's pipe."""
        worker, compute = Calls(), Calls()
        worker.register_carrier(AGREE, partial(self._agree, trainer))
        join(worker, compute)
        return compute

    async def _agree(self, trainer: str, offer: Offer, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
        numbers = _numbers(payload)
        if self._server is None:
            if not len(numbers):
                return Agreed(0, 0, 0, 0, False), b""
            self._server = ParameterServer(self._rules, len(numbers), self._store)
        await self._travel(trainer, numbers)
        vector, now = numbers if len(numbers) else None, asyncio.get_running_loop().time()
        agreed, current = self._server.serve(trainer, offer, vector, now)
        if current is None:
            return agreed, b""
        await self._travel(trainer, current)
        return agreed, current.tobytes()

    async def _travel(self, trainer: str, numbers: NDArray[np.float32]) -> None:
        size = len(pack(numbers)) if len(numbers) else 0
        self.sent[trainer] += size
        await asyncio.sleep(self._delay_s(size))


def _numbers(payload: Payload) -> NDArray[np.float32]:
    pieces = [payload] if isinstance(payload, bytes | bytearray | memoryview) else payload
    return np.frombuffer(b"".join(pieces), "<f4")


Exchange = JoinedSums | JoinedTrunks | JoinedServer


class Arm(NamedTuple):
    """A strategy with parameters, and how trainers agree by it."""

    rules: Callable[[int], Trunk]
    """What the manifest says, by the samples in a batch of all trainers."""
    exchange: Callable[[Any, Path], Exchange]
    """By these rules, with files in a folder."""


def _sums(rules: Dedloc, folder: Path) -> JoinedSums:
    return JoinedSums(rules, delay_s)


def _fragments(rules: Diloco, folder: Path) -> JoinedTrunks:
    return JoinedTrunks(rules, delay_s)


def _server(rules: VcAsgd, folder: Path) -> JoinedServer:
    return JoinedServer(rules, folder, delay_s)


ARMS: dict[str, Arm] = {
    "dedloc": Arm(lambda samples: Dedloc(samples), _sums),
    "dedloc_delayed": Arm(lambda samples: Dedloc(samples, delayed=True), _sums),
    "diloco": Arm(lambda samples: Diloco(wire="dense", grace_s=GRACE_S), _fragments),
    "diloco_sparse": Arm(lambda samples: Diloco(wire="sparse", grace_s=GRACE_S), _fragments),
    "vc_asgd": Arm(lambda samples: VcAsgd(servers=("00" * 32,), batches=16), _server),
}
