"""What of the app's window cannot be seen on the screen that it is on, in English and in German, beside a toy worker.

A process of its own, as Qt reads `QT_SCALE_FACTOR` once: `python -m tests.desktop.scaled [FOLDER]`. The folder is for a
picture of each place. Prints a JSON list of sentences, one for each fault.
"""

import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QRect
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QLayout, QStackedLayout, QWidget

from app.theme import theme
from app.widgets.boxes import items_of
from app.widgets.plot_table import PlotTable
from tests.desktop.conftest import ToyWorker
from tests.desktop.test_every_page import PLACES, VARIANTS, Screen, prepare, shown, until
from tests.desktop.test_widgets import misfits
from tests.workers import agreed


def cut(root: QWidget) -> Iterator[str]:
    """What leaves something that it is in, where nothing scrolls to the rest of it."""
    for widget in shown(root):
        rect, inner = widget.rect(), widget
        while not shown(widget) and (outer := inner.parentWidget()) is not None:
            rect.translate(inner.pos())
            area, seen = outer.parentWidget(), outer.rect()
            if isinstance(area, QAbstractScrollArea) and outer is area.viewport():
                if area.verticalScrollBar().isVisible():
                    rect = QRect(rect.left(), 0, rect.width(), seen.height())
                if area.horizontalScrollBar().isVisible():
                    rect = QRect(0, rect.top(), seen.width(), rect.height())
            if not seen.contains(rect):
                what = f"{type(widget).__name__} {widget.accessibleName()!r}"
                yield f"{what} leaves {type(outer).__name__} {seen}: {rect}"
                break
            inner = outer


def covered(root: QWidget) -> Iterator[str]:
    """What a layout has put partly over something else."""
    for widget in (root, *shown(root)):
        for layout in boxes(widget.layout()):
            places = [item.geometry() for item in items_of(layout) if not item.isEmpty()]
            for one, other in itertools.combinations(places, 2):
                if one.intersects(other) and one != other:  # a word that lies over a picture has all of its room
                    yield f"in {type(widget).__name__} {widget.accessibleName()!r}: {one} and {other}"


def boxes(layout: QLayout | None) -> Iterator[QLayout]:
    """A layout that is not a stack, and those in it."""
    if layout is not None and not isinstance(layout, QStackedLayout):
        yield layout
        for item in items_of(layout):
            yield from boxes(item.layout())


def beyond(window: QWidget) -> list[str]:
    """Whether a window with its frame is larger than its screen has room.

    A window manager makes a frame of one pixel and then lets it grow, and Qt may ask for its size between the two. So
    this waits until the frame is round the window.
    """
    handle = window.windowHandle()
    until(lambda: handle.frameGeometry().contains(handle.geometry()), "a frame round the window")
    room, frame = window.screen().availableGeometry(), handle.frameGeometry()
    return [] if room.contains(frame) else [f"the window {frame} is not within its screen {room}"]


def faults_of(place: str, screen: Screen, size: tuple[int, int], pictures: Path | None) -> Iterator[str]:
    """Everything that is wrong with a place."""
    window, root = screen.desktop.window, screen.show(place, size)
    outside = [] if place.startswith("first") else [window.footer, window.sidebar]
    for part in (root, *outside):
        yield from (f"{place}: {line}" for line in (*cut(part), *covered(part), *misfits(part)))
    yield from (f"{place}: {line}" for line in beyond(window))
    if pictures:
        window.grab().save(str(pictures / f"{place}.png"))
    if place == "contribution":
        table = PlotTable(window, "Samples by day", ["Day", *"ABCDEFG"], [["1 May", *"1234567"]] * 90)
        table.show()
        QTest.qWaitForWindowExposed(table)
        yield from (f"a plot's table: {line}" for line in (*beyond(table), *cut(table), *covered(table)))
        table.accept()


def main() -> None:
    """Look at every place."""
    QApplication([])
    pictures, faults = Path(sys.argv[1]) if len(sys.argv) > 1 else None, list[str]()
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as summer:
        folder = Path(name)
        agreed(folder)
        toy = ToyWorker(folder)
        prepare(toy, Path(summer))
        theme().set_mode("light")
        screen = Screen(folder, toy)
        for language in ("english", "german"):
            screen.start(VARIANTS[language])
            window = screen.desktop.window
            QTest.qWaitForWindowExposed(window)
            size = window.width(), window.height()
            into = pictures / language if pictures else None
            if into:
                into.mkdir(parents=True, exist_ok=True)
            faults += [line for place in PLACES for line in faults_of(place, screen, size, into)]
        screen.end()
        toy.close()
    print(json.dumps(faults))


if __name__ == "__main__":
    main()
