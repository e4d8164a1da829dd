"""A pinned library with a known advisory is found from the list in the project, made from the database's own words."""

import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from installers import advisories
from installers.advisories import LIST, PINS, known, of_database, pinned, read

TOLD = """
id: PYSEC-2030-1
affected:
- package: {name: Pillow, ecosystem: PyPI}
  ranges:
  - {type: GIT, events: [{introduced: "0"}, {fixed: abc}]}
  - {type: ECOSYSTEM, events: [{introduced: "0"}, {fixed: 9.0.1}, {introduced: 10.0.0}, {last_affected: 10.2.0}]}
"""
LISTED = "id: PYSEC-2030-2\naffected: [{package: {name: pillow}, versions: ['8.0', '8.1']}]\n"
OPEN = """
id: PYSEC-2030-3
affected: [{package: {name: pillow}, ranges: [{type: ECOSYSTEM, events: [{introduced: 12.0.0}]}]}]
"""
TAKEN_BACK = OPEN.replace("-3", "-4") + "withdrawn: 2030-01-02\n"


def test_no_pinned_library_has_a_known_advisory() -> None:
    pins = {name: version for file in PINS for name, version in pinned(file.read_text()).items()}
    held = read(LIST.read_text())
    assert len(pins) > 100 and len(held) > 100 and known(held, pins) == []
    assert known(held, pins | {"pillow": Version("10.0.0"), "torch": Version("2.5.1")})


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A clone of the database, small."""
    folder = tmp_path / "vulns" / "pillow"
    folder.mkdir(parents=True)
    for number, text in enumerate((TOLD, LISTED, OPEN, TAKEN_BACK)):
        (folder / f"{number}.yaml").write_text(text)
    git = ("git", "-C", tmp_path, "-c", "user.name=x", "-c", "user.email=x@x")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run((*git, *command), check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "found"),
    [("8.1", [1, 2]), ("9.0.1", []), ("10.0.0", [1]), ("10.2.0", [1]), ("11.0", []), ("12.0", [3]), ("13.1rc1", [3])],
)
def test_the_versions_of_an_advisory_are_those_of_the_database(database: Path, version: str, found: list[int]) -> None:
    held = read("\n".join(map(str, of_database(database, ["pillow"]))))
    assert [line.split(": ")[1][:12] for line in known(held, {"pillow": Version(version)})] == [
        f"PYSEC-2030-{number}" for number in found
    ]


def test_the_list_is_made_anew_and_what_was_written_by_hand_stays(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "list.txt"
    kept.write_text("# About.\n# State of the database: none\n\nOLD-1 pillow <1\n\n# By hand: why\nCVE-1 torch >=1\n")
    monkeypatch.setattr(advisories, "LIST", kept)
    monkeypatch.setattr("sys.argv", ["advisories", str(database)])
    assert advisories.main() == 1, "the pinned pillow is within the third, torch in the one by hand"
    assert "PYSEC-2030-3" in capsys.readouterr().err
    ids = [one.id for one in read(kept.read_text())]
    assert (
        ids == ["PYSEC-2030-1", "PYSEC-2030-2", "PYSEC-2030-3", "CVE-1"] and "by hand: why" in kept.read_text().lower()
    )
