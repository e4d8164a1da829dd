"""The network page: peers by the thousand, reachability in words, the check, and what it says without a worker."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.language import clock
from app.pages.network.network_page import NetworkPage
from app.theme import theme
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.ledger import Series
from core.contracts.line import LimitStatus, LineStatus
from core.contracts.network_status import PEERS_PAGE, Finding, Met, NetworkStatus, PeerStatus
from core.contracts.notices import notice, plain
from core.contracts.peer_names import called
from core.contracts.status import EventStatus
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_widgets import misfits


def make_peers(count: int) -> list[PeerStatus]:
    return [
        PeerStatus(
            f"{number:064x}",
            "direct" if number % 3 else "relayed via 1a2b3c4d",
            f"198.51.100.{number % 250}:4433",
            5.0 + number % 97,
            number * 1000,
            number * 10,
            1_760_000_000.0,
            0.0,
            "reachable" if number % 3 else "relayed",
        )
        for number in range(count)
    ]


def make_network(peers: list[PeerStatus], first: int = 0, **changes: Any) -> NetworkStatus:
    figures: dict[str, Any] = {
        "peer": "ab" * 32,
        "address": "ab" * 32 + "@203.0.113.7:4433",
        "reachability": "reachable",
        "step": notice("reach.by_stranger"),
        "nat": "none",
        "outside": ["203.0.113.7:4433"],
        "roles": ["host", "train"],
    }
    return NetworkStatus(**{**figures, **changes}, peers=peers[first : first + PEERS_PAGE], connected=len(peers))


@pytest.fixture
def actions() -> Actions:
    return Actions()


@pytest.fixture
def page(qtbot: QtBot, toy: ToyWorker, folder: Path, actions: Actions) -> Iterator[NetworkPage]:
    theme()
    peers = make_peers(2500)
    toy.answers["network"] = lambda params: make_network(peers, params["first"])
    client = WorkerClient(folder, "0.1.0")
    page = NetworkPage(client, actions)
    qtbot.addWidget(page)
    page.resize(828, 690)
    with qtbot.waitSignal(client.connected):
        client.dial()
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    page.set_connected(True, "")
    yield page
    client.hang_up()


def test_all_peers_are_fetched_page_by_page(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    model = page.peers.model
    qtbot.waitUntil(lambda: model.rowCount() == 2500)
    assert [params["first"] for method, params in toy.asked if method == "network"][:3] == [0, 1000, 2000]
    second = model.find(f"{1:064x}")
    assert second is not None and [*map(called, sorted((peer.peer for peer in model.shown), key=called))] == [
        model.index(at, 0).data() for at in range(2500)
    ], "in the order of their names"
    row = [model.index(second, column).data() for column in range(model.columnCount())]
    assert row == [called(f"{1:064x}"), "Reachable", "Direct", "6.0 ms", "1.0 kB", "10 B", "none"]
    assert model.index(second, 3).data(Qt.ItemDataRole.AccessibleTextRole) == "Round trip: 6.0 ms"
    qtbot.waitUntil(lambda: misfits(page) == [])


def test_sorting_and_filtering_keep_the_chosen_peer(qtbot: QtBot, page: NetworkPage) -> None:
    table, model = page.peers.table, page.peers.model
    qtbot.waitUntil(lambda: model.rowCount() == 2500)
    table.setCurrentIndex(model.index(7, 0))
    chosen = table.chosen()
    assert chosen is not None
    table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    assert model.shown[0].bytes_in == 2_499_000
    model.set_rows(make_peers(2400))
    kept = table.chosen()
    assert kept is not None and kept.peer == chosen.peer
    page.peers.filter.setText("RELAYED VIA")
    assert {peer.path for peer in model.shown} == {"relayed via 1a2b3c4d"}
    page.peers.filter.setText("nobody like that")
    assert page.peers.empty.text() == "No peer matches this filter." and page.peers.empty.isVisible()


@pytest.mark.parametrize(
    "reachability,word",
    [("reachable", "Yes, direct"), ("dial-out only", "No, it calls out only"), ("?", "Not known yet")],
)
def test_reachability_is_told_with_what_it_means(page: NetworkPage, reachability: str, word: str) -> None:
    page.reach.show_network(make_network([], reachability=reachability))
    assert page.reach.word.text() == word
    assert page.reach._means.text().endswith(".") and page.reach._do.text().endswith(".")


def test_own_id_and_address_are_copied_by_keyboard(qtbot: QtBot, page: NetworkPage) -> None:
    qtbot.waitUntil(page.reach.address.isVisible)
    QTest.keyClick(page.reach.address.button, Qt.Key.Key_Space)
    assert QGuiApplication.clipboard().text() == "ab" * 32 + "@203.0.113.7:4433"
    assert page.reach.address.button.text() == "Copied"


def test_the_check_names_what_is_wrong_and_what_to_do(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    toy.answers["doctor"] = lambda params: [
        Finding("port", True, plain("listening at 0.0.0.0:4433"), plain("")),
        Finding("clock", False, plain("+91.0 s against other peers"), plain("Set this PC's clock.")),
        Finding("nat", None, plain("not known"), plain("A backbone peer measures it.")),
    ]
    qtbot.waitUntil(lambda: "doctor" in toy.methods() and page.test.check.isEnabled())
    assert toy.methods().count("doctor") == 1, "it is not empty for whoever opens the page"
    page.test.check.click()
    assert not page.test.check.isEnabled()
    qtbot.waitUntil(lambda: page.test.said.text().startswith("1 of 3 needs attention."))
    assert len(page.test.rows) == 3
    assert page.test.rows[1].accessibleName() == "Clock: needs attention"
    assert "Set this PC's clock." in page.test.rows[1].accessibleDescription()
    assert page.test.rows[2].accessibleName() == "NAT: not known yet"


def test_the_check_is_made_again_when_the_first_peer_comes_or_the_last_one_goes(
    qtbot: QtBot, toy: ToyWorker, page: NetworkPage
) -> None:
    toy.answers["doctor"] = lambda params: []

    def tested(times: int, peers: list[PeerStatus]) -> None:
        toy.answers["network"] = lambda params: make_network(peers)
        looks = toy.methods().count("network")
        page.look()
        qtbot.waitUntil(lambda: toy.methods().count("network") > looks and page.test.check.isEnabled())
        qtbot.waitUntil(lambda: toy.methods().count("doctor") == times)

    tested(1, make_peers(2))
    tested(2, [])
    tested(3, make_peers(1))
    tested(3, make_peers(3))


def test_a_worker_without_a_network_is_no_fault(
    qtbot: QtBot, toy: ToyWorker, page: NetworkPage, actions: Actions
) -> None:
    alone = "This worker is alone: the settings say so, or it was started without a network."
    toy.answers["network"] = lambda params: wire.ErrorInfo("network", plain(alone))
    page.look()
    qtbot.waitUntil(lambda: page.reach.word.text() == "Alone")
    assert page.alone.isVisible() and not page.notice.isVisible() and not page.test.isVisible()
    assert "is off in Settings" in page.alone._words.text()
    for nothing in (page.reach.peer, page.reach.address, page.reach._asks, page.peers, page.alone.line):
        assert not nothing.isVisible()
    shown: list[str] = []
    actions.show_setting.connect(shown.append)
    QTest.mouseClick(page.alone.settings, Qt.MouseButton.LeftButton)
    assert shown == ["peers"]
    page.set_connected(True, "")
    assert not page.test.check.isEnabled() and "no connection to test" in page.test.said.text()
    toy.answers["network"] = lambda params: make_network(make_peers(1))  # started again, by hand, with a network
    page.look()
    qtbot.waitUntil(page.reach.address.isVisible)
    assert not page.alone.isVisible()
    assert page.test.check.isEnabled() and page.peers.figures.isVisible()
    for figure in page.peers._figures.values():
        assert figure.height() == figure.sizeHint().height(), "label and figure stay together"


def test_what_happened_is_listed_the_newest_first(qtbot: QtBot, page: NetworkPage) -> None:
    now = time.time()
    assert not page.events.isVisible()
    happened = [
        EventStatus(now - 3 * 86_400, notice("event.helped", peer="cd" * 32)),
        EventStatus(now, notice("event.taken", n=12, peer="ef" * 32)),
    ]
    page.update_status(make_status(events=happened))
    shown = [label.text() for label in page.events.findChildren(QLabel)]
    taken, helped = (
        "Mulu Zuja (efefefef) took over 12 experts from this PC.",
        "Jako Zofi (cdcdcdcd) helped this PC to train",
    )
    assert shown.index(taken) < next(at for at, text in enumerate(shown) if text.startswith(helped))
    assert clock(datetime.fromtimestamp(now)) in shown
    rows = [*page.events.labels]
    page.update_status(make_status(events=happened))
    assert page.events.labels == rows, "a list at rest is not made anew"
    qtbot.waitUntil(lambda: misfits(page) == [])


def test_who_is_alone_is_told_and_shown_the_ways_out(
    qtbot: QtBot, toy: ToyWorker, page: NetworkPage, actions: Actions
) -> None:
    qtbot.waitUntil(lambda: page.peers.model.rowCount() == 2500)
    assert not page.alone.isVisible()
    peers: list[PeerStatus] = []
    toy.answers["network"] = lambda params: make_network(peers, params["first"])
    page.look()
    qtbot.waitUntil(page.alone.isVisible)
    assert page.alone.accessibleName() == "You are alone in this run" and page.alone.settings.isHidden()
    assert "UDP port 4433" in page.alone._firewall.text()
    asked: list[tuple[str, str]] = []
    actions.add_run.connect(lambda link: asked.append(("run", link)))
    actions.invite.connect(lambda run: asked.append(("invite", run)))
    page.alone.line.setText(" hearth://digits-1/abc ")
    QTest.keyClick(page.alone.line, Qt.Key.Key_Return)
    QTest.mouseClick(page.alone.invite, Qt.MouseButton.LeftButton)
    QTest.mouseClick(page.alone.nearby, Qt.MouseButton.LeftButton)
    assert asked == [("run", "hearth://digits-1/abc"), ("invite", "digits-2ac90b73"), ("run", "")]

    page.resize(600, 690)  # what will be no longer true has two lines
    there = "cd" * 32 + "@198.51.100.7:4433"
    toy.answers["meet"] = lambda params: wire.ErrorInfo("unreachable", plain("Peer cdcdcdcd cannot be reached."))
    page.alone.line.setText(there)
    QTest.keyClick(page.alone.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.alone._notice.accessibleName() == "Peer cdcdcdcd cannot be reached.")
    assert page.alone.line.text() == there, "to be mended"

    def met(params: dict[str, Any]) -> Met:
        peers.extend(make_peers(1))  # also for a look of the page's own
        return Met("cd" * 32)

    toy.answers["meet"] = met
    QTest.mouseClick(page.alone.add_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.alone.said.text().startswith("Connected."))
    assert ("meet", {"address": there}) in toy.asked
    QApplication.processEvents()
    place = page.reach.mapTo(page, QPoint())
    page.look()
    qtbot.waitUntil(lambda: page.peers.isVisible() and page.peers.height() >= page.peers.minimumSizeHint().height())
    assert page.reach.mapTo(page, QPoint()) == place, "the page does not jump"
    assert page.alone.isVisible() and page.alone.title.text() == "You are no longer alone"
    page.hide()
    page.show()
    assert not page.alone.isVisible()
    peers.clear()
    page.look()
    qtbot.waitUntil(page.alone.isVisible)
    assert page.alone.title.text() == "You are alone in this run" and not page.alone.said.text()


def test_a_peer_can_be_added_after_the_worker_has_come_back(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    toy.answers["network"] = lambda params: make_network([], params["first"])
    page.look()
    qtbot.waitUntil(page.alone.isVisible)
    toy.silent.add("meet")
    page.alone.line.setText("cd" * 32 + "@198.51.100.7:4433")
    QTest.keyClick(page.alone.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "meet" in toy.methods())
    with qtbot.waitSignal(page._client.disconnected):
        toy.hang_up()
    assert page.alone._notice.isVisible()
    toy.silent.clear()
    toy.answers["meet"] = lambda params: Met("cd" * 32)
    with qtbot.waitSignal(page._client.connected):
        page._client.dial()
    page.alone.add_button.click()
    qtbot.waitUntil(lambda: page.alone.said.text().startswith("Connected."))


def test_who_is_not_alone_adds_a_peer_as_well(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    peers = make_peers(1)
    toy.answers["network"] = lambda params: make_network(peers, params["first"])
    page.look()
    qtbot.waitUntil(page.peers.isVisible)
    QTest.mouseClick(page.add_peer, Qt.MouseButton.LeftButton)
    assert page.alone.isVisible() and page.alone.title.text() == "Add a peer" and page.alone.line.hasFocus()
    toy.answers["meet"] = lambda params: Met("cd" * 32)
    QTest.keyClicks(page.alone.line, "cd" * 32 + "@198.51.100.7:4433")
    QTest.keyClick(page.alone.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.alone.said.text().startswith("Connected."))
    looked = len(toy.asked)
    page.look()
    qtbot.waitUntil(lambda: len(toy.asked) > looked and not page._asking)
    assert page.alone.isVisible() and page.alone.title.text() == "Add a peer"
    page.hide()
    page.show()
    assert not page.alone.isVisible()
    QTest.mouseClick(page.add_peer, Qt.MouseButton.LeftButton)
    peers.clear()
    page.look()
    qtbot.waitUntil(lambda: page.alone.title.text() == "You are alone in this run")


def test_no_peer_and_no_worker_each_get_a_sentence(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    toy.answers["network"] = lambda params: make_network([])
    page._asking = False
    page.look()
    qtbot.waitUntil(page.alone.isVisible)
    page.set_connected(False, "Worker stopped, restarting in 4 s")
    assert page.notice.accessibleName().startswith("Worker stopped, restarting in 4 s. The figures are from ")
    assert not page.test.check.isEnabled()


def test_nothing_is_asked_while_nobody_looks(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    qtbot.waitUntil(lambda: page.peers.model.rowCount() == 2500)
    page.hide()
    assert not page._timer.isActive()


MINUTES = 60
LINE = LineStatus(
    LimitStatus(250_000.0, True, notice("line.measured", rate=250_000, measured=1e6)),
    LimitStatus(500_000.0, True, notice("line.twice", rate=500_000)),
)


def traffic(params: dict[str, Any]) -> Series:
    """An hour in which the upload was measured, calls and copies went out, and credit for once."""
    quiet = [0.0] * (MINUTES - 1)
    sent = params["metric"] == "bytes_out"
    values = {
        "network.expert": [*quiet, 9e6],
        "network.file": [3e6, *quiet],
        "network.data": [*quiet, 2e6],
        "network.other": [*quiet, 1e6],
        "network.credit": [*quiet, 1e3],
        "network.line": [5e6, *quiet],
        "cpu": [5e9, *quiet],
    }
    times = [1_760_000_000 + 60 * minute for minute in range(MINUTES + 1)]
    return Series("minute", times, values if sent else {"network.dht": [2e3, *quiet]})


def test_bandwidth_is_drawn_by_kind_and_read_by_keyboard(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    toy.answers["series"] = traffic
    page.update_status(make_status(line=LINE))
    card = page.bandwidth
    card._look_again()
    qtbot.waitUntil(lambda: card.words.text() == "Sent in 1 hour: 20.0 MB")
    kinds = ["Expert calls", "Copies of checkpoints", "The run's data", "Measuring your upload", "Headers and the rest"]
    kinds += ["All else"]
    assert [part.name for part in card.plot.bars.parts] == kinds
    card.plot.setFocus()
    QTest.keyClick(card.plot, Qt.Key.Key_End)
    assert card.words.text().endswith("The run's data 2.0 MB, Headers and the rest 1.0 MB, All else 1.0 kB)")
    heads, rows = card.plot.table()
    assert list(heads) == ["When", "Sent, 1 hour", *kinds]
    assert len(rows) == MINUTES and rows[0][1:] == ["8.0 MB", "0 B", "3.0 MB", "0 B", "5.0 MB", "0 B", "0 B"]
    QTest.keyClick(card.plot, Qt.Key.Key_Home)
    card.way.set_value("received")
    card.way.chosen.emit("received")
    qtbot.waitUntil(lambda: card.words.text().endswith(": 2.0 kB"))
    assert [part.name for part in card.plot.bars.parts] == ["Directory of experts"]
    assert card.limits.text() == (
        "Upload: At most 250 kB/s to peers outside your local network: a quarter of the 1 MB/s measured.\n"
        "Download: At most 500 kB/s from peers outside your local network: twice the automatic upload limit."
    )


def test_who_is_alone_has_no_bandwidth(qtbot: QtBot, page: NetworkPage) -> None:
    page.update_status(make_status(line=LINE))
    assert page.bandwidth.isVisible()
    page.update_status(make_status())
    assert not page.bandwidth.isVisible()
