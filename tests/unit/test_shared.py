"""A run's data come from peers that have them, by hash."""

import hashlib
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import torch

from core.contracts import manifest
from core.contracts.hosting import FileRead, ReadFile
from core.contracts.manifest import Shard
from core.contracts.net import DATA_READ, READ_FILE, of_run
from core.contracts.taking_on import Reach, Taken
from core.dht.records import own_subkey
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.net.method import Context
from core.pipe.calls import Calls
from core.runtime.part_files import Part
from core.store import shards
from core.store.progress import Progress
from core.swarm import shard_exchange
from core.swarm.hosted import HostedExperts
from core.swarm.members import Members
from core.swarm.mirrors import Mirrors
from core.swarm.replication import Copies
from core.swarm.shard_exchange import ShardExchange
from core.swarm.trunk_exchange import TrunkFollower
from core.worker.compute.figures import Figures
from core.worker.compute.owner import Owner
from tests.dht_peers import Peer, peers, until
from tests.disks import run_files
from tests.experts import pack
from tests.unit.text_run import texts

GRID = Grid("text", 3, (4, 4))
TEXTS = [b"It was not made by this Python. " * 40, b"Nor was this. " * 90]
PARTS = tuple(Shard(hashlib.sha256(text).hexdigest(), len(text), text is TEXTS[1]) for text in TEXTS)


@pytest.fixture
def run() -> manifest.Manifest:
    return msgspec.structs.replace(manifest.load("text"), shards=PARTS)


def data(run: manifest.Manifest, at: Peer, folder: Path) -> ShardExchange:
    files = run_files(folder, folder, grid=GRID)
    directory = DHTDirectory(at.dht, at.rpc, GRID, run.run_id)
    members = Members(at.rpc, at.dht, directory)
    Copies(run.run_id, files, HostedExperts(GRID), members, at.rpc, at.dht, trains=True)
    mirrors = Mirrors(at.rpc.shaper, frozenset(), lambda: False)
    return ShardExchange(run, files, at.rpc, at.dht, mirrors, frozenset({"host", "train"}), lambda: None)


async def test_a_peer_with_another_text_fetches_the_runs_own(
    tmp_path: Path, run: manifest.Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_exchange, "TELL_S", 0.0)
    monkeypatch.setattr(shard_exchange, "TRY_AGAIN_S", 0.0)
    monkeypatch.setattr(shard_exchange, "BEGIN_S", 0.0)
    async with peers(3) as (one, two, three):
        giver, taker, third = (
            data(run, at, tmp_path / name) for at, name in ((one, "one"), (two, "two"), (three, "three"))
        )
        for shard, text in zip(PARTS, TEXTS, strict=True):
            shards.accept(tmp_path / "one", shard, text)
        await taker.tend()
        assert len(shards.missing(run, tmp_path / "two")) == 2  # nobody had told yet

        await giver.tend()

        async def complete(newcomer: ShardExchange, folder: Path) -> bool:
            await newcomer.tend()
            return not shards.missing(run, folder)

        await until(lambda: complete(taker, tmp_path / "two"), "the text")
        assert texts(run, tmp_path / "two") == (TEXTS[0], TEXTS[1])
        size = sum(map(len, TEXTS))
        for at, moved in (
            (one, (0, size)),
            (two, (size, 0)),
        ):  # apart from copies of checkpoints, of which there are none
            counted = at.rpc.moved_by_method()
            assert counted[of_run(DATA_READ, run.run_id)] == moved
            assert max(counted[of_run(READ_FILE, run.run_id)]) < size / 4, "requests, and heads of answers"
        shutil.rmtree(tmp_path / "one" / shards.FOLDER)
        await until(lambda: complete(third, tmp_path / "three"), "the text from the second")


async def test_who_gives_other_bytes_than_the_hash_says_is_passed_over_and_struck(
    tmp_path: Path, run: manifest.Manifest
) -> None:
    async with peers(3) as (liar, honest, two):
        asked = 0

        def lie(request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
            nonlocal asked
            asked += 1
            size = next(part.size for part in PARTS if part.sha256 == request.sha256)
            return FileRead(size), bytes(request.length)

        liar.rpc.register(of_run(READ_FILE, run.run_id), ReadFile, lie)
        await liar.dht.store_many({f"{run.run_id}.data.0": {own_subkey(liar.id): b"\x03"}}, 600.0)
        taker, giver = data(run, two, tmp_path / "two"), data(run, honest, tmp_path / "one")
        await taker.tend()
        assert asked and len(shards.missing(run, tmp_path / "two")) == 2
        assert two.rpc.bans.score(liar.id, time.monotonic()) > 4.0 or two.rpc.bans.banned(liar.id, time.monotonic())

        for shard, text in zip(PARTS, TEXTS, strict=True):
            shards.accept(tmp_path / "one", shard, text)
        await giver.tend()

        async def complete() -> bool:
            await taker.tend()
            return not shards.missing(run, tmp_path / "two")

        await until(complete, "the text from who has it")
        assert texts(run, tmp_path / "two") == (TEXTS[0], TEXTS[1])


class Compute:
    """What the follower asks of the supervisor."""

    def __init__(self, step: int, fell_back: bool) -> None:
        self.progress, self.life, self.at_work = Progress(step=step), 1, True
        hosted = HostedExperts(Grid("digits", 2, (4, 4)))
        self.figures = Figures(Owner(), Calls(), hosted, self.progress, lambda: True)
        self.figures.fell_back = fell_back
        self.taken: list[Path] = []

    async def take_trunk(self, paths: Sequence[Path], most: Reach) -> Taken:
        self.taken += paths
        return Taken()


@pytest.mark.parametrize(
    ("step", "fell_back", "trains", "takes"),
    [(0, True, True, 1), (7, False, True, 0), (7, True, True, 1), (7, False, False, 2)],
)
async def test_a_trained_trunk_gives_way_to_no_stranger_s_unless_its_checkpoint_was_damaged(
    tmp_path: Path, step: int, fell_back: bool, trains: bool, takes: int
) -> None:
    state = pack("digits", "trunk", Part({"w": torch.zeros(1)}, 2**52))
    grid = Grid("digits", 2, (4, 4))
    files = run_files(tmp_path, tmp_path, grid=grid)
    path = files.checkpoints / f"{hashlib.sha256(state).hexdigest()}.safetensors"
    path.parent.mkdir()
    path.write_bytes(state)
    assert await files.keep(path.stem)
    async with peers(1) as (one,):
        compute = Compute(step, fell_back)
        directory = DHTDirectory(one.dht, one.rpc, grid, "digits")
        members = Members(one.rpc, one.dht, directory)
        copies = Copies("digits", files, HostedExperts(grid), members, one.rpc, one.dht, trains)
        follower = TrunkFollower(copies, compute, trains)
        for _ in range(2):
            await follower.tend()
            compute.life += 1
            compute.figures.fell_back = False
        assert len(compute.taken) == takes
