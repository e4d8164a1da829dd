"""The records this peer keeps for the network: bounded by key, by publisher and in all; gone when they expire."""

import contextlib
import heapq
import os
from bisect import bisect_right
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from core.contracts.errors import RecordError
from core.dht.records import Record, Verdict, genuine, key_digest, parse, timely
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


class _Usage(msgspec.Struct):
    records: int = 0
    bytes: int = 0


class RecordStore:
    """{digest of key: {subkey: {publisher: record}}}. The clock is an argument of everything that needs one."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  immutable
        self._limits = limits
        self._keys: dict[bytes, dict[str, dict[bytes, Record]]] = {}
        self._usage: dict[bytes, _Usage] = {}
        self._expiries: list[tuple[float, bytes, str, bytes]] = []
        self.total = _Usage()

    def __len__(self) -> int:
        return self.total.records

    def digests(self) -> list[bytes]:
        """Digests of all keys."""
        return list(self._keys)

    def verdict(self, record: Record, now: float) -> Verdict:
        """What `put` would answer. Cheap: asked before the signature is checked."""
        if (late := timely(record, now)) is not Verdict.STORED:
            return late
        subkeys = self._keys.get(key_digest(record.key), {})
        publishers = subkeys.get(record.subkey, {})
        known = publishers.get(record.peer)
        if known is not None and record.raw == known.raw:
            return Verdict.SAME
        if known is not None and record.order <= known.order:
            return Verdict.OLDER
        usage = self._usage.get(record.peer, _Usage())
        more, extra = int(known is None), len(record.raw) - (0 if known is None else len(known.raw))
        limits = self._limits
        if more and (len(subkeys) >= limits.key_subkeys and record.subkey not in subkeys):
            return Verdict.KEY_FULL
        if more and len(publishers) >= limits.subkey_publishers:
            return Verdict.KEY_FULL
        if usage.records + more > limits.publisher_records or usage.bytes + extra > limits.publisher_bytes:
            return Verdict.PUBLISHER_FULL
        if self.total.records + more > limits.records or self.total.bytes + extra > limits.bytes:
            return Verdict.FULL
        return Verdict.STORED

    def put(self, record: Record, now: float) -> Verdict:
        """Keep a record whose signature is good, if it is newer and there is room."""
        verdict = self.verdict(record, now)
        if verdict in (Verdict.FULL, Verdict.PUBLISHER_FULL, Verdict.KEY_FULL) and self.expire(now):
            verdict = self.verdict(record, now)
        if verdict is not Verdict.STORED:
            return verdict
        digest = key_digest(record.key)
        self._drop(digest, record.subkey, record.peer)
        self._keys.setdefault(digest, {}).setdefault(record.subkey, {})[record.peer] = record
        self._count(record, 1)
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
        self._count(record, -1)
        if not publishers:
            del subkeys[subkey]
        if not subkeys:
            del self._keys[digest]

    def _count(self, record: Record, sign: int) -> None:
        usage = self._usage.setdefault(record.peer, _Usage())
        for counter in (usage, self.total):
            counter.records += sign
            counter.bytes += sign * len(record.raw)
        if not usage.records:
            del self._usage[record.peer]


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
