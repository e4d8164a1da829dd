"""The screensaver as desktops call it: real processes and windows on a screen of their own, input by xdotool."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from PIL import Image, ImageGrab
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPolygonF
from pytestqt.qtbot import QtBot
from Xlib import X, display
from Xlib.ext import randr
from Xlib.ext import screensaver as idle_counter
from Xlib.protocol import rq

from app.language import speak
from app.pages.experts.grid_layer import EVERY_MS, Layer
from app.screensaver import captions, scene
from app.screensaver import view as view_module
from app.screensaver.feed import NO_WORKER, NOT_AGREED, Feed, Happened
from app.screensaver.idle_start import IdleStart, is_due
from app.screensaver.options import ROOT, Options, parse
from app.screensaver.view import View
from app.system.single_instance import Instance
from app.theme import theme
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.control import Snapshot
from core.contracts.errors import SettingsError
from core.contracts.network_status import NetworkStatus
from core.contracts.notices import plain
from core.contracts.status import CellStatus, GridStatus
from core.policy.signals.linux import power, screensaver
from core.policy.signals.linux.front import FrontSource
from core.policy.signals.linux.x11_front import XWindow
from core.policy.signals.reading import Front
from tests import virtual_screen
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.private_bus import Service, bus
from tests.returns import THRESHOLD_S, yielding_worker
from tests.workers import agreed

SIZE = (1440, 900)
PATIENCE_MS = 240_000
NAME = "^Hearth screensaver$"
BLACK = ((0, 0), (0, 0), (0, 0))


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with virtual_screen.desktop() as found:
        yield found


@pytest.fixture
def screen(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator["Screen"]:
    with contextlib.closing(Screen(environment, monkeypatch)) as found:
        found.xdotool("mousemove", "700", "450")
        yield found


class Screen:
    """A screen with a window manager, and the screensavers that are started on it."""

    def __init__(self, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.environment = dict(environment)
        monkeypatch.setenv("DISPLAY", environment["DISPLAY"])
        self.display = display.Display(environment["DISPLAY"])
        self.root = self.display.screen().root
        self.processes: list[subprocess.Popen[str]] = []

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
        self.display.close()

    def xdotool(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def start(self, folder: Path, *words: str, **variables: str) -> "subprocess.Popen[str]":
        """`hearth screensaver` with these words."""
        process = subprocess.Popen(
            [sys.executable, "-m", "core", "screensaver", *words, "--data-dir", str(folder)],
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def shown(self) -> list[str]:
        """The numbers of the screensaver's windows that are shown."""
        return self.xdotool("search", "--onlyvisible", "--name", NAME, check=False).split()

    def windows(self) -> list[tuple[int, ...]]:
        """Their places and sizes."""
        found = []
        for window in self.shown():
            shape = self.xdotool("getwindowgeometry", "--shell", window, check=False)
            values = dict(line.split("=") for line in shape.splitlines())
            if values:
                found.append(tuple(int(values[name]) for name in ("X", "Y", "WIDTH", "HEIGHT")))
        return sorted(found)

    def picture(self) -> Image.Image:
        return ImageGrab.grab(xdisplay=self.environment["DISPLAY"]).convert("RGB")

    def active(self) -> str:
        """The number of the window that has the focus; empty: none has."""
        return self.xdotool("getactivewindow", check=False).strip()

    def is_covered(self) -> bool:
        return self.windows() == [(0, 0, *SIZE)] and self.active() in self.shown() and is_lit(self.picture())


def is_lit(picture: Image.Image) -> bool:
    """It shows something."""
    return bool(picture.convert("L").getextrema()[1] > 100)  # type: ignore[operator]


def ended(qtbot: QtBot, process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Its exit code and what it said."""
    qtbot.waitUntil(lambda: process.poll() is not None, timeout=PATIENCE_MS)
    return process.returncode, process.communicate()[1]


# the command line


@pytest.mark.parametrize(
    ("words", "variable", "expected"),
    [
        ([], "", Options(None)),
        (["/s"], "0x2a", Options(None)),
        (["/S"], "", Options(None)),
        (["/p", "1234"], "", Options(None, 1234)),
        (["/P:1234"], "", Options(None, 1234)),
        (["-p", "0x10"], "", Options(None, 16)),
        (["/c"], "", Options(None, settings=True)),
        (["/C:99"], "0x2a", Options(None, settings=True)),
        (["-root"], "", Options(None, ROOT)),
        (["--root"], "0x2a00007", Options(None, 0x2A00007)),
        ([], "0x2a00007", Options(None, 0x2A00007)),
        (["--window-id", "0x10"], "0x2a", Options(None, 16)),
        (["-window-id=17"], "", Options(None, 17)),
        (["--full-screen", "--black-after", "1 min 30 s"], "", Options(None, black_s=90)),
        (["--black-after", "0", "--data-dir", "/data"], "", Options(Path("/data"), black_s=0)),
    ],
)
def test_every_way_in_which_desktops_call_it(words: list[str], variable: str, expected: Options) -> None:
    assert parse(words, {"XSCREENSAVER_WINDOW": variable}) == expected


@pytest.mark.parametrize(
    ("words", "variable", "said"),
    [
        (["/p"], "", "expected one argument"),
        (["--window-id", "desk"], "", "'desk' is not the number of a window"),
        (["--window-id", "0"], "", "not the number of a window"),
        (["/s", "/c"], "", "not allowed with"),
        (["--black-after", "soon"], "", "'soon' is no time"),
        (["-root"], "x" * 10_000, "XSCREENSAVER_WINDOW cannot be used"),
        (["/x"], "", "Unrecognized arguments: /x"),
    ],
)
def test_what_it_cannot_do_is_said(words: list[str], variable: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        parse(words, {"XSCREENSAVER_WINDOW": variable})


def test_the_settings_are_those_of_the_app(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    app = Instance(folder)
    assert app.acquire()
    app.listen()
    try:
        with qtbot.waitSignal(app.page_asked, timeout=PATIENCE_MS) as asked:
            process = screen.start(folder, "/c:1234")
        assert asked.args == ["settings"]
        assert ended(qtbot, process) == (0, "")
    finally:
        app.release()


# on all screens


def test_alone_it_covers_the_screen_and_ends_with_a_key(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    process = screen.start(folder, "/s")
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    second = screen.start(folder)
    assert ended(qtbot, second) == (4, "hearth: The screensaver is shown already.\n")
    screen.xdotool("key", "Shift_L")
    assert ended(qtbot, process) == (0, "")
    assert screen.windows() == []


@pytest.mark.parametrize("touch", [["click", "1"], ["click", "5"], ["mousemove_relative", "15", "0"]])
def test_it_ends_at_once_on_any_touch(qtbot: QtBot, screen: Screen, folder: Path, touch: list[str]) -> None:
    process = screen.start(folder)
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    time.sleep(0.5)  # the pointer may come to rest, which nothing tells
    screen.xdotool("mousemove_relative", "3", "2")  # a desk that shakes
    screen.xdotool("mousemove_relative", "--", "-2", "-3")
    qtbot.wait(200)
    assert process.poll() is None
    screen.xdotool(*touch)

    def is_gone() -> bool:
        if touch[0] == "mousemove_relative" and screen.windows():
            screen.xdotool(*touch)  # a move that came before the pointer was at rest was none
        return screen.windows() == []

    qtbot.waitUntil(is_gone, timeout=PATIENCE_MS)
    assert ended(qtbot, process) == (0, "")


def test_it_ends_when_another_window_takes_the_focus(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    process = screen.start(folder)
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    dialog = screen.root.create_window(50, 50, 300, 200, 0, screen.root.get_geometry().depth)
    dialog.map()
    screen.display.sync()

    def takes_the_focus() -> bool:
        screen.xdotool("windowactivate", str(dialog.id), check=False)  # in vain until the window manager knows it
        return screen.active() == str(dialog.id)

    qtbot.waitUntil(takes_the_focus, timeout=PATIENCE_MS)
    assert ended(qtbot, process) == (0, "")
    dialog.destroy()
    screen.display.sync()


def test_it_ends_when_it_is_asked_to(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    process = screen.start(folder)
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    process.terminate()
    assert ended(qtbot, process) == (0, "")


def test_it_goes_black_after_its_time_and_still_ends(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    process = screen.start(folder, "--black-after", "2s")
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: screen.picture().getextrema() == BLACK, timeout=PATIENCE_MS)
    assert process.poll() is None
    one = psutil.Process(process.pid)
    before = sum(one.cpu_times()[:2])
    qtbot.wait(1000)
    assert sum(one.cpu_times()[:2]) - before < 0.1  # and costs nothing
    screen.xdotool("key", "space")
    assert ended(qtbot, process) == (0, "")


def test_the_system_still_sees_that_nobody_is_here_and_no_game(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    screen.xdotool("key", "Shift_L")
    begun = time.monotonic()
    process = screen.start(folder)
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    with contextlib.closing(FrontSource(XWindow, [], lambda: None)) as front:
        assert front.read() == Front("window", "Hearth")
    shown = time.monotonic() - begun
    assert idle_counter.query_info(screen.root).idle / 1000 > shown - 1.0  # no window of it counts as input
    process.terminate()
    ended(qtbot, process)


class SetMonitor(rq.Request):  # type: ignore[misc]
    """RRSetMonitor; Xlib's own cannot be sent."""

    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(43), rq.RequestLength(), rq.Window("window"), rq.Card32("name"),
        rq.Bool("primary"), rq.Bool("automatic"), rq.LengthOf("outputs", 2), rq.Int16("x"), rq.Int16("y"),
        rq.Card16("width"), rq.Card16("height"), rq.Card32("mm_width"), rq.Card32("mm_height"),
        rq.List("outputs", rq.Card32Obj),
    )  # fmt: skip


def set_monitor(screen: Screen, name: str, x: int, width: int, outputs: list[int]) -> None:
    SetMonitor(
        display=screen.display.display, opcode=screen.display.display.get_extension_major(randr.extname),
        window=screen.root, name=screen.display.intern_atom(name), primary=False, automatic=False,
        x=x, y=0, width=width, height=SIZE[1], mm_width=100, mm_height=100, outputs=outputs,
    )  # fmt: skip
    screen.display.sync()


def test_screens_come_and_go(qtbot: QtBot, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with virtual_screen.desktop() as environment, contextlib.closing(Screen(environment, monkeypatch)) as screen:
        half = SIZE[0] // 2
        set_monitor(screen, "LEFT", 0, half, screen.root.xrandr_get_screen_resources().outputs)
        process = screen.start(folder)
        qtbot.waitUntil(lambda: screen.windows() == [(0, 0, half, SIZE[1])], timeout=PATIENCE_MS)
        set_monitor(screen, "RIGHT", half, half, [])
        both = [(0, 0, half, SIZE[1]), (half, 0, half, SIZE[1])]
        qtbot.waitUntil(lambda: screen.windows() == both, timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda: is_lit(screen.picture().crop((half, 0, *SIZE))), timeout=PATIENCE_MS)
        randr.DeleteMonitor(
            display=screen.display.display, opcode=screen.display.display.get_extension_major(randr.extname),
            window=screen.root, name=screen.display.intern_atom("RIGHT"),
        )  # fmt: skip
        screen.display.sync()
        qtbot.waitUntil(lambda: screen.windows() == both[:1], timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda: screen.active() in screen.shown(), timeout=PATIENCE_MS)
        assert process.poll() is None
        screen.xdotool("key", "Escape")
        assert ended(qtbot, process) == (0, "")


# battery and lock


@pytest.fixture
def buses(tmp_path: Path) -> Iterator[Callable[[Any], Service]]:
    """Services on a bus of the test's own, at `tmp_path`/bus."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(bus(tmp_path))

        def start(target: Any) -> Service:
            service = Service(f"unix:path={tmp_path / 'bus'}", target.service)
            stack.callback(service.end)
            return service

        yield start


@pytest.fixture
def upower(buses: Callable[[Any], Service]) -> Service:
    service = buses(power.UPOWER)
    service.property(power.DISPLAY, "IsPresent", "b", True)
    service.property(power.DISPLAY, "Type", "u", 2)
    service.property(power.DISPLAY, "Percentage", "d", 80.0)
    service.property(power.UPOWER, "OnBattery", "b", False)
    return service


def on_battery(service: Service, on: bool) -> None:
    service.property(power.UPOWER, "OnBattery", "b", on)
    service.changed(power.UPOWER)


def test_it_never_runs_on_battery(qtbot: QtBot, screen: Screen, tmp_path: Path, upower: Service) -> None:
    system = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path / 'bus'}"}
    said = "hearth: The screensaver does not run on battery. Plug this PC in.\n"
    process = screen.start(tmp_path, **system)
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    on_battery(upower, True)
    assert ended(qtbot, process) == (0, said)
    assert ended(qtbot, screen.start(tmp_path, **system)) == (0, said)
    assert screen.windows() == []


def test_in_another_programs_window_it_is_black_on_battery(
    qtbot: QtBot, screen: Screen, tmp_path: Path, upower: Service
) -> None:
    on_battery(upower, True)
    with Foreign(screen) as foreign:
        system = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path / 'bus'}"}
        process = screen.start(tmp_path, "--window-id", hex(foreign.window.id), **system)
        qtbot.waitUntil(lambda: foreign.picture().getextrema() == BLACK, timeout=PATIENCE_MS)
        on_battery(upower, False)
        qtbot.waitUntil(lambda: is_lit(foreign.picture()), timeout=PATIENCE_MS)
        on_battery(upower, True)
        qtbot.waitUntil(lambda: foreign.picture().getextrema() == BLACK, timeout=PATIENCE_MS)
        assert process.poll() is None


def test_it_ends_when_the_session_is_locked(
    qtbot: QtBot, screen: Screen, tmp_path: Path, buses: Callable[[Any], Service]
) -> None:
    lock = buses(screensaver.FREEDESKTOP)
    lock.answer(screensaver.FREEDESKTOP, "GetActive", "b", False)
    process = screen.start(tmp_path, DBUS_SESSION_BUS_ADDRESS=f"unix:path={tmp_path / 'bus'}")
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    lock.answer(screensaver.FREEDESKTOP, "GetActive", "b", True)
    lock.emit(screensaver.FREEDESKTOP, "ActiveChanged", "b", True)
    assert ended(qtbot, process) == (0, "")


# in another program's window


class Foreign:
    """A plain X window, as a desktop's own screensaver makes one; white until somebody draws into it."""

    def __init__(self, screen: Screen, width: int = 640, height: int = 400) -> None:
        self._screen = screen
        white = screen.display.screen().white_pixel
        self.window = screen.root.create_window(
            20, 30, width, height, 0, screen.root.get_geometry().depth, background_pixel=white, override_redirect=True,
            event_mask=X.ButtonPressMask,
        )  # fmt: skip
        self.window.map()
        screen.display.sync()

    def __enter__(self) -> "Foreign":
        return self

    def __exit__(self, *_: object) -> None:
        self.window.destroy()
        self._screen.display.sync()

    def picture(self) -> Image.Image:
        shape = self.window.get_geometry()
        place = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
        return self._screen.picture().crop(place)

    def is_dark(self) -> bool:
        """Somebody has drawn into it."""
        picture = self.picture()
        return sum(picture.convert("L").histogram()[:60]) > 0.8 * picture.width * picture.height

    def shows_it(self) -> bool:
        return self.is_dark() and is_lit(self.picture())


def test_it_draws_into_a_window_of_another_program(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    foreign = Foreign(screen)
    process = screen.start(folder, "--window-id", hex(foreign.window.id))
    qtbot.waitUntil(foreign.shows_it, timeout=PATIENCE_MS)
    screen.xdotool("mousemove", "300", "200")
    screen.xdotool("click", "1")  # which is the other program's
    qtbot.waitUntil(lambda: screen.display.pending_events() > 0, timeout=PATIENCE_MS)
    assert screen.display.next_event().type == X.ButtonPress
    assert process.poll() is None
    foreign.window.configure(width=900, height=600)
    screen.display.sync()
    qtbot.waitUntil(foreign.shows_it, timeout=PATIENCE_MS)
    foreign.__exit__()
    assert ended(qtbot, process) == (0, "")


def test_xscreensaver_names_its_window_in_the_environment(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    with Foreign(screen, 160, 120) as foreign:  # the size of a preview
        process = screen.start(folder, "-root", XSCREENSAVER_WINDOW=hex(foreign.window.id))
        qtbot.waitUntil(foreign.is_dark, timeout=PATIENCE_MS)
        process.terminate()
        assert ended(qtbot, process) == (0, "")


def test_the_background_is_drawn_on_below_all_windows(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    with Foreign(screen) as foreign:
        process = screen.start(folder, "-root")
        qtbot.waitUntil(lambda: screen.windows() == [(0, 0, *SIZE)], timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda: is_lit(screen.picture().crop((700, 40, *SIZE))), timeout=PATIENCE_MS)
        assert foreign.picture().getextrema() == ((255, 255),) * 3
        screen.xdotool("key", "Shift_L")
        qtbot.wait(300)
        assert process.poll() is None
        process.terminate()
        assert ended(qtbot, process) == (0, "")


def test_a_window_that_is_not_there_is_told(qtbot: QtBot, screen: Screen, folder: Path) -> None:
    code, said = ended(qtbot, screen.start(folder, "--window-id", "0x7fffff"))
    assert code == 1 and "There is no window 0x7fffff to draw into." in said


# what is seen


def make_grid(layer: int, calls: int = 0, version: int = 5) -> GridStatus:
    """Sixteen cells, all but the last hosted, the first one here; the second answered `calls`."""
    cells = [CellStatus(n, n == 0, version if n == 2 else 5, 0.3, 1, calls if n == 1 else 7) for n in range(15)]
    return GridStatus(layer, 2, (4, 4), True, cells)


@pytest.fixture
def feed(qtbot: QtBot, folder: Path) -> Iterator[Feed]:
    theme().set_mode("dark")
    feed = Feed(folder)
    yield feed
    feed.stop()
    theme().set_mode("system")


@pytest.fixture
def view(qtbot: QtBot, feed: Feed) -> View:
    view = View(feed)
    qtbot.addWidget(view)
    view.resize(470, 290)  # too small for words, of which the time goes on
    with qtbot.waitExposed(view):
        view.show()
    return view


def words(feed: Feed) -> str:
    lines = [*captions.heading(feed, datetime(2026, 1, 2, 2, 47)), *captions.figures(feed)]
    return "\n".join(f"{line.figure} {line.text}".strip() for line in lines)


def test_without_a_worker_it_says_why_nothing_moves(qtbot: QtBot, feed: Feed, view: View, folder: Path) -> None:
    with qtbot.waitSignal(feed.changed):
        feed.start()
    assert words(feed) == f"02:47\n{captions.ALONE}\n{NOT_AGREED}"
    agreed(folder)
    with qtbot.waitSignal(feed.changed, timeout=PATIENCE_MS):  # it goes on looking
        pass
    assert words(feed) == f"02:47\n{captions.ALONE}\n{NO_WORKER}"
    assert view.frames == 0


def test_state_and_figures_are_those_of_the_worker(qtbot: QtBot, feed: Feed, toy: ToyWorker) -> None:
    toy.answers["grid"] = lambda params: make_grid(params["layer"])
    toy.answers["network"] = lambda params: NetworkStatus("a", "b", "reachable", plain(""), "", [], [], [], 141)
    feed.start()
    qtbot.waitUntil(lambda: feed.peers == 141 and len(feed.layers) == 2, timeout=PATIENCE_MS)
    assert toy.hellos[0].client == "screensaver"
    toy.tell("status", make_status(idle_only=True, reason="You have been away for 12 min.", until="Until you come."))
    qtbot.waitUntil(lambda: "away" in words(feed))
    assert words(feed).splitlines() == [
        "02:47", "Contributing", "You have been away for 12 min.", "Until you come.",
        "Touch it and it is yours within 118 ms (p95, last 7 times).",
        "30 experts, 2 of them here", "141 peers connected", "52 calls to experts here per second",
        "134,400 samples seen by the model in 4,200 steps", "0.210 training loss",
    ]  # fmt: skip
    toy.hang_up()
    qtbot.waitUntil(lambda: NOT_AGREED in words(feed))


def test_at_rest_it_looks_at_nothing_but_still_knows_of_input(qtbot: QtBot, feed: Feed, toy: ToyWorker) -> None:
    toy.answers["grid"] = lambda params: make_grid(params["layer"])
    feed.start()
    qtbot.waitUntil(lambda: len(feed.layers) == 2, timeout=PATIENCE_MS)
    feed.rest(True)
    looks = toy.methods().count("grid")
    qtbot.wait(3 * EVERY_MS)
    toy.tell("status", make_status(idle_s=0.5))
    qtbot.waitUntil(lambda: feed.status is not None and feed.status.idle_s == 0.5)
    assert toy.methods().count("grid") == looks
    feed.rest(False)
    qtbot.waitUntil(lambda: toy.methods().count("grid") > looks)


def test_a_layer_of_the_run_before_is_not_taken_for_one_of_the_next(qtbot: QtBot, feed: Feed, toy: ToyWorker) -> None:
    toy.answers["grid"] = lambda params: make_grid(params["layer"])
    feed.start()
    qtbot.waitUntil(lambda: len(feed.layers) == 2 and not feed._looking, timeout=PATIENCE_MS)
    feed._timer.stop()
    toy.silent.add("grid")
    request, other = feed.client._next_id, make_status(run_id="other-12345678")
    feed._look()
    toy.answers["subscribe"] = lambda params: wire.Snapshot(other, toy.settings, [])
    toy.tell("status", other)  # the run before has been left
    qtbot.waitUntil(lambda: feed.status is not None and feed.status.run_id == other.run_id)
    toy.send(wire.Reply(request, make_grid(0)))
    qtbot.waitUntil(lambda: request not in feed.client._asked)
    assert feed.layers == []


def on_screen(view: View) -> QImage:
    """What the window really shows; to draw it anew would hide what was left over."""
    return view.screen().grabWindow(view.winId()).toImage()


def test_calls_are_lights_and_only_what_changes_is_drawn(qtbot: QtBot, feed: Feed, view: View, toy: ToyWorker) -> None:
    calls = [0]
    toy.answers["grid"] = lambda params: make_grid(params["layer"], calls[0])
    feed.start()
    qtbot.waitUntil(lambda: len(feed.layers) == 2, timeout=PATIENCE_MS)
    qtbot.wait(300)
    assert view.frames == 0  # nothing happened, so nothing moves
    still = on_screen(view)
    calls[0] = 3
    feed._look()
    qtbot.waitUntil(lambda: view.frames > 3, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: on_screen(view) != still, timeout=PATIENCE_MS)
    begun, before = time.monotonic(), view.frames
    qtbot.wait(1000)
    assert view.frames - before <= 15 * (time.monotonic() - begun)
    feed._timer.stop()
    qtbot.waitUntil(lambda: not view._timer.isActive(), timeout=PATIENCE_MS)  # all have arrived
    qtbot.waitUntil(lambda: on_screen(view) == still, timeout=PATIENCE_MS)  # and left no trace


def test_layers_told_after_the_ground_was_drawn_are_shown_with_that_look(qtbot: QtBot, feed: Feed, view: View) -> None:
    qtbot.waitUntil(lambda: view._ready)
    for number in range(2):
        feed.layers.append(Layer())
        feed.layers[number].take(make_grid(number))
        if number == 0:
            view._begin_anew()  # it is drawn between the two answers
    assert len(view._planes) == 1
    feed.looked.emit([])
    assert len(view._planes) == 2


def test_with_less_motion_cells_are_lit_and_nothing_moves(qtbot: QtBot, feed: Feed, view: View, toy: ToyWorker) -> None:
    calls = [0]
    toy.answers["grid"] = lambda params: make_grid(params["layer"], calls[0])
    view.still = True
    feed.start()
    qtbot.waitUntil(lambda: len(feed.layers) == 2, timeout=PATIENCE_MS)
    qtbot.wait(100)
    still = view.grab().toImage()
    calls[0] = 3
    feed._look()
    qtbot.waitUntil(lambda: view.grab().toImage() != still, timeout=PATIENCE_MS)
    assert view.frames == 0 and not view._seen


def test_what_happened_is_told_by_cell(qtbot: QtBot, feed: Feed, toy: ToyWorker) -> None:
    now = [make_grid(0), make_grid(1)]
    toy.answers["grid"] = lambda params: now[params["layer"]]
    feed.start()
    with qtbot.waitSignal(feed.looked, timeout=PATIENCE_MS) as looked:
        pass
    nothing = frozenset[int]()
    assert looked.args == [[Happened(0, nothing, nothing), Happened(1, nothing, nothing)]]
    now[1] = make_grid(1, calls=1, version=6)
    with qtbot.waitSignal(feed.looked, timeout=PATIENCE_MS) as looked:
        pass
    assert looked.args == [[Happened(0, nothing, nothing), Happened(1, frozenset({1, 2}), frozenset({2}))]]
    now[1] = make_grid(1, calls=0, version=4)  # compute was killed, and goes on from its checkpoint
    with qtbot.waitSignal(feed.looked, timeout=PATIENCE_MS) as looked:
        pass
    assert looked.args == [[Happened(0, nothing, nothing), Happened(1, nothing, nothing)]]


def test_lights_go_from_layer_to_layer_and_gradients_back() -> None:
    from random import Random

    planes = scene.planes(1456, 819, [(4, 16), (4, 16)])
    found = [Happened(0, frozenset({3}), frozenset()), Happened(1, frozenset({5}), frozenset({5}))]
    moving, glows = scene.lights(found, planes, 100.0, 2.0, 8, Random(1))
    first, second, back = moving
    above, below = planes[0].cell(3)[0], planes[1].cell(5)[0]
    assert first.path[-1] == above and first.path[0].y() < 0
    assert (second.path[0], second.path[-1], second.back) == (above, below, False)
    assert (back.path[0], back.path[-1], back.back) == (below, above, True)
    assert all(100 <= light.start <= 102 for light in moving) and len(glows) == 3
    assert second.seen(second.start) == [] and second.seen(second.start + 10) is None
    trail = second.seen(second.start + scene.TRAVEL_S / 2)
    assert trail and all(above.y() <= point.y() < below.y() for point in trail)


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900), (1920, 1080), (1280, 1024)])
def test_no_plane_runs_through_the_words(
    qtbot: QtBot, feed: Feed, view: View, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    minute = 0

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2026, 1, 2, 0, minute)

    monkeypatch.setattr(view_module, "datetime", Clock)
    speak("de")  # longer words
    feed.status, feed.peers, feed.layer_count = make_status(run="text", task="text"), 141, 3
    for number in range(3):
        feed.layers.append(Layer())
        feed.layers[number].take(make_grid(number))
    view.resize(*size)
    view._begin_anew()
    planes = [QPolygonF(plane.corners()) for plane in view._planes]
    met = set()
    for minute in range(25):  # the words move a little each minute
        view._minute()
        words = [QRectF(place) for place in view._places]
        assert len(planes) == 3 and not any(block.isEmpty() for block in words)
        met |= {minute for plane in planes for block in words if plane.intersects(QPolygonF(block))}
    speak("system")
    assert met == set()


def test_planes_lie_within_the_picture() -> None:
    for width, height in ((1456, 819), (3840, 2160), (1080, 1920), (160, 120)):
        for plane in scene.planes(width, height, [(64, 4096)] * 3):
            points: list[QPointF] = [*plane.corners(), plane.cell(0)[0], plane.cell(4095)[0]]
            assert all(0 < point.x() < width and 0 < point.y() < height for point in points)


# when nobody is here

AWAY = {"idle_s": 301.0, "front": "window", "mains": True, "locked": False}


@pytest.mark.parametrize(
    ("changes", "after_s", "due"),
    [
        ({}, 300.0, True),
        ({}, 0.0, False),
        ({"idle_s": 299.0}, 300.0, False),
        ({"idle_s": None}, 300.0, False),
        ({"front": "fullscreen"}, 300.0, False),
        ({"front": "presentation"}, 300.0, False),
        ({"mains": False}, 300.0, False),
        ({"locked": True}, 300.0, False),
        ({"front": None, "mains": None, "locked": None}, 300.0, True),
    ],
)
def test_when_it_starts_by_itself(changes: dict[str, Any], after_s: float, due: bool) -> None:
    assert is_due(make_status(**{**AWAY, **changes}), after_s) is due


def test_it_comes_once_in_an_absence(
    qtbot: QtBot, screen: Screen, toy: ToyWorker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XSCREENSAVER_WINDOW", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    toy.settings = {**toy.settings, "screensaver_min": 5}
    toy.answers["subscribe"] = lambda params: Snapshot(make_status(**AWAY), toy.settings, [])  # at each connection
    client = WorkerClient(folder, "0.1.0")
    start = IdleStart(folder, client)
    client.dial()
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    screen.xdotool("key", "Shift_L")
    qtbot.waitUntil(lambda: not start.is_shown, timeout=PATIENCE_MS)
    toy.tell("status", make_status(**AWAY))  # the worker has not seen the key yet
    qtbot.wait(300)
    assert not start.is_shown
    toy.tell("status", make_status(**{**AWAY, "idle_s": 1.0}))
    toy.tell("status", make_status(**AWAY))
    qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
    start.close()  # the app ends
    qtbot.waitUntil(lambda: screen.windows() == [], timeout=PATIENCE_MS)
    client.hang_up()


def test_computing_stops_at_once_while_it_is_shown(qtbot: QtBot, screen: Screen, tmp_path: Path) -> None:
    screen.xdotool("key", "Shift_L")
    with yielding_worker(tmp_path) as running:
        process = screen.start(tmp_path)
        qtbot.waitUntil(screen.is_covered, timeout=PATIENCE_MS)
        away = running.until(lambda status: status.state == "contributing" and status.samples_per_s > 0, "training")
        assert away.idle_s is not None and away.idle_s >= THRESHOLD_S and away.front == "window"
        assert {one.name for one in away.processes} == {"worker", "compute", "screensaver"}
        screen.xdotool("mousemove_relative", "30", "20")
        back = running.until(lambda status: status.yields.count > away.yields.count, "a measured stop")
        assert back.yields.last_ms is not None and back.yields.last_ms < 2000.0  # 250 is promised, of a PC at rest
        assert ended(qtbot, process) == (0, "")
