"""What was done by local day, exact at any moment: what budgets and quotas are measured by."""

import time
from collections.abc import Mapping

from core.contracts.ledger import Amounts

KEPT = 800
"""Days remembered: a clock that was wrong for a while finds the right month again."""


def day(moment: float) -> str:
    """The local day of a unix time: "2026-11-21"."""
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def month(moment: float) -> str:
    """Its calendar month: "2026-11"."""
    return day(moment)[:7]


def plus(one: Amounts, other: Amounts) -> Amounts:
    """The sum of two amounts."""
    return Amounts(*(getattr(one, metric) + getattr(other, metric) for metric in Amounts.__struct_fields__))


class Days:
    """The sums of each day, in memory."""

    def __init__(self, earlier: Mapping[str, Amounts]) -> None:
        """The sums so far.

        Args:
            earlier: what there was before this process, by day.
        """
        self._days = dict(earlier)

    def add(self, moment: float, amounts: Amounts) -> None:
        """Count what was done at a unix time."""
        today = day(moment)
        self._days[today] = plus(self._days.get(today, Amounts()), amounts)
        while len(self._days) > KEPT:
            del self._days[min(self._days)]

    def sum(self, period: str) -> Amounts:
        """Of a day ("2026-11-21") or a month ("2026-11")."""
        found = Amounts()
        for name, amounts in self._days.items():
            if name.startswith(period):
                found = plus(found, amounts)
        return found
