"""What packages are made of, as far as it can be told without building one."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.contracts.build import BUILD_FILE
from core.system import link_handler
from installers.bundle import parts
from installers.bundle.build import digest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "installers" / "linux" / "files"
UNITS = {"hearth.service": "worker", "hearth-backbone.service": "backbone"}


def unit(name: str) -> dict[str, str]:
    """The lines of a unit's section [Service]."""
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(re.sub(r"\\\n\s*", "", (FILES / name).read_text()))
    return dict(parser["Service"])


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = unit(name)
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == "yes"
    assert service["ProtectSystem"] == "strict" and service["CapabilityBoundingSet"] == ""
    assert "User" not in service, "no user is made; root is none"
    assert service["PrivateUsers"] == "yes", "a user's systemd cannot take capabilities away without"
    assert ("DynamicUser" in service and "StateDirectory" in service) or "ReadWritePaths" in service
    assert service["ExecStart"].split()[1] == UNITS[name]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_finds_little_that_the_backbone_could_do() -> None:
    command = ["systemd-analyze", "security", "--offline=true", str(FILES / "hearth-backbone.service")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    found = re.search(r"exposure level for \S+: ([\d.]+)", told)
    assert found is not None and float(found[1]) <= 2.5


@pytest.mark.parametrize("path", sorted(FILES.glob("*.desktop")), ids=lambda path: path.name)
def test_a_desktop_entry_says_what_desktops_ask_for(path: Path) -> None:
    parser = configparser.RawConfigParser(delimiters="=")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path, "utf-8")
    entry = parser["Desktop Entry"]
    assert entry["Type"] == "Application" and entry["Exec"].split()[0] == "hearth"
    assert "Comment[de]" in entry


def test_links_are_opened_by_the_entry_that_the_app_would_write_itself() -> None:
    """So that a user's own one takes the package's place, and there are never two."""
    assert f"MimeType={link_handler.KIND}" in (FILES / link_handler.ENTRY).read_text()


def test_the_description_for_software_centres_leads_to_the_entry() -> None:
    whole = ElementTree.parse(FILES / "app.hearth.hearth.metainfo.xml").getroot()
    assert (FILES / str(whole.findtext("launchable"))).exists()
    assert whole.findtext("project_license") == "Apache-2.0"


def test_both_set_up_and_package_need_the_same_libraries() -> None:
    command = [str(ROOT / "installers/linux/setup.sh"), "libraries"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    lines = [line.split() for line in told.splitlines()]
    assert ["libxcb-cursor.so.0", "libxcb-cursor0"] in lines and all(len(line) == 2 for line in lines)


def test_a_builds_hash_follows_every_file_but_the_one_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "hearth").write_text("1")
    first = digest(tmp_path)
    (tmp_path / BUILD_FILE).write_text("{}")
    assert digest(tmp_path) == first
    (tmp_path / "hearth").write_text("2")
    changed = digest(tmp_path)
    (tmp_path / "hearth").rename(tmp_path / "earth")
    assert len({first, changed, digest(tmp_path)}) == 3


def test_the_list_of_parts_is_cyclonedx(tmp_path: Path) -> None:
    folder = tmp_path / "some-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: Some\nVersion: 1.0\nLicense: MIT\n")
    (folder / "LICENSE").write_text("Do as you like.")
    found = parts.parts_of(tmp_path)
    assert [part.name for part in found] == ["Python", "Some"]
    bill = json.loads(parts.bill(found, "0.1.0", 0))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["components"][1] == {
        "type": "library",
        "name": "Some",
        "version": "1.0",
        "purl": "pkg:pypi/some@1.0",
        "bom-ref": "pkg:pypi/some@1.0",
        "licenses": [{"license": {"name": "MIT"}}],
    }
    assert "Do as you like." in parts.licences(found, "Ours.")


def test_a_part_without_a_licence_is_not_shipped(tmp_path: Path) -> None:
    (tmp_path / "some-1.0.dist-info").mkdir()
    (tmp_path / "some-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: Some\nVersion: 1.0\n")
    with pytest.raises(RuntimeError, match="Some"):
        parts.parts_of(tmp_path)
