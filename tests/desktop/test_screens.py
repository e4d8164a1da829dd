"""Two screens of different scale on a Wayland desktop: the window goes from one to the other and stays usable."""

import contextlib
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.desktop.accessibility_bus import Reader, accessibility
from tests.desktop.sway import Screen, Sway, sway
from tests.scenarios.test_walks import OnWayland, Walker
from tests.workers import ROOT, agreed, start_paused, wait_until

LARGE, SMALL = Screen(1920, 1080), Screen(1366, 768, 2.5)


def within(desktop: Sway, number: int) -> bool:
    """Whether the window is on this screen, and no larger than it."""
    screen = next(one for one in desktop.ask("-t", "get_outputs") if one["name"] == f"HEADLESS-{number}")["rect"]
    window = desktop.windows()[0]["rect"]
    left, top = window["x"] - screen["x"], window["y"] - screen["y"]
    on_it = 0 <= left < screen["width"] and 0 <= top < screen["height"]
    return bool(on_it and window["width"] <= screen["width"] and window["height"] <= screen["height"])


@pytest.mark.timeout(900)
def test_the_window_goes_to_a_screen_that_shows_all_larger_and_back(folder: Path, tmp_path: Path) -> None:
    agreed(folder)
    start_paused(folder)
    with sway(LARGE, SMALL) as desktop, accessibility(tmp_path) as bus:
        app = OnWayland(folder, desktop, {**desktop.environment, **bus, "LANG": "en_GB.UTF-8", "LANGUAGE": "en"})
        command = [sys.executable, "-m", "core", "--data-dir", str(folder)]
        app.process = subprocess.Popen(command, env=app.environment, stdin=subprocess.DEVNULL, cwd=ROOT)
        try:
            app.wait_for_window()
            app.activate()
            with contextlib.closing(Reader(bus, "Hearth")) as reader:
                Walker(app, reader).hears("State: Paused…")  # or the shortcut would ask for a pause
            for number in (2, 1, 2):
                move(desktop, number)
                wait_until(partial(within, desktop, number), f"the window within screen {number}")
            app.keys("ctrl+shift+p")
            wait_until(lambda: app.status().state != "paused", "the end of the pause, asked for from the small screen")
            app.keys("ctrl+q")
            assert app.wait_for_end() == 0
            wait_until(app.nothing_left, "the end of all processes")
        finally:
            app.clean_up()


def move(desktop: Sway, number: int) -> Any:
    """Take the window to a screen, to the corner where its lines begin."""
    return desktop.ask(f'[app_id="hearth"] move absolute position {(0, LARGE.width)[number - 1]} 0')
