"""A thousand peers in simulated time, of which a fifth lie: training goes on.

Each hosts one expert of `digits`, in a grid large enough; four of them train. All that compute consists of is the
shipped one at both ends: Trainer, directory, remote hosts, codec, `Serving`, a Runtime for each host. What lies between
them is simulated, and so is time; nobody hosts in the place of who lies.
"""

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from statistics import mean
from typing import NamedTuple
from unittest.mock import patch

import msgspec
import pytest
import torch

from core.compute.peer_directory import Hosts, PeerDirectory
from core.compute.serving import Serving
from core.contracts import manifest as manifests
from core.contracts.errors import CallRefused, CallTimeout
from core.contracts.expert_calls import ExpertRequest
from core.contracts.manifest import Manifest
from core.contracts.remote_experts import (
    ASK,
    FOLLOW,
    LOCATE,
    MISSING,
    SERVE,
    SUSPECT,
    Banned,
    Cells,
    ExpertCall,
    Missing,
    News,
    Place,
    Suspect,
)
from core.experts.calls import Call, ExpertHost, Output
from core.experts.dht_directory import NEGATIVE_S
from core.experts.directory import LocalDirectory
from core.experts.grid import Grid, Uid
from core.experts.standing import Standing
from core.net.limits import Bans
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.data import digits
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.bench import gradients, virtual_time
from tests.experts import all_experts
from tests.joined_calls import join
from tests.long.hostile.attacker import noise

pytestmark = pytest.mark.timeout(8 * 3600)

GRID = 20, 25
"""Of each of the two layers: a thousand experts."""
K, BATCH = 2, 16
"""Less than the run has: on average an expert gets one sample of a batch, and each is a request of its own."""
LIARS = 200
TRAINERS, LYING = 4, 1
TRAINED_S, TELL_S = 600.0, 10.0
"""Simulated: how long they train, and after what time it is told how far they are. An hour or two of a core."""
ONE_WAY_S = 0.01, 0.08
POINTS, SLOW_S = 2.0, 30.0
LOOK_S = 0.5
KINDS = "silent", "noise", "refuses", "leads astray"
"""What hosts do: never answer, answer noise, take no gradients, give gradients of noise."""
LIES = "flip", "noise"
"""Of trainers."""


class Host:
    """One peer's expert, and the pipe to it."""

    def __init__(self, backend: ExpertBackend, gate: KernelGate) -> None:
        self.runtime, self.bans = Runtime({backend.uid: backend}, gate), Bans()
        self._calls, compute = Calls(), Calls()
        self._links = join(self._calls, compute)
        Serving(compute, self.runtime, gate)
        self._calls.listen(SUSPECT, lambda told: self.bans.strike(told.peer.encode(), told.points, time.monotonic()))

    async def answer(self, call: ExpertCall, payload: Payload, deadline: float) -> tuple[bytes, Payload]:
        """Run the expert for a trainer."""
        for link in self._links:
            link.sent.clear()
        if self.bans.banned(call.peer.encode(), time.monotonic()):
            raise CallRefused("You are banned here.")
        return await self._calls.exchange(SERVE, call, payload, deadline)


class Liar(Host):
    """One that lies."""

    def __init__(self, backend: ExpertBackend, gate: KernelGate, kind: str) -> None:
        super().__init__(backend, gate)
        self._kind = kind

    async def answer(self, call: ExpertCall, payload: Payload, deadline: float) -> tuple[bytes, Payload]:
        if self._kind == "silent":
            await asyncio.sleep(math.inf)
        if self._kind == "refuses" and call.direction == "backward":
            raise CallRefused("No.")
        if self._kind == "noise" or (self._kind == "leads astray" and call.direction == "backward"):
            return noise(call.direction, msgspec.msgpack.decode(call.request, type=ExpertRequest), 1)
        return await super().answer(call, payload, deadline)


class World:
    """All hosts, and who hosts what."""

    def __init__(self, manifest: Manifest, liars: int) -> None:
        self.chance, self.manifest, self.gate = random.Random(20), manifest, KernelGate()
        self.grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
        self.hosts: dict[str, Host] = {}
        self.of: dict[Uid, str] = {}
        lying = set(self.chance.sample(range(self.grid.cells * manifest.model.layers), liars))
        for number, backend in enumerate(all_experts(manifest)):
            name = self.chance.randbytes(32).hex()
            host = Liar(backend, self.gate, KINDS[number % len(KINDS)]) if number in lying else Host(backend, self.gate)
            self.hosts[name], self.of[backend.uid] = host, name

    async def travel(self) -> None:
        """For as long as something is on its way."""
        await asyncio.sleep(self.chance.uniform(*ONE_WAY_S))


class Lying:
    """A peer's experts, whose gradients a liar makes up; an `ExpertHost`."""

    def __init__(self, host: ExpertHost, lie: gradients.Lie) -> None:
        self._host, self._lie = host, lie

    @property
    def standing(self) -> Standing | None:
        return self._host.standing

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        return await self._host.forward(calls, passage, deadline, inference)

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[torch.Tensor | None]:
        lies = [call._replace(gradients=self._lie(call.uid, gradients._true(call))) for call in calls]
        answers = await self._host.backward(lies, passage, deadline)
        return [None if rows is None else torch.zeros_like(rows) for rows in answers]


class LyingHosts(dict[str, ExpertHost]):
    """Every peer, as a lying trainer asks it."""

    def __init__(self, hosts: Mapping[str, ExpertHost], lie: gradients.Lie) -> None:
        super().__init__()
        self._hosts, self._lie = hosts, lie

    def __missing__(self, peer: str) -> ExpertHost:
        return Lying(self._hosts[peer], self._lie)


class TrainingPeer:
    """One peer that trains, and what its worker does for it."""

    def __init__(self, world: World, number: int, lie: gradients.Lie | None) -> None:
        self._world, self._name = world, world.chance.randbytes(32).hex()
        self._bans, self._banned = Bans(), asyncio.Queue[Banned]()
        self._missing: defaultdict[Uid, dict[str, float]] = defaultdict(dict)
        """Hosts that are not named for an expert, until when."""
        worker, compute = Calls(), Calls()
        self._links = join(worker, compute)
        worker.register_carrier(ASK, self._ask)
        worker.register(LOCATE, self._locate)
        worker.register_stream(FOLLOW, self._follow)
        worker.listen(SUSPECT, self._suspect)
        worker.listen(MISSING, self._miss)
        manifest = world.manifest
        self._directory = PeerDirectory(world.grid, LocalDirectory(()), compute, manifest.training)
        hosts: Mapping[str, ExpertHost] = Hosts(Runtime({}, world.gate), self._directory)
        self.trainer = Trainer(
            manifest,
            hosts if lie is None else LyingHosts(hosts, lie),
            self._directory,
            world.gate,
            open_stream(manifest, shuffle=number),
            suspect=lambda host, points, why: self._directory.host(host).distrust(points, why),
            vouch=lambda host, direction: self._directory.host(host).vouch(direction),
        )

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(self._directory.follow(), self._directory.run(), self.trainer.run())

    async def _ask(self, message: ExpertCall, payload: Payload, call: Incoming) -> tuple[bytes, Payload]:
        for link in self._links:
            link.sent.clear()
        world = self._world
        try:
            async with asyncio.timeout_at(call.deadline):
                await world.travel()
                mine = msgspec.structs.replace(message, peer=self._name)
                answer = await world.hosts[message.peer].answer(mine, payload, call.deadline)
                await world.travel()
        except TimeoutError:
            raise CallTimeout("It did not answer.") from None
        return answer

    def _locate(self, uids: list[str]) -> list[list[Place]]:
        now, found = time.monotonic(), list[list[Place]]()
        for text in uids:
            uid = Uid.parse(text)
            host = self._world.of[uid]
            found.append([] if self._missing[uid].get(host, 0.0) > now else [Place(host, 0.0, 1, 50.0)])
        return found

    async def _follow(self, _: None) -> AsyncGenerator[News, None]:
        yield Cells([[uid.coords for uid in self._world.of if uid.layer == layer] for layer in range(2)])
        while True:
            yield await self._banned.get()

    def _suspect(self, told: Suspect) -> None:
        key, now = told.peer.encode(), time.monotonic()
        if self._bans.strike(key, told.points, now):
            self._banned.put_nowait(Banned(told.peer, self._bans.banned(key, now)))

    def _miss(self, told: Missing) -> None:
        for uid in told.uids:
            self._missing[Uid.parse(uid)][told.peer] = time.monotonic() + NEGATIVE_S


class Seen(NamedTuple):
    """Of the honest trainers."""

    accuracy: list[float]
    """Percent of the pictures held out, by the experts of all."""
    slow_s: float
    """The longest time in which a trainer took no step."""
    steps: list[int]


async def _measure(liars: int, lying: int) -> Seen:
    loop = asyncio.get_running_loop()
    manifest = manifests.load("digits")
    manifest = msgspec.structs.replace(
        manifest,
        model=msgspec.structs.replace(manifest.model, grid=GRID, k=K),
        training=msgspec.structs.replace(manifest.training, batch=BATCH, evaluate_every=1_000_000),
    )
    world = World(manifest, liars)
    world.gate.open()
    peers = [
        TrainingPeer(world, number, gradients.LIES[LIES[number % len(LIES)]] if number < lying else None)
        for number in range(TRAINERS)
    ]
    honest = peers[lying:]
    hosting = [asyncio.create_task(host.runtime.run()) for host in world.hosts.values()]
    training = [asyncio.create_task(peer.run()) for peer in peers]
    steps, moved, slow = [0] * len(honest), [0.0] * len(honest), 0.0
    told = 0.0
    while loop.time() < TRAINED_S:
        if loop.time() >= told + TELL_S:
            told = loop.time()
            print(f"{told:.0f} s, {steps} steps: {await _accuracy(honest[0]):.1f}%", flush=True)
        await asyncio.sleep(LOOK_S)
        for task in (*hosting, *training):
            assert not task.done() or task.result()
        for i, peer in enumerate(honest):
            if peer.trainer.step > steps[i]:
                steps[i], moved[i] = peer.trainer.step, loop.time()
            else:
                slow = max(slow, loop.time() - moved[i])
    accuracy = [await _accuracy(peer) for peer in honest]
    for task in (*training, *hosting):
        task.cancel()
    for task in (*training, *hosting):
        with suppress(asyncio.CancelledError):
            await task
    return Seen(accuracy, slow, steps)


async def _accuracy(peer: TrainingPeer) -> float:
    """Percent."""
    _, held_out = digits.read()
    outputs, _ = await peer.trainer.infer(held_out.inputs)
    return 100 * float((outputs.argmax(1) == held_out.labels).float().mean())


def measure(liars: int, lying: int) -> Seen:
    """Train.

    Args:
        liars: of all hosts.
        lying: of all trainers.
    """

    async def main() -> Seen:
        loop = asyncio.get_running_loop()
        with patch.object(time, "monotonic", loop.time):
            return await _measure(liars, lying)

    random.seed(20)
    torch.manual_seed(20)
    before, began = torch.get_num_threads(), time.monotonic()
    torch.set_num_threads(1)
    try:
        seen = virtual_time.run(main())
    finally:
        torch.set_num_threads(before)
    each = ", ".join(f"{percent:.1f}" for percent in seen.accuracy)
    print(f"{liars} of 1000 hosts and {lying} of {TRAINERS} trainers lie: {mean(seen.accuracy):.1f}% ({each}),")
    took_s = time.monotonic() - began
    print(f"after {seen.steps} steps, the longest wait for one {seen.slow_s:.1f} s, in {took_s:.0f} s")
    return seen


def test_a_thousand_train_on_of_which_a_fifth_lie() -> None:
    peace, hostile = measure(0, 0), measure(LIARS, LYING)
    assert mean(hostile.accuracy) > mean(peace.accuracy) - POINTS
    assert hostile.slow_s < SLOW_S
