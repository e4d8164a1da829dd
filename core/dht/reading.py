"""From what replicas answered to what is true: records of this time, genuine, the newest of each."""

import asyncio

from core.contracts.dht import MAX_FOUND
from core.contracts.errors import RecordError
from core.dht.records import Record, Verdict, genuine, parse, timely
from core.identity import PeerId


def candidates(key: str, answers: list[list[bytes]], now: float) -> dict[tuple[str, PeerId], list[Record]]:
    """Records under `key` that are of this time, by subkey and publisher, newest first; signatures unchecked."""
    found: dict[tuple[str, PeerId], list[Record]] = {}
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


async def leave_genuine(found_by_key: list[dict[tuple[str, PeerId], list[Record]]]) -> None:
    """Drop forged records from the front until every list begins with a genuine one. All are checked together."""
    unchecked = [records for found in found_by_key for records in found.values()]
    while unchecked:
        good = await check_all([records[0] for records in unchecked])
        bad = [records for records, signed in zip(unchecked, good, strict=True) if not signed]
        for records in bad:
            records.pop(0)
        unchecked = [records for records in bad if records]


def newest(found: dict[tuple[str, PeerId], list[Record]], buried: bool = False) -> dict[str, Record]:
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
