"""A decoder on tokens among real workers: the tokenizer travels, the model continues texts and leaves the house."""

import json
from pathlib import Path

import pytest

from core.contracts import manifest as manifests
from core.store import shards
from core.store.tokens import Tokens
from tests.workers import HERE, hearth, wait_until, worker

SMALL = {"layers": 1, "width": 32, "hidden": 32, "heads": 2, "kv_heads": 1, "sequence": 32}


def organised(folder: Path) -> Path:
    """A small run on a part of Python's manual; its manifest."""
    (folder / "texts").mkdir()
    for number, page in enumerate(shards.local_text()[:150_000].split(b"\n\n\n")):
        (folder / "texts" / f"{number}.txt").write_bytes(page)
    out = folder / "books.toml"
    new = ("run", "new", str(folder / "texts"), "--yes", "--name", "books", "--template", "decoder", "--out", str(out))
    made = hearth(folder / "organiser", *new)
    assert made.returncode == 0, made.stderr
    lines = out.read_text("utf8").splitlines()
    changed = [next((f"{key} = {SMALL[key]}" for key in SMALL if line.startswith(f"{key} = ")), line) for line in lines]
    out.write_text("\n".join(changed), "utf8")
    assert hearth(folder / "organiser", "run", "sign", str(out)).returncode == 0
    return folder / "books.signed.json"


@pytest.mark.timeout(600)
def test_the_tokenizer_travels_and_the_model_leaves_the_house(tmp_path: Path) -> None:
    run, organiser, ann = organised(tmp_path), tmp_path / "organiser", tmp_path / "ann"
    tokenizer = manifests.load(str(run)).tokenizer
    assert tokenizer
    with worker(organiser, "--run", str(run), "--listen", HERE, share=100) as first:
        first.until(lambda status: status.step > 2, "the organiser trains")
        address = hearth(organiser, "address").stdout.strip()
        with worker(ann, "--run", str(run), "--listen", HERE, "--bootstrap", address, share=100) as second:
            second.until(lambda status: status.step > 2, "who joins trains")
            [there] = ann.glob(f"runs/*/data/{tokenizer.sha256}")
            Tokens(there.read_bytes())
            written = hearth(ann, "generate", "The ", "--run", "books", "--length", "5", "--json")
            assert written.returncode == 0, written.stderr
            assert json.loads(written.stdout.splitlines()[-1])["bytes"] >= 0
        hearth(organiser, "pause")
        wait_until(lambda: [*organiser.glob("runs/*/checkpoints/checkpoint-*.json")], "a checkpoint")
        for form in ("hf", "gguf"):
            out = str(tmp_path / form)
            done = hearth(organiser, "run", "export", "books", "--format", form, "--out", out, "--json")
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert told["kept"] >= 2 and 0 < told["bits"] < 9
    assert (tmp_path / "hf" / "config.json").exists() and (tmp_path / "gguf" / "books-f16.gguf").exists()
