"""Python's garbage in the app: collected by the thread of the window, and by no other."""

import gc
import threading
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.system.garbage import GarbageCollector


class Ring:
    """Refers to itself, so that only the collector finds it."""

    gone_in: list[threading.Thread] = []

    def __init__(self) -> None:
        self.ring = self

    def __del__(self) -> None:
        self.gone_in.append(threading.current_thread())


def make_objects() -> Any:
    """So many that Python would collect several times."""
    return [[] for _ in range(20 * gc.get_threshold()[0])]


def test_only_the_thread_of_the_window_collects(qtbot: QtBot) -> None:
    gc.enable()  # as the app finds it
    GarbageCollector(parent := QObject())
    Ring.gone_in.clear()
    Ring()
    other = threading.Thread(target=make_objects)
    other.start()
    other.join()
    assert not Ring.gone_in
    kept = make_objects()
    qtbot.waitUntil(lambda: bool(Ring.gone_in))
    assert Ring.gone_in == [threading.main_thread()] and kept
    parent.deleteLater()
