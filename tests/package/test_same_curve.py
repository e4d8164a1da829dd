"""A package computes what the sources compute: the same losses and the same trunk, bit for bit."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from core.compute.proof import Proof
from core.contracts.build import hearth_command
from tests.package.clean_root import ROOT

STEPS = "200"


def proof(command: list[str], folder: Path) -> Proof:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, timeout=1200, check=True)
    return msgspec.json.decode(done.stdout, type=Proof)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("run", ["digits", "text"])
def test_the_bundle_trains_to_the_same_curve_as_the_sources(run: str, tmp_path: Path) -> None:
    bundle = ROOT / "build" / "bundle" / "hearth"
    assert bundle.exists(), "there is no bundle: run make package"
    sources = proof(hearth_command("prove", run, STEPS), ROOT)
    assert sources.curve[-1].step == int(STEPS) and sources.curve[-1].loss < sources.curve[0].loss
    assert proof([str(bundle), "prove", run, STEPS], tmp_path) == sources
