"""How much of the model's answers other peers get here: who works for the run is answered more, strangers a little.

A host decides by what it knows itself: the work that its own audits confirmed, and the samples that it saw accepted.
What others say of a peer gives it nothing, as two keys could sign for each other.
"""

import time
from typing import NamedTuple

from core.community.credit_book import CreditBook
from core.contracts.errors import AllowanceSpent
from core.net.limits import Newest, TokenBucket

HOUR_S = 3600.0
LITTLE = 300_000
"""Rows of an expert that anybody may ask for in an hour: where this PC gives all of them, two or three answers of 200
bytes by `text`, or 37,000 digits."""
STRANGERS = 8 * LITTLE
"""The same for all together of whom nothing is known, as anybody can have many keys."""
RETURN = 0.1
"""Part of a peer's work of the last weeks that it may ask for in an hour, too."""
LOOK_S = 60.0
"""Between two looks at what is known of a peer."""
ASKERS = 4096
"""Remembered; of too many, those that were looked at last."""


class _Asker(NamedTuple):
    bucket: TokenBucket
    looked_at: float
    """time.monotonic()."""
    is_stranger: bool


class Allowance:
    """Of one run, for all peers that ask its model through experts of this PC."""

    def __init__(self, run_id: str, book: CreditBook, row_bytes: int) -> None:
        """Nobody has asked yet.

        Args:
            run_id: the run.
            book: what is known of peers.
            row_bytes: of a row on its way between peers.
        """
        self._run, self._book, self._row_bytes = run_id, book, row_bytes
        self._askers = Newest[bytes, _Asker](ASKERS)
        self._strangers = TokenBucket(STRANGERS / HOUR_S, STRANGERS)

    def spend(self, peer: bytes, size: int) -> None:
        """Let a peer ask, or not.

        Args:
            peer: who asks.
            size: bytes of its rows.

        Raises:
            AllowanceSpent: it has asked enough for now.
        """
        now, rows = time.monotonic(), size / self._row_bytes
        asker = self._askers.get(peer)
        if asker is None or now - asker.looked_at > LOOK_S:
            asker = self._looked_at(peer, asker, now)
        if not asker.bucket.allows(rows, now) or (asker.is_stranger and not self._strangers.allows(rows, now)):
            raise AllowanceSpent("You have asked enough for now. Work for the run, or ask again later.")

    def _looked_at(self, peer: bytes, before: _Asker | None, now: float) -> _Asker:
        known = self._book.known(self._run, peer)
        burst = LITTLE + RETURN * known
        bucket = TokenBucket(burst / HOUR_S, burst)
        if before:
            more = burst - before.bucket.burst
            bucket.tokens, bucket.at = before.bucket.tokens + max(0.0, more), before.bucket.at
        self._askers[peer] = asker = _Asker(bucket, now, known == 0)
        return asker
