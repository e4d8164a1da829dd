"""Notifications: what lasts, what was reached, what was installed; each once, and none that was turned off."""

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from app import notifications
from app.notifications import ATTENTION_S, DAY_S, Attention, Milestones, Notifier, milestone
from app.worker.client import WorkerClient
from core.community.ledger import Ledger
from core.community.reading import read_only
from core.contracts.ledger import Amounts
from core.contracts.notices import notice
from core.contracts.settings import Settings
from core.contracts.status import EventStatus
from core.version import VERSION
from tests.desktop.conftest import ToyWorker


def test_trouble_is_told_once_when_it_lasts() -> None:
    attention = Attention()
    assert attention.look(["The disk is full."], 0.0) is None
    assert attention.look([], 5.0) is None
    assert attention.look(["The disk is full."], 6.0) is None, "it begins anew"
    assert attention.look(["The disk is full.", "The key is gone."], 6.0 + ATTENTION_S) == "The disk is full."
    assert attention.look(["The disk is full.", "The key is gone."], 6.0 + 2 * ATTENTION_S) == "The key is gone."
    assert attention.look(["The disk is full.", "The key is gone."], 999.0) is None
    attention.look([], 1000.0)
    attention.look(["The disk is full."], 1001.0)
    assert attention.look(["The disk is full."], 1001.0 + ATTENTION_S) == "The disk is full."


@pytest.mark.parametrize("hours,reached", [(0.9, 0), (1.0, 1), (9.9, 1), (10.0, 10), (2500.0, 1000)])
def test_milestones_are_far_apart(hours: float, reached: int) -> None:
    assert milestone("seconds", hours * 3600) == reached * 3600


def test_a_milestone_is_told_once_and_not_what_was_reached_before() -> None:
    first = Milestones({})
    assert first.look(Amounts(samples=3_000_000, seconds=40_000.0)) is None
    told = first.look(Amounts(samples=10_000_000, seconds=40_000.0))
    assert told == "This PC has trained 10,000,000 samples."
    after = Milestones(first.kept)
    assert after.look(Amounts(samples=10_000_000, seconds=40_000.0)) is None
    told = after.look(Amounts(samples=10_000_000, seconds=360_000.0, tokens=100_000_000))
    assert told == "This PC has shared 100 hours of compute time. This PC has trained 100,000,000 tokens."


class Heard:
    """A notifier with what it told."""

    days_pass = True
    """After each notification, so that the next one may be told."""

    def __init__(self, folder: Path) -> None:
        self.client = WorkerClient(folder, VERSION)
        self.told: list[str] = []
        self.seen = False
        view = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self.now = 1_800_000_000.0
        self.notifier = Notifier(self.client, view, self._tell, lambda: self.seen, lambda: self.now)

    def _tell(self, text: str) -> None:
        self.told.append(text)
        if self.days_pass:
            self.now += DAY_S


@pytest.fixture
def heard(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[Heard]:
    heard = Heard(folder)
    yield heard
    heard.client.hang_up()


def lent(folder: Path, hours: float) -> None:
    ledger = Ledger(folder)
    ledger.add("digits", "cpu", Amounts(seconds=hours * 3600))
    ledger.close()


def test_milestones_come_from_the_ledger(qtbot: QtBot, toy: ToyWorker, heard: Heard, folder: Path) -> None:
    lent(folder, 0.5)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent) as today:
        heard.client.dial()
    assert today.args == ["30 min today, for others 0 calls"] and heard.told == []
    lent(folder, 0.5)
    toy.tell_of(read_only(folder))
    heard.notifier.look()
    qtbot.waitUntil(lambda: heard.told == ["This PC has shared 1 hour of compute time."])
    again = Heard(folder)
    with qtbot.waitSignal(again.notifier.lent):
        again.client.dial()
    assert again.told == []
    again.client.hang_up()


@pytest.mark.parametrize("kind", ["attention", "milestone", "update"])
def test_each_kind_can_be_turned_off(
    qtbot: QtBot, toy: ToyWorker, heard: Heard, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(notifications, "ATTENTION_S", 0.0)

    def happen() -> None:
        heard.notifier.trouble([f"Trouble at {time.monotonic()}."])
        monkeypatch.setattr(notifications, "installed_version", lambda: f"9.{time.monotonic()}")
        heard.notifier.look()

    lent(folder, 0.1)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent):
        heard.client.dial()
    heard.notifier.choose({**dataclasses.asdict(Settings()), f"notify_{kind}": False})
    lent(folder, 1.0)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent):
        happen()
    words: dict[str, Any] = {"attention": "Trouble", "milestone": "has shared 1 hour", "update": "has been installed"}
    told = {name for name, text in words.items() if any(text in one for one in heard.told)}
    assert told == words.keys() - {kind}


def test_what_was_turned_off_stays_so_before_a_worker_answers(
    heard: Heard, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "ATTENTION_S", 0.0)
    heard.notifier.choose({**dataclasses.asdict(Settings()), "notify_attention": False})
    later = Heard(folder)
    later.notifier.trouble(["The worker cannot run."])
    assert later.told == []
    later.notifier.choose(dataclasses.asdict(Settings()))
    later.notifier.trouble(["The disk is full."])
    assert later.told == ["The disk is full."]


def test_at_most_one_thing_is_told_a_day(
    qtbot: QtBot, toy: ToyWorker, heard: Heard, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "ATTENTION_S", 0.0)
    heard.days_pass = False
    first_use = EventStatus(heard.now, notice("event.first_use", peer="cd" * 32))
    used = "Jako Zofi (cdcdcdcd) used an expert of this PC, the first other PC to do so."
    lent(folder, 0.9)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent):
        heard.client.dial()
    heard.notifier.happened([first_use])
    lent(folder, 0.1)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.reached) as reached:
        heard.notifier.look()
    assert reached.args == ["This PC has shared 1 hour of compute time."], "the window shows it"
    heard.notifier.trouble(["The disk is full."])
    heard.notifier.tell_update("9.0")
    assert heard.told == [used]
    heard.now += DAY_S - 1
    heard.notifier.trouble(["The disk is full."])
    assert heard.told == [used]
    heard.now += 1
    heard.notifier.happened([first_use])
    heard.notifier.trouble(["The disk is full."])
    assert heard.told == [used, "The disk is full."], "what lasts is told the next day"
    again = Heard(folder)
    again.now = heard.now
    again.notifier.happened([first_use])
    again.notifier.tell_update("9.0")
    assert again.told == [], "also after a new start"
    again.now = 0.0  # the clock was set back
    again.notifier.tell_update("9.0")
    assert len(again.told) == 1


def test_nothing_is_said_to_be_of_today_that_no_worker_tells(qtbot: QtBot, heard: Heard) -> None:
    with qtbot.waitSignal(heard.notifier.lent) as today:
        heard.notifier.look()
    assert today.args == [""]


def test_what_was_done_for_others_is_told_apart(qtbot: QtBot, toy: ToyWorker, heard: Heard, folder: Path) -> None:
    ledger = Ledger(folder)
    ledger.add("digits", "cpu", Amounts(seconds=60, calls=143_000, peer_calls=14_758))
    ledger.add("digits", "", Amounts(reduced=3_100_000))
    ledger.close()
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent) as today:
        heard.client.dial()
    assert today.args == ["1 min today, for others 14,758 calls + 3.1 MB"]


def test_nothing_is_written_each_minute(qtbot: QtBot, toy: ToyWorker, heard: Heard, folder: Path) -> None:
    lent(folder, 0.5)
    toy.tell_of(read_only(folder))
    with qtbot.waitSignal(heard.notifier.lent):
        heard.client.dial()
    kept, view = folder / "window.ini", heard.notifier._view
    view.sync()
    os.utime(kept, (1, 1))
    with qtbot.waitSignal(heard.notifier.lent):
        heard.notifier.look()
    view.sync()
    assert kept.stat().st_mtime == 1


def test_who_looks_at_the_window_sees_the_trouble_there(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "ATTENTION_S", 0.0)
    heard.seen = True
    heard.notifier.trouble(["The disk is full."])
    assert heard.told == []
