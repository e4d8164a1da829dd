"""From the first run to contribution, demo, pause and quit with a real worker that trains: by keyboard alone, and by
the screen reader's tree alone, on X11 and on Wayland. What is seen on the way is what the tree tells."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from core import consent
from tests import virtual_screen
from tests.desktop.accessibility_bus import FOCUSED, SENSITIVE, Node, Reader, accessibility
from tests.desktop.conftest import folder as folder  # a fixture
from tests.desktop.sway import Sway, sway
from tests.desktop.test_app import App
from tests.workers import ROOT, never_busy, wait_until

ANYWAY = {"version": 2, "idle_only": False, "theme": "light", "language": "en"}
"""It trains while this test is at the keyboard."""
MOST_TABS = 80
CONTROLS = ("push button", "radio button")


class Walker:
    """Somebody who has only the tree of the app.

    Args:
        app: its process and folder.
        reader: its tree.
    """

    def __init__(self, app: App, reader: Reader) -> None:
        self.app, self.reader = app, reader

    def find(self, name: str, *roles: str) -> Node | None:
        """What is shown with this name, or a name that begins with it where it ends with an ellipsis."""
        return next((node for node in self.reader.tree() if node.role in roles and _is(node, name)), None)

    def hears(self, *names: str) -> None:
        """Wait until the tree tells all this."""
        missing = [*names]

        def told() -> bool:
            tree = self.reader.tree()
            missing[:] = [name for name in missing if not any(_is(node, name) for node in tree)]
            return not missing

        wait_until(told, f"{missing}")

    def press(self, name: str) -> None:
        """Press a button as soon as it is there and can be pressed."""

        def there() -> Node | None:
            node = self.find(name, *CONTROLS)
            return node if node is not None and node.has(SENSITIVE) else None

        self.reader.press(wait_until(there, name))

    def write(self, name: str, text: str) -> None:
        self.reader.write(wait_until(lambda: self.find(name, "text"), name), text)

    def text(self, name: str) -> str:
        node = self.find(name, "text")
        return self.reader.text_of(node) if node else ""


class Typist(Walker):
    """Somebody who has only the keyboard, and sees where the focus is."""

    def press(self, name: str) -> None:
        self.reach(name, *CONTROLS)
        self.app.keys("Return")

    def reach(self, name: str, *roles: str) -> None:
        """Go on by Tab until the focus is there."""
        wait_until(lambda: self.find(name, *roles), name)
        for _ in range(MOST_TABS):
            here = self._focus()
            if here is not None and _is(here, name):
                return
            self.app.keys("Tab")
            wait_until(partial(self._moved_from, here), f"the focus after {here}")
        raise AssertionError(f"Tab does not lead to {name}")

    def _moved_from(self, before: Node | None) -> bool:
        return self._focus() not in (before, None)

    def _focus(self) -> Node | None:
        nodes = [node for node in self.reader.tree() if node.has(FOCUSED)]
        return nodes[-1]._replace(states=0) if nodes else None


def _is(node: Node, name: str) -> bool:
    return node.name.startswith(name[:-1]) if name.endswith("…") else node.name == name


class OnWayland(App):
    """An app on a Wayland desktop.

    Args:
        folder: its data folder.
        desktop: where it appears.
        environment: of the app.
    """

    def __init__(self, folder: Path, desktop: Sway, environment: dict[str, str]) -> None:
        super().__init__(folder, environment)
        self._desktop = desktop

    def wait_for_window(self) -> None:
        wait_until(self._desktop.windows, "the window")

    def activate(self) -> None:
        wait_until(self._desktop.is_active, "the focus")  # a new window gets it

    def keys(self, *keys: str) -> None:
        self._desktop.keys(*keys)


@contextlib.contextmanager
def walked(desktop: str, folder: Path, for_bus: Path, run: str) -> Iterator[tuple[App, Reader]]:
    """An app that starts for the first time, on a screen and on an accessibility bus of its own."""
    (folder / "settings.json").write_text(json.dumps({**ANYWAY, "run": run}))
    never_busy(folder)
    with contextlib.ExitStack() as stack:
        bus = stack.enter_context(accessibility(for_bus))
        more = {**bus, "LANG": "en_GB.UTF-8", "LANGUAGE": "en", "XDG_CONFIG_HOME": str(folder / "config")}
        if desktop == "wayland":
            shown = stack.enter_context(sway())
            app: App = OnWayland(folder, shown, {**shown.environment, **more})
        else:
            app = App(folder, {**stack.enter_context(virtual_screen.desktop()), **more})
        command = [sys.executable, "-m", "core", "--data-dir", str(folder)]
        app.process = subprocess.Popen(command, env=app.environment, stdin=subprocess.DEVNULL, cwd=ROOT)
        stack.callback(app.clean_up)
        reader = Reader(bus, "Hearth")
        stack.callback(reader.close)
        app.wait_for_window()
        app.activate()
        yield app, reader


@pytest.fixture
def for_bus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bus")


def first_run(walker: Walker, folder: Path) -> None:
    walker.hears("One network, many PCs…")
    walker.press("Next")
    walker.hears("Share this PC while you are away?…")
    assert consent.read(folder) is None
    walker.press("I agree")
    walker.hears("What will you share?…")
    assert consent.read(folder) is not None
    walker.press("Next")
    walker.hears("Keep your key, and you are ready…")
    walker.press("Open Hearth")
    walker.hears("State: Contributing…")
    wait_until(lambda: walker.app.status().samples > 0, "training")


def contribution(walker: Walker) -> None:
    wait_until(lambda: walker.find("Contribution", "label"), "the page")
    walker.hears("Compute time: …")
    wait_until(lambda: walker.find("Compute time: 0 s today", "panel") is None, "what was contributed")


def paused(walker: Walker) -> None:
    wait_until(lambda: walker.app.status().state == "paused", "the pause")
    walker.hears("State: Paused…", "Resume")


def ended(app: App) -> None:
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("desktop", ["x11", "wayland"])
def test_by_keyboard_alone(desktop: str, folder: Path, for_bus: Path) -> None:
    with walked(desktop, folder, for_bus, "digits") as (app, reader):
        walker = Typist(app, reader)
        first_run(walker, folder)
        app.keys("ctrl+3")
        contribution(walker)
        app.keys("ctrl+2")
        walker.reach("Draw a digit", "filler")
        app.keys("space", *["Down"] * 16, "space")
        walker.hears("Looks like")
        app.keys("ctrl+1")
        walker.press("Pause")
        paused(walker)
        app.keys("ctrl+q")
        ended(app)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("desktop", ["x11", "wayland"])
def test_by_the_tree_alone(desktop: str, folder: Path, for_bus: Path) -> None:
    with walked(desktop, folder, for_bus, "text") as (app, reader):
        walker = Walker(app, reader)
        first_run(walker, folder)
        walker.press("Contribution")
        contribution(walker)
        walker.press("Try the model")
        walker.write("Your prompt", "The import statement")
        walker.press("Continue")
        wait_until(lambda: walker.text("Continuation"), "what the model adds")
        walker.press("Home")
        walker.press("Pause")
        paused(walker)
        walker.press("Settings")
        walker.press("Quit Hearth")
        ended(app)
