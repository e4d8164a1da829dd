"""A board as one static HTML page: what peers, teams and runs were credited with. It asks nobody for anything, and runs
no script."""

import html
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from core.contracts.credit import DAY_S, TOTALS_FILE, BoardTotals, Line
from core.contracts.words import operations

ROWS = 100
DAYS = 60
"""Of the plots."""
WIDTH, HEIGHT = 640, 120
REASONS = {
    "own": "computed for itself or its own team: never counts",
    "audited": "not audited by the trainer as yet",
    "budget": "the trainer signed for more than the samples that others saw it train",
    "speed": "more than trusted trainers' samples of this host make likely",
    "quarter": "more than a quarter from one trainer",
}
STYLE = """
:root { color-scheme: light dark; --text: #1c1c1e; --soft: #6b6b70; --line: #d8d8dc; --bar: #2f6fde; --back: #fff }
@media (prefers-color-scheme: dark) {
  :root { --text: #ececee; --soft: #9a9aa0; --line: #3a3a3e; --bar: #6d9ff0; --back: #18181a } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem } p, figcaption { color: var(--soft) }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .5rem .25rem 0;
  border-bottom: 1px solid var(--line); font-weight: normal } th { color: var(--soft) }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums } figure { margin: 1rem 0 }
svg { width: 100%; height: auto } rect { fill: var(--bar) } svg line { stroke: var(--line) }
"""


def page(totals: BoardTotals) -> str:
    """The document."""
    parts = [
        f"<p>{operations(_sum(totals.lines))} verified, {operations(_pending(totals.lines))} pending. "
        f"{totals.sheets:,} signed sheets of work, checked on {_date(totals.time)} by the board "
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
    if reasons := _reasons(totals.lines):
        rows = "".join(
            f"<tr><td>{html.escape(REASONS.get(reason, reason))}</td><td>{operations(amount)}</td></tr>"
            for reason, amount in sorted(reasons.items(), key=lambda one: -one[1])
        )
        parts.append(f"<h2>Why something is pending</h2><table>{rows}</table>")
    trusted = ", ".join(f"<code>{peer[:16]}</code>" for peer in totals.trusted)
    parts.append(f"<p>Trusted to audit: {trusted}.</p>")
    if totals.refused:
        parts.append("<h2>Refused</h2>" + "".join(f"<p>{html.escape(one)}</p>" for one in totals.refused))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Hearth: credit</title><style>{STYLE}</style></head><body><h1>Who computed for whom</h1>"
        + "".join(parts)
        + "</body></html>\n"
    )


def _named(totals: BoardTotals, peer: str) -> str:
    named = totals.peers.get(peer)
    return f"{named.name} ({peer[:8]})" if named and named.name else peer[:16]


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
        f"<title>{_date(day * DAY_S)}: {operations(by_day[day])}</title></rect>"
        for place, day in enumerate(days)
        if by_day[day]
    )
    first, last = _date(days[0] * DAY_S), _date(today * DAY_S)
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT + 1}" role="img" aria-label="{title}">{bars}'
        f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/></svg>'
        f"<figcaption>{title}, {first} to {last}; at most {operations(most)} a day.</figcaption></figure>"
    )


def _reasons(lines: Iterable[Line]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for line in lines:
        for reason, amount in line.pending.items():
            found[reason] += amount
    return found


def _sum(lines: Iterable[Line]) -> float:
    return sum(line.verified for line in lines)


def _pending(lines: Iterable[Line]) -> float:
    return sum(sum(line.pending.values()) for line in lines)


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
