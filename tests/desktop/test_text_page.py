"""Try the model on a run that continues text: streaming, choosing a byte, stopping, and what is said when it fails."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QHelpEvent, QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.language import speak
from app.pages.model import text_demo
from app.pages.model.answering_hosts import LETTERS, Hosts, absent, missing, name_of
from app.pages.model.model_page import ModelPage
from app.pages.model.text_demo import TextDemo
from app.pages.model.tried_texts import TriedTexts
from app.theme import theme
from app.widgets.buttons import Segmented
from app.widgets.inputs import Choice
from app.window.sidebar import WIDTH as SIDEBAR
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.errors import HearthError
from core.contracts.notices import plain
from core.contracts.peer_names import called
from core.contracts.status import CellStatus, CurvePoint, ExpertStatus, GridStatus, RunStatus, Status
from core.logs import printable
from tests.desktop.conftest import ToyWorker, make_status
from tests.workers import RunningWorker, start_paused, worker

LOFT = "3f2a91c0" * 8
ATTIC = "b8e1d2aa" * 8
LAYERS = 3
TEXT = "text-ea451a92"


def text_status(**changes: object) -> Status:
    experts = [
        ExpertStatus(f"text.{layer}.{row}.{column}", 9, 99)
        for layer in range(LAYERS)
        for row in range(4)
        for column in range(4)
    ]
    title = "The Python manual"
    usual: dict[str, object] = {"run": "text", "run_id": TEXT, "run_title": title, "task": "text", "layers": LAYERS}
    return make_status(**usual | {"experts": experts} | changes)


def answers(*hosts: str) -> list[wire.Answer]:
    """Two experts a layer, of these hosts in turn; "" did not answer."""
    return [
        wire.Answer(place // 2, f"text.{place // 2}.{place % 2}.1", 0.5 * bool(host), 12.0, bool(host), host)
        for place, host in enumerate(hosts)
    ]


ALONE = answers(*["local"] * 6)


class Talk:
    """The page's text demonstration, and the toy worker's side of it."""

    def __init__(self, page: ModelPage, toy: ToyWorker, client: WorkerClient) -> None:
        self.page, self.demo, self.toy, self.client = page, page.text, toy, client

    def say(self, text: str, experts: list[wire.Answer] = ALONE) -> None:
        for character in text:
            self.toy.tell("piece", wire.Piece(self.request, character, experts, 12.0))

    def begin(self, qtbot: QtBot) -> None:
        """Continue, and wait until the worker has been asked."""
        asked = self.toy.methods().count("generate")
        self.demo.go.click()
        qtbot.waitUntil(lambda: self.toy.methods().count("generate") == asked + 1)
        request = self.demo.generation._request
        assert request is not None
        self.request = request

    @property
    def written(self) -> str:
        return self.demo.page.toPlainText()

    @property
    def sentence(self) -> str:
        notice = self.demo._notice
        return notice._label.text() if notice.isVisible() else ""


@pytest.fixture
def talk(request: pytest.FixtureRequest, qtbot: QtBot, folder: Path, toy: ToyWorker) -> Iterator[Talk]:
    theme()
    speak(getattr(request, "param", "en"))
    toy.silent = {"generate"}
    toy.answers["subscribe"] = lambda params: wire.Snapshot(text_status(), toy.settings, [])
    client = WorkerClient(folder, "0.1.0")
    with qtbot.waitSignal(client.connected):
        client.dial()
    page = ModelPage(client)
    qtbot.addWidget(page)
    page.resize(828, 690)
    page.update_status(text_status())
    page.set_connected(True, "")
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    yield Talk(page, toy, client)
    client.hang_up()
    speak("system")


def test_the_page_is_what_the_run_asks_for(talk: Talk) -> None:
    assert talk.demo.isVisible() and not talk.page.digits.isVisible()
    assert "continues what you type" in talk.page.subtitle.text()
    talk.page.update_status(make_status())
    assert talk.page.digits.isVisible() and not talk.demo.isVisible()


def joined(*runs: tuple[str, str, str]) -> list[RunStatus]:
    """Runs of this PC: id, title and task of each."""
    return [RunStatus(run, run, title, 1, "training", task, 9, 9, 9.0, 9, 1.0, 0.5, None) for run, title, task in runs]


def test_text_and_digits_are_both_at_hand_and_each_run_keeps_its_prompt(qtbot: QtBot, talk: Talk) -> None:
    page, digits = talk.page, "digits-2ac90b73"
    runs = joined((digits, "Handwritten digits", "picture"), (TEXT, "The Python manual", "text"))
    assert not page.choice.isVisible(), "there is nothing to choose while there is one run"
    page.update_status(text_status(runs=runs))
    segments = page.choice.control
    assert isinstance(segments, Segmented) and page.choice.isVisible() and segments.value() == TEXT
    talk.demo.prompt.setPlainText("mine")
    talk.begin(qtbot)
    talk.say("ab")
    QTest.mouseClick(segments._buttons[digits], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ("subscribe", {"run": digits}) in talk.toy.asked)
    page.update_status(make_status(runs=runs))
    assert page.digits.isVisible() and not talk.demo.isVisible() and segments.value() == digits
    talk.say("c")
    qtbot.waitUntil(lambda: talk.written == "mineabc")

    other = [*runs, *joined(("poems-12345678", "Poems", "text"), ("cats-12345678", "Cats", "pictures"))]
    page.update_status(text_status(run_id="poems-12345678", run_title="Poems", runs=other))
    assert isinstance(page.choice.control, Choice) and page.choice.control.currentText() == "Poems"
    poems = page._shown
    assert isinstance(poems, TextDemo) and poems is not talk.demo and poems.isVisible()
    assert poems.page.toPlainText() == "" and poems.prompt.toPlainText() != "mine"
    page.update_status(make_status(run_id="cats-12345678", task="pictures", runs=other))
    assert not poems.isVisible() and "cannot be tried yet" in page.subtitle.text()
    page.update_status(text_status(runs=other))
    assert talk.demo.isVisible() and talk.written == "mineabc" and talk.demo.prompt.toPlainText() == "mine"


def test_the_continuation_belongs_to_its_prompt(qtbot: QtBot, talk: Talk) -> None:
    """Bug 1 of the first pass: the prompt is edited while the model writes, then continued by keyboard."""
    demo = talk.demo
    demo.prompt.setPlainText("old")
    talk.begin(qtbot)
    first = talk.request
    talk.say("ab")
    qtbot.waitUntil(lambda: talk.written == "oldab")
    demo.prompt.setPlainText("new")
    talk.say("c")
    qtbot.waitUntil(lambda: talk.written == "oldabc")
    demo.prompt.setFocus()
    QTest.keyClick(demo.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert talk.written == "new" and demo.prompt.toPlainText() == "new"
    qtbot.waitUntil(lambda: talk.toy.methods().count("generate") == 2)
    assert ("stop", {"request": first}) in talk.toy.asked and talk.toy.asked[-1][1]["prompt"] == "new"
    talk.say("late")  # of the first request
    talk.request = demo.generation._request or 0
    talk.say("z")
    qtbot.waitUntil(lambda: talk.written == "newz")


def chosen(byte: str, share: float, *others: tuple[str, float]) -> tuple[wire.Choice, list[wire.Choice]]:
    """What a piece tells of a byte and of what was likely beside it."""
    choice = wire.Choice(byte.encode(), share)
    return choice, sorted(
        [choice, *(wire.Choice(one.encode(), each) for one, each in others)], key=lambda one: -one.share
    )


def test_how_sure_the_model_was_is_underlined_told_and_listed(qtbot: QtBot, talk: Talk) -> None:
    demo = talk.demo
    demo.prompt.setPlainText("x")
    talk.begin(qtbot)
    told = {"a": chosen("a", 0.95, ("b", 0.04)), "i": chosen("i", 0.5, (" ", 0.3)), "n": chosen("n", 0.1, ("m", 0.6))}
    for text, (choice, best) in told.items():
        talk.toy.tell("piece", wire.Piece(talk.request, text, ALONE, 12.0, choice, best))
    talk.say("?")  # of a worker that does not tell
    qtbot.waitUntil(lambda: talk.written == "xain?")
    cursor, lines = demo.page.textCursor(), []
    for place in range(2, 6):
        cursor.setPosition(place)
        lines.append(cursor.charFormat().underlineStyle())
    style = QTextCharFormat.UnderlineStyle
    assert lines == [style.NoUnderline, style.DotLine, style.SingleUnderline, style.NoUnderline]

    def rows() -> list[tuple[str, str]]:
        return [(name.text(), share.text()) for name, _, share in demo.likeliest._rows if name.text()]

    assert rows() == []
    demo.page.setFocus()
    QTest.keyClick(demo.page, Qt.Key.Key_Left)
    QTest.keyClick(demo.page, Qt.Key.Key_Left)
    assert demo.experts.title.text() == "Byte 3: “n”"
    assert rows() == [("“m”", "60%"), ("“n”", "10%")]
    assert demo.page.accessibleDescription() == "Byte 3: “n”. 10% sure. Also likely: “m” 60%."
    assert demo.likeliest._rows[0][1].accessibleName() == "“m”: 60%"
    QTest.keyClick(demo.page, Qt.Key.Key_Left)
    assert demo.likeliest.accessibleDescription() == "50% sure. Also likely: space 30%."
    assert "Byte 2: “i”. 50% sure" in demo.answers.columns.accessibleDescription()

    cursor.setPosition(2)
    where = demo.page.cursorRect(cursor).center() + QPoint(3, 0)
    assert demo.page._place_at(where) == 1, "the place after the prompt and one byte"
    QApplication.sendEvent(demo.page.viewport(), QHelpEvent(QEvent.Type.ToolTip, where, QPoint(5, 5)))
    qtbot.waitUntil(lambda: "50% sure. Also likely: space 30%." in QToolTip.text())
    QToolTip.hideText()


@pytest.mark.parametrize("talk", ["en", "de"], indirect=True)
def test_a_run_of_tokens_is_shown_token_by_token(qtbot: QtBot, talk: Talk) -> None:
    status = text_status(run_id="books-12345678", run_title="Books", task="tokens")
    talk.page.update_status(status)
    demo = talk.page._shown
    assert isinstance(demo, TextDemo) and demo is not talk.demo and "oken" in talk.page.subtitle.text()
    said = [one.accessibleName() + one.accessibleDescription() for one in demo.findChildren(QWidget)]
    assert not [one for one in said if "byte" in one.lower()]
    demo.prompt.setPlainText("x")
    demo.go.click()
    qtbot.waitUntil(lambda: talk.toy.methods().count("generate") == 1)
    request = demo.generation._request or 0
    likely = [wire.Choice(b" the", 0.5), wire.Choice(b"", 0.3), wire.Choice(b"\xc3", 0.1)]
    for text, choice in ((" the", likely[0]), ("", likely[2]), ("é\n", wire.Choice(b"\xa9\n", 0.9))):
        talk.toy.tell("piece", wire.Piece(request, text, ALONE, 12.0, choice, likely))
    talk.toy.send(wire.Reply(request, wire.Continued(7, 0.1, 4200, 7, 2.4, unit="tokens", written=3, ended=True)))
    qtbot.waitUntil(lambda: not demo.generation.running)
    assert demo.page.toPlainText() == "x theé\n"
    english = talk.page.subtitle.text().startswith("The")
    ended = "3 of 200 tokens, ended by the model" if english else "3 von 200 Token, vom Modell beendet"
    assert demo._figures.text() == ended
    assert demo.experts.title.text() == ("Token 3: “é⏎”" if english else "Token 3: „é⏎“")
    cursor = demo.page.textCursor()
    cursor.setPosition(3)
    demo.page.setTextCursor(cursor)
    assert demo.experts.title.text() == ("Token 1: “ the”" if english else "Token 1: „ the“")
    *_, marked = demo.page.extraSelections()
    assert marked.cursor.selectedText() == " the", "all of it is marked"
    assert ("end of the text 30%" if english else "Ende des Textes 30") in demo.page.accessibleDescription()
    demo.copy.click()
    assert QApplication.clipboard().text() == "x theé\n" and demo.copy.text() in ("Copied", "Kopiert")


def test_only_what_the_model_writes_now_is_underlined(qtbot: QtBot, talk: Talk) -> None:
    page = talk.demo.page
    for prompt in ("x", "xay"):  # the second one has what the model wrote, as people copy it
        talk.demo.prompt.setPlainText(prompt)
        talk.begin(qtbot)
        talk.toy.tell("piece", wire.Piece(talk.request, "a", ALONE, 12.0, *chosen("a", 0.1)))
        qtbot.waitUntil(lambda: len(talk.demo.generation.bytes) == 1 and talk.written.endswith("a"))
        talk.demo.generation.stop()
    lines = []
    for place in range(1, 5):
        cursor = page.textCursor()
        cursor.setPosition(place)
        lines.append(cursor.charFormat().underlineStyle())
    style = QTextCharFormat.UnderlineStyle
    assert lines == [style.NoUnderline] * 3 + [style.SingleUnderline]


def test_the_page_asks_who_hosts_what_as_soon_as_it_is_seen(qtbot: QtBot, talk: Talk) -> None:
    cells = [CellStatus(13, False, 1, None, 1, 0)]
    talk.toy.answers["grid"] = lambda params: GridStatus(params["layer"], LAYERS, (4, 4), True, cells)
    talk.page.hide()
    talk.page.update_status(text_status(experts=[]))
    talk.page.show()
    last = talk.demo.experts.grids[-1]
    qtbot.waitUntil(lambda: last.text((3, 1)) == "Row 3, column 1: hosted by peers, not asked")
    assert last.text((3, 2)) == "Row 3, column 2: hosted by nobody"


def test_the_bytes_of_a_character_are_as_sure_as_all_of_them(qtbot: QtBot, talk: Talk) -> None:
    talk.begin(qtbot)
    for text, share in (("", 0.9), ("é", 0.5), ("s", 0.9)):
        talk.toy.tell("piece", wire.Piece(talk.request, text, ALONE, 12.0, wire.Choice(bytes([195]), share), []))
    qtbot.waitUntil(lambda: talk.written.endswith("és"))
    assert [byte.sure for byte in talk.demo.generation.bytes] == [0.9, 0.45, 0.9]


def test_the_text_grows_and_the_newest_bytes_experts_are_lit(qtbot: QtBot, talk: Talk) -> None:
    talk.demo.prompt.setPlainText("import os")
    talk.demo.temperature.setValue(3)
    talk.demo.length.setValue(50)
    talk.begin(qtbot)
    asked = next(params for method, params in talk.toy.asked if method == "generate")
    assert asked.items() >= {"prompt": "import os", "length": 50, "temperature": 0.3, "seed": None, "run": TEXT}.items()
    assert talk.demo.go.text() == "Stop"
    talk.say(", sy")
    talk.say("s", answers("local", LOFT, LOFT, "local", ATTIC, ""))
    qtbot.waitUntil(lambda: talk.written == "import os, sys")
    talk.toy.send(wire.Reply(talk.request, wire.Continued(5, 0.1, 4200, 7, 2.4)))
    qtbot.waitUntil(lambda: talk.demo.go.text() == "Continue")
    grey, *_ = talk.demo.page.extraSelections()
    assert grey.cursor.selectedText() == "import os"
    card = talk.demo.experts
    assert card.title.text() == "Byte 5: “s”"
    assert talk.demo._figures.text().startswith("5 of 50 bytes")
    assert card.grids[0].text((1, 1)) == "text.0.1.1: Tota Nala (3f2a91c0), weight 50%, 12 ms"
    assert [[row[1].text() for row in figures._rows] for figures in card.lists] == [
        ["This PC", "Tota Nala"],
        ["Tota Nala", "This PC"],
        ["Guli Juri", "No answer"],
    ]
    assert talk.demo._pill._label.text() == "5 of 6 answered"
    assert "1 of 6 experts did not answer" in card._missing._label.text()


def test_a_byte_is_chosen_in_the_text_and_in_the_strip(qtbot: QtBot, talk: Talk) -> None:
    demo, strip = talk.demo, talk.demo.answers.columns
    demo.prompt.setPlainText("x")
    talk.begin(qtbot)
    talk.say("a𝄞c", answers(*[LOFT] * 6))  # the clef takes two of Qt's units
    talk.say("d")
    qtbot.waitUntil(lambda: talk.written == "xa𝄞cd")
    cursor = demo.page.textCursor()
    cursor.setPosition(4)
    demo.page.setTextCursor(cursor)
    assert demo.experts.title.text() == "Byte 3: “c”"
    assert demo.experts.lists[0]._rows[0][1].text() == "Tota Nala"
    talk.say("e")
    qtbot.waitUntil(lambda: talk.written.endswith("e"))
    assert demo.experts.title.text() == "Byte 3: “c”"  # it stays while the text goes on
    strip.setFocus()
    QTest.keyClick(strip, Qt.Key.Key_Home)
    assert demo.experts.title.text() == "Byte 1: “a”"
    QTest.keyClick(strip, Qt.Key.Key_End)
    assert demo.experts.title.text() == "Byte 5: “e”"
    QTest.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(15, 8))
    assert demo.experts.title.text() == "Byte 2: “𝄞”"


def test_escape_stops_and_what_has_come_stays(qtbot: QtBot, talk: Talk) -> None:
    talk.begin(qtbot)
    talk.say("abc")
    qtbot.waitUntil(lambda: talk.written.endswith("abc"))
    talk.page.activateWindow()
    qtbot.waitUntil(talk.page.isActiveWindow)
    QTest.keyClick(talk.page, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: talk.toy.asked[-1] == ("stop", {"request": talk.request}))
    talk.say("late")
    with qtbot.waitSignal(talk.client.status):
        talk.toy.tell("status", text_status())
    assert talk.written.endswith("abc") and talk.demo.go.text() == "Continue"
    assert talk.demo._figures.text() == "3 of 200 bytes, stopped"
    talk.begin(qtbot)
    assert talk.written == talk.demo.prompt.toPlainText()


def test_every_failure_has_a_sentence(qtbot: QtBot, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.begin(qtbot)
    talk.say("ab")
    talk.toy.send(wire.Reply(talk.request, error=wire.ErrorInfo("compute", plain("No expert answered. Try again."))))
    qtbot.waitUntil(lambda: talk.sentence == "No expert answered. Try again. The text ends after 2 bytes.")
    assert talk.written.endswith("ab")
    talk.begin(qtbot)
    assert talk.sentence == ""
    talk.say("c")
    qtbot.waitUntil(lambda: talk.written.endswith("c"))
    talk.toy.hang_up()
    qtbot.waitUntil(lambda: "ended the connection. The text ends after 1 byte." in talk.sentence)
    talk.page.set_connected(False, "Worker stopped, restarting in 4 s")
    talk.demo.go.click()
    qtbot.waitUntil(lambda: "not connected" in talk.sentence)
    monkeypatch.setattr(text_demo, "LONGEST", 10)
    talk.demo.prompt.setPlainText("x" * 11)
    talk.demo.go.click()
    assert "Shorten it" in talk.sentence


@pytest.mark.parametrize("talk", ["en", "de"], indirect=True)
def test_nothing_moves_when_a_text_begins_goes_on_and_ends(qtbot: QtBot, talk: Talk) -> None:
    demo = talk.demo
    talk.page.resize(1040 - SIDEBAR, 690)

    def places() -> list[QRect]:
        QApplication.processEvents()
        return [QRect(card.mapTo(talk.page, QPoint()), card.size()) for card in (demo.go, demo.experts, demo.answers)]

    before = places()
    assert before[0].right() < before[1].left(), "side by side: who answers changes while one reads"
    talk.begin(qtbot)
    assert places() == before
    talk.say("ab", answers("local", LOFT, ATTIC, "local", "local", ""))
    qtbot.waitUntil(lambda: talk.written.endswith("ab"))
    assert places()[:1] == before[:1] and places()[1].left() == before[1].left()
    talk.toy.send(wire.Reply(talk.request, wire.Continued(2, 0.1, 4200, 7, 2.4)))
    qtbot.waitUntil(lambda: not demo.generation.running)
    assert places()[:1] == before[:1] and places()[1].left() == before[1].left()


def test_a_text_keeps_the_step_that_it_was_written_at(qtbot: QtBot, talk: Talk) -> None:
    talk.page.update_status(text_status(step=21))
    talk.begin(qtbot)
    talk.say("ab")
    qtbot.waitUntil(lambda: talk.written.endswith("ab"))
    talk.toy.send(wire.Reply(talk.request, error=wire.ErrorInfo("compute", plain("Compute ended."))))
    qtbot.waitUntil(lambda: not talk.demo.generation.running)
    talk.page.update_status(text_status(step=18))  # it goes on from a checkpoint
    assert talk.demo._about.text() == "The Python manual, step 21."
    talk.begin(qtbot)
    assert talk.demo._about.text() == "The Python manual, step 18."


def test_a_wait_is_explained_and_so_is_a_model_that_knows_nothing(qtbot: QtBot, talk: Talk) -> None:
    about = talk.demo._about
    talk.page.update_curve([CurvePoint(64, 2048, 3.3, 0.1, chance=3.2)])
    assert about.text().endswith(
        "bits per byte on unseen text. Not trained yet: what it adds is no better than chance."
    )
    talk.page.update_curve([CurvePoint(64, 2048, 1.7, 0.5, chance=3.2)])
    assert about.text() == "The Python manual, step 4,200; 2.45 bits per byte on unseen text."
    talk.page.update_status(text_status(step=0))
    assert about.text() == "The Python manual, step 0. Not trained yet: what it adds is no better than chance."
    talk.begin(qtbot)
    talk.demo.generation._patience.start(1)
    qtbot.waitUntil(lambda: "compute process is starting" in about.text())
    talk.page.update_status(text_status(step=0))
    assert "compute process is starting" in about.text()
    talk.say("a")
    qtbot.waitUntil(lambda: "Not trained yet" in about.text())


def test_what_this_pc_lacks_is_said() -> None:
    assert absent(ALONE, 12, 48) == "36 of 48 experts are not on this PC; none of them took part."
    assert absent(ALONE, 48, 48) == absent(answers("local", LOFT), 12, 48) == missing(ALONE) == ""
    assert missing(answers("local", "", LOFT, "")).startswith("2 of 4 experts did not answer")


def test_bytes_that_come_together_have_no_rate_yet(qtbot: QtBot, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)  # a clock that ticks slowly
    talk.begin(qtbot)
    for piece in "in":
        talk.toy.tell("piece", wire.Piece(talk.request, piece, answers("local"), 12.0))
    qtbot.waitUntil(lambda: talk.written.endswith("in"))
    assert talk.demo.generation.rate is None


def test_a_byte_that_is_no_character_has_its_own_place(qtbot: QtBot, talk: Talk) -> None:
    talk.begin(qtbot)
    for piece, host in (
        ("", LOFT),
        ("\ufffdh", "local"),
    ):  # the second shows what the first was
        talk.toy.tell("piece", wire.Piece(talk.request, piece, answers(*[host] * 6), 12.0))
    qtbot.waitUntil(lambda: talk.written.endswith("\ufffdh"))
    assert [(byte.start, byte.text) for byte in talk.demo.generation.bytes] == [(0, ""), (1, "h")]


def test_letters_stay_with_their_peers() -> None:
    hosts = Hosts()
    assert [hosts.letter(host) for host in ("b", "local", "a", "b")] == ["A", "Y", "B", "A"]
    assert [hosts.tone(host) for host in ("local", "b", "a", "c", "d")] == [
        "ember_fill",
        *("peer_a", "peer_b", "peer_c", "peer_rest"),
    ]
    assert {hosts.letter(str(number)) for number in range(40)} == {*LETTERS[4:], "+"} - {"Y"}
    try:
        speak("de")
        assert [hosts.letter(host) for host in ("local", "b", "a", "c", "d")] == ["D", "A", "B", "C", "E"], "of du"
    finally:
        speak("system")
    assert name_of(LOFT) == called(LOFT)


def test_signs_that_show_nothing_are_dots() -> None:
    assert printable("a\tb\n\x00\x1b[\u202e\u2028é\ufffd") == "a\tb\n··[··é\ufffd"


def test_the_focus_goes_in_reading_order(qtbot: QtBot, talk: Talk) -> None:
    demo = talk.demo
    talk.page.activateWindow()
    qtbot.waitUntil(talk.page.isActiveWindow)
    demo.prompt.setFocus()
    seen: list[QWidget] = []
    for _ in range(9):
        focused = QApplication.focusWidget()
        assert focused is not None
        seen.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    grids = demo.experts.grids
    assert seen == [demo.prompt, demo.temperature, demo.length, demo.go, demo.options.more, demo.page, *grids]
    assert QApplication.focusWidget() is demo.answers.columns
    assert all(widget.accessibleName() for widget in seen)
    QTest.keyClick(demo.temperature, Qt.Key.Key_Right)
    assert demo.temperature.figure.text() == "0.8"


@pytest.fixture
def running(folder: Path) -> Iterator[RunningWorker]:
    start_paused(folder)
    with worker(folder, "--run", "text") as process:
        yield process


def test_with_a_real_worker_that_is_paused_and_then_dies(qtbot: QtBot, folder: Path, running: RunningWorker) -> None:
    client = WorkerClient(folder, running.status().version)
    with qtbot.waitSignal(client.connected) as connected:
        client.dial()
    demo = TextDemo(client, "bytes", TriedTexts(folder))
    qtbot.addWidget(demo)
    demo.show()
    assert connected.args is not None
    demo.update_status(connected.args[0].status)
    demo.length.setValue(20)
    demo.start()
    qtbot.waitUntil(lambda: len(demo.generation.bytes) == 20 and not demo.generation.running)
    assert demo._pill._label.text() == "6 of 6 answered"
    assert {row[1].text() for figures in demo.experts.lists for row in figures._rows} == {"This PC"}

    pieces: list[wire.Piece] = []
    ends: list[HearthError] = []
    number = client.generate(wire.GenerateParams("x", 2000), pieces.append, lambda continued: None, ends.append)
    assert number is not None
    qtbot.waitUntil(lambda: len(pieces) > 2)
    client.request("stop", wire.StopParams(number))
    qtbot.waitUntil(lambda: bool(ends))
    assert str(ends[0]) == "The text was stopped." and len(pieces) < 2000

    demo.length.setValue(2000)
    demo.start()
    qtbot.waitUntil(lambda: len(demo.generation.bytes) > 2)
    family = psutil.Process(running.process.pid)
    for process in [*family.children(recursive=True), family]:
        process.kill()
    qtbot.waitUntil(lambda: not demo.generation.running)
    assert "The text ends after" in demo._notice._label.text()
    assert demo.go.text() == "Continue"
    client.hang_up()
