"""Sources that ask D-Bus services: real services, in processes of their own, on a real bus that is the test's own.

The services are stand-ins that speak the interfaces of Mutter, logind, UPower, NetworkManager, GameMode and GNOME.
"""

import contextlib
import math
import os
import signal
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.policy.signals.linux import bus as bus_module
from core.policy.signals.linux import front, logind, mutter, network, power, screensaver, seats
from core.policy.signals.linux.sources import sources
from core.policy.signals.reading import Front, Open, Power, Source, SourceError
from core.policy.signals.watch import Watch
from tests.desktop.private_bus import Service, bus

CALL_S = bus_module.CALL_S
PATIENCE_S = 240.0
"""How long what must happen may take on a busy machine."""
SESSION = logind.MANAGER.at("/org/freedesktop/login1/session/c1", "org.freedesktop.login1.Session")
Start = Callable[[bus_module.Object], Service]


@pytest.fixture
def bus_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for which in ("SESSION", "SYSTEM"):
        monkeypatch.setenv(f"DBUS_{which}_BUS_ADDRESS", f"unix:path={tmp_path / 'bus'}")
    return tmp_path / "bus"


@pytest.fixture
def start(bus_path: Path) -> Iterator[Start]:
    """Starts a service on the test's own bus."""
    with bus(bus_path.parent), contextlib.ExitStack() as ends:

        def begin(target: bus_module.Object) -> Service:
            service = Service(f"unix:path={bus_path}", target.service)
            ends.callback(service.end)
            return service

        yield begin


@pytest.fixture
def opened() -> Iterator[Callable[[Open[Any]], tuple[Source[Any], threading.Event]]]:
    """Opens a source; the event is set when it gives notice."""
    with contextlib.ExitStack() as ends:

        def begin(make: Open[Any]) -> tuple[Source[Any], threading.Event]:
            told = threading.Event()
            source = make(told.set)
            ends.callback(source.close)
            return source, told

        yield begin


Opened = Callable[[Open[Any]], tuple[Source[Any], threading.Event]]


def mutter_service(start: Start, idle_ms: int) -> Service:
    service = start(mutter.MONITOR)
    service.answer(mutter.MONITOR, "GetIdletime", "t", idle_ms)
    service.answer(mutter.MONITOR, "AddUserActiveWatch", "u", 7)
    return service


def logind_service(start: Start, kind: str = "wayland", idle: bool = False, since_us: int = 0) -> Service:
    service = start(logind.MANAGER)
    service.answer(logind.MANAGER, "GetSession", "o", SESSION.path)
    service.property(SESSION, "Type", "s", kind)
    service.property(SESSION, "IdleHint", "b", idle)
    service.property(SESSION, "IdleSinceHintMonotonic", "t", since_us)
    service.property(SESSION, "LockedHint", "b", False)
    return service


def upower_service(start: Start, **display: tuple[str, Any]) -> Service:
    service = start(power.UPOWER)
    service.property(power.UPOWER, "OnBattery", "b", True)
    for name, value in {"IsPresent": ("b", True), "Type": ("u", 2), "Percentage": ("d", 63.0), **display}.items():
        service.property(power.DISPLAY, name, *value)
    return service


def test_mutter_tells_idle_time_and_the_first_touch(start: Start, opened: Opened) -> None:
    service = mutter_service(start, 63_500)
    source, told = opened(mutter.Mutter)
    assert source.read() == 63.5
    service.emit(mutter.MONITOR, "WatchFired", "u", 8)  # somebody else's watch
    service.answer(mutter.MONITOR, "GetIdletime", "t", 3)
    service.emit(mutter.MONITOR, "WatchFired", "u", 7)
    assert told.wait(PATIENCE_S)
    assert source.read() == 0.003


def test_while_somebody_works_mutter_is_not_asked_to_tell_of_touches(start: Start, opened: Opened) -> None:
    service = mutter_service(start, 40)
    source, told = opened(mutter.Mutter)
    service.emit(mutter.MONITOR, "WatchFired", "u", 7)
    assert told.wait(PATIENCE_S)
    for _ in range(3):
        source.read()
    assert service.calls(mutter.MONITOR, "AddUserActiveWatch") == 1
    service.answer(mutter.MONITOR, "GetIdletime", "t", 1500)
    source.read()
    assert service.calls(mutter.MONITOR, "AddUserActiveWatch") == 2


def test_logind_tells_since_when_the_session_is_idle(start: Start, opened: Opened) -> None:
    since = time.monotonic() - 90
    since_us = int(since * 1e6)
    service = logind_service(start, idle=True, since_us=since_us)
    source, told = opened(logind.LogindIdle)
    assert 90 <= source.read() <= time.monotonic() - since
    service.property(SESSION, "IdleHint", "b", False)
    service.changed(SESSION)
    assert told.wait(PATIENCE_S)
    assert source.read() == 0


def test_a_desktop_that_never_tells_logind_is_unknown(start: Start, opened: Opened) -> None:
    logind_service(start, kind="x11")
    with pytest.raises(SourceError, match="does not report to logind"):
        opened(logind.LogindIdle)[0].read()


def test_a_terminal_in_use_is_not_idle(start: Start, opened: Opened) -> None:
    logind_service(start, kind="tty")
    assert opened(logind.LogindIdle)[0].read() == 0


def test_locked_by_logind_and_by_the_screensaver(start: Start, opened: Opened) -> None:
    service = logind_service(start)
    source, told = opened(logind.LogindLock)
    assert source.read() is False
    service.property(SESSION, "LockedHint", "b", True)
    service.changed(SESSION)
    assert told.wait(PATIENCE_S)
    assert source.read() is True
    saver = start(screensaver.GNOME)
    saver.answer(screensaver.GNOME, "GetActive", "b", False)
    source, told = opened(screensaver.saver(screensaver.GNOME))
    assert source.read() is False
    saver.answer(screensaver.GNOME, "GetActive", "b", True)
    saver.emit(screensaver.GNOME, "ActiveChanged", "b", True)
    assert told.wait(PATIENCE_S)
    assert source.read() is True


def test_an_older_logind_is_asked_by_process(start: Start, opened: Opened) -> None:
    service = logind_service(start)
    service.answer(logind.MANAGER, "GetSession", "s", "not a path")
    service.answer(logind.MANAGER, "GetSessionByPID", "o", SESSION.path)
    assert opened(logind.LogindLock)[0].read() is False


def test_upower_tells_the_power_source(start: Start, opened: Opened) -> None:
    service = upower_service(start)
    source, told = opened(power.UPower)
    assert source.read() == Power(mains=False, charge=0.63)
    service.property(power.UPOWER, "OnBattery", "b", False)
    service.changed(power.UPOWER)
    assert told.wait(PATIENCE_S)
    assert source.read() == Power(mains=True, charge=0.63)


def test_a_pc_without_a_battery_has_no_charge(start: Start, opened: Opened) -> None:
    service = upower_service(start, IsPresent=("b", False), Type=("u", 0), Percentage=("d", 0.0))
    service.property(power.UPOWER, "OnBattery", "b", False)
    assert opened(power.UPower)[0].read() == Power(mains=True)


@pytest.mark.parametrize(
    "percent", [("d", math.nan), ("d", math.inf), ("d", -1.0), ("d", 1e300), ("s", "63"), ("u", 63)]
)
def test_an_impossible_charge_is_no_charge(start: Start, opened: Opened, percent: tuple[str, Any]) -> None:
    upower_service(start, Percentage=percent)
    with pytest.raises(SourceError, match="UPower"):
        opened(power.UPower)[0].read()


@pytest.mark.parametrize(("said", "metered"), [(1, True), (2, False), (3, True), (4, False)])
def test_networkmanager_tells_what_bytes_cost(start: Start, opened: Opened, said: int, metered: bool) -> None:
    service = start(network.MANAGER)
    service.property(network.MANAGER, "Metered", "u", 0)
    source, told = opened(network.NetworkManager)
    with pytest.raises(SourceError, match="does not know"):
        source.read()
    service.property(network.MANAGER, "Metered", "u", said)
    service.changed(network.MANAGER)
    assert told.wait(PATIENCE_S)
    assert source.read() is metered


def no_window(notice: Callable[[], None]) -> front.Part:
    """A desktop that does not report which window is in front."""
    raise SourceError("This desktop does not report.")


def desktop(notice: Callable[[], None]) -> Source[Front]:
    others: list[front.OpenPart] = [front.GameMode, front.SessionInhibitors, front.LogindInhibitors]
    return front.FrontSource(no_window, others, notice)


def test_a_game_is_known_on_a_desktop_that_hides_its_windows(start: Start, opened: Opened) -> None:
    source, told = opened(desktop)
    with pytest.raises(SourceError, match="does not report"):
        source.read()
    service = start(front.GAME_MODE)
    service.answer(front.GAME_MODE, "ListGames", "a(io)", [{"struct": [os.getpid(), "/game/1"]}])
    service.property(front.GAME_MODE, "ClientCount", "i", 1)
    service.changed(front.GAME_MODE)
    assert told.wait(PATIENCE_S)
    found = source.read()
    assert (found.kind, found.program) == ("game", front.program_of(os.getpid()))
    service.property(front.GAME_MODE, "ClientCount", "i", 0)
    with pytest.raises(SourceError, match="does not report"):
        source.read()


def test_a_film_or_presentation_is_known_by_what_it_inhibits(start: Start, opened: Opened) -> None:
    manager, gnome = start(logind.MANAGER), start(front.SESSION_MANAGER)
    rows = [("sleep", "Updates", "block"), ("sleep:idle", "Hearth", "block"), ("idle", "Some", "delay")]
    structs = [{"struct": [what, who, "why", mode, 1000, 7]} for what, who, mode in rows]
    manager.answer(logind.MANAGER, "ListInhibitors", "a(ssssuu)", structs)
    gnome.answer(front.SESSION_MANAGER, "IsInhibited", "b", False)
    source, _ = opened(desktop)
    with pytest.raises(SourceError, match="does not report"):
        source.read()
    gnome.answer(front.SESSION_MANAGER, "IsInhibited", "b", True)
    assert source.read() == Front("presentation")
    gnome.end()
    kde = start(front.POWERDEVIL)
    kde.answer(front.POWERDEVIL, "HasInhibition", "b", True)
    assert source.read() == Front("presentation")
    kde.answer(front.POWERDEVIL, "HasInhibition", "b", False)
    structs.append({"struct": ["shutdown:idle", "VLC", "why", "block", 1000, 7]})
    manager.answer(logind.MANAGER, "ListInhibitors", "a(ssssuu)", structs)
    assert source.read() == Front("presentation", "VLC")


@contextlib.contextmanager
def fails_at_once(match: str) -> Iterator[None]:
    """Not by waiting until an answer comes too late, which takes a minute here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bus_module, "CALL_S", PATIENCE_S)
        begun = time.monotonic()
        with pytest.raises(SourceError, match=match):
            yield
        assert time.monotonic() - begun < PATIENCE_S


def test_a_service_that_is_not_there_is_unknown_at_once(start: Start, opened: Opened) -> None:
    for make in (mutter.Mutter, logind.LogindIdle, logind.LogindLock, power.UPower, network.NetworkManager):
        with fails_at_once("is not running"):
            opened(make)[0].read()


def test_a_service_that_hangs_costs_a_second_and_is_heard_again(start: Start, opened: Opened) -> None:
    service = mutter_service(start, 2000)
    source, _ = opened(mutter.Mutter)
    service.hang(mutter.MONITOR, "GetIdletime")
    with pytest.raises(SourceError, match="Mutter does not answer"):
        source.read()
    service.answer(mutter.MONITOR, "GetIdletime", "t", 2500)
    assert source.read() == 2.5


@pytest.mark.parametrize(("signature", "body"), [("s", "many"), ("d", math.nan), ("x", -5), ("as", [])])
def test_a_service_that_answers_another_type_is_not_believed(
    start: Start, opened: Opened, signature: str, body: Any
) -> None:
    service = mutter_service(start, 2000)
    service.answer(mutter.MONITOR, "GetIdletime", signature, body)
    with fails_at_once("unexpected"):
        opened(mutter.Mutter)[0].read()


def test_ten_megabytes_are_not_kept(start: Start, opened: Opened) -> None:
    service = mutter_service(start, 2000)
    source, _ = opened(mutter.Mutter)
    service.answer(mutter.MONITOR, "GetIdletime", "s", "x" * 10_000_000)
    with fails_at_once("more than 1 MiB"):
        source.read()
    with fails_at_once("more than 1 MiB"):
        source.read()


def test_a_service_that_dies_while_asked_is_unknown_at_once(start: Start, opened: Opened) -> None:
    service = mutter_service(start, 2000)
    source, _ = opened(mutter.Mutter)
    service.hang(mutter.MONITOR, "GetIdletime")
    threading.Timer(0.2, service.end).start()
    with fails_at_once("is not running"):
        source.read()
    mutter_service(start, 4000)
    assert source.read() == 4


def test_a_flood_of_events_costs_little(start: Start, opened: Opened) -> None:
    service = upower_service(start)
    _, told = opened(power.UPower)
    service.changed(power.UPOWER, times=20_000)
    before = time.process_time(), time.monotonic()
    for _ in range(20):
        told.clear()
        assert told.wait(PATIENCE_S)
    assert time.process_time() - before[0] < 0.4 * (time.monotonic() - before[1])


def test_a_bus_that_vanishes_and_comes_back(bus_path: Path, opened: Opened) -> None:
    address = f"unix:path={bus_path}"
    with bus(bus_path.parent):
        service = Service(address, mutter.MONITOR.service)
        service.answer(mutter.MONITOR, "GetIdletime", "t", 1)
        service.answer(mutter.MONITOR, "AddUserActiveWatch", "u", 7)
        source, _ = opened(mutter.Mutter)
        assert source.read() == 0.001
    service.end()
    with fails_at_once("bus"):
        source.read()
    with fails_at_once("There is no session bus|bus does not answer"):
        opened(mutter.Mutter)
    with bus(bus_path.parent):
        service = Service(address, mutter.MONITOR.service)
        service.answer(mutter.MONITOR, "GetIdletime", "t", 2)
        service.answer(mutter.MONITOR, "AddUserActiveWatch", "u", 7)
        assert opened(mutter.Mutter)[0].read() == 0.002
        service.end()


def test_a_bus_that_hangs(bus_path: Path, opened: Opened) -> None:
    with bus(bus_path.parent) as daemon:
        service = Service(f"unix:path={bus_path}", mutter.MONITOR.service)
        service.answer(mutter.MONITOR, "AddUserActiveWatch", "u", 7)
        service.answer(mutter.MONITOR, "GetIdletime", "t", 2)
        source, _ = opened(mutter.Mutter)
        daemon.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(SourceError, match="does not answer"):
                source.read()
            with pytest.raises(SourceError, match="does not answer"):
                opened(mutter.Mutter)
            begun = time.monotonic()
            source.close()
            assert time.monotonic() - begun < CALL_S / 2, "it waited for the bus"
        finally:
            daemon.send_signal(signal.SIGCONT)
        service.end()


@pytest.mark.parametrize(
    "says",
    [b"", b"REJECTED\r\n", b"x" * 100_000, b"OK 1234\r\n", b"OK 1234\r\n" + bytes(64), b"OK 1234\r\n" + b"l" * 64],
)
def test_what_is_no_bus_is_not_believed(bus_path: Path, opened: Opened, says: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(bus_path))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(1)
                connection.sendall(says)
                while connection.recv(4096):
                    pass

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(SourceError, match="bus"):
            opened(mutter.Mutter)
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "address", ["", "tcp:host=localhost,port=1", "nonsense", "unix:path=/nonexistent/bus", "unix:x"]
)
def test_without_a_bus_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with fails_at_once("bus|D-Bus"):
        mutter.Mutter(lambda: None)


def test_a_worker_that_watches_never_waits(bus_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    told = threading.Event()
    with bus(bus_path.parent) as daemon, contextlib.ExitStack() as ends:

        def start(target: bus_module.Object) -> Service:
            service = Service(f"unix:path={bus_path}", target.service)
            ends.callback(service.end)
            return service

        service = mutter_service(start, 60_000)
        upower_service(start)
        watch = Watch(told.set, tmp_path, lambda: [], sources())
        ends.callback(watch.close)
        wait_until(lambda: watch.read().idle_s.source == "Mutter" and watch.read().power.source == "UPower")
        assert watch.read().idle_s.value == pytest.approx(60, abs=2)
        assert watch.read().power.value == Power(mains=False, charge=0.63)
        assert watch.read().metered.value is None
        told.clear()
        service.answer(mutter.MONITOR, "GetIdletime", "t", 2)
        service.emit(mutter.MONITOR, "WatchFired", "u", 7)
        assert told.wait(PATIENCE_S)
        daemon.send_signal(signal.SIGSTOP)
        ends.callback(daemon.send_signal, signal.SIGCONT)
        took, until = list[float](), time.monotonic() + PATIENCE_S
        while watch.read().idle_s.value is not None:
            assert time.monotonic() < until
            begun = time.monotonic()
            watch.read()
            took.append(time.monotonic() - begun)
        assert statistics.median(took) < CALL_S / 2, "it waited for the bus"
        assert watch.read().idle_s.source != "Mutter"
        daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: watch.read().idle_s.source == "Mutter")


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_closing_ends_every_thread_and_connection(start: Start) -> None:
    mutter_service(start, 2000)

    def held() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    before = held()
    for _ in range(20):
        mutter.Mutter(lambda: None).close()
    wait_until(lambda: all(now <= was for now, was in zip(held(), before, strict=True)))  # what else ran may end, too


def test_logind_tells_whether_anybody_can_be_at_a_screen(
    start: Start, opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(seats, "X_SOCKETS", tmp_path / "none")
    service = logind_service(start, "tty")
    service.property(SESSION, "Class", "s", "user")

    def listed(seat: str) -> None:
        service.answer(logind.MANAGER, "ListSessions", "a(susso)", [{"struct": ["3", 1000, "ada", seat, SESSION.path]}])

    listed("")  # over the network
    source, told = opened(seats.LogindSeats)
    assert source.read() is False
    listed("seat0")
    service.emit(logind.MANAGER, "SessionNew", "so", "3", SESSION.path)
    assert told.wait(PATIENCE_S) and source.read() is True
    service.property(SESSION, "Class", "s", "greeter")
    assert source.read() is False
    listed("")
    service.property(SESSION, "Class", "s", "user")
    service.property(SESSION, "Type", "s", "wayland")
    assert source.read() is True
    monkeypatch.setenv("DISPLAY", ":0")
    service.answer(logind.MANAGER, "ListSessions", "a(susso)", [])
    assert source.read() is True


def test_without_logind_a_connected_screen_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(seats, "X_SOCKETS", tmp_path / "x")
    monkeypatch.setattr(seats, "SCREENS", tmp_path)
    source = seats.Screens()
    assert source.read() is False
    screen = tmp_path / "card0-HDMI-A-1" / "status"
    screen.parent.mkdir()
    screen.write_text("disconnected\n")
    assert source.read() is False
    screen.write_text("connected\n")
    assert source.read() is True
    screen.write_text("disconnected\n")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "X0").touch()
    assert source.read() is True
