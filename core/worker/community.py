"""What a PC and the people of its runs tell each other: telemetry, boards, and on a backbone peer a broker."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from core.community import board
from core.community.credit_book import CreditBook
from core.community.telemetry import Telemetry
from core.contracts.credit import BoardTotals, SignedTotals
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.telemetry import BOARD_S, Rights, Told
from core.identity import Identity, PeerId
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.store.data_folder import RUNS
from core.swarm.telling import Figures, Telling
from core.worker.places import BackboneOptions

ASK_S = 600.0
"""Between two times that a backbone peer's board asks the peers themselves."""
Sums = Callable[[Sequence[Manifest], bool], Awaitable[SignedTotals]]


class Community:
    """That of one PC, for all of its runs. Use as `async with`, inside the network's own."""

    def __init__(
        self,
        folder: Path,
        node: RpcNode,
        identity: Identity,
        book: CreditBook,
        named: Callable[[], tuple[str, str]],
        backbone: BackboneOptions | None,
        sums: Sums,
    ) -> None:
        """
        Args:
            folder: the data folder.
            node: this PC's connections.
            identity: its key.
            book: of credit.
            named: name and team that the user wishes to be shown.
            backbone: what a backbone peer does beside; None: this is none.
            sums: those of the board of these runs, after asking their peers or without.

        Raises:
            SettingsError: the broker that was asked for is not installed.
        """
        self._folder, self._node, self._identity, self.book, self._backbone = folder, node, identity, book, backbone
        self._sums, self._asked_at = sums, time.monotonic()
        self.telemetry = Telemetry(identity, named)
        self.summed: BoardTotals | None = None
        """What the board of this PC told last."""
        self._rights: dict[str, Rights] = {}
        self.runs: dict[str, Telling] = {}
        self.broker = backbone.broker(self._rights, self._admits) if backbone and backbone.broker else None
        self._boarding = Recurring("board", self._board, lambda: BOARD_S)
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "Community":
        """Begin to serve.

        Raises:
            SettingsError: an address cannot be used.
        """
        async with contextlib.AsyncExitStack() as stack:
            if self.broker is not None:
                await stack.enter_async_context(self.broker)
            stack.push_async_callback(self.telemetry.close)
            if self._backbone is not None:
                self._boarding.start()
                stack.push_async_callback(self._boarding.stop)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def telling(self, manifest: Manifest, figures: Callable[[], Figures]) -> Telling:
        """Make a run's part; it is there until `leave`.

        Args:
            manifest: the run's.
            figures: what there is to tell of it.
        """
        made = Telling(
            manifest,
            self._folder / RUNS / manifest.run_id,
            self._node,
            self._identity,
            self.book,
            self.telemetry,
            figures,
            self._backbone is not None,
            self.broker.enrol if self.broker else None,
        )
        self.runs[manifest.run_id], self._rights[manifest.run_id] = made, made.rights
        self._changed()
        return made

    def leave(self, run_id: str) -> None:
        """It has left."""
        del self.runs[run_id], self._rights[run_id]
        self._changed()

    def _admits(self, peer: bytes, run: str) -> bool:
        """Whether a broker lets a peer tell and hear what is told in a run: as with its records."""
        return self._node.admission.lets_read(PeerId(peer), run)

    def _changed(self) -> None:
        if self.broker is not None:
            self.broker.update()

    # what people ask for

    def say(self, run: str, text: str) -> None:
        """See `Telling.say`; the run by its id."""
        self.runs[run].say(text)

    def told(self) -> Told:
        """What this PC has heard."""
        runs = [*self.runs.values()]
        notices = [one.notice for one in runs if one.notice is not None]
        return Told(self.telemetry.status(), notices, [leaders for one in runs for leaders in one.boards.values()])

    @property
    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return [*self._boarding.notes, *(self.broker.notes if self.broker else ())]

    def moved(self) -> dict[str, tuple[int, int]]:
        """Bytes received and sent by telemetry since the start, as of calls (`RpcNode.moved_by_method`)."""
        return {of_run("telemetry.told", run): moved for run, moved in self.telemetry.moved().items()}

    # boards

    async def _board(self) -> None:
        """As a backbone peer: sum up what was told by telemetry, and now and then what peers show."""
        assert self._backbone is not None
        ask = time.monotonic() - self._asked_at >= ASK_S
        if ask:
            self._asked_at = time.monotonic()
        runs = [*self.runs.values()]
        totals = await self._sums([one.manifest for one in runs], ask)
        self.summed = totals.totals
        for telling in runs:
            if telling.is_board:
                lines = [line for line in self.summed.lines if line.run == telling.run_id]
                telling.publish(msgspec.structs.replace(self.summed, lines=lines), self.book.today)
        if self._backbone.board is not None:
            await asyncio.to_thread(board.publish, totals, self._backbone.board)
