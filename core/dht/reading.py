"""From what replicas answered to what is true: records of this time, genuine, the newest of each."""

import asyncio
import time
from collections.abc import Container, Iterator
from typing import NamedTuple

from core.contracts.dht import MAX_FOUND
from core.contracts.errors import RecordError
from core.dht.records import Record, Verdict, genuine, parse, timely
from core.identity import PeerId

Candidates = dict[tuple[str, PeerId], list[Record]]
"""By subkey and publisher, newest first."""
AGAIN_S = 1.0
"""What was read so lately is not asked for once more: announcements come every 20 s."""
READINGS, READ_RECORDS = 4096, 8192
"""Keys and records remembered: 500 bytes a record."""


def candidates(key: str, answers: list[list[bytes]], now: float) -> Candidates:
    """Records under `key` that are of this time, by subkey and publisher, newest first; signatures unchecked."""
    found: Candidates = {}
    for raw in {raw for answer in answers for raw in answer[:MAX_FOUND]}:
        try:
            record = parse(raw)
        except RecordError:
            continue
        if record.key == key and timely(record, now) is Verdict.STORED:
            found.setdefault((record.subkey, record.peer), []).append(record)
    for records in found.values():
        records.sort(key=lambda record: record.order, reverse=True)
    return found


async def leave_genuine(found_by_key: list[Candidates], checked: Container[bytes]) -> None:
    """Drop forged records from the front until every list begins with a genuine one. All are checked together.

    Args:
        found_by_key: is changed.
        checked: records, as they travel, that are known to be genuine.
    """
    lists = [records for found in found_by_key for records in found.values()]
    unchecked = [records for records in lists if records[0].raw not in checked]
    while unchecked:
        good = await check_all([records[0] for records in unchecked])
        bad = [records for records, signed in zip(unchecked, good, strict=True) if not signed]
        for records in bad:
            records.pop(0)
        unchecked = [records for records in bad if records and records[0].raw not in checked]


def newest(found: Candidates, buried: bool = False) -> dict[str, Record]:
    """For each subkey the newest living record of all publishers; `buried`: the tombstones of those that have none."""
    best: dict[str, Record] = {}
    for (subkey, _), records in found.items():
        if records and (buried or not records[0].dead):
            known = best.get(subkey)
            if known is None or (not records[0].dead, records[0].order) > (not known.dead, known.order):
                best[subkey] = records[0]
    return best


async def check_all(records: list[Record]) -> list[bool]:
    """Whether each record is signed by its publisher; many are checked in a thread, so that the loop goes on."""
    if len(records) <= 16:
        return [genuine(record) for record in records]
    return await asyncio.to_thread(lambda: [genuine(record) for record in records])


class _Reading(NamedTuple):
    at: float
    """time.monotonic()."""
    local: list[bytes]
    genuine: Candidates


class Readings:
    """What was read lately, so that no signature is checked twice, and nothing asked twice at once."""

    def __init__(self) -> None:
        self._readings: dict[str, _Reading] = {}
        self._records = 0

    def add(self, key: str, local: list[bytes], found: Candidates) -> None:
        """Remember what was found; of many keys or records the oldest go.

        Args:
            key: where.
            local: the records under it that this peer kept itself then.
            found: what `leave_genuine` left.
        """
        self._forget(key)
        genuine = {name: records[:1] for name, records in found.items() if records}
        if not genuine:
            return
        self._readings[key] = _Reading(time.monotonic(), local, genuine)
        self._records += len(genuine)
        while len(self._readings) > READINGS or self._records > READ_RECORDS:
            self._forget(next(iter(self._readings)))

    def _forget(self, key: str) -> None:
        if (old := self._readings.pop(key, None)) is not None:
            self._records -= len(old.genuine)

    def genuine(self, key: str) -> Iterator[bytes]:
        """Records, as they travel, whose signatures were found good."""
        if (reading := self._readings.get(key)) is not None:
            for [record] in reading.genuine.values():
                yield record.raw

    def lately(self, key: str, local: list[bytes]) -> Candidates | None:
        """What was read within `AGAIN_S`; None: nothing, or other records have come here meanwhile.

        Args:
            key: where.
            local: the records under it that this peer keeps itself.
        """
        reading = self._readings.get(key)
        if reading is None or time.monotonic() - reading.at > AGAIN_S or reading.local != local:
            return None
        return reading.genuine
