"""What a screen reader has of the app: the main window's tree on a real accessibility bus, page by page. It goes there
by the tree's own actions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from app.widgets.buttons import Segmented, Switch
from tests import virtual_screen
from tests.desktop.accessibility_bus import FOCUSABLE, Node, Reader, accessibility
from tests.workers import ROOT, agreed, start_paused, wait_until

PAGES = ("Home", "Try the model", "Contribution", "Runs", "Network", "Experts", "Settings", "Log", "Help")
"""Titles, in the sidebar's order."""
CONTROLS = {"push button", "radio button", "check box", "combo box", "spin box", "text", "slider", "tree"}


@pytest.fixture
def reader(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Of the app, whose worker is paused."""
    agreed(folder)
    start_paused(folder)
    with virtual_screen.desktop() as screen, accessibility(tmp_path_factory.mktemp("bus")) as bus:
        app = subprocess.Popen(
            [sys.executable, "-m", "core", "--data-dir", str(folder)],
            env={**screen, **bus, "LANG": "en_GB.UTF-8", "LANGUAGE": "en"},
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
        )
        try:
            reading = Reader(bus, "Hearth")
            wait_until(lambda: "Worker connected" in names(reading.tree()), "the first picture")
            yield reading
            reading.close()
        finally:
            app.terminate()
            app.wait()


def names(tree: list[Node], role: str = "") -> list[str]:
    return [node.name for node in tree if role in ("", node.role)]


def page_of(reader: Reader, title: str) -> list[Node]:
    """The tree with this page in it."""
    entry = next(node for node in reader.tree() if (node.role, node.name) == ("radio button", title))
    reader.press(entry)

    def shown() -> list[Node] | None:
        tree = reader.tree()
        head = ("panel", "Paused") if title == "Home" else ("label", title)
        return tree if head in [(node.role, node.name) for node in tree] else None

    tree: list[Node] = wait_until(shown, f"the title of {title}")
    return tree


def test_each_page_has_its_title_and_a_name_for_all_that_one_can_use(reader: Reader) -> None:
    assert tuple(name for name in names(reader.tree(), "radio button") if name in PAGES) == PAGES
    for title in PAGES:
        tree = page_of(reader, title)
        assert [node for node in tree if node.has(FOCUSABLE) and not node.name] == [], title
        assert [node for node in tree if node.role in CONTROLS and not node.name] == [], title
        assert title != "Home" or {"Resume", "Why am I not running?"} <= {*names(tree, "push button")}
        if title == "Settings":
            assert {"check box", "combo box", "spin box", "table"} <= {node.role for node in tree}
            assert {"Monday, 0:00 to 1:00: on", "Sunday, 23:00 to 24:00: on"} <= {*names(tree)}
            assert {"Schedule", "Consent and quitting"} <= {*names(tree, "check box")}, "the index"


def test_what_an_assistive_program_sets_is_done(qtbot: QtBot) -> None:
    """It calls `QAbstractButton::toggle`, of which Qt tells no click."""
    switch, told = Switch("Share GPU 1"), list[bool]()
    choice, chosen = Segmented({"all": "All", "run": "Runs"}, "Breakdown"), list[str]()
    for widget in (switch, choice):
        qtbot.addWidget(widget)
    switch.clicked.connect(lambda on: told.append(on))
    choice.chosen.connect(chosen.append)
    QAbstractButton.toggle(switch)
    switch.click()
    switch.setChecked(True)
    assert told == [True, False], "and what the program sets itself is no click"
    QAbstractButton.toggle(choice._buttons["run"])
    choice.set_value("all")
    choice._buttons["run"].click()
    assert chosen == ["run", "run"]
