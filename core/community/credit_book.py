"""What this PC and its peers owe each other: its own counts, what was signed for them, and what it shows to others.

The last weeks are in memory, as credit is asked for with each signature; the ledger's file has all of them. What is not
written when a process is killed (half a minute) the other side still has: a trainer takes up its own signature again
(`take_up`), a host takes a little more than it counted (`core.community.signing.is_too_much`).
"""

import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from core.community import signing
from core.community.ledger import Ledger
from core.contracts.credit import (
    ENTRIES,
    WEEK,
    Bundle,
    Countersigned,
    Days,
    Entry,
    Seen,
    Sheet,
    SignedBundle,
    SignedSheet,
    day_of,
    days_of,
    week_of,
)
from core.identity import Identity

WEEKS = 2
"""Before this one that are kept in memory: no sheet is signed or taken for an older one."""
PAIRS = 20_000
"""Peers and days that are counted at once: a thousand peers in three weeks."""
Way = Literal["gave", "got", "saw"]
_encode = msgspec.msgpack.Encoder().encode
_decode_sheet = msgspec.msgpack.Decoder(SignedSheet).decode
_decode_bundle = msgspec.msgpack.Decoder(SignedBundle).decode


class Counted(NamedTuple):
    """Of one run, day and peer; of samples that were seen, `work` are those."""

    work: int = 0
    audited: int = 0


class Key(NamedTuple):
    """Of a count."""

    run: str
    day: int
    way: Way
    peer: bytes


class Kept(NamedTuple):
    """A sheet, and the host's signature that it takes it."""

    signed: SignedSheet
    countersigned: bytes


class Owed(NamedTuple):
    """A sheet is to be signed."""

    host: bytes
    week: int


class CreditBook:
    """That of one data folder, for all of its runs. To be used by the worker's loop."""

    def __init__(
        self,
        ledger: Ledger,
        identity: Identity,
        named: Callable[[], tuple[str, str]] = lambda: ("", ""),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Read what there is of the last weeks.

        Args:
            ledger: that of the data folder.
            identity: this PC's key.
            named: the name and the team that the user wishes to be shown.
            clock: the time of day, unix seconds.
        """
        self._ledger, self._identity, self._named, self._clock = ledger, identity, named, clock
        self.me = identity.peer
        since = days_of(self.week - WEEKS)[0]
        query = "SELECT run, day, way, peer, work, audited FROM credit_counts WHERE day >= ?"
        self._counts = {
            Key(run, day, way, peer): Counted(work, audited)
            for run, day, way, peer, work, audited in ledger.rows_at_start(query, since)
        }
        query = "SELECT run, week, way, peer, signed, countersigned FROM credit_sheets WHERE week >= ?"
        self._sheets = {
            (run, week, way, peer): Kept(_decode_sheet(signed), countersigned)
            for run, week, way, peer, signed, countersigned in ledger.rows_at_start(query, week_of(since))
        }
        self._oldest = self.week - WEEKS
        """The first week that is in memory."""
        self._owed: dict[str, dict[Owed, None]] = {}
        """By run: those whose counts have grown since they were signed for."""
        for key in self._counts:
            if key.way == "got":
                self._owe(key)

    @property
    def today(self) -> int:
        """The day (UTC)."""
        return day_of(self._clock())

    @property
    def week(self) -> int:
        """The week that it is in."""
        return week_of(self.today)

    # counting

    def add(self, run: str, way: Way, peer: bytes, work: int, audited: int = 0) -> None:
        """Count what was done.

        Args:
            run: for which.
            way: who for whom: "gave", "got"; "saw": a trainer's samples were accepted.
            peer: the other one.
            work: done since the last time, or samples.
            audited: how much an audit has confirmed since then, of what was counted on whatever day.
        """
        today = self.today
        before = self._counted(run, way, peer, today)
        self._set(Key(run, today, way, peer), Counted(before.work + work, before.audited))
        for day in (today - 1, today):  # what is left of yesterday was done first
            before = self._counted(run, way, peer, day)
            taken = min(audited, before.work - before.audited)
            self._set(Key(run, day, way, peer), Counted(before.work, before.audited + taken))
            audited -= taken

    def _counted(self, run: str, way: Way, peer: bytes, day: int) -> Counted:
        return self._counts.get(Key(run, day, way, peer), Counted())

    def _set(self, key: Key, counted: Counted) -> None:
        if counted == self._counts.get(key, Counted()):
            return
        if key not in self._counts and len(self._counts) >= PAIRS:
            self._forget()
        self._counts[key] = counted
        self._ledger.keep("credit_counts", key, counted)
        if key.way == "got":
            self._owe(key)

    def _forget(self) -> None:
        """Keep what is not so old, and of too many peers those that did most."""
        since = days_of(self.week - WEEKS)[0]
        left = sorted(((key, counted) for key, counted in self._counts.items() if key.day >= since), key=_work)
        self._counts = dict(left[-PAIRS * 3 // 4 :])

    def _owe(self, key: Key) -> None:
        self._owed.setdefault(key.run, {})[Owed(key.peer, week_of(key.day))] = None

    def known(self, run: str, peer: bytes) -> int:
        """Rows that a peer has surely worked for a run in these weeks: this PC's audits confirmed them, or it saw the
        trainer's samples accepted.

        Args:
            run: the run.
            peer: whose work.
        """
        days = range(days_of(self.week - WEEKS)[0], self.today + 1)
        audited = sum(self._counted(run, "got", peer, day).audited for day in days)
        return audited + sum(self._counted(run, "saw", peer, day).work for day in days)

    # as a trainer

    def owed(self, run: str) -> list[tuple[bytes, SignedSheet]]:
        """The sheets that say more than the host has taken, signed: with the host of each."""
        found = []
        for owed in [*self._owed.get(run, ())]:
            held = self._sheets.get((run, owed.week, "got", owed.host))
            sheet = Sheet(run, self.me, owed.host, owed.week, *self._days(run, "got", owed.host, owed.week))
            if owed.week < self.week - 1 or not signing.is_newer(sheet, held.signed.sheet if held else None):
                del self._owed[run][owed]
            elif sheet.total:
                found.append((owed.host, signing.sign(self._identity, sheet)))
        return found

    def answered(self, offered: SignedSheet, answer: Countersigned) -> None:
        """A host has answered: it took the sheet, or says what it has and has counted."""
        sheet = offered.sheet
        if answer.signature is not None and signing.is_countersigned(offered, answer.signature):
            self._keep(Kept(offered, answer.signature))
            return
        held = answer.held
        if held is not None and held.sheet.trainer == self.me and signing.is_genuine(held):
            self.take_up(held.sheet)
            return
        signed = sheet.total + self._signed_before(sheet)
        if signing.is_too_much(signed, answer.counted):  # what did not reach it, or what it has forgotten
            self._lower(sheet, signed - answer.counted)

    def take_up(self, sheet: Sheet) -> None:
        """Go on from a sheet that this trainer has signed and forgotten."""
        for day, work, audited in zip(days_of(sheet.week), sheet.work, sheet.audited, strict=True):
            key = Key(sheet.run, day, "got", sheet.host)
            before = self._counts.get(key, Counted())
            self._set(key, Counted(max(before.work, work), max(before.audited, audited)))

    def _lower(self, sheet: Sheet, excess: int) -> None:
        """Claim less from now on, the newest first; never less than was taken."""
        held = self._sheets.get((sheet.run, sheet.week, "got", sheet.host))
        least = held.signed.sheet.work if held else (0,) * WEEK
        for day, taken in reversed([*zip(days_of(sheet.week), least, strict=True)]):
            key = Key(sheet.run, day, "got", sheet.host)
            before = self._counts.get(key, Counted())
            now = max(taken, before.work - excess)
            excess -= before.work - now
            self._set(key, Counted(now, min(now, before.audited)))

    # as a host

    def offered(self, run: str, caller: bytes, signed: SignedSheet) -> Countersigned:
        """Take a trainer's sheet, or say why not. Nothing is kept of keys that this PC has not computed for: they cost
        nothing.

        Raises:
            CreditError: it is none that could be taken.
        """
        signing.check_offer(signed, run, caller, self.me, self.today)
        sheet = signed.sheet
        held = self._sheets.get((run, sheet.week, "gave", caller))
        since = days_of(sheet.week - 1)[0]
        counted = sum(self._counted(run, "gave", caller, day).work for day in range(since, self.today + 1))
        if held and held.signed == signed:
            return Countersigned(held.countersigned, counted)
        if held and not signing.is_newer(sheet, held.signed.sheet):
            return Countersigned(None, counted, held.signed)
        if not counted or signing.is_too_much(sheet.total + self._signed_before(sheet), counted):
            return Countersigned(None, counted)
        kept = Kept(signed, signing.countersign(self._identity, signed))
        self._keep(kept)
        return Countersigned(kept.countersigned, counted)

    def _signed_before(self, sheet: Sheet) -> int:
        """What the trainer signed for the week before: at its end the two clocks may not agree which one it is."""
        held = self._sheets.get((sheet.run, sheet.week - 1, *self._between(sheet)))
        return held.signed.sheet.total if held else 0

    def _keep(self, kept: Kept) -> None:
        sheet = kept.signed.sheet
        key = sheet.run, sheet.week, *self._between(sheet)
        self._sheets[key] = kept
        self._ledger.keep("credit_sheets", key, (_encode(kept.signed), kept.countersigned))
        if (oldest := self.week - WEEKS) > self._oldest:
            self._oldest = oldest
            self._sheets = {key: kept for key, kept in self._sheets.items() if key[1] >= oldest}

    def _between(self, sheet: Sheet) -> tuple[Way, bytes]:
        return ("gave", sheet.trainer) if sheet.host == self.me else ("got", sheet.host)

    def _days(self, run: str, way: Way, peer: bytes, week: int) -> tuple[Days, Days]:
        found = [self._counted(run, way, peer, day) for day in days_of(week)]
        return tuple(one.work for one in found), tuple(one.audited for one in found)

    # showing

    async def show(self, run: str, week: int, start: int) -> SignedBundle:
        """What others may see of a week, from the sheet `start` on.

        Raises:
            DataFolderError: the ledger cannot be read.
        """
        query = (
            "SELECT signed FROM credit_sheets WHERE run = ? AND week = ? AND way = 'gave' "
            "ORDER BY peer LIMIT ? OFFSET ?"
        )
        rows = await self._ledger.rows(query, run, week, ENTRIES + 1, start)
        entries = [
            Entry(one.sheet.trainer, one.sheet.work, one.sheet.audited, one.signature)
            for one in (_decode_sheet(signed) for (signed,) in rows)
            if one.sheet.host == self.me  # not of a key that this PC had before
        ]
        query = "SELECT MAX(week) FROM credit_sheets WHERE run = ? AND week < ? AND way = 'gave'"
        [(earlier,)] = await self._ledger.rows(query, run, week)
        name, team = self._named()
        seen = () if start else await self._seen(run, week)
        bundle = Bundle(run, self.me, week, name, team, tuple(entries[:ENTRIES]), seen)
        return signing.sign_bundle(self._identity, bundle, len(rows) > ENTRIES, earlier)

    async def _seen(self, run: str, week: int) -> tuple[Seen, ...]:
        days = days_of(week)
        query = (
            "SELECT peer, day, work FROM credit_counts "
            "WHERE run = ? AND way = 'saw' AND day >= ? AND day < ? AND work > 0"
        )
        found: dict[bytes, list[int]] = {}
        for peer, day, samples in await self._ledger.rows(query, run, days.start, days.stop):
            found.setdefault(peer, [0] * WEEK)[day - days.start] = samples
        most = sorted(found.items(), key=lambda one: sum(one[1]))[-ENTRIES:]
        return tuple(Seen(peer, tuple(samples)) for peer, samples in most)

    def keep_bundle(self, bundle: Bundle, page: int, signed: SignedBundle) -> None:
        """Keep what another peer has shown, for boards; its signatures were checked."""
        self._ledger.keep("credit_bundles", (bundle.run, bundle.week, bundle.host, page), (_encode(signed),))

    async def bundles(self, run: str) -> list[SignedBundle]:
        """All that was ever shown of a run, by others and by this PC.

        Raises:
            DataFolderError: the ledger cannot be read.
        """
        rows = await self._ledger.rows("SELECT signed FROM credit_bundles WHERE run = ?", run)
        return [*map(_decode_bundle, (signed for (signed,) in rows)), *await self.own_bundles(run)]

    async def known_weeks(self, run: str) -> dict[bytes, set[int]]:
        """The weeks of which there is something of other hosts."""
        found: dict[bytes, set[int]] = {}
        for host, week in await self._ledger.rows("SELECT host, week FROM credit_bundles WHERE run = ?", run):
            found.setdefault(host, set()).add(week)
        return found

    async def own_bundles(self, run: str) -> list[SignedBundle]:
        """What this PC shows itself, of all weeks."""
        found = []
        for week in {*await self._weeks(run), self.week}:
            start = 0
            while True:
                found.append(await self.show(run, week, start))
                if not found[-1].more:
                    break
                start += ENTRIES
        return found

    async def _weeks(self, run: str) -> list[int]:
        """Those of which there are sheets of this PC as a host."""
        query = "SELECT DISTINCT week FROM credit_sheets WHERE run = ? AND way = 'gave'"
        return [week for (week,) in await self._ledger.rows(query, run)]


def _work(item: tuple[Key, Counted]) -> int:
    return item[1].work
