"""`make screenshots`: every page in both themes and both languages, and the screensaver, beside a worker that trains.

Pictures go to build/screenshots as PAGE-LANGUAGE-THEME.png; those that README shows go to resources as well. Run on
a screen (`python -m tests.virtual_screen python -m tests.screenshots`), it takes about a minute.
"""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.desktop import Desktop
from app.first_run.first_run import FirstRun
from app.language import LANGUAGES
from app.pages.model.digit_canvas import Canvas
from app.screensaver.feed import Feed
from app.screensaver.view import View
from app.system.single_instance import Instance
from app.theme import Mode, theme
from app.widgets.fire import Fire
from app.window.view_settings import view_settings
from app.worker.supervisor import supervise
from core.contracts import manifest
from core.contracts.settings import Settings
from core.store import settings_file
from tests import a_summer
from tests.workers import HERE, ROOT, RunningWorker, agreed, worker

FOLDER = ROOT / "build" / "screenshots"
SIZE = (1040, 720)
README = ("home", "en", "light", ROOT / "resources" / "screenshot.png")
SAVER_README = ROOT / "resources" / "screensaver.png"
SAVER_SIZE = (1280, 720)
LIGHTS = 24
"""On their way when the picture is taken."""
COLUMNS = 24
"""Of the fire, in the picture for README."""
POINTS = 12
"""Evaluations of the curve before the first picture."""
PATIENCE_S = 400.0
MODES: tuple[Mode, ...] = ("light", "dark")
THREE = ((0.32, 0.28), (0.42, 0.18), (0.58, 0.18), (0.67, 0.3), (0.58, 0.44), (0.45, 0.48), (0.6, 0.52), (0.7, 0.66))
THREE_ENDS = ((0.6, 0.8), (0.44, 0.84), (0.3, 0.74))


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"Waited {PATIENCE_S:.0f} s for {what}.")
        QTest.qWait(20)


def places(desktop: Desktop) -> Iterator[str]:
    """Show one place after the other, and name it."""
    window = desktop.window
    for page in window.pages:
        window.open_page(page.name)
        if page.name == "model":
            settle(desktop)
            draw(page)
        if page.name == "settings":
            desktop.settings_page.open_section("Run and start")
        yield page.name
    window.open_page("settings")
    for section in ("Network", "Schedule", "Data", "Updates", "Consent"):
        desktop.settings_page.open_section(section)
        yield f"settings-{section.lower()}"
    window.open_page("home")
    window.why.open_panel()
    yield "why"
    window.why.close_sheet()
    desktop.add_run("")
    yield "add-run"
    desktop.add_run("text")
    until(desktop.join_sheet.consent.isVisible, "what the run is")
    yield "join"
    desktop.join_sheet.close_sheet()
    desktop.invite_sheet.open_for(manifest.load("digits").run_id)
    until(desktop.invite_sheet.shown.isVisible, "the link")
    yield "invite"
    desktop.invite_sheet.close_sheet()
    desktop.history_sheet.open_list()
    yield "history"
    desktop.history_sheet.close_sheet()
    first = FirstRun(desktop.folder, desktop.client)
    first.lend.load()
    window.cover(first)
    for at in range(len(first.steps)):
        first._show(at)
        yield f"first-run-{at + 1}"
    window.uncover()


def draw(page: QWidget) -> None:
    """Draw a digit and wait for what the model reads."""
    canvas = page.findChild(Canvas)
    assert canvas is not None
    if canvas.is_empty():
        side = min(canvas.width(), canvas.height())
        points = [QPointF(x * side, y * side).toPoint() for x, y in (*THREE, *THREE_ENDS)]
        QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=points[0])
        for point in points[1:]:
            QTest.mouseMove(canvas, point)
            QTest.qWait(5)
        QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=points[-1])
    until(lambda: page.digits.result.digit.text(), "the model's answer")  # type: ignore[attr-defined]


def settle(desktop: Desktop) -> None:
    """Until all that is asked for is there and drawn."""
    shown = [widget for widget in desktop.window.findChildren(QWidget) if widget.isVisible()]
    until(lambda: all(widget.loaded for widget in shown if hasattr(widget, "loaded")), "the plots")
    until(lambda: not desktop.client._asked, "the worker's answers")
    QTest.qWait(60)
    until(lambda: not desktop.client._asked, "the worker's answers")


@contextlib.contextmanager
def opened(worker: RunningWorker, language: str) -> Iterator[Desktop]:
    """The app in a language, when its worker trains and has learned something that can be seen."""
    worker.call("set_settings", {"changes": {"language": language}})
    folder = worker.folder
    instance = Instance(folder)
    instance.acquire()
    view_settings(folder).setValue("language", language)
    desktop = Desktop(supervise(folder), instance, time.monotonic())
    desktop.window.resize(*SIZE)
    until(lambda: desktop.client.is_connected, "the connection")
    until(lambda: len(desktop._course.curve) >= POINTS and is_at_work(desktop), "the curve")
    yield desktop
    desktop.close()
    instance.release()
    desktop.window.may_close = True
    desktop.window.close()


def take(worker: RunningWorker, folder: Path) -> int:
    """All pictures of the app beside a worker; returns how many."""
    return sum(take_in(language, worker, folder) for language in LANGUAGES)


def take_in(language: str, worker: RunningWorker, folder: Path) -> int:
    count = 0
    with opened(worker, language) as desktop:
        for mode in MODES:
            theme().set_mode(mode)
            for place in places(desktop):
                settle(desktop)
                if (place, language, mode) == README[:3]:
                    until(lambda: burns(desktop), "the fire")
                path = folder / f"{place}-{language}-{mode}.png"
                picture = desktop.window.grab()
                if not picture.save(str(path)):
                    raise SystemExit(f"{path} could not be written.")
                count += 1
                if (place, language, mode) == README[:3]:
                    picture.save(str(README[3]))
        picture = screensaver(desktop.folder)
        picture.save(str(folder / f"screensaver-{language}-dark.png"))
        if language == README[1]:
            picture.save(str(SAVER_README))
        count += 1
    return count


def screensaver(folder: Path) -> QPixmap:
    """As it looks beside the worker of a data folder."""
    theme().set_mode("dark")
    feed = Feed(folder)
    view = View(feed)
    view.resize(*SAVER_SIZE)
    view.show()
    feed.start()
    until(lambda: len(view._seen) >= LIGHTS, "calls")
    picture = view.grab()
    feed.stop()
    view.close()
    view.deleteLater()
    return picture


def burns(desktop: Desktop) -> bool:
    """The fire of Home shows some seconds."""
    fire = desktop.window.findChild(Fire)
    return fire is not None and sum(height > 0 for height in fire.heights()) >= COLUMNS


def main() -> None:
    start = time.monotonic()
    app = QApplication(["hearth"])
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder, other = Path(name) / "hearth", Path(name) / "backbone"
        for one in (folder, other):
            agreed(one)
        settings_file.save(folder, Settings(busy_cpu_percent=0))  # it trains on a busy machine, too
        a_summer.write(folder, time.time(), gpu="cpu")
        with worker(other, "--role", "backbone", "--listen", HERE) as backbone:
            known = str(backbone.call("network", {"first": 0})["address"])
            with worker(folder, "--listen", HERE, "--bootstrap", known) as trains:
                trains.until(lambda status: status.step > 0, "training")
                count = take(trains, FOLDER)
    app.quit()
    print(f"{count} pictures in {FOLDER.relative_to(ROOT)}, {time.monotonic() - start:.0f} s")


def is_at_work(desktop: Desktop) -> bool:
    """It trains, and has learned something that can be seen."""
    last = desktop._last
    return last is not None and last.state == "contributing" and desktop._course.curve[-1].accuracy > 0.8


if __name__ == "__main__":
    main()
