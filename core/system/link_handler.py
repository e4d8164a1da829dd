"""Whether links to runs (hearth://join/...) are opened by this Hearth. The system keeps it, for this user."""

import configparser
import contextlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from core.contracts.errors import HearthError
from core.contracts.notices import notice
from core.store.settings_file import write_atomically
from core.system.start_at_login import in_folder, is_about, program, quoted, remove_if_empty, windows_command

ENTRY = "hearth-links.desktop"
KIND = "x-scheme-handler/hearth"
DEFAULTS, REMOVED = "[Default Applications]", "[Removed Associations]"
CLASS_KEY = r"Software\Classes\hearth"
COMMAND_KEYS = (rf"{CLASS_KEY}\shell\open\command", rf"{CLASS_KEY}\shell\open", rf"{CLASS_KEY}\shell", CLASS_KEY)
"""The innermost first."""


def can_register() -> bool:
    """Whether an app may do it by itself. macOS reads it in the bundle of the app, which an installer brings."""
    return sys.platform != "darwin"


def opens_links(folder: Path, wish: bool | None = None) -> bool:
    """Whether a click on a link to a run opens Hearth with this data folder.

    Linux: a desktop entry, the user's own or that of a package, and the user's list of what opens what (mimeapps.list).
    Windows: a class in the registry.

    Args:
        folder: the data folder.
        wish: switch it on or off; None: only look.

    Returns:
        What the system says, after the change if one was wished.

    Raises:
        HearthError: the system does not take the change.
    """
    arguments = [*program(), "open", *in_folder(folder)]
    try:
        return _registry(arguments, wish) if sys.platform == "win32" else _xdg(folder, arguments, wish)
    except OSError as error:
        reason = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise HearthError(notice("links.not_changed", reason=reason)) from error


def _xdg(folder: Path, arguments: list[str], wish: bool | None) -> bool:
    choices = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "mimeapps.list"
    path, packaged = _own(), _packaged()
    if wish is not None:
        path.unlink(missing_ok=True)
        for section in (DEFAULTS, REMOVED):
            _choose(choices, section, None)
    if wish:
        entry = {
            "Type": "Application",
            "Name": "Hearth",
            "Comment": "Opens links to runs",
            "Exec": f"{' '.join(quoted(argument) for argument in arguments)} %u",
            "Icon": "hearth",
            "NoDisplay": "true",
            "MimeType": f"{KIND};",
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{key}={value}" for key, value in entry.items()]
        write_atomically(path, "\n".join(["[Desktop Entry]", *lines, ""]).encode())
        _choose(choices, DEFAULTS, f"{KIND}={ENTRY}")
    elif wish is False and packaged is not None:
        _choose(choices, REMOVED, f"{KIND}={ENTRY};")
    used, chosen = path if path.is_file() else packaged, _chosen(choices, DEFAULTS)
    if used is None or not is_about(used, folder):
        return False
    return ENTRY in chosen or (not chosen and used == packaged and ENTRY not in _chosen(choices, REMOVED))


def _own() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "applications" / ENTRY


def _packaged() -> Path | None:
    """The desktop entry that a package has installed."""
    folders = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    entries = (Path(folder) / "applications" / ENTRY for folder in folders if folder)
    return next((entry for entry in entries if entry.is_file()), None)


def forget(folder: Path) -> None:
    """Undo it, if it is this data folder that links are opened with.

    Raises:
        HearthError: the system does not take the change.
    """
    if is_about(_own(), folder):
        opens_links(folder, False)
        remove_if_empty(_own().parent)


def _chosen(choices: Path, section: str) -> str:
    parser = configparser.RawConfigParser(strict=False, delimiters="=", allow_no_value=True)
    with contextlib.suppress(OSError, UnicodeDecodeError, configparser.Error):
        parser.read_string(choices.read_text(encoding="utf-8"))
        return parser.get(section.strip("[]"), KIND, fallback="") or ""
    return ""


def _choose(choices: Path, where: str, line: str | None) -> None:
    """Replace the line of a section about our links; all others, which other programs wrote, stay as they are."""
    try:
        lines = choices.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        if line is None:
            return
        lines = []
    section, kept = "", []
    for one in lines:
        if one.strip().startswith("["):
            section = one.strip()
        if not (section == where and one.partition("=")[0].strip() == KIND):
            kept.append(one)
    if line is not None:
        if where not in map(str.strip, kept):
            kept.append(where)
        kept.insert([one.strip() for one in kept].index(where) + 1, line)
    if not any(one.strip() for one in kept if one.strip() not in (DEFAULTS, REMOVED)):
        choices.unlink()  # it was ours alone
        return
    choices.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(choices, "\n".join([*kept, ""]).encode("utf-8", errors="surrogateescape"))


def _registry(arguments: list[str], wish: bool | None) -> bool:
    winreg: Any = importlib.import_module("winreg")
    user = winreg.HKEY_CURRENT_USER
    command = f'{windows_command(arguments)} "%1"'
    if wish:
        values = ((CLASS_KEY, "", "URL:Hearth"), (CLASS_KEY, "URL Protocol", ""), (COMMAND_KEYS[0], "", command))
        for key, name, value in values:
            with winreg.CreateKey(user, key) as opened:
                winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, value)
    elif wish is False:
        for key in COMMAND_KEYS:
            with contextlib.suppress(FileNotFoundError):
                winreg.DeleteKey(user, key)
    with contextlib.suppress(FileNotFoundError), winreg.OpenKey(user, COMMAND_KEYS[0]) as opened:
        return bool(winreg.QueryValueEx(opened, "")[0] == command)
    return False
