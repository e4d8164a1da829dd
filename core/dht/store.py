"""The records this peer keeps for the network: bounded by key, by publisher and in all; gone when they expire."""

import contextlib
import heapq
import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from core.contracts.errors import RecordError
from core.dht.records import Record, Verdict, genuine, key_digest, parse, timely
from core.dht.room import OWN, Name, Payer, Rank, Room
from core.regular_files import read_regular
from core.store.settings_file import aside

MAX_RECORDS = 32_768
"""In all: 1 KB of memory each. A network of 10,000 experts on 30 peers puts 5,000 here."""
MAX_BYTES = 16 * 1024 * 1024
"""In all, as received: 500 bytes a record."""
PUBLISHER_RECORDS = 4096
"""Of one publisher: a host of 2,048 experts with leaf and suffix each, if all fell to this peer."""
PUBLISHER_BYTES = 2 * 1024 * 1024
KEY_SUBKEYS = 8192
"""Under one key: one dimension of the largest grid has 4,096 cells."""
SUBKEY_PUBLISHERS = 8
"""Of one subkey: replicas of one expert."""
STRANGERS, KEY_STRANGERS = MAX_RECORDS // 4, 512
"""Of strangers and tombstones, in all and under one key: half of what a reader takes of one (`MAX_FOUND`)."""
MAX_STATE = 64 * 1024 * 1024
"""Bytes of a state file that is read at all."""
STATE_VERSION = 1
SUFFIX_BYTES = 12
"""Of a suffix in a page beside its characters: length and expiry."""

Contact = tuple[str, list[str]]
"""Public key as text, addresses."""


class Limits(msgspec.Struct, frozen=True):
    records: int = MAX_RECORDS
    bytes: int = MAX_BYTES
    publisher_records: int = PUBLISHER_RECORDS
    publisher_bytes: int = PUBLISHER_BYTES
    key_subkeys: int = KEY_SUBKEYS
    subkey_publishers: int = SUBKEY_PUBLISHERS
    strangers: int = STRANGERS
    key_strangers: int = KEY_STRANGERS


class _Usage(msgspec.Struct):
    records: int = 0
    bytes: int = 0


class _Short(NamedTuple):
    """A limit that a record is beyond."""

    verdict: Verdict
    room: Room | None
    """In which another one may give way."""


class RecordStore:
    """{digest of key: {subkey: {publisher: record}}}. The clock is an argument of everything that needs one."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  immutable
        self._limits = limits
        self._keys: dict[bytes, dict[str, dict[bytes, Record]]] = {}
        self._usage: dict[bytes, _Usage] = {}
        self._expiries: list[tuple[float, bytes, str, bytes]] = []
        self._payers: dict[Name, Payer] = {}
        self._room = Room()
        self._key_rooms: dict[bytes, Room] = {}
        """Of those keys alone in which room was short."""
        self.total = _Usage()

    def __len__(self) -> int:
        return self.total.records

    def digests(self) -> list[bytes]:
        """Digests of all keys."""
        return list(self._keys)

    def verdict(self, record: Record, now: float, payer: Payer = OWN) -> Verdict:
        """What `put` would answer. Cheap: asked before the signature is checked.

        Args:
            record: what is offered.
            now: unix seconds.
            payer: to whom it is charged.
        """
        if (late := timely(record, now)) is not Verdict.STORED:
            return late
        known = self._known(record)
        if known is not None and record.raw == known.raw:
            return Verdict.SAME
        if known is not None and record.order <= known.order:
            return Verdict.OLDER
        short = self._short(record, _charged(record, payer))
        return Verdict.STORED if short is None or self._victim(short, record, payer) else short.verdict

    def _known(self, record: Record) -> Record | None:
        return self._keys.get(key_digest(record.key), {}).get(record.subkey, {}).get(record.peer)

    def _short(self, record: Record, payer: Payer) -> _Short | None:
        """The first limit that a newer record is beyond."""
        limits, digest, known = self._limits, key_digest(record.key), self._known(record)
        usage = self._usage.get(record.peer, _Usage())
        more, extra = int(known is None), len(record.raw) - (0 if known is None else len(known.raw))
        if usage.records + more > limits.publisher_records or usage.bytes + extra > limits.publisher_bytes:
            return _Short(Verdict.PUBLISHER_FULL, None)
        subkeys = self._keys.get(digest, {})
        publishers, is_low = subkeys.get(record.subkey, {}), payer.rank <= Rank.STRANGER
        if more and len(publishers) >= limits.subkey_publishers:
            names = ((digest, record.subkey, one.peer) for one in publishers.values())
            return _Short(Verdict.KEY_FULL, self._room_of(names))
        if more and len(subkeys) >= limits.key_subkeys and record.subkey not in subkeys:
            return _Short(Verdict.KEY_FULL, self._key_room(digest))
        if more and is_low and len(subkeys) >= limits.key_strangers:
            room = self._key_room(digest)
            if room.up_to(Rank.STRANGER) >= limits.key_strangers:
                return _Short(Verdict.KEY_FULL, room)
        too_low = is_low and self._room.up_to(Rank.STRANGER) + more > limits.strangers
        if too_low or self.total.records + more > limits.records or self.total.bytes + extra > limits.bytes:
            return _Short(Verdict.FULL, self._room)
        return None

    def _victim(self, short: _Short, record: Record, payer: Payer) -> Name | None:
        name = short.room.victim(_charged(record, payer)) if short.room else None
        return None if name == (key_digest(record.key), record.subkey, record.peer) else name

    def _key_room(self, digest: bytes) -> Room:
        if digest not in self._key_rooms:
            subkeys = self._keys[digest].items()
            records = (record for _, publishers in subkeys for record in publishers.values())
            names = ((digest, record.subkey, record.peer) for record in records)
            self._key_rooms[digest] = self._room_of(names)
        return self._key_rooms[digest]

    def _room_of(self, names: Iterable[Name]) -> Room:
        room = Room()
        for name in names:
            room.add(name, self._payers[name])
        return room

    def put(self, record: Record, now: float, payer: Payer = OWN) -> Verdict:
        """Keep a record whose signature is good, if it is newer and there is room, or others give way.

        Args:
            record: what is offered.
            now: unix seconds.
            payer: to whom it is charged.
        """
        verdict = self.verdict(record, now, payer)
        payer = _charged(record, payer)
        may_fit = verdict in (Verdict.STORED, Verdict.FULL, Verdict.PUBLISHER_FULL, Verdict.KEY_FULL)
        if may_fit and self._short(record, payer) and self.expire(now):
            verdict = self.verdict(record, now, payer)
        if verdict is not Verdict.STORED:
            return verdict
        while (short := self._short(record, payer)) is not None:
            if (name := self._victim(short, record, payer)) is None:
                return short.verdict
            self._drop(*name)
        digest = key_digest(record.key)
        self._drop(digest, record.subkey, record.peer)
        self._keys.setdefault(digest, {}).setdefault(record.subkey, {})[record.peer] = record
        self._count(record, payer, 1)
        heapq.heappush(self._expiries, (record.expires, digest, record.subkey, record.peer))
        if len(self._expiries) > 2 * len(self) + 64:  # replaced records leave stale entries
            self._expiries = [(r.expires, key_digest(r.key), r.subkey, r.peer) for r in self]
            heapq.heapify(self._expiries)
        return verdict

    def expire(self, now: float) -> int:
        """Drop what has expired; how many records that was."""
        before = len(self)
        while self._expiries and self._expiries[0][0] <= now:
            _, digest, subkey, peer = heapq.heappop(self._expiries)
            record = self._keys.get(digest, {}).get(subkey, {}).get(peer)
            if record is not None and record.expires <= now:
                self._drop(digest, subkey, peer)
        return before - len(self)

    def __iter__(self) -> Iterator[Record]:
        for subkeys in self._keys.values():
            for publishers in subkeys.values():
                yield from publishers.values()

    def of(self, digest: bytes, now: float) -> list[Record]:
        """All records under a key, tombstones as well."""
        subkeys = self._keys.get(digest, {})
        return [r for publishers in subkeys.values() for r in publishers.values() if r.expires > now]

    def name(self, digest: bytes) -> str:
        """The key with a digest; "" if there is nothing under it."""
        publishers = next(iter(self._keys.get(digest, {}).values()), {})
        return next((record.key for record in publishers.values()), "")

    def page(self, digest: bytes, after: str, budget: int, now: float) -> tuple[list[bytes], str | None]:
        """Records under a key as bytes, in order of subkey from the one behind `after`; subkeys are not torn apart.

        Returns:
            At most `budget` bytes of records (but one subkey at least), and where the next page begins (None: no more).
        """
        page: list[bytes] = []
        last = None
        for name, records in self._behind(digest, after):
            raws = [record.raw for record in records if record.expires > now]
            budget -= sum(map(len, raws))
            if budget < 0 and page:
                return page, last
            page += raws
            last = name
        return page, None

    def suffixes(
        self, digest: bytes, after: str, count: int, budget: int, now: float
    ) -> tuple[dict[str, float], str | None, int]:
        """Subkeys alive under a key with their latest expiry, in order from the one behind `after`.

        Returns:
            At most `count` subkeys of `budget` bytes (but one at least), where the next page begins (None: no more),
            and what is left of the budget.
        """
        page: dict[str, float] = {}
        last = after
        for name, records in self._behind(digest, after):
            alive = [record.expires for record in records if record.expires > now and not record.dead]
            if alive:
                if page and (len(page) >= count or budget <= 0):
                    return page, last, budget
                page[name] = max(alive)
                budget -= len(name.encode()) + SUFFIX_BYTES
            last = name
        return page, None, budget

    def _behind(self, digest: bytes, after: str) -> Iterator[tuple[str, Collection[Record]]]:
        subkeys = self._keys.get(digest, {})
        names = sorted(subkeys) if len(subkeys) > 1 else list(subkeys)
        return ((name, subkeys[name].values()) for name in names[bisect_right(names, after) if after else 0 :])

    def _drop(self, digest: bytes, subkey: str, peer: bytes) -> None:
        subkeys = self._keys.get(digest, {})
        publishers = subkeys.get(subkey, {})
        record = publishers.pop(peer, None)
        if record is None:
            return
        self._count(record, self._payers[digest, subkey, record.peer], -1)
        if not publishers:
            del subkeys[subkey]
        if len(subkeys) < self._limits.key_strangers // 2:
            self._key_rooms.pop(digest, None)
        if not subkeys:
            del self._keys[digest]

    def _count(self, record: Record, payer: Payer, sign: int) -> None:
        usage = self._usage.setdefault(record.peer, _Usage())
        for counter in (usage, self.total):
            counter.records += sign
            counter.bytes += sign * len(record.raw)
        if not usage.records:
            del self._usage[record.peer]
        digest = key_digest(record.key)
        name = digest, record.subkey, record.peer
        for room in (self._room, self._key_rooms.get(digest)):
            if room is not None:
                (room.add if sign > 0 else room.remove)(name, payer)
        if sign > 0:
            self._payers[name] = payer
        else:
            del self._payers[name]


def _charged(record: Record, payer: Payer) -> Payer:
    return Payer(Rank.TOMBSTONE, payer.branch) if record.dead else payer


class _State(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    contacts: Annotated[
        list[tuple[str, Annotated[list[str], msgspec.Meta(max_length=8)]]], msgspec.Meta(max_length=4096)
    ]
    records: Annotated[list[bytes], msgspec.Meta(max_length=MAX_RECORDS)]


def save_state(path: Path, contacts: list[Contact], records: list[Record]) -> None:
    """Write contacts and records as JSON, atomically."""
    state = _State(STATE_VERSION, contacts, [record.raw for record in records[:MAX_RECORDS]])
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(msgspec.json.encode(state))
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def load_state(path: Path, now: float) -> tuple[list[Contact], list[Record]]:
    """Contacts and the still valid records of a state file; a damaged file is set aside and counts as empty."""
    try:
        state = msgspec.json.decode(read_regular(path, MAX_STATE), type=_State)
        if state.version != STATE_VERSION:
            raise ValueError(f"its version is {state.version}")
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        with contextlib.suppress(OSError):
            path.replace(aside(path))
        return [], []
    records = []
    for raw in state.records:
        with contextlib.suppress(RecordError):
            record = parse(raw)
            if timely(record, now) is Verdict.STORED and genuine(record):
                records.append(record)
    return state.contacts, records
