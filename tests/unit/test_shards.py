"""A run's text as files named by their hash: made here, or handed over by somebody who has them."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest as manifests
from core.contracts.errors import DataError, DataFolderError
from core.contracts.manifest import Manifest
from core.store import shards
from tests.unit.text_run import text_run, texts

OTHER_TEXT = b"".join(number.to_bytes(4, "big") for number in range(25_000))
"""No Python comes with it."""


@pytest.fixture
def here() -> Manifest:
    return text_run({})


@pytest.fixture
def elsewhere() -> Manifest:
    return msgspec.structs.replace(manifests.load("text"), shards=tuple(shards.cut(OTHER_TEXT)))


def give(manifest: Manifest, folder: Path, text: bytes) -> None:
    """Every part of `text` that is missing, as a peer would hand it over."""
    parts, start = {}, 0
    for shard in manifest.shards:
        parts[shard] = text[start : start + shard.size]
        start += shard.size
    for shard in shards.missing(manifest, folder):
        shards.accept(folder, shard, parts[shard])


def test_the_text_of_this_python_is_cut_and_put_together_again(here: Manifest, tmp_path: Path) -> None:
    assert len(shards.missing(here, tmp_path)) == len(here.shards) == shards.SHARDS
    train, held_out = texts(here, tmp_path)
    assert train + held_out == shards.local_text()
    assert len(held_out) == here.shards[-1].size
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == sorted(s.sha256 for s in here.shards)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the manifest lists the text of Python 3.11")
def test_the_run_is_the_text_of_python_3_11(here: Manifest) -> None:
    assert manifests.load("text").shards == here.shards


def test_a_damaged_shard_is_missing_and_made_again(here: Manifest, tmp_path: Path) -> None:
    shards.prepare(here, tmp_path)
    damaged, short = here.shards[2], here.shards[5]
    (tmp_path / "data" / damaged.sha256).write_bytes(b"x" * damaged.size)
    (tmp_path / "data" / short.sha256).write_bytes(b"x")
    assert shards.missing(here, tmp_path) == [damaged, short]
    assert shards.prepare(here, tmp_path) == []
    assert shards.missing(here, tmp_path) == []


def test_a_text_that_this_python_lacks_comes_from_others(elsewhere: Manifest, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"8 of 8 parts of the text of the run text are missing.*another text"):
        texts(elsewhere, tmp_path)
    give(elsewhere, tmp_path, OTHER_TEXT)
    assert shards.missing(elsewhere, tmp_path) == []
    assert b"".join(texts(elsewhere, tmp_path)) == OTHER_TEXT


def test_only_the_shard_itself_is_accepted(elsewhere: Manifest, tmp_path: Path) -> None:
    shard = elsewhere.shards[0]
    right = OTHER_TEXT[: shard.size]
    for wrong in (b"", right[:-1], right + b"x", b"x" + right[1:]):
        with pytest.raises(DataError, match="not what its hash says"):
            shards.accept(tmp_path, shard, wrong)
    assert not (tmp_path / "data").exists()
    shards.accept(tmp_path, shard, right)
    assert shard not in shards.missing(elsewhere, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(here: Manifest, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(DataFolderError, match="cannot be written"):
        shards.prepare(here, tmp_path)


def test_the_worker_may_use_it() -> None:
    """It loads no torch, and the text itself only where a shard is to be made."""
    program = "import sys; from core.store import shards; print({'torch', 'pydoc_data'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "set()"
