"""Who contributed to a run, as an exported model names them."""

from core.contracts.credit import BoardTotals
from core.contracts.export import NAMED, Contributor, Contributors


def contributors(totals: BoardTotals) -> Contributors:
    """Who gave how much, by name where somebody has chosen one; all others are only counted.

    Args:
        totals: of one run.
    """
    verified: dict[str, float] = {}
    for line in totals.lines:
        verified[line.peer] = verified.get(line.peer, 0.0) + line.verified
    given = sorted(((peer, amount) for peer, amount in verified.items() if amount), key=lambda one: (-one[1], one[0]))
    names = {peer: named for peer, named in totals.peers.items() if named.name}
    shown = [peer for peer, _ in given if peer in names][:NAMED]
    named = [Contributor(names[peer].name, names[peer].team, verified[peer]) for peer in shown]
    others = [amount for peer, amount in given if peer not in {*shown}]
    return Contributors(named, len(others), sum(others))
