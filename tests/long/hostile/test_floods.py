"""A real worker that trains, and a crowd of keys that floods it from one address: it trains on, and stays light."""

import asyncio
import time
from collections.abc import Iterator

import psutil
import pytest

from core.contracts.network_status import DhtRecord
from tests.long.hostile.crowd import FLOODS, crowd
from tests.long.hostile.look_ups import PEACE_S, look_ups
from tests.scenarios.test_network import HERE, address
from tests.workers import RunningWorker, worker

FLOOD_S = 15.0
MOST_MB = 50.0


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    folder = tmp_path_factory.mktemp("victim") / "worker"
    with worker(folder, "--listen", HERE) as running:
        running.until(lambda status: status.step > 20, "training", 120)
        yield running
        assert "Traceback" not in (folder / "logs" / "hearth.log").read_text()


def memory(victim: RunningWorker) -> int:
    """Bytes of the worker, without its compute process."""
    return int(psutil.Process(victim.process.pid).memory_info().rss)


@pytest.mark.parametrize("flood", FLOODS)
async def test_a_worker_that_is_flooded_trains_on_and_stays_light(victim: RunningWorker, flood: str) -> None:
    process, step = psutil.Process(victim.process.pid), victim.status().step
    with look_ups(address(victim)) as looked:
        await asyncio.sleep(PEACE_S)
        before, grown, used = memory(victim), 0, sum(process.cpu_times()[:2])
        async with crowd(flood, [address(victim)]) as tell:
            await tell("go")
            began = time.monotonic()
            while time.monotonic() < began + FLOOD_S:
                grown = max(grown, memory(victim) - before)
                await asyncio.sleep(0.2)
            share = (sum(process.cpu_times()[:2]) - used) / FLOOD_S
            looked.compare(began)
            await tell("stop")
    print(f"{flood}: the worker grew by {grown / 1e6:.0f} MB and took {share:.0%} of a core")
    await asyncio.to_thread(victim.until, lambda status: status.step > step + 10, "further steps", 120)
    await asyncio.to_thread(victim.ask, "dht_get", {"key": "digits.0."}, list[DhtRecord])
    assert grown < MOST_MB * 1e6
