import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.contracts import build
from core.contracts.build import Build, hearth_command, this_build
from core.contracts.notices import notice
from core.update.installation import hindrance
from core.version import VERSION


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    this_build.cache_clear()
    yield
    this_build.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a packaged Hearth's executable."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    (tmp_path / build.BUILD_FILE).write_text('{"commit": "0123abcd", "hash": "89ef"}')
    return tmp_path


def test_from_the_sources_it_is_no_package() -> None:
    assert this_build() == Build(VERSION, "", "", frozen=False, managed_by_distribution=False)
    assert hearth_command("status") == [sys.executable, "-m", "core", "status"]
    assert hindrance() == notice("update.sources")


def test_a_package_says_what_it_was_made_of(package: Path) -> None:
    assert this_build() == Build(VERSION, "0123abcd", "89ef", frozen=True, managed_by_distribution=False)
    assert hearth_command("status") == [sys.executable, "status"]
    assert hindrance() == notice("update.by_hand"), "not by git pull"


def test_a_package_of_the_system_leaves_updates_to_it(package: Path) -> None:
    (package / build.MANAGED_FILE).touch()
    assert this_build().managed_by_distribution and hindrance() == notice("update.managed")


def test_a_damaged_package_is_no_package(package: Path) -> None:
    (package / build.BUILD_FILE).write_text('{"commit": 3}')
    with pytest.raises(msgspec.ValidationError, match="commit"):
        this_build()
