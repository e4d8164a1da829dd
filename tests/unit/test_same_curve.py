"""With no delay and one batch on the way, training through peers follows the loss curve of training in one process.

What lies between Trainer and experts is what a peer has: `RemoteHost`, the codec, kept inputs, `Serving`, a Runtime of
its own. Only the network is left out: a request is handed over at once.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import msgspec
import pytest

from core.compute.peers import Peers, RemoteHost
from core.compute.serving import Serving
from core.contracts import manifest as manifests
from core.contracts import pipe as messages
from core.contracts.control import CurvePoint
from core.contracts.expert_calls import Codec
from core.contracts.manifest import Manifest
from core.contracts.pipe import Answered, Ask, Serve, Served, ToWorker
from core.experts.calls import ExpertHost
from core.experts.directory import LOCAL, Directory, LocalDirectory
from core.experts.grid import Uid
from core.pipe.old import OldMessages
from core.runtime.backend import all_experts
from core.runtime.kernel_gate import Switch
from core.runtime.runtime import Runtime
from core.training.trainer import Trainer
from tests.bench import virtual_time
from tests.bench.scaling import SpreadDirectory
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture

PEERS = "aa" * 32, "bb" * 32
STEPS = 24


class Wire:
    """Both workers and the network between them: the pipe of one peer's `Serving`, and the way to it."""

    def __init__(self, runtime: Runtime, switch: Switch) -> None:
        self.peers = Peers(self.ask)
        self.requests = 0
        self._serving = Serving(cast(OldMessages, self), runtime, switch)

    def ask(self, message: ToWorker, tensors: Sequence[messages.Tensor]) -> None:
        if isinstance(message, Ask):
            self.requests += 1
            serve = Serve(message.id, "cc" * 32, message.direction, message.request, math.inf)
            self._serving.serve(serve, bytearray(tensors[0].data))

    def send(self, message: ToWorker, tensors: Iterable[messages.Tensor] = ()) -> None:
        assert isinstance(message, Served), message
        self.peers.received(Answered(message.id, message.reply), list(tensors))


class Nobody:
    """A watcher of hosts that learns of no trouble."""

    def changed(self) -> None:
        raise AssertionError("a peer was suspended")

    def not_hosted(self, uid: Uid, peer: str) -> None:
        raise AssertionError(f"{uid} was not answered")


def rules(codec: Codec) -> Manifest:
    digits = manifests.load("digits")
    training = msgspec.structs.replace(
        digits.training, batch=16, in_flight=1, evaluate_every=4, audit=0.0, patience_s=60.0, codec=codec
    )
    return msgspec.structs.replace(digits, training=training)


def curve(manifest: Manifest, remote: bool) -> list[CurvePoint]:
    """The held-out loss of a run in one process, or with its experts on two peers."""

    async def main() -> list[CurvePoint]:
        switch = Switch()
        switch.on()
        experts = {backend.uid: backend for backend in all_experts(manifest)}
        points: list[CurvePoint] = []
        done = asyncio.Event()

        def evaluated(point: CurvePoint) -> None:
            points.append(point)
            if point.step == STEPS:
                done.set()

        wires: list[Wire] = []
        if remote:
            directory: Directory = SpreadDirectory(list(experts), PEERS)
            shares = [dict(list(experts.items())[number :: len(PEERS)]) for number in range(len(PEERS))]
            runtimes = [Runtime(share, switch) for share in shares]
            wires = [Wire(runtime, switch) for runtime in runtimes]
            hosts: Mapping[str, ExpertHost] = {
                peer: RemoteHost(peer, wire.peers, manifest.training, Nobody())
                for peer, wire in zip(PEERS, wires, strict=True)
            }
        else:
            runtimes = [Runtime(experts, switch)]
            directory, hosts = LocalDirectory(experts), {LOCAL: runtimes[0]}
        trainer = Trainer(manifest, hosts, directory, switch, on_evaluated=evaluated)
        async with asyncio.TaskGroup() as group:
            works = (*(runtime.run() for runtime in runtimes), trainer.run())
            tasks = [group.create_task(work) for work in works]
            await done.wait()
            for task in tasks:
                task.cancel()
        assert trainer.lost == 0
        assert all(wire.requests >= 4 * STEPS for wire in wires), "the experts were not asked through the peers"
        return points

    return virtual_time.run(main())


@pytest.mark.parametrize(("codec", "tolerance"), [("fp32", 1e-5), ("fp16", 2e-2)])
def test_training_through_peers_gives_the_curve_of_one_process(codec: Codec, tolerance: float) -> None:
    manifest = rules(codec)
    alone, swarm = curve(manifest, remote=False), curve(manifest, remote=True)
    assert [point.step for point in swarm] == [point.step for point in alone]
    assert [point.loss for point in swarm] == pytest.approx([point.loss for point in alone], abs=tolerance)
    assert alone[-1].loss < alone[0].loss - 0.1, "nothing was learnt that could differ"
