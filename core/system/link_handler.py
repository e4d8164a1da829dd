"""Whether links to runs (hearth://join/...) are opened by this Hearth. The system keeps it, for this user."""

import configparser
import contextlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from core.contracts.errors import HearthError
from core.contracts.notices import notice
from core.store.settings_file import write_atomically
from core.system.start_at_login import in_folder, is_about, program, quoted, remove_if_empty

ENTRY = "hearth-links.desktop"
KIND = "x-scheme-handler/hearth"
DEFAULTS = "[Default Applications]"
CLASS_KEY = r"Software\Classes\hearth"
COMMAND_KEYS = (rf"{CLASS_KEY}\shell\open\command", rf"{CLASS_KEY}\shell\open", rf"{CLASS_KEY}\shell", CLASS_KEY)
"""The innermost first."""


def can_register() -> bool:
    """Whether an app may do it by itself. macOS reads it in the bundle of the app, which an installer brings."""
    return sys.platform != "darwin"


def opens_links(folder: Path, wish: bool | None = None) -> bool:
    """Whether a click on a link to a run opens Hearth with this data folder.

    Linux: a desktop entry, and the user's list of what opens what (mimeapps.list). Windows: a class in the registry.

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
        return _registry(arguments, wish) if sys.platform == "win32" else _xdg(arguments, wish)
    except OSError as error:
        reason = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise HearthError(notice("links.not_changed", reason=reason)) from error


def _xdg(arguments: list[str], wish: bool | None) -> bool:
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    choices = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "mimeapps.list"
    path = data / "applications" / ENTRY
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
        _choose(choices, f"{KIND}={ENTRY}")
    elif wish is False:
        path.unlink(missing_ok=True)
        _choose(choices, None)
    return path.is_file() and ENTRY in _chosen(choices)


def forget(folder: Path) -> None:
    """Undo it, if it is this data folder that links are opened with.

    Raises:
        HearthError: the system does not take the change.
    """
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if is_about(data / "applications" / ENTRY, folder):
        opens_links(folder, False)
        remove_if_empty(data / "applications")


def _chosen(choices: Path) -> str:
    parser = configparser.RawConfigParser(strict=False, delimiters="=", allow_no_value=True)
    with contextlib.suppress(OSError, UnicodeDecodeError, configparser.Error):
        parser.read_string(choices.read_text(encoding="utf-8"))
        return parser.get(DEFAULTS.strip("[]"), KIND, fallback="") or ""
    return ""


def _choose(choices: Path, line: str | None) -> None:
    """Replace the line about our links; all others, which other programs wrote, stay as they are."""
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
        if not (section == DEFAULTS and one.partition("=")[0].strip() == KIND):
            kept.append(one)
    if line is not None:
        if DEFAULTS not in map(str.strip, kept):
            kept.append(DEFAULTS)
        kept.insert([one.strip() for one in kept].index(DEFAULTS) + 1, line)
    if not any(one.strip() for one in kept if one.strip() != DEFAULTS):
        choices.unlink()  # it was ours alone
        return
    choices.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(choices, "\n".join([*kept, ""]).encode("utf-8", errors="surrogateescape"))


def _registry(arguments: list[str], wish: bool | None) -> bool:
    winreg: Any = importlib.import_module("winreg")
    user = winreg.HKEY_CURRENT_USER
    command = f'{subprocess.list2cmdline(arguments)} "%1"'
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
