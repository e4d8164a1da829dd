"""`hearth top`: what a worker does, drawn in place on the terminal until one ends it. It waits for a worker that is not
there, such as that of another PC (`resources/help/volunteers.md`)."""

import argparse
import sys
import time
from pathlib import Path

import msgspec
from rich.console import Console, RenderableType
from rich.live import Live

from core.commands import tables, top_frame
from core.commands.keys import keys
from core.commands.top_frame import Seen
from core.contracts.control import StatusParams
from core.contracts.errors import HearthError, NetworkError, NoAnswer, NotRunning
from core.contracts.ledger import Totals
from core.contracts.network_status import NetworkParams, NetworkStatus
from core.contracts.status import Status
from core.control.client import ControlClient
from core.store.data_folder import data_path

EVERY_S = 1.0
SELDOM_S = 5.0
"""Between two looks at the ledger and at the peers."""
CALL_S = 3.0
"""A worker that takes longer is said not to answer; meanwhile no key is looked at."""
PEERS = 50
"""That are asked for; fewer fit on a terminal."""


def show(options: argparse.Namespace) -> None:
    """Draw until `q` or Ctrl+C; once where nobody could see what follows."""
    watch = _Watch(data_path(options.data_dir))
    try:
        if options.once or not sys.stdout.isatty():
            tables.show(top_frame.frame(watch.look(), None))
        else:
            _live(watch)
    finally:
        watch.close()


def _live(watch: "_Watch") -> None:
    console = Console(highlight=False)
    with keys() as wait, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_picture(watch, console), refresh=True)
            if wait(EVERY_S).lower() == "q":
                return


def _picture(watch: "_Watch", console: Console) -> RenderableType:
    try:
        return top_frame.frame(watch.look(), console)
    except (NotRunning, NoAnswer) as error:
        return top_frame.waiting(error, time.time())


class _Watch:
    """Asks the worker of a folder, over one connection as long as that lasts.

    Args:
        folder: the data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: ControlClient | None = None
        self._totals: Totals | None = None
        self._network: NetworkStatus | None = None
        self._looked = float("-inf")

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def look(self) -> Seen:
        """All that is shown.

        Raises:
            NotRunning: there is no worker.
            NoAnswer: it hangs.
            ProtocolError: it is of another version.
        """
        try:
            if self._client is None:
                self._client, self._looked = ControlClient(self._folder), float("-inf")
            return self._ask(self._client)
        except HearthError:
            self.close()  # an answer that comes too late would be taken for the next one
            raise

    def _ask(self, client: ControlClient) -> Seen:
        first = client.call("status", {}, Status, CALL_S)
        others = [client.call("status", StatusParams(run.id), Status, CALL_S) for run in first.runs[1:]]
        if time.monotonic() - self._looked >= SELDOM_S:
            self._looked = time.monotonic()
            self._totals = client.call("totals", {}, Totals, CALL_S)
            try:
                self._network = client.call("network", NetworkParams(0, PEERS), NetworkStatus, CALL_S)
            except NetworkError:  # it works alone
                self._network = None
        assert self._totals is not None
        calls = sum(one.calls_per_s for one in (first, *others))
        return Seen(msgspec.structs.replace(first, calls_per_s=calls), self._totals, self._network)
