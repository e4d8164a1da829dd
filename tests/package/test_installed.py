"""The package as a volunteer has it: installed by apt in a clean Debian, used by keyboard and mouse, removed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import ImageGrab

from app.first_run.first_run import FirstRun
from app.widgets.buttons import Switch
from app.window.main_window import DEFAULT
from app.worker.client import WorkerClient
from core import consent
from tests import virtual_screen
from tests.desktop.test_app import App, Plan
from tests.package.clean_root import HOME, ROOT, CleanRoot, clean_root
from tests.unit.test_run_link import LINK
from tests.workers import PATIENCE_S, never_busy, wait_until

ANYWAY = {"version": 2, "idle_only": False, "theme": "light", "language": "en"}
"""It trains while this test is at the keyboard."""
SHOTS = ROOT / "build" / "screenshots" / "package"
LEFT_BY_THE_SYSTEM = (".cache/", ".config/dconf", ".local/share/recently", ".dbus", ".config/QtProject")
"""In a home: of font and shader caches, and of Qt's own file dialogs."""


def the_package() -> Path:
    found = sorted((ROOT / "dist").glob("hearth_*_amd64.deb"))
    assert found, "there is no package: run make package"
    return found[-1]


class Installed(App):
    """The app in a clean root; its folder as seen from outside."""

    def __init__(self, root: CleanRoot, environment: dict[str, str]) -> None:
        super().__init__(root.home / ".local/share/Hearth", environment)
        self.root = root

    def hearth(self, *words: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self.root.command("hearth", *words), stdin=subprocess.DEVNULL)

    def shoot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        ImageGrab.grab(xdisplay=self.environment["DISPLAY"]).save(SHOTS / f"{name}.png")

    def ready_after(self, *words: str) -> float:
        """Start it, and wait until its icon is in the tray; how long that took, in seconds."""
        before, started = self.log().count("app ready"), time.monotonic()
        self.process = self.hearth(*words)
        wait_until(lambda: self.log().count("app ready") > before, "the app")
        return time.monotonic() - started


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Installed]:
    with (
        virtual_screen.desktop() as environment,
        clean_root(tmp_path, environment["DISPLAY"]) as root,
    ):
        bus = ["dbus-daemon", "--session", "--address=unix:path=/run/user/1000/bus", "--nofork", "--nopidfile"]
        with virtual_screen.started(root.command(*bus), stdout=subprocess.DEVNULL):
            app = Installed(root, environment)
            yield app
            app.clean_up()


def log_in(root: CleanRoot) -> "subprocess.Popen[bytes]":
    """What a desktop does at a login: run what is in the folder for it."""
    (entry,) = (root.home / ".config/autostart").glob("*.desktop")
    lines = dict(line.split("=", 1) for line in entry.read_text().splitlines() if "=" in line)
    assert (root.path / lines["TryExec"].lstrip("/")).exists()
    return subprocess.Popen(root.command("sh", "-c", f"exec {lines['Exec']}"), stdin=subprocess.DEVNULL)


@pytest.mark.timeout(1800)
def test_installed_used_and_removed_without_a_trace(app: Installed, tmp_path: Path, qapp: Any) -> None:
    root, folder = app.root, app.folder
    assert not list((root.path / "usr/bin").glob("python*"))
    home_before = root.files(HOME)

    # Installed
    shutil.copy(the_package(), root.path / "tmp/hearth.deb")
    started = time.monotonic()
    root.run("apt-get", "install", "-y", "/tmp/hearth.deb", user="root", DEBIAN_FRONTEND="noninteractive")
    print(f"apt install: {time.monotonic() - started:.0f} s")
    assert not list((root.path / "usr/bin").glob("python*")), "a dependency brought Python along"
    told = json.loads(root.run("hearth", "version", "--json"))
    assert told["frozen"] and told["managed_by_distribution"] and len(told["hash"]) == 64

    # First run
    plan_folder = tmp_path / "plan"
    plan_folder.mkdir()
    plan = Plan(plan_folder)
    first = FirstRun(plan_folder, WorkerClient(plan_folder, told["version"]))
    first.resize(*DEFAULT)
    first.grab()
    on = first.next.mapTo(first, first.next.rect().center())
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(ANYWAY))
    never_busy(folder)
    for path in (root.home / ".local", *(root.home / ".local").rglob("*")):
        os.chown(path, 1000, 1000)
    app.process = app.hearth()
    app.wait_for_window()
    app.activate()
    app.shoot("1-first-run")
    app.drag(on)  # Welcome
    assert consent.read(folder) is None
    app.drag(on)  # I agree
    wait_until(lambda: consent.read(folder), "the consent")
    app.shoot("2-consent-given")
    app.keys("alt+Right")
    app.status()

    # Training
    plan.open("home")
    pause = plan.home.state_card.pause.main
    button = plan.at(pause, 0.0, 0.1), plan.at(pause, 1.0, 0.9)

    def at_home() -> bool:
        app.keys("alt+Right")
        return app.pixels("ember_fill", button) > 100

    wait_until(at_home, "Home")
    wait_until(lambda: app.status().state == "contributing" and app.status().samples > 0, "training")
    app.shoot("3-training")

    # Prediction
    app.keys("ctrl+2")
    plan.open("model")
    result, canvas = plan.model.digits.result, plan.model.digits.canvas
    area = plan.at(result, 0.0, 0.2), plan.at(result, 1.0, 0.9)
    wait_until(lambda: (app.status().accuracy or 0.0) > 0.8, "a model that is trained")
    wait_until(lambda: app.pixels("ember_fill", area) == 0, "the demo")
    app.drag(*(plan.at(canvas, 0.5, 0.2 + step / 20) for step in range(13)))
    wait_until(lambda: app.pixels("ember_fill", area) > 100, "what the model thinks of the digit")
    app.shoot("4-prediction")

    # Screensaver
    saver = app.hearth("screensaver")
    app.wait_for_focus_of(saver.pid)
    time.sleep(1.0)  # for the picture only
    app.shoot("5-screensaver")
    app.keys("space")
    assert saver.wait(PATIENCE_S) == 0

    # A link to a run, while the window is closed
    app.close_window()
    wait_until(lambda: not app.windows("--onlyvisible"), "the window closed")
    root.run("xdg-open", LINK)
    wait_until(lambda: app.windows("--onlyvisible"), "the window, opened by the link")
    time.sleep(2.0)  # for the picture only
    app.shoot("6-link")
    app.keys("Escape")

    # Pause
    app.activate()
    app.keys("ctrl+1")
    wait_until(lambda: app.pixels("ember_fill", button) > 100, "Home")
    pressed = time.monotonic()
    app.drag(plan.at(pause, 0.3, 0.5))
    wait_until(lambda: app.status().state == "paused", "the pause")
    print(f"paused {1000 * (time.monotonic() - pressed):.0f} ms after the click began")
    app.shoot("7-paused")

    # Start at login, switched on in Settings
    app.keys("ctrl+comma")
    plan.open("settings")
    switch, entries = plan.settings.login.control.findChild(Switch), root.home / ".config/autostart"
    assert switch is not None

    def switched() -> bool:
        """Before the page is there a click meets nothing; after one that did, the entry comes at once."""
        app.drag(plan.at(switch, 0.5, 0.5))
        until = time.monotonic() + 3.0
        while not list(entries.glob("*.desktop")) and time.monotonic() < until:
            time.sleep(0.05)
        return bool(list(entries.glob("*.desktop")))

    wait_until(switched, "the entry for the login")
    app.shoot("8-start-at-login")

    # Quit, and a new login
    app.keys("ctrl+q")
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")
    ready = app.log().count("app ready")
    app.process = log_in(root)
    wait_until(lambda: app.log().count("app ready") > ready, "the app after the login")
    app.status()
    assert not app.windows("--onlyvisible"), "at login it starts in the tray"
    root.run("hearth", "quit")
    assert app.wait_for_end() == 0

    # How fast it starts
    for name in ("cold", "warm", "warm", "warm"):
        if name == "cold":
            Path("/proc/sys/vm/drop_caches").write_text("3")
        print(f"start to tray, {name}: {app.ready_after('--in-tray'):.2f} s")
        app.status()
        root.run("hearth", "quit")
        assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")

    # Without a trace
    root.run("hearth", "data", "purge", "--yes")
    left = {name for name in root.files(HOME) - home_before if not name.startswith(LEFT_BY_THE_SYSTEM)}
    assert left == set()
    root.run("apt-get", "purge", "-y", "hearth", user="root", DEBIAN_FRONTEND="noninteractive")
    assert not (root.path / "usr/lib/hearth").exists()
    assert not [name for name in root.files("usr") | root.files("etc") if "hearth" in name]
