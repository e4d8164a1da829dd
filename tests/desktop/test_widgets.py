"""The window's own controls: named, reachable by keyboard, and their text fits everywhere."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QFontMetrics, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QLabel,
    QMenu,
    QScrollArea,
    QWidget,
    QWidgetItem,
)
from pytestqt.qtbot import QtBot
from shiboken6 import getAllValidWrappers, isValid

from app import theme as look
from app.actions import Actions
from app.language import speak, told
from app.pages.home.home_page import HomePage
from app.pages.log_page import LogModel
from app.pages.model.answer_grid import AnswerGrid, AnswerList
from app.pages.model.answering_hosts import Hosts
from app.pages.network.peers_card import PeersCard
from app.theme import theme
from app.widgets.basics import Bar, Card, ElidedLabel, Pair
from app.widgets.boxes import STRETCH, discard, hbox, items_of, vbox
from app.widgets.buttons import Button, Segmented, Switch
from app.widgets.while_seen import WhileSeen
from app.window.main_window import MainWindow
from app.window.page import Page
from app.window.pause_button import PauseButton, fill_pause_menu, pause_choices, when
from app.window.sidebar import StateChip, broken
from app.worker.client import WorkerClient
from core.contracts.control import Answer
from core.contracts.network_status import PeerStatus
from core.contracts.notices import notice
from core.contracts.status import CurvePoint, LogLine, Status
from tests.desktop.conftest import make_status
from tests.zones import zone

SIZES = [(880, 600), (1040, 720), (1600, 1000)]


@pytest.fixture
def plain_theme(qapp: QApplication) -> Iterator[None]:
    theme().set_mode("light")
    scale = theme().scale
    yield
    theme().set_scale(scale)
    theme().set_mode("system")


def make_window(qtbot: QtBot, size: tuple[int, int] = (1040, 720)) -> tuple[MainWindow, Actions]:
    actions = Actions()
    pages = [
        HomePage(actions, WorkerClient(Path("no folder"), "0.1.0")),
        Page("model", "Try the model", "model"),
        Page("settings", "Settings", "settings"),
    ]
    window = MainWindow(pages, actions)
    window.may_close = True
    qtbot.addWidget(window)
    window.resize(*size)
    window.show()
    qtbot.waitUntil(window.isActiveWindow)
    window.set_connected(True)
    window.update_curve([CurvePoint(step, step * 32, 2.3, 0.5) for step in range(0, 6400, 64)])
    window.update_status(make_status())
    QApplication.processEvents()
    return window, actions


def misfits(window: QWidget) -> list[str]:
    """Every visible text that does not get the room it asks for, and every child that leaves its parent."""
    found = []
    for widget in window.findChildren(QWidget):
        if not widget.isVisible():
            continue
        if isinstance(widget, QLabel) and widget.text() and not isinstance(widget, ElidedLabel):
            wraps = widget.wordWrap()
            high = widget.heightForWidth(widget.width()) if wraps else widget.sizeHint().height()
            if widget.height() < high or (not wraps and widget.width() < widget.sizeHint().width()):
                found.append(f"{widget.text()!r}: {widget.size()} of {widget.sizeHint()}, height {high}")
        if isinstance(widget, QAbstractButton) and (
            widget.width() < widget.minimumSizeHint().width() or widget.height() < widget.minimumSizeHint().height()
        ):
            found.append(f"{widget.accessibleName()!r}: {widget.size()}")
        parent = widget.parentWidget()
        scrolls = parent is not None and isinstance(parent.parentWidget(), QAbstractScrollArea)
        if parent is not None and not scrolls and not parent.rect().contains(widget.geometry()):
            found.append(f"{widget} {widget.geometry()} leaves {parent} {parent.rect()}")
    return found


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Until the plots are loaded and every layout has taken its place."""
    qtbot.waitUntil(lambda: all(plot.loaded for plot in window.findChildren(QWidget) if hasattr(plot, "loaded")))
    QApplication.processEvents()


def test_a_window_at_rest_lays_nothing_out(qtbot: QtBot) -> None:
    class Layouts(QObject):
        asked = 0

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            self.asked += event.type() == QEvent.Type.LayoutRequest
            return False

    window, _ = make_window(qtbot)
    settle(qtbot, window)
    for _ in range(20):  # what the last change has left
        QApplication.processEvents()
    layouts, app = Layouts(), QApplication.instance()
    assert app is not None
    app.installEventFilter(layouts)
    for _ in range(20):
        QApplication.processEvents()
    app.removeEventFilter(layouts)
    assert layouts.asked == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("variant", ["plain", "fallback font", "large text", "long strings"])
def test_every_text_fits(
    plain_theme: None, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], variant: str
) -> None:
    if variant == "fallback font":
        monkeypatch.setitem(look.SANS, "linux", ["DejaVu Sans"])
    theme().set_scale(1.5 if variant == "large text" else 1.0)
    window, _ = make_window(qtbot, size)
    settle(qtbot, window)
    if variant == "long strings":
        for widget in window.findChildren(QWidget):
            if isinstance(widget, QLabel | QAbstractButton) and widget.text():
                words = (widget.text() + " " + widget.text())[: max(3, int(len(widget.text()) * 1.4))]
                widget.setText(words)
        window.resize(size[0] + 1, size[1])
    for _ in range(4):
        QApplication.processEvents()
    assert misfits(window) == []


def test_the_check_finds_a_clipped_text(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    label = QLabel("This sentence is much too long for so little room", window)
    label.setGeometry(0, 0, 30, 12)
    label.show()
    assert any("too long" in line for line in misfits(window))


def test_every_control_has_a_name(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    settle(qtbot, window)
    focusable = [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(focusable) >= 8
    assert [widget for widget in focusable if not widget.accessibleName()] == []


def test_the_focus_ring_is_for_the_keyboard_only(plain_theme: None, qtbot: QtBot) -> None:
    window, actions = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    pauses: list[object] = []
    actions.pause.connect(pauses.append)
    button = next(b for b in window.findChildren(Button) if b.isVisible() and b.text() == "Pause")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert pauses == [None] and window.ring.target is None and not window.ring.isVisible()
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Tab)
    ringed = window.ring.target
    assert ringed is not None and ringed.accessibleName() == "More ways to pause" and window.ring.isVisible()
    around = window.ring.geometry()
    inner = ringed.rect().translated(ringed.mapTo(window, QPoint(0, 0)))
    assert around.contains(inner) and around != inner
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not window.ring.isVisible()


def test_pages_are_chosen_by_click_and_shortcut(plain_theme: None, qtbot: QtBot) -> None:
    window, actions = make_window(qtbot)
    titles = [button.text() for button in window.sidebar.buttons]
    assert titles == ["Home", "Try the model", "Settings"]
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(window.sidebar.buttons[1].isChecked)
    assert window.current_page().name == "model"
    QTest.mouseClick(window.sidebar.buttons[2], Qt.MouseButton.LeftButton)
    assert window.current_page().name == "settings"
    actions.open_page.emit("home")
    assert window.current_page().name == "home"


class Listener(Page):
    """Keeps what the window tells it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, name.title(), "model")
        self.heard: list[bool | int] = []

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        self.heard.append(connected)

    def update_status(self, status: Status) -> None:
        self.heard.append(status.step)


def test_a_lost_worker_is_told_to_one_page_at_a_time(plain_theme: None, qtbot: QtBot) -> None:
    shown, *hidden = pages = [Listener(name) for name in ("home", "model", "experts", "trust")]
    window = MainWindow(pages, Actions())
    window.may_close = True
    qtbot.addWidget(window)
    window.show()
    window.set_connected(False, "Worker stopped.")
    assert shown.heard == [False] and not any(page.heard for page in hidden)
    window.open_page("experts")
    assert [page.heard for page in hidden] == [[], [False], []], "nobody sees a page that does not know"
    window.set_connected(True)  # before all were told of the loss
    window.update_status(make_status(step=64))
    assert hidden[1].heard == [False, True, 64]
    qtbot.waitUntil(lambda: all(page.heard for page in hidden))
    assert shown.heard == [False, True, 64]
    assert [page.heard for page in hidden] == [[True, 64], [False, True, 64], [True, 64]]
    window.update_status(make_status(step=65))
    assert all(page.heard[-1] == 65 for page in pages)


@pytest.mark.parametrize("away", ["hide", "showMinimized"])
def test_a_window_that_nobody_sees_works_for_no_status(plain_theme: None, qtbot: QtBot, away: str) -> None:
    shown, other = pages = [Listener("home"), Listener("model")]
    window = MainWindow(pages, Actions())
    window.may_close = True
    qtbot.addWidget(window)
    looks: list[None] = []
    WhileSeen(shown, 3_600_000, lambda: looks.append(None))
    window.show()
    qtbot.waitExposed(window)
    window.set_connected(True)
    window.update_status(make_status(step=1))
    qtbot.waitUntil(lambda: [page.heard for page in pages] == [[True, 1]] * 2)
    getattr(window, away)()
    qtbot.waitUntil(lambda: not window.sight.seen)
    before = len(looks)
    window.update_status(make_status(step=2))
    window.update_status(make_status(step=3, state="paused"))
    assert [page.heard for page in pages] == [[True, 1]] * 2 and "Paused" not in window.sidebar.chip.accessibleName()
    window.showNormal()
    qtbot.waitUntil(lambda: window.sight.seen)
    assert [page.heard for page in pages] == [[True, 1, 3]] * 2, "the newest, and once"
    assert "Paused" in window.sidebar.chip.accessibleName() and len(looks) > before
    window.update_status(make_status(step=4))
    assert shown.heard[-1] == other.heard[-1] == 4


def test_figures_from_before_a_worker_was_lost_stay_also_if_nobody_saw_them(plain_theme: None, qtbot: QtBot) -> None:
    page = Listener("home")
    window = MainWindow([page], Actions())
    qtbot.addWidget(window)
    window.update_status(make_status(step=5))
    assert page.heard == []
    window.set_connected(False, "Worker stopped.")
    assert page.heard == [5, False]


def test_ctrl_shift_p_pauses_and_resumes(plain_theme: None, qtbot: QtBot) -> None:
    window, actions = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    with qtbot.waitSignal(actions.pause):
        QTest.keyClick(window, Qt.Key.Key_P, both)
    window.update_status(make_status(state="paused"))
    with qtbot.waitSignal(actions.resume):
        QTest.keyClick(window, Qt.Key.Key_P, both)


def test_a_focus_that_its_control_lost_by_hiding_shows_no_ring(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    button = next(b for b in window.findChildren(Button) if b.isVisible() and b.text() == "Pause")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert button.hasFocus()
    button.hide()
    assert not button.hasFocus()
    assert window.ring.target is None


def test_a_focus_that_its_control_lost_by_being_disabled_shows_no_ring(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    button = next(b for b in window.findChildren(Button) if b.isVisible() and b.text() == "Pause")
    button.clicked.connect(lambda: button.setEnabled(False))
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not button.hasFocus() and window.focusWidget() is not None
    assert window.ring.target is None


def test_ctrl_comma_takes_the_ring_along(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for key, number in ((Qt.Key.Key_2, 1), (Qt.Key.Key_Comma, 2)):
        QTest.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
        assert window.sidebar.buttons[number].isChecked()
        assert window.ring.target is window.sidebar.buttons[number]


@pytest.mark.parametrize("under_a_sheet", [False, True])
def test_a_control_with_the_focus_may_be_taken_down(plain_theme: None, qtbot: QtBot, under_a_sheet: bool) -> None:
    window, _ = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    card = next(card for card in window.current_page().findChildren(Card) if card.isVisible())
    late = Button("Late")
    card.body.addWidget(late)
    late.show()
    window.ring.by_keyboard = True
    late.setFocus(Qt.FocusReason.TabFocusReason)
    assert window.ring.target is late
    if under_a_sheet:
        window.why.open_panel()
    window.ring.by_keyboard = False
    late.deleteLater()
    qtbot.waitUntil(lambda: not isValid(late))
    window.why.close_sheet()
    window.resize(window.width() + 50, window.height())
    QApplication.processEvents()
    assert not window.why.isVisible()
    # the focus may have moved on, and the ring with it
    assert not window.ring.isVisible() or (window.ring.target is not None and isValid(window.ring.target))


def test_the_ring_goes_round_what_a_control_shows(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    grid = AnswerGrid(0, Hosts())
    grid.setParent(window)
    grid.setGeometry(400, 100, 500, 200)
    grid.show()
    window.ring.by_keyboard = True
    grid.setFocus(Qt.FocusReason.TabFocusReason)
    window.ring.by_keyboard = False
    assert window.ring.target is grid
    assert window.ring.width() == window.ring.height() < 200


def test_a_small_window_has_a_rail_with_names_as_tooltips(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot, (880, 600))
    assert window.sidebar.width() == theme().px(64)
    window.grab()
    assert [button.toolTip() for button in window.sidebar.buttons] == ["Home", "Try the model", "Settings"]
    window.resize(1040, 720)
    qtbot.waitUntil(lambda: window.sidebar.width() == theme().px(212))


def test_closing_asks_and_does_not_close(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    window.may_close = False
    with qtbot.waitSignal(window.close_requested):
        assert not window.close()
    assert window.isVisible()
    window.may_close = True
    assert window.close()


def test_a_note_offers_one_thing_to_do(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    button = window.tell("Threads set to 2.", "Undo")
    assert button.isVisible() and button.text() == "Undo"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not window.note.isVisible()


def test_a_note_moves_nothing_and_can_be_dismissed(plain_theme: None, qtbot: QtBot) -> None:
    window, _ = make_window(qtbot)
    settle(qtbot, window)
    page = window.current_page()
    window.tell("This desktop shows no tray, so the window is minimised instead. Ctrl+Q ends Hearth.")
    QApplication.processEvents()
    assert page.geometry().bottom() + 1 + window.footer.height() == window.height()
    assert not page.findChildren(QScrollArea)[0].verticalScrollBar().isVisible()
    assert window.note.geometry().bottom() < window.footer.y()
    assert misfits(window) == []
    window.resize(900, 640)
    QApplication.processEvents()
    assert window.note.geometry().bottom() < window.footer.y() and window.note.geometry().right() < window.width()
    QTest.mouseClick(window.note.dismiss, Qt.MouseButton.LeftButton)
    assert not window.note.isVisible()


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_the_chip_tells_all_of_what_is_usual(plain_theme: None, qtbot: QtBot, scale: float, language: str) -> None:
    speak(language)
    try:
        theme().set_scale(scale)
        window, _ = make_window(qtbot)
        window.resize(1600, 1000)  # more than its screen has
        QApplication.processEvents()
        chip, usual = window.sidebar.chip, told((notice("user.away_for", idle=720), notice("run.training", n=80)))
        long = told((notice("cpu_busy.reason", share=0.6), notice("compute.stopped")))
        word, line = (QFontMetrics(theme().font(role)).height() for role in ("cap_strong", "micro"))
        for reason in (usual, long, told((notice("programs.reason", program="Blender"), notice("compute.stopped")))):
            chip.set_state("yielding", reason)
            assert " ".join(chip.reason_lines()) == reason
            assert word + len(chip.reason_lines()) * line <= chip.height()
        QApplication.processEvents()
        assert chip.geometry().bottom() < window.sidebar.height(), "it grows upwards"
    finally:
        speak("system")


def test_lines_are_broken_between_words_and_the_last_is_elided(plain_theme: None, qtbot: QtBot) -> None:
    metrics, text = QFontMetrics(theme().font("micro")), "You are back. Compute is being stopped within 250 ms."
    width = metrics.horizontalAdvance("Compute is being stopped")
    lines = broken(text, metrics, width, 2)
    assert len(lines) == 2 and lines[0].startswith("You are back.") and lines[1].endswith("…")
    assert all(metrics.horizontalAdvance(line) <= width for line in lines)
    assert " ".join(broken(text, metrics, width, 3)) == text and broken("", metrics, width, 2) == []


def test_pause_choices_say_when_they_end() -> None:
    now = datetime(2026, 3, 5, 14, 47)
    choices = pause_choices(now)
    assert [choice.seconds(now) for choice in choices] == [900, 3600, (17 * 60 + 13) * 60, None]
    ends = [when(choice.end, now) for choice in choices if choice.end]
    assert ends[1].startswith("until ") and "47" in ends[1]
    assert "8" in ends[2] and not ends[2].startswith("until")


def test_a_pause_ends_when_it_says_where_clocks_are_set_meanwhile() -> None:
    with zone("Europe/Berlin"):
        for evening, hours in ((datetime(2026, 3, 28, 20), 11), (datetime(2026, 10, 24, 20), 13)):
            tomorrow = pause_choices(evening)[2]
            assert tomorrow.seconds(evening) == hours * 3600 and tomorrow.end is not None and tomorrow.end.hour == 8
        night = datetime(2026, 3, 29, 1, 30)
        hour = pause_choices(night)[1]
        assert hour.seconds(night) == 3600 and hour.end is not None and (hour.end.hour, hour.end.minute) == (3, 30)


def test_pause_menu_and_button(plain_theme: None, qtbot: QtBot) -> None:
    actions = Actions()
    menu = QMenu()
    fill_pause_menu(menu, actions, datetime(2026, 3, 5, 14, 47))
    asked: list[object] = []
    actions.pause.connect(asked.append)
    for entry in menu.actions():
        entry.trigger()
    button = PauseButton(actions)
    qtbot.addWidget(button)
    button.main.click()
    assert asked == [900, 3600, (17 * 60 + 13) * 60, None, None]
    assert "\tuntil" in menu.actions()[0].text()


def test_segments_move_by_arrow_keys(plain_theme: None, qtbot: QtBot) -> None:
    control = Segmented({"system": "System", "light": "Light", "dark": "Dark"}, "Theme")
    qtbot.addWidget(control)
    control.show()
    chosen: list[str] = []
    control.chosen.connect(chosen.append)
    first, second, third = control.findChildren(QAbstractButton)
    control.activateWindow()
    qtbot.waitUntil(control.isActiveWindow)
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Right)
    assert second.hasFocus() and not first.focusPolicy() & Qt.FocusPolicy.TabFocus
    QTest.keyClick(second, Qt.Key.Key_Right)
    QTest.keyClick(third, Qt.Key.Key_Right)
    assert chosen == ["light", "dark"] and control.value() == "dark"
    control.set_value("system")
    assert chosen == ["light", "dark"]


def test_a_switch_toggles_by_space(plain_theme: None, qtbot: QtBot) -> None:
    switch = Switch("Compute only while I am away")
    qtbot.addWidget(switch)
    switch.show()
    with qtbot.waitSignal(switch.toggled):
        QTest.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked() and switch.height() >= 24


def items_known() -> list[QWidgetItem]:
    """What PySide has made of items, those of other tests' windows among them."""
    return [item for item in getAllValidWrappers() if isinstance(item, QWidgetItem)]


def test_items_of_a_layout_are_forgotten_before_qt_deletes_them(qtbot: QtBot) -> None:
    """Whatever came to lie where one was would be taken for it."""
    before = items_known()
    page = QWidget()
    qtbot.addWidget(page)
    box = hbox(QLabel("one"), vbox(QLabel("two")), QLabel("three"), STRETCH, within=page)
    assert [type(item.widget()).__name__ for item in items_of(box)] == ["QLabel", "NoneType", "QLabel", "NoneType"]
    discard(page.findChildren(QLabel))
    assert [item for item in items_known() if not any(item is known for known in before)] == []
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert [item.layout() is not None for item in items_of(box)] == [True, False]


def test_pairs_stack_in_a_small_window(plain_theme: None, qtbot: QtBot) -> None:
    theme().set_scale(1.5)
    window, _ = make_window(qtbot, (1000, 700))
    found = (pair.findChildren(Card) for pair in window.findChildren(Pair))
    first, second = next(cards[:2] for cards in found if len(cards) > 1)
    assert second.y() > first.geometry().bottom() and first.x() == second.x()
    window.resize(1600, 1000)
    QApplication.processEvents()
    assert second.x() > first.geometry().right() and first.y() == second.y()


def test_what_others_say_is_no_html_in_tooltips(qtbot: QtBot) -> None:
    evil = '<img src="file://elsewhere/picture.png"><b>a peer</b>'
    label, chip, answers, grid = ElidedLabel(evil), StateChip(), AnswerList(Hosts()), AnswerGrid(0, Hosts())
    log, peers = LogModel(), PeersCard()
    for widget in (label, chip, answers, grid, peers):
        qtbot.addWidget(widget)
    label.resize(50, 20)
    label.grab()
    chip.set_state("attention", evil)
    answers.set_answers([Answer(0, "digits.0.1.1", 1.0, 1.0, True, host=evil)])
    log.append([LogLine(1.0, "info", "worker", evil)])
    peers.show_peers([PeerStatus(evil, "direct", evil, 1.0, 1, 1, 1.0, 0.0)])
    role = Qt.ItemDataRole.ToolTipRole
    tips = [label.toolTip(), chip.toolTip(), *(row.toolTip() for row in answers.findChildren(QLabel) if row.toolTip())]
    tips += [log.data(log.index(0), role), *(peers.model.data(peers.model.index(0, column), role) for column in (0, 1))]
    assert len(tips) == 6
    for shown in tips:
        document = QTextDocument()
        document.setHtml(shown)  # as a tooltip does
        assert document.toPlainText().endswith(evil)


@pytest.mark.parametrize("share,pixels", [(0.0004, 0), (0.004, 2), (0.5, 100), (1.0, 200)])
def test_a_bar_is_as_long_as_its_share(plain_theme: None, qtbot: QtBot, share: float, pixels: int) -> None:
    bar = Bar()
    qtbot.addWidget(bar)
    bar.setFixedSize(200, 5)
    empty = bar.grab().toImage()
    bar.set_value(share)
    picture = bar.grab().toImage()
    assert sum(picture.pixelColor(x, 2) != empty.pixelColor(x, 2) for x in range(200)) == pixels
