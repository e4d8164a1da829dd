"""The report: what helps to find a fault, as one file to send, without secrets. No Qt."""

import io
import ipaddress
import json
import platform
import re
import zipfile
from pathlib import Path

import msgspec

from app import program_files
from core.contracts.status import Status
from core.logs import FILE as LOG_FILE
from core.regular_files import open_regular
from core.store.settings_file import FILE as SETTINGS_FILE
from core.version import VERSION

LOG_BYTES = 2_000_000
"""Of each log file, its end; the log's own limit is half of it."""
KEY = re.compile(r"[0-9a-fA-F]{32,}")
"""Public keys, and whatever else looks like one. Peers keep the eight digits by which sentences name them."""
ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|(?<!:)[\da-fA-F]{0,4}(?::[\da-fA-F]{0,4}){2,7})(?!\w|\.\w)")
ABOUT = """A report of Hearth about itself. It holds the log, the settings and the last state of this PC's Hearth.
Left out are keys and tokens, internet addresses and the name of the home folder: [key], [address], ~.

"""


def clean(text: str, home: Path) -> str:
    """A text without keys, internet addresses and the path of the home folder."""
    for path in {str(home), str(home.resolve()), json.dumps(str(home))[1:-1]}:
        text = text.replace(path, "~")
    if home.name:
        text = re.sub(rf"(?<=[/\\]){re.escape(home.name)}(?=[/\\])", "~", text)  # other disks are mounted by it
    # By line, as a search holds up the window's thread until it ends.
    return "".join(ADDRESS.sub(_hidden, KEY.sub("[key]", line)) for line in text.splitlines(keepends=True))


def _hidden(match: re.Match[str]) -> str:
    try:
        ipaddress.ip_address(match[0])
    except ValueError:  # a time of day, such as 12:30:15
        return match[0]
    return "[address]"


def bundle(folder: Path, status: Status | None) -> bytes:
    """All of the report, a ZIP archive.

    Args:
        folder: the data folder.
        status: the last that the worker told.

    Raises:
        OSError: a file is there but cannot be read.
    """
    texts = {"about.txt": ABOUT + _program(), "settings.json": _end(folder / SETTINGS_FILE)}
    if status is not None:
        texts["status.json"] = msgspec.json.format(msgspec.json.encode(status), indent=2).decode()
    for path in sorted((folder / LOG_FILE.parent).glob("*")):
        if path.is_file() and not path.is_symlink():
            texts[f"logs/{path.name}"] = _end(path)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            if text:
                archive.writestr(name, clean(text, Path.home()))
    return content.getvalue()


def _program() -> str:
    program = program_files.read()
    lines = [
        f"Hearth {VERSION}, build {program.digest}",
        platform.platform(),
        f"Python {platform.python_version()}",
        "",
    ]
    return "\n".join(lines + [f"{library.name} {library.version}" for library in program.libraries]) + "\n"


def _end(path: Path) -> str:
    """The end of a file, from the begin of a line; nothing if there is none."""
    try:
        with open_regular(path) as file:
            start = max(0, path.stat().st_size - LOG_BYTES)
            file.seek(start)
            if start:
                file.readline()
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
