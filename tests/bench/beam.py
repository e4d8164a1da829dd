"""Beam search over a directory of remote experts, as the anchor's driver measures it.

A fresh peer's first search, later ones, and a batch of 64. Each searching peer is a process of its own.
"""

import asyncio
import json
import random
import subprocess
import sys
import time
from typing import Any, cast

import torch

from core.dht.node import DHTNode
from core.experts.beam_search import BeamSearch
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import Directory, HostState
from core.experts.gating import Gate
from core.experts.grid import Grid, Uid
from core.identity import Identity, PeerId
from core.net.addresses import address_text, parse_address
from core.net.rpc import RpcNode
from tests.bench.anchor import milliseconds
from tests.bench.machine import progress
from tests.dht_peers import peers
from tests.workers import ROOT

SIDES, EXPERTS, PEERS, K, BATCH = (16, 32), 256, 8, 4, 64
WARM_UP = 5
RUN = "expert"
LISTEN = ("127.0.0.1:0",)


def measure(quick: bool) -> list[dict[str, Any]]:
    """One case for each grid, under the anchor's names."""
    if quick:
        return [asyncio.run(_case(SIDES[0], 20, 2))]
    return [asyncio.run(_case(side, 100, 5)) for side in SIDES]


async def _case(side: int, searches: int, fresh: int) -> dict[str, Any]:
    grid, choice = Grid(RUN, 1, (side, side)), random.Random(0)
    cells = choice.sample(range(side * side), EXPERTS)
    uids = [Uid(RUN, 0, divmod(cell, side)) for cell in cells]
    case: dict[str, Any] = {
        "grid": [side, side],
        "experts": EXPERTS,
        "peers": PEERS,
        "beam_size": K,
        "batch_size": BATCH,
    }
    async with peers(PEERS) as hosts:
        declared = []
        for index, host in enumerate(hosts):
            directory = DHTDirectory(host.dht, host.rpc, grid, RUN)
            directory.host_here({uid: HostState() for uid in uids[index::PEERS]})
            began = time.perf_counter()
            await directory.announce()
            declared.append(time.perf_counter() - began)
        case["declare_ms_per_peer"] = milliseconds(declared)
        known = address_text(hosts[0].rpc.address())
        for kind, rows in (("single", 1), ("batch", BATCH)):
            firsts, later = [], []
            for turn in range(fresh):
                count = (searches if kind == "single" else max(3, searches // 5)) if turn == 0 else 1
                command = [sys.executable, "-m", "tests.bench.beam", known, str(side), str(rows), str(count)]
                child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
                answer = json.loads((await child.communicate())[0])
                firsts.append(answer["first"])
                later += answer["later"]
                assert answer["returned"] == K
            case[f"{kind}_first_of_fresh_peer_ms"] = milliseconds(firsts)
            case[f"{kind}_later_ms"] = milliseconds(later)
    progress(f"beam {side}x{side}: {case}")
    return case


async def _search(known: str, side: int, rows: int, count: int) -> dict[str, Any]:
    """What a fresh peer sees, in seconds; joining is not counted, reading the directory is."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    identity, address = Identity.generate(), parse_address(known)
    async with RpcNode(identity, listen=LISTEN) as node, DHTNode(node, identity) as dht:
        node.learn(address)
        await dht.bootstrap([PeerId(address.peer)])
        directory = DHTDirectory(dht, node, Grid(RUN, 1, (side, side)), RUN)
        search = BeamSearch(Gate(1, (side, side)), cast(Directory, directory), 0, K)  # it asks for no hosts
        times, returned = [], 0
        for turn in range(1 + WARM_UP + count):
            heads = torch.randn(rows, 2 * side)
            began = time.perf_counter()
            if turn == 0:
                await directory.refresh()
            beam = await search.choose(heads)
            hosts = await directory.hosts(
                [Uid(RUN, 0, beam.cells[i]) for i in sorted(set(beam.chosen.flatten().tolist()))]
            )
            times.append(time.perf_counter() - began)
            returned = beam.chosen.shape[1]
            assert hosts
        return {"first": times[0], "later": times[1 + WARM_UP :], "returned": returned}


if __name__ == "__main__":
    where, *numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(_search(where, *map(int, numbers)))), flush=True)
