"""The GPU pack in the window: Home leads to it, and *Settings* offers, fetches, installs and removes it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.pages.home.home_page import HomePage
from app.pages.settings.pack_card import PackCard
from app.pages.settings.settings_page import PACK, SettingsPage
from app.theme import theme
from app.worker import supervisor
from app.worker.client import WorkerClient
from core.contracts.notices import notice
from core.update.installation import ROOT
from tests.desktop.conftest import make_status
from tests.desktop.test_data_card import said
from tests.desktop.test_home import CARD
from tests.desktop.test_settings_ways import marked
from tests.gpu_packs import Packs, a_pc_with_packs
from tests.swarm.fake_gpu import NAME, command

WAIT_MS = 120_000


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packs]:
    """A PC with a card that this process and those that it starts can see."""
    with a_pc_with_packs(tmp_path) as (here, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(supervisor, "hearth_command", command)
        yield here


@pytest.fixture
def card(qtbot: QtBot, here: Packs) -> PackCard:
    theme()
    card = PackCard(here.data)
    qtbot.addWidget(card)
    card.show()
    return card


def test_two_clicks_install_the_pack_and_one_removes_it(qtbot: QtBot, here: Packs, card: PackCard) -> None:
    assert not card.install.isVisible() and not card.remove.isVisible()
    card.look_now.click()
    qtbot.waitUntil(card.install.isVisible, timeout=WAIT_MS)
    assert card.says.text() == f"For {NAME}: 3 MB to fetch, 3 MB on the disk." and here.feed.server.files == 0
    with qtbot.waitSignal(card._ended, timeout=WAIT_MS):
        card.install.click()
        assert card.stop.isVisible() and "Fetching the pack." in card.says.text()
    assert said(card.notice) == "" and card.says.text() == "Compute uses the pack with torch 2.90.0."
    assert not card.install.isVisible() and not card.stop.isVisible() and here.chosen == "2.90.0"
    card.look_now.click()
    qtbot.waitUntil(lambda: card.says.text() == "This is the newest pack.", timeout=WAIT_MS)
    with qtbot.waitSignal(card._ended, timeout=WAIT_MS):
        card.remove.click()
    assert here.chosen == "" and not card.remove.isVisible() and card.says.text() == ""


def test_a_download_shows_how_far_it_is_and_can_be_stopped(qtbot: QtBot, here: Packs, card: PackCard) -> None:
    card._show_progress({"done": 1.2 * 2**30, "total": 2.7 * 2**30, "left_s": 90.0})
    assert card.bar.isVisible() and card.says.text() == "1.2 GB of 2.7 GB, 90 seconds left"
    card.look_now.click()
    qtbot.waitUntil(card.install.isVisible, timeout=WAIT_MS)
    asked, stopped = threading.Event(), threading.Event()

    def held(path: str, data: bytes) -> bytes:
        if path.startswith("/files/"):
            asked.set()
            stopped.wait(WAIT_MS / 1000)
        return data

    here.feed.server.change = held
    with qtbot.waitSignal(card._ended, timeout=WAIT_MS):
        card.install.click()
        qtbot.waitUntil(asked.is_set, timeout=WAIT_MS)
        card.stop.click()
    stopped.set()
    assert here.chosen == "" and said(card.notice) == "" and card.install.isVisible() and card.remove.isVisible()


def test_what_goes_wrong_is_told(qtbot: QtBot, here: Packs, card: PackCard, monkeypatch: pytest.MonkeyPatch) -> None:
    here.publish("2.91.0", "if 'try-pack' in sys.argv: raise SystemExit('The driver is too old.')")
    card.look()
    qtbot.waitUntil(card.install.isVisible, timeout=WAIT_MS)
    with qtbot.waitSignal(card._ended, timeout=WAIT_MS):
        card.install.click()
    assert said(card.notice) == "The GPU pack does not work on this PC: The driver is too old."
    assert card.install.isVisible() and card.install.isEnabled()
    here.feed.server.close()
    card.look()
    qtbot.waitUntil(lambda: "cannot be reached" in said(card.notice), timeout=WAIT_MS)


def test_without_a_feed_nothing_is_offered(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROOT, raising=False)
    theme()
    card = PackCard(tmp_path)
    qtbot.addWidget(card)
    assert "has no release feed with GPU packs" in card.says.text() and not card.look_now.isEnabled()


@pytest.mark.parametrize("why", ["device.torch_has_none", "device.off"])
def test_home_leads_to_the_pack_if_the_card_waits_for_one(qtbot: QtBot, here: Packs, why: str) -> None:
    actions, client = Actions(), WorkerClient(here.data, "0.1.0")
    home, settings = HomePage(actions, client), SettingsPage(client, actions)
    opened: list[Any] = []
    actions.open_page.connect(opened.append)
    for page in (home, settings):
        qtbot.addWidget(page)
        page.show()
    card = msgspec.structs.replace(CARD, on=False, why=(notice(why),))
    home.devices.update_status(make_status(devices=[*make_status().devices, card]))
    assert home.devices.offer.isVisible() == (why == "device.torch_has_none")
    if why != "device.torch_has_none":
        return
    home.devices.offer.click()
    assert opened == ["settings"] and marked(settings) == PACK
