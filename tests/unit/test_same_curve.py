"""With no delay and one batch on the way, training through peers follows the loss curve of training in one process.

What lies between Trainer and experts is what a peer has: `RemoteHost`, the codec, kept inputs, `Serving`, a Runtime of
its own. Only the network is left out: a request is handed over at once.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence

import msgspec
import pytest

from core.compute.peers import Asking, RemoteHost
from core.compute.serving import Serving
from core.contracts import manifest as manifests
from core.contracts.expert_calls import Codec
from core.contracts.manifest import Manifest
from core.contracts.remote_experts import ASK, SERVE, ExpertCall
from core.contracts.status import CurvePoint
from core.experts.calls import ExpertHost
from core.experts.directory import LOCAL, Directory, LocalDirectory
from core.experts.grid import Uid
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training.trainer import Trainer
from tests.bench import virtual_time
from tests.bench.scaling import SpreadDirectory
from tests.experts import all_experts
from tests.joined_calls import join
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture

PEERS = "aa" * 32, "bb" * 32
STEPS = 24


class Wire:
    """The pipes of one peer's `Serving` and of who asks it; both workers pass everything on as it is."""

    def __init__(self, runtime: Runtime, kernel_gate: KernelGate) -> None:
        here, asking, there, serving = Calls(), Calls(), Calls(), Calls()
        join(here, asking)
        join(there, serving)
        self.asking = Asking(asking)
        self.requests = 0
        self._serving = Serving(serving, runtime, kernel_gate)

        def pass_on(call: ExpertCall, payload: Payload, incoming: Incoming) -> Awaitable[tuple[bytes, Payload]]:
            self.requests += 1
            return there.exchange(SERVE, msgspec.structs.replace(call, peer="cc" * 32), payload, incoming.deadline)

        here.register_carrier(ASK, pass_on)


class Nobody:
    """A watcher of hosts that learns of no trouble."""

    def changed(self) -> None:
        raise AssertionError("a peer was suspended")

    def missing(self, peer: str, uids: Sequence[Uid]) -> None:
        raise AssertionError(f"{uids} were not answered")


def rules(codec: Codec) -> Manifest:
    digits = manifests.load("digits")
    training = msgspec.structs.replace(
        digits.training, batch=16, in_flight=1, evaluate_every=4, audit=0.0, patience_s=60.0, codec=codec
    )
    return msgspec.structs.replace(digits, training=training)


def curve(manifest: Manifest, remote: bool) -> list[CurvePoint]:
    """The held-out loss of a run in one process, or with its experts on two peers."""

    async def main() -> list[CurvePoint]:
        kernel_gate = KernelGate()
        kernel_gate.open()
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
            runtimes = [Runtime(share, kernel_gate) for share in shares]
            wires = [Wire(runtime, kernel_gate) for runtime in runtimes]
            hosts: Mapping[str, ExpertHost] = {
                peer: RemoteHost(peer, wire.asking, manifest.training, Nobody())
                for peer, wire in zip(PEERS, wires, strict=True)
            }
        else:
            runtimes = [Runtime(experts, kernel_gate)]
            directory, hosts = LocalDirectory(experts), {LOCAL: runtimes[0]}
        trainer = Trainer(manifest, hosts, directory, kernel_gate, on_evaluated=evaluated)
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
