"""A run of somebody's own texts: made from a folder, trained on by the organiser's PC and by one that joins it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from core.contracts import manifest as manifests
from core.store import shards
from tests.shards import texts
from tests.workers import HERE, PATIENCE_S, ROOT, hearth, wait_until, worker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """200 KB in 100 documents."""
    place = tmp_path / "My Tales"
    place.mkdir()
    for number, text in enumerate(texts(100, 2000)):
        (place / f"{number}.txt").write_bytes(text)
    return place


def test_a_folder_becomes_a_run_that_two_train(folder: Path, tmp_path: Path) -> None:
    one, two, out = tmp_path / "one", tmp_path / "two", tmp_path / "tales.toml"
    made = hearth(one, "run", "new", str(folder), "--volunteers", "2", "--out", str(out))
    assert made.returncode == 0 and "Nobody can be asked here" in made.stderr, made.stderr
    steps = re.findall(r"hearth (backbone|address|run check|run sign|worker|start|run publish|run join)", made.stdout)
    page = (ROOT / "resources" / "help" / "organisers.md").read_text("utf8")
    told = page[page.index("## A run in an afternoon") : page.index("## Trying it on one PC")]
    assert len(set(steps)) == 8 and all(f"hearth {step}" in told for step in steps)
    assert "100 documents of 100 files" in made.stdout and "Proposed for 2 volunteers" in made.stdout
    assert "The licences of data and model are not known" in made.stdout
    manifest = manifests.load(str(out))
    assert manifest.licence and manifest.licence.data == "unknown"
    assert (manifest.run, manifest.title, manifest.strategy) == ("my-tales", "My tales", "diloco")
    assert tomllib.loads(out.read_text())["shard_list"]["sha256"] in shards.here(one / "runs" / manifest.run_id)

    with worker(tmp_path / "far", "--run", str(out), share=100) as far:
        far.until(lambda status: str(status.runs[0].waits).endswith("begins with the first part."), "the data")
    with worker(one, "--run", str(out), "--listen", HERE, share=100) as first:
        first.until(lambda status: status.step > 2, "the organiser trains")
        address = hearth(one, "address").stdout.strip()
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address, share=100) as second:
            second.until(lambda status: status.step > 2, "who joins trains")
            place = two / "runs" / manifest.run_id
            wait_until(lambda: len(shards.here(place)) > 10, "shards come from the first")
            assert not (two / shards.OWN).exists()
            data = _says(two, "show", "Data")
            assert data.startswith("text, ") and " kB in " in data
            wait_until(lambda: _says(one, "status", "Peers").startswith("2 PCs take part"), "each knows of the other")
            assert "passes over the data" in _says(one, "status", "Progress")
            exported = hearth(one, "run", "export", "my-tales", "--out", str(tmp_path / "model"), "--json")
            assert exported.returncode == 0, "also from the middle of a shuffle buffer" + exported.stderr
        with worker(two, "--run", str(out), "--listen", HERE, "--bootstrap", address, share=100) as again:
            before = again.status().samples
            again.until(lambda status: status.samples > before > 0, "it goes on after a restart")
            assert not again.status().attention


def _says(folder: Path, what: str, heading: str) -> str:
    """A line of what a command says of the run."""
    lines = hearth(folder, "run", what, "my-tales").stdout.splitlines()
    return next(line.removeprefix(heading).strip() for line in lines if line.startswith(heading))


def test_what_cannot_be_made_is_told_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "x.toml"
    for arguments, said in (
        (["--name", "Not a name"], "cannot be the name of a run"),
        (["--name", "digits"], "comes with Hearth"),
        (["--volunteers", "none"], "is not a number of volunteers"),
        (["--out", str(tmp_path / "wiki")], f"Write: --out {tmp_path / 'wiki.toml'}"),
    ):
        done = hearth(data, "run", "new", str(folder), "--out", str(out), "--yes", *arguments)
        assert done.returncode == 2 and said in done.stderr and not (tmp_path / "wiki").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    done = hearth(data, "run", "new", str(empty), "--out", str(tmp_path / "y.toml"))
    assert done.returncode == 18 and "nothing to train on" in done.stderr and not (tmp_path / "y.toml").exists()
    out.write_text("mine")
    done = hearth(data, "run", "new", str(folder), "--out", str(out))
    assert done.returncode == 2 and "There is a file" in done.stderr and out.read_text() == "mine"


def test_on_a_terminal_it_asks_until_an_answer_is_possible(folder: Path, tmp_path: Path) -> None:
    here, there = os.openpty()
    command = [sys.executable, "-m", "core", "run", "new", str(folder), "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "x.toml")], cwd=ROOT, stdin=there, stdout=subprocess.PIPE, text=True
    ) as asking:
        os.close(there)
        os.write(here, b"My run\ntales\n\nCC0-1.0\nMIT\nmany\n7\n")
        said, _ = asking.communicate(timeout=PATIENCE_S)
    os.close(here)
    assert asking.returncode == 0
    assert "Name of the run [my-tales]" in said and "cannot be the name of a run" in said and "is not a number" in said
    fields = tomllib.loads((tmp_path / "x.toml").read_text())
    assert (fields["run"], fields["title"]) == ("tales", "Tales")
    assert fields["licence"] == {"data": "CC0-1.0", "model": "MIT"}
    assert "Proposed for 7 volunteers" in said
