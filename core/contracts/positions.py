"""Where the keys of a TOML or JSON document stand in its text, which no parser of ours tells.

The text is one that a parser has taken: this only finds its way in it, and checks nothing.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

Path = tuple[str | int, ...]
"""From the top of a document to a value: keys of tables, places in lists."""

_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
"""Between two things; JSON has no comments, and no # outside of its texts."""
_TEXT = re.compile(r"'''.*?'{3,5}|'[^'\n]*'|\"\"\"(?:\\.|[^\\])*?\"{3,5}|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_BARE = re.compile(r"[^\s,=:#\[\]{}.'\"]+")
_PLAIN = re.compile(r"[^\s,#\[\]{}]+(?: \d\d:[^\s,#\[\]{}]+)?")
"""A number, a switch, a date."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class Place(NamedTuple):
    """Of a character, as editors count: from 1."""

    line: int
    column: int


def places(text: str, toml: bool) -> Mapping[Path, int]:
    """The number of the character at which each key begins, and each value of a list.

    Args:
        text: the document.
        toml: whether it is TOML; else JSON.
    """
    reader = _Reader(text)
    if toml:
        reader.tables()
    else:
        reader.value(())
    return reader.found


def place_of(text: str, at: int) -> Place:
    """The place of the character with this number, from 0."""
    return Place(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.found: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        """How many tables of each list of tables have begun."""

    def tables(self) -> None:
        table: Path = ()
        while self._ahead():
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)

    def value(self, path: Path) -> None:
        """Read one value, with all that is in it."""
        match self._ahead():
            case "{":
                self._at += 1
                while self._ahead() not in ("}", ""):
                    self._pair(path)
                self._at += 1
            case "[":
                self._at, number = self._at + 1, 0
                while self._ahead() not in ("]", ""):
                    self.found[(*path, number)] = self._at
                    self.value((*path, number))
                    number += 1
                self._at += 1
            case _:
                self._take(_TEXT) or self._take(_PLAIN)

    def _header(self, brackets: int) -> Path:
        """The table that begins here, in the last one of each list of tables that it is in."""
        start, self._at = self._at, self._at + brackets
        keys = self._keys()
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, keys[-1])
        self.found.setdefault(path, start)
        self._at += brackets
        if brackets == 2:
            self._counts[path] = self._counts.get(path, 0) + 1
            path = (*path, self._counts[path] - 1)
            self.found[path] = start
        return path

    def _pair(self, table: Path) -> None:
        start = self._at
        keys = self._keys()
        for depth in range(1, len(keys) + 1):
            self.found.setdefault((*table, *keys[:depth]), start)
        self._ahead()
        self._at += 1  # the sign between key and value
        self.value((*table, *keys))

    def _keys(self) -> list[str]:
        """A key, or several with dots between; the next character after them is not blank."""
        keys = []
        while True:
            self._ahead()
            quoted = self._take(_TEXT)
            keys.append(_unquoted(quoted) if quoted else self._take(_BARE))
            if self._ahead() != ".":
                return keys
            self._at += 1

    def _ahead(self) -> str:
        """The next character that is not blank; "": the end."""
        self._take(_BLANK)
        return self._text[self._at : self._at + 1]

    def _take(self, kind: re.Pattern[str]) -> str:
        taken = kind.match(self._text, self._at)
        if taken is None:
            if kind in (_BARE, _PLAIN):
                self._at += 1  # nothing that a parser takes: go on all the same
            return ""
        self._at = taken.end()
        return taken[0]


def _unquoted(text: str) -> str:
    """A key without its quotation marks."""
    if text[0] == "'":
        return text[1:-1]
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
    return _ESCAPED.sub(
        lambda part: chr(int(part[1] or part[2], 16)) if part[3] is None else simple.get(part[3], part[3]), text[1:-1]
    )
