"""Logging of the worker: a bounded file, a ring of recent lines for clients, the terminal if it is no status screen."""

import logging
import logging.handlers
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

from core.control.messages import LogLine

FILE = Path("logs") / "hearth.log"
FILE_BYTES = 1_000_000
OLD_FILES = 2
RING_LINES = 1000
TEXT_CHARACTERS = 2000
"""A longer text, such as a compiler's complaint, is cut."""

Level = Literal["debug", "info", "warning", "error"]


class Ring(logging.Handler):
    """The last lines, and a callback for each new one."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[LogLine] = deque(maxlen=RING_LINES)
        self.listener: Callable[[LogLine], None] = lambda line: None

    def emit(self, record: logging.LogRecord) -> None:
        level = cast(Level, "error" if record.levelno >= logging.ERROR else record.levelname.lower())
        part = "compute" if record.name.startswith("compute") else "worker"
        line = LogLine(record.created, level, part, record.getMessage()[:TEXT_CHARACTERS])
        self.lines.append(line)
        self.listener(line)


def start(folder: Path, terminal: bool) -> Ring:
    """Log to the data folder and, if `terminal`, to stdout. (stderr is for what ends the worker: the app keeps it.)

    Without a writable folder the other two go on: a full disk must not stop the worker.
    """
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    layout = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.raiseExceptions = False  # a log line that cannot be written (full disk) is lost, nothing else
    ring = Ring()
    root.addHandler(ring)
    if terminal:
        stream = logging.StreamHandler(sys.stdout)
        stream.setFormatter(layout)
        root.addHandler(stream)
    try:
        path = folder / FILE
        path.parent.mkdir(exist_ok=True)
        file = logging.handlers.RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8")
    except OSError as error:
        root.warning("The log file cannot be written: %s", error)
    else:
        file.setFormatter(layout)
        root.addHandler(file)
    return ring
