"""Documents that people write, in TOML or JSON: what is in them, and where."""

import codecs
import json
import math
import re
import tomllib
from typing import Any, NamedTuple

import msgspec

from core.contracts.errors import UNREADABLE, ManifestError
from core.contracts.notices import Notice, notice
from core.contracts.positions import Path, Place, place_of, places

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
"""How Python's parser of TOML says where."""
MOST_DOTS = 8192
"""In a document of TOML: for a key of so many parts its parser takes a second, for twice as many four times as long."""


class Document(NamedTuple):
    """A table at the top, and the text that it was read from."""

    fields: dict[str, Any]
    text: str
    toml: bool

    def located(self, what: Notice, path: Path) -> Notice:
        """A notice with the place that it is about: the nearest one of the path that the text has, if it has any.

        Args:
            what: is wrong.
            path: to what is wrong, or to what lacks something.
        """
        try:
            found = places(self.text, self.toml)
        except RecursionError:  # a parser in C goes deeper than this one
            return what
        while path and path not in found:
            path = path[:-1]
        return _at(place_of(self.text, found[path]), what) if path else what


def parsed(data: bytes, toml: bool) -> Document:
    """Read a document.

    Args:
        data: UTF-8, as files have it.
        toml: whether it is TOML; else JSON.

    Raises:
        ManifestError: it is none; where, and what a parser has against it.
    """
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise ManifestError(_at(place_of(before, len(before)), notice("manifest.not_utf8"))) from error
    if toml and text.count(".") > MOST_DOTS:
        raise ManifestError(notice("manifest.syntax", what=f"more than {MOST_DOTS:,} dots"))
    try:
        fields = tomllib.loads(text, parse_float=_finite) if toml else msgspec.json.decode(text)
    except (*UNREADABLE, ValueError) as error:  # the last one for a number of thousands of digits
        if toml and isinstance(error, ValueError):
            raise ManifestError(_of_toml(text, str(error))) from error
        raise ManifestError(_of_json(text, str(error))) from error
    if not isinstance(fields, dict):
        raise ManifestError(notice("manifest.no_table"))
    return Document(fields, text, toml)


def _at(place: Place, what: Notice) -> Notice:
    return notice("manifest.at", line=place.line, column=place.column, what=what)


def _finite(text: str) -> float:
    """TOML has numbers that JSON has not, and no limit of a manifest is meant for them."""
    if not math.isfinite(number := float(text)):
        raise ManifestError(notice("manifest.not_finite", number=text))
    return number


def _of_toml(text: str, said: str) -> Notice:
    found, what = _AT.search(said), _AT.sub("", said)
    if found is None:
        return notice("manifest.syntax", what=what)
    if found[1]:
        return _at(Place(int(found[1]), int(found[2])), notice("manifest.syntax", what=what))
    return _at(place_of(text, len(text)), notice("manifest.cut_off"))


def _of_json(text: str, said: str) -> Notice:
    """Python's own parser says where; it takes some things that are no JSON, of which only that is told."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            return _at(place_of(text, len(text)), notice("manifest.cut_off"))
        return _at(Place(error.lineno, error.colno), notice("manifest.syntax", what=error.msg))
    except (RecursionError, ValueError):  # the latter for a number of thousands of digits
        pass
    return notice("manifest.syntax", what=said)
