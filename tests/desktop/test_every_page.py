"""Every page, the Why panel and the first run: nothing is clipped in any language and text size, all is named, the
focus goes in reading order, nothing is left in English, text stands out from its ground; also from right to left.

One app runs for the whole module, beside a toy worker; for each variant it is started again.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import shiboken6
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSpinBox,
    QTreeView,
    QWidget,
)

from app import language
from app.desktop import Desktop
from app.first_run.first_run import FirstRun
from app.language import BRITISH, WORKER, Catalogue, Message, speak
from app.pages.model.digit_canvas import Canvas
from app.pages.model.text_demo import TextDemo
from app.pages.model.tried_texts import Tried
from app.system.single_instance import Instance
from app.theme import theme
from app.widgets.basics import ElidedLabel
from app.widgets.buttons import Button
from app.window.sheet import Sheet
from app.window.sidebar import PageButton
from app.worker.supervisor import supervise
from core.community.reading import read_only
from core.contracts.control import RunLinked, Said, Snapshot
from core.contracts.network_status import Finding, FoundRun
from core.contracts.notices import PLACE, notice, plain
from core.contracts.settings import Settings
from core.contracts.status import CurvePoint, DeviceStatus, EnergyStatus, EnergyUse, RuleStatus, Status, YieldStatus
from core.policy.decide import decide
from core.policy.hysteresis import Held
from core.policy.inputs import Compute, Usage, Wishes
from core.policy.signals.reading import Signals
from tests import a_summer
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.contrast import contrast
from tests.desktop.test_experts_page import make_grid
from tests.desktop.test_network_page import make_network, make_peers
from tests.desktop.test_runs_page import KEY, LINK, SIGNED, UNSIGNED, joined_run
from tests.desktop.test_text_page import text_status
from tests.desktop.test_trunk_card import make_trunk
from tests.desktop.test_widgets import misfits
from tests.workers import agreed

SMALL, USUAL = (880, 600), (1280, 800)
PAGES = ("home", "model", "contribution", "runs", "network", "experts", "settings", "log", "help", "trust")
SHEETS = ("why", "add run", "join", "invite", "history")
PLACES = (*PAGES, "text", "talk", *SHEETS, *(f"first run {step}" for step in range(1, 5)))
DEADLINE_S = 180.0
TEXT = 4.5
"""Least contrast of text and its ground (WCAG 2.2, AA)."""
OPEN, CLOSE = "⟦", "⟧"
DATA = (
    "Hearth",
    "CPU",
    "Some",
    "Processor",
    "Radeon",
    "NAT",
    "UDP",
    "hearth",
    "CSV",
    "PNG",
    "digits",
    "text",
    "Enter",
    "Oct",
)
"""Names that are the same in all languages."""


class Variant(NamedTuple):
    language: str
    scale: float = 1.0
    mirrored: bool = False


VARIANTS = {
    "english": Variant("en"),
    "german": Variant("de"),
    "longer": Variant("longer"),
    "large": Variant("en", 1.5),
    "large german": Variant("de", 1.5),
    "mirrored": Variant("en", mirrored=True),
}


def longer(text: str) -> str:
    """In brackets, and with 30% more characters."""
    words = PLACE.sub("", text).replace("%Ln", "").replace("\n", " ").strip()
    return f"{OPEN}{text} {words[: max(1, round(0.3 * len(text)) - 2)].strip()}{CLOSE}"


def longer_catalogue() -> Catalogue:
    """The sources themselves, longer; parts of the worker's sentences in brackets only, so that none grows twice."""
    known = language.read("de")
    plurals = language.read("en")
    return Catalogue(
        {
            message: tuple(
                f"{OPEN}{text}{CLOSE}" if message.context == WORKER and not text.endswith(".") else longer(text)
                for text in plurals.get(message, (message.source,))
            )
            for message in known
            if message != Message("window", "{figure}%")
        }
    )


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {what}"
        QTest.qWait(5)


def shown(root: QWidget) -> list[QWidget]:
    """What can be seen within it. Most of the window's 1,500 widgets are on pages that are not open: no need to ask."""
    found: list[QWidget] = []
    for child in root.children():
        if isinstance(child, QWidget) and child.isVisible():
            found += (child, *shown(child))
    return found


def speak_as(variant: Variant) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    if variant.language == "longer":
        language.use(longer_catalogue(), BRITISH)
    else:
        speak(variant.language)
    if variant.mirrored:
        app.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # as a language read from the right does


class Screen:
    """The app's window, and what a test does with it."""

    def __init__(self, folder: Path, toy: ToyWorker) -> None:
        self.folder, self.toy = folder, toy
        self.first_run: FirstRun | None = None
        self._instance: Instance | None = None
        self.start(VARIANTS["english"])

    def start(self, variant: Variant) -> None:
        """Start the app in another variant, after the end of the one before."""

        class Varied(Desktop):
            def _build_window(self) -> None:
                speak_as(variant)
                super()._build_window()

        self.end()
        if variant.scale != theme().scale:
            theme().set_scale(variant.scale)
        self._instance = Instance(self.folder)
        assert self._instance.acquire()
        self.desktop: Desktop = Varied(supervise(self.folder), self._instance, time.monotonic())
        until(lambda: self.desktop.client.is_connected, "the worker")
        self.say(make_status(**FIGURES))

    def end(self) -> None:
        if self._instance is None:
            return
        desktop = self.desktop
        assert desktop.supervisor.process is None, "the app started another worker beside the one that it has"
        desktop.close()
        self._instance.release()
        self._instance = self.first_run = None
        shiboken6.delete(desktop.window)  # now: as long as its 1,500 widgets live, a change of the theme takes seconds

    def say(self, status: Status) -> None:
        """Let the worker tell a status, and wait until the window shows it."""
        status = msgspec.structs.replace(status, time=time.time())
        self.toy.answers["status"] = lambda params: status  # a slow window asks again
        seen = Snapshot(status, self.toy.settings, [CurvePoint(64, 2048, 1, 0.5)])
        self.toy.answers["subscribe"] = lambda params: seen  # as it does when another run is told of
        self.toy.tell("status", status)
        until(lambda: self.desktop._last is not None and self.desktop._last.time == status.time, "the status")

    def show(self, place: str, size: tuple[int, int]) -> QWidget:
        """Show a place at a size; what is of it is within the widget that is returned."""
        window = self.desktop.window
        if place.startswith("first run"):
            return self._show_first_run(int(place[-1]) - 1, size)
        if self.first_run is not None:
            window.uncover()
            self.first_run = None
        window.resize(*size)
        for sheet in window.findChildren(Sheet):
            sheet.close_sheet()
        said = SAID.get(place, make_status(**FIGURES))
        if self.desktop._last is not None and self.desktop._last.task != said.task:
            self.say(said)
        window.open_page(
            {"text": "model", "talk": "model", "history": "model", "why": "home"}.get(
                place, "runs" if place in SHEETS else place
            )
        )
        page: QWidget = window.current_page()
        if place == "why":
            window.why.open_panel()
            page = window.why
        if place in ("add run", "join"):
            self.desktop.add_run("" if place == "add run" else "/a/manifest.toml")
            page = self.desktop.join_sheet
        if place == "invite":
            self.desktop.actions.invite.emit(make_status().run_id)
            page = self.desktop.invite_sheet
        if place == "talk":
            demo = self.desktop.model_page._shown
            assert isinstance(demo, TextDemo)
            demo.open_former(TRIED)
            if not demo.options.shows_all:
                demo.options.more.click()
        if place == "history":
            self.desktop.model_page.tried.put(TRIED)
            self.desktop.model_page.former_asked.emit()
            page = self.desktop.history_sheet
            page.delete_all.click()
        if place == "model":
            canvas = page.findChild(Canvas)
            assert canvas is not None
            if canvas.is_empty():
                QTest.mouseClick(canvas, Qt.MouseButton.LeftButton)
                until(lambda: window.current_page().digits.result.digit.text(), "the answer")  # type: ignore[attr-defined]
        if place == "home":
            until(lambda: not page._waiting, "the newest figures")  # type: ignore[attr-defined]
        if place == "trust":
            until(page.licences.table.isVisible, "the libraries")  # type: ignore[attr-defined]
        until(lambda: not self.desktop.client._asked, "the worker's answers")
        self.settle()
        return page

    def _show_first_run(self, step: int, size: tuple[int, int]) -> QWidget:
        window = self.desktop.window
        for sheet in window.findChildren(Sheet):
            sheet.close_sheet()
        if self.first_run is None:
            self.first_run = FirstRun(self.desktop.folder, self.desktop.client)
            self.first_run.lend.load()
            window.cover(self.first_run)
        window.resize(*size)
        self.first_run._show(step)
        until(lambda: not self.desktop.client._asked, "the worker's answers")
        self.settle()
        return self.first_run

    def settle(self) -> None:
        """Until plots are loaded and nothing moves any more."""
        window = self.desktop.window
        until(lambda: all(plot.loaded for plot in shown(window) if hasattr(plot, "loaded")), "the plots")
        places: list[tuple[QWidget, QRect]] = []
        calm = 0
        for _ in range(200):
            QTest.qWait(4)
            before, places = places, [(widget, widget.geometry()) for widget in shown(window)]
            calm = calm + 1 if before == places else 0
            if calm == 4:
                return
        raise AssertionError("the layout never comes to rest")


def rules() -> list[RuleStatus]:
    """As the worker asks them, with nothing measured."""
    settings = Settings(idle_only=True, exclusive_programs=("blender",), compute_hours="mo-fr 18:00-08:00")
    decision = decide(Signals(), settings, Wishes(), Compute(), Usage(), Held(), time.time())
    return [
        RuleStatus(one.rule, one.live, one.wants, one.stops, one.until, None, one.unknown) for one in decision.rules
    ]


USED = EnergyUse(0.41, 0.2, 0.12, 0.14)
FIGURES = {
    "reason": (notice("user.used", idle=24),),
    "until": (notice("user.until", start=time.time() + 276),),
    "state": "waiting",
    "start_now": True,
    "why": rules(),
    "energy": EnergyStatus(USED, USED),
    "devices": [
        *make_status().devices,
        DeviceStatus("GPU-1", "Radeon RX 7600", "gpu", True, (), 0.71, 0.0, 61.0, 84.0, 8 * 10**9, experts=4),
        DeviceStatus("GPU-2", "Radeon RX 550", "gpu", False, (notice("user.used", idle=24),)),
    ],
    "yields": YieldStatus(37, 62.0, 118.0, [40.0, 62.0, 118.0]),
    "runs": [msgspec.structs.replace(joined_run(SIGNED), id=make_status().run_id)],
}
TALKS = text_status(run_id="stories-12345678", task="tokens", chat=True)
SAID = {"text": text_status(), "talk": TALKS, "history": TALKS}
"""Statuses by place; elsewhere that of the digits."""
TRIED = Tried(
    1_760_000_000.0, TALKS.run_id, TALKS.run_title, (Said("user", "hearth"), Said("assistant", "Hearth")), chat=True
)
FINDINGS = [
    Finding("port", True, notice("doctor.listening", address="0.0.0.0:4433"), plain("")),
    Finding("peers", False, notice("doctor.connected", connected=0, known=0), notice("doctor.reach_remedy")),
    Finding("nat", None, notice("verdict.unknown"), notice("doctor.unmeasured")),
]


@pytest.fixture(scope="module")
def app_screen(tmp_path_factory: pytest.TempPathFactory, qapp: QApplication) -> Iterator[Screen]:
    folder = tmp_path_factory.mktemp("every page")
    agreed(folder)
    toy = ToyWorker(folder)
    prepare(toy, tmp_path_factory.mktemp("summer"))
    theme().set_mode("light")
    scale = theme().scale
    screen = Screen(folder, toy)
    yield screen
    screen.end()
    toy.close()
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    theme().set_scale(scale)
    theme().set_mode("system")
    speak("system")


def prepare(toy: ToyWorker, summer: Path) -> None:
    """Let it answer what the pages ask; `summer` is for the ledger."""
    toy.answers["grid"] = lambda params: make_grid(params["layer"], layers=2, side=16)
    peers = make_peers(40)
    toy.answers["network"] = lambda params: make_network(peers, params["first"])
    toy.answers["doctor"] = lambda params: FINDINGS
    toy.answers["trunk"] = lambda params: make_trunk()
    toy.answers["run_details"] = lambda params: SIGNED if params["run"].startswith("digits") else UNSIGNED
    toy.answers["found_runs"] = lambda params: [FoundRun("pictures-00000000", KEY, 2, LINK)]
    toy.answers["run_link"] = lambda params: RunLinked(LINK)
    a_summer.write(summer, time.time())
    toy.tell_of(read_only(summer))


@pytest.fixture(scope="module", params=VARIANTS)
def screen(request: pytest.FixtureRequest, app_screen: Screen) -> Screen:
    theme().set_mode("light")
    app_screen.start(VARIANTS[request.param])
    return app_screen


@pytest.fixture(scope="module", params=["english", "mirrored"])
def either_way(request: pytest.FixtureRequest, app_screen: Screen) -> Screen:
    app_screen.start(VARIANTS[request.param])
    return app_screen


# texts


def tight(root: QWidget) -> list[str]:
    """What `misfits` does not look at: painted words, columns' heads, fields, and elided texts that tell no more."""
    found = []
    for widget in shown(root):
        name, metrics = f"{widget.accessibleName()!r}", QFontMetrics(widget.font())
        if isinstance(widget, PageButton) and not widget.toolTip() and widget.width() < widget.sizeHint().width():
            found.append(f"{name}: {widget.width()} of {widget.sizeHint().width()}")
        if isinstance(widget, ElidedLabel) and metrics.horizontalAdvance(widget.text()) > widget.width():
            widget.grab()
            if widget.toolTip() != widget.text():
                found.append(f"{name}: elided without a tip")
        if isinstance(widget, QScrollArea) and (inner := widget.widget()) is not None:
            wide, seen = inner.width(), widget.viewport().width()
            if wide > seen:
                found.append(f"what scrolls is {wide} wide, seen are {seen}")
        if isinstance(widget, QTreeView) and not widget.isHeaderHidden():
            head = widget.header()
            for column in range(head.count()):
                title = str(widget.model().headerData(column, Qt.Orientation.Horizontal))
                if QFontMetrics(head.font()).horizontalAdvance(title) > head.sectionSize(column):
                    found.append(f"column {title!r}: {head.sectionSize(column)}")
        if isinstance(widget, QComboBox) and metrics.horizontalAdvance(widget.currentText()) > widget.width() - 36:
            found.append(f"choice {widget.currentText()!r}: {widget.width()}")
        if isinstance(widget, QSpinBox) and metrics.horizontalAdvance(widget.text()) > widget.lineEdit().width():
            found.append(f"field {widget.text()!r}: {widget.lineEdit().width()}")
        if isinstance(widget, QLineEdit) and metrics.horizontalAdvance(widget.placeholderText()) > widget.width() - 12:
            found.append(f"placeholder {widget.placeholderText()!r}: {widget.width()}")
    return found


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [SMALL, USUAL], ids=["small", "usual"])
def test_no_text_is_clipped(screen: Screen, size: tuple[int, int], place: str) -> None:
    root = screen.show(place, size)
    outside = [] if place.startswith("first") else [screen.desktop.window.footer, screen.desktop.window.sidebar]
    assert [line for part in (root, *outside) for line in misfits(part) + tight(part)] == []


def test_all_pages_are_looked_at(app_screen: Screen) -> None:
    assert tuple(page.name for page in app_screen.desktop.window.pages) == PAGES
    assert len(FirstRun(app_screen.desktop.folder, app_screen.desktop.client).steps) == 4


def said(root: QWidget) -> Iterator[tuple[str, str]]:
    """Every text that somebody sees or hears, and by which way."""
    for widget in (root, *shown(root)):
        yield "name", widget.accessibleName()
        yield "description", widget.accessibleDescription()
        yield "tip", widget.toolTip()
        if isinstance(widget, QLabel | QAbstractButton):
            yield "text", widget.text()
        if isinstance(widget, QLineEdit):
            yield "placeholder", widget.placeholderText()
        if isinstance(widget, QComboBox):
            yield from (("choice", widget.itemText(at)) for at in range(widget.count()))
        if isinstance(widget, QTreeView) and not widget.isHeaderHidden():
            for column in range(widget.model().columnCount()):
                yield "column", str(widget.model().headerData(column, Qt.Orientation.Horizontal))


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_left_in_english(app_screen: Screen, place: str) -> None:
    if language._Spoken.catalogue.messages.get(Message("window", "Home"), ("",))[0] != longer("Home"):
        app_screen.start(VARIANTS["longer"])
    root = app_screen.show(place, USUAL)
    assert [f"{way}: {text}" for way, text in said(root) if is_english(text)] == []


def is_english(text: str) -> bool:
    """Whether a text has words outside of all brackets that are no data."""
    depth, outside = 0, ""
    for sign in text:
        depth += (sign == OPEN) - (sign == CLOSE)
        if not depth and sign != CLOSE:
            outside += sign
    words = [word.strip(".,;:()“”") for word in outside.split()]
    return any(2 < len(word) < 30 and word.isalpha() and word not in (*DATA, *UNITS) for word in words)


UNITS = ("min", "kWh", "samples")


# names and the focus


def stops(root: QWidget) -> list[QWidget]:
    """What the Tab key shall reach."""
    return [
        widget
        for widget in shown(root)
        if widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None
    ]


@pytest.mark.parametrize("place", PLACES)
def test_every_control_has_a_name(app_screen: Screen, place: str) -> None:
    root = app_screen.show(place, USUAL)
    found = stops(root)
    assert found
    assert [f"{type(widget).__name__} {widget.geometry()}" for widget in found if not widget.accessibleName()] == []


def areas(widget: QWidget, root: QWidget) -> list[QScrollArea]:
    """The scroll areas that hold it, the outermost first."""
    found: list[QScrollArea] = []
    step: QWidget | None = widget
    while step is not None and step is not root:
        if isinstance(step, QScrollArea) and step is not widget:
            found.append(step)
        step = step.parentWidget()
    return found[::-1]


def places_of(one: QWidget, other: QWidget, root: QWidget) -> tuple[QRect, QRect]:
    """Where two controls stand, or the areas that scroll them where that is not the same one."""
    ground, parts = root, [one, other]
    for pair in itertools.zip_longest(areas(one, root), areas(other, root)):
        if pair[0] is not pair[1]:
            parts = [area or part for area, part in zip(pair, parts, strict=True)]
            break
        ground = pair[0].widget() or root
    first, second = (QRect(part.mapTo(ground, QPoint(0, 0)), part.size()) for part in parts)
    return first, second


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [SMALL, USUAL], ids=["small", "usual"])
def test_the_focus_goes_in_reading_order_and_everywhere(either_way: Screen, size: tuple[int, int], place: str) -> None:
    screen, root = either_way, either_way.show(place, size)
    window = screen.desktop.window
    mirrored = window.layoutDirection() is Qt.LayoutDirection.RightToLeft
    wanted = set(stops(root))
    order: list[QWidget] = []
    before: QWidget = window.sidebar.chip
    if isinstance(root, Sheet):
        before = root._controls()[0]
    if screen.first_run is not None:
        before = screen.first_run.current.heading
    before.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(400):
        here = window.focusWidget()
        if here is None or here in order:
            break
        order.append(here)
        QTest.keyClick(here, Qt.Key.Key_Tab)
    missed = [widget.accessibleName() for widget in wanted - set(order)]
    assert missed == []
    reached = [widget for widget in order if widget in wanted]
    wrong = []
    for one, following in itertools.pairwise(reached):
        a, b = places_of(one, following, root)
        right_of = b.right() <= a.left() + 4 if mirrored else b.left() >= a.right() - 4
        below = b.top() >= a.top() - 4 and not (b.bottom() <= a.top())
        if not (below or right_of or one.isAncestorOf(following)):
            wrong.append(f"{one.accessibleName()!r} {a} -> {following.accessibleName()!r} {b}")
    assert wrong == []


# colours


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_what_is_painted_behind_it(app_screen: Screen, place: str, mode: str) -> None:
    if app_screen.desktop.window.layoutDirection() is Qt.LayoutDirection.RightToLeft or theme().scale > 1.2:
        app_screen.start(VARIANTS["english"])
    theme().set_mode("dark" if mode == "dark" else "light")
    root = app_screen.show(place, USUAL)
    image = app_screen.desktop.window.grab().toImage()
    faint = []
    for widget in shown(root):
        tone = tone_of(widget)
        seen = seen_part(widget)
        if not tone or seen.width() < 8 or seen.height() < 8:
            continue
        ground = ground_of(image, seen, widget.devicePixelRatioF())
        ratio = contrast(theme().color(tone).name(), ground.name())
        if ratio < TEXT:
            faint.append(f"{widget.accessibleName() or getattr(widget, 'text', str)()!r}: {tone} {ratio:.2f}")
    assert faint == []


def tone_of(widget: QWidget) -> str:
    if not widget.isEnabled():
        return ""  # what cannot be used may be faint
    if isinstance(widget, QLabel) and widget.text():
        return str(widget.property("tone") or "text")
    return widget._tone() if isinstance(widget, Button) and widget.text() else ""


def seen_part(widget: QWidget) -> QRect:
    """In the window, as far as no scroll area hides it."""
    window = widget.window()
    rect = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
    step = widget.parentWidget()
    while step is not None and step is not window:
        if isinstance(step.parentWidget(), QAbstractScrollArea) or step.parentWidget() is window:
            rect &= QRect(step.mapTo(window, QPoint(0, 0)), step.size())
        step = step.parentWidget()
    return rect & window.rect()


def ground_of(image: QImage, rect: QRect, ratio: float) -> QColor:
    """The colour that most of an area has: text is thin."""
    pixels = (
        image.pixel(int(x * ratio), int(y * ratio))
        for y in range(rect.top() + 1, rect.bottom(), 3)
        for x in range(rect.left() + 1, rect.right(), max(1, rect.width() // 60))
    )
    return QColor.fromRgb(Counter(pixels).most_common(1)[0][0])
