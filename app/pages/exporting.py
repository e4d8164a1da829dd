"""The history as a table for other programs, and files written beside the window's thread."""

import contextlib
import csv
import io
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QBuffer, QObject, Signal
from PySide6.QtGui import QImage

from app.beside import beside
from app.language import tr
from core.contracts.ledger import Amounts, Metric, Series

METRICS: tuple[Metric, ...] = Amounts.__struct_fields__  # type: ignore[assignment]


def table(answers: Mapping[str, Series], by: str) -> str:
    """All metrics of a range as comma-separated values, a row for each stretch of time and each of `by`.

    Args:
        answers: the series of each metric, over the same time.
        by: heading of the column that tells them apart, such as "device".
    """
    times = next(iter(answers.values())).times
    keys = sorted({key for series in answers.values() for key in series.values}) or [""]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["start", "end", by, *answers])
    for at, (start, end) in enumerate(pairwise(times)):
        moments = [datetime.fromtimestamp(moment).astimezone().isoformat() for moment in (start, end)]
        for key in keys:
            amounts = [series.values[key][at] if key in series.values else 0 for series in answers.values()]
            if any(amounts):
                writer.writerow([*moments, key, *amounts])
    return text.getvalue()


class Saver(QObject):
    """Writes a file without holding up the window."""

    told = Signal(str)
    """A sentence about how it went."""

    def save(self, path: Path, content: str | QImage | Callable[[], bytes]) -> None:
        """Write text, a picture (PNG), or what a function makes; `told` says when that is done."""
        beside("export", lambda: _save(path, content), self.told.emit)


def _save(path: Path, content: str | QImage | Callable[[], bytes]) -> str:
    """How it went."""
    partial = path.with_name(f"{path.name}.partial")  # what was saved there before stays if this one fails
    try:
        partial.write_bytes(_encoded(content))
        partial.replace(path)
    except (OSError, ValueError) as error:  # ValueError: an archive before 1980, by a clock that is wrong
        with contextlib.suppress(OSError):
            partial.unlink()
        reason = getattr(error, "strerror", None) or error
        return tr("{file} could not be written: {reason}.", file=path.name, reason=reason)
    return tr("Saved as {path}.", path=path)


def _encoded(content: str | QImage | Callable[[], bytes]) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8")
    if not isinstance(content, QImage):
        return content()
    png = QBuffer()
    content.save(png, "PNG")  # type: ignore[call-overload]
    return bytes(png.data().data())
