"""How long each yield took, kept over restarts: the promise is measured."""

import logging
import time
from pathlib import Path
from typing import Annotated

import msgspec

from core.control.messages import Count, YieldStatus
from core.errors import DataFolderError
from core.settings_file import write_atomically

log = logging.getLogger(__name__)

FILE = "yields.json"
KEPT = 200
SAVE_S = 5.0
"""Between two times that the file is written, at least: tests pause a hundred times a minute."""

Ms = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Yield(msgspec.Struct, frozen=True, array_like=True):
    """One, in milliseconds from its cause."""

    time: float
    """Unix time of the cause."""
    stop_ms: Ms
    """To the end of the last kernel, which is what is promised."""
    noticed_ms: Ms = 0.0
    """To the decision."""
    told_ms: Ms = 0.0
    """To the moment at which compute was told."""


class _File(msgspec.Struct):
    version: int = 1
    count: Count = 0
    yields: Annotated[list[Yield], msgspec.Meta(max_length=KEPT)] = []


class Yields:
    """The last ones of this PC."""

    def __init__(self, folder: Path) -> None:
        """Read those of earlier. A damaged file is set aside: figures are all that is lost with it."""
        self._path = folder / FILE
        self._file = _load(self._path)
        self._saved = 0.0

    @property
    def recent(self) -> list[Yield]:
        """The oldest first."""
        return self._file.yields

    def add(self, cause: float, noticed: float, told: float, stopped: float) -> None:
        """Note one that has just ended; its moments are those of time.monotonic()."""
        stop_ms, noticed_ms, told_ms = (1000 * max(0.0, moment - cause) for moment in (stopped, noticed, told))
        self._file.count += 1
        self._file.yields.append(Yield(time.time() - time.monotonic() + cause, stop_ms, noticed_ms, told_ms))
        del self._file.yields[:-KEPT]
        if time.monotonic() - self._saved > SAVE_S:
            self.save()

    def save(self) -> None:
        """Write the file; a full disk costs no more than the figures."""
        self._saved = time.monotonic()
        try:
            write_atomically(self._path, msgspec.json.encode(self._file))
        except DataFolderError as error:
            log.warning("%s", error)

    def status(self) -> YieldStatus:
        """Number, last, and 95th percentile (nearest rank) of the last ones, ms."""
        ordered = sorted(item.stop_ms for item in self.recent)
        if not ordered:
            return YieldStatus(self._file.count, None, None)
        p95 = ordered[-(-len(ordered) * 95 // 100) - 1]
        return YieldStatus(self._file.count, self.recent[-1].stop_ms, p95)


def _load(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return _File()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        log.warning("%s could not be read and was set aside: %s", path, error)
        try:
            path.replace(path.with_name(f"yields.bad-{time.strftime('%Y%m%d-%H%M%S')}.json"))
        except OSError:
            pass
        return _File()
