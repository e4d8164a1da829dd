"""Manifests: those that come with Hearth, and an organiser's own file."""

from pathlib import Path

import msgspec
import pytest

from core import manifest
from core.errors import ManifestError


def test_a_run_is_named_or_is_the_path_of_its_manifest(tmp_path: Path) -> None:
    digits = manifest.load("digits")
    path = tmp_path / "mine.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(digits, run="mine")))
    mine = manifest.load(str(path))
    assert mine.run == "mine" and mine.model == digits.model


def test_what_cannot_be_a_manifest_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    with pytest.raises(ManifestError, match=r"bad\.json cannot be read"):
        manifest.load(str(path))
    path.write_text('{"version": 1}')
    with pytest.raises(ManifestError, match=r"bad\.json cannot be used"):
        manifest.load(str(path))
    path.write_bytes(bytes(manifest.MAX_BYTES + 1))
    with pytest.raises(ManifestError, match="larger than 1 MB"):
        manifest.load(str(path))
    with pytest.raises(ManifestError, match=r"Known runs: digits.*\.json"):
        manifest.load("nobody")
