"""Fragments that a trainer has of their syncers' word are tried together: of one trunk that came piece by piece.

Whoever was away for long has an old trunk, to which a single new fragment may not fit, though all of them do.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping

from core.contracts.errors import CallTimeout
from core.contracts.taking_on import Compared, Verdict

GATHER_S = 5.0
"""For the other fragments, if they are old as well."""


class Together:
    """Of one run."""

    def __init__(
        self, compare: Callable[..., Awaitable[Compared]], is_whole: Callable[[Collection[int]], bool]
    ) -> None:
        """
        Args:
            compare: tries trunks, as `Agreement.compare`.
            is_whole: whether all other fragments are up to date, beside some.
        """
        self._compare, self._is_whole = compare, is_whole
        self._waiting: dict[int, bytes] = {}
        """The numbers of fragments that are to be tried."""
        self._verdicts: dict[int, Verdict | None] = {}
        """On those that were tried last."""
        self._came, self._trying = asyncio.Event(), asyncio.Lock()

    async def verdict(self, part: int, numbers: bytes) -> Verdict | None:
        """On a fragment, once the others that are to be tried are here as well.

        Args:
            part: which it is.
            numbers: float32.

        Returns:
            None: it does worse, but beside others that are old.

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
                    whole = self._is_whole(waiting.keys())
                    verdicts = await self._judge(waiting)
                    self._verdicts |= {
                        tried: None if verdict == "worse" and not whole else verdict
                        for tried, verdict in verdicts.items()
                    }
                    for tried in waiting:
                        self._waiting.pop(tried, None)
                finally:
                    self._waiting.pop(part, None)
            return self._verdicts[part]

    async def alone(self, part: int, numbers: bytes) -> Verdict:
        """On a fragment whose syncer is here. Where nobody trains, it is good: those who follow try it.

        Args:
            part: which it is.
            numbers: float32.
        """
        with contextlib.suppress(CallTimeout):
            return (await self._judge({part: numbers}))[part]
        return "good"

    async def _judge(self, numbers: Mapping[int, bytes]) -> dict[int, Verdict]:
        """All at once; if that is not good, each by itself."""
        [_, together] = (await self._compare([{}, numbers])).verdicts
        if together == "good" or len(numbers) == 1:
            return dict.fromkeys(numbers, together)
        each = (await self._compare([{}, *({part: some} for part, some in numbers.items())])).verdicts[1:]
        return dict(zip(numbers, each, strict=True))
