"""A run by telemetry: what this PC tells its boards now and then, and what it hears of the organiser and the boards."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from core.community import payloads, signing
from core.community.credit_book import CreditBook
from core.community.leaderboard import leaderboard
from core.community.lines import Heard, Joined
from core.community.telemetry import Telemetry
from core.contracts.credit import BoardTotals, Bundle, SignedBundle, week_of
from core.contracts.errors import CreditError, DataFolderError, HearthError, RunError
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice, notice
from core.contracts.telemetry import (
    CREDIT,
    CREDIT_S,
    ENROL,
    PROGRESS,
    PROGRESS_S,
    Enrol,
    Enrolled,
    Leaders,
    Presence,
    Progress,
    Rights,
    RunNotice,
    topic_board,
    topic_in,
    topic_notice,
)
from core.identity import Identity, PeerId, peer_text
from core.net.addresses import parse_address
from core.net.background import Background
from core.net.method import Context
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.regular_files import read_regular
from core.store.settings_file import write_atomically

log = logging.getLogger(__name__)

NOTICE_FILE = "notice.msgpack"
"""In the run's folder: the organiser's last one, as it was signed."""
PEERS = 20_000
"""Whose newest presence and progress a board keeps."""
LOOK_S = 5.0
"""Between two looks whether there is something to tell."""
CREDIT_BYTES = 128 << 20
"""Of what others show by telemetry that a board keeps between two starts; it asks the rest itself."""
MISSING_S = 60.0
"""Without any broker before the user is told."""
ENROL_S = 5.0
ENROL_COST = 10.0
TOLD_S = 30 * 86_400.0
"""For so long a notice is shown."""


class Figures(NamedTuple):
    """What a peer tells of itself."""

    samples: int
    samples_per_s: float
    experts: int
    loss: float | None


def rights_of(manifest: Manifest) -> Rights:
    """Who may do what in a run: its boards are the peers that newcomers join through, and the organiser."""
    named = {peer_text(PeerId(parse_address(one).peer)) for one in manifest.bootstrap}
    return Rights(manifest.organiser, frozenset({*named, *filter(None, [manifest.organiser])}))


class Telling:
    """Of one run. Use as `async with`, inside the network's own."""

    def __init__(
        self,
        manifest: Manifest,
        folder: Path,
        node: RpcNode,
        identity: Identity,
        book: CreditBook,
        telemetry: Telemetry,
        figures: Callable[[], Figures],
        board: bool,
        enrol: Callable[[bytes, str], None] | None,
    ) -> None:
        """
        Args:
            manifest: the run's.
            folder: of its files.
            node: this PC's connections.
            identity: its key.
            book: of credit.
            telemetry: connections to brokers.
            figures: what there is to tell.
            board: whether this peer listens to what others tell, if the manifest names it.
            enrol: lets a peer with a password into the broker that this peer runs, if it runs one.
        """
        self.manifest, self._path, self._node, self._identity = manifest, folder / NOTICE_FILE, node, identity
        self._book, self._telemetry, self._figures, self._let_in = book, telemetry, figures, enrol
        self.rights, self.run_id = rights_of(manifest), manifest.run_id
        self._me = peer_text(identity.peer)
        self.is_board = self._me in self.rights.boards
        self._reads = board and self.is_board
        self.peers: dict[bytes, tuple[Presence, Progress | None]] = {}
        """What others told a board."""
        self._shown: dict[tuple[bytes, int], tuple[int, int]] = {}
        """Size and hash of what was kept of each host and week since the start."""
        self._shown_bytes = 0
        self.boards: dict[bytes, Leaders] = {}
        """What boards told."""
        self.notice: RunNotice | None = None
        self._payload = b""
        """The notice as it was signed."""
        self._may_pass_on = self._reads or self._me == self.rights.organiser
        self._since = time.monotonic()
        self._allowed, self._follows = True, False
        """Whether this PC may use the network, and whether it is connected or tries to be."""
        self._credit_at = self._progress_at = -CREDIT_S
        self._trained = False
        self._entered = False
        self._background = Background()
        self.tending = Recurring("telemetry", self._tend, lambda: LOOK_S)
        if enrol is not None:
            node.register(of_run(ENROL, self.run_id), Enrol, self._on_enrol, cost=ENROL_COST)

    async def __aenter__(self) -> "Telling":
        """Connect to the brokers, if the run names some."""
        with contextlib.suppress(OSError, CreditError):
            payload = await asyncio.to_thread(read_regular, self._path)
            told = payloads.opened(topic_notice(self.run_id), payload, {self.run_id: self.rights})
            if isinstance(told, RunNotice):
                self._notice(told, payload)
        self._entered = True
        self._follow()
        if self.manifest.brokers:
            self.tending.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.tending.stop()
        await self._background.close()
        await self._telemetry.leave(self.run_id)

    def allow(self, allowed: bool) -> None:
        """Use the network, or leave it alone."""
        self._allowed = allowed
        self._follow()

    def _follow(self) -> None:
        wanted = self._allowed and self._entered
        if wanted == self._follows:
            return
        self._follows = wanted
        if wanted:
            run = Joined(self.run_id, self.rights, self.manifest.brokers, self._reads, self._hear, self._refused)
            self._telemetry.follow(run)
            self._credit_at = self._progress_at = -CREDIT_S
            self.tending.wake.set()
            if self._payload and self._may_pass_on:
                self._tell(topic_notice(self.run_id), self._payload)
        else:
            self._background.start(self._telemetry.leave(self.run_id), "silence")

    # what this PC tells

    async def _tend(self) -> None:
        """Tell how it goes: now and then, and when it has begun or stopped."""
        figures, now = self._figures(), time.monotonic()
        if now - self._progress_at >= PROGRESS_S or (figures.samples_per_s > 0) != self._trained:
            self._progress_at, self._trained = now, figures.samples_per_s > 0
            told = Progress(self.run_id, self._identity.peer, time.time(), *figures)
            self._tell(topic_in(self.run_id, self._me, PROGRESS), payloads.sealed(self._identity, told))
        if time.monotonic() - self._credit_at < CREDIT_S:
            return
        self._credit_at = time.monotonic()
        for week in (self._book.week - 1, self._book.week):
            shown = await self._book.show(self.run_id, week, 0)
            if (bundle := signing.decoded(shown)).entries or bundle.seen:
                topic = topic_in(self.run_id, self._me, CREDIT[week % len(CREDIT)])
                self._tell(topic, payloads.encode(shown))

    def _tell(self, topic: str, payload: bytes) -> None:
        self._telemetry.tell(self.run_id, topic, payload)

    def say(self, text: str) -> None:
        """Tell all who have joined, as the organiser.

        Args:
            text: one line.

        Raises:
            RunError: this PC's key is not the organiser's, or there is no broker.
            DataFolderError: it cannot be kept.
        """
        if self._me != self.rights.organiser:
            raise RunError(notice("telemetry.not_organiser", run=self.run_id))
        if not self.manifest.brokers:
            raise RunError(notice("telemetry.names_none", run=self.run_id))
        said = RunNotice(self.run_id, self._identity.peer, time.time(), text)
        self._notice(said, payloads.sealed(self._identity, said))

    def publish(self, totals: BoardTotals, today: int) -> None:
        """Tell what this PC's board has summed.

        Args:
            totals: of this run alone.
            today: the day (UTC).
        """
        peers, verified = len({line.peer for line in totals.lines}), sum(line.verified for line in totals.lines)
        pending = sum(sum(line.pending.values()) for line in totals.lines)
        sums = peers, *self.online(), float(verified), float(pending)
        ranked = leaderboard(totals, "", today)
        leaders = Leaders(self.run_id, self._identity.peer, totals.time, *sums, ranked)
        self._tell(topic_board(self.run_id, self._me), payloads.sealed(self._identity, leaders))

    # what it hears

    def _hear(self, heard: Heard, payload: bytes) -> None:
        match heard:
            case RunNotice():
                self._notice(heard, payload)
            case Leaders():
                if (known := self.boards.get(heard.by)) is None or known.time < heard.time:
                    self.boards[heard.by] = heard
            case Presence() | Progress():
                self._note(heard)
            case (bundle, shown):
                self._credit(bundle, shown)

    def _notice(self, said: RunNotice, payload: bytes) -> None:
        """The newest is kept, and told again by those who may: the broker may have lost it."""
        if self.notice is not None and self.notice.time >= said.time:
            return
        self.notice, self._payload = said, payload
        with contextlib.suppress(DataFolderError):  # the disk is full, of which others tell
            write_atomically(self._path, payload)
        if self._may_pass_on:
            self._tell(topic_notice(self.run_id), payload)

    def _note(self, told: Presence | Progress) -> None:
        """By one time, who is gone has gone after it came."""
        presence, progress = self.peers.get(told.by, (None, None))
        if isinstance(told, Progress):
            if presence is not None and (progress is None or progress.time < told.time):
                self.peers[told.by] = presence, told
        elif presence is None or (presence.time, not presence.online) < (told.time, not told.online):
            if presence is None and len(self.peers) >= PEERS:
                self._forget()
            self.peers[told.by] = told, progress

    def _forget(self) -> None:
        """Of too many peers those that were there last are kept."""
        newest = sorted(self.peers.items(), key=lambda one: (one[1][0].online, one[1][0].time))
        self.peers = dict(newest[PEERS // 4 :])

    def _credit(self, bundle: Bundle, shown: SignedBundle) -> None:
        """Keep what is new of these weeks, as far as there is room: a key costs nothing, and disks are small."""
        age, key = week_of(self._book.today + 1) - bundle.week, (bundle.host, bundle.week)
        is_known = self._shown.get(key) == (told := (len(shown.bundle), hash(shown.bundle)))
        if not 0 <= age <= 2 or is_known or not (bundle.entries or bundle.seen):
            return
        more = told[0] - self._shown.get(key, (0, 0))[0]
        if self._shown_bytes + more <= CREDIT_BYTES:
            self._shown[key] = told
            self._shown_bytes += more
            self._book.keep_bundle(bundle, 0, shown)

    def online(self) -> tuple[int, float]:
        """How many peers have told that they are there, and the samples a second that they tell of."""
        there = [progress for presence, progress in self.peers.values() if presence.online]
        return len(there), sum(one.samples_per_s for one in there if one is not None)

    # who a broker does not know yet

    def _refused(self, broker: str, password: str) -> None:
        """Ask those who may run it to let this peer in."""
        if not self._background:
            self._background.start(self._enrol(Enrol(broker, password)), "enrol")

    async def _enrol(self, asked: Enrol) -> None:
        for one in self.manifest.bootstrap:
            peer, method = PeerId(parse_address(one).peer), of_run(ENROL, self.run_id)
            try:
                if peer == self._identity.peer:
                    self._admit(peer, asked)
                else:
                    await self._node.call(peer, method, asked, Enrolled, deadline_s=ENROL_S)
            except HearthError as error:
                log.debug("Peer %s did not enrol this one at %s: %s", one[:8], asked.broker, error)

    def _on_enrol(self, asked: Enrol, payload: object, context: Context) -> Enrolled:
        self._admit(context.peer, asked)
        return Enrolled()

    def _admit(self, peer: bytes, asked: Enrol) -> None:
        if self._let_in is not None:
            self._let_in(peer, asked.password)

    # for people

    @property
    def notes(self) -> list[Notice]:
        """What the organiser says, and what is missing."""
        said, found = self.notice, [*self.tending.notes]
        if said is not None and time.time() - said.time < TOLD_S:
            found.append(notice("run.organiser_says", time=said.time, text=said.text))
        mine = [one for one in self._telemetry.status() if one.run == self.run_id]
        if mine and not any(one.connected for one in mine):
            if time.monotonic() - self._since > MISSING_S:
                found.append(notice("telemetry.no_broker", brokers=list(self.manifest.brokers)))
        else:
            self._since = time.monotonic()
        return found
