"""Starting at login: XDG's files for real; Windows' registry and macOS' folder in place of theirs, not run there."""

import plistlib
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.contracts.errors import HearthError
from core.system.start_at_login import APPROVED_KEY, LABEL, RUN_KEY, command, start_at_login


@pytest.fixture
def autostart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "autostart" / "hearth.desktop"


def entry(path: Path) -> dict[str, str]:
    lines = path.read_text().splitlines()
    assert lines[0] == "[Desktop Entry]"
    return dict(line.split("=", 1) for line in lines[1:])


def test_linux_an_entry_is_made_and_taken_away(autostart: Path, tmp_path: Path) -> None:
    assert start_at_login(tmp_path) is False
    assert start_at_login(tmp_path, True) is True
    assert start_at_login(tmp_path) is True
    made = entry(autostart)
    assert (made["Type"], made["Name"]) == ("Application", "Hearth")
    assert shlex.split(made["Exec"]) == command(tmp_path)
    assert Path(made["TryExec"]).exists()
    assert start_at_login(tmp_path, False) is False
    assert not autostart.exists()
    assert start_at_login(tmp_path, False) is False


def test_linux_the_entry_starts_hearth_from_any_folder(autostart: Path, tmp_path: Path) -> None:
    start_at_login(tmp_path, True)
    words = [*shlex.split(entry(autostart)["Exec"]), "--version"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("hearth "), done.stderr


def test_linux_odd_names_of_folders_are_quoted_twice(autostart: Path, tmp_path: Path) -> None:
    start_at_login(Path('/data/50% of "my" $HOME\\x'), True)
    assert entry(autostart)["Exec"].endswith('"/data/50%% of \\\\"my\\\\" \\\\$HOME\\\\\\\\x"')


def test_linux_a_folder_adds_no_line(autostart: Path, tmp_path: Path) -> None:
    assert start_at_login(Path("/data/a\nHidden=true\r"), True) is True
    assert entry(autostart)["Exec"].endswith('"/data/a\\nHidden=true\\r"')


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled=false"])
def test_linux_the_desktop_may_have_switched_it_off(autostart: Path, tmp_path: Path, line: str) -> None:
    start_at_login(tmp_path, True)
    with autostart.open("a") as file:
        file.write(line + "\n")
    assert start_at_login(tmp_path) is False
    assert start_at_login(tmp_path, True) is True


@pytest.mark.parametrize("content", [b"", b"no entry", b"\xff\xfe", b"[Desktop Action]\nName=x\n"])
def test_linux_a_damaged_entry_starts_nothing(autostart: Path, tmp_path: Path, content: bytes) -> None:
    autostart.parent.mkdir(parents=True)
    autostart.write_bytes(content)
    assert start_at_login(tmp_path) is False


def test_linux_what_cannot_be_written_is_told(autostart: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file in the way")
    with pytest.raises(HearthError, match="What starts at login could not be changed: Not a directory"):
        start_at_login(tmp_path, True)


class Key:
    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __enter__(self) -> "Key":
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class Registry:
    """The functions of `winreg` that are used, over a dictionary, with the errors that Windows gives."""

    HKEY_CURRENT_USER, KEY_READ, KEY_SET_VALUE, REG_SZ = "HKCU", 0x20019, 0x0002, 1

    def __init__(self) -> None:
        self.keys: dict[str, dict[str, Any]] = {}

    def OpenKey(self, root: str, name: str, reserved: int = 0, access: int = KEY_READ) -> Key:
        if name not in self.keys:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return Key(self.keys[name])

    def CreateKey(self, root: str, name: str) -> Key:
        return Key(self.keys.setdefault(name, {}))

    def QueryValueEx(self, key: Key, name: str) -> tuple[Any, int]:
        if name not in key.values:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return key.values[name], self.REG_SZ

    def SetValueEx(self, key: Key, name: str, reserved: int, kind: int, value: Any) -> None:
        key.values[name] = value

    def DeleteKey(self, root: str, name: str) -> None:
        self.OpenKey(root, name)
        del self.keys[name]

    def DeleteValue(self, key: Key, name: str) -> None:
        if name not in key.values:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        del key.values[name]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    registry = Registry()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "winreg", registry)
    return registry


def test_windows_a_value_of_the_run_key(registry: Registry) -> None:
    folder = Path("/users/ann lee/hearth")
    assert start_at_login(folder) is False
    assert start_at_login(folder, False) is False
    assert start_at_login(folder, True) is True
    assert registry.keys[RUN_KEY]["Hearth"].endswith('--in-tray --data-dir "/users/ann lee/hearth"')
    assert start_at_login(folder, False) is False
    assert registry.keys[RUN_KEY] == {}


def test_windows_task_manager_may_have_switched_it_off(registry: Registry, tmp_path: Path) -> None:
    start_at_login(tmp_path, True)
    registry.keys[APPROVED_KEY] = {"Hearth": bytes([3]) + bytes(11)}
    assert start_at_login(tmp_path) is False
    registry.keys[APPROVED_KEY]["Hearth"] = bytes([2]) + bytes(11)
    assert start_at_login(tmp_path) is True
    registry.keys[APPROVED_KEY]["Hearth"] = bytes([3]) + bytes(11)
    assert start_at_login(tmp_path, True) is True


def test_windows_a_policy_may_forbid_it(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(root: str, name: str) -> Key:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(registry, "CreateKey", refuse)
    with pytest.raises(HearthError, match="Access is denied"):
        start_at_login(tmp_path, True)
    assert start_at_login(tmp_path) is False


def test_macos_a_launch_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    assert start_at_login(tmp_path) is False
    assert start_at_login(tmp_path, True) is True
    agent = plistlib.loads(path.read_bytes())
    assert (agent["Label"], agent["ProgramArguments"], agent["RunAtLoad"]) == (LABEL, command(tmp_path), True)
    path.write_bytes(plistlib.dumps({**agent, "Disabled": True}))
    assert start_at_login(tmp_path) is False
    path.write_bytes(b"<plist>")
    assert start_at_login(tmp_path) is False
    assert start_at_login(tmp_path, False) is False
    assert not path.exists()
