"""The page Runs: what it says of each run, and how one is weighed, left, looked at, joined and passed on."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zxingcpp
from PIL import Image
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.desktop import Desktop
from app.pages.runs.run_card import state_of
from app.pages.runs.run_picture import unpacked
from app.system.single_instance import Instance
from app.theme import Mode, theme
from app.widgets.basics import Label
from app.widgets.qr_picture import QrPicture
from app.worker.supervisor import supervise
from core.contracts import control as wire
from core.contracts import manifest as manifests
from core.contracts.ledger import Amounts, Period, Totals
from core.contracts.model import Licence
from core.contracts.network_status import FoundRun
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails, details_of
from core.contracts.run_link import RunLink
from core.contracts.run_times import Times
from core.contracts.status import RunStatus
from core.contracts.telemetry import RunNotice, Told
from tests.desktop.conftest import ToyWorker, alone, make_status
from tests.desktop.test_desktop import Start, has_tray, start  # noqa: F401 - fixtures
from tests.desktop.test_network_page import make_network
from tests.unit.test_manifest_files import TINY
from tests.workers import RunningWorker, agreed, start_paused, worker

KEY = "a5" * 32
LINK = str(RunLink("wiki-00c0ffee", KEY, (f"{'cd' * 32}@192.168.1.7:4401,[2001:db8::7]:4401",)))
TEXT = manifests.load("text")
OF_SOMEBODY = msgspec.structs.replace(
    TEXT,
    run="wiki",
    title="digits",
    organiser=KEY,
    licence=Licence("CC-BY-SA-4.0", "MIT"),
    needs_memory_mb=4000,
    needs_disk_mb=2000,
    sources=("https://data.example.org/wiki",),
)
SIGNED = msgspec.structs.replace(details_of(OF_SOMEBODY), next_revision=2, changed=("licence",))
UNSIGNED = msgspec.structs.replace(
    details_of(msgspec.structs.replace(OF_SOMEBODY, organiser=None)), namesake=SIGNED.id, data_bytes=5 * 10**9
)
BUILT_IN = details_of(TEXT)


def joined_run(run: RunDetails, **changes: Any) -> RunStatus:
    """What the worker tells of a run that trains."""
    task = run.manifest.task.name
    status = RunStatus(
        run.id, run.manifest.run, run.manifest.title, 1, "training", task, 420, 13_440, 312.0, 32, 1.0, 0.5, None
    )
    return msgspec.structs.replace(status, **changes)


ONE, OTHER = joined_run(SIGNED, weight=3), joined_run(BUILT_IN)
BOTH = make_status(run_id=ONE.id, runs=[ONE, OTHER])


@pytest.fixture
def desktop(toy: ToyWorker, start: Start, qtbot: QtBot) -> Desktop:  # noqa: F811
    """Shows the page, beside a worker of two runs."""
    period = Period(Amounts(), {ONE.id: Amounts(tokens=7000, seconds=11_520, peer_calls=1)}, {})
    known = {ONE.id: SIGNED, OTHER.id: BUILT_IN, LINK: SIGNED, "text": BUILT_IN}
    toy.answers |= {
        "subscribe": lambda params: wire.Snapshot(BOTH, toy.settings, []),
        "status": lambda params: BOTH,
        "totals": lambda params: Totals(time.time(), None, period, period, period),
        "run_details": lambda params: known.get(params["run"], UNSIGNED),
        "found_runs": lambda params: [],
        "run_link": lambda params: wire.RunLinked(LINK),
    }
    desktop = start()
    desktop.actions.open_page.emit("runs")
    qtbot.waitUntil(lambda: len(desktop.runs_page.cards) == 2)
    return desktop


def asked(toy: ToyWorker, method: str) -> list[dict[str, Any]]:
    return [params for name, params in toy.asked if name == method]


# the runs that were joined


def test_each_run_says_what_it_does_for_whom_and_what_this_pc_gave(
    qtbot: QtBot, toy: ToyWorker, desktop: Desktop
) -> None:
    card, other = desktop.runs_page.cards[ONE.id], desktop.runs_page.cards[OTHER.id]
    qtbot.waitUntil(lambda: card._today.accessibleName() == "Computed today: 3 h 12 min")
    assert (card.title.text(), card.word.text()) == ("digits", "Training")
    assert (
        card.reason.text() == "312 B of text per second, step 420." and card.until.text() == "Stops when you pause it."
    )
    assert card._trained.accessibleName() == "Trained here: 7,000 bytes"
    assert card._calls.accessibleName() == "Answered for others: 1 call"
    assert card.share.text() == "75% of the time that this PC computes" and card.weight.spin.value() == 3
    qtbot.waitUntil(lambda: card.pill._label.text() == "Signed by a5a5a5a5a5a5a5a5")
    assert "a5a5a5a5 a5a5a5a5" in card.facts["organiser"][1].text()
    assert "Licence of the data: CC-BY-SA-4.0; of the model: MIT." in card.facts["data"][1].text()
    assert "revision 2" in card.news.accessibleName() and "licence" in card.news.accessibleName()
    assert other.title.text() == "The Python manual" and not card.says.isVisible()
    told = RunNotice(ONE.id, bytes(32), 1_790_000_000.0, "We are half way. Thank you!")
    toy.answers["telemetry"] = lambda params: Told([], [told], [])
    desktop.runs_page.look()
    qtbot.waitUntil(card.says.isVisible)
    assert "We are half way. Thank you!" in card.says.accessibleName() and not other.says.isVisible()
    qtbot.waitUntil(lambda: other.pill._label.text() == "Comes with Hearth")
    assert not other.news.isVisible() and not card.show_button.isVisible() and other.show_button.isVisible()


@pytest.mark.parametrize(
    ("run", "pc", "word", "reason"),
    [
        ({}, "contributing", "Training", "312 B of text per second"),
        ({"task": "picture"}, "contributing", "Training", "312 samples per second"),
        ({"task": "tokens"}, "contributing", "Training", "312 tokens per second"),
        ({"phase": "absent"}, "contributing", "Preparing", "has not started"),
        ({"phase": "stopping"}, "contributing", "Stopping", "saves its work"),
        ({"reached": True}, "contributing", "Goal reached", "nothing is left to train"),
        ({"waits": notice("disk.run_waits", needed=60 << 20, most=64 << 20)}, "paused", "Waits", "disk space"),
        ({}, "paused", "Paused", "Training runs on 1 thread."),
    ],
)
def test_every_state_has_a_reason_and_an_end(run: dict[str, Any], pc: Any, word: str, reason: str, qapp: Any) -> None:
    state = state_of(msgspec.structs.replace(ONE, **run), make_status(state=pc, runs=[ONE]))
    assert state.word == word and reason in state.reason and state.until.endswith(".")


def test_a_weight_is_sent_and_what_the_worker_says_is_shown(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    card = desktop.runs_page.cards[OTHER.id]
    card.weight.spin.setFocus()
    QTest.keyClick(card.weight.spin, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: bool(asked(toy, "weight")))
    assert asked(toy, "weight") == [{"run": OTHER.id, "weight": 2}]
    toy.tell("status", msgspec.structs.replace(BOTH, runs=[ONE, msgspec.structs.replace(OTHER, weight=12)]))
    qtbot.waitUntil(lambda: card.share.text().startswith("80%"))
    assert card.weight.spin.value() == 12


def test_a_weight_being_typed_outlasts_the_next_status(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    card = desktop.runs_page.cards[OTHER.id]
    spin = card.weight.spin
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, "25")
    toy.tell("status", msgspec.structs.replace(BOTH, runs=[msgspec.structs.replace(ONE, weight=1), OTHER]))
    qtbot.waitUntil(lambda: card.share.text().startswith("50%"))
    QTest.keyClicks(spin, "0")
    QTest.keyClick(spin, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(asked(toy, "weight")))
    assert asked(toy, "weight") == [{"run": OTHER.id, "weight": 250}]


def test_a_run_is_left_after_a_question_by_keyboard(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    window, card = desktop.window, desktop.runs_page.cards[OTHER.id]
    card.leave.setFocus()
    QTest.keyClick(card.leave, Qt.Key.Key_Space)
    assert window.focusWidget() is card.stay and "The Python manual" in card.stay.accessibleDescription()
    QTest.keyClick(card.stay, Qt.Key.Key_Space)
    assert card.question.isHidden() and window.focusWidget() is card.leave and not asked(toy, "leave_run")
    toy.answers["leave_run"] = lambda params: wire.ErrorInfo("run", notice("run.only_one", run=OTHER.id))
    card.leave.click()
    QTest.keyClick(card.stay, Qt.Key.Key_Tab)
    assert window.focusWidget() is card.go
    QTest.keyClick(card.go, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: "only run" in card.asked.text())
    toy.answers["leave_run"] = lambda params: OTHER
    card.go.click()
    assert not card.answers.isEnabled()
    qtbot.waitUntil(lambda: desktop.window.note._label.text().startswith("Left “The Python manual”"))
    assert asked(toy, "leave_run") == [{"run": OTHER.id}] * 2
    toy.tell("status", msgspec.structs.replace(BOTH, runs=[ONE]))
    qtbot.waitUntil(lambda: list(desktop.runs_page.cards) == [ONE.id])
    desktop.runs_page.cards[ONE.id].leave.click()
    assert "Add another one first" in desktop.runs_page.cards[ONE.id].asked.text()
    assert not desktop.runs_page.cards[ONE.id].go.isVisible()


def test_without_the_worker_the_figures_are_marked_as_old(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    toy.hang_up()
    desktop.window.set_connected(False, "Worker stopped")
    card = desktop.runs_page.cards[ONE.id]
    assert not card.leave.isEnabled() and not desktop.runs_page.add_button.isEnabled()
    assert card.word.property("tone") == "text3"


# which run


def test_a_pasted_link_is_looked_at_and_joined_by_keyboard_alone(
    qtbot: QtBot, toy: ToyWorker, desktop: Desktop
) -> None:
    sheet, window = desktop.join_sheet, desktop.window
    toy.answers["join_run"] = lambda params: ONE
    QGuiApplication.clipboard().setText(f"  {LINK}\n")
    desktop.runs_page.add_button.setFocus()
    QTest.keyClick(desktop.runs_page.add_button, Qt.Key.Key_Space)
    assert window.focusWidget() is sheet.line
    tab_to(window, sheet.paste)
    QTest.keyClick(sheet.paste, Qt.Key.Key_Space)
    qtbot.waitUntil(sheet.consent.isVisible)
    assert asked(toy, "run_details")[-1] == {"run": LINK}
    assert window.focusWidget() is sheet.heading and sheet.heading.accessibleName() == "Join “digits”?"
    QTest.keyClick(sheet.heading, Qt.Key.Key_Return)
    assert sheet.consent.isVisible() and not asked(toy, "join_run"), "Enter alone never joins"
    tab_to(window, sheet.weight.spin)
    QTest.keyClick(sheet.weight.spin, Qt.Key.Key_Up)
    assert sheet.share.text().startswith("33%")
    tab_to(window, sheet.join)
    QTest.keyClick(sheet.join, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window.note._label.text() == "Joined “digits” with weight 3.")
    assert asked(toy, "join_run") == [{"run": LINK, "weight": 2}] and not sheet.isVisible()
    assert window.focusWidget() is desktop.runs_page.add_button


def tab_to(window: QWidget, wanted: QWidget) -> None:
    for _ in range(20):
        here = window.focusWidget()
        if here is wanted:
            return
        assert here is not None
        QTest.keyClick(here, Qt.Key.Key_Tab)
    raise AssertionError(f"Tab never comes to {wanted.accessibleName()}")


def shown_words(root: QWidget) -> str:
    return " ".join(
        str(child.text()) for child in root.findChildren(QWidget) if child.isVisible() and hasattr(child, "text")
    )


def test_before_it_is_joined_a_run_says_all_that_it_asks_for(qtbot: QtBot, desktop: Desktop) -> None:
    desktop.add_run(LINK)
    sheet = desktop.join_sheet
    qtbot.waitUntil(sheet.consent.isVisible)
    said = shown_words(sheet)
    for words in (
        "a5a5a5a5 a5a5a5a5",
        "To continue text: a model of",
        "466 kB from the organiser, in 8 parts",
        "Licence of the data: CC-BY-SA-4.0; of the model: MIT.",
        "A PC with 3.9 GB of memory, 2.1 GB free on the disk.",
        "Up to 466 kB of data are fetched. While it trains, about 759 MB of memory, and up to",
        "this PC's address and public key",
        "Web servers that have the data see the address, too: data.example.org.",
    ):
        assert words in said, words
    assert not sheet.warning.isVisible()
    sheet.decline.click()
    assert not sheet.isVisible()


def test_an_unsigned_twin_of_a_joined_run_is_warned_of(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    desktop.add_run("/somewhere/manifest.toml")
    sheet = desktop.join_sheet
    qtbot.waitUntil(sheet.consent.isVisible)
    said = sheet.warning.accessibleName()
    assert f"this is not the run “digits” that this PC has joined ({SIGNED.id})" in said
    assert "Nobody has signed this run" in said
    desktop.add_run("text")
    assert "Another link has arrived" in sheet.notice.accessibleName() and sheet.heading.text() == "digits"
    sheet.decline.click()
    desktop.add_run("text")
    qtbot.waitUntil(lambda: sheet.heading.text() == "The Python manual")
    assert not sheet.warning.isVisible(), "what comes with Hearth is no stranger"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it must begin with hearth://join/"),
        ("https://example.org", "it must begin with hearth://join/"),
        ("hearth://join/wiki", "the first part must be the id of a run"),
        (LINK.partition("@")[0], "It may have been cut off"),
        (LINK + "x" * 3000, "it is longer than"),
    ],
)
def test_a_bad_link_is_refused_with_its_reason(desktop: Desktop, toy: ToyWorker, text: str, said: str) -> None:
    sheet = desktop.join_sheet
    desktop.actions.add_run.emit("")
    before = len(asked(toy, "run_details"))
    sheet.line.setText(text)
    QTest.keyClick(sheet.line, Qt.Key.Key_Return)
    assert said in sheet.notice.accessibleName() and sheet.which.isVisible()
    assert len(asked(toy, "run_details")) == before, "the worker is not bothered"


def test_looking_can_be_cancelled_and_a_failure_is_told(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    sheet = desktop.join_sheet
    toy.silent.add("run_details")
    desktop.add_run(LINK)
    assert sheet.waiting.isVisible() and "That does not join it" in sheet.waits_for.text()
    assert "gives up after 60 s" in sheet.elapsed.text() and desktop.window.focusWidget() is sheet.cancel
    QTest.keyClick(sheet.cancel, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(asked(toy, "stop")))
    assert sheet.which.isVisible()
    toy.silent.clear()
    nobody = notice("run.link_nobody", run="wiki-00c0ffee", why=[])
    toy.answers["run_details"] = lambda params: wire.ErrorInfo("network", nobody)
    sheet.look_at(LINK)
    qtbot.waitUntil(lambda: "Ask the organiser for a new link" in sheet.notice.accessibleName())
    assert sheet.line.text() == LINK, "to be tried again"


def test_a_link_that_comes_before_the_worker_waits_for_it(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    toy.hang_up()
    qtbot.waitUntil(lambda: not desktop.client.is_connected)
    desktop.add_run(LINK)
    assert "Waiting for the worker" in desktop.join_sheet.waits_for.text()
    qtbot.waitUntil(desktop.join_sheet.consent.isVisible)


def test_a_link_that_comes_during_the_first_run_waits_for_its_end(qtbot: QtBot, desktop: Desktop) -> None:
    desktop._begin_first_run()
    desktop.add_run(LINK)
    assert not desktop.join_sheet.isVisible()
    link = QMimeData()
    link.setText(LINK)
    assert not drop(desktop.window, link)
    desktop._end_first_run()
    qtbot.waitUntil(desktop.join_sheet.consent.isVisible)


def test_who_closes_the_sheet_while_a_run_is_joined_hears_of_it(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    toy.answers["join_run"] = lambda params: wire.ErrorInfo("run", notice("run.too_many", most=16))
    desktop.add_run(LINK)
    sheet = desktop.join_sheet
    qtbot.waitUntil(sheet.consent.isVisible)
    sheet.join.click()
    sheet.close_sheet()
    qtbot.waitUntil(lambda: desktop.window.note._label.text().startswith("No more runs can be joined now"))


def test_a_run_that_could_not_be_joined_does_not_stand_for_the_one_that_is_looked_at(
    qtbot: QtBot, toy: ToyWorker, desktop: Desktop
) -> None:
    sheet, said = desktop.join_sheet, desktop.window.note._label
    toy.silent.add("join_run")
    desktop.add_run(LINK)
    qtbot.waitUntil(sheet.consent.isVisible)
    sheet.join.click()
    joining = max(desktop.client._asked)
    sheet.close_sheet()
    toy.silent.add("run_details")
    desktop.add_run("text")
    looking = max(desktop.client._asked)
    toy.send(wire.Reply(joining, error=wire.ErrorInfo("run", notice("run.too_many", most=16))))
    qtbot.waitUntil(lambda: said.text().startswith("No more runs can be joined now"))
    assert sheet.waiting.isVisible() and not sheet.notice.isVisible()
    toy.send(wire.Reply(looking, BUILT_IN))
    qtbot.waitUntil(sheet.consent.isVisible)
    assert sheet.heading.text() == "The Python manual"
    sheet.join.click()
    qtbot.waitUntil(lambda: len(asked(toy, "join_run")) == 2)
    assert [params["run"] for params in asked(toy, "join_run")] == [LINK, "text"]


def test_runs_that_come_with_hearth_and_those_nearby_are_offered(
    qtbot: QtBot, toy: ToyWorker, desktop: Desktop
) -> None:
    toy.answers["found_runs"] = lambda params: [FoundRun("wiki-00c0ffee", KEY, 2, LINK)]
    desktop.actions.add_run.emit("")
    sheet = desktop.join_sheet
    names = [button.accessibleName() for button in sheet.offers.buttons]
    assert "Look at Handwritten digits" in names and "Look at The Python manual" not in names
    qtbot.waitUntil(sheet.nearby.isVisible)
    assert "2 PCs here say that they train it; signed by a5a5a5a5a5a5a5a5" in shown_words(sheet.nearby)
    sheet.nearby.buttons[0].click()
    qtbot.waitUntil(sheet.consent.isVisible)
    assert asked(toy, "run_details")[-1] == {"run": LINK} and not asked(toy, "join_run")


@pytest.mark.parametrize(
    ("answer", "why", "setting"),
    [
        (lambda: make_network([], lan=False), "“Find peers on this network” is off", "lan"),
        (lambda: alone({}), "“Work with other peers” is off", "peers"),
        (lambda: make_network([]), "None has been found.", ""),
    ],
)
def test_why_no_run_nearby_is_listed_is_said(
    qtbot: QtBot, toy: ToyWorker, desktop: Desktop, answer: Callable[[], Any], why: str, setting: str
) -> None:
    toy.answers |= {"network": lambda params: answer(), "found_runs": lambda params: []}
    desktop.window.open_page("network")
    desktop.actions.add_run.emit("")
    nearby = desktop.join_sheet.nearby
    qtbot.waitUntil(nearby.isVisible)
    assert nearby.none.text().startswith(why) and nearby.setting.isVisible() == bool(setting)
    if setting:
        nearby.setting.click()
        assert not desktop.join_sheet.isVisible() and desktop.window.current_page() is desktop.settings_page
        assert desktop.settings_page.rows[setting].isAncestorOf(desktop.window.focusWidget())


def drop(window: QWidget, mime: QMimeData) -> bool:
    """Drag something onto the window and let go, if it takes it."""
    place, copy, keys = QPointF(300, 300), Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    left = Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(place.toPoint(), copy, mime, left, keys)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(place, copy, mime, left, keys))
    return enter.isAccepted()


def test_a_link_can_be_dropped_and_nothing_else(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    for text in ("some words", "https://example.org/a.toml"):
        mime = QMimeData()
        mime.setText(text)
        assert not drop(desktop.window, mime)
    two = QMimeData()
    two.setUrls([QUrl.fromLocalFile("/a.toml"), QUrl.fromLocalFile("/b.toml")])
    assert not drop(desktop.window, two)
    link = QMimeData()
    link.setText(LINK)
    assert drop(desktop.window, link)
    qtbot.waitUntil(desktop.join_sheet.consent.isVisible)


# the link of a run


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_qr_code_of_a_run_says_its_link(qtbot: QtBot, desktop: Desktop, tmp_path: Path, mode: Mode) -> None:
    theme().set_mode(mode)
    desktop.runs_page.cards[ONE.id].invite.click()
    sheet = desktop.invite_sheet
    qtbot.waitUntil(sheet.code.isVisible)
    path = tmp_path / "picture.png"
    assert desktop.window.grab().save(str(path))
    [found] = zxingcpp.read_barcodes(Image.open(path).convert("L"), try_invert=False)
    assert found.text == LINK == sheet.code.accessibleDescription()
    sheet.copy.click()
    assert QGuiApplication.clipboard().text() == LINK and sheet.copy.text() == "Copied"
    theme().set_mode("system")


def test_the_longest_link_has_room_in_a_code(qtbot: QtBot) -> None:
    picture = QrPicture("code")
    qtbot.addWidget(picture)
    picture.show_text("hearth://join/" + "x" * 2030)
    assert picture._module() >= 2


def test_a_run_without_a_link_says_why(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    toy.answers["run_link"] = lambda params: wire.ErrorInfo("run", notice("run.link_unsigned", run=OTHER.id))
    toy.answers["run_details"] = lambda params: msgspec.structs.replace(SIGNED, id="ours-0123abcd")
    desktop.invite_sheet.open_for("ours-0123abcd")
    qtbot.waitUntil(lambda: "Nobody has signed the run" in desktop.invite_sheet.notice.accessibleName())
    assert not desktop.invite_sheet.shown.isVisible()


def test_a_run_that_comes_with_hearth_needs_no_link(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    digits = details_of(manifests.load("digits"))
    toy.answers |= {"run_details": lambda params: digits, "network": lambda params: make_network([])}
    desktop.invite_sheet.open_for(digits.id)
    qtbot.waitUntil(lambda: "Send the address of this PC" in desktop.invite_sheet.said.text())
    qtbot.waitUntil(desktop.invite_sheet.shown.isVisible)
    assert desktop.invite_sheet.copy.text() == "Copy the address" and not desktop.invite_sheet.code.isVisible()
    desktop.invite_sheet.copy.click()
    assert QGuiApplication.clipboard().text() == make_network([]).address


BY_TOKENS = msgspec.structs.replace(
    SIGNED, manifest=msgspec.structs.replace(SIGNED.manifest, access="tokens"), let_in_until=1_800_000_000.0
)


def test_a_run_by_invitation_says_so_and_who_can_invite(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    toy.answers["run_details"] = lambda params: BY_TOKENS
    desktop.runs_page.look()
    card = desktop.runs_page.cards[ONE.id]
    qtbot.waitUntil(lambda: "This PC is invited until 15 January." in card.facts["access"][1].text())
    card.invite.click()
    sheet = desktop.invite_sheet
    qtbot.waitUntil(sheet.code.isVisible)
    assert "by invitation only" in sheet.said.text() and KEY[:16] in sheet.said.text() and sheet.form.isHidden()
    sheet.close_sheet()
    toy.answers["run_details"] = lambda params: msgspec.structs.replace(BY_TOKENS, let_in_until=None)
    desktop.add_run(LINK)
    qtbot.waitUntil(desktop.join_sheet.consent.isVisible)
    told = " ".join(label.text() for label in desktop.join_sheet.consent.findChildren(Label))
    assert "By invitation only. This PC has no valid invitation" in told


def test_its_organiser_invites_one_pc_by_a_link_with_a_token(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    peer, whole = f"{'ab' * 32}@192.0.2.7:4401", f"{LINK}/token:AAAA"
    toy.answers["run_details"] = lambda params: msgspec.structs.replace(BY_TOKENS, invites=True)
    toy.answers["grant"] = lambda params: wire.ErrorInfo("identity", notice("identity.no_peer_name", text="'x'"))
    desktop.runs_page.cards[ONE.id].invite.click()
    sheet = desktop.invite_sheet
    qtbot.waitUntil(sheet.form.isVisible)
    assert not sheet.shown.isVisible() and not asked(toy, "run_link")
    sheet.make.click()
    assert "Fill in the address" in sheet.notice.accessibleName() and not asked(toy, "grant")
    sheet.peer.setText("x")
    sheet.name.setText("Ann")
    sheet.make.click()
    qtbot.waitUntil(lambda: "'x'" in sheet.notice.accessibleName())
    toy.answers["grant"] = lambda params: wire.RunLinked(whole)
    sheet.peer.setText(f" {peer}\n")
    sheet.make.click()
    qtbot.waitUntil(sheet.code.isVisible)
    assert asked(toy, "grant")[-1] == {"run": ONE.id, "peer": peer, "name": "Ann", "days": 90}
    assert sheet.said.text().startswith("This link lets Ann in for 90 days, and nobody else.")
    assert sheet.code.accessibleDescription() == whole and sheet.form.isHidden()


def test_what_went_wrong_with_one_run_is_not_told_of_the_next(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    sheet, client = desktop.invite_sheet, desktop.client
    known = {ONE.id: msgspec.structs.replace(BY_TOKENS, invites=True), OTHER.id: BUILT_IN}
    toy.answers |= {"run_details": lambda params: known[params["run"]], "network": lambda params: make_network([])}
    fault = wire.ErrorInfo("identity", notice("identity.no_peer_name", text="'x'"))

    def late(method: str, ask: Callable[[], object]) -> None:
        """The answer comes while the other run is shown."""
        request, before = client._next_id, len(asked(toy, method))
        toy.silent.add(method)
        ask()
        qtbot.waitUntil(lambda: len(asked(toy, method)) > before)
        toy.silent.clear()
        sheet.close_sheet()
        sheet.open_for(OTHER.id)
        qtbot.waitUntil(sheet.shown.isVisible)
        toy.send(wire.Reply(request, error=fault))
        qtbot.waitUntil(lambda: request not in client._asked)
        assert not sheet.notice.isVisible() and "Send the address of this PC" in sheet.said.text()
        sheet.close_sheet()

    sheet.open_for(ONE.id)
    qtbot.waitUntil(sheet.form.isVisible)
    sheet.peer.setText("x")
    sheet.name.setText("Ann")
    late("grant", sheet.make.click)
    assert sheet.make.isEnabled()
    late("run_details", lambda: sheet.open_for(ONE.id))


def picture(width: int, height: int, kind: str = "PNG") -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.darkGreen)
    assert image.save(buffer, kind)  # type: ignore[call-overload]  # at run time it takes nothing else
    return bytes(data.data())


def test_a_run_shows_its_picture_and_its_dates(qtbot: QtBot, toy: ToyWorker, desktop: Desktop) -> None:
    manifest = msgspec.structs.replace(
        SIGNED.manifest,
        picture=picture(300, 150),
        schedule=Times("2030-01-31", "2030-03-01 18:00"),
        description="Words.",
    )
    toy.answers["run_details"] = lambda params: msgspec.structs.replace(SIGNED, manifest=manifest)
    desktop.runs_page.look()
    card = desktop.runs_page.cards[ONE.id]
    qtbot.waitUntil(card.picture.isVisible)
    assert card.picture.pixmap().deviceIndependentSize().toTuple() == (64, 32)
    assert (
        card.facts["access"][1].text() == "Everybody may join. It is trained from 2030-01-31 to 2030-03-01 18:00 (UTC)."
    )
    desktop.add_run(LINK)
    qtbot.waitUntil(desktop.join_sheet.picture.isVisible)


def test_a_picture_that_is_none_or_large_is_not_unpacked() -> None:
    for kind in ("PNG", "JPEG"):
        assert not unpacked(picture(20, 20, kind)).isNull() and unpacked(picture(1025, 2, kind)).isNull()
    whole = picture(20, 20)
    for content in (b"", whole[:30], picture(20, 20, "BMP"), b"<svg xmlns='http://www.w3.org/2000/svg'/>"):
        assert unpacked(content).isNull()


# beside a real worker


@pytest.fixture
def real(qtbot: QtBot, folder: Path, has_tray: list[bool]) -> Iterator[tuple[Desktop, RunningWorker]]:  # noqa: F811
    agreed(folder)
    start_paused(folder)
    with worker(folder) as running:
        instance = Instance(folder)
        assert instance.acquire()
        desktop = Desktop(supervise(folder), instance, time.monotonic())
        qtbot.waitUntil(lambda: desktop.client.is_connected)
        yield desktop, running
        desktop.close()
        instance.release()
        desktop.window.may_close = True
        desktop.window.close()


def test_a_dropped_manifest_is_joined_as_it_was_shown_weighed_and_left(
    qtbot: QtBot, real: tuple[Desktop, RunningWorker], tmp_path: Path
) -> None:
    desktop, running = real
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    assert drop(desktop.window, mime)
    sheet, page = desktop.join_sheet, desktop.runs_page
    qtbot.waitUntil(sheet.consent.isVisible)
    assert "Nobody has signed this run" in sheet.warning.accessibleName()
    path.write_text(TINY.replace("Tiny digits", "Another run"))
    sheet.join.click()
    tiny = manifests.decode(TINY.encode(), "tiny", toml=True).run_id
    qtbot.waitUntil(lambda: tiny in page.cards)
    card = page.cards[tiny]
    assert card.title.text() == "Tiny digits", "what was shown, whatever has become of the file"
    assert card.word.text() == "Paused" and card.until.text()
    card.weight.spin.setValue(3)
    qtbot.waitUntil(lambda: [run.weight for run in running.status().runs] == [1, 3])
    card.leave.click()
    card.go.click()
    qtbot.waitUntil(lambda: tiny not in page.cards)
    assert [run.name for run in running.status().runs] == ["digits"]
