"""Who hears of the status, and how often."""

from typing import Any

from core.contracts.status import Status
from core.worker.listeners import Listeners
from tests.desktop.conftest import make_status


class Hall:
    """Listeners to the runs a and b, at a time that the test tells."""

    def __init__(self) -> None:
        self.listeners = Listeners()
        self.heard: dict[str, list[Any]] = {}
        self.made: list[str] = []

    def enter(self, name: str, run: str) -> Any:
        heard = self.heard[name] = []
        listener = lambda event, data: heard.append((event, data.run_id))  # noqa: E731
        self.listeners.add(listener, run)
        return listener

    def tell(self, now: float, runs: tuple[str, ...] = ("a", "b"), at_once: bool = False) -> dict[str, int]:
        """How many statuses each has heard so far."""
        self.listeners.tell_status(self._status, runs, "a", now, at_once)
        return {name: len(heard) for name, heard in self.heard.items()}

    def _status(self, run: str) -> Status:
        self.made.append(run)
        return make_status(run_id=run)


def test_each_is_told_as_often_as_it_wants() -> None:
    hall = Hall()
    hall.enter("window", "a")
    tray = hall.enter("tray", "a")
    hall.listeners.pace(tray, 5.0)
    assert hall.tell(0.0) == {"window": 1, "tray": 1}, "the first comes soon"
    assert hall.tell(1.0) == {"window": 2, "tray": 1}
    assert hall.tell(2.0, at_once=True) == {"window": 3, "tray": 2}
    assert hall.tell(6.9) == {"window": 4, "tray": 2}
    assert hall.tell(7.0) == {"window": 5, "tray": 3}
    hall.listeners.pace(tray, 0.0)
    assert hall.tell(7.1) == {"window": 6, "tray": 4}
    assert len(hall.made) == 6, "one status for both, and none for nobody"


def test_another_run_is_heard_of_at_the_same_pace_and_one_that_is_gone_is_not() -> None:
    hall = Hall()
    tray = hall.enter("tray", "a")
    hall.listeners.pace(tray, 5.0)
    hall.tell(0.0)
    hall.listeners.add(tray, "b")
    assert hall.tell(1.0) == {"tray": 1} and hall.tell(5.0) == {"tray": 2}
    hall.tell(10.0, runs=("a",))
    assert hall.heard["tray"] == [("status", "a"), ("status", "b"), ("status", "a")]
    hall.listeners.tell("curve", make_status(run_id="b"), "b")
    assert len(hall.heard["tray"]) == 3
    hall.listeners.remove(tray)
    hall.listeners.pace(tray, 0.0)
    assert hall.tell(20.0) == {"tray": 3} and hall.made == ["a", "b", "a"]
