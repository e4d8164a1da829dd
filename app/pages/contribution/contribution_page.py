"""Contribution: what this PC did today, this week and ever, and its history as the worker's ledger tells it."""

import math
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QImage, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QGridLayout

from app import theme as look
from app.background import Saver, encoded
from app.language import mark, told, tr, tr_run
from app.pages.contribution import certificate, share_picture
from app.pages.contribution.cards import ASKING, NOTHING_HERE, CreditCard, HistoryCard, SharesCard, TotalCard, WeekCard
from app.pages.contribution.community_cards import BadgesCard, LeaderboardCard
from app.pages.contribution.history import (
    BY,
    GROUPS,
    KINDS,
    METRICS,
    RANGES,
    Answer,
    Kind,
    bars,
    day_name,
    is_estimate,
    last_week,
    question,
    shares,
    table,
    trained,
)
from app.pages.contribution.year import FIGURES, meaning, questions, shared, year_of
from app.theme import theme
from app.widgets.basics import Label, Pair
from app.widgets.boxes import add
from app.widgets.buttons import Button, Segmented
from app.widgets.menu import Menu
from app.window.page import LookingPage
from app.worker.client import WorkerClient
from core.community.certificate_picture import with_certificate
from core.contracts import manifest as manifests
from core.contracts.credit import Leaderboard
from core.contracts.errors import HearthError
from core.contracts.ledger import LISTED, ListParams, Totals
from core.contracts.status import Status

EVERY_MS = 10_000
"""Between two looks at the ledger, while the page is seen."""
RANKED_S = 60.0
"""The same for the leaderboard."""
TOLD_MS = 8000
NOTHING_YET = mark("Nothing yet. Bars appear within a minute after this PC starts to compute.")
PICTURES = mark("Pictures (*.png)")
FOUR_ABREAST = 700
"""Pages narrower than this have the cards of totals in two rows."""


class _Look:
    """Some questions to the ledger whose answers are of use together only.

    Args:
        done: called with this when all answers have come.
        chosen, kind: the range and the figure that are asked for.
    """

    def __init__(self, done: Callable[["_Look"], None], chosen: str, kind: Kind) -> None:
        self._done, self._open = done, 0
        self.chosen, self.kind = chosen, kind
        self.answers: dict[str, Any] = {}

    def expect(self, name: str) -> Callable[[Any], None]:
        """What is to be called with the answer to a question; after the last one all are told to be there."""
        self._open += 1

        def came(answer: Any) -> None:
            self.answers[name] = answer
            self._open -= 1
            if not self._open:
                self._done(self)

        return came


class ContributionPage(LookingPage):
    """Looks at the ledger while it is seen."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(client, EVERY_MS, "contribution", tr("Contribution"), "chart", tr(ASKING))
        self.range = Segmented({key: tr(word) for key, word in RANGES.items()}, tr("Time"))
        self.range.set_value("month")
        self.export = Button(tr("Export"), "plain", "download", clicked=self._open_menu)
        self._told = Label(
            "", "cap", "text2", wrap=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        add(self.head, (self._told, 1), self.range, self.export)
        self.lent, self.trained = TotalCard(tr("Compute time"), "clock"), TotalCard(tr("Samples trained"), "model")
        self.calls, self.energy = TotalCard(tr("Calls for others"), "experts"), TotalCard(tr("Energy"), "energy")
        self.credit = CreditCard()
        self.credit.hide()
        self._cards = (self.lent, self.trained, self.calls, self.energy, self.credit)
        self._totals_grid = QGridLayout()
        self._totals_grid.setSpacing(look.CARD_GAP)
        self.history, self.week, self.shares = HistoryCard(), WeekCard(), SharesCard()
        self.leaderboard, self.badges = LeaderboardCard(), BadgesCard()
        self._others = Pair(self.leaderboard, self.badges)
        self._others.hide()
        self._ranked_at = -math.inf
        add(self.body, self._totals_grid, (self.history, 3), (Pair(self.week, self.shares), 2), self._others)
        self._placed: tuple[int, int] = (0, 0)
        self._place_totals(all_abreast=True)
        self._built_in = {run.run_id: run.title for run in map(manifests.load, manifests.built_in_runs())}
        """Titles by run id: also of a run that was left."""
        self._status: Status | None = None
        self._names: dict[str, str] = {}
        self._look: _Look | None = None
        self._shown: _Look | None = None
        self._told_timer = QTimer(self, singleShot=True, interval=TOLD_MS)
        self._told_timer.timeout.connect(self._told.clear)
        self.saver = Saver(self)
        self.saver.told.connect(self._tell)
        self.history.kind.currentIndexChanged.connect(self.look)
        self.history.group.chosen.connect(self._draw)
        self.range.chosen.connect(self.look)
        self.export.setEnabled(False)

    # what the window tells

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_fitting_totals()

    def _place_fitting_totals(self) -> None:
        """Anew for other figures, which may be wider, as well as for another width."""
        cards = self._shown_cards()
        for card in cards:
            card.body.activate()  # else it tells how wide its last figures were
        room = self.width() - 2 * look.PAGE_MARGIN
        needed = sum(card.minimumSizeHint().width() for card in cards) + (len(cards) - 1) * look.CARD_GAP
        self._place_totals(all_abreast=self.width() >= theme().px(FOUR_ABREAST) and room >= needed)

    def _shown_cards(self) -> list[TotalCard]:
        return [card for card in self._cards if card is not self.credit or self.credit.has_any]

    def update_status(self, status: Status) -> None:
        self._status = status
        titles = Counter(run.title for run in status.runs)
        names = {run_id: tr_run(title) for run_id, title in self._built_in.items() if not titles[title]}
        names |= {run.id: tr_run(run.title) for run in status.runs if titles[run.title] == 1}
        names |= {device.id: device.name for device in status.devices}
        if names != self._names:
            self._names = names
            self._draw()

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        self._look = None
        super().set_connected(connected, sentence, calm)

    def set_stale(self, stale: bool) -> None:
        for card in self._cards:
            theme().set_tone(card.value, "text3" if stale else "text")
        self.history.plot.set_stale(stale)
        self.week.map.set_stale(stale)
        for choice in (self.range, self.history.kind):  # nobody could answer
            choice.setEnabled(not stale)

    def _place_totals(self, all_abreast: bool) -> None:
        """In one row, or in two; those of the second share its width where they are fewer."""
        cards = self._shown_cards()
        abreast = len(cards) if all_abreast else (len(cards) + 1) // 2
        if (abreast, len(cards)) != self._placed:
            self._placed = abreast, len(cards)
            rows = [cards[:abreast], cards[abreast:]]
            columns = math.lcm(*(len(row) for row in rows if row))
            for down, row in enumerate(rows):
                wide = columns // max(1, len(row))
                for at, card in enumerate(row):
                    self._totals_grid.addWidget(card, down, at * wide, 1, wide)
            for at in range(max(columns, self._totals_grid.columnCount())):
                self._totals_grid.setColumnStretch(at, int(at < columns))

    # asking

    def look(self) -> None:
        """Ask the ledger for all that is shown."""
        if not self._client.is_connected or not self.isVisible():
            return
        client, now, chosen, kind = self._client, time.time(), self.range.value(), self.history.chosen_kind()
        this = self._look = _Look(self._take, chosen, kind)

        def failed(error: HearthError) -> None:
            if this is self._look:
                self.failed(error)

        client.totals(this.expect("totals"), failed)
        client.credit(this.expect("credit"), failed)
        if time.monotonic() - self._ranked_at > RANKED_S:
            self._ranked_at = time.monotonic()
            client.leaderboard(self._show_leaderboard, lambda error: None)  # this PC works alone
        client.series(last_week(now), this.expect("week"), failed)
        client.sessions(ListParams(LISTED), this.expect("sessions"), failed)
        for metric, _, _ in kind.metrics:
            for by in BY:
                client.series(question(metric, chosen, now, by), this.expect(f"{metric} by {by}"), failed)

    def _take(self, this: _Look) -> None:
        if this is self._look:
            self._shown = this
            self.looked()
            self.export.setEnabled(True)
            self._draw()

    def _draw(self) -> None:
        if self._shown is None:
            return
        answers, kind, chosen = self._shown.answers, self._shown.kind, self._shown.chosen
        series = [Answer(answers[f"{metric} by run"], answers[f"{metric} by device"]) for metric, _, _ in kind.metrics]
        totals: Totals = answers["totals"]
        self.credit.show_credit(answers["credit"])
        self.badges.show_credit(answers["credit"])
        self._show_totals(totals)
        shown = bars(kind, series, self.history.group.value(), chosen, self._names, answers["sessions"])
        empty = tr(NOTHING_HERE) if totals.since else tr(NOTHING_YET)
        whole = sum(shown.sums())
        summary = tr("{amount} in {time}", amount=kind.write(whole), time=tr(RANGES[chosen])) if whole else ""
        self.history.show_bars(kind, shown, empty, summary)
        self.week.map.set_hours(answers["week"])
        headings = {**GROUPS, "device": mark("Kinds")} if kind is KINDS["bytes"] else GROUPS
        groups = {tr(headings[by]): shares(series, by, self._names) for by in BY}
        self.shares.show_shares(kind, groups, tr(RANGES[chosen]))

    def _show_leaderboard(self, leaderboard: Leaderboard) -> None:
        self.leaderboard.show_leaderboard(leaderboard)
        self._others.show()

    def _show_totals(self, totals: Totals) -> None:
        since = tr("Nothing is known yet.") if totals.since is None else tr("Since {day}.", day=day_name(totals.since))
        self.subtitle.setText(since)
        each = [period.amounts for period in (totals.today, totals.week, totals.all)]
        kinds = trained(totals.all.amounts) or ["samples"]
        both = tr("Samples and tokens trained")
        for card, metrics, estimates in (
            (self.lent, ["seconds"], [False] * 3),
            (self.trained, kinds, [False] * 3),
            (self.calls, ["peer_calls"], [False] * 3),
            (self.energy, ["kwh"], list(map(is_estimate, each))),
        ):
            shown = [KINDS[metric] for metric in metrics]
            amounts = [[getattr(one, metric) for metric in metrics] for one in each]
            card.set(both if len(shown) > 1 else tr(shown[0].title), shown, amounts, estimates)
        self._place_fitting_totals()

    # exporting

    def _open_menu(self) -> None:
        menu = Menu()
        menu.addAction(tr("History as a table (CSV)")).triggered.connect(self._ask_csv)
        menu.addAction(tr("Share card (PNG)")).triggered.connect(self._ask_png)
        menu.addAction(tr("Copy the share card")).triggered.connect(self._copy_card)
        year = year_of(time.time())
        menu.addAction(tr("The year {year} (PNG)", year=str(year))).triggered.connect(lambda: self._ask_year(year))
        if self._shown and self._shown.answers["credit"].verified:
            menu.addAction(tr("Certificate (PNG)")).triggered.connect(self._ask_certificate)
        menu.open_under(self.export)

    def _ask_csv(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Save the history"), "hearth-history.csv", tr("Tables (*.csv)"))
        if name:
            self.save_csv(Path(name))

    def _ask_png(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Save the share card"), "hearth.png", tr(PICTURES))
        if name:
            self.saver.save(Path(name), self.card())

    def _ask_year(self, year: int) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Save the card of the year"), f"hearth-{year}.png", tr(PICTURES))
        if name:
            self.save_year(Path(name), year)

    def save_year(self, path: Path, year: int) -> None:
        """Write the card of a year; the worker is asked for its figures first."""
        now = time.time()

        def paint(whole: _Look) -> None:
            picture = share_picture.paint(shared(year, whole.answers, now))  # type: ignore[arg-type]
            self.saver.save(path, picture)

        whole = _Look(paint, self.range.value(), self.history.chosen_kind())
        for metric, asked in questions(year, now).items():
            self._client.series(asked, whole.expect(metric), lambda error: self._tell(told(error.notice)))

    def _copy_card(self) -> None:
        QGuiApplication.clipboard().setImage(self.card())
        self._tell(tr("Copied the share card."))

    def _ask_certificate(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Save the certificate"), "hearth-certificate.png", tr(PICTURES))
        if name:
            self.save_certificate(Path(name))

    def save_certificate(self, path: Path) -> None:
        """Write a picture that carries what trainers have signed; the worker is asked for that first."""
        signed = path.with_name(f".{path.name}.signed")

        def written(_: object) -> None:
            try:
                document = signed.read_bytes()
                signed.unlink()
            except OSError as error:
                self._tell(tr("{file} could not be written: {reason}.", file=path.name, reason=error.strerror))
                return
            assert self._shown is not None
            picture = certificate.paint(self._shown.answers["credit"], document)
            self.saver.save(path, lambda: with_certificate(encoded(picture), document))

        self._client.certificate(signed, written, lambda error: self._tell(told(error.notice)))

    def save_csv(self, path: Path) -> None:
        """Write all metrics of the chosen range, by run and device; the worker is asked for them first."""
        now, chosen = time.time(), self.range.value()
        whole = _Look(lambda this: self.saver.save(path, table(this.answers)), chosen, self.history.chosen_kind())
        for metric in METRICS:
            self._client.series(
                question(metric, chosen, now, "both"),
                whole.expect(metric),
                lambda error: self._tell(told(error.notice)),
            )

    def card(self) -> QImage:
        """The share card as of now."""
        assert self._shown is not None
        totals: Totals = self._shown.answers["totals"]
        ever = totals.all.amounts
        told = [
            (KINDS[metric].short(getattr(ever, metric)), meaning(metric)) for metric in FIGURES if getattr(ever, metric)
        ]
        lent = tr("This PC has shared its idle time with a neural network of volunteers.")
        if totals.since is not None:
            since = day_name(totals.since)
            lent = tr("This PC has shared its idle time with a neural network of volunteers since {day}.", day=since)
        return share_picture.paint(
            share_picture.Shared(
                lent,
                tuple(told[:4]),
                self.history.plot.bars,
                f"{tr(self._shown.kind.title)}, {tr(RANGES[self._shown.chosen])}.",
                day_name(time.time()),
            )
        )

    def _tell(self, sentence: str) -> None:
        self._told.setText(sentence)
        self._told.setAccessibleName(sentence)
        self._told_timer.start()
