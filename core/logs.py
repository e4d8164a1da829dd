"""Logging of the worker: a bounded file, a ring of recent lines for clients, the terminal if it is no status screen."""

import logging
import logging.handlers
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

from core.contracts.status import LogLine
from core.regular_files import open_regular

FILE = Path("logs") / "hearth.log"
FILE_BYTES = 1_000_000
OLD_FILES = 2
RING_LINES = 1000
TEXT_CHARACTERS = 2000
"""A longer text, such as a compiler's complaint, is cut."""

LAYOUT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
Level = Literal["debug", "info", "warning", "error"]


RECENT_BYTES = 32_768
"""Read back from the file at a start, so that the log page shows what came before it."""
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) (INFO|WARNING|ERROR) +(\S+): (.*)")


def recent(path: Path) -> list[LogLine]:
    """The last lines of a log file; what is not a line of ours, such as a traceback, is left out."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, path.stat().st_size - RECENT_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for text_line in text.splitlines() if (line := _read_line(text_line))]


def _read_line(text: str) -> LogLine | None:
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    when, ms, level, name, message = match.groups()
    try:
        moment = time.mktime(time.strptime(when, "%Y-%m-%d %H:%M:%S")) + int(ms) / 1000
    except (ValueError, OverflowError):  # a 31st of February in a damaged file
        return None
    if moment < 0:  # likewise
        return None
    return LogLine(moment, cast(Level, level.lower()), _part(name), message[:TEXT_CHARACTERS])


def _part(name: str) -> str:
    return "compute" if name.startswith("compute") else "worker"


def printable(text: str) -> str:
    """What others say, with dots in the place of characters that show nothing, move others or command a terminal."""
    return "".join(sign if sign in "\n\t" or sign.isprintable() else "·" for sign in text)


class Formatter(logging.Formatter):
    """Lines of a log in which what others say, such as a peer's error, passes for no line of its own."""

    def __init__(self) -> None:
        super().__init__(LAYOUT)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record)).replace("\n", "\n    ")


class Ring(logging.Handler):
    """The last lines, and a callback for each new one."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[LogLine] = deque(maxlen=RING_LINES)
        self.listener: Callable[[LogLine], None] = lambda line: None

    def emit(self, record: logging.LogRecord) -> None:
        level = cast(Level, "error" if record.levelno >= logging.ERROR else record.levelname.lower())
        line = LogLine(record.created, level, _part(record.name), printable(record.getMessage()[:TEXT_CHARACTERS]))
        self.lines.append(line)
        self.listener(line)


def start(folder: Path, terminal: bool) -> Ring:
    """Log to the data folder and, if `terminal`, to stdout. (stderr is for what ends the worker: the app keeps it.)

    Without a writable folder the other two go on: a full disk must not stop the worker.
    """
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    logging.getLogger("kademlia").setLevel(logging.WARNING)  # it tells of every crawl
    layout = Formatter()
    logging.raiseExceptions = False  # a log line that cannot be written (full disk) is lost, nothing else
    ring = Ring()
    ring.lines.extend(recent(folder / FILE))
    root.addHandler(ring)
    if terminal:
        stream = logging.StreamHandler(sys.stdout)
        stream.setFormatter(layout)
        root.addHandler(stream)
    try:
        path = folder / FILE
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            open_regular(path).close()  # the handler would wait for the other end of a pipe
        file = logging.handlers.RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8")
    except OSError as error:
        root.warning("The log file cannot be written: %s", error)
    else:
        file.setFormatter(layout)
        root.addHandler(file)
    return ring
