"""The cards of the contribution page that compare: the leaderboard, and badges that others' signatures have earned."""

import itertools
from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme as look
from app.formats import number, percent, tip
from app.icons import paint_icon, rounded, smooth
from app.language import mark, tr
from app.pages.contribution.history import day_name
from app.pages.contribution.milestones import Ladder, Milestone, ladders
from app.theme import theme
from app.widgets.basics import Bar, Card, ElidedLabel, Label
from app.widgets.boxes import STRETCH, add, discard, grid_box, hbox, vbox
from app.widgets.buttons import Segmented
from core.contracts.credit import DAY_S, Credit, Leaderboard, Ranked, Ranking
from core.contracts.words import operations

TIMES = {"today": mark("Today"), "week": mark("7 days"), "ever": mark("All time")}
NOBODY = mark(
    "No work from this period counts here yet. "
    "It must be verified by somebody this PC trusts: itself, an organiser or a peer that the run names."
)
SIDE = 30
"""Of a badge, pixels."""
Write = Callable[[float], str]
"""An amount in words."""


class LeaderboardCard(Card):
    """Who was credited with most."""

    def __init__(self) -> None:
        super().__init__(tr("Leaderboard"))
        self.time = Segmented({key: tr(word) for key, word in TIMES.items()}, tr("Time of the leaderboard"))
        self.time.set_value("week")
        self.time.chosen.connect(self._draw)
        self.head.addWidget(self.time)
        self._grid = grid_box(look.M, look.S, stretch={1: 3, 2: 2})
        self.empty, self.foot = Label(tr(NOBODY), "body", "text2", wrap=True), Label("", "cap", "text2", wrap=True)
        add(self.body, self.empty, self._grid, self.foot, STRETCH)
        self._shown: list[QWidget] = []
        self._leaderboard: Leaderboard | None = None

    def show_leaderboard(self, leaderboard: Leaderboard) -> None:
        """Show the order of peers.

        Args:
            leaderboard: for each of the times.
        """
        if leaderboard != self._leaderboard:
            self._leaderboard = leaderboard
            self._draw()

    def _draw(self) -> None:
        if self._leaderboard is None:
            return
        ranking: Ranking = getattr(self._leaderboard, self.time.value())
        discard(self._shown)
        self._shown = []
        self.empty.setVisible(not ranking.best and not ranking.others)
        most = max((one.verified for one in ranking.best), default=0.0)
        for row, one in zip(itertools.count(), ranking.best):
            self._add(row, one, most)
        self.foot.setText(_foot(ranking))
        self.foot.setVisible(bool(self.foot.text()))

    def _add(self, row: int, one: Ranked, most: float) -> None:
        role = "strong" if one.mine else "body"
        name = " · ".join(filter(None, (one.name or tr("This PC"), one.team)))
        figure = operations(one.verified, number)
        bar = Bar("ember_fill" if one.mine else "text2")
        bar.set_value(one.verified / most)
        bar.setAccessibleName(f"{name}: {figure}, {percent(one.verified / most, 0)}")
        amount = Label(figure, role, tabular=True)
        amount.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        place = Label(f"{number(one.place)}.", role, "text2", tabular=True)
        for column, widget in enumerate((place, ElidedLabel(name, role), bar, amount)):
            self._grid.addWidget(widget, row, column)
            self._shown.append(widget)
            widget.show()
        self._grid.setAlignment(bar, Qt.AlignmentFlag.AlignVCenter)


def _foot(ranking: Ranking) -> str:
    parts = []
    if ranking.others:
        amount = operations(ranking.others_verified, number)
        parts.append(tr("%Ln more peer(s): {amount}.", ranking.others, amount=amount))
    if any(one.mine and not one.name for one in ranking.best):
        parts.append(tr("Others see this PC here once you have chosen a name in Settings."))
    return " ".join(parts)


class BadgesCard(Card):
    """What was reached, and how far the next one is."""

    def __init__(self) -> None:
        super().__init__(tr("Badges"))
        self.days = _LadderRow(tr("Days with verified work"))
        self.flops = _LadderRow(tr("Verified operations"))
        add(self.body, self.days, self.flops, STRETCH)

    def show_credit(self, credit: Credit) -> None:
        """Show what others have verified."""
        days, flops = ladders(credit)
        self.days.show_ladder(days, number)
        self.flops.show_ladder(flops, lambda amount: operations(amount, _figure))


def _figure(value: float, decimals: int) -> str:
    return number(value) if value == int(value) else number(value, decimals)


class _LadderRow(QWidget):
    """One kind of badges, and what the next one takes."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._badges = hbox(spacing=look.S)
        self._bar, self._words = Bar(), Label("", "cap", "text2", wrap=True)
        vbox(Label(title, "cap_strong", "text2"), self._badges, self._bar, self._words, spacing=6, within=self)
        self._shown: list[QWidget] = []

    def show_ladder(self, ladder: Ladder, write: Write) -> None:
        """Show the badges of this kind.

        Args:
            ladder: which of them were reached.
            write: an amount.
        """
        discard(self._shown)
        self._shown = [_Badge(one, write(one.amount)) for one in ladder.milestones]
        for badge in self._shown:
            self._badges.addWidget(badge, 1)
            badge.show()
        coming = ladder.next
        self._bar.setVisible(coming is not None)
        words = tr("All badges are earned: {amount}.", amount=write(ladder.now))
        if coming is not None:
            self._bar.set_value(ladder.now / coming.amount)
            words = tr("{amount} of {next}", amount=write(ladder.now), next=write(coming.amount))
        self._words.setText(words)
        self.setAccessibleName(f"{self._title}: {words}")


class _Badge(QWidget):
    """A seal, and the amount under it."""

    def __init__(self, milestone: Milestone, amount: str) -> None:
        super().__init__()
        self._earned, self._amount = milestone.reached is not None, amount
        self._side = theme().px(SIDE)
        self._font = theme().font("cap")
        words = tr("{amount}: not reached yet", amount=amount)
        if milestone.reached is not None:
            words = tr("{amount}: reached on {day}", amount=amount, day=day_name(milestone.reached * DAY_S + DAY_S / 2))
        self.setAccessibleName(words)
        self.setToolTip(tip(words))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._font)
        return QSize(max(self._side, metrics.horizontalAdvance(self._amount)), self._side + 4 + metrics.height())

    minimumSizeHint = sizeHint

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, side, colors = smooth(self), self._side, theme()
        seal = QRectF((self.width() - side) / 2, 0, side, side)
        rounded(painter, seal, side / 2, colors.color("ember_fill" if self._earned else "border"))
        inner = seal.adjusted(side / 4, side / 4, -side / 4, -side / 4)
        icon, tone = ("check", "canvas") if self._earned else ("lock", "text3")
        paint_icon(painter, icon, inner, colors.color(tone))
        painter.setFont(self._font)
        painter.setPen(colors.color("text" if self._earned else "text3"))
        words = QRectF(0, side + 4, self.width(), self.height() - side - 4)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop), self._amount)
