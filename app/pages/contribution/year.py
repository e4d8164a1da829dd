"""A calendar year of this PC as a card to share: what it did from the first of January on, and its months as bars."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise

from PySide6.QtCore import QLocale

from app.language import locale, tr
from app.pages.contribution.history import KINDS, day_name
from app.pages.contribution.share_picture import Shared
from app.widgets.bar_plot import Bars, Part
from core.contracts.ledger import Metric, Series, SeriesParams

FIGURES: tuple[Metric, ...] = ("seconds", "peer_calls", "reduced", "samples", "tokens", "kwh")
"""Of the card; the first four of which there is anything are shown."""
MONTHS = 12
LATE = 2
"""In so many months of a new year, the card is of the year before."""


def meaning(metric: Metric) -> str:
    """What an amount on a card to share is."""
    words: dict[Metric, str] = {
        "seconds": tr("of computing"),
        "peer_calls": tr("calls for others"),
        "reduced": tr("combined for others"),
        "samples": tr("samples trained here"),
        "tokens": tr("trained here"),
        "kwh": tr("of electricity"),
    }
    return words[metric]


def year_of(now: float) -> int:
    """The year that a card of this moment (unix time) is of."""
    today = datetime.fromtimestamp(now)
    return today.year - (today.month <= LATE)


def questions(year: int, now: float) -> dict[Metric, SeriesParams]:
    """What the ledger is asked for the card of a year, at a unix time."""
    start, end = datetime(year, 1, 1).timestamp(), min(now, datetime(year + 1, 1, 1).timestamp())
    return {metric: SeriesParams(metric, start, end, "day") for metric in FIGURES}


def shared(year: int, answers: Mapping[Metric, Series], now: float) -> Shared:
    """The card.

    Args:
        year: that it is of.
        answers: to `questions`.
        now: unix time.
    """
    sums = {metric: sum(map(sum, answers[metric].values.values())) for metric in FIGURES}
    told = [(KINDS[metric].short(amount), meaning(metric)) for metric, amount in sums.items() if amount]
    names = [locale().standaloneMonthName(month, QLocale.FormatType.ShortFormat) for month in range(1, MONTHS + 1)]
    bars = Bars(names, names, [Part("", "ember_fill", _months(answers["seconds"]))])
    headline = tr("What this PC gave to a neural network of volunteers in {year}", year=str(year))
    caption = tr("Compute time, January to December {year}.", year=str(year))
    return Shared(headline, tuple(told[:4]), bars, caption, day_name(now))


def _months(series: Series) -> list[float]:
    """An amount for each month."""
    sums = [0.0] * MONTHS
    for at, (start, _) in enumerate(pairwise(series.times)):
        sums[datetime.fromtimestamp(start).month - 1] += sum(values[at] for values in series.values.values())
    return sums
