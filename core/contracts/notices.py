"""What the worker has to say: codes with arguments. The sentences are made where people read them.

A `Notice` says what is so; each code has a sentence in `resources/translations/*.ts`, context "worker", whose
placeholders name an argument and how it is written: "{free:size} are free". `Language` puts a sentence together; the
app has one for the window's language, this module's is English, for logs, terminals and `str()`.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any

import msgspec

from core.contracts.peer_names import called
from core.contracts.words import clock, countdown, date, duration, electricity, size, traffic

CONTEXT = "worker"
"""Of the sentences, in the files of translations."""
PLAIN = "plain"
"""The code of a text that is shown as it is: what a driver, the system or an unforeseen error says."""
MOST_TEXT = 4096
"""Characters of an argument; much longer, it would hold a window up."""
MOST_ARGS, MOST_LISTED, MOST_SENTENCES = 12, 256, 16
DEPTH = 8
"""Notices within notices; ours have three."""
SHOWN = 4
"""Things that a sentence lists by name; of more, it says how many there are."""
CODE = r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*\Z"
PLACE = re.compile(r"\{(\w+)(?::(\w+))?\}")

Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT)]
Item = bool | int | float | Text
Name = Annotated[str, msgspec.Meta(max_length=32)]


class Notice(msgspec.Struct, frozen=True):
    """One thing to be told.

    An argument is a figure, a name, another notice, or a list of names and notices. An `n` decides the plural form.
    Moments are unix times, lengths of time seconds, amounts bytes, shares 0 to 1.
    """

    code: Annotated[str, msgspec.Meta(pattern=CODE, max_length=64)]
    args: Annotated[
        "dict[Name, Item | Notice | Annotated[list[Item | Notice], msgspec.Meta(max_length=MOST_LISTED)]]",
        msgspec.Meta(max_length=MOST_ARGS),
    ] = {}

    def __str__(self) -> str:
        """The sentence in English."""
        return english(self)


Sentences = Annotated[tuple[Notice, ...], msgspec.Meta(max_length=MOST_SENTENCES)]
"""Said one after the other."""


def notice(code: str, **args: Any) -> Notice:
    """A notice with arguments by name.

    Args:
        code: has a sentence in each language.
        args: as `Notice.args`; texts are cut to `MOST_TEXT`, lists to `MOST_LISTED`.
    """
    return Notice(code, {name: _bounded(value) for name, value in args.items()})


def plain(text: str) -> Notice:
    """A text that has no code: it is shown as it is, in whatever language it was written."""
    return Notice(PLAIN, {"text": text[:MOST_TEXT]})


FAULTS_AS_NOTICES = {"HEARTH_FAULTS": "notices"}
"""In the environment of a process whose last words another one tells, in a language that only that one knows."""


def last_words(error: Notice, environment: Mapping[str, str]) -> str:
    """The line with which a process ends in an error: English, or the notice itself for `fault_of`."""
    wanted = environment.items() >= FAULTS_AS_NOTICES.items()
    return "hearth: " + (msgspec.json.encode(error).decode() if wanted else str(error))


def fault_of(line: str) -> Notice:
    """The notice of another process's last line; of any other line its text."""
    text = line.removeprefix("hearth: ")
    try:
        return msgspec.json.decode(text, type=Notice)
    except msgspec.DecodeError:
        return plain(text)


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, list | tuple):
        return [_bounded(one) for one in value[:MOST_LISTED]]
    return value


Find = Callable[[str, int | None], str | None]
"""The sentence of a code, in the form for a number; None: there is none."""
Format = Callable[[Any, float], str]
"""Writes a value at a unix time."""


class Language:
    """Sentences in one language.

    Args:
        find: looks sentences up.
        formats: how values are written, by the names that placeholders use, beside those of `FORMATS`.
    """

    def __init__(self, find: Find, formats: Mapping[str, Format]) -> None:
        self._find, self._formats = find, {**FORMATS, **formats}

    def __call__(self, said: Notice | Iterable[Notice], now: float | None = None) -> str:
        """A notice, or several one after the other.

        Args:
            said: what is to be told. A code that is not known here, as of a newer worker, is shown as it is.
            now: unix time that countdowns and days refer to; that of the clock if None.
        """
        moment = time.time() if now is None else now
        if isinstance(said, Notice):
            return self._sentence(said, moment, 0)
        return " ".join(self._sentence(one, moment, 0) for one in said)

    def phrase(self, said: Notice | Iterable[Notice], now: float | None = None) -> str:
        """The same without the last full stop, as a cell of a table shows it."""
        return self(said, now).removesuffix(".")

    def _sentence(self, said: Notice, now: float, depth: int) -> str:
        if said.code == PLAIN:
            return str(said.args.get("text", ""))
        number = said.args.get("n")
        form = self._find(said.code, number if isinstance(number, int) else None)
        if form is None or depth > DEPTH:
            return said.code

        def put(place: re.Match[str]) -> str:
            value = said.args.get(place[1])
            return place[0] if value is None else self._value(value, place[2] or "", now, depth)

        return PLACE.sub(put, form)

    def _value(self, value: Any, name: str, now: float, depth: int) -> str:
        if isinstance(value, Notice):
            words = self._sentence(value, now, depth + 1)
            return words.removesuffix(".") if name == "phrase" else words
        if isinstance(value, list) and name == "sentences":
            return " ".join(self._value(one, "", now, depth) for one in value[:MOST_SENTENCES])
        if isinstance(value, list):
            return self._listed([self._value(one, name, now, depth) for one in value], now)
        write = self._formats.get(name or ("count" if isinstance(value, int) else ""))
        try:
            return str(value) if write is None else write(value, now)
        except (ValueError, TypeError, AttributeError, OverflowError, OSError):  # no calendar has it, or no such kind
            return str(value)

    def _listed(self, words: list[str], now: float) -> str:
        if len(words) <= SHOWN:
            return ", ".join(words)
        more = notice("list.more", names=", ".join(words[: SHOWN - 1]), more=len(words) - SHOWN + 1)
        return self._sentence(more, now, 0)


def tenths(number: float) -> float:
    """Rounded to one digit after the point, and 0 without a minus."""
    return round(number, 1) + 0.0


FORMATS: dict[str, Format] = {
    "clock": clock,
    "countdown": lambda moment, now: countdown(moment - now),
    "duration": lambda seconds, _: duration(seconds),
    "date": lambda moment, _: date(moment),
    "size": lambda amount, _: size(amount),
    "traffic": lambda amount, _: traffic(amount),
    "kwh": lambda kwh, _: electricity(kwh),
    "percent": lambda share, _: f"{share:.0%}",
    "count": lambda number, _: f"{number:,}",
    "whole": lambda number, _: f"{number:.0f}",
    "temperature": lambda celsius, _: f"{celsius:.0f} °C",
    "signed": lambda number, _: f"{tenths(number):+.1f}",
    "digits": lambda number, _: str(number),
    "peer": lambda peer, _: called(peer),
}
"""How English writes what a placeholder names: moments, lengths of time, amounts, shares; whole numbers by thousands
("count"), rounded ones ("whole"), degrees Celsius ("temperature"), exit codes and the like ("digits"); peers by their
keys ("peer"). "phrase" takes a notice's full stop, "sentences" says those of a list one after the other."""


@cache
def _sentences() -> dict[str, tuple[str, ...]]:
    import xml.etree.ElementTree as ElementTree  # `hearth pause` says nothing and need not wait for these: 12 ms
    from importlib.resources import files

    text = files("resources").joinpath("translations", "en.ts").read_text(encoding="utf-8")
    return {
        message.findtext("source", ""): tuple(
            form.text or "" for form in message.iter() if form.tag in ("translation", "numerusform") and not len(form)
        )
        for context in ElementTree.fromstring(text).iter("context")
        if context.findtext("name") == CONTEXT
        for message in context.iter("message")
    }


def _find(code: str, number: int | None) -> str | None:
    try:
        forms = _sentences().get(code)
    except (OSError, ImportError):  # the file has gone, or may not be read: a text is needed all the same
        return None
    return None if forms is None else forms[0 if number == 1 else -1]


english = Language(_find, {})
"""What logs and terminals show."""
