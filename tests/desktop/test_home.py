"""Home: state, reason, what ends it; the fire; curves, this PC and the experts; light while nothing changes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.language import told
from app.pages.home.home_page import UNKNOWN, HomePage
from app.pages.home.state_card import SHOWN
from app.pages.home.today_card import ASKING
from app.theme import STATE_TONE, theme
from app.tray.tray_icons import SHAPES, TRAY_SIZES, app_icon, tray_color, tray_icon, tray_pixmap
from app.widgets.basics import Notice
from app.widgets.buttons import Button, Switch
from app.widgets.curve_plot import MAX_POINTS, CurvePlot, thin
from app.widgets.expert_grid import HOLLOW, ExpertGrid
from app.widgets.fire import ROWS, Fire
from app.widgets.plot import ticks
from app.window.main_window import MainWindow
from app.window.page import Page
from app.worker.client import WorkerClient
from core.community.ledger import Ledger
from core.community.reading import read_only
from core.contracts.control import ErrorInfo
from core.contracts.ledger import Amounts
from core.contracts.notices import english, notice, plain
from core.contracts.status import STATE_WORD, CurvePoint, DeviceStatus, State
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_network_page import make_network, make_peers
from tests.desktop.test_runs import DIGITS, TEXT

STATES: list[State] = list(STATE_WORD)
NOW = 1_760_000_000.0


@pytest.fixture
def home(qtbot: QtBot) -> Iterator[tuple[MainWindow, HomePage, Actions]]:
    theme().set_mode("light")
    actions = Actions()
    page = HomePage(actions, WorkerClient(Path("no folder"), "0.1.0"))
    window = MainWindow([page], actions)
    window.may_close = True
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(window.isActiveWindow)
    yield window, page, actions
    theme().set_mode("system")


Beside = tuple[WorkerClient, MainWindow, HomePage, Actions]


@pytest.fixture
def beside(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[Beside]:
    """The page in a window beside a worker that it has not dialled yet."""
    client, actions = WorkerClient(folder, "0.1.0"), Actions()
    page = HomePage(actions, client)
    window = MainWindow([page], actions)
    window.may_close = True
    qtbot.addWidget(window)
    window.show()
    yield client, window, page, actions
    client.hang_up()


def dial(qtbot: QtBot, client: WorkerClient, window: MainWindow) -> None:
    with qtbot.waitSignal(client.connected):
        client.dial()
    window.set_connected(True)


def texts(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.isVisible()]


def buttons(widget: QWidget) -> dict[str, Button]:
    return {button.text(): button for button in widget.findChildren(Button) if button.isVisible() and button.text()}


@pytest.mark.parametrize("state", STATES)
def test_state_reason_and_what_ends_it_stand_together(home: tuple[MainWindow, HomePage, Actions], state: State) -> None:
    window, page, _ = home
    window.update_status(make_status(state=state, reason="Because of this.", until="Ends like that."))
    shown = texts(page.state_card)
    order = [shown.index(text) for text in (STATE_WORD[state], "Because of this.", "Ends like that.")]
    assert order == sorted(order)
    assert window.sidebar.chip.accessibleName() == f"State: {STATE_WORD[state]}. Because of this."
    filled = [button for button in page.findChildren(Button) if button.isVisible() and button.kind == "primary"]
    assert len({button.parentWidget() for button in filled}) <= 1, "one primary action a page at most"


@pytest.mark.parametrize(
    "state,word,signal",
    [
        ("contributing", "Pause", "pause"),
        ("waiting", "Start now", "start_now"),
        ("yielding", "Start now", "start_now"),
        ("paused", "Resume", "resume"),
        ("limited", "Change rule", "open_page"),
        ("leaving", "Quit now", "quit"),
        ("attention", "Show the log", "open_page"),
    ],
)
def test_each_state_offers_its_action(
    qtbot: QtBot, home: tuple[MainWindow, HomePage, Actions], state: State, word: str, signal: str
) -> None:
    window, page, actions = home
    window.update_status(make_status(state=state, start_now=signal == "start_now"))
    assert ("Start now" in buttons(page.state_card)) == (signal == "start_now")
    with qtbot.waitSignal(getattr(actions, signal)):
        buttons(page.state_card)[word].click()


def test_of_a_run_that_reached_its_goal_another_one_is_offered(
    qtbot: QtBot, home: tuple[MainWindow, HomePage, Actions]
) -> None:
    window, page, actions = home
    window.update_status(make_status(state="limited", reason=(notice("run.reached"),)))
    assert any("reached its goal" in text for text in texts(page.state_card))
    assert buttons(page.state_card).keys() == {"Choose a run", "Pause", "Why am I not running?"}
    with qtbot.waitSignal(actions.open_page):
        buttons(page.state_card)["Choose a run"].click()


def test_every_state_has_a_word_a_colour_a_tray_shape_and_actions() -> None:
    assert set(STATE_WORD) == set(STATE_TONE) == set(SHAPES) == set(SHOWN) == set(State.__args__)  # type: ignore[attr-defined]


def test_figures_are_those_of_the_status(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.update_curve([CurvePoint(64, 2048, 2.1, 0.3), CurvePoint(4160, 133_120, 0.1234, 0.9612)])
    window.update_status(make_status())
    shown = texts(page)
    for text in ("96.1%", "0.123", "1,813 samples trained per second", "52 per second", "32 experts, 1 thread"):
        assert text in shown, text
    for text in ("Some Processor", "48% for Hearth", "64 MB of 16 GB", "58 °C", "31 W"):
        assert text in shown, text
    memory = next(label for label in page.findChildren(QLabel) if label.toolTip() == "Worker 61 MB")
    assert memory.text() == "64 MB of 16 GB"


def test_a_model_without_experts_is_whole_on_this_pc(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    status = make_status(layers=0, grid=(), experts=[], attention=[])
    [cpu] = status.devices
    window.update_status(msgspec.structs.replace(status, devices=[msgspec.structs.replace(cpu, experts=0)]))
    assert "The whole model, 1 thread" in texts(page)
    assert not any("0 experts" in text for text in texts(page))


CARD = DeviceStatus(
    "GPU-1", "Some Card", "gpu", True, (), load=0.71, celsius=61.0, watts=84.0, memory_bytes=8 * 10**9, experts=4
)


def test_each_graphics_processor_has_its_switch(qtbot: QtBot, toy: ToyWorker, beside: Beside) -> None:
    client, window, page, _ = beside
    dial(qtbot, client, window)
    off = msgspec.structs.replace(CARD, id="GPU-2", on=False, why=(notice("device.other_gpu"),), experts=0)
    window.update_status(make_status(devices=[*make_status().devices, CARD, off]))
    assert [switch.accessibleName() for switch in page.findChildren(Switch)] == ["Use Some Card"] * 2
    assert "4 experts" in texts(page) and english(notice("device.other_gpu")) in texts(page)
    switch = page.devices.devices["GPU-1"].switch
    assert switch is not None and switch.isChecked()
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: toy.settings["gpus_off"] == ("GPU-1",))
    qtbot.waitUntil(lambda: not client._asked)
    assert not switch.isChecked()
    toy.answers["set_settings"] = lambda params: ErrorInfo("settings", plain("The disk is full."))
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "The disk is full." in texts(page))
    assert not switch.isChecked(), "what the worker refused is not shown as done"
    window.set_connected(False, "Worker stopped.")
    assert not switch.isEnabled()


def test_how_others_reach_this_pc_is_told(qtbot: QtBot, toy: ToyWorker, folder: Path, beside: Beside) -> None:
    ledger = Ledger(folder)
    ledger.add("", "network.expert", Amounts(bytes_out=212_000_000, bytes_in=248_000_000))
    ledger.close()
    toy.tell_of(read_only(folder))
    toy.answers["network"] = lambda params: make_network(make_peers(3), 3)
    client, window, page, actions = beside
    dial(qtbot, client, window)
    named = {label.accessibleName() for label in page.network.findChildren(QLabel)}
    assert "Peers connected: \N{EN DASH}" in named
    wanted = {
        "Reachable from outside: Yes, direct",
        "Peers connected: 3",
        "Sent today: 212 MB",
        "Received today: 248 MB",
    }
    qtbot.waitUntil(lambda: wanted <= {label.accessibleName() for label in page.network.findChildren(QLabel)})
    toy.answers["network"] = lambda params: ErrorInfo("network", plain("No network."))
    page.network.look()
    qtbot.waitUntil(lambda: "Alone" in texts(page.network))
    with qtbot.waitSignal(actions.open_page) as opened:
        buttons(page.network)["Details"].click()
    assert opened.args == ["network"]


def test_without_data_nothing_is_made_up(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.set_connected(False, "The port 4711 is taken.")
    assert texts(page).count(UNKNOWN) == 3, "nothing is known of the curves or of the devices"
    window.set_connected(True)
    window.update_status(make_status(state="preparing", experts=[], accuracy=None, loss=None, calls_per_s=0.0))
    shown = texts(page)
    assert not any("%" in text for text in texts(page.model))
    assert sum(text.startswith("Not measured yet.") for text in shown) == 2
    assert UNKNOWN not in shown
    window.set_connected(False, "Worker stopped.")
    assert texts(page).count(UNKNOWN) == 2, "the devices are known from before"


def test_today_is_what_the_ledger_tells(qtbot: QtBot, toy: ToyWorker, folder: Path, beside: Beside) -> None:
    ledger = Ledger(folder)
    ledger.add("text", "cpu", Amounts(tokens=4_200_000, calls=60_000, peer_calls=48_210, seconds=1920.0, kwh=0.41))
    ledger.add("text", "GPU-1", Amounts(seconds=9600.0))
    ledger.close()
    toy.tell_of(read_only(folder))
    client, window, page, actions = beside
    assert page.today._words.text() == ASKING
    dial(qtbot, client, window)
    qtbot.waitUntil(lambda: any(page.today.plot.bars.sums()))
    shown = texts(page.today)
    for words in (
        "3 h 12 min",
        "shared, 2 h 40 min of it on the GPU",
        "48,210",
        "Tokens",
        "4.20",
        "Energy, about",
        "0.41",
    ):
        assert words in shown, words
    assert page.today._energy.accessibleName() == "Energy, about: 0.41 kWh"
    assert len(page.today.plot.bars.labels) == 7 and page.today.plot.bars.labels[-1] == "Today"
    asked = len(toy.asked)
    window.set_connected(False, "Worker stopped.")
    assert "3 h 12 min" in texts(page.today), "old figures stay"
    assert len(toy.asked) == asked
    with qtbot.waitSignal(actions.open_page) as opened:
        buttons(page.today)["Contribution"].click()
    assert opened.args == ["contribution"]


def test_today_counts_text_and_pictures(qtbot: QtBot, toy: ToyWorker, folder: Path, beside: Beside) -> None:
    ledger = Ledger(folder)
    ledger.add("text", "cpu", Amounts(tokens=674_000, seconds=60.0))
    ledger.add("digits", "cpu", Amounts(samples=44_512, seconds=60.0))
    ledger.close()
    toy.tell_of(read_only(folder))
    client, window, page, _ = beside
    dial(qtbot, client, window)
    qtbot.waitUntil(lambda: page.today._trained.accessibleName() == "Samples + tokens: 44,512 + 674 k tokens")


@pytest.mark.parametrize("state", ["paused", "yielding", "waiting"])
def test_no_rate_of_before_stands_under_a_stop(home: tuple[MainWindow, HomePage, Actions], state: State) -> None:
    window, page, _ = home
    window.update_status(make_status(time=NOW))
    assert "1,813 samples trained per second" in texts(page) and "52 per second" in texts(page)
    window.update_status(make_status(state=state, time=NOW + 0.1))  # with the rates of the second before
    assert "0 samples trained per second" in texts(page) and "0 per second" in texts(page)


def test_old_figures_stay_and_say_from_when(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.update_curve([CurvePoint(64, 2048, 2.1, 0.3)])
    window.update_status(make_status())
    window.set_connected(False, "Worker stopped, restarting in 4 s")
    shown = texts(page)
    assert "Needs attention" in shown and "Worker stopped, restarting in 4 s." in shown
    assert sum(text.startswith("from ") for text in shown) == 4
    assert "30.0%" in shown
    assert "Worker stopped, restarting in 4 s" in texts(window.footer)
    window.set_connected(True)
    window.update_status(make_status())
    assert not any(text.startswith("from ") for text in texts(page))
    assert "Worker connected" in texts(window.footer)


def test_without_a_worker_nothing_runs_and_no_rate_looks_new(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.update_status(make_status(cpu=True))
    assert "Why am I running?" in buttons(page.state_card)
    speed = next(label for label in page.findChildren(QLabel) if label.text().endswith("trained per second"))
    fresh = speed.property("tone")
    window.set_connected(False, "Worker stopped, restarting in 4 s")
    assert "Why am I not running?" in buttons(page.state_card) and speed.property("tone") == "text3"
    window.set_connected(True)
    window.update_status(make_status(cpu=True))
    assert "Why am I running?" in buttons(page.state_card) and speed.property("tone") == fresh


def test_the_speed_on_a_text_is_told_in_bytes_as_todays_text_is(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.update_status(make_status(run="text", task="text", samples_per_s=1403.0))
    speeds = [text for text in texts(page) if text.endswith("trained per second")]
    assert speeds == ["1.4 kB of text trained per second"]


def test_why_a_device_does_nothing_is_read_in_full(qtbot: QtBot, home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.resize(1040, 720)
    why = "Other programs use 62% of the CPU, or were busy a moment ago."
    cpu = msgspec.structs.replace(make_status().devices[0], on=False, why=(plain(why),))
    window.update_status(make_status(state="waiting", devices=[cpu]))
    words = page.devices.devices["cpu"].words
    assert words.text() == why
    qtbot.waitUntil(lambda: words.height() >= words.heightForWidth(words.width()) > words.fontMetrics().height())


def test_what_is_wrong_is_told_although_training_goes_on(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    trouble = "The disk is full: no checkpoint since 14:31. Free some space."
    window.update_status(make_status(attention=[trouble]))
    assert trouble in texts(page)
    window.update_status(make_status())
    assert trouble not in texts(page)


def test_an_organisers_notice_and_a_change_of_the_manifest_are_not_what_is_wrong(
    home: tuple[MainWindow, HomePage, Actions],
) -> None:
    window, page, _ = home
    changed = notice("run.changed", revision=3, fields=["title"])
    said = notice("run.organiser_says", time=1_790_000_000.0, text="We pause on Sunday.")
    several = notice("run.says", run="Handwritten digits", what=said)
    window.update_status(make_status(attention=["The disk is full.", changed, said, several]))
    boxes = [box for box in page.findChildren(Notice) if box.isVisible()]
    assert [box.accessibleName() for box in boxes] == [
        "The disk is full.",
        told(changed),
        f"{told(said)} {told(several)}",
    ]
    assert [box.fill for box in boxes] == ["bad_soft", "peer_soft", "peer_soft"], "red is what is wrong alone"
    window.update_status(make_status(state="attention", reason="The GPU failed.", attention=["The GPU failed.", said]))
    assert [box.accessibleName() for box in boxes if box.isVisible()] == [told(said)], "the head tells the first"


def test_one_column_of_the_fire_is_one_second(qtbot: QtBot) -> None:
    fire = Fire()
    qtbot.addWidget(fire)
    fire.resize(34 * 9 - 2, ROWS * 9 - 2)
    fire.show()
    assert set(fire.heights()) == {-1}
    for second, calls in enumerate([10.0, 40.0, 0.0, 20.0]):
        fire.add(NOW + second, calls)
    fire.add(NOW + 3.4, 30.0)
    assert fire.heights()[-4:] == [4, ROWS, 0, 12]
    fire.add(NOW + 5, 30.0)
    assert fire.heights()[-5:] == [ROWS, 0, 12, 12, 12], "a status that came late leaves no hole"
    fire.add(NOW + 15, 40.0)
    assert fire.heights()[-11:] == [12, *[-1] * 9, ROWS], "nothing is drawn for seconds without a measurement"
    for second in range(16, 80):
        fire.add(NOW + second, 4.0)
    assert fire.heights()[-1] == ROWS, "the scale is the last minute's"
    assert fire.describe() == "Now 4.0 calls per second; the most in the last minute was 4.0."


def test_without_experts_the_fire_is_of_the_samples_that_are_trained(
    home: tuple[MainWindow, HomePage, Actions],
) -> None:
    window, page, _ = home
    panel = page.state_card.fire
    window.update_status(make_status(time=NOW))
    assert panel.fire.describe().startswith("Now 52 calls per second;")
    window.update_status(make_status(time=NOW + 1, layers=0, grid=(), experts=[], calls_per_s=0.0))
    assert panel._caption.text().startswith("Samples trained, last ")
    assert panel.fire.describe().startswith("Now 1,813 samples per second; the most in the last minute was 1,813")
    assert panel.fire.heights()[-2:] == [-1, ROWS], "calls and samples are not of one scale"
    assert panel.fire.accessibleName() == "Samples trained"
    window.update_status(make_status(time=NOW + 2))
    assert panel._caption.text().startswith("Own and others' calls, last ")


class PaintCounter(QObject):
    """Counts what is painted anywhere in the process."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget):
            self.count += 1
        return False

    def within(self, ms: int) -> int:
        """What is painted in so many milliseconds."""
        before = self.count
        QTest.qWait(ms)
        return self.count - before


def test_nothing_is_painted_while_nothing_changes(
    qtbot: QtBot, qapp: QApplication, home: tuple[MainWindow, HomePage, Actions]
) -> None:
    window, _, _ = home
    points = [CurvePoint(64, 2048, 2.1, 0.3), CurvePoint(128, 4096, 1.9, 0.4)]
    for second in range(70):
        window.update_curve(points)
        window.update_status(make_status(state="paused", calls_per_s=0.0, time=NOW + second))
    counter = PaintCounter()
    qapp.installEventFilter(counter)
    qtbot.waitUntil(lambda: not counter.within(300))  # plots draw later than they are told
    counter.count = 0
    for second in range(70, 80):
        window.update_curve(points)
        window.update_status(make_status(state="paused", calls_per_s=0.0, time=NOW + second))
        qapp.processEvents()
    quiet = counter.count
    window.update_status(make_status(calls_per_s=7.0, time=NOW + 81))
    qtbot.waitUntil(lambda: counter.count > quiet)
    qapp.removeEventFilter(counter)
    assert quiet == 0


def test_curves_are_thinned_but_keep_the_newest_point() -> None:
    points = [(step, step / 10_000) for step in range(10_001)]
    kept = thin(points)
    assert len(kept) <= MAX_POINTS + 1 and kept[0] == points[0] and kept[-1] == points[-1]
    assert thin(points[:5]) == points[:5]
    assert thin([]) == []


@pytest.mark.parametrize(
    "top,expected",
    [(1.0, [0, 0.5, 1.0]), (2.4, [0, 1, 2]), (0.09, [0, 0.05]), (1.717, [0, 0.5, 1.0, 1.5]), (700, [0, 200, 400, 600])],
)
def test_ticks_are_round(top: float, expected: list[float]) -> None:
    assert ticks(top) == pytest.approx(expected)


def test_curves_are_told_in_words(home: tuple[MainWindow, HomePage, Actions]) -> None:
    window, page, _ = home
    window.update_curve([CurvePoint(64, 2048, 2.1, 0.3), CurvePoint(12_800, 4096, 0.2, 0.96)])
    window.update_status(make_status())
    accuracy, loss = page.findChildren(CurvePlot)
    assert accuracy.accessibleDescription().startswith("Accuracy: 96.0% at step 12,800; 30.0% at step 64")
    assert loss.accessibleDescription().startswith("Loss: 0.200 at step 12,800")


def test_the_figures_are_those_of_the_run_that_is_named(
    qtbot: QtBot, home: tuple[MainWindow, HomePage, Actions]
) -> None:
    window, page, _ = home

    def show(title: str, loss: float) -> None:
        window.update_curve([CurvePoint(64 * n, 2048 * n, loss, 0.5) for n in range(1, 20)])
        window.update_status(make_status(run_id=title, run_title=title, runs=[DIGITS, TEXT]))
        qtbot.waitUntil(lambda: page.model._run.text() == title)

    show("Handwritten digits", 1.0)
    show("The Python manual", 2.0)
    assert page.model.values[1].text() == "2.000"


def test_what_trainers_have_agreed_on_is_asked_for_as_soon_as_another_run_is_shown(
    qtbot: QtBot, toy: ToyWorker, beside: Beside
) -> None:
    client, window, _, _ = beside
    dial(qtbot, client, window)
    window.update_status(make_status())
    request = client._next_id
    window.update_status(make_status(run_id=TEXT.id))
    assert client._next_id > request


def test_each_expert_is_reached_by_arrow_keys(qtbot: QtBot) -> None:
    grid = ExpertGrid(1)
    qtbot.addWidget(grid)
    grid.set_cells(3, [5, *[HOLLOW] * 4, 64], lambda cell: f"cell {cell}")
    grid.show()
    told: list[str] = []
    grid.picked.connect(told.append)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right):
        QTest.keyClick(grid, key)
    assert told == ["cell 3", "cell 4", "cell 5"]
    assert grid.accessibleDescription() == "cell 5"
    grid.clearFocus()
    grid._pick(None)
    assert grid.accessibleDescription().startswith("2 of 6 cells have an expert")


def test_tray_icons_differ_in_shape_and_colour(qapp: QApplication) -> None:
    shapes = {SHAPES[state] for state in STATES}
    assert len(shapes) == 5
    for dark in (False, True):
        for state in STATES:
            icon = tray_icon(state, dark)
            assert {size.width() for size in icon.availableSizes()} == set(TRAY_SIZES)
    # In one colour the five shapes still differ: colour is never the only sign.
    color = tray_color("paused", False)
    pictures = {SHAPES[state]: tray_pixmap(state, 16, color).toImage() for state in STATES}
    images = list(pictures.values())
    assert all(images[i] != images[j] for i in range(5) for j in range(i))
    assert QSize(256, 256) in app_icon().availableSizes()


LIGHT_PROCESS = """
import sys
from PySide6.QtWidgets import QApplication
app = QApplication([])
import msgspec, psutil
from app.actions import Actions
from app.pages.home.home_page import HomePage
from app.window.main_window import MainWindow
from core.contracts.status import (CurvePoint, Status)
actions = Actions()
from pathlib import Path
from app.worker.client import WorkerClient
page = HomePage(actions, WorkerClient(Path("no folder"), "0.1.0"))
window = MainWindow([page], actions)
window.show()
app.processEvents()
assert window.isVisible()
status = msgspec.json.decode(sys.argv[1], type=Status)
window.update_curve([CurvePoint(step, step * 32, 2.0, 0.5) for step in range(0, 64_000, 64)])
window.update_status(status)
window.grab()
heavy = sorted({"numpy", "torch"} & set(sys.modules))
assert not heavy, f"imported: {heavy}"
print(psutil.Process().memory_info().rss / 2**20)
"""


def test_the_process_is_light() -> None:
    status = msgspec.json.encode(make_status()).decode()
    done = subprocess.run(
        [sys.executable, "-c", LIGHT_PROCESS, status], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 150


def test_the_sidebar_counts_the_experts_that_are_hosted_here(qtbot: QtBot) -> None:
    window = MainWindow([Page("home", "Home", "home"), Page("experts", "Experts", "experts")], Actions())
    window.may_close = True
    qtbot.addWidget(window)
    window.show()
    window.update_status(make_status())
    assert [button.accessibleDescription() for button in window.sidebar.buttons] == ["", "32 hosted here"]
    window.update_status(make_status(experts=[]))
    assert window.sidebar.buttons[1].accessibleDescription() == ""
