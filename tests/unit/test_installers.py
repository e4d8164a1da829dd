"""What the installers for Windows and macOS and the workflow say, read here, where neither can be run."""

import plistlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from core.cli import _of_a_screensaver, command_parser
from core.contracts import build
from core.net.lan import SERVICE
from core.store.data_folder import first_path
from core.system import link_handler, start_at_login
from installers import check, package, smoke
from installers.bundle.build import ICONS
from installers.icons import ICNS, ICO, write_icns, write_ico
from installers.macos.package import publish, sign
from installers.windows.package import SCRIPT, defines

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "package.yml"
SECTIONS = {
    "CustomMessages": "",
    "Files": "Source DestDir DestName Flags",
    "Icons": "Name Filename",
    "InstallDelete": "Type Name",
    "Languages": "Name MessagesFile InfoAfterFile",
    "Registry": "Root Subkey ValueType ValueName ValueData Flags Tasks",
    "Run": "Filename Description Flags",
    "Tasks": "Name Description Flags",
}
"""Those of Inno Setup's that are used, and the parameters that it knows there (jrsoftware.org, Inno Setup Help)."""
SETUP = (
    "AppId AppName AppPublisher AppVersion ArchitecturesAllowed ArchitecturesInstallIn64BitMode ChangesAssociations "
    "CloseApplications Compression DefaultDirName DisableProgramGroupPage LicenseFile MinVersion OutputBaseFilename "
    "PrivilegesRequired RestartApplications SetupIconFile SolidCompression UninstallDisplayIcon VersionInfoVersion "
    "WizardStyle"
)
FLAGS = (
    "createallsubdirs dontcreatekey ignoreversion nowait postinstall recursesubdirs skipifsilent unchecked "
    "uninsdeletekey uninsdeletevalue"
)
CONSTANTS = {"app", "autopf", "autoprograms", "localappdata"}
EVENTS = {"PrepareToInstall", "CurUninstallStepChanged"}
APP = r"C:\Users\Ann Lee\AppData\Local\Programs\Hearth"


class Script:
    """The installer's script, as Inno Setup reads it."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text("utf-8-sig")
        self.lines: dict[str, list[str]] = {}
        for line in self.text.splitlines():
            if match := re.fullmatch(r"\[(\w+)\]", line):
                section = self.lines.setdefault(match[1], [])
            elif line and not line.startswith(";"):
                section.append(line)

    def entries(self, section: str) -> list[dict[str, str]]:
        """Of a section with parameters: `Name: value; Name: "value"`, where a quote is doubled."""
        found = []
        for line in self.lines[section]:
            pairs = re.findall(r'\s*(\w+): ("(?:[^"]|"")*"|[^";]*)(?:;|$)', line)
            assert "; ".join(f"{name}: {value}" for name, value in pairs) == line
            found.append({name: value[1:-1].replace('""', '"') if value[:1] == '"' else value for name, value in pairs})
        return found

    def values(self, section: str) -> dict[str, str]:
        """Of a section with lines `name=value`."""
        pairs = [line.split("=", 1) for line in self.lines[section]]
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)


@pytest.fixture
def script() -> Script:
    return Script(SCRIPT)


def test_inno_setup_knows_all_sections_and_parameters(script: Script) -> None:
    assert set(script.lines) == {*SECTIONS, "Setup", "Code"}
    assert set(script.values("Setup")) <= set(SETUP.split())
    for section, known in SECTIONS.items():
        for entry in script.entries(section) if known else ():
            assert set(entry) <= set(known.split()), entry
            assert set(entry.get("Flags", "").split()) <= set(FLAGS.split())
    assert script.values("Setup")["PrivilegesRequired"] == "lowest"
    assert {entry["Root"] for entry in script.entries("Registry")} == {"HKCU"}


def test_every_name_in_the_script_is_there(script: Script, tmp_path: Path) -> None:
    given = defines(tmp_path)
    assert set(re.findall(r"\{#(\w+)\}", script.text)) == set(given)
    languages = {entry["Name"] for entry in script.entries("Languages")}
    messages = script.values("CustomMessages")
    words = {*re.findall(r"\{cm:(\w+)\}", script.text), *re.findall(r"CustomMessage\('(\w+)'\)", script.text)}
    assert set(messages) == {f"{language}.{word}" for language in languages for word in words}
    tasks = {entry["Name"] for entry in script.entries("Tasks")}
    assert {entry["Tasks"] for entry in script.entries("Registry") if "Tasks" in entry} <= tasks
    outside_code = script.text.partition("[Code]")[0]
    assert set(re.findall(r"\{(\w+)\}", outside_code)) <= {*CONSTANTS, script.values("Setup")["AppId"][2:-1]}
    functions = set(re.findall(r"(?:function|procedure) (\w+)", script.text))
    assert {*re.findall(r"\{code:(\w+)\}", script.text), *EVENTS} <= functions


def test_every_file_that_the_script_takes_is_there_or_is_built(script: Script) -> None:
    setup, folder = script.values("Setup"), SCRIPT.parent
    texts = [entry["InfoAfterFile"] for entry in script.entries("Languages")]
    for name in (setup["LicenseFile"], *texts):
        assert (folder / name.replace("\\", "/")).is_file(), name
        assert name.endswith("LICENSE") or (folder / name).read_bytes().startswith(b"\xef\xbb\xbf")
    assert setup["SetupIconFile"] == "{#Icon}" and ICONS["win32"][0].suffix == ".ico"
    spec = (ROOT / "installers" / "bundle" / "hearth.spec").read_text()
    built = {f"{name}.exe" for name in re.findall(r'executable\("(\w+)"', spec)}
    sources = [entry["Source"].removeprefix("{#Bundle}\\") for entry in script.entries("Files")]
    assert sources == ["*", "hearthw.exe"] and "hearthw.exe" in built
    copied = {entry.get("DestName", "") for entry in script.entries("Files")}
    named = set(re.findall(r"\{app\}\\([\w.]+\.(?:exe|scr))", script.text))
    assert named <= built | copied and built <= named


def test_the_script_calls_commands_that_there_are(script: Script) -> None:
    called = re.findall(r"Hearth\('([^']+)'\)", script.text)
    assert sorted(called) == ["data purge --yes", "quit"]
    registered = [entry["ValueData"] for entry in script.entries("Registry") if ".exe" in entry.get("ValueData", "")]
    for line in [*called, *(line.partition('.exe" ')[2] for line in registered)]:
        command_parser().parse_args(line.replace('"%1"', "hearth://join/x").split())


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package for Windows, as far as its files are asked for."""
    for name in ("hearth.exe", "hearthw.exe"):
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "Hearth.scr"))
    return tmp_path


def test_what_the_installer_registers_is_what_settings_would_write(script: Script, installed: Path) -> None:
    arguments = start_at_login.command(first_path(None))
    login = start_at_login.windows_command(arguments)
    link = f'{start_at_login.windows_command([*start_at_login.program(), "open"])} "%1"'
    found = {
        (entry["Subkey"], entry["ValueName"]): entry["ValueData"].replace("{app}\\", f"{installed}/")
        for entry in script.entries("Registry")
        if entry["ValueType"] == "string"
    }
    assert found[start_at_login.RUN_KEY, start_at_login.NAME] == login
    assert found[link_handler.COMMAND_KEYS[0], ""] == link
    assert found[link_handler.CLASS_KEY, "URL Protocol"] == "" and (link_handler.CLASS_KEY, "") in found


def test_what_runs_on_windows_without_a_terminal_starts_the_one_that_takes_commands(installed: Path) -> None:
    assert build.hearth_command("worker") == [str(installed / "hearth.exe"), "worker"]
    assert start_at_login.program() == [str(installed / "hearthw.exe")]


def test_a_screensaver_of_windows_is_known_by_its_words_or_its_name() -> None:
    saver, program = r"C:\Hearth.SCR", r"C:\hearth.exe"
    assert _of_a_screensaver(["/S"], program) == ["screensaver", "/S"]
    assert _of_a_screensaver(["/c:123"], saver) == ["screensaver", "/c:123"]
    assert _of_a_screensaver([], saver) == ["screensaver", "/c"]
    assert _of_a_screensaver([], program) == [] and _of_a_screensaver(["status"], program) == ["status"]


def test_the_app_for_macos_says_what_the_system_asks_for() -> None:
    info = plistlib.loads((ROOT / "installers/macos/Info.plist").read_bytes())
    assert info["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == ["hearth"] == [link_handler.KIND.rpartition("/")[2]]
    assert info["LSUIElement"] is True and info["LSBackgroundOnly"] is False
    assert info["CFBundleIdentifier"] == "app.hearth.hearth"
    assert info["NSBonjourServices"] == [SERVICE.removesuffix(".local.")]
    entitlements = plistlib.loads((ROOT / "installers/macos/entitlements.plist").read_bytes())
    assert all(name.startswith("com.apple.security.cs.") and on is True for name, on in entitlements.items())
    inside = Path("/Applications/Hearth.app/Contents/MacOS/hearth")
    assert build._of_files(inside) == Path("/Applications/Hearth.app/Contents/Resources")
    assert build._of_files(Path("/usr/lib/hearth/hearth")) == Path("/usr/lib/hearth")


def test_the_app_for_macos_is_signed_by_whoever_has_a_key_and_notarised_by_whoever_has_an_account() -> None:
    app, image, me = Path("Hearth.app"), Path("hearth.dmg"), {"HEARTH_SIGNING_IDENTITY": "Ann"}
    account = {"HEARTH_APPLE_ID": "a@b.org", "HEARTH_APPLE_TEAM": "TEAM", "HEARTH_APPLE_PASSWORD": "secret"}
    assert sign(app, {}) == ["codesign", "--force", "--sign", "-", "Hearth.app"]
    assert sign(app, me)[-3:] == ["--sign", "Ann", "Hearth.app"] and "runtime" in sign(app, me)
    assert publish(image, {}) == publish(image, account) == []
    assert [command[0] for command in publish(image, me)] == ["codesign"]
    assert [command[:3] for command in publish(image, me | account)][1:] == [
        ["xcrun", "notarytool", "submit"],
        ["xcrun", "stapler", "staple"],
    ]


def test_icons_have_the_sizes_that_systems_ask_for(tmp_path: Path, qapp: Any) -> None:
    write_ico(tmp_path / "hearth.ico")
    write_icns(tmp_path / "hearth.icns")
    with Image.open(tmp_path / "hearth.ico") as icon:
        assert icon.info["sizes"] == {(side, side) for side in ICO}
    with Image.open(tmp_path / "hearth.icns") as icon:
        assert {side * scale for side, _, scale in icon.info["sizes"]} == set(ICNS) - {16}
        left, top, right, bottom = icon.convert("RGBA").getchannel("A").getbbox() or (0, 0, 0, 0)
        assert (left, icon.width - right, icon.height - bottom) == (top, top, top) and 0.09 < top / icon.width < 0.11


def steps() -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(WORKFLOW.read_text())["jobs"]["package"]["steps"]


def test_the_workflow_calls_what_there_is() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"} and workflow["concurrency"]["cancel-in-progress"] is True
    systems = {one["runner"].partition("-")[0] for one in workflow["jobs"]["package"]["strategy"]["matrix"]["include"]}
    assert systems == {"ubuntu", "windows", "macos"}
    for step in steps():
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))
    called = [name for step in steps() for name in re.findall(r"-m ([\w.]+)", step.get("run", ""))]
    assert called == [package.__name__, check.__name__]
    for module in (package, check, smoke):
        assert "def main(" in Path(str(module.__file__)).read_text()
    assert [step["with"]["path"] for step in steps() if "upload" in step.get("uses", "")] == ["dist/"]
    assert package.ROOT / "dist" == check.DIST


def test_what_makes_packages_needs_nothing_but_python() -> None:
    """It runs before anything is installed, as does what checks them."""
    command = [sys.executable, "-S", "-c", "import installers.package, installers.check"]
    subprocess.run(command, cwd=ROOT, timeout=60, check=True)


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed here")
def test_actionlint_finds_nothing() -> None:
    subprocess.run(["actionlint", str(WORKFLOW)], timeout=60, check=True)
