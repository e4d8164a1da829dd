"""A trained model leaves the house: `hearth run export` writes a folder that plain PyTorch evaluates alike."""

import json
import re
import subprocess
import sys
import textwrap
from importlib.resources import files
from pathlib import Path

import pytest

from tests.workers import ROOT, hearth, wait_until, worker

SMALL = {"digits": {"layers": 2, "width": 32, "hidden": 32}, "digits-vc": {"width": 32, "hidden": 32}}
SMALL |= {"text": {"layers": 2, "width": 32, "hidden": 32, "sequence": 32}}


def small(run: str, folder: Path) -> Path:
    """The manifest of a built-in run with a smaller model."""
    document = json.loads(files("resources").joinpath("runs", f"{run}.json").read_bytes())
    document["model"] |= SMALL[run] | ({"grid": [2, 3]} if run != "digits-vc" else {})
    path = folder / f"{run}.json"
    path.write_text(json.dumps(document))
    return path


def loader() -> str:
    """The one that the help page shows, to the letter."""
    page = (ROOT / "resources" / "help" / "organisers.md").read_text("utf8")
    blocks = re.findall(r"\n\n((?:    .*\n|\n)+)", page[page.index("## The trained model") :])
    [code] = [textwrap.dedent(block).strip() for block in blocks if "from model import" in block]
    assert len(code.splitlines()) <= 20
    return code


@pytest.mark.parametrize("run", SMALL)
def test_an_exported_model_gives_the_same_evaluation_without_hearth(tmp_path: Path, run: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").write_text("no folder")
    with worker(tmp_path / "data", "--run", str(small(run, tmp_path))) as running:
        running.until(lambda status: status.step > 3, "training")
        hearth(running.folder, "pause")  # which saves
        wait_until(lambda: [*(tmp_path / "data").glob("runs/*/checkpoints/checkpoint-*.json")], "a checkpoint")
        exported = hearth(running.folder, "run", "export", run, "--out", str(tmp_path / "model"), "--json")
        if run == "digits-vc":
            refused = hearth(running.folder, "run", "export", run, "--out", str(tmp_path / "file" / "model"))
            assert refused.returncode == 10 and "cannot be written" in refused.stderr
            (tmp_path / "mine").mkdir()
            (tmp_path / "mine" / "letter.txt").write_text("dear")
            refused = hearth(running.folder, "run", "export", run, "--out", str(tmp_path / "mine"))
            assert refused.returncode == 10 and "holds files" in refused.stderr
            assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
            refused = hearth(running.folder, "run", "export", run, "--format", "gguf")
            assert refused.returncode == 10 and "Leave out --format" in refused.stderr
            assert "Collecting" not in refused.stderr, "what cannot be written is not collected first"
    assert exported.returncode == 0, exported.stderr
    said = json.loads(exported.stdout)
    assert said["experts"] == (0 if run == "digits-vc" else 12) >= said["trained"]
    alone = [sys.executable, "-I", str(tmp_path / "model" / "model.py")]  # nothing of Hearth is on its path
    told = subprocess.run([sys.executable, "-c", loader()], cwd=tmp_path / "model", stdout=subprocess.PIPE, check=True)
    assert float(told.stdout.split()[1].rstrip(b",")) == pytest.approx(said["loss"], abs=1e-5)
    again = json.loads(subprocess.run(alone, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout)
    assert again["loss"] == pytest.approx(said["loss"], abs=1e-5)
    assert again["accuracy"] == pytest.approx(said["accuracy"], abs=1e-9)
