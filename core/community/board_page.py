"""A board as one static HTML page: what peers, teams and runs were credited with. It asks nobody for anything, and runs
no script."""

import html
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from core.community.html_page import HEIGHT, WIDTH, date, document, figure
from core.contracts.credit import DAY_S, TOTALS_FILE, BoardTotals, Line
from core.contracts.words import operations

ROWS = 100
DAYS = 60
"""Of the plots."""
REASONS = {
    "own": "computed for itself or its own team: never counts",
    "audited": "not audited by the trainer as yet",
    "budget": "the trainer signed for more than the samples that others saw it train",
    "speed": "more than trusted trainers' samples of this host make likely",
    "quarter": "more than a quarter from one trainer",
}


def page(totals: BoardTotals) -> str:
    """The document."""
    verified, reasons = sum(line.verified for line in totals.lines), pending_by_reason(totals.lines)
    parts = [
        f"<p>{operations(verified)} verified, {operations(sum(reasons.values()))} pending. "
        f"{totals.sheets:,} signed sheets of work, checked on {date(totals.time)} by the board "
        f"<code>{totals.board[:16]}</code>. <code>hearth credit verify</code> checks the sums in "
        f'<a href="{TOTALS_FILE}">{TOTALS_FILE}</a>.</p>',
        _plot("Verified by day", totals.lines, int(totals.time // DAY_S)),
        _table("Peers", "Peer", _by(totals.lines, lambda line: _named(totals, line.peer))),
    ]
    teams = {peer: named.team for peer, named in totals.peers.items() if named.team}
    of_teams = [line for line in totals.lines if line.peer in teams]
    if of_teams:
        parts.append(_table("Teams", "Team", _by(of_teams, lambda line: teams[line.peer])))
    parts.append(_table("Runs", "Run", _by(totals.lines, lambda line: totals.runs.get(line.run, line.run))))
    if reasons:
        rows = "".join(
            f"<tr><td>{html.escape(REASONS.get(reason, reason))}</td><td>{operations(amount)}</td></tr>"
            for reason, amount in sorted(reasons.items(), key=lambda one: -one[1])
        )
        parts.append(f"<h2>Why something is pending</h2><table>{rows}</table>")
    trusted = ", ".join(f"<code>{peer[:16]}</code>" for peer in totals.trusted)
    parts.append(f"<p>Trusted to audit: {trusted}.</p>")
    if totals.refused:
        parts.append("<h2>Refused</h2>" + "".join(f"<p>{html.escape(one)}</p>" for one in totals.refused))
    return document("Hearth: credit", "Who computed for whom", parts)


def _named(totals: BoardTotals, peer: str) -> str:
    """Who has chosen no name does not appear."""
    named = totals.peers.get(peer)
    return f"{named.name} ({peer[:8]})" if named and named.name else "All without a name"


def _by(lines: Iterable[Line], name: Callable[[Line], str]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for line in lines:
        verified, pending = found[name(line)]
        found[name(line)] = verified + line.verified, pending + sum(line.pending.values())
    return found


def _table(title: str, head: str, rows: Mapping[str, tuple[float, float]]) -> str:
    order = sorted(rows.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    body = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{operations(verified)}</td><td>{operations(pending)}</td></tr>"
        for name, (verified, pending) in order[:ROWS]
    )
    more = f"<p>And {len(order) - ROWS:,} more.</p>" if len(order) > ROWS else ""
    heads = f"<tr><th>{head}</th><th>Verified</th><th>Pending</th></tr>"
    return f"<h2>{title}</h2><table>{heads}{body}</table>{more}"


def _plot(title: str, lines: Iterable[Line], today: int) -> str:
    by_day: dict[int, float] = defaultdict(float)
    for line in lines:
        by_day[line.day] += line.verified
    days = range(today - DAYS + 1, today + 1)
    most = max((by_day[day] for day in days), default=0.0) or 1.0
    step = WIDTH / DAYS
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{HEIGHT * (1 - by_day[day] / most):.1f}" width="{step - 2:.1f}" '
        f'height="{HEIGHT * by_day[day] / most:.1f}">'
        f"<title>{date(day * DAY_S)}: {operations(by_day[day])}</title></rect>"
        for place, day in enumerate(days)
        if by_day[day]
    )
    first, last = date(days[0] * DAY_S), date(today * DAY_S)
    return figure(title, bars, f"{title}, {first} to {last}; at most {operations(most)} a day.")


def pending_by_reason(lines: Iterable[Line]) -> dict[str, float]:
    """FLOPs that do not count as yet, by why."""
    found: dict[str, float] = defaultdict(float)
    for line in lines:
        for reason, amount in line.pending.items():
            found[reason] += amount
    return found
