"""The network's figures, under the names that the drivers of the hivemind anchor use; and those beside ours.

Servers and peers are processes of their own on loopback. `tiny_nop` and `transfer`: a peer whose method returns its
payload. `tiny_floor`: one that has a bare process run an expert of the anchor's kind (64 -> 256 -> 64), with no check;
what `tiny_ffn` takes beyond it is Hearth's own. `tiny_ffn`: such an expert of `hearth worker --role host`, with its
compute process, otherwise idle as the anchor's is; `tiny_ffn_training`: one of the run `digits` on a worker that also
trains. `dht`: a process for each peer; unlike the anchor's, its memory leaves out the process that measures.
"""

import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from core import event_loop
from core.contracts.expert_calls import METHODS, Direction, ExpertReply, ExpertRequest
from core.contracts.net import PeerAddress, of_run
from core.identity import Identity, PeerId
from core.net.addresses import parse_address
from core.net.rpc import RpcNode
from tests.bench import anchor, server
from tests.bench.anchor import memory, milliseconds
from tests.bench.machine import progress
from tests.bench.network_peer import RUN, Empty
from tests.worked_peers import worked_peer
from tests.workers import HERE, ROOT, RunningWorker, hearth, worker

WIDTH = 64
UID = "digits.0.1.3"
"""Of an expert of the run that a worker trains by itself."""
SIDE, EXPERTS = 32, 512
SIZES = (0.0625, 1.0, 4.0, 16.0)
"""MiB."""
NEIGHBOURS = 3
DEADLINE_S = 60.0


def measure(quick: bool, against: Path | None = None, anchors: Path | None = None) -> dict[str, Any]:
    """All figures; with `against`, the Python of hivemind's environment, also its figures and their ratios to ours."""
    ours = {"latency": _latency(quick), "dht": _dht(quick)}
    if against is None:
        return {"figures": ours}
    theirs = {name: anchor.figures(against, anchors, name, quick) for name in ours}
    return {"figures": ours, "hivemind": theirs, "times_better": anchor.ratios(ours, theirs)}


# Calls


def _latency(quick: bool) -> dict[str, Any]:
    calls, transfers = (100, 8) if quick else (500, 30)
    with _peers() as started:
        address = started().ask("join", [])
        figures = event_loop.run(_nops(parse_address(address), calls, transfers))
    with _peers() as started:
        address = started("network_floor").ask("address")
        figures["tiny_floor"] = event_loop.run(_floor(parse_address(address), calls))
    with server.server(WIDTH, 4) as (running, _):
        figures["tiny_ffn"] = event_loop.run(_experts(running, f"{server.RUN}.0.0", calls))
    with tempfile.TemporaryDirectory() as folder, worker(Path(folder), "--listen", HERE) as running:
        running.until(lambda status: UID in {expert.uid for expert in status.experts}, "the expert")
        running.until(lambda status: status.step > 0, "training")
        figures["tiny_ffn_training"] = event_loop.run(_experts(running, UID, calls))
    progress(f"latency: {figures}")
    return figures


@contextlib.asynccontextmanager
async def _nop_of(server: PeerAddress) -> AsyncIterator[Callable[[bytes], Awaitable[None]]]:
    """Calls its method that returns as many bytes as it is given."""
    async with RpcNode(Identity.generate(), listen=(HERE,)) as node:
        node.learn(server)

        async def call(payload: bytes) -> None:
            _, answer = await node.call(
                PeerId(server.peer), "bench.nop", Empty(), Empty, payload, deadline_s=DEADLINE_S
            )
            assert len(answer) == len(payload)

        yield call


async def _floor(server: PeerAddress, calls: int) -> dict[str, Any]:
    async with _nop_of(server) as call:
        return await _forward(lambda: call(bytes(4 * WIDTH)), calls)


async def _nops(server: PeerAddress, calls: int, transfers: int) -> dict[str, Any]:
    async with _nop_of(server) as call:
        tiny = bytes(4 * WIDTH)

        async def both() -> None:
            await call(tiny)
            await call(tiny + tiny)

        figures = await _tiny(lambda: call(tiny), both, calls)
        rates = []
        for mib in SIZES:
            payload = bytes(int(mib * 2**20))
            for _ in range(3):
                await call(payload)
            times = milliseconds(await _times(lambda: call(payload), transfers))  # noqa: B023
            rate = len(payload) / 1e6 / times["median"] * 1000
            rates.append(
                {
                    "mib_each_way": mib,
                    "round_trip_ms": times,
                    "mb_per_s_one_way_payload": round(rate, 1),
                    "mb_per_s_both_ways": round(2 * rate, 1),
                }
            )
    return {"tiny_nop": figures, "transfer": rates}


async def _experts(running: RunningWorker, uid: str, calls: int) -> dict[str, Any]:
    server = parse_address(hearth(running.folder, "address").stdout.strip())
    inputs = array("f", [0.5] * WIDTH).tobytes()
    request, run_id = ExpertRequest((uid,), (1,), (WIDTH,)), running.status().run_id
    async with worked_peer(run_id) as node:
        node.learn(server)

        async def call(direction: Direction, payload: bytes = inputs) -> None:
            reply, answer = await node.call(
                PeerId(server.peer),
                of_run(METHODS[direction], run_id),
                request,
                ExpertReply,
                payload,
                deadline_s=DEADLINE_S,
            )
            assert reply.answered == (True,) and len(answer) == len(inputs)

        async def both() -> None:
            await call("forward")
            await call("backward", inputs + inputs)

        return await _tiny(lambda: call("forward"), both, calls)


async def _forward(call: Callable[[], Awaitable[None]], calls: int) -> dict[str, Any]:
    [first] = await _times(call, 1)
    await _times(call, 20)
    return {"first_call_ms": round(first * 1000, 2), "forward_ms": milliseconds(await _times(call, calls))}


async def _tiny(
    forward: Callable[[], Awaitable[None]], both: Callable[[], Awaitable[None]], calls: int
) -> dict[str, Any]:
    figures = await _forward(forward, calls)
    await _times(both, 20)
    figures["forward_backward_ms"] = milliseconds(await _times(both, calls // 2))
    return figures


async def _times(call: Callable[[], Awaitable[None]], count: int) -> list[float]:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
    return times


# The DHT


class Process:
    """A peer in a process of its own."""

    def __init__(self, module: str, *words: str) -> None:
        command = [sys.executable, "-m", f"tests.bench.{module}", *words]
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)

    def send(self, *words: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(words) + "\n")
        self.popen.stdin.flush()

    def answer(self) -> Any:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, "a peer's process has ended"
        return json.loads(line)

    def ask(self, *words: Any) -> Any:
        self.send(*words)
        return self.answer()


@contextlib.contextmanager
def _peers() -> Iterator[Callable[..., Process]]:
    """Starts peers; they end with the block."""
    made: list[Process] = []

    def start(module: str = "network_peer") -> Process:
        made.append(Process(module))
        return made[-1]

    try:
        yield start
    finally:
        for process in made:
            process.popen.kill()
            process.popen.communicate()


def _dht(quick: bool) -> dict[str, Any]:
    count, keys = (8, 40) if quick else (32, 200)
    choice = random.Random(0)
    with _peers() as start:
        peers: list[Process] = []
        addresses: list[str] = []
        starts = []
        for _ in range(count):
            began = time.perf_counter()
            peers.append(start())
            addresses.append(peers[-1].ask("join", choice.sample(addresses, min(NEIGHBOURS, len(addresses)))))
            starts.append(time.perf_counter() - began)
        progress(f"dht: {count} peers")
        figures = {"peers": count, "peer_start_ms": milliseconds(starts), **_records(peers, keys, choice)}
        cells = choice.sample(range(SIDE * SIDE), EXPERTS)
        uids = [f"{RUN}.0.{cell // SIDE}.{cell % SIDE}" for cell in cells]
        first, again, replicas = peers[0].ask("announce", SIDE, uids)
        seconds, found = peers[-1].ask("find", SIDE, uids)
        figures["declare_experts"] = {
            "experts": EXPERTS,
            "first_s": round(first, 3),
            "again_s": round(again, 3),
            "replicas": replicas,
        }
        figures["get_experts"] = {"experts": EXPERTS, "seconds": round(seconds, 3), "found": found}
        figures["memory"] = memory([peer.popen.pid for peer in peers])
    with _peers() as start:
        crowd = start()
        assert crowd.ask("crowd", count - 1) == count - 1
        figures["memory_in_one_process"] = memory([crowd.popen.pid])
    progress(f"dht: {figures}")
    return figures


def _records(peers: list[Process], keys: int, choice: random.Random) -> dict[str, Any]:
    """Values under random keys, written and read by random peers: one after the other, then all at once."""
    stores, cold, again = [], [], []
    for _ in range(keys):
        key, value = uuid.uuid4().hex, uuid.uuid4().hex
        writer, reader = choice.sample(peers, 2)
        stores.append(writer.ask("store", key, value))
        cold.append(reader.ask("get", key, value))
        again.append(reader.ask("get", key, value))
    shares: dict[int, list[str]] = {}
    for _ in range(keys):
        shares.setdefault(choice.randrange(len(peers)), []).append(uuid.uuid4().hex)
    began = time.perf_counter()
    for place, share in shares.items():
        peers[place].send("burst", share)
    stored = sum(peers[place].answer() for place in shares)
    seconds = time.perf_counter() - began
    return {
        "store_ms": milliseconds([took for took, _ in stores]),
        "store_success": sum(good for _, good in stores) / keys,
        "get_cold_ms": milliseconds([took for took, _ in cold]),
        "get_cached_ms": milliseconds([took for took, _ in again]),
        "get_success": sum(good for _, good in cold) / keys,
        "parallel_stores_per_s": round(keys / seconds, 1),
        "parallel_store_success": stored / keys,
    }
