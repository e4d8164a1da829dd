"""The cards of the contribution page: totals, the history as bars, the week by the hour, and who did how much."""

import itertools
from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import NONE, number, percent, tip
from app.icons import Icon
from app.language import mark, tr
from app.pages.contribution.history import GROUPS, KINDS, Kind, together
from app.pages.contribution.week_map import WeekMap
from app.theme import theme
from app.widgets.bar_plot import BarPlot, Bars
from app.widgets.basics import Bar, Card, ElidedLabel, Label, Panel
from app.widgets.boxes import STRETCH, add, discard, grid_box, hbox, vbox
from app.widgets.buttons import Segmented
from app.widgets.inputs import Choice
from app.widgets.legend import Legend
from core.contracts.credit import Credit
from core.contracts.words import operations

ASKING = mark("Appears as soon as the worker has sent its history.")
NOTHING_HERE = mark("Nothing in this time.")
ROWS = 4
"""Devices and runs that are listed."""


class TotalCard(Panel):
    """One figure: today's large, those of the week and of all time under it."""

    def __init__(self, name: str, icon: str) -> None:
        super().__init__()
        self.value, self._unit = Label(NONE, "num"), Label("", "body", "text2")
        self._word, self._more = Label(name, "body", "text2"), Label("", "cap", "text2", wrap=True)
        horizontal, vertical = look.CARD_PADDING
        head = hbox(Icon(icon, "text2", 18), (self._word, 1), spacing=look.S)
        figure = hbox((self.value, Qt.AlignmentFlag.AlignBaseline), spacing=6)
        figure.addWidget(self._unit, 1, Qt.AlignmentFlag.AlignBaseline)
        margins = (horizontal, vertical - 2, horizontal, vertical - 2)
        self.body = vbox(head, figure, self._more, STRETCH, spacing=2, margins=margins, within=self)
        self.setAccessibleName(name)

    def set(
        self,
        name: str,
        kinds: Sequence[Kind],
        periods: Sequence[Sequence[float]],
        estimates: Sequence[bool] = (False, False, False),
    ) -> None:
        """Show what was done.

        Args:
            name: of the figure.
            kinds: of which it is; after runs of text and of pictures, more than one.
            periods: what was done today, in seven days and ever: an amount of each kind.
            estimates: which of these are no more than that.
        """
        written = [
            tr("about {amount}", amount=together(kinds, amounts)) if estimate else together(kinds, amounts)
            for amounts, estimate in zip(periods, estimates, strict=True)
        ]
        self._word.setText(tr("{name}, about", name=name) if estimates[0] and any(periods[0]) else name)
        first, plus, second = together(kinds, periods[0]).partition(" + ")
        more = tr("{week} in 7 days\n{ever} in total", week=written[1], ever=written[2])
        self._show(first, f"+ {second} {tr('today')}" if plus else tr("today"), more)
        exact = together(kinds, periods[0], exact=True)
        exact = tr("about {amount}", amount=exact) if estimates[0] else exact
        self.setAccessibleName(f"{name}: {tr('{amount} today', amount=exact)}")
        self.setAccessibleDescription(self._more.text().replace("\n", ", "))

    def _show(self, value: str, unit: str, more: str) -> None:
        self.value.setText(value)
        self._unit.setText(unit)
        self._more.setText(more)


class CreditCard(TotalCard):
    """What other peers have signed for, and what they are still to sign or to audit."""

    def __init__(self) -> None:
        super().__init__(tr("Verified credit"), "shield")
        self.has_any = False

    def show_credit(self, credit: Credit) -> None:
        """Show what this PC was credited with; nothing as long as it has computed for nobody."""
        self.has_any = credit.since is not None
        self.setVisible(self.has_any)
        today, ever = (operations(amount, number) for amount in (credit.given(1)[0], credit.verified))
        value, _, unit = today.partition(" ")
        pending = operations(credit.pending, number)
        more = tr("{ever} in total\n{pending} pending", ever=ever, pending=pending)
        self._show(value, f"{unit} {tr('today')}", more)
        self.setToolTip(tip(tr("Computed for other peers, and confirmed by their signatures and audits.")))
        self.setAccessibleName(f"{tr('Verified credit')}: {tr('{amount} today', amount=today)}")
        self.setAccessibleDescription(more.replace("\n", ", "))


class HistoryCard(Card):
    """The bars, with what they are and what they are made of to be chosen."""

    def __init__(self) -> None:
        super().__init__(tr("History"))
        self.kind = Choice()
        self.kind.setAccessibleName(tr("Figure"))
        for key, kind in KINDS.items():
            self.kind.addItem(tr(kind.title), key)
        self.group = Segmented({key: tr(word) for key, word in GROUPS.items()}, tr("Breakdown"))
        add(self.head, self.kind, self.group)
        self.words = Label(tr(ASKING), "body", "text2", wrap=True)
        self._legend = Legend()
        self.plot = BarPlot(tr("History"), tr(ASKING))
        self.plot.setMinimumHeight(theme().px(112))
        add(self.body, hbox((self.words, 1), self._legend), (self.plot, 1))
        self._summary = tr(ASKING)
        self.plot.picked.connect(lambda words: self.words.setText(words or self._summary))

    def chosen_kind(self) -> Kind:
        return KINDS[self.kind.currentData()]

    def show_bars(self, kind: Kind, shown: Bars, empty: str, summary: str) -> None:
        """Draw a figure over time.

        Args:
            kind: the figure.
            shown: what to draw of it.
            empty: the sentence if that is nothing.
            summary: what is said of it.
        """
        self._summary = summary
        self.plot.set_empty(empty)
        self.plot.set_bars(tr(kind.title), shown, kind.write, kind.scale)
        self._legend.show_parts(shown.parts)


class WeekCard(Card):
    """When this PC helps."""

    def __init__(self) -> None:
        super().__init__(tr("When this PC helps"))
        self._words = Label(tr("last 7 days"), "cap", "text2")
        self.head.addWidget(self._words)
        self.map = WeekMap()
        self.body.addWidget(self.map, 1)
        self.map.picked.connect(lambda words: self._words.setText(words or tr("last 7 days")))


class SharesCard(Card):
    """Which device and which run did how much of the chosen figure."""

    def __init__(self) -> None:
        super().__init__(tr("By device and run"))
        self._range = Label("", "cap", "text2")
        self.head.addWidget(self._range)
        self._grid = grid_box(look.M, look.S, stretch={0: 3, 1: 2})
        self.empty = Label(tr(ASKING), "body", "text2", wrap=True)
        add(self.body, self.empty, self._grid, STRETCH)
        self._shown: list[QWidget] = []

    def show_shares(self, kind: Kind, groups: Mapping[str, Sequence[tuple[str, float]]], chosen: str) -> None:
        """Show who did how much.

        Args:
            kind: the figure.
            groups: who did how much, by heading.
            chosen: words for the time.
        """
        self._range.setText(chosen)
        discard(self._shown)
        self._shown = []
        self.empty.setText(tr(NOTHING_HERE))
        self.empty.setVisible(not any(groups.values()))
        place = itertools.count()  # from the first row on: a grid keeps every row that it ever had
        for heading, rows in groups.items():
            if rows:
                self._add(Label(heading, "cap_strong", "text2"), next(place), 0, 3)
            whole = sum(amount for _, amount in rows)
            for name, amount in rows[:ROWS]:
                row = next(place)
                words, bar, figure = ElidedLabel(name, "body"), Bar(), Label(kind.write(amount), "strong", tabular=True)
                bar.set_value(amount / whole)
                bar.setAccessibleName(f"{name}: {kind.write(amount)}, {percent(amount / whole, 0)}")
                figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                for column, widget in enumerate((words, bar, figure)):
                    self._add(widget, row, column)
                self._grid.setAlignment(bar, Qt.AlignmentFlag.AlignVCenter)

    def _add(self, widget: QWidget, row: int, column: int, columns: int = 1) -> None:
        self._grid.addWidget(widget, row, column, 1, columns)
        self._shown.append(widget)
        widget.show()
