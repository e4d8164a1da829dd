"""Work in a thread of its own, so that it does not hold the window up; files are written so."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QBuffer, QObject, Signal
from PySide6.QtGui import QImage

from app.language import tr
from core.store.writing import write_whole

T = TypeVar("T")


def in_background(name: str, work: Callable[[], T], tell: Callable[[T], object]) -> None:
    """Do `work` in a thread of this name, and `tell` its result there, such as by a signal. Who wanted to know may
    have gone meanwhile, as with the first run."""

    def run() -> None:
        result = work()
        with contextlib.suppress(RuntimeError):  # of a signal whose owner has been deleted
            tell(result)

    threading.Thread(target=run, name=name, daemon=True).start()


class Saver(QObject):
    """Writes a file without holding up the window."""

    told = Signal(str)
    """A sentence about how it went."""

    def save(self, path: Path, content: str | QImage | Callable[[], bytes]) -> None:
        """Write text, a picture (PNG), or what a function makes; `told` says when that is done."""
        in_background("export", lambda: _save(path, content), self.told.emit)


def _save(path: Path, content: str | QImage | Callable[[], bytes]) -> str:
    """How it went."""
    try:
        write_whole(path, [encoded(content)])
    except (OSError, ValueError) as error:  # ValueError: an archive before 1980, by a clock that is wrong
        reason = getattr(error, "strerror", None) or error
        return tr("{file} could not be written: {reason}.", file=path.name, reason=reason)
    return tr("Saved as {path}.", path=path)


def encoded(content: str | QImage | Callable[[], bytes]) -> bytes:
    """What a file of it holds: a picture's is a PNG."""
    if isinstance(content, str):
        return content.encode("utf-8")
    if not isinstance(content, QImage):
        return content()
    png = QBuffer()
    content.save(png, "PNG")  # type: ignore[call-overload]
    return bytes(png.data().data())
