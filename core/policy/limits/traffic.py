"""Bytes over the network, by kind for people to read and by calendar month for the quota."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from core.community.days import month
from core.community.ledger import Ledger
from core.contracts.ledger import Amounts

REST = "other"
"""What is in no call: headers, acknowledgements, and what is still under way. That is counted where it belongs once its
call has ended, so this may fall by as much."""
LAST_S = 2.0
"""The rest of a month's traffic lasts at least so long each way: what moves between two counts is less than is left."""
LINE = 250e6
"""Bytes a second that no line of a volunteer passes."""
SLOWEST = 50e3
"""Bytes a second at the very end: a few seconds more, and no call waits for minutes."""
STEP = 1.25
"""From one rate to the next: peers are not told of each byte."""
SAME = {"net": "reach"}
"""Kinds that people are told of as one: both open connections."""
Moved = tuple[int, int]
"""Bytes received and sent."""


def brake(left: int) -> float:
    """Bytes a second, each way, when so many are left of the month's traffic; 0: as many as the line takes."""
    rate = max(SLOWEST, left / LAST_S)
    return 0.0 if rate > LINE else STEP ** math.floor(math.log(rate, STEP))


class Traffic:
    """Counts what this process moves, by kind, in the ledger: experts' calls, copies of checkpoints, the DHT ..."""

    def __init__(self, ledger: Ledger, runs: Callable[[], Sequence[str]]) -> None:
        """
        Args:
            ledger: what keeps the counts.
            runs: the ids of the runs of this PC, as they come and go: what belongs to no one run, as the DHT, counts
                for all of them in equal parts.
        """
        self._ledger, self._runs = ledger, runs
        self._whole: Moved = (0, 0)
        self._seen: dict[tuple[str, str], Moved] = {}
        """By run ("": all) and kind."""

    def count(self, moved: Moved, by_method: Mapping[str, Moved], now: float) -> int:
        """Note what was moved since this was asked last; the bytes of this month (local time), both ways.

        Args:
            moved: bytes of the whole transport since the start.
            by_method: those of calls, by method, such as "expert.forward@digits-2ac90b73".
            now: unix time.
        """
        self._whole = max(moved[0], self._whole[0]), max(moved[1], self._whole[1])
        received, sent = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for method, (into, out) in by_method.items():
            name, _, run_id = method.partition("@")
            first = name.partition(".")[0]
            kind = run_id, SAME.get(first, first)
            received[kind] += into
            sent[kind] += out
        kinds = {kind: (received[kind], sent[kind]) for kind in received}
        kinds["", REST] = self._whole[0] - received.total(), self._whole[1] - sent.total()
        for kind, total in kinds.items():
            before, self._seen[kind] = self._seen.get(kind, (0, 0)), total
            if total != before:
                self._book(*kind, total[0] - before[0], total[1] - before[1])
        this = self._ledger.days.sum(month(now))
        return this.bytes_in + this.bytes_out

    def _book(self, run_id: str, kind: str, received: int, sent: int) -> None:
        runs = [run_id] if run_id else self._runs()
        for at, run in enumerate(runs):  # whole bytes, and in all as many as there are
            part = Amounts(bytes_in=(received + at) // len(runs), bytes_out=(sent + at) // len(runs))
            self._ledger.add(run, f"network.{kind}", part)
