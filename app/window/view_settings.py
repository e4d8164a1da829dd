"""What the window remembers from start to start: its place, theme and language, and what was told already."""

import contextlib
from pathlib import Path

from PySide6.QtCore import QSettings

VIEW_FILE = "window.ini"
"""In the data folder; no setting of the worker's, which may not be there yet when the window is built."""


def view_settings(folder: Path) -> QSettings:
    """What is remembered for a data folder. A spoilt file may hold anything."""
    path = folder / VIEW_FILE
    if path.exists() and not path.is_file():
        with contextlib.suppress(OSError):
            path.unlink()  # Qt would wait for the other end of a pipe
    return QSettings(str(path), QSettings.Format.IniFormat)
