"""What this PC tells of everybody's credit: boards, the leaderboard, and its own certificate."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from core.community import board
from core.community.credit_book import CreditBook
from core.community.leaderboard import leaderboard
from core.contracts.credit import BoardParams, Leaderboard, Named, Published, SignedTotals
from core.contracts.manifest import Manifest
from core.identity import Identity, PeerId, peer_text
from core.net.addresses import parse_address
from core.net.background import Background, logged
from core.worker.swarm import Swarm

LOOK_S = 600.0
"""Between two times that peers are asked for what the leaderboard shows."""
ASKED = 64
"""Peers of a run that are asked for it each time."""


class CreditBoard:
    """Of all runs of a data folder."""

    def __init__(self, book: CreditBook, identity: Identity, swarms: Mapping[str, Swarm]) -> None:
        """Nobody was asked yet.

        Args:
            book: what peers owe each other.
            identity: this PC's key.
            swarms: the runs' places among peers, by run id.
        """
        self._book, self._identity, self._swarms = book, identity, swarms
        self._looking = Background()
        self._looked_at = float("-inf")
        self.names: Mapping[str, Named] = {}
        """How peers wish to be called, by their keys and signatures, as of the last sums."""

    async def close(self) -> None:
        """Ask nobody any more."""
        await self._looking.close()

    async def totals(
        self, manifests: Sequence[Manifest], trust: Sequence[str] = (), *, ask: bool = True
    ) -> SignedTotals:
        """See `CreditPlace.totals`.

        Args:
            manifests: the runs.
            trust: peers that are believed beside this one and those that the manifests name.
            ask: whether peers are asked for what is not known yet.
        """
        refused = await self._collect(manifests) if ask else []
        named = [PeerId(parse_address(one).peer) for run in manifests for one in run.bootstrap]
        believed = {*trust, *map(peer_text, named), *(run.organiser for run in manifests if run.organiser)}
        totals = await board.totals(self._book, self._identity, manifests, sorted(believed), refused)
        self.names = totals.totals.peers
        return totals

    async def board(self, manifests: Sequence[Manifest], asked: BoardParams) -> Published:
        """See `CreditPlace.board`."""
        totals = await self.totals(manifests, asked.trust)
        return await asyncio.to_thread(board.publish, totals, Path(asked.folder))

    async def leaderboard(self, manifests: Sequence[Manifest]) -> Leaderboard:
        """See `CreditPlace.leaderboard`."""
        if time.monotonic() - self._looked_at > LOOK_S:
            self._looked_at = time.monotonic()
            self._looking.start(logged(self._look(manifests), "leaderboard"), "leaderboard")
        totals = await self.totals(manifests, ask=False)
        return leaderboard(totals.totals, peer_text(self._identity.peer), self._book.today)

    async def certificate(self, manifests: Sequence[Manifest], path: Path) -> None:
        """See `CreditPlace.certificate`."""
        content = await board.certificate(self._book, manifests)
        await asyncio.to_thread(board.write, path, msgspec.json.format(msgspec.json.encode(content)))

    async def _look(self, manifests: Sequence[Manifest]) -> None:
        await self._collect(manifests, ASKED)

    async def _collect(self, manifests: Sequence[Manifest], most: int | None = None) -> list[str]:
        refused: list[str] = []
        for run in manifests:
            refused += await self._swarms[run.run_id].collect(await self._book.known_weeks(run.run_id), most)
        return refused
