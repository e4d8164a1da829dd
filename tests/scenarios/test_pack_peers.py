"""The files of a GPU pack from peers: real workers, web servers that are gone, and peers that lie or do not go on."""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from core.contracts.control import FetchWheelParams
from core.contracts.errors import CheckpointError
from core.contracts.hosting import FileRead, ReadFile
from core.contracts.net import READ_FILE, of_run
from core.control.client import ControlClient
from core.identity import PeerId
from core.net.addresses import parse_address
from core.net.method import Context
from core.update import packs
from tests.gpu_packs import LIBRARY, Packs, a_pc_with_packs
from tests.scenarios.test_network import address
from tests.worked_peers import worked_peer
from tests.workers import DIGITS, HERE, PATIENCE_S, ROOT, RunningWorker, give_key, start_paused, wait_until, worker

HALF = 12 * 131_072
"""Bytes of the library that some peers give: whole chunks."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packs]:
    with a_pc_with_packs(tmp_path) as (here, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        start_paused(here.data)
        yield here


def no_files(path: str, data: bytes) -> bytes:
    """A web server that has metadata only."""
    return b"" if path.startswith("/files/") else data


def library(here: Packs) -> bytes:
    """What is unpacked of the large wheel."""
    pack = packs.chosen(here.data)
    return (pack / "nvidia" / "lib" / "libcuda.so").read_bytes() if pack else b""


def test_a_pack_comes_from_a_peer_that_keeps_it_where_the_web_server_is_gone(here: Packs) -> None:
    keeper = Packs(here.feed, here.folder, here.folder / "keeper")
    give_key(keeper.data)
    start_paused(keeper.data)
    kept = keeper.pack("keep")
    assert kept.stdout.startswith("Peers of your runs can fetch torch 2.90.0 from here: 3 MB"), kept
    come, here.feed.server.change = here.feed.server.files, no_files
    assert keeper.pack("keep").returncode == 0, "all of it is here"
    with worker(keeper.data, "--listen", HERE) as giver:
        alone = here.pack("install")
        assert alone.returncode == 24 and "No server gave" in alone.stderr, "without a worker there are no peers"
        with worker(here.data, "--listen", HERE, "--bootstrap", address(giver)) as taker:
            wait_until(lambda: taker.call("network")["connected"], "a connection")
            with ControlClient(here.data) as client:
                large, told = max(wheels(here), key=len), list[int]()
                wanted = FetchWheelParams(hashlib.sha256(large).hexdigest(), len(large))
                client.call("fetch_wheel", wanted, dict, PATIENCE_S, each=told.append)
                assert told and sorted({*told}) == told and 0 < told[-1] <= len(large)
            done = here.pack("install")
            assert done.returncode == 0, done
            wait_until(lambda: moved(giver)[0] > LIBRARY and moved(taker)[1] > LIBRARY, "traffic of its own kind")
    assert library(here) == hashlib.shake_128(b"cuda").digest(LIBRARY)
    assert here.feed.server.files == come
    here.publish("2.91.0")
    here.feed.server.change = lambda path, data: data
    assert keeper.pack("keep").returncode == 0 and len([*keeper.runtimes.glob("wheels/*")]) == 2, "of the newest alone"
    assert keeper.pack("remove").returncode == 0 and not [*keeper.runtimes.glob("wheels")]


def wheels(here: Packs) -> list[bytes]:
    """Of the first pack."""
    return [path.read_bytes() for path in (here.folder / "wheels-2.90.0").iterdir()]


def moved(running: RunningWorker) -> tuple[int, int]:
    """Bytes of packs' files, sent and received."""
    devices = running.call("totals")["all"]["devices"]
    of = devices.get("network.pack", {})
    return of.get("bytes_out", 0), of.get("bytes_in", 0)


class Peer:
    """One that says that it has every file, and gives what it likes."""

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.limit = LIBRARY * 2
        """Up to here it gives a file; then it does not answer, or refuses."""
        self.refuses = False
        self.offsets: list[int] = []
        """Where chunks began that it was asked for."""
        self.waited_for, self.given_up = asyncio.Event(), asyncio.Event()
        self.in_time = False
        """Whether it was given up before the call's deadline."""

    async def answer(self, request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        data = self.wheels[request.sha256]
        if request.length > 1:
            self.offsets.append(request.offset)
        if request.offset >= self.limit:
            if self.refuses:
                raise CheckpointError("gone")
            self.waited_for.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.in_time = time.monotonic() < context.deadline
                self.given_up.set()
                raise
        return FileRead(len(data)), data[request.offset : request.offset + request.length]


@contextlib.asynccontextmanager
async def beside(here: Packs) -> AsyncIterator[Peer]:
    """Such a peer, of whom the worker of this PC knows."""
    peer = Peer()
    peer.wheels = {hashlib.sha256(data).hexdigest(): data for data in wheels(here)}
    with worker(here.data, "--listen", HERE) as running:
        async with worked_peer() as node:
            node.register(of_run(READ_FILE, DIGITS), ReadFile, peer.answer)
            where = parse_address(address(running))
            node.learn(where)
            await node.pool.link(PeerId(where.peer))
            yield peer


async def test_a_peer_that_lies_costs_nothing_but_another_download(here: Packs) -> None:
    async with beside(here) as liar:
        liar.wheels = {sha256: bytes(len(data)) for sha256, data in liar.wheels.items()}
        done = await asyncio.to_thread(here.pack, "install")
    assert done.returncode == 0 and library(here) == hashlib.shake_128(b"cuda").digest(LIBRARY), done
    assert max(liar.offsets) > HALF, "it was believed until all was here"
    assert here.feed.server.files > LIBRARY


async def test_where_a_peer_does_not_go_on_the_web_server_does(here: Packs) -> None:
    async with beside(here) as peer:
        peer.limit, peer.refuses = HALF, True
        done = await asyncio.to_thread(here.pack, "install")
    assert done.returncode == 0 and library(here) == hashlib.shake_128(b"cuda").digest(LIBRARY), done
    assert f"bytes={HALF}-" in [wanted for _, wanted, _ in here.feed.server.asked]
    assert here.feed.server.files < LIBRARY - HALF + 10_000


async def test_a_download_from_a_peer_ends_with_who_wants_it_and_is_gone_on_with(here: Packs) -> None:
    here.feed.server.change = no_files
    async with beside(here) as peer:
        peer.limit = HALF
        install = await asyncio.create_subprocess_exec(*here.command("install"), cwd=ROOT)
        async with asyncio.timeout(PATIENCE_S):
            await peer.waited_for.wait()
            install.kill()
            await install.wait()
            await peer.given_up.wait()
        assert peer.in_time, "the worker waits for nothing that nobody wants"
        peer.limit, peer.offsets = LIBRARY * 2, []
        done = await asyncio.to_thread(here.pack, "install")
    assert done.returncode == 0 and library(here) == hashlib.shake_128(b"cuda").digest(LIBRARY), done
    assert min(offset for offset in peer.offsets if offset) == HALF and not here.feed.server.files
