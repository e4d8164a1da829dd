"""Try the model, for runs that say how one talks to their model; what is tried is kept, if the user wants that."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessibleAnnouncementEvent, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from app.language import speak
from app.pages.model import text_demo
from app.pages.model.history_sheet import HistorySheet
from app.pages.model.model_page import ModelPage
from app.pages.model.text_demo import TextDemo
from app.pages.model.tried_texts import FILE, MOST, MOST_CHARACTERS, Tried, TriedTexts
from app.theme import theme
from app.window.focus_ring import FocusRing
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.control import Said
from core.contracts.notices import plain
from tests.desktop.conftest import ToyWorker
from tests.desktop.test_text_page import ALONE, joined, text_status
from tests.workers import start_paused, worker

STORIES = text_status(run_id="stories-12345678", run_title="Stories", task="tokens", chat=True)


class Talk:
    """A window with the page of a run that one can talk to, and the toy worker's side of it."""

    def __init__(self, qtbot: QtBot, folder: Path, toy: ToyWorker) -> None:
        self.qtbot, self.toy, self.folder = qtbot, toy, folder
        self.client = WorkerClient(folder, "0.1.0")
        with qtbot.waitSignal(self.client.connected):
            self.client.dial()
        self.window, self.page = QMainWindow(), ModelPage(self.client)
        qtbot.addWidget(self.window)
        self.window.setCentralWidget(self.page)
        self.window.resize(900, 800)
        self.page.update_status(STORIES)
        self.page.set_connected(True, "")
        self.sheet = HistorySheet(self.window, FocusRing(self.window), self.page)
        self.page.former_asked.connect(self.sheet.open_list)
        self.window.show()
        qtbot.waitUntil(self.window.isActiveWindow)
        demo = self.page._shown
        assert isinstance(demo, TextDemo)
        self.demo = demo

    def say(self, message: str, *pieces: str, rest: str = "") -> None:
        """Send a message, and let the model answer piece by piece."""
        self.demo.prompt.setPlainText(message)
        self.demo.prompt.setFocus()
        self.begin(lambda: QTest.keyClick(self.demo.prompt, Qt.Key.Key_Return))
        self.answer(*pieces, rest=rest)

    def begin(self, how: Callable[[], object]) -> None:
        asked = self.toy.methods().count("generate")
        how()
        self.qtbot.waitUntil(lambda: self.toy.methods().count("generate") == asked + 1)

    def answer(self, *pieces: str, rest: str = "") -> None:
        request = self.demo.generation._request
        assert request is not None
        for piece in pieces:
            self.toy.tell("piece", wire.Piece(request, piece, ALONE, 12.0))
        done = wire.Continued(9, 0.1, 4200, 7, 2.4, unit="tokens", written=len(pieces), ended=True, rest=rest)
        self.toy.send(wire.Reply(request, done))
        self.qtbot.waitUntil(lambda: not self.demo.generation.running)

    def asked(self) -> dict[str, object]:
        """What the worker was asked last."""
        return next(params for method, params in reversed(self.toy.asked) if method == "generate")

    @property
    def shown(self) -> str:
        return self.demo.page.toPlainText()

    def kept(self) -> list[Tried]:
        """As another start of the app finds them."""
        self.page.tried.flush()
        return TriedTexts(self.folder).newest


@pytest.fixture
def talk(request: pytest.FixtureRequest, qtbot: QtBot, folder: Path, toy: ToyWorker) -> Iterator[Talk]:
    theme()
    speak(getattr(request, "param", "en"))
    toy.silent = {"generate"}
    toy.answers["subscribe"] = lambda params: wire.Snapshot(STORIES, toy.settings, [])
    talk = Talk(qtbot, folder, toy)
    yield talk
    talk.client.hang_up()
    talk.page.tried.flush()
    speak("system")


def turns(*contents: str) -> list[dict[str, str]]:
    """A conversation as the worker is told it."""
    return [{"role": who, "content": what} for who, what in zip(itertools.cycle(("user", "assistant")), contents)]


def test_user_and_model_speak_in_turn(talk: Talk) -> None:
    demo = talk.demo
    assert "what it says can be wrong" in talk.page.subtitle.text() and demo.go.text() == "Send"
    talk.say("Who is there?", "", " A", " fox.\n")
    assert talk.asked()["messages"] == turns("Who is there?") and talk.asked()["prompt"] == ""
    assert talk.shown == "You\nWho is there?\n\nModel\nA fox.\n" and demo.prompt.toPlainText() == ""
    talk.say("What does it eat?", " Berries")
    assert talk.asked()["messages"] == turns("Who is there?", "A fox.\n", "What does it eat?")
    assert talk.shown == "You\nWho is there?\n\nModel\nA fox.\n\nYou\nWhat does it eat?\n\nModel\nBerries"
    demo.copy.click()
    assert QApplication.clipboard().text() == talk.shown
    demo.page.setFocus()
    QTest.keyClick(demo.page, Qt.Key.Key_Left)
    assert demo.experts.title.text() == "Token 1: “Berries”", "a token of the newest answer is chosen"
    demo.anew.click()
    assert talk.shown == "" and not demo.anew.isEnabled() and demo.prompt.hasFocus()
    talk.say("Again?", "Yes")
    assert talk.asked()["messages"] == turns("Again?")


def test_an_answer_is_read_out_once_it_is_complete(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Heard(QAccessibleAnnouncementEvent):
        def __init__(self, source: QWidget, words: str) -> None:
            super().__init__(source, words)
            heard.append(words)

    monkeypatch.setattr(text_demo, "QAccessibleAnnouncementEvent", Heard)
    talk.say("Who?", " A", " fox", ".")
    assert heard == ["A fox."]


def test_what_is_typed_outlasts_a_look_at_the_other_way(talk: Talk) -> None:
    demo, ways = talk.demo, talk.demo.way._buttons
    demo.prompt.setFocus()
    QTest.keyClicks(demo.prompt, "Dear model")
    ways["text"].click()
    assert demo.prompt.toPlainText() == text_demo.PROMPT
    demo.prompt.setPlainText("Once upon")
    ways["talk"].click()
    assert demo.prompt.toPlainText() == "Dear model"
    talk.begin(demo.go.click)
    assert demo.prompt.toPlainText() == ""
    ways["text"].click()
    assert demo.prompt.toPlainText() == "Once upon"
    talk.page.update_status(msgspec.structs.replace(STORIES, chat=False))  # a new revision says no more how one talks
    assert demo.prompt.toPlainText() == "Once upon"
    talk.page.update_status(STORIES)
    assert demo.prompt.toPlainText() == "Dear model", "what got no answer was not said"


def test_shift_enter_begins_a_line_and_nothing_is_not_sent(talk: Talk) -> None:
    demo = talk.demo
    demo.prompt.setFocus()
    QTest.keyClick(demo.prompt, Qt.Key.Key_Return)
    QTest.keyClicks(demo.prompt, "a")
    QTest.keyClick(demo.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(demo.prompt, "b")
    assert demo.prompt.toPlainText() == "a\nb" and "generate" not in talk.toy.methods()
    talk.begin(lambda: QTest.keyClick(demo.prompt, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier))
    assert talk.asked()["messages"] == turns("a\nb")
    QTest.keyClicks(demo.prompt, "c")
    QTest.keyClick(demo.prompt, Qt.Key.Key_Return)
    assert demo.prompt.toPlainText() == "c" and talk.toy.methods().count("generate") == 1, "they speak in turn"
    talk.answer("Yes")
    talk.begin(lambda: QTest.keyClick(demo.prompt, Qt.Key.Key_Return))
    assert talk.asked()["messages"] == turns("a\nb", "Yes", "c")


def test_a_message_without_an_answer_was_not_said(talk: Talk) -> None:
    talk.say("One?", "Two.")
    talk.demo.prompt.setPlainText("Three?")
    talk.begin(talk.demo.go.click)
    request = talk.demo.generation._request or 0
    talk.toy.send(wire.Reply(request, error=wire.ErrorInfo("compute", plain("No expert answered. Try again."))))
    talk.qtbot.waitUntil(lambda: talk.demo.prompt.toPlainText() == "Three?")
    assert talk.shown == "You\nOne?\n\nModel\nTwo." and "Try again" in talk.demo._notice.accessibleName()
    talk.begin(talk.demo.go.click)
    assert talk.asked()["messages"] == turns("One?", "Two.", "Three?")
    talk.answer("Four.")
    assert [len(one.turns) for one in talk.kept()] == [4]


def test_what_few_change_is_folded_away_and_sent(talk: Talk) -> None:
    options = talk.demo.options
    assert not options.top_p.isVisible() and options.more.accessibleName() == "More"
    options.more.click()
    assert options.top_p.isVisible() and options.more.accessibleName() == "Less"
    options.top_p.setValue(18)
    options.stop.setText("\\nEnd")
    options.seed.setValue(7)
    talk.say("x", "one", rest="\nEn")
    assert talk.asked().items() >= {"top_p": 0.9, "stop": ["\nEnd"], "seed": 7, "temperature": 0.7}.items()
    assert talk.shown.endswith("Model\none\nEn"), "what was held for the stop belongs to the text"
    assert talk.demo._figures.text() == "1 of 200 tokens, ended"
    options.more.click()
    assert not options.stop.isVisible()
    talk.say("x", "one")
    assert talk.asked()["seed"] == 7, "what is folded away still holds"


def test_a_text_can_be_continued_instead(talk: Talk) -> None:
    demo = talk.demo
    talk.say("Who?", "I.")
    QTest.mouseClick(demo.way._buttons["text"], Qt.MouseButton.LeftButton)
    assert demo.go.text() == "Continue" and talk.shown == "" and not demo.anew.isVisible()
    demo.prompt.setPlainText("Once")
    demo.prompt.setFocus()
    QTest.keyClick(demo.prompt, Qt.Key.Key_Return)
    assert "generate" in talk.toy.methods() and demo.prompt.toPlainText() == "\nOnce", "Enter begins a line here"
    demo.prompt.setPlainText("Once")
    talk.begin(demo.go.click)
    assert talk.asked().items() >= {"prompt": "Once", "messages": []}.items()
    talk.answer(" upon", " a time")
    assert talk.shown == "Once upon a time"
    assert [[turn.content for turn in one.turns] for one in talk.kept()] == [["Once", " upon a time"], ["Who?", "I."]]
    talk.page.update_status(msgspec.structs.replace(STORIES, chat=False))
    assert not demo.way.isVisible() and demo.go.text() == "Continue", "a new revision says no more how one talks"


def test_what_was_tried_is_listed_opened_copied_and_deleted(talk: Talk) -> None:
    demo, sheet = talk.demo, talk.sheet
    talk.say("Who?", "I.")
    demo.anew.click()
    talk.say("Where?", "Here.")
    demo.former.click()
    assert sheet.isVisible() and [row.text.turns[0].content for row in sheet.rows] == ["Where?", "Who?"]
    sheet.rows[1].copy.click()
    assert QApplication.clipboard().text() == "You\nWho?\n\nModel\nI."
    sheet.rows[1].open_button.click()
    assert not sheet.isVisible() and talk.shown == "You\nWho?\n\nModel\nI."
    talk.say("And you?", "You.")
    assert talk.asked()["messages"] == turns("Who?", "I.", "And you?")
    assert [len(one.turns) for one in talk.kept()] == [4, 2], "it goes on, and is the newest now"
    demo.former.click()
    sheet.rows[0].delete.setFocus()
    QTest.keyClick(sheet.rows[0].delete, Qt.Key.Key_Space)
    assert [row.text.turns[0].content for row in sheet.rows] == ["Where?"] and sheet.rows[0].delete.hasFocus()
    sheet.delete_all.click()
    assert sheet.cancel.hasFocus() and len(talk.kept()) == 1
    sheet.sure.click()
    assert talk.kept() == [] and "Nothing is kept yet" in sheet.empty.text() and not sheet.delete_all.isVisible()


def test_nothing_is_kept_of_who_does_not_want_it(talk: Talk) -> None:
    talk.demo.former.click()
    talk.sheet.keeps.click()
    assert "Nothing is kept. Turn it on" in talk.sheet.empty.text()
    talk.sheet.close_sheet()
    talk.say("A secret", "Sh.")
    assert talk.kept() == [] and b"secret" not in (talk.folder / FILE).read_bytes()
    assert not TriedTexts(talk.folder).keeps, "also after another start"
    talk.demo.former.click()
    assert not talk.sheet.keeps.isChecked()
    talk.sheet.keeps.click()
    talk.sheet.close_sheet()
    talk.say("No secret", "Ah.")
    assert len(talk.kept()) == 1


def test_a_title_is_no_html_in_what_is_said_of_a_run_that_is_not_here(talk: Talk) -> None:
    title = "Tales <img src=//elsewhere/a.png>"
    talk.page.tried.put(Tried(1.0, "gone-12345678", title, (Said("user", "Roses"), Said("assistant", " are")), False))
    talk.demo.former.click()
    told = QTextDocument()
    told.setHtml(talk.sheet.rows[0].open_button.toolTip())  # as Qt shows what looks like HTML
    assert f"has not joined the run “{title}”" in told.toPlainText().replace("\N{NO-BREAK SPACE}", " ")


def test_a_text_of_another_run_is_opened_with_its_model(talk: Talk) -> None:
    page, runs = talk.page, joined(("stories-12345678", "Stories", "tokens"), ("poems-12345678", "Poems", "text"))
    words = Said("user", "Roses"), Said("assistant", " are")
    for began, run in ((1.0, "poems-12345678"), (2.0, "gone-12345678")):
        page.tried.put(Tried(began, run, run, words, chat=False))
    page.update_status(msgspec.structs.replace(STORIES, runs=runs))
    talk.demo.former.click()
    gone, poems = talk.sheet.rows
    assert not gone.open_button.isEnabled() and "has not joined" in gone.open_button.toolTip()
    poems.open_button.click()
    talk.qtbot.waitUntil(lambda: ("subscribe", {"run": "poems-12345678"}) in talk.toy.asked)
    page.update_status(text_status(run_id="poems-12345678", run_title="Poems", runs=runs))
    assert page._shown is not talk.demo and isinstance(page._shown, TextDemo)
    assert page._shown.page.toPlainText() == "Roses are" and page._shown.prompt.toPlainText() == "Roses"


def test_the_file_stays_small_and_one_that_is_damaged_is_set_aside(tmp_path: Path) -> None:
    def tried(began: float, size: int) -> Tried:
        return Tried(began, "r", "R", (Said("user", "x" * size), Said("assistant", "y")), chat=True)

    texts = TriedTexts(tmp_path)
    for began in range(MOST + 5):
        texts.put(tried(began, 1))
    assert [one.began for one in texts.newest] == [*range(MOST + 4, 4, -1)]
    for began in range(1000, 1040):
        texts.put(tried(began, 1 << 16))
    assert sum(one.size for one in texts.newest) <= MOST_CHARACTERS and texts.newest[0].began == 1039
    texts.flush()
    assert TriedTexts(tmp_path).newest == texts.newest
    (tmp_path / FILE).write_text('{"version": 2}')
    again = TriedTexts(tmp_path)
    assert again.newest == [] and "not listed any more" in again.trouble
    assert [path.read_text() for path in tmp_path.glob("tried.bad-*")] == ['{"version": 2}']


@pytest.mark.parametrize("talk", ["en", "de"], indirect=True)
def test_it_works_by_keyboard_alone_and_everything_has_a_name(talk: Talk) -> None:
    demo, seen = talk.demo, list[QWidget]()
    talk.say("Who?", "I.")
    demo.options.more.click()
    demo.way._buttons["talk"].setFocus()
    for _ in range(14):
        focused = QApplication.focusWidget()
        assert focused is not None
        seen.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    options = demo.options
    before = [demo.way._buttons["talk"], demo.former, demo.prompt, options.temperature, options.length, demo.go]
    folded = [options.more, options.top_p, options.stop, options.seed]
    assert seen == [*before, *folded, demo.page, demo.anew, demo.copy, demo.experts.grids[0]]
    assert all(widget.accessibleName() for widget in seen)
    assert demo.page.accessibleName() == demo._head.text()
    demo.former.setFocus()
    QTest.keyClick(demo.former, Qt.Key.Key_Space)
    stops = talk.sheet._controls()
    row = talk.sheet.rows[0]
    assert stops == [
        talk.sheet.close_button, talk.sheet.keeps, talk.sheet.delete_all, row.open_button, row.copy, row.delete
    ]  # fmt: skip
    assert "Who?" in row.delete.accessibleName()
    QTest.keyClick(talk.sheet.close_button, Qt.Key.Key_Escape)
    assert not talk.sheet.isVisible() and demo.former.hasFocus()


def test_with_a_real_worker(qtbot: QtBot, folder: Path) -> None:
    start_paused(folder)
    with worker(folder, "--run", "stories") as running:
        client = WorkerClient(folder, running.status().version)
        with qtbot.waitSignal(client.connected) as connected:
            client.dial()
        assert connected.args is not None
        page = ModelPage(client)
        qtbot.addWidget(page)
        page.show()
        page.update_status(connected.args[0].status)
        demo = page._shown
        assert isinstance(demo, TextDemo)
        demo.length.setValue(20)
        for question in ("A fox and a ball", "A hen and a hat"):
            demo.prompt.setPlainText(question)
            demo.go.click()
            qtbot.waitUntil(lambda: not demo.generation.running)
        assert [turn.content for turn in demo._turns[::2]] == ["A fox and a ball", "A hen and a hat"]
        assert len(demo._turns) == 4 and demo._pill._label.text().endswith("answered")
        page.tried.flush()
        [kept] = TriedTexts(folder).newest
        assert kept.turns == demo._turns and kept.run == running.status().run_id and kept.chat
        client.hang_up()
