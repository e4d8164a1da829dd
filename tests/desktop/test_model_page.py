"""Try the model: drawing by mouse and keyboard, live answers, and what is shown while none comes."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.formats import milliseconds
from app.pages.model import digit_question
from app.pages.model.answer_grid import AnswerGrid, cell_kind, cell_of, fold
from app.pages.model.answering_hosts import Hosts
from app.pages.model.digit_canvas import PICTURE_SIDE, POINTS, Canvas
from app.pages.model.digit_question import Wait
from app.pages.model.digits_demo import DigitsDemo
from app.pages.model.model_page import ModelPage
from app.theme import theme
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.notices import plain
from core.contracts.status import CellStatus, CurvePoint, GridStatus
from tests.desktop.conftest import ToyWorker, make_prediction, make_status

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(qtbot: QtBot, folder: Path, toy: ToyWorker) -> Iterator[DigitsDemo]:
    theme()
    client = WorkerClient(folder, "0.1.0")
    with qtbot.waitSignal(client.connected):
        client.dial()
    page = ModelPage(client)
    qtbot.addWidget(page)
    page.resize(828, 690)
    page.update_status(make_status())
    page.set_connected(True, "")
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    yield page.digits
    client.hang_up()


def place(canvas: Canvas, x: float, y: float) -> QPoint:
    sheet = canvas._sheet()
    return (sheet.topLeft() + QPointF(x, y) * sheet.width()).toPoint()


def draw(canvas: Canvas, *points: tuple[float, float]) -> None:
    """One stroke by mouse."""
    QTest.mousePress(canvas, LEFT, Qt.KeyboardModifier.NoModifier, place(canvas, *points[0]))
    for point in points[1:]:
        QTest.mouseMove(canvas, place(canvas, *point))
    QTest.mouseRelease(canvas, LEFT, Qt.KeyboardModifier.NoModifier, place(canvas, *points[-1]))


def press(canvas: Canvas, key: Qt.Key, times: int = 1) -> None:
    for _ in range(times):
        QTest.keyClick(canvas, key)


def pixels(canvas: Canvas) -> list[bytes]:
    data = canvas.picture().pixels
    return [data[row * PICTURE_SIDE : (row + 1) * PICTURE_SIDE] for row in range(PICTURE_SIDE)]


def test_the_picture_has_ink_where_one_drew_and_paper_elsewhere(page: DigitsDemo) -> None:
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    picture = page.canvas.picture()
    assert (picture.width, picture.height, len(picture.pixels)) == (128, 128, 128 * 128)
    rows = pixels(page.canvas)
    assert rows[64][64] == 255
    assert rows[64][20] == rows[64][108] == rows[5][64] == 0


def test_a_model_that_guesses_no_better_than_chance_names_no_digit(
    qtbot: QtBot, page: DigitsDemo, toy: ToyWorker
) -> None:
    toy.answers["predict"] = lambda params: make_prediction(learnt=False)
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "?")
    assert (page.result._caption.text(), page.result.sure.text()) == ("Not trained yet", "It would be a guess")
    toy.answers["predict"] = lambda params: make_prediction()
    page.update_curve([CurvePoint(128, 8192, 1.4, 0.6, chance=2.3)])  # nobody has to draw again
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")


def test_an_answer_comes_while_one_draws(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    QTest.mousePress(page.canvas, LEFT, Qt.KeyboardModifier.NoModifier, place(page.canvas, 0.5, 0.2))
    QTest.mouseMove(page.canvas, place(page.canvas, 0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert page.result.sure.text() == "91.9% sure"
    method, params = toy.asked[-1]
    assert method == "predict"
    assert base64.b64decode(params["pixels"]) == page.canvas.picture().pixels
    assert page.result._foot.text() == "In 4.6 ms. Step 4,210; 96.1% correct on unseen digits."
    assert page.result._pill._label.text() == "8 of 8 answered"


def test_of_a_model_without_experts_none_are_shown(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    assert page.experts.isVisible()
    page.update_status(make_status(layers=0, grid=(), experts=[]))
    toy.answers["predict"] = lambda params: make_prediction(experts=[])
    QTest.mousePress(page.canvas, LEFT, Qt.KeyboardModifier.NoModifier, place(page.canvas, 0.5, 0.2))
    QTest.mouseMove(page.canvas, place(page.canvas, 0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert not page.experts.isVisible() and not page.result._pill.isVisible()
    page.update_status(make_status())
    assert page.experts.isVisible()


def test_one_question_is_on_its_way_and_the_latest_drawing_wins(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    toy.silent = {"predict"}
    draw(page.canvas, (0.3, 0.3), (0.7, 0.3))
    qtbot.waitUntil(lambda: toy.methods().count("predict") == 1)
    for y in (0.4, 0.5, 0.6):
        draw(page.canvas, (0.3, y), (0.7, y))
    qtbot.waitUntil(lambda: not page.question._debounce.isActive())
    page.question._client.request("status")
    qtbot.waitUntil(lambda: toy.methods()[-1] == "status")  # what was asked before has come by now
    assert toy.methods().count("predict") == 1
    toy.silent = set()
    toy.send(wire.Reply(toy.methods().index("predict"), make_prediction(7)))
    qtbot.waitUntil(lambda: toy.methods().count("predict") == 2)
    assert base64.b64decode(toy.asked[-1][1]["pixels"]) == page.canvas.picture().pixels


def test_undo_and_clear(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    assert not page.undo.isEnabled()
    draw(page.canvas, (0.3, 0.3), (0.7, 0.3))
    first = page.canvas.picture().pixels
    draw(page.canvas, (0.3, 0.6), (0.7, 0.6))
    page.undo.click()
    assert page.canvas.picture().pixels == first
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    page.clear.click()
    assert page.canvas.is_empty()
    assert page.result.digit.text() == ""
    assert page.result._caption.text().startswith("Draw a digit")
    assert not page.clear.isEnabled()


def test_the_grids_stay_where_they_are_when_the_answer_comes(qtbot: QtBot, page: DigitsDemo) -> None:
    def cells() -> list[QRect]:
        QApplication.processEvents()
        return [grid.ring_rect().translated(grid.mapTo(page, QPoint(0, 0))) for grid in page.experts.grids]

    before = cells()
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert cells() == before
    page.clear.click()
    assert cells() == before


def test_the_lines_of_the_sheet_stay_inside_its_border(page: DigitsDemo) -> None:
    image = page.canvas.grab().toImage()
    last = image.width() - 1
    side = [image.pixelColor(last, y) for y in range(40, 200)]
    foot = [image.pixelColor(x, last) for x in range(40, 200)]
    assert {color.name() for color in side + foot} == {theme().color("line").name()}


def test_an_answer_to_a_cleared_drawing_is_not_shown(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    toy.silent = {"predict"}
    draw(page.canvas, (0.3, 0.3), (0.7, 0.3))
    qtbot.waitUntil(lambda: "predict" in toy.methods())
    page.clear.click()
    with qtbot.waitSignal(page.question._client.status):
        toy.send(wire.Reply(1, make_prediction()))
        toy.tell("status", make_status())
    assert page.result.digit.text() == ""


def test_drawing_by_keyboard(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    page.canvas.setFocus()
    press(page.canvas, Qt.Key.Key_Down, 3)
    assert page.canvas.is_empty()
    press(page.canvas, Qt.Key.Key_Space)
    press(page.canvas, Qt.Key.Key_Down, 12)
    press(page.canvas, Qt.Key.Key_Space)
    press(page.canvas, Qt.Key.Key_Right, 8)
    assert len(page.canvas.strokes) == 1
    rows = pixels(page.canvas)
    assert rows[60][64] == 255
    assert rows[60][96] == 0
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    QTest.keyClick(page.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert page.canvas.is_empty()


def test_the_keyboards_pen_stays_on_the_sheet(page: DigitsDemo) -> None:
    page.canvas.setFocus()
    press(page.canvas, Qt.Key.Key_Space)
    press(page.canvas, Qt.Key.Key_Left, 60)
    press(page.canvas, Qt.Key.Key_Up, 60)
    assert all(0 < point.x() < 1 and 0 < point.y() < 1 for point in page.canvas.strokes[0])


def test_a_drawing_has_a_limit(page: DigitsDemo) -> None:
    page.canvas._points = POINTS
    draw(page.canvas, (0.3, 0.3), (0.7, 0.3))
    assert page.canvas.is_empty()


def test_the_experts_that_answered_are_lit_and_listed(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    experts = make_prediction().experts
    late = wire.Answer(1, "digits.1.0.2", 0.0, 0.0, False)
    toy.answers["predict"] = lambda params: make_prediction(3, experts=[*experts[:7], late])
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    first, second = page.experts.grids
    assert first.text((2, 2)) == "digits.0.2.2: This PC, weight 15%, 1.4 ms"
    assert first.text((0, 1)) == "digits.0.0.1: hosted here, not asked"
    assert second.text((0, 2)) == "digits.1.0.2: did not answer, left out"
    assert page.result._pill._label.text() == "7 of 8 answered"
    uids = [row[2].text() for row in page.experts.lists[0]._rows]
    assert uids == ["digits.0.0.0", "digits.0.1.1", "digits.0.2.2", "digits.0.3.3"]
    assert [row[4].text() for row in page.experts.lists[1]._rows] == ["46%", "31%", "15%", ""]
    assert page.experts._note.text() == "The 4 best of 16 in each layer"


def test_an_error_is_a_sentence_in_the_card(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    sentence = "The picture holds nothing to recognise. Draw something larger."
    toy.answers["predict"] = lambda params: wire.ErrorInfo("picture", plain(sentence))
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result._notice.isVisible())
    assert page.result._notice._label.text() == sentence
    toy.answers["predict"] = lambda params: make_prediction()
    draw(page.canvas, (0.3, 0.2), (0.3, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert not page.result._notice.isVisible()


def test_a_drawing_made_without_a_worker_is_asked_about_later(qtbot: QtBot, page: DigitsDemo, toy: ToyWorker) -> None:
    toy.hang_up()
    with qtbot.waitSignal(page.question._client.disconnected):
        pass
    page.set_connected(False, "Worker stopped.")
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: "not connected" in page.result._notice._label.text())
    with qtbot.waitSignal(page.question._client.connected):
        page.question._client.dial()
    page.set_connected(True, "")
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")


def test_a_long_wait_is_explained_and_ends(
    qtbot: QtBot, page: DigitsDemo, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digit_question, "PLACEHOLDER_MS", 10)
    monkeypatch.setattr(digit_question, "EXPLAIN_MS", 30)
    monkeypatch.setattr(digit_question, "RETRY_MS", 60)
    toy.silent = {"predict"}
    waits: list[Wait] = []
    texts: list[str] = []
    page.question.waiting.connect(waits.append)
    page.question.waiting.connect(lambda wait: texts.append(page.result._foot.text()))
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.retry.isVisible())
    assert waits == [Wait.PLACEHOLDER, Wait.EXPLAIN, Wait.RETRY]
    assert page.result._caption.text() == "The model is reading"
    assert "compute process is starting" in texts[1]
    toy.silent = set()
    page.result.retry.click()
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert not page.result.retry.isVisible()


def test_the_picture_of_what_the_model_sees(qtbot: QtBot, page: DigitsDemo) -> None:
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert page.seen.accessibleDescription() == "8 of 64 cells hold ink."
    image = page.seen.grab().toImage()
    side = image.width() / 8
    on = image.pixelColor(int(side * 2.5), int(side * 2.5)).lightness()
    off = image.pixelColor(int(side * 5.5), int(side * 2.5)).lightness()
    assert abs(on - off) > 100


@pytest.mark.parametrize(
    ("uid", "shape", "cell"),
    [
        ("digits.0.2.3", (4, 4), (2, 3)),
        ("text.1.7", (8,), (7, 0)),
        ("text.1.1.2.3", (2, 3, 4), (1, 11)),
        ("digits.0.4.0", (4, 4), None),
        ("digits.0.1", (4, 4), None),
        ("digits.0.x.1", (4, 4), None),
        ("", (4, 4), None),
    ],
)
def test_the_place_of_a_uid(uid: str, shape: tuple[int, ...], cell: tuple[int, int] | None) -> None:
    assert cell_of(uid, shape) == cell


def test_of_a_grid_with_countless_cells_the_list_is_shown_alone(qtbot: QtBot, page: DigitsDemo) -> None:
    room = page.minimumSizeHint()
    page.experts.update_status(make_status(grid=(4096, 4096, 4096, 4096), experts=[]))  # the most that a manifest says
    draw(page.canvas, (0.5, 0.2), (0.5, 0.8))
    qtbot.waitUntil(lambda: page.result.digit.text() == "3")
    assert not any(grid.isVisible() for grid in page.experts.grids)
    assert all(figures.isVisible() for figures in page.experts.lists)
    page.experts.update_status(make_status())
    assert all(grid.isVisible() for grid in page.experts.grids)
    assert page.minimumSizeHint().width() == room.width()


def test_a_grid_of_any_dimensions_is_shown_in_two() -> None:
    assert fold((4, 4)) == (4, 4)
    assert fold((8,)) == (8, 1)
    assert fold((2, 3, 4)) == (2, 12)


def test_kinds_of_cells() -> None:
    answer = wire.Answer(0, "digits.0.0.0", 0.5, 1.0, True)
    late = wire.Answer(0, "digits.0.0.0", 0.0, 0.0, False)
    kinds: list[Any] = [cell_kind(answer, True), cell_kind(late, True), cell_kind(None, True), cell_kind(None, False)]
    assert kinds == ["lit", "late", "hosted", "empty"]


def test_cells_of_peers_are_told_from_those_that_nobody_hosts(page: DigitsDemo, qtbot: QtBot, toy: ToyWorker) -> None:
    cells = [CellStatus(0, True, 1, None, 0, 0), CellStatus(13, False, 1, None, 1, 0)]
    toy.answers["grid"] = lambda params: GridStatus(params["layer"], 2, (4, 4), True, cells)
    page.experts.grids[0].set_hosted((4, 4), [])
    page.experts._ask_hosts(0)
    grid = page.experts.grids[0]
    qtbot.waitUntil(lambda: grid.text((3, 1)) == "Row 3, column 1: hosted by peers, not asked")
    assert grid.text((3, 2)) == "Row 3, column 2: hosted by nobody"
    untold = AnswerGrid(0, Hosts())
    qtbot.addWidget(untold)
    assert untold.text((3, 2)) == "Row 3, column 2: not hosted here", "nobody has told who hosts what"
    image = grid.grab().toImage()

    def colors(cell: tuple[int, int]) -> set[str]:
        rect = grid._rect(cell).toRect()
        return {image.pixelColor(x, rect.center().y()).name() for x in range(rect.left(), rect.right() + 1)}

    assert theme().color("peer").name() in colors((3, 1)) - colors((3, 2))


def test_times_have_few_figures() -> None:
    assert [milliseconds(ms) for ms in (0.558, 4.64, 46.1, 999.0, 1234.0)] == [
        "0.6 ms",
        "4.6 ms",
        "46 ms",
        "999 ms",
        "1.2 s",
    ]
