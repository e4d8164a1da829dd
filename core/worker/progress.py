"""What is known of a run while no compute process is there to ask: figures and the curve, kept in the run's folder."""

import logging
import math
import time
from pathlib import Path

import msgspec

from core.control.messages import Count, CurvePoint, ExpertStatus, Share
from core.settings_file import write_atomically

log = logging.getLogger(__name__)

FILE = "progress.json"
CURVE_POINTS = 2000
"""When there are more, every other one is dropped: the file stays under 100 KB for ever."""


class Progress(msgspec.Struct):
    """Figures of a run as of the newest checkpoint or message."""

    version: int = 1
    step: Count = 0
    samples: Count = 0
    loss: float | None = None
    accuracy: Share | None = None
    experts: list[ExpertStatus] = []
    curve: list[CurvePoint] = []
    checkpoint_step: int | None = None
    checkpoint_time: float | None = None

    def add(self, point: CurvePoint) -> None:
        self.accuracy = point.accuracy
        self.curve.append(point)
        if len(self.curve) > CURVE_POINTS:
            del self.curve[-2:0:-2]

    @property
    def bits(self) -> float | None:
        """The held-out loss as last measured, in bits: for text, those that a byte takes."""
        return self.curve[-1].loss / math.log(2) if self.curve else None

    def resume_at(self, step: int) -> None:
        """Forget what lies after `step`: compute went on from an older checkpoint than these figures."""
        self.curve = [point for point in self.curve if point.step <= step]
        self.accuracy = self.curve[-1].accuracy if self.curve else None
        if not self.curve:
            self.loss = None


def load(folder: Path) -> Progress:
    """The figures in a run's folder; a damaged file is set aside, since compute knows all but the curve."""
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progress)
    except FileNotFoundError:
        return Progress()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        log.warning("%s could not be read and was set aside: %s", path, error)
        try:
            path.replace(path.with_name(f"progress.bad-{time.strftime('%Y%m%d-%H%M%S')}.json"))
        except OSError:
            pass
        return Progress()


def save(folder: Path, progress: Progress) -> None:
    """Write the figures.

    Raises:
        DataFolderError: the disk is full or the folder cannot be written.
    """
    write_atomically(folder / FILE, msgspec.json.encode(progress))
