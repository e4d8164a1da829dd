"""Credit among the peers of a run: a trainer signs now and then what each host did for it, the host countersigns, and
both show what they have to whoever asks."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from core.community import signing
from core.community.credit_book import CreditBook
from core.contracts.credit import (
    ENTRIES,
    SHOW,
    SIGN,
    Countersigned,
    Show,
    SignedBundle,
    SignedSheet,
)
from core.contracts.errors import CreditError, HearthError, NetworkError
from core.contracts.net import of_run
from core.contracts.remote_experts import HELPED, SERVED, Helped
from core.identity import PeerId, peer_text
from core.net.link import Link
from core.net.method import Context
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.pipe.calls import Calls

log = logging.getLogger(__name__)

SIGN_S = 60.0
"""Between two signatures for a host that goes on answering."""
ANSWER_S = 5.0
LEAVE_S = 2.0
"""For the last signatures."""
AT_ONCE = 16
"""Peers that are asked at once."""
SIGN_COST, SHOW_COST = 10.0, 300.0
"""Calls that one counts for: two signatures; some hundred rows of the ledger and a signature."""
WEEKS_BACK = 520
"""Ten years: how far a board follows a host that says that there is more."""
HOST_BYTES, BLOCK_BYTES, ALL_BYTES = 8 << 20, 32 << 20, 128 << 20
"""Of what others show that is kept between two starts, of one host, of those in a block of addresses, and of all: keys
that sign sheets cost nothing. A host of a thousand trainers shows 270 KB of a week."""
ALL = "all"
LIE = 5.0
"""Strikes for what is signed falsely; 10 are a ban."""


class CreditExchange:
    """Of one run. Use as `async with`, inside the network's own."""

    def __init__(
        self, run_id: str, node: RpcNode, book: CreditBook, calls: Calls, seen: Callable[[], Mapping[bytes, int]]
    ) -> None:
        """Serve others from now on.

        Args:
            run_id: the run.
            node: this PC's connections.
            book: where it is written who owes whom.
            calls: of compute, which tells who did what.
            seen: the samples of each trainer that this PC saw accepted since its start.
        """
        self._run, self._node, self._book, self._seen = run_id, node, book, seen
        self._noted: dict[bytes, int] = {}
        """What the book has of that."""
        self._shown: dict[tuple[bytes, int, int], int] = {}
        """Bytes of what was kept since the start, by host, week and page."""
        self._by = Counter[bytes | str]()
        """The same by host, by block of addresses, and of all."""
        self._sign, self._show = of_run(SIGN, run_id), of_run(SHOW, run_id)
        self.signing = Recurring("credit", self.tend, lambda: SIGN_S)
        calls.listen(HELPED, self._helped)
        calls.listen(SERVED, self._served)
        node.register(self._sign, SignedSheet, self._on_sign, cost=SIGN_COST)
        node.register(self._show, Show, self._on_show, cost=SHOW_COST)

    async def __aenter__(self) -> "CreditExchange":
        """Sign from now on."""
        self.signing.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Sign for the last time."""
        await self.signing.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self.tend()

    # what compute tells

    def _helped(self, told: list[Helped]) -> None:
        for one in told:
            self._book.add(self._run, "got", bytes.fromhex(one.peer), one.work, one.audited)

    def _served(self, told: dict[str, int]) -> None:
        for peer, work in told.items():
            self._book.add(self._run, "gave", bytes.fromhex(peer), work)

    # as a trainer

    async def tend(self) -> None:
        """Sign for the hosts that are connected: the others are owed it until they are again."""
        for trainer, samples in self._seen().items():
            if more := samples - self._noted.get(trainer, 0):
                self._book.add(self._run, "saw", trainer, more)
                self._noted[trainer] = samples
        owed = [(host, sheet) for host, sheet in self._book.owed(self._run) if PeerId(host) in self._node.pool.links]
        room = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._offer(PeerId(host), sheet, room) for host, sheet in owed))

    async def _offer(self, host: PeerId, sheet: SignedSheet, room: asyncio.Semaphore) -> None:
        async with room:
            try:
                answer, _ = await self._node.call(host, self._sign, sheet, Countersigned, deadline_s=ANSWER_S)
                self._book.answered(sheet, answer)
            except NetworkError as error:
                log.info("Peer %s did not take what is signed for it: %s", peer_text(host)[:8], error)

    # as a host

    def _on_sign(self, offered: SignedSheet, payload: object, context: Context) -> Countersigned:
        try:
            return self._book.offered(self._run, context.peer, offered)
        except CreditError as error:
            if error.notice.code != "credit.untimely":  # a clock that is wrong is no lie
                self._node.strike(context.peer, LIE)
            raise

    async def _on_show(self, asked: Show, payload: object, context: Context) -> SignedBundle:
        return await self._book.show(self._run, asked.week, asked.start)

    # as a board

    async def collect(self, peers: Iterable[PeerId], known: Mapping[bytes, set[int]]) -> list[str]:
        """Ask peers for what they show, check it, and keep it; what was refused, and why, in words.

        Args:
            peers: who is asked.
            known: the weeks that are known of each host; of these only the last two are asked for again.
        """
        room = asyncio.Semaphore(AT_ONCE)
        refused: list[str] = []

        async def ask(peer: PeerId) -> None:
            async with room:
                try:
                    await self._collect(peer, known.get(peer, set()))
                except CreditError as error:
                    self._node.strike(peer, LIE)
                    refused.append(f"{peer_text(peer)[:8]}: {error}")
                except HearthError as error:
                    log.info("Peer %s did not show its credit: %s", peer_text(peer)[:8], error)

        await asyncio.gather(*map(ask, peers))
        return refused

    async def _collect(self, peer: PeerId, known: set[int]) -> None:
        book = self._book
        week, start = book.week, 0
        for _ in range(WEEKS_BACK):
            shown, _ = await self._node.call(peer, self._show, Show(week, start), SignedBundle, deadline_s=ANSWER_S)
            bundle = await asyncio.to_thread(signing.opened, shown)
            signing.check_asked(bundle, self._run, peer, week, book.today)
            if bundle.entries or bundle.seen:
                if not self._has_room((peer, week, start), len(shown.bundle)):
                    log.info("Peer %s shows more than is kept of one peer, or of all.", peer_text(peer)[:8])
                    return
                book.keep_bundle(bundle, start, shown)
            earlier = shown.earlier
            if shown.more and bundle.entries:
                start += ENTRIES
            elif earlier is None or earlier >= week or (earlier in known and week < book.week):
                return
            else:
                week, start = earlier, 0

    def _has_room(self, page: tuple[bytes, int, int], size: int) -> bool:
        """Whether a page of a host may be kept, in the place of what it showed there before; it is counted."""
        host, more = PeerId(page[0]), size - self._shown.get(page, 0)
        link = self._node.pool.links.get(host)
        block = (link.branch if link else Link.branch)[0]
        most: dict[bytes | str, int] = {host: HOST_BYTES, block: BLOCK_BYTES, ALL: ALL_BYTES}
        if any(self._by[whose] + more > limit for whose, limit in most.items()):
            return False
        self._shown[page] = size
        for whose in most:
            self._by[whose] += more
        return True
