"""The bundle, tried as on every system."""

from pathlib import Path

import pytest

from installers.smoke import Smoke
from tests.package.clean_root import ROOT


@pytest.mark.timeout(1200)
def test_the_bundle_trains_answers_and_leaves_nothing(tmp_path: Path) -> None:
    bundle = ROOT / "build" / "bundle" / "hearth"
    assert bundle.exists(), "there is no bundle: run make package"
    told = Smoke([str(bundle)], tmp_path).run(30.0)
    assert told["version"]["frozen"] and told["loss"][1] < told["loss"][0]
