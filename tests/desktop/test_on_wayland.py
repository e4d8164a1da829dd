"""The window, and what is told, on a Wayland desktop that has no tray and minimises nothing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.policy.signals.linux.bus import Object
from tests.desktop.private_bus import Service, bus
from tests.desktop.sway import Sway, sway
from tests.scenarios.test_walks import OnWayland
from tests.workers import ROOT, agreed, start_paused, wait_until

SERVER = Object.main("Notifications", "org.freedesktop.Notifications")
OTHER = """
from PySide6.QtWidgets import QApplication, QWidget
app = QApplication(["other"])
window = QWidget()
window.resize(1200, 800)
window.show()
app.exec()
"""


class Started(OnWayland):
    """An app on sway, started as often as its user likes."""

    @property
    def said(self) -> Path:
        """What it wrote to the terminal."""
        return self.folder.parent / "said.txt"

    def start_again(self) -> None:
        """Start it, while it runs: that shows the window."""
        subprocess.run(self._command(), env=self.environment, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)

    def begin(self, *words: str) -> None:
        with self.said.open("w") as said:
            self.process = subprocess.Popen(
                self._command(*words), env=self.environment, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=said
            )
        self.status()  # the worker answers

    def close_window(self) -> None:
        self._desktop.ask('[app_id="hearth"] kill')

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "core", "--data-dir", str(self.folder), *words]


@pytest.fixture(scope="module")
def desktop() -> Iterator[Sway]:
    with sway() as made:
        yield made


@pytest.fixture
def app(folder: Path, desktop: Sway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    agreed(folder)
    start_paused(folder)
    for_bus = tmp_path_factory.mktemp("bus")
    with bus(for_bus):
        environment = {**desktop.environment, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={for_bus / 'bus'}", "LANG": "C"}
        app = Started(folder, desktop, environment)
        yield app
        app.clean_up()


@pytest.fixture
def server(app: Started) -> Iterator[Service]:
    """What shows notifications."""
    made = Service(app.environment["DBUS_SESSION_BUS_ADDRESS"], SERVER.service)
    made.answer(SERVER, "Notify", "u", 7)
    yield made
    made.end()


def notified(server: Service) -> Any:
    wait_until(lambda: server.calls(SERVER, "Notify"), "the notification")
    return server.said(SERVER, "Notify")


@pytest.mark.timeout(600)
def test_a_closed_window_is_gone_which_a_notification_tells_and_a_click_brings_it_back(
    app: Started, server: Service, desktop: Sway
) -> None:
    app.begin()
    wait_until(desktop.is_active, "the window")
    app.close_window()
    wait_until(lambda: not desktop.windows(), "the end of the window")
    name, _, _, title, text, actions, hints, _ = notified(server)
    assert (name, title, actions[0]) == ("Hearth", "Hearth", "default")
    assert text.startswith("This desktop shows no tray. Hearth keeps running when its window is closed;")
    assert hints["urgency"] == ["y", 1]  # as the specification has it; mako refuses others
    server.emit(SERVER, "ActionInvoked", "us", 6, "default")  # another's
    server.emit(SERVER, "ActionInvoked", "us", 7, "default")
    wait_until(desktop.is_active, "the window that comes back")
    app.keys("ctrl+q")
    assert app.wait_for_end() == 0
    assert "textinput" not in app.said.read_text()


@pytest.mark.timeout(600)
def test_a_second_start_brings_the_window_in_front_of_another(app: Started, desktop: Sway) -> None:
    app.begin()
    wait_until(desktop.is_active, "the window")
    other = subprocess.Popen([sys.executable, "-c", OTHER], env=app.environment, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: not desktop.is_active(), "the other window")
        app.start_again()
        wait_until(desktop.is_active, "the window in front")
    finally:
        other.kill()
        other.wait()


@pytest.mark.timeout(600)
def test_started_for_the_tray_it_shows_no_window_until_it_is_started_again(app: Started, desktop: Sway) -> None:
    app.begin("--in-tray")
    assert not desktop.windows()
    app.start_again()
    wait_until(desktop.is_active, "the window")
