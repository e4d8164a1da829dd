"""What DiLoCo costs: bytes between real peers on loopback, by the transport's counters, and the time of its codecs.

A trunk of the run `text`'s size, several trainers. Beside it what synchronous averaging of every step in fp16 would
send: 2 bytes for each number, trainer and step, which is less than any all-reduce does.
"""

import asyncio
import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from core.averaging.fragment import Encoder, decode, sizes_of
from core.contracts import manifest as manifests
from core.contracts.errors import HearthError
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.trunk import Diloco, Offer
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.swarm.members import Members
from core.swarm.trunk.diloco import DiLoCo
from tests.dht_peers import Peer, peers
from tests.trusting import trusting

TRAINERS = 4
ROUNDS = 12
TRIES = 20


def measure(quick: bool) -> dict[str, Any]:
    """The figures, by the form of the differences.

    Args:
        quick: fewer rounds.
    """
    rounds = ROUNDS // 3 if quick else ROUNDS
    return {
        "trainers": TRAINERS,
        "rounds": rounds,
        "sparse": asyncio.run(_traffic("sparse", rounds)),
        "dense": asyncio.run(_traffic("dense", rounds)),
        "codecs": {form: _codec(form == "sparse") for form in ("sparse", "dense")},
    }


def _codec(is_sparse: bool) -> dict[str, float]:
    """A fragment of a million numbers."""
    count = 1 << 20
    numbers = np.random.default_rng(1).standard_normal(count).astype(np.float32)
    encoder = Encoder()
    encoder.encode(numbers, 0, is_sparse)
    encoder.counted()
    began = time.perf_counter()
    message = encoder.encode(numbers, 0, is_sparse)
    encoded = time.perf_counter()
    decode(message, count, 0)
    return {
        "bytes_a_number": len(message) / count,
        "encode_ms": 1e3 * (encoded - began),
        "decode_ms": 1e3 * (time.perf_counter() - encoded),
    }


def _run(wire: Literal["sparse", "dense"]) -> Manifest:
    return msgspec.structs.replace(manifests.load("text"), trunk=Diloco(wire=wire, quorum=TRAINERS))


async def _traffic(wire: Literal["sparse", "dense"], rounds: int) -> dict[str, float]:
    manifest = _run(wire)
    rules, model = manifest.trunk, manifest.model
    assert isinstance(rules, Diloco)
    sizes = sizes_of(MODELS[model.kind].parameters(model, manifest.ends), rules.fragments)
    size = sum(numbers for numbers, _ in sizes)
    async with peers(TRAINERS) as nodes, contextlib.AsyncExitStack() as stack:
        with tempfile.TemporaryDirectory() as folder:
            workers = [_worker(manifest, node, Path(folder) / node.id.hex()) for node in nodes]
            for worker in workers:
                await stack.enter_async_context(worker)
            versions = dict.fromkeys(range(TRAINERS), 0)
            waits: list[float] = []
            for number in range(rounds + 2):
                if number == 2:  # all have begun, and made a round
                    before = sum(node.rpc.moved()[1] for node in nodes)
                began = time.perf_counter()
                await asyncio.gather(
                    *(
                        _agree(worker, part, which, versions, *sizes[part], number)
                        for which, worker in enumerate(workers)
                        for part in range(rules.fragments)
                    )
                )
                versions = dict.fromkeys(versions, number + 1)
                waits.append(time.perf_counter() - began)
            sent = sum(node.rpc.moved()[1] for node in nodes) - before
            await stack.aclose()
    synchronous = 2 * size * TRAINERS * rules.inner_steps * rounds
    return {
        "numbers": size,
        "sent_mb": sent / 1e6,
        "synchronous_fp16_mb": synchronous / 1e6,
        "times_less": synchronous / sent,
        "round_ms": 1e3 * sorted(waits[2:])[rounds // 2],
    }


def _worker(manifest: Manifest, node: Peer, folder: Path) -> DiLoCo:
    folder.mkdir()
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    members = Members(node.rpc, node.dht, DHTDirectory(node.dht, node.rpc, grid, manifest.run_id))
    worker = DiLoCo(manifest, members, folder)
    worker.serve(trusting())
    return worker


async def _agree(
    worker: DiLoCo, part: int, which: int, versions: dict[int, int], count: int, fine: int, number: int
) -> None:
    seed = 0 if number == 0 else which + 1
    numbers = np.random.default_rng(1000 * number + 10 * part + seed).standard_normal(count).astype(np.float32)
    for _ in range(TRIES):
        with contextlib.suppress(HearthError):
            offer = Offer(part, versions[which], 64, fine)
            agreed, _ = await worker.agree(offer, numbers.tobytes(), time.monotonic() + 60.0)
            assert agreed.version == number + 1, "not all were in one round"
            return
        await asyncio.sleep(0.5)
    raise AssertionError("nobody answered")
