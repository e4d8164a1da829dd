"""A run's data come from peers that have them, by hash."""

import hashlib
import shutil
from pathlib import Path

import msgspec
import pytest

from core import manifest
from core.experts.grid import Grid
from core.manifest import Shard
from core.training import shards
from core.worker.blobs import Blobs
from core.worker.copies import Copies
from core.worker.shared import Data
from tests.dht_peers import Peer, peers, until

TEXTS = [b"It was not made by this Python. " * 40, b"Nor was this. " * 90]
PARTS = tuple(Shard(hashlib.sha256(text).hexdigest(), len(text), text is TEXTS[1]) for text in TEXTS)


@pytest.fixture
def run() -> manifest.Manifest:
    return msgspec.structs.replace(manifest.load("text"), shards=PARTS)


def data(run: manifest.Manifest, at: Peer, folder: Path) -> Data:
    folder.mkdir()
    blobs = Blobs(folder, Grid("text", 3, (4, 4)), 1 << 20)
    Copies("text", folder, blobs, at.rpc, at.dht)
    return Data(run, folder, blobs, at.rpc, at.dht)


async def test_a_peer_with_another_text_fetches_the_runs_own(tmp_path: Path, run: manifest.Manifest) -> None:
    async with peers(3) as (one, two, three):
        giver, taker, third = (
            data(run, at, tmp_path / name) for at, name in ((one, "one"), (two, "two"), (three, "three"))
        )
        for shard, text in zip(PARTS, TEXTS, strict=True):
            shards.accept(tmp_path / "one", shard, text)
        await taker.tend()
        assert len(shards.missing(run, tmp_path / "two")) == 2  # nobody had told yet

        await giver.tend()

        async def complete(newcomer: Data, folder: Path) -> bool:
            await newcomer.tend()
            return not shards.missing(run, folder)

        await until(lambda: complete(taker, tmp_path / "two"), "the text")
        assert shards.read(run, tmp_path / "two") == (TEXTS[0], TEXTS[1])
        shutil.rmtree(tmp_path / "one" / shards.FOLDER)
        await until(lambda: complete(third, tmp_path / "three"), "the text from the second")
