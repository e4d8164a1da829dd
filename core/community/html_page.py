"""Static HTML pages with plots, for any web server: light and dark, for phones, too. They ask nobody for anything, and
run no script."""

import html
import math
import time
from collections.abc import Callable, Iterable, Sequence

WIDTH, HEIGHT = 640, 120
"""Of a plot; it is drawn as wide as the page."""
STYLE = """
:root { color-scheme: light dark; --text: #1c1c1e; --soft: #6b6b70; --line: #d8d8dc; --bar: #2f6fde; --back: #fff }
@media (prefers-color-scheme: dark) {
  :root { --text: #ececee; --soft: #9a9aa0; --line: #3a3a3e; --bar: #6d9ff0; --back: #18181a } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem } p, figcaption { color: var(--soft) }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .5rem .25rem 0;
  border-bottom: 1px solid var(--line); font-weight: normal; overflow-wrap: anywhere; vertical-align: top }
th, .facts td:first-child { color: var(--soft) } .facts td:first-child { white-space: nowrap; padding-right: 1.5rem }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums } .facts td + td { text-align: left }
figure { margin: 1rem 0 }
svg { width: 100%; height: auto; overflow: visible } rect, circle { fill: var(--bar) } svg line { stroke: var(--line) }
polyline { fill: none; stroke: var(--bar); stroke-width: 2; stroke-linejoin: round; vector-effect: non-scaling-stroke }
"""


def document(title: str, heading: str, parts: Iterable[str]) -> str:
    """The whole page.

    Args:
        title: of the window.
        heading: on the page.
        parts: what stands below, in HTML.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(heading)}</h1>"
        + "".join(parts)
        + "</body></html>\n"
    )


def figure(title: str, drawn: str, caption: str) -> str:
    """A plot.

    Args:
        title: of what.
        drawn: what is in it, in SVG, within `WIDTH` and `HEIGHT`.
        caption: below it.
    """
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT + 1}" role="img" aria-label="{html.escape(title)}">{drawn}'
        f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/></svg>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def curve(points: Sequence[tuple[float, float, str]]) -> str:
    """A line through points, in SVG; each says what it is when it is pointed at.

    Args:
        points: x, y and words, the smallest x first.
    """
    across, down = _scale([x for x, _, _ in points], WIDTH), _scale([-y for _, y, _ in points], HEIGHT)
    places = [(across(x), down(-y), words) for x, y, words in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{html.escape(words)}</title></circle>'
        for x, y, words in places
    )
    return f'<polyline points="{line}"/>{dots}'


def _scale(values: Sequence[float], length: int) -> Callable[[float], float]:
    """Where a value is drawn: from 0 to a length."""
    least, most = min(values), max(values)
    wide = most - least
    return lambda value: length * (value - least) / wide if math.isfinite(wide) and wide > 0 else length / 2


def date(moment: float) -> str:
    """The day (UTC) of a unix time."""
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
