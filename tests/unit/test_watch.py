"""The watcher of signals: sources that fail, lie, hang or vanish, and what the worker reads meanwhile."""

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.contracts.notices import notice, plain
from core.policy.signals.reading import AbsentError, Front, Gpu, Power, Reading, SourceError
from core.policy.signals.watch import Watch

DEADLINE_S = 240.0
"""For what must happen, however busy the machine is."""


class FakeTime:
    """Time that only a test moves; `advance` returns when every thread that can has acted on it."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._changed = threading.Condition()
        self._waits: list[tuple[threading.Event, float]] = []

    def now(self) -> float:
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> None:
        entry = (event, self._now + seconds)
        with self._changed:
            self._waits.append(entry)
            self._changed.notify_all()
            while self._sleeps(entry):
                self._changed.wait(0.002)  # an event that is set elsewhere tells nobody
            self._waits.remove(entry)

    def _sleeps(self, entry: tuple[threading.Event, float]) -> bool:
        return not entry[0].is_set() and self._now < entry[1]

    def settle(self, threads: int = 1) -> None:
        """Until so many threads wait for a later moment."""
        with self._changed:
            settled = self._changed.wait_for(lambda: sum(map(self._sleeps, self._waits)) == threads, DEADLINE_S)
        assert settled

    def advance(self, seconds: float, threads: int = 1) -> None:
        with self._changed:
            self._now += seconds
            self._changed.notify_all()
        self.settle(threads)


class Device:
    """Hardware or a desktop of which a test says how it behaves; it counts what is open."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value: Any = value
        self.open_error: BaseException | None = None
        self.hangs_on: str = ""
        self.entered = threading.Event()
        self.released = threading.Event()
        self.held: threading.Thread | None = None
        self.opened = self.closed = self.reads = 0
        self.tell: Callable[[], None] = lambda: None

    def open(self, notice: Callable[[], None]) -> "Device":
        self._maybe_hang("open")
        if self.open_error is not None:
            raise self.open_error
        self.opened += 1
        self.tell = notice
        return self

    def read(self) -> Any:
        self._maybe_hang("read")
        self.reads += 1
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value

    def close(self) -> None:
        self.closed += 1

    def _maybe_hang(self, where: str) -> None:
        if self.hangs_on == where:
            self.held = threading.current_thread()
            self.entered.set()
            assert self.released.wait(DEADLINE_S)

    def release(self) -> None:
        """It hangs no longer; returns when the thread that it held has ended."""
        assert self.held is not None
        self.hangs_on = ""
        self.released.set()
        self.held.join(DEADLINE_S)
        assert not self.held.is_alive()


class TellingDevice(Device):
    """Says itself when the user comes back."""

    tells_return = True


class World:
    """A watch over a few devices, in fake time."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.notices = 0
        self.watch: Watch

    def watches(self, threads: int | None = None, **devices: list[Device]) -> Watch:
        return self.watches_all(devices, threads)

    def watches_all(self, devices: dict[str, list[Device]], threads: int | None = None) -> Watch:
        sources = {signal: [device.open for device in listed] for signal, listed in devices.items()}
        self.watch = Watch(self._notice, Path(), lambda: (), sources, self.time)
        self.time.settle(len(devices) if threads is None else threads)
        return self.watch

    def _notice(self) -> None:
        self.notices += 1

    @property
    def idle(self) -> Reading[float]:
        return self.watch.read().idle_s


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.watch.close()


def test_idle_time_grows_by_its_age_and_carries_its_source(world: World) -> None:
    watch = world.watches(idle_s=[Device("Mutter", 7.0)])
    world.time.advance(0.5)
    assert watch.read().idle_s == Reading(7.5, "Mutter", 0.5)
    assert watch.read().locked == Reading(None, notice("signal.nowhere", what=notice("signal.locked")), 0.5)


def test_the_first_source_that_answers_is_used_and_better_ones_are_tried_again(world: World) -> None:
    absent, broken, last = Device("Mutter", 1.0), Device("X", SourceError("X said no.")), Device("logind", 3.0)
    absent.open_error = SourceError("There is no Mutter.")
    world.watches(idle_s=[absent, broken, last])
    assert world.idle == Reading(3.0, "logind")
    assert (absent.opened, broken.closed, last.closed) == (0, 1, 0)
    absent.open_error = None  # the desktop started after Hearth
    for _ in range(60):
        world.time.advance(1.0)
    assert world.idle == Reading(1.0, "Mutter")
    assert (last.opened, last.closed) == (1, 1)


def test_when_all_fail_the_most_telling_sentence_is_kept_and_all_are_tried_again(world: World) -> None:
    first, second = Device("X", OSError(2, "no such thing")), Device("logind", SourceError("logind refused."))
    world.watches(idle_s=[first, second])
    assert world.idle.value is None and world.idle.source == plain("logind refused.")
    second.value = 4.0
    world.time.advance(9.0)
    assert world.idle.value is None
    world.time.advance(1.1)
    assert world.idle == Reading(4.0, "logind")


def test_what_a_desktop_says_itself_tells_more_than_that_another_does_not_run(world: World) -> None:
    absent, here = Device("Mutter", 1.0), Device("Wayland", 2.0)
    absent.open_error, here.open_error = AbsentError("Mutter is not running."), SourceError("It does not tell.")
    world.watches(idle_s=[absent, here])
    assert world.idle.source == plain("It does not tell.")


@pytest.mark.parametrize("end", [SourceError("The display is gone."), SystemExit(1), KeyError("x"), MemoryError()])
def test_a_source_that_vanishes_gives_way_to_the_next(world: World, end: BaseException) -> None:
    first, second = Device("X", 5.0), Device("logind", 6.0)
    world.watches(idle_s=[first, second])
    first.value = end
    world.time.advance(1.0)
    assert world.idle == Reading(6.0, "logind")
    assert first.closed == 1


NONSENSE: list[tuple[str, Any]] = [
    *(("idle_s", value) for value in (-1.0, math.nan, math.inf, 4e8, True, "5", None)),
    ("locked", 1),
    ("front", Front("cinema")),  # type: ignore[arg-type]
    ("front", "window"),
    ("power", Power(True, 1.5)),
    ("power", Power(True, math.nan)),
    ("cpu_others", 1.2),
    ("memory_free", -5),
    ("memory_free", 1.5),
    ("disk_free", 1 << 70),
    ("gpus", [Gpu("0", "A")]),
    ("gpus", (Gpu("0", "A"), Gpu("0", "B"))),
    ("gpus", (Gpu("0", "A", memory_bytes=4, memory_free_bytes=5),)),
    ("gpus", (Gpu("0", "A", celsius=1e9),)),
    ("celsius", -273.1),
    ("watts", 1e9),
    ("metered", None),
    ("programs", frozenset({1})),
    ("programs", ["init"]),
]


@pytest.mark.parametrize(("signal", "value"), NONSENSE, ids=lambda value: repr(value)[:40])
def test_nonsense_is_unknown_and_never_believed(world: World, signal: str, value: Any) -> None:
    watch = world.watches_all({signal: [Device("Liar", value)]})
    reading: Reading[Any] = getattr(watch.read(), signal)
    assert reading.value is None
    assert str(reading.source).startswith("Liar says something impossible")


def test_a_source_that_hangs_is_unknown_at_its_limit_and_the_next_takes_over(world: World) -> None:
    first, second = Device("Wayland", 5.0), Device("logind", 60.0)
    world.watches(idle_s=[first, second])
    first.hangs_on = "read"
    world.time.advance(1.0, threads=0)
    assert first.entered.wait(DEADLINE_S)
    world.time.advance(4.0, threads=0)
    assert world.idle == Reading(10.0, "Wayland", 5.0)
    world.time.advance(0.1, threads=0)
    assert world.idle.value is None and world.idle.source == notice("signal.quiet", source="Wayland")
    world.time.advance(1.0, threads=0)  # now the call takes too long as well
    world.watch.read()
    world.time.settle(1)
    assert world.idle == Reading(60.0, "logind")
    first.release()  # it comes back much later: closed by the thread that it held, then used again
    assert (first.opened, first.closed) == (1, 1)
    for _ in range(61):
        world.time.advance(1.0)
    assert str(world.idle.source) == "Wayland"
    assert (first.opened, first.closed) == (2, 1)


def test_a_source_that_hangs_while_it_is_opened_keeps_one_thread_and_no_more(world: World) -> None:
    stuck, fine = Device("X", 5.0), Device("logind", 8.0)
    stuck.hangs_on = "open"
    wait_for_threads()  # of the test before
    world.watches(threads=0, idle_s=[stuck, fine])
    assert stuck.entered.wait(DEADLINE_S)
    assert world.idle.source == notice("signal.pending")
    world.time.advance(5.1, threads=0)
    world.watch.read()
    world.time.settle(1)
    for _ in range(200):
        world.time.advance(1.0)
        assert world.idle == Reading(8.0, "logind")
    assert len(threads_of_watches()) == 2
    stuck.release()


def test_the_return_is_noticed_within_50_ms_while_computing(world: World) -> None:
    device = Device("X", 100.0)
    watch = world.watches(idle_s=[device])
    watch.hurry(True)
    world.time.advance(0.021)
    seen, reads = world.notices, device.reads
    for _ in range(20):
        world.time.advance(0.05)
    assert (world.notices, device.reads) == (seen, reads + 20)
    device.value = 0.01
    world.time.advance(0.05)
    assert world.notices == seen + 1
    for _ in range(30):
        world.time.advance(0.05)  # the user is here: there is nothing to hurry for
    assert device.reads == reads + 22
    watch.hurry(False)


def test_a_source_that_tells_of_the_return_is_not_asked_often(world: World) -> None:
    device = TellingDevice("Mutter", 100.0)
    watch = world.watches(idle_s=[device])
    watch.hurry(True)
    world.time.advance(0.021)
    seen, reads = world.notices, device.reads
    device.value = 0.0
    device.tell()
    world.time.advance(0.021)
    assert (world.notices, device.reads) == (seen + 1, reads + 1)


def test_a_storm_of_events_is_not_followed(world: World) -> None:
    device = Device("Mutter", 0.0)
    world.watches(idle_s=[device])
    reads = device.reads
    for _ in range(100):
        device.tell()
        world.time.advance(0.001)
    assert device.reads <= reads + 6


def test_what_matters_is_noticed_and_what_does_not_is_not(world: World) -> None:
    power, lock, load = Device("UPower", Power(True, 0.5)), Device("logind", False), Device("psutil", 0.1)
    world.watches(power=[power], locked=[lock], cpu_others=[load])
    assert world.notices == 2  # the first readings
    power.value, load.value = Power(True, 0.4), 0.9
    world.time.advance(5.0, threads=3)
    assert world.notices == 2
    power.value = Power(False, 0.4)
    power.tell()
    world.time.advance(0.021, threads=3)
    assert world.notices == 3
    lock.value = SourceError("logind is gone.")
    world.time.advance(5.0, threads=3)
    assert world.notices == 4


def test_closing_waits_for_nobody(world: World) -> None:
    stuck, fine = Device("X", 5.0), Device("logind", False)
    stuck.hangs_on = "read"
    watch = world.watches(threads=1, idle_s=[stuck], locked=[fine])
    assert stuck.entered.wait(DEADLINE_S)
    watch.close()
    assert stuck.held in threads_of_watches()
    watch.read()
    stuck.released.set()
    wait_for_threads()
    assert (stuck.closed, fine.closed) == (1, 1)


def threads_of_watches() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("watch ")]


def wait_for_threads() -> None:
    for thread in threads_of_watches():
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
