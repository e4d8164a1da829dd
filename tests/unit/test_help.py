"""README and the help pages: short, linked, shipped, and true where they name a path."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from app.language import read
from app.pages.help_page import headings, slug
from core.policy.rules import RULES
from tests.unit.test_decide import GPUS, choose, signals
from tests.workers import ROOT

README = ROOT / "README.md"
HELP = ROOT / "resources" / "help"
ENGLISH = sorted(HELP.glob("*.md"))
GERMAN = sorted((HELP / "de").glob("*.md"))
PAGES = [*ENGLISH, *GERMAN]
LINK = re.compile(r"\]\(([^)]+)\)")
LONGEST_README = 120
"""Lines; everything else belongs on the help pages."""
TOP = ("app", "core", "installers", "resources", "tests", ".ci")
every_page = pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: f"{page.parent.name}-{page.name}")
every_german_page = pytest.mark.parametrize("page", GERMAN, ids=lambda page: page.name)
NOT_LABELS = {"Bado Fimu (3fa1b27c)", "Hearth", "Verified", "pending", "Bestätigt", "offen"}
"""In italics like what the window shows: names, and two words that the page explains."""


def test_the_readme_is_one_short_page() -> None:
    assert len(README.read_text("utf8").splitlines()) <= LONGEST_README


def test_the_readme_names_every_folder() -> None:
    folders = {f"core/{path.parent.name}" for path in (ROOT / "core").glob("*/__init__.py")}
    tests = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    text = README.read_text("utf8")
    assert {name for name in folders if f"`{name}`" not in text} == set()
    row = next(line for line in text.splitlines() if line.startswith("| `tests`"))
    assert {name for name in tests if f"`{name}`" not in row} == set()


@every_page
def test_every_link_and_every_named_path_exists(page: Path) -> None:
    text = page.read_text("utf8")
    links = [link.partition("#") for link in LINK.findall(text) if "://" not in link]
    assert [link for link, _, _ in links if not (page.parent / link).exists()] == []
    ends = [((page.parent / link) if link else page, end) for link, _, end in links if end]
    assert [end for target, end in ends if end not in map(slug, headings(target))] == []
    assert len(set(map(slug, headings(page)))) == len(headings(page)), "two headings that one link means"
    quoted = re.findall(r"`([^`\s]+)`", text)
    paths = [path for path in quoted if path.partition("/")[0] in TOP and "/" in path]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@every_page
def test_a_page_has_a_title_and_only_what_the_app_can_show(page: Path) -> None:
    lines = page.read_text("utf8").splitlines()
    assert lines[0].startswith("# ")
    assert not [line for line in lines if re.match(r"\s*<\w", line)], "HTML"
    assert max(len(line) for line in lines if not line.startswith("|")) <= 150


def test_the_page_of_the_rules_lists_every_rule_in_its_order() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \|", (HELP / "when-it-computes.md").read_text("utf8"), re.MULTILINE)
    assert rows == [rule.__name__ for rule in RULES]
    assert rows == [verdict.rule for verdict in choose(signals(gpus=GPUS), uses_gpus=True).rules]


@every_german_page
def test_a_german_page_says_what_the_english_one_says(page: Path) -> None:
    """Section by section: as many paragraphs, items, rows; the same code, figures and links to pages."""
    english, german = facts(HELP / page.name), facts(page)
    assert len(german) == len(english)
    for there, here in zip(english, german, strict=True):
        assert here == there


def facts(page: Path) -> list[dict[str, object]]:
    """What is the same in all languages, by section."""
    found = []
    for section in re.split(r"^(?=#+ )", page.read_text("utf8"), flags=re.MULTILINE)[1:]:
        codes = sorted(re.findall(r"`([^`]+)`", section))
        prose = re.sub(r"`[^`]+`", "", LINK.sub("", section))
        found.append(
            {
                "level": section.index(" "),
                "blocks": len(re.split(r"\n\s*\n", section.strip())),
                "starts": re.findall(r"^(\||- |!|\*\*)", section, re.MULTILINE),
                "code": [re.sub(r"\s*#.*", "", line) for line in re.findall(r"^ {4}.*", section, re.MULTILINE)],
                "quoted": [" ".join(code.split()).replace(" oder ", " or ") for code in codes],
                "figures": sorted(re.sub(r"[.,]", "", figure) for figure in re.findall(r"\d[\d.,]*", prose)),
                "links": sorted(Path(link.partition("#")[0]).name for link in LINK.findall(section)),
            }
        )
    return found


@pytest.mark.parametrize("language", ["en", "de"])
def test_labels_and_rules_are_called_as_the_window_shows_them(language: str) -> None:
    pages = GERMAN if language == "de" else [HELP / page.name for page in GERMAN]
    texts = [re.sub(r"^ {4}.*|`[^`]*`", "", page.read_text("utf8"), flags=re.MULTILINE) for page in pages]
    named = {" ".join(label.split()) for text in texts for label in re.findall(r"(?<!\*)\*([^*\s][^*]*)\*(?!\*)", text)}
    said = {message.source: forms for message, forms in read(language).items()}
    shown = {form for forms in read(language).values() for form in forms}
    if language == "en":  # the window's texts are their own sources
        shown |= {message.source for message in read("de")}
    assert named - shown - NOT_LABELS == set()
    rows = re.findall(
        r"^\| ([^|]+) \| `(\w+)` \|", pages[GERMAN.index(HELP / "de" / "when-it-computes.md")].read_text("utf8"), re.M
    )
    assert [name for name, _ in rows] == [said[f"{code}.title"][0] for _, code in rows]


def test_the_index_and_the_readme_lead_to_every_page() -> None:
    pages = {page.name for page in ENGLISH} - {"index.md"}
    readme = README.read_text("utf8")
    for index in (HELP / "index.md", HELP / "de" / "index.md"):
        assert {page for page in pages if not re.search(rf"\(([.]+/)?{page}\)", index.read_text("utf8"))} == set()
    assert {page for page in pages if f"(resources/help/{page})" not in readme} == set()


def test_the_pages_come_with_the_program() -> None:
    for folder, pages in (("help", ENGLISH), ("help/de", GERMAN)):
        shipped = {entry.name for entry in files("resources").joinpath(folder).iterdir()}
        assert {page.name for page in pages} <= shipped
