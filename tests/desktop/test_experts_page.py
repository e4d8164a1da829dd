"""The experts page: a grid of any size in one picture, what is lit, who hosts what, by mouse and keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.experts.experts_page import ExpertsPage
from app.pages.experts.grid_card import NO_EXPERTS, WHOLE_MODEL
from app.pages.experts.grid_layer import Layer, uid_of, words_about
from app.system import reduced_motion
from app.theme import theme
from app.widgets.expert_grid import ExpertGrid
from app.worker.client import WorkerClient
from core.contracts import control as wire
from core.contracts.notices import plain
from core.contracts.status import CellStatus, ExpertStatus, GridStatus, State
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_widgets import misfits

HERE = {0, 17, 2499}


def make_grid(layer: int, layers: int = 4, side: int = 50, calls: int = 0) -> GridStatus:
    """Every cell but each tenth is hosted, three of them here; the first answered `calls`."""
    cells = [
        CellStatus(n, n in HERE, n, 0.3, 0 if n in HERE else 2, calls if n == 0 else 5)
        for n in range(side * side)
        if n % 10 != 5
    ]
    return GridStatus(layer, layers, (side, side), True, cells)


@pytest.fixture
def page(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[ExpertsPage]:
    theme().set_mode("light")
    toy.answers["grid"] = lambda params: make_grid(params["layer"])
    client = WorkerClient(folder, "0.1.0")
    page = ExpertsPage(client)
    qtbot.addWidget(page)
    page.resize(828, 690)
    with qtbot.waitSignal(client.connected):
        client.dial()
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    page.update_status(make_status())
    page.set_connected(True, "")
    yield page
    client.hang_up()
    theme().set_mode("system")


@pytest.mark.parametrize("still", [False, True])
def test_a_cell_pulses_once_when_somebody_takes_its_expert_on(
    qtbot: QtBot, toy: ToyWorker, page: ExpertsPage, monkeypatch: pytest.MonkeyPatch, still: bool
) -> None:
    monkeypatch.setattr(reduced_motion, "system_reduces_motion", lambda: False)
    reduced_motion.motion.cache_clear()
    motion = reduced_motion.motion()
    qtbot.waitUntil(lambda: motion.allowed)
    motion.unwanted = still
    layers = page.grid.layers
    qtbot.waitUntil(
        lambda: len(layers) == 4 and not any(one.old for one in layers.values()) and not page._asking,
    )
    grid = page.grid.grids[0]
    assert not grid.pulsing, "what is there at the first look was not taken on now"
    cells = [*make_grid(0).cells, CellStatus(15, True, 3, 0.3, 0, 0)]
    cells[1] = CellStatus(1, True, 1, 0.3, 2, 5)
    taken_on = GridStatus(0, 4, (50, 50), True, cells)
    usual = toy.answers["grid"]
    toy.answers["grid"] = lambda params: usual(params) if params["layer"] else taken_on  # the page goes on asking
    page.grid.show_layer(taken_on)
    assert grid.pulsing == (frozenset() if still else {1, 15})
    qtbot.waitUntil(lambda: not grid.pulsing)
    page.grid.show_layer(taken_on)
    assert not grid.pulsing
    reduced_motion.motion.cache_clear()


def test_all_layers_of_a_large_grid_are_shown(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    assert [params["layer"] for method, params in toy.asked if method == "grid"][:4] == [0, 1, 2, 3]
    assert page.grid.words.text().startswith("9,000 of 10,000 cells have an expert. 12 of them are here.")
    qtbot.waitUntil(lambda: misfits(page) == [])


def test_hosted_hollow_and_own_cells_look_different(qtbot: QtBot, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4)
    grid = page.grid.grids[0]
    grid.set_side(12)
    grid.resize(grid.sizeHint())
    image = grid.grab().toImage()

    def middle(cell: int) -> str:
        place = grid._cell(cell).center().toPoint()
        return image.pixelColor(place).name()

    def edge(cell: int) -> str:
        place = grid._cell(cell).center().toPoint()
        return image.pixelColor(QPoint(int(grid._cell(cell).left()) + 1, place.y())).name()

    hot, cold, hollow, own = middle(2498), middle(1), middle(5), middle(2499)
    assert len({hot, cold, hollow, own}) == 4
    assert QColor(own).red() > QColor(own).blue(), "ember is this PC"
    assert all(QColor(others).blue() > QColor(others).red() for others in (hot, cold)), "blue are the others"
    assert edge(2499) != edge(2498)


def test_a_cell_is_lit_once_something_happened_in_it() -> None:
    layer = Layer()
    layer.take(make_grid(0, calls=5))
    assert layer.called == frozenset()
    layer.take(make_grid(0, calls=7))
    assert layer.called == {0}
    layer.take(make_grid(0, calls=7))
    assert layer.called == frozenset()


def test_the_figures_of_a_checkpoint_light_no_cell() -> None:
    def grid(version: int, calls: int) -> GridStatus:
        return GridStatus(0, 1, (2,), True, [CellStatus(0, True, version, 0.3, 0, calls)])

    layer = Layer()
    lit = []
    for version, calls in ((40, 90), (30, 0), (30, 0), (31, 0), (31, 2)):
        layer.take(grid(version, calls))
        lit.append(layer.called)
    assert lit == [set(), set(), set(), {0}, {0}]


def test_calls_a_minute_tell_a_busy_expert_from_an_idle_one() -> None:
    """Also beside one that was taken on meanwhile, and after compute began anew."""

    def at(second: float, *calls: int) -> dict[int, float]:
        layer.take(
            GridStatus(0, 1, (4,), True, [CellStatus(n, True, 1, 1.0, 0, c) for n, c in enumerate(calls)]), second
        )
        return {cell: round(rate) for cell, rate in layer.per_minute.items()}

    layer = Layer()
    assert at(100, 1000, 7) == {} and not layer.counted
    assert at(110, 1200, 7) == {0: 1200} and layer.counted
    assert at(130, 1200, 7, 50) == {0: 400}
    assert at(160, 1230, 7, 80) == {0: 230, 2: 30}
    assert at(170, 3, 0, 90) == {2: 40}, "the first of a new process"
    assert at(230, 63, 0, 90) == {0: 60}, "the last minute only"


def test_a_worker_that_comes_back_has_done_nothing_yet(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    experts = [ExpertStatus("digits.0.0.0", 900, 28_800, 1204)]
    versions, calls = iter(range(900, 10_000, 100)), iter(range(1204, 10_000_000, 1000))

    def grid(params: dict[str, int]) -> GridStatus:
        cell = CellStatus(0, True, next(versions), 1.0, 0, next(calls))
        return GridStatus(params["layer"], 1, (4, 4), True, [cell])

    toy.answers["grid"] = grid
    page.update_status(make_status(experts=experts))

    def per_minute() -> str:
        return str(page.hosted.model.index(0, 4).data())

    def drawn() -> str:
        page._draw()
        return per_minute()

    unknown = "\N{EN DASH}"
    qtbot.waitUntil(lambda: drawn() not in (unknown, "0") and not page._asking)
    page._timer.stop()
    page.set_connected(False, "Worker stopped, restarting in 4 s")
    page.look()
    asked = toy.methods().count("grid")
    page.set_connected(True, "")
    assert per_minute() == unknown, "nobody knows it yet"
    qtbot.waitUntil(lambda: toy.methods().count("grid") > asked and not page._asking)
    assert page.grid.layers[0].called == frozenset(), "what others did meanwhile was not done in the last seconds"
    assert drawn() == unknown, "what was called meanwhile is of no minute that was seen"
    page.look()
    qtbot.waitUntil(lambda: page.grid.layers[0].called == {0})
    assert drawn() != unknown


def test_a_layer_of_the_run_before_is_not_taken_for_one_of_the_next(
    qtbot: QtBot, toy: ToyWorker, page: ExpertsPage
) -> None:
    client, other = page._client, make_status(run_id="other-12345678")
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    page._timer.stop()
    toy.silent.add("grid")
    request = client._next_id
    page.look()
    toy.answers["subscribe"] = lambda params: wire.Snapshot(other, toy.settings, [])
    with qtbot.waitSignal(client.shown):
        client.show_run(other.run_id)
    page.update_status(other)
    toy.send(wire.Reply(request, make_grid(0)))
    qtbot.waitUntil(lambda: request not in client._asked)
    assert page.grid.layers == {} and page.grid.empty.isVisible()
    toy.silent.clear()
    toy.answers["grid"] = lambda params: GridStatus(params["layer"], 1, (4, 4), True, [CellStatus(0, True, 1, 0, 0, 0)])
    page.look()
    qtbot.waitUntil(lambda: page.grid.words.text().startswith("1 of 16 cells have an expert."))
    assert [*page.grid.layers] == [0]


def test_a_worker_that_is_gone_is_not_said_to_be_asked(qtbot: QtBot, folder: Path) -> None:
    page = ExpertsPage(WorkerClient(folder, "0.1.0"))
    qtbot.addWidget(page)
    page.show()
    page.set_connected(False, "Worker stopped, restarting in 4 s")
    assert page.grid.empty.isVisible() and page.grid.empty.text() == "Appears as soon as the worker answers."


def test_each_cell_is_told_by_keyboard(qtbot: QtBot, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    grid = page.grid.grids[1]
    grid.setFocus(Qt.FocusReason.TabFocusReason)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Left):
        QTest.keyClick(grid, key)
    expected = (
        "digits.1.1.48: hosted by 2 other peers, 98 updates, its host 30% busy, 5 calls from this PC (0 a minute)"
    )
    assert grid.accessibleDescription() == page.grid.words.text() == expected
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Home):
        QTest.keyClick(grid, key)
    assert grid.accessibleDescription().startswith("digits.1.0.0: hosted here, 0 updates")


def test_the_mouse_chooses_cells_and_zoom_makes_them_larger(qtbot: QtBot, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    grid = page.grid.grids[0]
    before = grid.sizeHint().width()
    page.grid.larger.click()
    assert grid.sizeHint().width() > before
    QTest.mouseMove(grid, grid._cell(5).center().toPoint())
    qtbot.waitUntil(lambda: page.grid.words.text() == "digits.0.0.5: no expert is hosted in this cell.")
    for _ in range(8):
        page.grid.smaller.click()
    assert not page.grid.smaller.isEnabled() and page.grid.larger.isEnabled()


def test_a_huge_grid_shows_only_its_experts() -> None:
    layer = Layer()
    places = [7, 65_535, 1_000_000]
    cells = [CellStatus(place, False, None, None, None, 0) for place in places]
    layer.take(GridStatus(0, 1, (256, 256, 256), False, cells))
    assert layer.count == 3 and [layer.at(n) for n in range(3)] == places
    assert uid_of("text", 0, 65_535, (256, 256, 256)) == "text.0.0.255.255"
    assert words_about("text.0.0.0.7", cells[0]) == "text.0.0.0.7: hosted by another peer, version not known yet"


def test_the_hosted_ones_are_listed_with_their_calls(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    toy.answers["grid"] = lambda params: GridStatus(
        params["layer"], 1, (4, 4), True, [CellStatus(0, True, 900, 1.13, 0, 1204)]
    )
    page.grid.forget()  # as another run's
    page.update_status(make_status(experts=[ExpertStatus("digits.0.0.0", 900, 28_800, 1204)]))

    def first() -> list[str]:
        page.look()
        return [page.hosted.model.index(0, column).data() for column in range(5)]

    qtbot.waitUntil(lambda: first() == ["0.0.0", "900", "28.8 k", "1.20 k", "0"])
    assert page.hosted.model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole) == "28,800"
    table = page.hosted.table
    assert all(table.sizeHintForColumn(column) <= table.columnWidth(column) for column in range(5)), "cut off"


def test_another_colouring_is_explained_at_once(qtbot: QtBot, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    page._timer.stop()
    page.grid.by.set_value("calls")
    page.grid.by.chosen.emit("calls")
    assert "Darker cells answered more calls." in page.grid.words.text()
    assert "Of peers' experts, only calls from this PC count." in page.grid.words.text()


@pytest.mark.parametrize(
    ("state", "hosted", "whole", "told"),
    [
        ("waiting", 16, True, "It takes some on when it may compute."),
        ("contributing", 16, True, "Peers host all experts now."),
        ("contributing", 12, True, "4 experts have no host yet."),
        ("contributing", 12, False, "It takes some on as soon as it knows what peers host."),
    ],
)
def test_why_no_expert_is_here(
    qtbot: QtBot, toy: ToyWorker, page: ExpertsPage, state: State, hosted: int, whole: bool, told: str
) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    page.grid.forget()
    cells = [CellStatus(n, False, 1, 1.0, 1, 0) for n in range(hosted)]
    toy.answers["grid"] = lambda params: GridStatus(params["layer"], 1, (4, 4), whole, cells)
    page.update_status(make_status(state=state, experts=[]))
    page.look()
    qtbot.waitUntil(lambda: len(page.grid.layers) == 1 and not page._asking)
    page._draw()
    assert told in page.hosted.empty.text()


def test_a_run_whose_model_has_none_says_so(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    toy.answers["grid"] = lambda params: GridStatus(params["layer"], 0, (), False, [])
    page.update_status(make_status(run_id="digits-vc-1", run="digits-vc", grid=(), layers=0, experts=[]))
    page.look()
    qtbot.waitUntil(lambda: page.grid.empty.text() == page.hosted.empty.text() == WHOLE_MODEL)
    assert page.grid.empty.isVisible() and page.hosted.empty.isVisible() and page.grid.grids == []
    assert not any(tool.isVisible() for tool in (page.grid.by, page.grid.smaller, page.grid.larger, page.hosted._count))


def test_without_experts_or_worker_there_is_a_sentence(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    toy.answers["grid"] = lambda params: GridStatus(params["layer"], 4, (50, 50), False, [])
    page.look()
    qtbot.waitUntil(lambda: page.grid.empty.isVisible())
    assert page.grid.empty.text() == NO_EXPERTS
    toy.answers["grid"] = lambda params: wire.ErrorInfo("protocol", plain("The worker has no method 'grid'."))
    qtbot.waitUntil(lambda: not page._asking)
    page.look()
    qtbot.waitUntil(
        lambda: page.notice.accessibleName() == "The worker has no method 'grid'. The page asks again in 2 s."
    )
    page.set_connected(False, "Worker stopped, restarting in 4 s")
    assert "The figures are from " in page.notice.accessibleName()


@pytest.mark.parametrize(("most", "marks"), [(0.0, ["0", "0.5", "1"]), (1600.0, ["0", "500", "1,000", "1,500"])])
def test_the_axis_is_written_in_plain_figures(page: ExpertsPage, most: float, marks: list[str]) -> None:
    for second in range(5):
        page.history.note(2e9 + 30 * second, most)
    page.history.draw()
    assert [words for _, words in page.history.load._marks] == marks


def test_calls_over_time_are_told_in_words(page: ExpertsPage) -> None:
    for second in range(5):
        page.history.note(2e9 + 30 * second, 10.0 * second)
    page.history.draw()
    assert page.history.load.accessibleDescription().startswith("Calls per second: 40 calls per second at ")
    for second in range(2):
        page.history.note(1e9 + 30 * second, 20.0)  # the clock was set back: what was noted after that is no history
    page.history.draw()
    assert page.history.load.accessibleDescription().startswith("Calls per second: 20 calls per second at ")


def test_another_run_of_fewer_layers_leaves_none_behind(qtbot: QtBot, toy: ToyWorker, page: ExpertsPage) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4 and not page._asking)
    toy.answers["grid"] = lambda params: make_grid(params["layer"], layers=2, side=4)
    page.update_status(make_status(run="text", run_id="text-1234"))
    assert page.grid.empty.isVisible()
    page.look()
    qtbot.waitUntil(lambda: len(page.grid.layers) == 2 and not page._asking)
    grids = page.grid.findChildren(ExpertGrid)
    assert [grid.layer for grid in grids if grid.isVisible()] == [0, 1] and "text.1" in grids[-1]._words(0)


def test_the_room_below_the_grids_stays_one(page: ExpertsPage, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(page.grid.layers) == 4)
    for width in (1400, 500, 1400, 828):
        page.resize(width, 690)
        page.grid._place()
    flow = page.grid._flow
    assert flow.rowCount() <= 2 * 4 + 1
    assert [flow.rowStretch(row) for row in range(flow.rowCount())].count(1) == 1
