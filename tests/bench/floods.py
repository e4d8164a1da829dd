"""What honest peers of an open run feel of a crowd of keys that have done their work, and flood one from one address.

Honest peers are in this process, the crowd in another one, each on a core of its own where there are two. Peers look
records up in turns with quiet, so that both are measured on the machine as it is then.
"""

import asyncio
import contextlib
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from core.contracts.hosting import Hello, HelloReply
from core.contracts.net import Payload
from core.net.addresses import address_text
from core.net.method import Context
from tests.bench import newcomers
from tests.bench.machine import progress
from tests.bench.newcomers import MOST, NAMES
from tests.dht_peers import Peer
from tests.long.hostile.crowd import FLOODS, FORWARD, PAYLOAD, crowd

HONEST = 6
ROUNDS, QUICK_ROUNDS = 3, 1
ROUND_S = 6.0
KEYS = 24
MOST_MB = 50.0


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` takes fewer rounds."""
    felt = asyncio.run(_felt(QUICK_ROUNDS if quick else ROUNDS))
    worst = max(one["times"]["median"] for one in felt.values())
    return {"keys": KEYS, "floods": felt, "within_twice": worst <= MOST}


async def _felt(rounds: int) -> dict[str, Any]:
    felt: dict[str, Any] = {}
    for name in FLOODS:
        with tempfile.TemporaryDirectory() as folder:
            async with contextlib.AsyncExitStack() as stack:
                honest: list[Peer] = []
                for _ in range(HONEST):
                    honest.append(await newcomers._join(stack, Path(folder), honest[:1]))
                    honest[-1].rpc.register(FORWARD, Hello, _forward, max_payload=PAYLOAD)
                await honest[0].dht.store_many({key: {"": b"here"} for key in NAMES}, 3600)
                addresses = [address_text(honest[0].rpc.address())]
                felt[name] = await _flooded(name, addresses, honest, rounds)
                progress(f"{name}: {felt[name]}")
    return felt


async def _forward(request: Hello, payload: Payload, context: Context) -> HelloReply:
    return HelloReply(())


async def _flooded(name: str, addresses: list[str], honest: list[Peer], rounds: int) -> dict[str, Any]:
    quiet, loud, failed = list[float](), list[float](), 0
    memory = psutil.Process().memory_info().rss
    most = memory
    async with crowd(name, addresses, KEYS) as tell:
        for _ in range(rounds):
            failed += await _look_up(honest, quiet)
            await tell("go")
            failed += await _look_up(honest, loud)
            most = max(most, psutil.Process().memory_info().rss)
            await tell("stop")
    one, other = statistics.median(quiet), statistics.median(loud)
    return {
        "quiet_ms": one * 1e3,
        "loud_ms": other * 1e3,
        "times": {"median": other / one, "p95": _p95(loud) / _p95(quiet)},
        "not_found": failed,
        "grown_mb": (most - memory) / 1e6,
    }


def _p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]


async def _look_up(honest: list[Peer], taken: list[float]) -> int:
    """Look up, one record after the other; how many were not found."""
    until, missing = time.monotonic() + ROUND_S, 0
    while time.monotonic() < until:
        key, began = random.choice(NAMES), time.perf_counter()
        found = (await random.choice(honest).dht.get_many([key]))[key]
        taken.append(time.perf_counter() - began)
        missing += not found
        await asyncio.sleep(0.02)
    return missing
