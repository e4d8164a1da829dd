"""The window's language: Qt translations, read from the .ts files of `resources/translations` as they are.

Every text of the app goes through `tr`; a constant that is made when its module is imported is only marked (`mark`),
and goes through `tr` where it is shown. A window keeps the language that it was built in until its next start. The
worker says what is so by codes with arguments (`core.contracts.notices`); `told` makes sentences of them, which
stand in the same files. `python -m tests.translations` brings the files up to date with the sources.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from PySide6.QtCore import QCoreApplication, QDate, QLibraryInfo, QLocale, QTime, QTranslator
from PySide6.QtGui import QGuiApplication

from core.contracts import words
from core.contracts.notices import CONTEXT, Language, Notice, tenths

WINDOW, SETTINGS, RUNS, WORKER = "window", "settings", "runs", CONTEXT
"""Contexts: the app's own texts, those that settings are declared with, the worker's sentences."""
LANGUAGES = ("en", "de")
BRITISH = QLocale(QLocale.Language.English, QLocale.Country.UnitedKingdom)
"""Commas and 24 hours, where the system names no locale."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Message(NamedTuple):
    """What a text is found by."""

    context: str
    source: str
    about: str = ""
    """Tells apart what is one word in English and several in other languages."""


def read(language: str) -> dict[Message, tuple[str, ...]]:
    """All messages of a .ts file, with the translation or its plural forms; empty ones are not finished."""
    text = files("resources").joinpath("translations", f"{language}.ts").read_text(encoding="utf-8")
    messages = {}
    for context in ElementTree.fromstring(text).iter("context"):
        name = context.findtext("name", "")
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None, message.findtext("source")
            forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
            if translation.get("type") == "unfinished":
                forms = [""] * len(forms)
            messages[Message(name, message.findtext("source", ""), message.findtext("comment", ""))] = tuple(forms)
    return messages


class Catalogue(QTranslator):
    """Translations that Qt asks for; for languages with one form for 1 and one for all other numbers."""

    def __init__(self, messages: Mapping[Message, tuple[str, ...]]) -> None:
        super().__init__()
        self.messages = messages

    def isEmpty(self) -> bool:
        return not self.messages

    def translate(self, context: str, text: str, about: str | None = None, n: int = -1) -> str | None:
        forms = self.messages.get(Message(context, text, about or ""))
        if forms is None:
            return None  # Qt asks the next one, or shows the source
        return forms[n != 1 if len(forms) > 1 else 0] or None


class _Spoken:
    """What is in force in this process."""

    language = ""
    catalogue = Catalogue({})
    locale: QLocale | None = None
    qt: QTranslator | None = None


def locale() -> QLocale:
    """How figures and dates are written: as the user's system does it, where that speaks the window's language."""
    if _Spoken.locale is None:
        speak("system")
    assert _Spoken.locale is not None
    return _Spoken.locale


def language() -> str:
    """Which of `LANGUAGES` is in use."""
    locale()  # or none is yet
    return _Spoken.language


def _system(language: str | None) -> QLocale:
    system = QLocale.system()
    if system.language() == QLocale.Language.C:
        system = BRITISH
    if language is None or QLocale(language).language() == system.language():
        return system
    return BRITISH if language == "en" else QLocale(language)


def system_language() -> str:
    """The first of the user's languages that the window speaks."""
    wished = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((name for name in wished if name in LANGUAGES), "en")


def speak(choice: str) -> None:
    """Use a language from now on; texts that are shown already stay.

    Args:
        choice: one of `LANGUAGES`; anything else, such as "system", follows the system.
    """
    language = _language_of(choice)
    use(_catalogue(language), _system(language if choice in LANGUAGES else None), language)


def is_spoken(choice: str) -> bool:
    """Whether `speak` of this choice would change nothing."""
    return _Spoken.language == _language_of(choice)


def _language_of(choice: str) -> str:
    return choice if choice in LANGUAGES else system_language()


@lru_cache(maxsize=4)
def _catalogue(language: str) -> Catalogue:
    return Catalogue(read(language))


def use(catalogue: Catalogue, as_written: QLocale, language: str = "en") -> None:
    """Use these texts and this way of writing figures; Qt's own dialogs take theirs from Qt."""
    for old in (_Spoken.catalogue, _Spoken.qt):
        if old is not None:
            QCoreApplication.removeTranslator(old)
    qt = QTranslator()
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    _Spoken.qt = qt if language != "en" and qt.load(f"qtbase_{language}", folder) else None
    _Spoken.language, _Spoken.catalogue, _Spoken.locale = language, catalogue, as_written
    for new in (_Spoken.qt, catalogue):
        if new is not None:
            QCoreApplication.installTranslator(new)
    QLocale.setDefault(as_written)
    if isinstance(app := QCoreApplication.instance(), QGuiApplication):
        app.setLayoutDirection(QLocale(language).textDirection())


def mark(text: str) -> str:
    """A text that goes through `tr` where it is shown."""
    return text


def tr(text: str, n: int | None = None, /, about: str = "", **values: Any) -> str:
    """A text of the app in the window's language.

    Args:
        text: in English; placeholders are `{names}`, and "%Ln" is the number that decides the plural form.
        n: that number.
        about: what is meant, where English has one word for several things.
        values: of the placeholders.
    """
    return _of(WINDOW, text, n, about, values)


def tr_setting(text: str) -> str:
    """A text that a setting is declared with in `core.contracts.settings`."""
    return _of(SETTINGS, text, None, "", {})


def tr_run(title: str) -> str:
    """The title of a run; those that come with Hearth are translated."""
    return _of(RUNS, title, None, "", {})


def _of(context: str, text: str, n: int | None, about: str, values: dict[str, Any]) -> str:
    if not text:
        return ""
    if _Spoken.locale is None:
        speak("system")
    much = n is not None and n >= 2**31  # Qt takes no more: a run's samples, or the cells of its grid, may be
    found = QCoreApplication.translate(context, text, about, -1 if n is None or much else n)
    if n is not None and much:
        found = found.replace("%Ln", locale().toString(float(n), "f", 0))
    return fill(found, values) if values else found


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Put values into the placeholders."""
    return PLACEHOLDER.sub(lambda place: str(values.get(place[1], place[0])), text)


def told(said: Notice | Iterable[Notice], now: float | None = None) -> str:
    """What the worker says.

    Args:
        said: a notice, or several one after the other.
        now: unix time that countdowns and days refer to; that of the clock if None.
    """
    return WORKERS(said, now)


def phrase(said: Notice | Iterable[Notice]) -> str:
    """The same without a full stop."""
    return WORKERS.phrase(said)


def _find(code: str, number: int | None) -> str | None:
    if _Spoken.locale is None:
        speak("system")
    found = QCoreApplication.translate(WORKER, code, "", -1 if number is None else min(number, 2))
    return None if found == code else found


def in_fahrenheit() -> bool:
    """Whether the user's locale has temperatures in °F; the worker and the settings have them in °C."""
    return locale().measurementSystem() == QLocale.MeasurementSystem.ImperialUSSystem


def to_fahrenheit(celsius: float) -> float:
    return celsius * 9 / 5 + 32


def temperature(celsius: float) -> str:
    """ "58 °C", or "136 °F" where the locale has it so."""
    shown, unit = (to_fahrenheit(celsius), "°F") if in_fahrenheit() else (celsius, "°C")
    return f"{locale().toString(float(shown), 'f', 0)} {unit}"


def at_most(value: float, decimals: int) -> str:
    """A figure with so many decimals at most."""
    return locale().toString(float(round(value, decimals)), "g", 10)


def clock(when: datetime | time, seconds: bool = False) -> str:
    """ "14:31" or "2:31 PM".

    Args:
        when: the time.
        seconds: these, too: "14:31:05".
    """
    form = locale().timeFormat(QLocale.FormatType.ShortFormat)
    if seconds and "s" not in form:
        form = form.replace("mm", "mm" + form[max(form.find("mm") - 1, 0)] + "ss")
    return locale().toString(QTime(when.hour, when.minute, when.second), form)


def hour(of_day: int) -> str:
    """The same of a full hour where there is little room: "14:00" or "2 PM"."""
    halves = "a" in locale().timeFormat(QLocale.FormatType.ShortFormat).lower()
    return locale().toString(QTime(of_day % 24, 0), "h AP" if halves else "HH:mm")


def day(when: date, *, short: bool = False, year: bool = False, weekday: bool = False) -> str:
    """ "4 September" or "September 4".

    Args:
        when: the day.
        short: the month is, as "4 Sep".
        year: also this.
        weekday: also this, as "Fri 4 September".
    """
    form = re.sub("^d{4}[^dMy]*|[^dMy]*d{4}$", "", locale().dateFormat(QLocale.FormatType.LongFormat))
    if not year:
        form = re.sub("^y+[^dM]*|[^dMy']*('[^']*'[^dMy']*)?y+[^dM]*$", "", form)
    form = form.replace("MMMM", "MMM") if short else form
    return locale().toString(QDate(when.year, when.month, when.day), f"ddd {form}" if weekday else form)


def _clock(moment: float, now: float) -> str:
    """The clock, with the day's name if that is 20 hours away or more."""
    local = datetime.fromtimestamp(moment)
    if abs(moment - now) < 20 * 3600:
        return clock(local)
    name = locale().dayName(local.isoweekday(), QLocale.FormatType.ShortFormat)
    return f"{name.removesuffix('.')} {clock(local)}"


WORKERS = Language(
    _find,
    {
        "clock": _clock,
        "date": lambda moment, _: day(date.fromtimestamp(moment)),
        "size": lambda amount, _: words.size(amount, at_most),
        "traffic": lambda amount, _: words.traffic(amount, at_most),
        "kwh": lambda kwh, _: words.electricity(kwh, at_most),
        "percent": lambda share, _: percent(locale().toString(round(100 * share))),
        "count": lambda number, _: locale().toString(float(number), "f", 0),
        "temperature": lambda celsius, _: temperature(celsius),
        "whole": lambda number, _: locale().toString(float(number), "f", 0),
        "signed": lambda number, _: ("+" if tenths(number) >= 0 else "") + locale().toString(tenths(number), "f", 1),
    },
)
"""The worker's notices in the window's language."""


def percent(figure: str) -> str:
    """ "97.2%" of a figure that is written already."""
    return tr("{figure}%", figure=figure)
