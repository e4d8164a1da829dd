"""Bytes over the network by calendar month, kept over restarts: what a monthly quota is measured by."""

import logging
import time
from pathlib import Path
from typing import Annotated

import msgspec

from core.control.messages import Count
from core.errors import DataFolderError
from core.settings_file import write_atomically

log = logging.getLogger(__name__)

FILE = "traffic.json"
MONTHS = 24
"""Remembered: a clock that was wrong for a while finds the right month again."""
SAVE_S = 30.0
"""Between two times that the file is written; a crash forgets so much."""

Month = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}$")]
Moved = tuple[int, int]
"""Bytes received and sent."""


class _File(msgspec.Struct):
    version: int = 1
    months: Annotated[dict[Month, tuple[Count, Count]], msgspec.Meta(max_length=10 * MONTHS)] = {}


class Traffic:
    """The counts of one data folder. Months are those of the local time zone."""

    def __init__(self, folder: Path) -> None:
        """Read the earlier counts; a damaged file is set aside, and counting begins anew."""
        self._path = folder / FILE
        self._file = _load(self._path)
        self._seen: Moved = (0, 0)
        self._saved = 0.0
        self._dirty = False

    def count(self, moved: Moved, now: float) -> int:
        """Note what was moved since this process began; the bytes of this month, both ways.

        Args: bytes since the start, unix time.
        """
        month = time.strftime("%Y-%m", time.localtime(now))
        received, sent = (max(0, new - old) for new, old in zip(moved, self._seen, strict=True))
        self._seen = moved
        before = self._file.months.get(month, (0, 0))
        if received or sent:
            self._file.months[month] = (before[0] + received, before[1] + sent)
            self._dirty = True
            for old in sorted(self._file.months)[:-MONTHS]:
                if old != month:
                    del self._file.months[old]
        if self._dirty and abs(time.monotonic() - self._saved) > SAVE_S:
            self.save()
        return sum(self._file.months.get(month, (0, 0)))

    def save(self) -> None:
        """Write the file."""
        self._saved, self._dirty = time.monotonic(), False
        try:
            write_atomically(self._path, msgspec.json.encode(self._file))
        except DataFolderError as error:
            log.warning("%s", error)


def _load(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return _File()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        log.warning("%s could not be read and was set aside; this month's traffic counts from now: %s", path, error)
        try:
            path.replace(path.with_name(f"traffic.bad-{time.strftime('%Y%m%d-%H%M%S')}.json"))
        except OSError:
            pass
        return _File()
