"""Fragments that a trainer has of their syncers' word are tried together: of one trunk that came piece by piece.

Whoever was away for long has an old trunk, to which a single new fragment may not fit, though all of them do.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping

from core.averaging.fragment import Fragment
from core.contracts.errors import CallTimeout
from core.contracts.taking_on import Compared, Verdict

GATHER_S = 5.0
"""For the other fragments, if they are old as well."""
CURRENT_S = 60.0
"""What was agreed on so short a time ago is not old, unless this PC was away since then."""


class Together:
    """Of one run."""

    def __init__(
        self,
        compare: Callable[..., Awaitable[Compared]],
        parts: Callable[[], Collection[int]],
        heard: Mapping[int, float],
        synced: Collection[int],
        fragments: Mapping[int, Fragment],
    ) -> None:
        """
        Args:
            compare: tries trunks, as `Agreement.compare`.
            parts: all that the trunk is cut into; none: that is not known yet.
            heard: when each fragment was agreed on last, unix time.
            synced: the fragments that are synced here.
            fragments: as they are agreed, as far as the worker knows.
        """
        self._compare, self._parts = compare, parts
        self._heard, self._synced, self._fragments = heard, synced, fragments
        self._back = 0.0
        self._doubted = set[int]()
        """Fragments that did worse while it was too early to hold that against who gave them."""
        self._waiting: dict[int, bytes] = {}
        """The numbers of fragments that are to be tried."""
        self._verdicts: dict[int, Verdict | None] = {}
        """On those that were tried last."""
        self._came, self._trying = asyncio.Event(), asyncio.Lock()

    def comes_back(self, part: int) -> bool:
        """A fragment is far ahead of what is known here: this PC was away, and the others are old, too.

        Args:
            part: which it is.

        Returns:
            Whether that is news. It is none of a fragment that did worse the last time: else whoever gives such ones
            could have each of them excused.
        """
        news = not self._is_back() and part not in self._doubted
        if news:
            self._back = time.time()
        return news

    def _is_back(self) -> bool:
        """Whether this PC was away not long ago: the experts here are old as well, until they have trained with the new
        trunk."""
        return time.time() - self._back < CURRENT_S

    def _is_whole(self, tried: Collection[int]) -> bool:
        """Whether all fragments of the trunk but some are as they are agreed now."""
        since, parts = max(time.time() - CURRENT_S, self._back), self._parts()
        old = {part for part in parts if self._heard.get(part, 0.0) < since}
        return bool(parts) and old <= {*tried, *self._synced}

    async def verdict(self, part: int, numbers: bytes) -> Verdict | None:
        """On a fragment, once the others that are to be tried are here as well.

        Args:
            part: which it is.
            numbers: float32.

        Returns:
            None: it does worse, but beside fragments or experts that are old.

        Raises:
            CallTimeout: it cannot be told now.
        """
        self._waiting[part] = numbers
        self._came.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GATHER_S):
                while not self._is_whole(self._waiting.keys()):
                    self._came.clear()
                    await self._came.wait()
        async with self._trying:
            if self._waiting.get(part) is numbers:  # else it was tried with another one
                waiting = dict(self._waiting)
                try:
                    too_early = self._is_back() or not self._is_whole(waiting.keys())
                    verdicts = await self._judge(waiting)
                    doubted = {tried for tried, verdict in verdicts.items() if verdict == "worse" and too_early}
                    self._doubted = self._doubted - waiting.keys() | doubted
                    self._verdicts |= verdicts | dict.fromkeys(doubted)
                    for tried in waiting:
                        self._waiting.pop(tried, None)
                finally:
                    self._waiting.pop(part, None)
            return self._verdicts[part]

    async def alone(self, part: int, numbers: bytes) -> Verdict | None:
        """On a fragment whose syncer is here; None: it cannot be told, as where nobody trains. Those who follow try it.

        Args:
            part: which it is.
            numbers: float32.
        """
        with contextlib.suppress(CallTimeout):
            return (await self._judge({part: numbers}))[part]
        return None

    async def _judge(self, numbers: Mapping[int, bytes]) -> dict[int, Verdict]:
        """All at once; if that is not good, each by itself. The trainer of a PC that was away still has old ones when
        the worker knows newer ones."""
        beside = {part: it.numbers.tobytes() for part, it in self._fragments.items()} if self._is_back() else {}
        [_, together] = (await self._compare([{}, {**beside, **numbers}])).verdicts
        if together == "good" or len(numbers) == 1:
            return dict.fromkeys(numbers, together)
        each = (await self._compare([{}, *({**beside, part: some} for part, some in numbers.items())])).verdicts[1:]
        return dict(zip(numbers, each, strict=True))
