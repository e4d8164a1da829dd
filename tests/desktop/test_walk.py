"""A walk through the whole app by keyboard and mouse, with a real worker that trains: from the first run to the end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.first_run.first_run import FirstRun
from app.window.main_window import DEFAULT
from app.worker.client import WorkerClient
from core import consent
from tests.desktop.test_app import App, Environment, Plan
from tests.desktop.test_app import screen as screen  # a fixture
from tests.workers import PATIENCE_S, never_busy, wait_until

ANYWAY = {"version": 2, "idle_only": False, "theme": "light", "language": "en"}
"""It trains while this test is at the keyboard."""


@pytest.fixture
def app(folder: Path, screen: Environment) -> Iterator[App]:
    app = App(folder, {**screen, "XDG_CONFIG_HOME": str(folder / "config")})
    yield app
    app.clean_up()


def hearth(app: App, *words: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "core", *words, "--data-dir", str(app.folder)]
    return subprocess.Popen(command, env=app.environment, stdin=subprocess.DEVNULL)


@pytest.mark.timeout(1200)
def test_from_the_first_run_to_contribution_demo_screensaver_and_quit(app: App, folder: Path, qapp: Any) -> None:
    plan = Plan(folder)
    first = FirstRun(folder, WorkerClient(folder, "0.1.0"))
    first.resize(*DEFAULT)
    first.grab()
    on = first.next.mapTo(first, first.next.rect().center())
    (folder / "settings.json").write_text(json.dumps(ANYWAY))
    never_busy(folder)

    app.process = hearth(app)
    app.wait_for_window()
    app.activate()
    app.drag(on)  # Welcome
    assert consent.read(folder) is None
    app.drag(on)  # I agree
    wait_until(lambda: consent.read(folder), "the consent")
    app.keys("alt+Right")  # what to lend
    app.status()  # the worker runs from here on

    plan.open("home")
    pause = plan.home.state_card.pause.main
    button = plan.at(pause, 0.0, 0.1), plan.at(pause, 1.0, 0.9)

    def at_home() -> bool:
        app.keys("alt+Right")  # the key, the start and the speed; on Home it does nothing
        return app.pixels("ember_fill", button) > 100

    wait_until(at_home, "Home")
    wait_until(lambda: app.status().state == "contributing" and app.status().samples > 0, "training")

    plan.open("contribution")
    history = plan.contribution.history.plot
    bars = plan.at(history, 0.5, 0.1), plan.at(history, 1.0, 0.9)
    app.keys("ctrl+7")  # Log: nothing there is as bright as today's bar
    wait_until(lambda: app.pixels("ember_fill", bars) == 0, "the log")
    app.keys("ctrl+3")
    wait_until(lambda: app.pixels("ember_fill", bars) > 50, "the bar of what was contributed")

    app.keys("ctrl+2")
    plan.open("model")
    result, canvas = plan.model.digits.result, plan.model.digits.canvas
    area = plan.at(result, 0.0, 0.2), plan.at(result, 1.0, 0.9)
    wait_until(lambda: app.pixels("ember_fill", area) == 0, "the demo")
    app.drag(*(plan.at(canvas, 0.5, 0.2 + step / 20) for step in range(13)))
    wait_until(lambda: app.pixels("ember_fill", area) > 100, "what the model thinks of the digit")

    saver = hearth(app, "screensaver")
    app.wait_for_focus_of(saver.pid)
    app.keys("space")
    assert saver.wait(PATIENCE_S) == 0

    app.activate()
    app.keys("ctrl+q")
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")
