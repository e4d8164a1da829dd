"""Whether XScreenSaver shows Hearth's screensaver: a line of the user's own list of programs."""

import re
from pathlib import Path

from core.store.settings_file import write_atomically

FILE = ".xscreensaver"
OURS = re.compile(r"^[^!#]*\bhearth(\.exe)?[\"']? screensaver\b.*-root", re.IGNORECASE)


def forget() -> None:
    """Take our line out of the list; all others stay as they are.

    Raises:
        DataFolderError: the list cannot be written.
    """
    path = Path.home() / FILE
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    except OSError:
        return
    if len(kept := [line for line in lines if not OURS.match(line)]) != len(lines):
        write_atomically(path, "".join(kept).encode("utf-8", errors="surrogateescape"))
