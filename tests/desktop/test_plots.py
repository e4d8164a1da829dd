"""Plots are read without being seen: point by point with the keyboard, and as a table."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.formats import percent
from app.pages.contribution.history import KINDS
from app.theme import theme
from app.widgets import picking
from app.widgets.bar_plot import BarPlot, Bars, Part
from app.widgets.curve_plot import CurvePlot
from app.widgets.plot import Plot
from app.widgets.plot_table import PlotTable

POINTS = [(64, 0.5), (128, 0.75), (192, 0.9)]


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a screen reader is told."""
    told: list[str] = []

    class Heard(QAccessibleAnnouncementEvent):
        def __init__(self, plot: Plot, words: str) -> None:
            super().__init__(plot, words)
            told.append(words)

    monkeypatch.setattr(picking, "QAccessibleAnnouncementEvent", Heard)
    assert QAccessible is not None
    return told


@pytest.fixture
def curve(qtbot: QtBot) -> Iterator[CurvePlot]:
    theme()
    plot = CurvePlot("Accuracy", "peer", percent, lambda value: percent(value, 0), 1.0, "Not measured yet.")
    qtbot.addWidget(plot)
    plot.resize(300, 160)
    plot.show()
    qtbot.waitUntil(plot.isActiveWindow)
    yield plot


def test_a_curve_is_read_point_by_point(curve: CurvePlot, announced: list[str]) -> None:
    QTest.keyClick(curve, Qt.Key.Key_Left)
    assert curve.at is None and announced == [], "there is nothing yet"
    curve.set_points(POINTS)
    assert "Arrow keys read out each value" in curve.accessibleDescription()
    curve.clearFocus()
    curve.setFocus(Qt.FocusReason.TabFocusReason)
    assert curve.at == 2 and curve.accessibleDescription() == "Step 192: 90.0%"
    QTest.keyClick(curve, Qt.Key.Key_Left)
    QTest.keyClick(curve, Qt.Key.Key_Home)
    QTest.keyClick(curve, Qt.Key.Key_Left)
    assert announced == ["Step 128: 75.0%", "Step 64: 50.0%", "Step 64: 50.0%"] and curve.at == 0
    curve.clearFocus()
    assert curve.at is None and "90.0% at step 192" in curve.accessibleDescription()


def test_the_chosen_point_is_marked(curve: CurvePlot) -> None:
    curve.set_points(POINTS)
    QApplication.processEvents()
    before = curve.grab().toImage()
    QTest.keyClick(curve, Qt.Key.Key_Left)
    marked = curve.grab().toImage()
    point = curve._canvas.mapTo(curve, curve.place(128, 0.75).toPoint())
    ratio = curve.devicePixelRatioF()
    ring = (point + QPoint(0, -round(curve._dot))) * ratio
    assert before.pixelColor(ring) != marked.pixelColor(ring)
    assert before.pixelColor(point * ratio) != marked.pixelColor(point * ratio)


def test_points_that_come_while_one_is_read_do_not_move_it(curve: CurvePlot) -> None:
    curve.set_points(POINTS)
    QTest.keyClick(curve, Qt.Key.Key_Home)
    curve.set_points([*POINTS, (256, 0.95)])
    assert curve.accessibleDescription() == "Step 64: 50.0%"
    curve.set_points([])
    assert curve.at is None and curve.accessibleDescription() == "Not measured yet."


def table_of(plot: Plot) -> list[list[str]]:
    """What stands in the table that Enter opens."""
    QTest.keyClick(plot, Qt.Key.Key_Return)
    dialog = plot.window().findChild(PlotTable)
    assert isinstance(dialog, PlotTable) and dialog.isVisible()
    model = dialog.model
    columns = range(model.columnCount())
    heads = [str(model.headerData(column, Qt.Orientation.Horizontal)) for column in columns]
    rows = [[str(model.index(row, column).data()) for column in columns] for row in range(model.rowCount())]
    told = model.index(0, 1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert told == f"{heads[1]}: {rows[0][1]}", "a screen reader tells what a figure is"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    return [heads, *rows]


def test_a_curve_is_a_table_as_well(curve: CurvePlot) -> None:
    curve.set_points(POINTS)
    assert table_of(curve) == [["When", "Accuracy"], ["Step 64", "50.0%"], ["Step 128", "75.0%"], ["Step 192", "90.0%"]]


def test_bars_are_a_table_with_their_parts(qtbot: QtBot) -> None:
    plot = BarPlot("History", "Nothing yet.")
    qtbot.addWidget(plot)
    plot.show()
    qtbot.waitUntil(plot.isActiveWindow)
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert plot.findChild(PlotTable) is None, "there is nothing yet"
    kind = KINDS["seconds"]
    parts = [Part("CPU", 0.5, [60.0, 96.0]), Part("GPU", 0.85, [0.0, 3600.0])]
    plot.set_bars("Compute time", Bars(["Mon", "Today"], ["Monday", "today"], parts), kind.write, kind.scale)
    assert table_of(plot) == [
        ["When", "Compute time", "CPU", "GPU"],
        ["Monday", "1 min", "1 min", "0 s"],
        ["Today", "1 h 2 min", "2 min", "1 h"],
    ]


def test_each_bar_has_the_words_that_the_figure_beside_it_has(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """96 s were “2 min” in Today's figure and “1.6 min” over the bar."""
    plot = BarPlot("Compute time", "Nothing yet.", told=True)
    qtbot.addWidget(plot)
    plot.resize(400, 120)
    kind, written = KINDS["seconds"], []
    monkeypatch.setattr(plot, "_write_at", lambda painter, top, words, last: written.append(words))
    plot.set_bars("Compute time", Bars(["Mon"], ["today"], [Part("", 0.5, [96.0])]), kind.write, kind.scale, kind.short)
    plot.show()
    qtbot.waitUntil(lambda: "2 min" in written)
    assert not [words for words in written if "." in words]
