"""The trunk that a run's trainers agree on, on Network and on Home: who takes part, how near the next time is, and what
is said while nobody has agreed."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.pages.home.network_card import NetworkCard
from app.pages.network.network_page import NetworkPage
from app.theme import theme
from app.widgets.flow_picture import MOST, FlowPicture, Node
from app.worker.client import WorkerClient
from core.contracts.network_status import Met
from core.contracts.notices import notice
from core.contracts.trunk_status import ForTrunk, GiverStatus, PartStatus, ProgressStatus, ReducerStatus, TrunkStatus
from tests.desktop.conftest import ToyWorker
from tests.desktop.test_network_page import make_network, make_peers
from tests.desktop.test_widgets import misfits

ME, SECOND, THIRD = ("ab" * 32, "cd" * 32, "ef" * 32)


def make_trunk(**changes: Any) -> TrunkStatus:
    """Three trainers, of which one was late; two bring together what they give."""
    status = TrunkStatus(
        "digits-2ac90b73",
        "dedloc",
        [PartStatus(0, 812, "5f" * 16, 831_488, 2, time.time() - 12.0, None, 25_000)],
        ME,
        [GiverStatus(SECOND, 640, 1.0), GiverStatus(ME, 384, 1.0), GiverStatus(THIRD, None, 0.0)],
        [ReducerStatus(ME, 0.25), ReducerStatus(SECOND, 0.75)],
        ProgressStatus(640, 1024, "samples"),
        48_300_000,
        51_200_000,
        done=ForTrunk(311_808, 12_600_000),
    )
    return msgspec.structs.replace(status, **changes)


@pytest.fixture
def client(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[WorkerClient]:
    theme()
    toy.answers["network"] = lambda params: make_network(make_peers(2))
    toy.answers["trunk"] = lambda params: make_trunk()
    client = WorkerClient(folder, "0.1.0")
    with qtbot.waitSignal(client.connected):
        client.dial()
    yield client
    client.hang_up()


@pytest.fixture
def page(qtbot: QtBot, client: WorkerClient) -> NetworkPage:
    page = NetworkPage(client, Actions())
    qtbot.addWidget(page)
    page.resize(680, 560)
    page.show()
    page.set_connected(True, "")
    return page


def test_who_takes_part_and_how_near_the_next_step_is(qtbot: QtBot, toy: ToyWorker, page: NetworkPage) -> None:
    card = page.trunk
    qtbot.waitUntil(card.isVisible)
    assert ("trunk", {"run": "digits-2ac90b73"}) in toy.asked
    assert card.said.text().startswith("2 trainers agree on one trunk by DeDLOC, last ")
    assert card.progress.text() == "640 of 1,024 samples"
    assert card._sent.accessibleName() == "Sent for the trunk: 48.3 MB"
    assert card._accepted.accessibleName() == "Samples or bytes counted: 311,808"
    assert card._reduced.accessibleName() == "Combined for others: 12.6 MB"
    assert not card.waits.isVisible()
    assert card.picture.accessibleDescription() == (
        "Took part in the last agreement: This PC (384 samples), Jako Zofi cdcdcdcd (640 samples), "
        "Mulu Zuja efefefef (not counted). Combined by: This PC (25.0% of it), Jako Zofi cdcdcdcd (75.0% of it)."
    )
    qtbot.waitUntil(lambda: misfits(page) == [])
    page.set_connected(False, "Worker stopped.")
    assert card.isVisible() and card.said.property("tone") == "text3"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "local", "parts": []}, ""),
        ({"strategy": "diloco", "parts": [], "givers": []}, "by DiLoCo. They have not done so since Hearth's start."),
        ({"parts": []}, "This PC helps 3 trainers to agree on one trunk by DeDLOC."),
        ({"strategy": "vc_asgd", "parts": [], "givers": [], "me": None}, "Hearth works alone on this PC"),
        ({"parts": [PartStatus(0, 9, "", 9, 1, 0.0, None, 9)]}, "1 trainer agreed on the trunk alone by DeDLOC, "),
        ({"parts": [PartStatus(0, 9, "", 9, 0, 0.0, None, 9)]}, "The trunk that all continue from has been here for "),
    ],
)
def test_it_says_what_there_is_without_an_agreement(page: NetworkPage, changes: dict[str, Any], said: str) -> None:
    page.trunk.show_trunk(make_trunk(**changes), 2)
    assert page.trunk.isVisible() == bool(said) and said in page.trunk.said.text()
    assert page.trunk.picture.isVisible() == (bool(said) and "givers" not in changes)


def test_without_peers_nobody_is_said_to_agree_or_to_be_helped(
    qtbot: QtBot, toy: ToyWorker, page: NetworkPage, client: WorkerClient
) -> None:
    home = NetworkCard(client)
    qtbot.addWidget(home)
    home.show()
    qtbot.waitUntil(lambda: page.trunk.picture.isVisible() and home.trunk.text().startswith("2 trainers agree"))
    page.alone.line.setText("a peer that is called now, and soon dead")
    toy.answers["meet"] = lambda params: Met("cd" * 32)
    page.alone.add_button.click()
    qtbot.waitUntil(lambda: page.alone.said.text().startswith("Connected."))
    toy.answers["network"] = lambda params: make_network([])
    qtbot.waitUntil(lambda: page.alone.isVisible() and page.alone.invite.isVisible())
    gone = "The last agreement on one trunk by DeDLOC was "
    qtbot.waitUntil(lambda: page.trunk.said.text().startswith(gone) and home.trunk.text().startswith(gone))
    assert not page.alone.said.text() and not page.peers.isVisible() and not page.trunk.picture.isVisible()
    assert home._peers.value.text() == "None: you are alone"
    page.trunk.show_trunk(make_trunk(parts=[]), 0)
    assert "helps" not in page.trunk.said.text()


def test_what_a_trainer_waits_for_is_said(page: NetworkPage) -> None:
    waits, ends = notice("trunk.waits_round", n=2), notice("trunk.ends_round")
    page.trunk.show_trunk(make_trunk(waits=waits, ends=ends, progress=None), 2)
    assert page.trunk.waits.text() == (
        "Waits for 2 other trainers in the common step. "
        "Continues when they have come, or without those that do not come within half a minute."
    )
    assert not page.trunk.progress.isVisible()
    why = notice("trunk.too_few", n=3, step=812)
    again = notice("trunk.waits_again", n=2, why=why)
    page.trunk.show_trunk(make_trunk(waits=again, ends=notice("trunk.ends_again")), 2)
    assert page.trunk.waits.text().startswith(
        "Waits for the common step: 2 tries have failed. Too few of 3 trainers came to the round of step 812. "
    )
    page.trunk.show_trunk(make_trunk(waits=waits, ends=ends, reached=True), 2)
    assert page.trunk.said.text().startswith("The run has reached its goal: ") and not page.trunk.waits.isVisible()


def test_of_many_as_many_as_there_is_room_for_are_shown(page: NetworkPage) -> None:
    many = [f"{number:064x}" for number in range(40)]
    page.trunk.show_trunk(
        make_trunk(
            givers=[GiverStatus(peer, None, None) for peer in [*many, ME]],
            reducers=[ReducerStatus(peer, 1 / 40) for peer in many],
        ),
        2,
    )
    words = page.trunk.picture.accessibleDescription()
    assert "This PC (took part)" in words and "36 others" in words and "35 others (87.5% of it)" in words


def test_a_node_is_chosen_by_keys_and_by_the_mouse(qtbot: QtBot) -> None:
    picture = FlowPicture("flows", ("Give", "Take"))
    qtbot.addWidget(picture)
    picture.set_nodes([Node("a", 0.5, "half"), Node("b", 0.5, "")], [Node("c", 1.0, "all", True)], "a and b to c")
    picture.resize(400, picture.sizeHint().height())
    picture.show()
    assert picture.accessibleDescription() == "a and b to c"
    for key, words in (
        (Qt.Key.Key_End, "Take: c, all"),
        (Qt.Key.Key_Up, "Give: b"),
        (Qt.Key.Key_Home, "Give: a, half"),
    ):
        QTest.keyClick(picture, key)
        assert picture.accessibleDescription() == words
    right = picture._room(1, 0).center()
    assert picture._under(right) == 2
    picture.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    mirrored = QPointF(picture.width() - right.x(), right.y())
    assert picture._under(right) != 2 and picture._under(mirrored) == 2


def test_bands_meet_their_bars(qtbot: QtBot) -> None:
    picture = FlowPicture("flows", ("Give", "Take"))
    qtbot.addWidget(picture)
    givers = [Node(str(number), share, "") for number, share in enumerate((0.7, 0.2, 0.1, 0.0))]
    takers = [Node(str(number), 1 / MOST, "") for number in range(MOST)]
    picture.set_nodes(givers, takers, "")
    picture.resize(400, picture.sizeHint().height())
    whole = picture._scale()
    for side, nodes in enumerate((givers, takers)):
        for row, node in enumerate(nodes):
            bar, room = picture._bar(side, row), picture._room(side, row)
            assert bar.height() == pytest.approx(max(2.0, whole * node.share)) and room.adjusted(-1, -1, 1, 1).contains(
                bar
            )
    assert not picture.grab().isNull()


def test_home_says_how_many_agree_where_they_do(qtbot: QtBot, toy: ToyWorker, client: WorkerClient) -> None:
    card = NetworkCard(client)
    qtbot.addWidget(card)
    card.show()
    qtbot.waitUntil(card.trunk.isVisible)
    assert card.trunk.text().startswith("2 trainers agree on one trunk by DeDLOC, last ")
    toy.answers["trunk"] = lambda params: TrunkStatus("digits-2ac90b73", "local", [])
    card.look()
    qtbot.waitUntil(lambda: not card.trunk.isVisible())
