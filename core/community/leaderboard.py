"""Who was credited with most, of those that wish to be shown: without a name a peer is counted and not listed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from core.contracts.credit import BoardTotals, Leaderboard, Line, Named, Ranked, Ranking

LISTED = 10
"""Beside this PC."""
NOBODY = Named("", "")


def leaderboard(totals: BoardTotals, me: str, today: int) -> Leaderboard:
    """Rank what a board has summed.

    Args:
        totals: the sums.
        me: this PC's key, as hex digits.
        today: the day (UTC).
    """

    def of(days: int | None) -> Ranking:
        return _ranking((line for line in totals.lines if days is None or line.day > today - days), totals.peers, me)

    return Leaderboard(of(1), of(7), of(None))


def _ranking(lines: Iterable[Line], names: Mapping[str, Named], me: str) -> Ranking:
    verified = defaultdict[str, float](float)
    for line in lines:
        if line.verified:
            verified[line.peer] += line.verified
    best: list[Ranked] = []
    for place, (peer, amount) in enumerate(sorted(verified.items(), key=lambda one: (-one[1], one[0])), 1):
        named = names.get(peer, NOBODY)
        if peer == me or (named.name and len(best) < LISTED):
            best.append(Ranked(place, named.name, named.team, amount, peer == me))
    left = sum(verified.values()) - sum(one.verified for one in best)
    return Ranking(best, len(verified) - len(best), max(0.0, left))
