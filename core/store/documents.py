"""An organiser's texts, document by document: however many there are, one is in memory at a time.

A .txt or .md file is a document, and so is each line of a .jsonl file, a JSON object with a `text`, and each row of a
.parquet file. A longer file of text is many documents, cut at empty lines.
"""

import codecs
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from core.contracts.errors import UNREADABLE, DataError
from core.contracts.notices import notice
from core.regular_files import open_regular

TABLES = (".jsonl", ".parquet")
ENDINGS = (".txt", ".md", *TABLES)
LONG = 256 << 10
"""Bytes of a file beyond which it is many documents."""
PIECE, LONGEST = 16 << 10, 1 << 20
"""Bytes of each of those: an empty line ends one that has so many, and none has more."""
MAX_LINE = 16 << 20
"""Bytes of a document in a .jsonl or .parquet file."""
MAX_FILES = 1_000_000
BOM = codecs.BOM_UTF8


def find(places: Sequence[Path]) -> list[Path]:
    """The files with text in these folders and of these files, in order. Links and hidden names are passed over.

    Raises:
        DataError: there are none, or too many.
    """
    found: list[Path] = []
    for place in places:
        if not place.exists():
            raise DataError(notice("data.no_place", place=str(place)))
        if place.is_file():
            found.append(place)
        for path in _visible(place):
            if _is_text(path):
                found.append(path)
            if len(found) > MAX_FILES:
                raise DataError(notice("data.too_many_files", most=MAX_FILES))
    if not found:
        raise DataError(notice("data.no_files", place=", ".join(map(str, places)), endings=", ".join(ENDINGS)))
    return found


def passed_over(place: Path) -> int:
    """How many files of a folder and its folders `find` leaves out, hidden ones aside."""
    return sum(not _is_text(path) for path in _visible(place))


def _visible(folder: Path) -> Iterator[Path]:
    """Its files and those of its folders, in order, without hidden ones."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _is_text(path: Path) -> bool:
    """Not what a link leads to: in a folder that came from others it may be a file that is nobody's business."""
    return path.suffix.lower() in ENDINGS and path.is_file() and not path.is_symlink()


def documents(path: Path, column: str | None = None) -> Iterator[bytes]:
    """The documents of a file as UTF-8, without space around them; empty ones are left out.

    Args:
        path: the file.
        column: where they are in a .jsonl or .parquet file; None: in `text`, or in the only one with texts of a
            .parquet file.

    Raises:
        DataError: it cannot be read, is no UTF-8, or has a line that is no document.
    """
    kind = path.suffix.lower()
    try:
        read = _lines(path, column) if kind == ".jsonl" else _rows(path, column) if kind == ".parquet" else _text(path)
        yield from filter(None, (document.strip() for document in read))
    except OSError as error:
        raise DataError(notice("data.unreadable", path=str(path), why=str(error.strerror))) from error


def _rows(path: Path, column: str | None) -> Iterator[bytes]:
    open_regular(path).close()  # a pipe would never begin
    try:
        texts = importlib.import_module("core.store.parquet").texts
    except ImportError as error:
        raise DataError(notice("data.no_pyarrow", path=str(path))) from error
    for number, text in enumerate(texts(path, column), 1):
        content = text.encode()
        if len(content) > MAX_LINE:
            raise DataError(notice("data.line_too_long", path=str(path), line=number, most=MAX_LINE))
        yield content


def _lines(path: Path, column: str | None) -> Iterator[bytes]:
    column = column or "text"
    field = ("text", str, msgspec.field(name=column))
    decode = msgspec.json.Decoder(msgspec.defstruct("Line", [field])).decode
    with open_regular(path) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise DataError(notice("data.line_too_long", path=str(path), line=number, most=MAX_LINE))
            if not line.strip():
                continue
            try:
                yield decode(line.removeprefix(BOM)).text.encode()  # type: ignore[attr-defined]
            except UNREADABLE as error:
                raise DataError(
                    notice("data.bad_line", path=str(path), line=number, column=column, why=str(error))
                ) from error


def _text(path: Path) -> Iterator[bytes]:
    """The file, or the pieces of a long one."""
    is_long = path.stat().st_size > LONG
    check, at, piece = codecs.getincrementaldecoder("utf-8")(), 0, bytearray()
    with open_regular(path) as file:
        while line := file.readline(LONGEST):
            try:
                check.decode(line)
            except UnicodeDecodeError as error:
                raise DataError(notice("data.not_utf8", path=str(path), place=at + error.start)) from error
            line = line.removeprefix(BOM) if at == 0 else line
            at += len(line)
            if is_long and len(piece) + len(line) > LONGEST:
                yield bytes(piece)
                piece.clear()
            piece += line
            if is_long and len(piece) >= PIECE and not line.strip():
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)
