"""Figures and times as the user's locale writes them."""

from datetime import datetime

from PySide6.QtCore import QLocale, QTime


def locale() -> QLocale:
    """The user's locale; British English (commas, 24 hours) where the system names none."""
    system = QLocale()
    return (
        QLocale(QLocale.Language.English, QLocale.Country.UnitedKingdom)
        if system.language() == QLocale.Language.C
        else system
    )


def number(value: float, decimals: int = 0) -> str:
    """ "48,210"."""
    return locale().toString(float(value), "f", decimals)


def rate(value: float) -> str:
    """A rate with about three figures: "0.42", "9.4", "1,240"."""
    return number(value, 0 if value >= 20 or value == 0 else 1 if value >= 1 else 2)


def short(value: float) -> str:
    """A figure of an axis, without needless zeros: "0.05", "2"."""
    return locale().toString(float(value), "g", 3)


def percent(share: float) -> str:
    """ "97.2%" of a share from 0 to 1."""
    return f"{number(share * 100, 1)}%"


def clock(when: datetime) -> str:
    """ "14:31" or "2:31 PM"."""
    return locale().toString(QTime(when.hour, when.minute), QLocale.FormatType.ShortFormat)
