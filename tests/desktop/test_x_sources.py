"""Idle time and the window in front on a real X server of the test's own, with input by xdotool."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from Xlib import X, Xatom, display
from Xlib.protocol.event import ClientMessage

from core.policy.signals.linux.front import FrontSource, program_of
from core.policy.signals.linux.sources import sources
from core.policy.signals.linux.x11 import AWAY_S, XScreenSaver
from core.policy.signals.linux.x11_front import XWindow
from core.policy.signals.reading import Front, SourceError
from tests.virtual_screen import desktop, started, x_server

DEADLINE_S = 180.0


def use(monkeypatch: pytest.MonkeyPatch, screen: str) -> None:
    monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.setenv("XDG_SESSION_TYPE", "x11")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with x_server() as name:
        use(monkeypatch, name)
        yield name


def touch(*command: str) -> float:
    """When the input was made, at the earliest."""
    begun = time.monotonic()
    subprocess.run(["xdotool", *command], check=True)
    return begun


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    "command", [("mousemove_relative", "5", "5"), ("key", "a"), ("click", "1"), ("mousemove", "70", "30")]
)
def test_the_first_touch_after_a_pause_is_told_at_once(screen: str, command: tuple[str, ...]) -> None:
    told_at: list[float] = []
    took_s: list[float] = []
    with contextlib.closing(XScreenSaver(lambda: told_at.append(time.monotonic()))) as source:
        assert source.tells_return
        while not took_s or (min(took_s) >= 0.15 and len(took_s) < 5):  # most of it is the start of xdotool
            told_at.clear()
            wait_until(lambda: source.read() > AWAY_S + 0.2)
            assert told_at == []
            begun = touch(*command)
            wait_until(lambda: told_at)
            took_s.append(told_at[0] - begun)
            assert source.read() < AWAY_S
        assert min(took_s) < 0.15


def test_somebody_who_works_is_not_followed_touch_by_touch(screen: str) -> None:
    told: list[None] = []
    source = XScreenSaver(lambda: told.append(None))
    wait_until(lambda: source.read() > AWAY_S + 0.2)
    touch(*("mousemove_relative", "1", "1", "sleep", "0.02") * 30)  # of one program: many may start too slowly
    wait_until(lambda: source.read() > AWAY_S + 0.2)
    assert len(told) == 1
    source.close()


def test_a_change_of_the_keyboards_map_is_no_touch_and_hides_none(screen: str) -> None:
    """Programs that type, xdotool too, map a key to a letter and press it at once."""
    told: list[None] = []
    source = XScreenSaver(lambda: told.append(None))
    wait_until(lambda: source.read() > AWAY_S + 0.2)
    with contextlib.closing(display.Display(screen)) as other:
        other.change_keyboard_mapping(200, other.get_keyboard_mapping(200, 1))
        other.sync()
        source.read()  # by then the server has told of the change
        time.sleep(0.05)
        assert told == []
        other.xtest_fake_input(X.KeyPress, 38)
        other.xtest_fake_input(X.KeyRelease, 38)
        other.sync()
        wait_until(lambda: told)
    source.close()


def test_an_x_server_that_dies_is_noticed_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    with x_server() as name:
        use(monkeypatch, name)
        source = XScreenSaver(lambda: None)
        wait_until(lambda: source.read() > AWAY_S + 0.2)
    with pytest.raises(Exception, match=r"."):
        source.read()
    wait_until(lambda: not source.tells_return)
    source.close()
    wait_until(lambda: before.issuperset(threading.enumerate()))  # those of the tests before may end only now


def test_closing_ends_the_thread(screen: str) -> None:
    before = set(threading.enumerate())
    for _ in range(5):
        XScreenSaver(lambda: None).close()
    wait_until(lambda: before.issuperset(threading.enumerate()))


@pytest.mark.parametrize(
    ("name", "value"), [("WAYLAND_DISPLAY", "wayland-0"), ("XDG_SESSION_TYPE", "wayland"), ("DISPLAY", "")]
)
def test_only_an_x_session_is_asked(screen: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match="session"):
        XScreenSaver(lambda: None)


class Window:
    """A window of some program."""

    def __init__(self, program: str) -> None:
        self.display = display.Display()
        screen = self.display.screen()
        self._root = screen.root
        self.window = screen.root.create_window(0, 0, 200, 100, 0, screen.root_depth, X.InputOutput)
        self.window.change_property(Xatom.WM_CLASS, Xatom.STRING, 8, b"instance\0" + program.encode() + b"\0")
        self.window.map()
        self.display.sync()

    def fill_the_screen(self) -> None:
        state, full = (self.display.intern_atom(name) for name in ("_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN"))
        event = ClientMessage(window=self.window, client_type=state, data=(32, [1, full, 0, 1, 0]))
        self._root.send_event(event, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self.display.sync()

    def close(self) -> None:
        self.window.destroy()
        self.display.close()


@pytest.fixture
def managed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A screen with a window manager."""
    with desktop() as env:
        use(monkeypatch, env["DISPLAY"])
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
        yield


def test_what_fills_the_screen_is_known_by_its_program(managed: None) -> None:
    source: Any = sources()["front"][0](lambda: None)
    assert source.read() == Front("window")
    game = Window("Supertux2")
    wait_until(lambda: source.read() == Front("window", "Supertux2"))
    game.fill_the_screen()
    wait_until(lambda: source.read() == Front("fullscreen", "Supertux2"))
    game.close()
    wait_until(lambda: source.read() == Front("window"))
    source.close()


def test_hearths_own_screensaver_is_no_game(managed: None) -> None:
    source = FrontSource(XWindow, [], lambda: None)
    own = Window("Hearth")
    wait_until(lambda: source.read().program == "Hearth")  # a window that is not managed yet is not made larger
    own.fill_the_screen()
    state = own.display.intern_atom("_NET_WM_STATE")
    wait_until(lambda: own.window.get_full_property(state, X.AnyPropertyType) is not None)
    wait_until(lambda: source.read().program == "Hearth")
    assert source.read() == Front("window", "Hearth")
    own.close()
    source.close()


def test_on_wayland_an_x_program_in_front_is_known_once_xwayland_runs(
    managed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Xwayland").symlink_to("/bin/sleep")  # a process of this name
    with started([str(tmp_path / "Xwayland"), "60"]) as process:
        wait_until(lambda: program_of(process.pid) == "Xwayland")
        game = Window("Portal")
        with contextlib.closing(FrontSource(XWindow, [], lambda: None)) as managed_by:
            wait_until(lambda: managed_by.read().program == "Portal")
            game.fill_the_screen()
            wait_until(lambda: managed_by.read().kind == "fullscreen")
        monkeypatch.setenv("WAYLAND_DISPLAY", str(tmp_path / "none"))
        source: Any = sources()["front"][0](lambda: None)
        assert source.read() == Front("fullscreen", "Portal")
        game.close()
        with pytest.raises(SourceError, match="does not report"):
            wait_until(lambda: source.read().program != "Portal")
        source.close()


def test_without_a_window_manager_it_is_unknown(screen: str) -> None:
    source = FrontSource(XWindow, [], lambda: None)
    with pytest.raises(SourceError, match="window manager does not report"):
        source.read()
    source.close()


def test_a_window_with_strange_properties_does_no_harm(managed: None) -> None:
    source = FrontSource(XWindow, [], lambda: None)
    with contextlib.closing(Window("x" * 100_000)) as odd:
        odd.window.change_property(odd.display.intern_atom("_NET_WM_PID"), Xatom.STRING, 8, b"not a number")
        wait_until(lambda: source.read().program)
        assert set(source.read().program) == {"x"}
        assert len(source.read().program) <= 256
        odd.window.change_property(Xatom.WM_CLASS, Xatom.CARDINAL, 32, [1, 2, 3])
        odd.display.sync()
        assert source.read() == Front("window")
    source.close()
