"""All texts that people read: the window's and the worker's in both languages, the command line, the help pages.

For the tests of words (tests/unit/test_words.py); also to read them all in one go: `python -m tests.texts`.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from app.language import LANGUAGES, read
from app.pages.settings.synonyms import SYNONYMS
from core.cli import command_parser
from tests.workers import ROOT

README, HELP = ROOT / "README.md", ROOT / "resources" / "help"
SPEAKING = ("core/cli.py", "core/commands/*.py", "core/community/*_page.py", "core/community/certificate_picture.py")
"""Sources whose own texts are shown, beside what goes through the translations."""
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')”“*]*\s+(?=[\"'(„“`{*\[]*[A-ZÄÖÜ0-9{`]|hearth\b)|\n")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|z\. ?B|vs|No|Nr)\.$")


class Text(NamedTuple):
    """One text and where it stands."""

    place: str
    language: str
    text: str


def window() -> Iterator[Text]:
    """What the window and the worker say, sources included; without the words that the search of settings knows."""
    searched = set(SYNONYMS.values())
    for language in LANGUAGES:
        for message, forms in read(language).items():
            if message.source in searched:
                continue
            place = f"{language}.ts: {message.source[:60]}"
            yield from (Text(place, language, form) for form in forms)
            if language == "de" and message.context != "worker" and message.source not in forms:
                yield Text(place, "en", message.source)


def command_line() -> Iterator[Text]:
    """Every help text and what the commands print themselves."""
    for parser in _parsers(command_parser()):
        yield from (Text(parser.prog, "en", text) for text in (parser.description, parser.epilog) if text)
        yield from (Text(parser.prog, "en", action.help) for action in parser._actions if action.help)
    for pattern in SPEAKING:
        for path in sorted(ROOT.glob(pattern)):
            tree = ast.parse(path.read_text("utf8"))
            yield from (Text(path.name, "en", text) for text in _printed(tree))


def help_pages() -> Iterator[Text]:
    """Paragraphs and list items of the help pages, and of the README; not their code and tables."""
    return (text for text in _pages() if text.text[0] != "|")


def tables() -> Iterator[Text]:
    """The rows of their tables."""
    return (text for text in _pages() if text.text[0] == "|")


def _pages() -> Iterator[Text]:
    for page in [README, *sorted(HELP.rglob("*.md"))]:
        language = page.parent.name if page.parent.name in LANGUAGES else "en"
        name = page.name if language == "en" else f"{language}/{page.name}"
        yield from (Text(name, language, block) for block in _blocks(page.read_text("utf8")))


def everything() -> list[Text]:
    """All of them."""
    return [*window(), *command_line(), *help_pages(), *tables()]


def sentences(text: str) -> list[str]:
    """A text cut at the ends of its sentences: full stops, question marks, line ends."""
    found: list[str] = []
    for part in SENTENCE_END.split(text):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        elif part and part.strip():
            found.append(part.strip())
    return found


def length(sentence: str) -> int:
    """Its words; a quoted command or a placeholder is one, a lone sign is none."""
    return len([word for word in re.sub(r"`[^`]*`", "code", sentence).split() if re.search(r"\w", word)])


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in dict.fromkeys(action.choices.values()):
                yield from _parsers(sub)


def _printed(tree: ast.AST) -> Iterator[str]:
    """Texts with more than one word, f-strings with {} for what is put in; docstrings are for developers."""
    told = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values]
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and id(node) not in told and " " in str(node.value):
            yield str(node.value)


def _blocks(page: str) -> Iterator[str]:
    """Paragraphs, items and cells, each in one line, links as their text; code and pictures are left out."""
    page = re.sub(r"^( {4}|\t).*(\n( {4}|\t).*|\n\n(?= {4}))*", "", page, flags=re.MULTILINE)
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    page = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", page)
    page = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page)
    for block in re.split(r"\n\s*\n|\n(?=- |\d+\. |\||#)", page):
        if not re.fullmatch(r"[|\s:-]*", block):
            yield " ".join(re.sub(r"^(- |\d+\. |#+ )", "", block.strip()).split())


if __name__ == "__main__":
    for one in everything():
        print(f"[{one.place}] {one.text}")
