"""Figures and times as the user's locale writes them."""

import re

from PySide6.QtGui import Qt

from app import language
from app.language import locale, tr
from core.contracts.kinds import TASKS
from core.contracts.words import traffic

NONE = "\N{EN DASH}"
"""In the place of a figure that is not known."""


def tip(text: str) -> str:
    """A tooltip or message that says just this: in what looks like HTML Qt would load the pictures from anywhere."""
    return Qt.convertFromPlainText(text) if Qt.mightBeRichText(text) else text


def number(value: float, decimals: int = 0) -> str:
    """ "48,210"."""
    return locale().toString(float(value), "f", decimals)


def rate(value: float) -> str:
    """A rate with about three figures: "0.42", "9.4", "1,240"."""
    return number(value, 0 if value >= 20 or value == 0 else 1 if value >= 1 else 2)


def pace(task: str, per_s: float) -> str:
    """What a run trains on in a second: "4.2 kB of text", "4,200 tokens", "312 samples".

    Args:
        task: of the run, a name of `TASKS`.
        per_s: what the run counts, by its task's unit.
    """
    unit = TASKS[task].unit
    if unit == "bytes":
        return tr("{size} of text", size=data_size(per_s))
    return tr("{rate} tokens", rate=rate(per_s)) if unit == "tokens" else tr("{rate} samples", rate=rate(per_s))


def short(value: float) -> str:
    """A figure of an axis, without needless zeros: "0.05", "2", "2,000"."""
    return number(value) if abs(value) >= 100 else locale().toString(float(value), "g", 3)


def count(value: float, exact_below: int = 10_000) -> str:
    """A count where there is little room, in about three figures: "9,999", "12.3 k", "123 k", "1.24 M", "2.05 bn".

    Args:
        value: the count.
        exact_below: the count from which on it is rounded.
    """
    if value < exact_below:
        return number(value)
    unit = ""
    for greater in ("k", "M", tr("bn")):
        if value < 999.5:
            break
        value, unit = value / 1000, greater
    return f"{number(value, 0 if value >= 99.95 else 1 if value >= 9.995 else 2)} {unit}"


def percent(share: float, decimals: int = 1) -> str:
    """ "97.2%" of a share from 0 to 1."""
    return language.percent(number(share * 100, decimals))


def data_size(count: float, whole_from: int = 100) -> str:
    """Bytes with about three figures: "812 B", "4.2 MB".

    Args:
        count: bytes.
        whole_from: the amount of a unit from which on there is no decimal.
    """
    return traffic(count, number, whole_from)


def milliseconds(ms: float) -> str:
    """A short time: "0.4 ms", "34 ms", "1.2 s"."""
    return f"{number(ms / 1000, 1)} s" if ms >= 1000 else f"{number(ms, 0 if ms >= 10 else 1)} ms"


UNITS = {"h": 3600, "min": 60, "s": 1}
DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,6})s)?", re.IGNORECASE)
MINUTES_SECONDS = re.compile(r"(\d{1,6}):([0-5]\d)")


def duration(seconds: int) -> str:
    """A time in words: "5 min", "1 min 30 s", "1 h", "10 s"."""
    parts: list[str] = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def seconds_of(text: str, unit: str = "s") -> int | None:
    """The seconds of a time as `duration` writes it, of "1:30", or of a number alone, which counts `unit`s.

    Returns:
        None if it is no time.
    """
    text = "".join(text.split())
    if text.isdecimal() and len(text) <= 6:
        return int(text) * UNITS[unit]
    if parts := MINUTES_SECONDS.fullmatch(text):
        return int(parts[1]) * 60 + int(parts[2])
    found = DURATION.fullmatch(text)
    if not text or found is None:
        return None
    return sum(int(part or 0) * size for part, size in zip(found.groups(), UNITS.values(), strict=True))
