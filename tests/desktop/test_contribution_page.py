"""Contribution: totals, history, hours and shares as the ledger tells them; states, keyboard, exports."""

import csv
import io
import math
import resource
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.background import Saver
from app.pages.contribution import certificate, share_picture, year
from app.pages.contribution.cards import NOTHING_HERE
from app.pages.contribution.contribution_page import NOTHING_YET, ContributionPage
from app.pages.contribution.history import KINDS, Answer, bars, last_week, question, shares
from app.pages.contribution.week_map import WeekMap
from app.theme import theme
from app.window.main_window import MainWindow
from app.worker.client import WorkerClient
from core.cli import main
from core.community.calendar import DAY, HOUR, midnight
from core.community.certificate_picture import KEYWORD, with_certificate
from core.community.ledger import Ledger
from core.community.reading import read_only
from core.community.signing import sign_bundle
from core.contracts.control import ErrorInfo
from core.contracts.credit import (
    Bundle,
    Certificate,
    Credit,
    Exchanged,
    Leaderboard,
    Ranked,
    Ranking,
    With,
    day_of,
    week_of,
)
from core.contracts.errors import CreditError
from core.contracts.ledger import Amounts, Series, SeriesParams, Session
from core.contracts.notices import plain
from core.contracts.status import DeviceStatus
from core.identity import Identity
from tests import a_summer
from tests.desktop.conftest import ToyWorker, make_status
from tests.desktop.test_widgets import SIZES, misfits
from tests.zones import unix, zone

CARD = "NVIDIA GeForce RTX 3060"
DEVICES = [DeviceStatus("cpu", "A processor", "cpu", True, ()), DeviceStatus("GPU-1", CARD, "gpu", True, ())]


@pytest.fixture(scope="module")
def summer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summer")
    a_summer.write(folder, time.time())
    return folder


def shown(qtbot: QtBot, toy: ToyWorker, folder: Path) -> Iterator[tuple[MainWindow, ContributionPage]]:
    client = WorkerClient(folder, "0.1.0")
    client.dial()
    qtbot.waitUntil(lambda: client.is_connected)
    page = ContributionPage(client)
    window = MainWindow([page], Actions())
    qtbot.addWidget(window)
    window.show()
    window.update_status(make_status(devices=DEVICES))
    qtbot.waitUntil(window.isActiveWindow)
    yield window, page
    window.may_close = True
    client.hang_up()


@pytest.fixture
def page(qtbot: QtBot, toy: ToyWorker, folder: Path, summer: Path) -> Iterator[tuple[MainWindow, ContributionPage]]:
    theme().set_mode("light")
    toy.tell_of(read_only(summer))
    for window, contribution in shown(qtbot, toy, folder):
        qtbot.waitUntil(lambda: contribution.export.isEnabled())  # noqa: B023
        yield window, contribution


def texts(widget: Any) -> str:
    return " | ".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


def test_it_shows_what_the_ledger_tells(page: tuple[MainWindow, ContributionPage], summer: Path) -> None:
    _, contribution = page
    totals = read_only(summer).totals(time.time())
    assert contribution.subtitle.text().startswith("Since ")
    ever = KINDS["seconds"].short(totals.all.amounts.seconds)
    assert f"{ever} in total" in texts(contribution.lent)
    both = [KINDS["samples"].short(totals.all.amounts.samples), KINDS["tokens"].short(totals.all.amounts.tokens)]
    assert f"{' + '.join(both)} in total" in texts(contribution.trained), "samples of pictures, and of text"
    assert "Samples and tokens trained" in texts(contribution.trained)
    assert "about" in texts(contribution.energy) and "about" not in texts(contribution.lent)
    plot = contribution.history.plot
    assert len(plot.bars.labels) == 30 and plot.bars.labels[-1] == "Today"
    days = read_only(summer).series(SeriesParams("seconds", time.time() - 29 * DAY, time.time(), "day"))
    assert plot.bars.sums() == pytest.approx(days.values[""])
    assert KINDS["seconds"].write(sum(days.values[""])) in texts(contribution.history)
    assert "paused" in [note for _, _, note in plot.bars.notes]
    assert CARD in texts(contribution.shares) and "Handwritten digits" in texts(contribution.shares)
    assert "in the last seven days; the most was" in contribution.week.map.accessibleDescription()
    assert plot.accessibleName() == "Compute time" and "the most was" in plot.accessibleDescription()


def test_credit_has_a_card_once_others_were_helped(
    qtbot: QtBot, page: tuple[MainWindow, ContributionPage], toy: ToyWorker
) -> None:
    window, contribution = page
    assert not contribution.credit.isVisible()
    today = day_of(time.time())
    peers = [With("ab" * 32, counted=9_000_000, signed=8_000_000, verified=7_000_000)]
    given = [Exchanged("digits-1", day, True, 65_536, 4.6e11, 1.3e11, peers, 0) for day in (today, today - 40)]
    toy.answers["credit"] = lambda params: Credit(today, given, 9.2e11, 2.6e11, today - 40)
    contribution.look()
    qtbot.waitUntil(contribution.credit.isVisible)
    assert texts(contribution.credit) == "Verified credit | 460 | GFLOP today | 920 GFLOP in total\n260 GFLOP pending"
    window.resize(1040, 720)
    qtbot.waitUntil(lambda: contribution._placed == (3, 5))

    def edges(*cards: QWidget) -> tuple[int, int]:
        return cards[0].geometry().left(), cards[-1].geometry().right()

    above = contribution.lent, contribution.trained, contribution.calls
    below = contribution.energy, contribution.credit
    qtbot.waitUntil(lambda: edges(*above) == edges(*below))
    assert abs(below[0].width() - below[1].width()) <= 1
    window.resize(1600, 900)
    qtbot.waitUntil(lambda: contribution._placed == (5, 5))


def test_wider_figures_take_two_rows_instead_of_leaving_the_window(
    qtbot: QtBot, page: tuple[MainWindow, ContributionPage], summer: Path
) -> None:
    window, contribution = page
    window.resize(1040, 720)
    totals = read_only(summer).totals(time.time())
    wide = msgspec.structs.replace(totals.today.amounts, samples=44_512, tokens=674_000_000, kwh=88.88, calls=88_888)
    today = msgspec.structs.replace(totals.today, amounts=wide)
    contribution._show_totals(msgspec.structs.replace(totals, today=today, week=today))
    assert contribution.trained.accessibleName() == "Samples and tokens trained: 44,512 samples + 674 M tokens today"

    def fits() -> bool:
        cards = contribution._cards
        return all(card.mapTo(contribution, card.rect().topRight()).x() < contribution.width() - 8 for card in cards)

    qtbot.waitUntil(fits)


def test_another_time_figure_and_group_can_be_chosen(
    qtbot: QtBot, page: tuple[MainWindow, ContributionPage], summer: Path
) -> None:
    _, contribution = page
    plot = contribution.history.plot
    buttons = contribution.range.findChildren(QAbstractButton)
    day = next(button for button in buttons if button.accessibleName() == "Time: 24 hours")
    QTest.mouseClick(day, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: plot.bars.labels[-1:] == ["Now"])
    assert 24 <= len(plot.bars.labels) <= 25
    contribution.range._choose("year")
    qtbot.waitUntil(lambda: plot.bars.labels[-1:] == ["This week"])
    assert len(plot.bars.labels) == 12  # before that this PC did nothing
    contribution.history.group._choose("device")
    names = [part.name for part in plot.bars.parts]
    assert set(names) == {"A processor", CARD} and names[0] == CARD  # the one that did most is at the foot
    assert {"A processor", CARD} <= set(texts(contribution.history).split(" | "))  # a legend
    contribution.history.kind.setCurrentIndex(contribution.history.kind.findData("bytes"))
    qtbot.waitUntil(lambda: plot.accessibleName() == "Traffic with peers")
    assert "Expert calls" in [part.name for part in plot.bars.parts]
    contribution.history.group._choose("all")
    assert [part.name for part in plot.bars.parts] == ["Sent", "Received"]
    for key in KINDS:
        contribution.history.kind.setCurrentIndex(contribution.history.kind.findData(key))
        qtbot.waitUntil(lambda: plot.accessibleName() == KINDS[key].title)  # noqa: B023


def test_bars_and_hours_are_read_by_keyboard(qtbot: QtBot, page: tuple[MainWindow, ContributionPage]) -> None:
    window, contribution = page
    plot, hours = contribution.history.plot, contribution.week.map
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.ring.by_keyboard = True
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    assert plot.at == 29 and plot.words(29) in texts(contribution.history)
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert plot.at == 28 and plot.accessibleDescription() == plot.words(28)
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert plot.at == 0
    hours.setFocus(Qt.FocusReason.TabFocusReason)
    assert plot.at is None and plot.words(0) not in texts(contribution.history)
    told = hours.accessibleDescription()
    QTest.keyClick(hours, Qt.Key.Key_Up)
    assert hours.accessibleDescription() != told and hours.accessibleDescription() in texts(contribution.week)


def test_nothing_yet_is_said_and_no_figure_is_made_up(
    qtbot: QtBot, toy: ToyWorker, folder: Path, tmp_path: Path
) -> None:
    toy.tell_of(read_only(tmp_path / "none"))
    for _, contribution in shown(qtbot, toy, folder):
        qtbot.waitUntil(lambda: contribution.export.isEnabled())  # noqa: B023
        words = texts(contribution)
        assert NOTHING_YET in words and NOTHING_HERE in words and "0 min" in words and "0 kWh" in words
        assert contribution.history.plot.describe() == NOTHING_YET


def test_an_error_is_told_and_the_page_asks_again(qtbot: QtBot, toy: ToyWorker, folder: Path, summer: Path) -> None:
    reader = read_only(summer)
    toy.tell_of(reader)
    toy.answers["totals"] = lambda params: ErrorInfo(
        "data_folder", plain("The history cannot be read: the disk is gone.")
    )
    for _, contribution in shown(qtbot, toy, folder):
        qtbot.waitUntil(lambda: "the disk is gone" in texts(contribution.notice))  # noqa: B023
        assert not contribution.export.isEnabled()
        toy.answers["totals"] = lambda params: reader.totals(time.time())
        contribution.look()
        qtbot.waitUntil(lambda: contribution.export.isEnabled())  # noqa: B023
        assert not contribution.notice.isVisible()


def test_without_a_worker_the_old_figures_stay_grey(page: tuple[MainWindow, ContributionPage]) -> None:
    window, contribution = page
    before = texts(contribution.lent)
    window.set_connected(False, "Worker stopped, restarting in 4 s")
    assert "Worker stopped" in texts(contribution.notice) and "The figures are from" in texts(contribution.notice)
    assert texts(contribution.lent) == before and contribution.lent.value.property("tone") == "text3"
    assert contribution.history.plot.tone(0, 0) == theme().color("text3")
    assert not contribution.range.isEnabled() and not contribution.history.kind.isEnabled(), "nobody could answer"
    window.set_connected(True)
    assert not contribution.notice.isVisible() and contribution.lent.value.property("tone") == "text"
    assert contribution.range.isEnabled() and contribution.history.kind.isEnabled()


def test_late_answers_to_an_older_question_are_dropped(
    qtbot: QtBot, toy: ToyWorker, page: tuple[MainWindow, ContributionPage]
) -> None:
    _, contribution = page
    toy.silent.add("sessions")
    contribution.range._choose("week")
    qtbot.waitUntil(lambda: toy.methods()[-1] == "series")
    assert len(contribution.history.plot.bars.labels) == 30
    toy.silent.clear()
    contribution.range._choose("day")
    qtbot.waitUntil(lambda: contribution.history.plot.bars.labels[-1:] == ["Now"])


def test_what_is_shown_is_named_after_its_own_question(
    qtbot: QtBot, toy: ToyWorker, page: tuple[MainWindow, ContributionPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, contribution = page
    plot = contribution.history.plot
    cards: list[share_picture.Shared] = []
    monkeypatch.setattr(share_picture, "paint", cards.append)
    toy.silent.add("sessions")
    contribution.range._choose("day")
    contribution.history.kind.setCurrentIndex(contribution.history.kind.findData("calls"))
    contribution.history.group._choose("device")  # drawn anew, while the answers about other bars are on their way
    assert plot.bars.labels[-1] == "Today" and len(plot.bars.labels) == 30
    assert plot.accessibleName() == "Compute time"
    contribution.card()
    assert cards[0].caption == "Compute time, 30 days."


def test_a_page_that_is_open_for_hours_does_not_grow(page: tuple[MainWindow, ContributionPage]) -> None:
    _, contribution = page
    rows = contribution.shares._grid.rowCount()
    for _ in range(10):
        contribution._draw()
    assert contribution.shares._grid.rowCount() == rows


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_every_text_fits(
    qtbot: QtBot, toy: ToyWorker, folder: Path, summer: Path, size: tuple[int, int], scale: float
) -> None:
    theme().set_scale(scale)
    try:
        toy.tell_of(read_only(summer))
        for window, contribution in shown(qtbot, toy, folder):
            window.resize(*size)
            qtbot.waitUntil(lambda: contribution.export.isEnabled())  # noqa: B023
            contribution.history.group._choose("run")
            for _ in range(4):
                QApplication.processEvents()
            assert misfits(window) == []
    finally:
        theme().set_scale(1.0)


def test_the_history_is_exported_as_a_table(
    qtbot: QtBot, tmp_path: Path, page: tuple[MainWindow, ContributionPage], summer: Path
) -> None:
    _, contribution = page
    with qtbot.waitSignal(contribution.saver.told) as told:
        contribution.save_csv(tmp_path / "history.csv")
    assert "history.csv" in told.args[0]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "history.csv").read_text())))
    assert {row["device"] for row in rows} >= {"cpu", "GPU-1", "network.expert", "this PC"}
    assert {row["run"] for row in rows} == set(read_only(summer).totals(time.time()).all.runs), "each row names its run"
    of_cpu = read_only(summer).series(SeriesParams("calls", time.time() - 29 * DAY, time.time(), "day", "run"))
    for run, values in of_cpu.values.items():
        assert sum(float(row["calls"]) for row in rows if row["run"] == run) == sum(values)
    days = read_only(summer).series(SeriesParams("calls", time.time() - 29 * DAY, time.time(), "day"))
    assert sum(float(row["calls"]) for row in rows) == sum(days.values[""])
    for start, calls in zip(days.times, days.values[""], strict=False):
        of_day = [row for row in rows if datetime.fromisoformat(row["start"]).timestamp() == start]
        assert sum(float(row["calls"]) for row in of_day) == calls
    assert datetime.fromisoformat(rows[0]["start"]) < datetime.fromisoformat(rows[-1]["end"])
    with qtbot.waitSignal(contribution.saver.told) as told:
        contribution.save_csv(tmp_path / "nowhere" / "history.csv")
    assert "could not be written" in told.args[0]


def test_a_file_that_cannot_be_written_whole_is_told_and_leaves_the_old_one(qtbot: QtBot, tmp_path: Path) -> None:
    path, saver = tmp_path / "history.csv", Saver()
    path.write_text("last year's")

    def too_early() -> bytes:
        raise ValueError("ZIP does not support timestamps before 1980")

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    contents: list[Any] = ["x" * 2_000_000, too_early]
    for content in contents:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))  # as if the disk were full
        try:
            with qtbot.waitSignal(saver.told) as told:
                saver.save(path, content)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert told.args[0].startswith("history.csv could not be written")
        assert path.read_text() == "last year's" and [*tmp_path.iterdir()] == [path]


def test_the_share_card_is_a_picture_that_names_nobody(
    qtbot: QtBot, tmp_path: Path, page: tuple[MainWindow, ContributionPage]
) -> None:
    _, contribution = page
    with qtbot.waitSignal(contribution.saver.told):
        contribution.saver.save(tmp_path / "card.png", contribution.card())
    picture = QImage(str(tmp_path / "card.png"))
    assert (picture.width(), picture.height()) == share_picture.SIZE
    left, top, width, height = share_picture.BARS
    colors = {picture.pixelColor(left + x, top + height - 2).name() for x in range(width)}
    assert theme().color("ember_muted").name() in colors
    assert b"tEXt" not in (tmp_path / "card.png").read_bytes()
    contribution._copy_card()
    assert QGuiApplication.clipboard().image().width() == picture.width()


def test_the_share_card_tells_what_was_done_for_others_apart(
    page: tuple[MainWindow, ContributionPage], summer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, contribution = page
    cards: list[share_picture.Shared] = []
    monkeypatch.setattr(share_picture, "paint", cards.append)
    contribution.card()
    ever = read_only(summer).totals(time.time()).all.amounts
    assert 0 < ever.peer_calls < ever.calls
    figures = {meaning: amount for amount, meaning in cards[0].figures}
    assert figures["calls for others"] == KINDS["peer_calls"].short(ever.peer_calls)
    assert KINDS["calls"].short(ever.calls) not in figures.values()
    assert f"{KINDS['peer_calls'].short(ever.peer_calls)} in total" in texts(contribution.calls)


def credited(days: int) -> Credit:
    """To this PC, on so many days up to today."""
    today = day_of(time.time())
    given = [Exchanged("digits-1", today - day, True, 1, 3e9, 0.0, [], 1) for day in range(days)]
    return Credit(today, given, sum(one.verified for one in given), 0.0, today - days)


def test_the_leaderboard_and_the_badges_tell_what_was_verified(
    qtbot: QtBot, toy: ToyWorker, page: tuple[MainWindow, ContributionPage]
) -> None:
    window, contribution = page
    assert not contribution.leaderboard.isVisible(), "this worker works alone"
    mine = Ranked(14, "", "", 1e12, True)
    ranking = Ranking([Ranked(1, "Marta", "Attic", 4e15), Ranked(3, "Ines", "", 2e15), mine], 11, 5e14)
    toy.answers["leaderboard"] = lambda params: Leaderboard(Ranking([], 0, 0.0), ranking, ranking)
    toy.answers["credit"] = lambda params: credited(8)
    contribution._ranked_at = -math.inf
    contribution.look()
    qtbot.waitUntil(contribution.leaderboard.isVisible)
    told = texts(contribution.leaderboard)
    assert "1. | Marta · Attic | 4.00 PFLOP" in told and "14. | This PC | 1.00 TFLOP" in told
    assert "11 more peers: 500 TFLOP." in told and "chosen a name in Settings" in told
    contribution.leaderboard.time._buttons["today"].setFocus()
    QTest.keyClick(contribution.leaderboard.time._buttons["today"], Qt.Key.Key_Space)
    assert "No work from this period counts here yet" in texts(contribution.leaderboard)
    qtbot.waitUntil(lambda: contribution.badges.days.accessibleName() == "Days with verified work: 8 of 30")
    assert contribution.badges.flops.accessibleName() == "Verified operations: 24 GFLOP of 1 TFLOP"
    earned = [badge.accessibleName() for badge in contribution.badges.days._shown]
    assert [": reached on " in name for name in earned] == [True, True, False, False, False]
    qtbot.waitUntil(lambda: not misfits(window), timeout=5000)


def test_a_certificate_is_a_picture_that_anybody_can_verify(
    qtbot: QtBot,
    toy: ToyWorker,
    tmp_path: Path,
    page: tuple[MainWindow, ContributionPage],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, contribution = page
    host, week = Identity.generate(), week_of(day_of(time.time()))
    bundle = Bundle("digits-1", host.peer, week, "the attic", "", (), ())
    signed = msgspec.json.encode(
        Certificate("hearth certificate 1", host.peer.hex(), {}, [sign_bundle(host, bundle, False, None)])
    )
    toy.answers["credit"] = lambda params: credited(8)
    toy.answers["certificate"] = lambda params: Path(params["path"]).write_bytes(signed) and {}
    contribution.look()
    qtbot.waitUntil(lambda: bool(contribution._shown and contribution._shown.answers["credit"].verified))
    path = tmp_path / "certificate.png"
    with qtbot.waitSignal(contribution.saver.told):
        contribution.save_certificate(path)
    assert QImage(str(path)).width() == certificate.SIZE[0]
    assert [one.name for one in tmp_path.glob(".*")] == [], "what the worker wrote is in the picture"
    assert main(["credit", "verify", str(path)]) == 0
    assert f"The peer {host.peer.hex()} computed for others" in capsys.readouterr().out
    whole = path.read_bytes()
    path.write_bytes(
        with_certificate(contribution_png(whole), signed.replace(host.peer.hex()[:8].encode(), b"00000000"))
    )
    assert main(["credit", "verify", str(path)]) == CreditError.exit_code
    path.write_bytes(whole[: len(whole) // 2])
    assert main(["credit", "verify", str(path)]) == CreditError.exit_code


def test_the_card_of_a_year_counts_that_year_by_months(
    qtbot: QtBot, tmp_path: Path, page: tuple[MainWindow, ContributionPage]
) -> None:
    _, contribution = page
    now = datetime(2026, 11, 25, 12).timestamp()
    days = [datetime(2026, month, 3).timestamp() for month in range(1, 12)]
    series = {
        metric: Series("day", [int(day) for day in (*days, days[-1] + 86_400)], {"": [60.0] * 9 + [0.0, 6000.0]})
        for metric in year.FIGURES
    }
    card = year.shared(2026, series, now)
    assert "2026" in card.headline and card.figures[0] == ("1 h 49 min", "of computing")
    assert len(card.bars.labels) == 12 and card.bars.sums() == [60.0] * 9 + [0.0, 6000.0, 0.0]
    assert {asked.start for asked in year.questions(2026, now).values()} == {datetime(2026, 1, 1).timestamp()}
    assert year.year_of(now) == 2026 and year.year_of(datetime(2027, 1, 5).timestamp()) == 2026
    with qtbot.waitSignal(contribution.saver.told):
        contribution.save_year(tmp_path / "year.png", year.year_of(time.time()))
    picture = QImage(str(tmp_path / "year.png"))
    assert (picture.width(), picture.height()) == share_picture.SIZE


def contribution_png(whole: bytes) -> bytes:
    """The picture without what it carries."""
    at = whole.index(b"zTXt" + KEYWORD) - 4
    length = int.from_bytes(whole[at : at + 4], "big")
    return whole[:at] + whole[at + 12 + length :]


# what needs no window


def answers(folder: Path, metric: Any, chosen: str, now: float) -> list[Answer]:
    reader = read_only(folder)
    by_run, by_device = (reader.series(question(metric, chosen, now, by)) for by in ("run", "device"))
    return [Answer(by_run, by_device)]


@pytest.mark.parametrize("chosen", ["day", "week", "month", "year"])
@pytest.mark.parametrize("group", ["all", "device", "run"])
def test_bars_of_any_kind_have_the_same_sum(tmp_path: Path, chosen: str, group: str) -> None:
    now = time.time()
    ledger = Ledger(tmp_path, lambda: now)
    for device in range(9):  # more than have a colour of their own
        ledger.add(f"run{device}", f"GPU-{device}", Amounts(calls=10 + device))
    ledger.close()
    found = bars(KINDS["calls"], answers(tmp_path, "calls", chosen, now), group, chosen, {}, [])
    assert sum(found.sums()) == found.sums()[-1] == sum(range(10, 19))
    assert len(found.labels) == len(found.names) == len(found.sums())
    assert len(found.parts) == (1 if group == "all" else 4)
    listed = shares(answers(tmp_path, "calls", chosen, now), "run", {})
    assert listed[0] == ("run8", 18) and len(listed) == 9
    named = shares(answers(tmp_path, "calls", chosen, now), "run", {"run8": "A run of today"})
    assert named[0] == ("A run of today", 18) and named[1:] == listed[1:]


def test_a_range_has_as_many_days_as_it_says_where_clocks_were_set(tmp_path: Path) -> None:
    with zone("Europe/Berlin"):
        for now in (unix(2026, 4, 1, 0, 30), unix(2026, 10, 28, 23, 30)):  # after a day of 23 and of 25 hours
            for chosen, days in {"week": 7, "month": 30, "year": 364}.items():
                assert len(answers(tmp_path, "seconds", chosen, now)[0].by_run.times) == days + 1
            hours = read_only(tmp_path).series(last_week(now)).times
            assert hours[0] == midnight(now, -6) and hours[-1] - HOUR < now <= hours[-1]


def test_an_hour_that_clocks_left_out_is_not_still_to_come(qtbot: QtBot, tmp_path: Path) -> None:
    hours = WeekMap()
    qtbot.addWidget(hours)
    with zone("Europe/Berlin"):
        hours.set_hours(read_only(tmp_path).series(last_week(unix(2026, 3, 29, 12, 30))))
        assert "29 Mar" in hours.words(6 * 24 + 2) and hours.words(6 * 24 + 2).endswith("0 s")
        assert hours.words(6 * 24 + 12).endswith("0 s") and hours.words(6 * 24 + 13).endswith("still to come")


def test_times_of_computing_in_words() -> None:
    written = {0: "0 s", 0.4: "0.4 s", 45: "45 s", 59.7: "1 min", 60: "1 min", 3570: "1 h", 5400: "1 h 30 min"}
    assert {seconds: KINDS["seconds"].write(seconds) for seconds in written} == written


def test_a_gap_says_what_ended_the_work_before_it(tmp_path: Path) -> None:
    now = midnight(time.time()) + 12 * HOUR
    moment = now - 5 * DAY
    ledger = Ledger(tmp_path, lambda: moment)
    ledger.add("digits", "cpu", Amounts(seconds=60))
    moment = now
    ledger.add("digits", "cpu", Amounts(seconds=60))
    ledger.close()
    for why, word in (("battery", "on battery"), ("cpu_busy", "stopped")):
        sessions = [Session(0, 1, "digits", "user"), Session(now - 6 * DAY, now - 5 * DAY, "digits", why)]
        found = bars(KINDS["seconds"], answers(tmp_path, "seconds", "week", now), "all", "week", {}, sessions)
        assert found.notes == [(2, 6, word)]
    traffic = bars(KINDS["yields"], answers(tmp_path, "seconds", "week", now), "all", "week", {}, sessions)
    assert not traffic.notes
