"""The app's own lines, on its page and in a small file; the worker's log is the worker's."""

import contextlib
import logging
import logging.handlers
from pathlib import Path

from core import logs

logger = logging.getLogger(__name__)

FILE = Path("logs") / "app.log"
FILE_BYTES = 500_000


class AppLog:
    """Takes lines until it is closed.

    Args:
        folder: the data folder.
        page: shows them.
    """

    def __init__(self, folder: Path, page: logging.Handler) -> None:
        root = logging.getLogger()
        root.setLevel(logging.INFO)
        root.addHandler(page)
        path = folder / FILE
        try:
            path.parent.mkdir(exist_ok=True)
            if path.exists() and not path.is_file():
                path.unlink()  # each line would wait for the other end of a pipe
        except OSError as error:
            logger.warning("The app's log file cannot be written: %s", error)
        self._page = page
        self._file = logging.handlers.RotatingFileHandler(
            path, maxBytes=FILE_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
        self._file.setFormatter(logs.Formatter())
        root.addHandler(self._file)
        logging.raiseExceptions = False  # a line that a full disk does not take is lost, nothing else

    def close(self) -> None:
        """Take no more."""
        logging.getLogger().removeHandler(self._page)
        logging.getLogger().removeHandler(self._file)
        with contextlib.suppress(OSError):  # a full disk: the last lines are lost, the end is not
            self._file.close()
