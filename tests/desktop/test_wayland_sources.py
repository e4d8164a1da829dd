"""Idle time and the window in front on Wayland, against a stand-in compositor on a real socket."""

import contextlib
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.policy.signals.linux import wayland as wayland_module
from core.policy.signals.linux.wayland import MAX_OBJECTS, Wayland
from core.policy.signals.linux.wayland_front import WaylandWindow
from core.policy.signals.linux.wayland_idle import TIMEOUT_S, WaylandIdle
from core.policy.signals.reading import Front, SourceError
from tests.desktop.compositor import IDLE, OLDER_IDLE, SEAT, WINDOWS, Compositor

FULL, ACTIVE = 3, 2

PATIENCE_S = 240.0
"""How long what must happen may take on a busy machine."""


@pytest.fixture
def compositor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compositor]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-5")
    made = Compositor(tmp_path / "wayland-5", {"wl_compositor": 5, SEAT: 8, IDLE: 2, WINDOWS: 3})
    yield made
    made.close()


@contextlib.contextmanager
def fails_at_once(match: str) -> Iterator[None]:
    """Not by waiting until an answer comes too late, which takes a minute here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wayland_module, "CALL_S", PATIENCE_S)
        begun = time.monotonic()
        with pytest.raises(SourceError, match=match):
            yield
        assert time.monotonic() - begun < PATIENCE_S


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(("version", "request_number"), [(1, 1), (2, 2), (9, 2)])
def test_two_events_make_an_idle_time(compositor: Compositor, version: int, request_number: int) -> None:
    compositor.offers[IDLE] = version
    told = threading.Event()
    source = WaylandIdle(told.set)
    opcode, arguments = compositor.next_request(IDLE)
    assert opcode == request_number  # the second kind does not count films, and is younger
    assert struct.unpack("=III", arguments) == (
        compositor.objects["notification"],
        TIMEOUT_S * 1000,
        compositor.objects[SEAT],
    )
    assert source.read() == 0
    begun = time.monotonic()
    compositor.idled()
    wait_until(lambda: source.read() > 0)
    assert TIMEOUT_S <= source.read() <= TIMEOUT_S + time.monotonic() - begun
    compositor.resumed()
    assert told.wait(PATIENCE_S)
    assert source.read() == 0
    source.close()


def test_an_older_desktop_tells_by_the_older_protocol(compositor: Compositor) -> None:
    del compositor.offers[IDLE]
    compositor.offers[OLDER_IDLE] = 1
    told = threading.Event()
    source = WaylandIdle(told.set)
    opcode, arguments = compositor.next_request(OLDER_IDLE)
    assert opcode == 0
    assert struct.unpack("=III", arguments) == (
        compositor.objects["notification"],
        compositor.objects[SEAT],
        TIMEOUT_S * 1000,
    )
    assert source.read() == 0
    compositor.idled()
    wait_until(lambda: source.read() >= TIMEOUT_S)
    compositor.resumed()
    assert told.wait(PATIENCE_S)
    assert source.read() == 0
    source.close()


def test_a_desktop_without_the_protocol_is_unknown(compositor: Compositor) -> None:
    del compositor.offers[IDLE]
    with pytest.raises(SourceError, match="does not report idle time"):
        WaylandIdle(lambda: None)


def test_what_fills_the_screen_is_known_by_its_application(compositor: Compositor) -> None:
    part = WaylandWindow(lambda: None)
    assert part.look() == Front("window")
    behind = compositor.window("org.mozilla.firefox", FULL)
    game = compositor.window("supertux2", ACTIVE, FULL)
    assert part.look() == Front("fullscreen", "supertux2")
    compositor.states(game, ACTIVE)
    assert part.look() == Front("window", "supertux2")
    compositor.close_window(game)
    compositor.states(behind, ACTIVE, FULL)
    assert part.look() == Front("fullscreen", "org.mozilla.firefox")
    assert part.look() == Front("fullscreen", "org.mozilla.firefox")
    assert compositor.next_request("window") == (7, b"")  # the closed one is let go of
    own = compositor.window("hearth", ACTIVE, FULL)
    compositor.states(behind)
    assert part.look() == Front("window", "hearth")
    compositor.close_window(own)
    part.close()


def test_a_desktop_that_hides_its_windows_is_unknown(compositor: Compositor) -> None:
    compositor.offers[WINDOWS] = 1
    with pytest.raises(SourceError, match="does not report what fills the screen"):
        WaylandWindow(lambda: None)


def test_a_compositor_that_hangs_costs_a_second(compositor: Compositor) -> None:
    source = WaylandIdle(lambda: None)
    compositor.hangs = True
    with pytest.raises(SourceError, match="does not answer"):
        source.read()
    source.close()
    compositor.hang_up()
    with pytest.raises(SourceError, match="does not answer"):
        WaylandIdle(lambda: None)


def test_a_compositor_that_vanishes_and_comes_back(compositor: Compositor) -> None:
    source = WaylandIdle(lambda: None)
    compositor.hang_up()
    with fails_at_once("gone|not answer"):
        source.read()
    source.close()
    again = WaylandIdle(lambda: None)
    assert again.read() == 0
    again.close()


def test_a_seat_that_is_unplugged_ends_the_connection(compositor: Compositor) -> None:
    source = WaylandIdle(lambda: None)
    seat = list(compositor.offers).index(SEAT) + 1
    compositor.event(2, 1, struct.pack("=I", 99))  # something that nobody uses
    assert source.read() == 0
    compositor.event(2, 1, struct.pack("=I", seat))
    with fails_at_once("gone|not answer"):
        source.read()
    source.close()


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("=IHH", 1, 0, 4),  # shorter than its own header
        struct.pack("=IHH", 1, 0, 10) + bytes(2),  # no whole words
        struct.pack("=IHH", 1, 0, 8),  # an error without its arguments
        struct.pack("=IHHIII", 1, 0, 20, 1, 1, 0xFFFFFFFF),  # a string of 4 GB
        struct.pack("=IHHI", 2, 0, 12, 7),  # a global without a name
        struct.pack("=IHHIII", 1, 0, 20, 3, 1, 0),  # a refusal
    ],
)
def test_nonsense_ends_the_connection_with_a_sentence(compositor: Compositor, data: bytes) -> None:
    source = WaylandIdle(lambda: None)
    compositor.raw(data)
    with fails_at_once("Wayland compositor sent nonsense"):
        source.read()
    source.close()


@pytest.mark.parametrize("numbers", [range(3, 4), range(0xFF000000, 0xFF000000 + MAX_OBJECTS + 1)])
def test_a_compositor_that_makes_too_many_windows_is_left(compositor: Compositor, numbers: range) -> None:
    part = WaylandWindow(lambda: None)
    manager = compositor.objects[WINDOWS]
    with contextlib.suppress(OSError):  # the client hangs up meanwhile
        for number in numbers:
            compositor.event(manager, 0, struct.pack("=I", number))
    with fails_at_once("too many objects"):
        part.look()
    part.close()


def test_events_for_nobody_and_of_unknown_kinds_are_passed_over(compositor: Compositor) -> None:
    source = WaylandIdle(lambda: None)
    compositor.event(4711, 3, bytes(60_000))
    compositor.event(compositor.objects["notification"], 9)
    compositor.event(1, 1, struct.pack("=I", 4711))
    assert source.read() == 0
    source.close()


def test_numbers_are_used_again(compositor: Compositor) -> None:
    wayland = Wayland()
    wayland.round_trip()
    first = wayland.new(lambda opcode, arguments: None)
    for _ in range(50):
        wayland.round_trip()
    assert wayland.new(lambda opcode, arguments: None) <= first + 2
    wayland.close()


def test_closing_ends_the_thread(compositor: Compositor) -> None:
    before = set(threading.enumerate())
    for _ in range(5):
        WaylandIdle(lambda: None).close()
    wait_until(lambda: before.issuperset(threading.enumerate()))


@pytest.mark.parametrize(("display", "folder"), [("", "/run"), ("wayland-5", ""), ("/nowhere/x", ""), ("x" * 300, "/")])
def test_without_a_compositor_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch, display: str, folder: str) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", display)
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    with fails_at_once("Wayland"):
        WaylandIdle(lambda: None)
