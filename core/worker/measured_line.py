"""What was measured of this PC's line, in the data folder."""

import logging
import time

from core.contracts.line import Line
from core.contracts.notices import notice
from core.contracts.words import traffic
from core.net.line import LineTest
from core.net.rpc import RpcNode
from core.store.small_files import Files

log = logging.getLogger(__name__)

FILE = "line.json"


class MeasuredLine:
    """As of the last network in which it was measured."""

    def __init__(self, node: RpcNode) -> None:
        """
        Args:
            node: whose line it is.
        """
        self.known = Line()
        self._files: Files | None = None
        LineTest(node, self._found)

    def keep(self, files: Files) -> None:
        """Begin with what is in the data folder, and keep there what is measured."""
        self._files = files
        if not self.known.time:
            self.known = files.read(FILE, Line, notice("file.loss_line"))

    def _found(self, rate: float) -> None:
        self.known = Line(rate, time.time())
        log.info("This line sends %s a second.", traffic(rate))
        if self._files is not None:
            self._files.save(FILE, self.known)
