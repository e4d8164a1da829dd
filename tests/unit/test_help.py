"""README and the help pages: short, linked, shipped, and true where they name a path."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from core.policy.rules import RULES
from tests.unit.test_decide import GPUS, choose, signals
from tests.workers import ROOT

README = ROOT / "README.md"
HELP = ROOT / "resources" / "help"
PAGES = sorted(HELP.glob("*.md"))
LONGEST_README = 120
"""Lines; everything else belongs on the help pages."""
TOP = ("app", "core", "installers", "resources", "tests", ".ci")
every_page = pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)


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
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
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


def test_the_index_and_the_readme_lead_to_every_page() -> None:
    pages = {page.name for page in PAGES} - {"index.md"}
    index, readme = (HELP / "index.md").read_text("utf8"), README.read_text("utf8")
    assert {page for page in pages if f"({page})" not in index} == set()
    assert {page for page in pages if f"(resources/help/{page})" not in readme} == set()


def test_the_pages_come_with_the_program() -> None:
    shipped = {entry.name for entry in files("resources").joinpath("help").iterdir()}
    assert {page.name for page in PAGES} <= shipped
