"""The whole app as a user has it: real processes on a screen of their own with a window manager and a tray."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import ImageGrab
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QColor
from PySide6.QtNetwork import QLocalServer
from PySide6.QtWidgets import QWidget
from Xlib import X, display
from Xlib.xobject.drawable import Window

from app.actions import Actions
from app.colors import LIGHT
from app.pages.contribution.contribution_page import ContributionPage
from app.pages.experts.experts_page import ExpertsPage
from app.pages.home.home_page import HomePage
from app.pages.log_page import LogPage
from app.pages.model.model_page import ModelPage
from app.pages.network.network_page import NetworkPage
from app.pages.settings.settings_page import SettingsPage
from app.system.single_instance import PAGES, socket_name
from app.theme import theme
from app.window.main_window import DEFAULT, MainWindow
from app.worker.client import WorkerClient
from core.contracts.control import Snapshot
from core.contracts.errors import HearthError
from core.contracts.status import Status
from core.control.client import ControlClient
from tests import virtual_screen
from tests.desktop.conftest import make_status
from tests.workers import PATIENCE_S, agreed, start_paused, wait_until

Environment = dict[str, str]


@pytest.fixture(scope="module")
def screen() -> Iterator[Environment]:
    with virtual_screen.desktop() as environment:
        yield environment


@pytest.fixture
def bare_screen() -> Iterator[Environment]:
    """A screen with a window manager and no tray."""
    with virtual_screen.desktop() as environment, virtual_screen.x_server() as name:
        bare = {**environment, "DISPLAY": name}
        with virtual_screen.started(["openbox"], env=bare, stdout=subprocess.DEVNULL):
            with contextlib.closing(display.Display(name)) as server:
                check = server.intern_atom("_NET_SUPPORTING_WM_CHECK")
                root = server.screen().root
                wait_until(lambda: root.get_full_property(check, X.AnyPropertyType), "a window manager")
            yield bare


class App:
    """An app process, its folder, and the eyes and hands of its user."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self.folder, self.environment = folder, environment
        self.pids: set[int] = set()
        """Of all processes that were ever seen of this folder."""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, computes: bool = False) -> "App":
        """Start the app and wait for its window and its worker, which is paused unless it `computes`."""
        agreed(self.folder)
        if not computes:
            start_paused(self.folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "core", "--data-dir", str(self.folder)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
        )
        self.wait_for_window()
        self.status()
        return self

    def wait_for_window(self) -> None:
        wait_until(lambda: self.windows("--onlyvisible"), "the window")

    def windows(self, *options: str) -> list[str]:
        found = self.xdotool("search", *options, "--name", "^Hearth$", check=False).split()
        return [window for window in found if self.width(window) >= 800]

    def width(self, window: str) -> int:
        shape = self.xdotool("getwindowgeometry", "--shell", window, check=False)
        return next((int(line[6:]) for line in shape.splitlines() if line.startswith("WIDTH=")), 0)

    def xdotool(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def activate(self) -> None:
        """Give the window the focus; xdotool fails where nothing has had it yet, so it is asked until it is so."""

        def active() -> bool:
            for window in self.windows("--onlyvisible"):
                self.xdotool("windowactivate", window, check=False)
                return self.xdotool("getactivewindow", check=False).strip() == window
            return False

        wait_until(active, "the focus")

    def wait_for_focus_of(self, pid: int) -> None:
        """Wait until a window of this process has the focus, so that keys go there."""

        def has_it() -> bool:
            shown = self.xdotool("search", "--onlyvisible", "--pid", str(pid), check=False).split()
            return self.xdotool("getactivewindow", check=False).strip() in shown

        wait_until(has_it, "the focus of another window")

    def keys(self, *keys: str) -> None:
        self.xdotool("key", *keys)

    def close_window(self) -> None:
        """Ask the window manager for it, as its button and its key do."""
        self.activate()
        self.keys("alt+F4")

    def drag(self, *points: QPoint) -> None:
        """Press at the first point of the window, move over the others, let go."""
        window = self.windows("--onlyvisible")[0]
        for number, point in enumerate(points):
            self.xdotool("mousemove", "--sync", "--window", window, str(point.x()), str(point.y()))
            if number == 0:
                self.xdotool("mousedown", "1")
        self.xdotool("mouseup", "1")

    def pixels(self, role: str, area: tuple[QPoint, QPoint]) -> int:
        """How many pixels of the window's area have the colour of a role."""
        shape = self.xdotool("getwindowgeometry", "--shell", self.windows("--onlyvisible")[0])
        left, top = (int(shape.split(f"{axis}=")[1].split()[0]) for axis in "XY")
        box = (left + area[0].x(), top + area[0].y(), left + area[1].x(), top + area[1].y())
        picture = ImageGrab.grab(bbox=box, xdisplay=self.environment["DISPLAY"]).convert("RGB")
        wanted = QColor(LIGHT.of[role])
        colors = picture.getcolors(picture.width * picture.height) or []
        return sum(count for count, color in colors if color == (wanted.red(), wanted.green(), wanted.blue()))

    def status(self) -> Status:
        """The worker's status; waits for a worker."""

        def ask() -> Status | None:
            try:
                with ControlClient(self.folder) as client:
                    return client.call("status", {}, Status)
            except HearthError:
                return None

        status: Status = wait_until(ask, "the worker")
        self.pids |= {process.pid for process in status.processes}
        return status

    def pid(self, name: str) -> int:
        """Of one of the three processes, as soon as the worker knows it."""

        def find() -> int | None:
            return next((process.pid for process in self.status().processes if process.name == name), None)

        found: int = wait_until(find, f"the {name} process")
        return found

    def log(self) -> str:
        path = self.folder / "logs" / "app.log"
        return path.read_text() if path.exists() else ""

    def wait_for_end(self) -> int:
        """The exit code of the app."""
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def nothing_left(self) -> bool:
        return not any(is_alive(pid) for pid in self.pids)

    def clean_up(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(HearthError), ControlClient(self.folder) as client:
            self.pids |= {process.pid for process in client.call("status", {}, Status).processes}
        for pid in self.pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                if (
                    str(self.folder) in " ".join(psutil.Process(pid).cmdline())
                    or "compute" in psutil.Process(pid).cmdline()
                ):
                    psutil.Process(pid).kill()
        for page in PAGES:
            QLocalServer.removeServer(socket_name(self.folder, page))


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def app(folder: Path, screen: Environment) -> Iterator[App]:
    app = App(folder, screen)
    yield app
    app.clean_up()


class Plan:
    """A window like the app's, never shown: where the controls are."""

    def __init__(self, folder: Path) -> None:
        theme()
        client, actions = WorkerClient(folder, "0.1.0"), Actions()
        self.home, self.model = HomePage(actions, client), ModelPage(client)
        self.contribution = ContributionPage(client)
        network, self.settings = NetworkPage(client, actions), SettingsPage(client, actions)
        self.window = MainWindow(
            [self.home, self.model, self.contribution, network, ExpertsPage(client), self.settings, LogPage(folder)],
            actions,
        )
        self.window.resize(*DEFAULT)
        self.window.set_connected(True, "")
        self.window.update_status(make_status(reason="This PC is training 32 experts."))

    def open(self, page: str) -> None:
        self.window.open_page(page)
        self.window.ensurePolished()
        self.window.grab()

    def at(self, widget: QWidget, x: float, y: float) -> QPoint:
        """A place of a widget, 0 to 1, in the window."""
        place = QPointF(widget.width() * x, widget.height() * y)
        return widget.mapTo(self.window, place.toPoint())


@pytest.fixture
def plan(folder: Path, qapp: Any) -> Plan:
    return Plan(folder)


def tray_icons(name: str) -> int:
    """How many of our icons the tray of a screen has taken in."""
    with contextlib.closing(display.Display(name)) as server:

        def count(window: Window, inside: bool) -> int:
            words = window.get_wm_class() or ("", "")
            inside = inside or words[1] == "trayer"
            mine = inside and words[0] == "hearth"
            return mine + sum(count(child, inside) for child in window.query_tree().children)

        return count(server.screen().root, False)


def wm_state(app: App) -> int:
    """1: normal, 3: minimised (ICCCM)."""
    with contextlib.closing(display.Display(app.environment["DISPLAY"])) as server:
        windows = app.windows()
        state = server.create_resource_object("window", int(windows[0])).get_wm_state() if windows else None
        return state.state if state else 0


def test_draw_a_digit_pause_and_quit(app: App, plan: Plan) -> None:
    app.start(computes=True)
    app.activate()
    app.pid("app")  # it is connected
    app.keys("ctrl+2")
    plan.open("model")
    result = plan.model.digits.result
    area = (plan.at(result, 0.0, 0.2), plan.at(result, 1.0, 0.9))
    canvas = plan.model.digits.canvas
    sheet = plan.at(canvas, 0.1, 0.1), plan.at(canvas, 0.9, 0.9)
    wait_until(lambda: app.pixels("sunken", sheet) > 10_000, "the sheet: what is drawn before goes to another page")
    assert app.pixels("ember_fill", area) == 0
    app.drag(*(plan.at(canvas, 0.5, 0.2 + step / 20) for step in range(13)))
    wait_until(lambda: app.pixels("ember_fill", area) > 100, "the bars")
    app.keys("ctrl+1")
    plan.open("home")
    app.drag(plan.at(plan.home.state_card.pause.main, 0.5, 0.5))
    wait_until(lambda: app.status().state == "paused", "the pause")
    card = plan.home.state_card
    seen = plan.at(card, 0.0, 0.0), plan.at(card, 0.5, 1.0)
    wait_until(lambda: app.pixels("pause", seen) > 20, "the window to tell of it")  # until then the key pauses
    app.keys("ctrl+shift+p")
    wait_until(lambda: app.status().state != "paused", "the end of the pause")
    app.keys("ctrl+q")
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")


def test_closing_hides_in_the_tray_and_a_second_start_shows_the_window(app: App) -> None:
    app.start()
    wait_until(lambda: tray_icons(app.environment["DISPLAY"]) == 1, "the tray icon")
    app.close_window()
    wait_until(lambda: not app.windows("--onlyvisible"), "the window to hide")
    command = [sys.executable, "-m", "core", "--data-dir", str(app.folder)]
    second = subprocess.run(command, env=app.environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert second.returncode == 0
    assert "open already" in second.stdout
    app.wait_for_window()
    app.pid("app")  # it is connected
    with ControlClient(app.folder) as client:
        client.call("quit", {}, dict)
    assert app.wait_for_end() == 0  # the worker's goodbye ends the app too
    wait_until(app.nothing_left, "the end of all processes")


def test_without_a_tray_closing_minimises(folder: Path, bare_screen: Environment) -> None:
    app = App(folder, bare_screen)
    try:
        app.start()
        app.close_window()
        wait_until(lambda: wm_state(app) == 3, "the window to be minimised")
        assert app.process is not None
        assert app.process.poll() is None
        tray = ["trayer", "--edge", "bottom", "--align", "right"]
        with virtual_screen.started(tray, env=bare_screen, stdout=subprocess.DEVNULL):
            wait_until(lambda: tray_icons(bare_screen["DISPLAY"]) == 1, "the icon in the tray that came later")
            app.xdotool("windowmap", "--sync", app.windows()[0])
            app.close_window()
            wait_until(lambda: wm_state(app) == 0, "the window to hide in the tray")
        wait_until(lambda: wm_state(app) == 3, "the window to come back as the tray has gone")
    finally:
        app.clean_up()


def test_a_killed_worker_is_started_again_and_the_reason_told(app: App) -> None:
    app.start()
    first = app.pid("worker")
    psutil.Process(first).kill()
    wait_until(lambda: app.pid("worker") != first, "another worker")
    wait_until(lambda: "it was killed (signal 9)" in app.log(), "the reason")
    assert app.process is not None
    app.process.terminate()
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")


def test_a_screen_that_is_lost_ends_the_app_with_a_sentence_and_not_the_worker(
    folder: Path, screen: Environment, capfd: pytest.CaptureFixture[str]
) -> None:
    with virtual_screen.x_server() as name:
        app = App(folder, {**screen, "DISPLAY": name})
        try:
            app.start(computes=True)
            worker = app.pid("worker")
        except BaseException:
            app.clean_up()
            raise
    try:
        assert app.wait_for_end() != 0
        assert "X11 connection broke" in capfd.readouterr().err
        step = app.status().step
        wait_until(lambda: app.status().step > step, "training to go on")
        app.environment = screen
        app.start(computes=True)
        assert app.pid("worker") == worker
        assert app.process is not None
        app.process.terminate()
        assert app.wait_for_end() == 0
        wait_until(app.nothing_left, "the end of all processes")
    finally:
        app.clean_up()


def test_on_a_full_disk_the_app_ends_without_a_word(app: App, capfd: pytest.CaptureFixture[str]) -> None:
    log = app.folder / "logs" / "app.log"
    log.parent.mkdir()
    log.symlink_to("/dev/full")  # each line that it gets fails as on a full disk
    app.start()
    assert app.process is not None
    app.process.terminate()
    assert app.wait_for_end() == 0
    assert capfd.readouterr().err == ""


def test_a_killed_app_leaves_the_worker_and_a_new_app_finds_it(app: App) -> None:
    app.start(computes=True)
    worker = app.pid("worker")
    compute = app.pid("compute")
    assert os.getsid(worker) == worker  # what ends the app's terminal or session leader does not end it
    assert app.process is not None
    app.process.kill()
    app.process.wait()
    step = app.status().step
    wait_until(lambda: app.status().step > step, "training to go on")
    app.start(computes=True)
    assert app.pid("worker") == worker
    assert app.pid("compute") == compute
    app.process.send_signal(signal.SIGINT)
    assert app.wait_for_end() == 0
    wait_until(app.nothing_left, "the end of all processes")


def test_the_worker_sees_the_apps_memory(app: App) -> None:
    app.start()
    assert app.process is not None
    assert app.pid("app") == app.process.pid
    memory = next(process.memory_mb for process in app.status().processes if process.name == "app")
    assert memory < 150


def test_the_idle_app_uses_hardly_any_processor_time(app: App) -> None:
    """Measured while paused and hidden in the tray: below 1% of a core."""
    app.start()
    wait_until(lambda: app.pid("app"), "the app's connection")
    with ControlClient(app.folder) as client:
        client.call("pause", {"seconds": None}, dict)
        client.call("subscribe", {}, Snapshot)
    app.close_window()
    wait_until(lambda: not app.windows("--onlyvisible"), "the window to hide")
    assert app.process is not None
    process = psutil.Process(app.process.pid)

    def share() -> bool:
        before, start = process.cpu_times(), time.monotonic()
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(4.0)
        after, end = process.cpu_times(), time.monotonic()
        return (after.user + after.system - before.user - before.system) / (end - start) < 0.01

    wait_until(share, "an idle app")
