"""New keys: what the work costs for each, and what honest peers of an open run feel of 500 keys that hammer at them.

Four honest peers are in this process, on one core; the newcomers are in another one, on another core. They all turn
upon one of the four, from one address, and connect, call, and offer records and false work as fast as they can. The
honest ones call that one, and look records up, of which it keeps some. In turns with quiet, so that both are measured
on the machine as it is then.
"""

import asyncio
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from core.contracts.access import Introduction, Shown
from core.contracts.dht import FindValue, Store, Stored, Values
from core.contracts.errors import HearthError
from core.contracts.hosting import Hello, HelloReply
from core.contracts.net import of_run
from core.dht.records import key_digest, make, own_subkey
from core.identity import Identity
from core.net.addresses import address_text, parse_address
from core.net.admission import SHOW
from core.net.rpc import RpcNode
from core.puzzle import SIZE, solve, solves
from core.swarm.work_gate import FILE, WorkGate
from tests.bench.machine import progress
from tests.dht_peers import Peer, peer
from tests.workers import DIGITS, ROOT, worked_key

KEYS, QUICK_KEYS = 500, 100
HONEST = 4
ROUNDS, QUICK_ROUNDS = 4, 2
ROUND_S = 8.0
"""Of quiet, and as long of hammering, in each round."""
SOLVED, QUICK_SOLVED = 16, 3
HELLO = of_run("host.hello", DIGITS)
NAMES = [f"{DIGITS}.0.{number}" for number in range(64)]
ELSEWHERE = ("127.0.0.9:0",)
"""The newcomers' machine has an address of its own."""
MOST = 2.0
"""Times that a call or look-up may take of what it takes in quiet."""


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` takes fewer keys and rounds."""
    cores = sorted(os.sched_getaffinity(0))
    cost = _cost(QUICK_SOLVED if quick else SOLVED)
    os.sched_setaffinity(0, cores[:1])
    try:
        felt = asyncio.run(_felt(QUICK_KEYS if quick else KEYS, QUICK_ROUNDS if quick else ROUNDS, cores[-1]))
    finally:
        os.sched_setaffinity(0, cores)
    within = max(times for felt_by in ("calls", "look_ups") for times in felt[felt_by]["times"].values()) <= MOST
    return {"work": cost, **felt, "within_twice": within}


def _cost(count: int) -> dict[str, float]:
    """Of a key, in seconds of one core, and of the check, in microseconds."""
    took = []
    for _ in range(count):
        key = Identity.generate()
        began = time.thread_time()
        answer = solve(key.peer)
        took.append(time.thread_time() - began)
    began = time.thread_time()
    assert all(solves(key.peer, answer) for _ in range(2000))
    checked = (time.thread_time() - began) / 2000
    progress(f"work: {statistics.mean(took):.2f} s a key")
    return {"seconds_a_key": statistics.mean(took), "slowest_s": max(took), "check_us": checked * 1e6}


async def _felt(keys: int, rounds: int, core: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        async with contextlib.AsyncExitStack() as stack:
            honest: list[Peer] = []
            for _ in range(HONEST):
                honest.append(await _join(stack, Path(folder), honest[:1]))
            await honest[0].dht.store_many({name: {"": b"here"} for name in NAMES}, 3600)
            hammer = await _hammer(keys, core, honest)
            quiet, loud = _Times(honest), _Times(honest)
            try:
                for number in range(rounds):
                    await quiet.take(ROUND_S)
                    await _tell(hammer, "go")
                    await loud.take(ROUND_S)
                    await _tell(hammer, "stop")
                    progress(f"round {number + 1}: {quiet} in quiet, {loud} under {keys} keys")
            finally:
                assert hammer.stdin is not None
                hammer.stdin.close()
                told = await hammer.communicate()
            done = json.loads(told[0].decode().splitlines()[-1])
            return {
                "keys": keys,
                "newcomers": done,
                "connections": loud.connections,
                "calls": _compared(quiet.calls, loud.calls),
                "look_ups": _compared(quiet.look_ups, loud.look_ups),
                "core": {"quiet": quiet.core, "loud": loud.core},
            }


async def _join(stack: contextlib.AsyncExitStack, folder: Path, others: list[Peer]) -> Peer:
    seed, answer = worked_key()
    identity = Identity(seed)
    here = folder / identity.peer.hex()
    here.mkdir()
    (here / FILE).write_text(answer.hex())
    gate = WorkGate(here, identity.peer)
    await gate.work()
    made = await stack.enter_async_context(peer(*others, identity=identity))
    made.rpc.register(HELLO, Hello, lambda *_: HelloReply((7,)))
    made.rpc.admission.guard(DIGITS, gate)
    return made


class _Times:
    """What honest peers' calls and look-ups took, in seconds."""

    def __init__(self, honest: list[Peer]) -> None:
        self._honest = honest
        self.calls: list[float] = []
        self.look_ups: list[float] = []
        self.core = 0.0
        """Share of a core that this process took, as of the last time."""
        self.connections = 0
        """Of the one that is called."""

    def __str__(self) -> str:
        calls, look_ups = statistics.median(self.calls), statistics.median(self.look_ups)
        return f"{calls * 1e3:.1f} ms a call, {look_ups * 1e3:.1f} ms a look-up"

    async def take(self, seconds: float) -> None:
        """Call and look up for so long, one after the other, as a trainer and its directory do."""
        began, used = time.monotonic(), time.process_time()
        while time.monotonic() < began + seconds:
            other, one = self._honest[0], random.choice(self._honest[1:])
            call = one.rpc.call(other.id, HELLO, Hello(), HelloReply, deadline_s=30)
            self.calls.append(await _took(call))
            self.look_ups.append(await _took(one.dht.get_many([random.choice(NAMES)])))
            self.connections = max(self.connections, len(other.rpc.pool.links))
            await asyncio.sleep(0.02)
        self.core = (time.process_time() - used) / (time.monotonic() - began)


async def _took(work: Awaitable[Any]) -> float:
    began = time.perf_counter()
    assert await work
    return time.perf_counter() - began


def _compared(quiet: list[float], loud: list[float]) -> dict[str, dict[str, float]]:
    figures: dict[str, Callable[[list[float]], float]] = {
        "median": statistics.median,
        "mean": statistics.mean,
        "p95": lambda taken: statistics.quantiles(taken, n=20)[-1],
    }
    before, under = ({name: figure(taken) for name, figure in figures.items()} for taken in (quiet, loud))
    return {
        "quiet_ms": {name: value * 1e3 for name, value in before.items()},
        "loud_ms": {name: value * 1e3 for name, value in under.items()},
        "times": {name: under[name] / before[name] for name in figures},
    }


# the newcomers


async def _hammer(keys: int, core: int, honest: list[Peer]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "tests.bench.newcomers", str(keys), str(core)]
    victim = address_text(honest[0].rpc.address())
    process = await asyncio.create_subprocess_exec(*command, victim, cwd=ROOT, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def _tell(process: asyncio.subprocess.Process, word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n".encode())
    await process.stdin.drain()


async def _newcomers(keys: int, address: str) -> None:
    """Hammer from each "go" to the next "stop", until the input ends."""
    going, done = asyncio.Event(), {"keys": 0, "calls": 0, "refused": 0}
    async with contextlib.AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(RpcNode(Identity.generate(), listen=ELSEWHERE)) for _ in range(keys)]
        print("ready", flush=True)
        tasks = [asyncio.create_task(_newcomer(node, address, going, done)) for node in nodes]
        while line := await asyncio.to_thread(sys.stdin.readline):
            (going.set if line.strip() == "go" else going.clear)()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        print(json.dumps(done), flush=True)
        os._exit(0)  # to take leave of 500 keys one after the other would take minutes


async def _newcomer(node: RpcNode, address: str, going: asyncio.Event, done: dict[str, int]) -> None:
    victim = parse_address(address)
    node.learn(victim)
    now = time.time()
    record = make(node.identity, NAMES[0], own_subkey(node.peer), b"lie", int(now * 1000), now + 3000).raw
    digests = [key_digest(name) for name in NAMES[:8]]
    false, first = Introduction({DIGITS: Shown(os.urandom(SIZE))}), True
    while True:
        await going.wait()
        for name, request, reply in (
            (SHOW, false, Introduction),
            (HELLO, Hello(), HelloReply),
            ("dht.find_value", FindValue(digests, False, "", True), Values),
            ("dht.store", Store([record], True), Stored),
        ):
            done["calls"] += 1
            try:
                await node.call(victim.peer, name, request, reply, deadline_s=10.0)  # type: ignore[arg-type]
                done["keys"], first = done["keys"] + first, False
            except HearthError:
                done["refused"] += 1
                await asyncio.sleep(0.05)


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    asyncio.run(_newcomers(int(sys.argv[1]), sys.argv[3]))
