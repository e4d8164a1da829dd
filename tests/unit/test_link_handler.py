"""Opening links: XDG's files for real, as GLib reads them; in place of Windows' registry one of our own."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.contracts.errors import HearthError
from core.store.data_folder import data_path
from core.system.link_handler import CLASS_KEY, COMMAND_KEYS, DEFAULTS, ENTRY, KIND, can_register, opens_links
from core.system.start_at_login import program
from tests.unit.test_start_at_login import Registry, entry, registry  # noqa: F401 - a fixture
from tests.workers import ROOT


@pytest.fixture
def choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "config" / "mimeapps.list"


def test_linux_links_are_opened_with_the_folder_and_no_longer(choices: Path, tmp_path: Path) -> None:
    assert opens_links(tmp_path) is False and opens_links(tmp_path, False) is False
    assert opens_links(tmp_path, True) is True and opens_links(tmp_path) is True
    made = entry(tmp_path / "data" / "applications" / ENTRY)
    assert shlex.split(made["Exec"]) == [*program(), "open", "--data-dir", str(tmp_path), "%u"]
    assert made["MimeType"] == f"{KIND};"
    if (asks := shutil.which("gio")) is not None:
        said = subprocess.run([asks, "mime", KIND], capture_output=True, text=True, timeout=60, check=False).stdout
        assert ENTRY in said
    assert opens_links(tmp_path, False) is False
    assert not (tmp_path / "data" / "applications" / ENTRY).exists() and not choices.exists()


def test_linux_the_entry_of_a_package_counts(choices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    applications = tmp_path / "system" / "applications"
    applications.mkdir(parents=True)
    shutil.copy(ROOT / "installers" / "linux" / "files" / ENTRY, applications)
    (applications / "mimeinfo.cache").write_text(f"[MIME Cache]\n{KIND}={ENTRY};\n")
    usual = data_path(None)
    assert opens_links(usual) is False
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "system"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # of the entry's program

    def found() -> bool:
        told = subprocess.run(["gio", "mime", KIND], capture_output=True, text=True, timeout=60, check=False)
        return told.stdout.startswith("Default") and ENTRY in told.stdout

    for wish, opens in ((None, True), (False, False), (None, False), (True, True), (None, True), (False, False)):
        assert opens_links(usual, wish) is opens
        assert shutil.which("gio") is None or found() is opens, wish
    opens_links(usual, True)
    assert opens_links(tmp_path) is False, "it opens them with another folder"
    choices.write_text(f"{DEFAULTS}\n{KIND}=other.desktop\n")
    assert opens_links(usual) is False, "another program is chosen"


def test_linux_what_others_chose_stays_as_it_is(choices: Path, tmp_path: Path) -> None:
    others = (
        "# mine\n[Added Associations]\nx-scheme-handler/hearth=other.desktop\n\n[Default Applications]\n"
        "text/html=firefox.desktop\nx-scheme-handler/hearth=other.desktop\n"
    )
    choices.parent.mkdir(parents=True)
    choices.write_text(others)
    assert opens_links(tmp_path) is False
    assert opens_links(tmp_path, True) is True
    without = others.removesuffix("x-scheme-handler/hearth=other.desktop\n")
    assert choices.read_text() == without.replace(
        "[Default Applications]\n", f"[Default Applications]\n{KIND}={ENTRY}\n"
    )
    opens_links(tmp_path, False)
    assert choices.read_text() == without


def test_linux_what_cannot_be_written_is_told(choices: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in the way")
    with pytest.raises(HearthError, match="What opens links to runs could not be changed: Not a directory"):
        opens_links(tmp_path, True)


def test_windows_a_class_of_the_user(registry: Registry) -> None:  # noqa: F811
    folder = Path("/users/ann lee/hearth")
    assert opens_links(folder) is False and opens_links(folder, False) is False
    assert opens_links(folder, True) is True
    assert registry.keys[CLASS_KEY] == {"": "URL:Hearth", "URL Protocol": ""}
    assert registry.keys[COMMAND_KEYS[0]][""].endswith(' open --data-dir "/users/ann lee/hearth" "%1"')
    assert opens_links(Path("/another")) is False, "it is opened with another folder"
    assert opens_links(folder, False) is False and CLASS_KEY not in registry.keys


def test_macos_leaves_it_to_the_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not can_register()
