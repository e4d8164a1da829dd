"""Whether Hearth starts when the user logs in. The system keeps it, and may have been told otherwise: it is asked."""

import configparser
import contextlib
import importlib
import os
import plistlib
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from core.contracts.build import hearth_command
from core.contracts.errors import HearthError
from core.contracts.notices import notice
from core.store.data_folder import data_path, first_path
from core.store.settings_file import write_atomically
from core.update.installation import this_installation

NAME = "Hearth"
RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED_KEY = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
"""Where Windows notes what was switched off in its Task Manager: the first byte is odd then."""
LABEL = "hearth.app"


def start_at_login(folder: Path, wish: bool | None = None) -> bool:
    """Whether Hearth starts at login, in the tray and with this data folder.

    Linux: an XDG autostart entry. Windows: a value of the registry's Run key. macOS: a LaunchAgent.

    Args:
        folder: the data folder that it starts with.
        wish: switch it on or off; None: only look.

    Returns:
        What the system says, after the change if one was wished.

    Raises:
        HearthError: the system does not take the change.
    """
    systems = {"win32": _registry, "darwin": _launch_agent}
    try:
        return systems.get(sys.platform, _xdg)(command(folder), wish)
    except OSError as error:
        reason = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise HearthError(notice("login.not_changed", reason=reason)) from error


def forget(folder: Path) -> None:
    """Undo it, if it is this data folder that is started with.

    Raises:
        HearthError: the system does not take the change.
    """
    path = _entry()
    if is_about(path, folder):
        start_at_login(folder, False)
        remove_if_empty(path.parent)


def is_about(entry: Path, folder: Path) -> bool:
    """Whether a desktop entry of ours starts Hearth with a data folder; where there are no such entries, it counts as
    one that does."""
    if sys.platform in ("win32", "darwin"):
        return True
    try:
        text = entry.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    if "--data-dir" not in text:
        return folder in (first_path(None), data_path(None))
    return quoted(str(folder)) in text


def remove_if_empty(folder: Path) -> None:
    """Leave no folder behind in which nothing is."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _entry() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "autostart" / "hearth.desktop"


def command(folder: Path) -> list[str]:
    """The program and its arguments, as they can be run from any folder."""
    return [*program(), "--in-tray", *in_folder(folder)]


def program() -> list[str]:
    """How Hearth is run from any folder."""
    if (installed := this_installation()) is not None:
        return [str(installed.launcher)]  # another version may be the current one by then
    # A package for Windows has one without a terminal.
    for name in ("hearthw.exe", "hearth.exe") if sys.platform == "win32" else ("hearth",):
        if (script := Path(sys.executable).with_name(name)).exists():
            return [str(script)]
    return hearth_command()


def in_folder(folder: Path) -> list[str]:
    """The arguments that name a data folder, unless it is the usual one."""
    return [] if folder == data_path(None) else ["--data-dir", str(folder)]


def _xdg(arguments: list[str], wish: bool | None) -> bool:
    path = _entry()
    if wish:
        entry = {
            "Type": "Application",
            "Name": NAME,
            "Comment": "Shares this PC's idle time with the training of a large neural network",
            "Exec": " ".join(quoted(argument) for argument in arguments),
            "TryExec": arguments[0].replace("\\", "\\\\"),
            "Icon": "hearth",
            "Terminal": "false",
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{key}={value}" for key, value in entry.items()]
        write_atomically(path, "\n".join(["[Desktop Entry]", *lines, ""]).encode())
    elif wish is False:
        path.unlink(missing_ok=True)
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
        found = parser["Desktop Entry"]
    except (OSError, UnicodeDecodeError, configparser.Error, KeyError):
        return False
    # KDE and others switch an entry off by Hidden, GNOME by a key of its own.
    return found.get("Hidden", "false") != "true" and found.get("X-GNOME-Autostart-enabled", "true") != "false"


def quoted(argument: str) -> str:
    """As the Desktop Entry Specification wants it: quoted for Exec, then escaped as any string value."""
    for sign in '\\"`$':
        argument = argument.replace(sign, "\\" + sign)
    line = f'"{argument}"'.replace("\\", "\\\\").replace("%", "%%")
    return line.replace("\n", "\\n").replace("\r", "\\r")  # else the rest would be a line of its own


def windows_command(arguments: list[str]) -> str:
    """A line of Windows' registry, as its installer writes it, too.

    Args:
        arguments: the program, and what it is given.
    """
    return f'"{arguments[0]}" {subprocess.list2cmdline(arguments[1:])}'


def _registry(arguments: list[str], wish: bool | None) -> bool:
    winreg: Any = importlib.import_module("winreg")

    def value(key: str) -> Any:
        with contextlib.suppress(FileNotFoundError), winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as opened:
            return winreg.QueryValueEx(opened, NAME)[0]
        return None

    def delete(key: str) -> None:
        with (
            contextlib.suppress(FileNotFoundError),
            winreg.OpenKey(winreg.HKEY_CURRENT_USER, key, 0, winreg.KEY_SET_VALUE) as opened,
        ):
            winreg.DeleteValue(opened, NAME)

    if wish is not None:
        delete(APPROVED_KEY)
    if wish:
        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, RUN_KEY) as opened:
            winreg.SetValueEx(opened, NAME, 0, winreg.REG_SZ, windows_command(arguments))
    elif wish is False:
        delete(RUN_KEY)
    approved = value(APPROVED_KEY)
    return value(RUN_KEY) is not None and not (isinstance(approved, bytes) and approved[:1] and approved[0] & 1)


def _launch_agent(arguments: list[str], wish: bool | None) -> bool:
    path = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    if wish:
        agent = {"Label": LABEL, "ProgramArguments": arguments, "RunAtLoad": True, "ProcessType": "Interactive"}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, plistlib.dumps(agent))
    elif wish is False:
        path.unlink(missing_ok=True)
    try:
        found = plistlib.loads(path.read_bytes())
    except (OSError, plistlib.InvalidFileException, ExpatError, ValueError):
        return False
    return isinstance(found, dict) and bool(found.get("RunAtLoad")) and not found.get("Disabled")
