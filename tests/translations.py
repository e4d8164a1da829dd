"""Brings the translations up to date with the sources: `python -m tests.translations`.

New texts are added to every .ts file of `resources/translations` as unfinished, and those that nothing says any more
are taken out; what is there is kept. Qt Linguist edits the files; the tests fail while something is unfinished.
"""

import ast
import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from app.language import LANGUAGES, RUNS, SETTINGS, WINDOW, WORKER, Message, read
from core.contracts.notices import CODE
from core.contracts.settings import LATE, Settings
from core.contracts.status import STATE_WORD

ROOT = Path(__file__).parents[1]


def sources() -> dict[Message, bool]:
    """All texts of the app in the order in which they stand, and whether they have plural forms."""
    found: dict[Message, bool] = {}
    for path in sorted((ROOT / "app").rglob("*.py")):
        if path.name != "language.py":
            found |= _window(ast.parse(path.read_text(encoding="utf-8")))
    found |= _window(ast.parse((ROOT / "app" / "language.py").read_text(encoding="utf-8")))
    found |= {Message(WINDOW, word): False for word in STATE_WORD.values()}
    found |= {Message(SETTINGS, text): False for text in _settings()}
    found |= {Message(WORKER, code): plural for code, plural in _english().items()}
    runs = files("resources").joinpath("runs").iterdir()
    titles = sorted(json.loads(run.read_text(encoding="utf-8"))["title"] for run in runs)
    return found | {Message(RUNS, title): False for title in titles}


def codes() -> set[str]:
    """Patterns of the codes of all notices that the sources make; `\\w+` stands for what is put in."""
    found = set()
    for top in ("core", "app"):
        for path in (ROOT / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "notice" and node.args:
                    found |= set(_codes(node.args[0]))
    return found


def _codes(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield re.escape(str(node.value))
    elif isinstance(node, ast.IfExp):
        yield from _codes(node.body)
        yield from _codes(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in node.values]
        yield "".join(parts)
    else:
        raise AssertionError(f"a notice's code cannot be read from the source: {ast.unparse(node)}")


def sentences(language: str) -> dict[str, tuple[str, ...]]:
    """The sentences of a language by their codes, each with its plural forms if it has any."""
    found = {one.source: forms for one, forms in read(language).items() if one.context == WORKER}
    return {code: forms for code, forms in found.items() if re.fullmatch(CODE, code) and "." in code}


def _english() -> dict[str, bool]:
    """Codes that English has a sentence for, and whether it has plural forms. They are written there by hand."""
    found = {one.source: len(forms) > 1 for one, forms in read("en").items() if one.context == WORKER}
    return dict(sorted(found.items()))


def _window(tree: ast.AST) -> dict[Message, bool]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "mark"):
            about = next((word.value for word in node.keywords if word.arg == "about"), None)
            for text in _constants(node.args[0]):
                words = about.value if isinstance(about, ast.Constant) else ""
                found[Message(WINDOW, text, str(words))] = "%Ln" in text or len(node.args) > 1
    return found


def _constants(node: ast.expr) -> Iterator[str]:
    """The text, or both of `one if condition else other`."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def _settings() -> Iterator[str]:
    for field in dataclasses.fields(Settings):
        shown = field.metadata
        yield from (shown["group"], shown["label"], shown["help"], *shown.get("choices", {}).values())
        yield from filter(None, (shown.get("zero", ""), shown.get("most", ""), shown.get("placeholder", "")))
    yield from LATE.values()


def update(language: str) -> int:
    """Write the file of a language; returns how many of its texts are unfinished."""
    known, unfinished = read(language), 0
    root = ElementTree.Element("TS", version="2.1", language=language, sourcelanguage="en")
    contexts: dict[str, ElementTree.Element] = {}
    for message, plural in sources().items():
        if language == "en" and not plural and message not in known:
            continue  # the source says it
        if message.context not in contexts:
            contexts[message.context] = ElementTree.SubElement(root, "context")
            ElementTree.SubElement(contexts[message.context], "name").text = message.context
        element = ElementTree.SubElement(contexts[message.context], "message")
        ElementTree.SubElement(element, "source").text = message.source
        if message.about:
            ElementTree.SubElement(element, "comment").text = message.about
        forms = known.get(message, ("", "") if plural else ("",))
        translation = ElementTree.SubElement(element, "translation")
        if not all(forms):
            unfinished += 1
            translation.set("type", "unfinished")
        if plural:
            element.set("numerus", "yes")
            for form in forms if len(forms) == 2 else ("", ""):
                ElementTree.SubElement(translation, "numerusform").text = form
        else:
            translation.text = forms[0]
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    path = ROOT / "resources" / "translations" / f"{language}.ts"
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', encoding="utf-8")
    return unfinished


if __name__ == "__main__":
    for name in LANGUAGES:
        print(f"{name}: {update(name)} unfinished")
