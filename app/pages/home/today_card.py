"""Today on Home: what this PC shared since midnight, beside the six days before, as the worker's ledger tells it."""

import time

from PySide6.QtCore import Signal

from app import theme as look
from app.formats import NONE, count
from app.language import mark, told, tr
from app.pages.contribution.history import (
    KINDS,
    SHORTENED,
    Answer,
    Kind,
    bars,
    is_estimate,
    question,
    tight,
    trained,
)
from app.theme import theme
from app.widgets.bar_plot import BarPlot
from app.widgets.basics import Figure, Figures, Label, StaleCard
from app.widgets.boxes import add
from app.widgets.while_seen import WhileSeen
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.ledger import Amounts, Period, Series, Totals

EVERY_MS = 10_000
"""Between two looks at the ledger, while the card is seen."""
ASKING = mark("Appears as soon as the worker has sent its history.")
NOTHING_YET = mark("Nothing shared in these 7 days. The first bar appears within a minute of computing.")
LENT = KINDS["seconds"]
TRAFFIC = "network."


def on_gpus(period: Period) -> float:
    """Seconds on graphics processors."""
    return sum(
        amounts.seconds
        for device, amounts in period.devices.items()
        if device and device != "cpu" and not device.startswith(TRAFFIC)
    )


class TodayCard(StaleCard):
    """Asks the ledger while it is seen."""

    told = Signal(object)
    """The ledger's `Totals`."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Today"), tr("Contribution"))
        self._client = client
        self.lent, self._words = Label(NONE, "num"), Label(tr(ASKING), "cap", "text2", wrap=True)
        self._calls, self._trained, self._energy = (
            Figure(tr("Calls for others")),
            Figure(tr("Samples")),
            Figure(tr("Energy")),
        )
        figures = Figures(self._calls, self._trained, self._energy, spacing=look.M)
        self.plot = BarPlot(tr("Compute time by day"), tr(ASKING), told=True)
        self.plot.setMinimumHeight(theme().px(74))  # wrapped words above it would take of it where cards are stacked
        self.body.setSpacing(look.XS)
        add(self.body, self.lent, self._words, look.XS, figures, look.XS, (self.plot, 1))
        self.values = [self.lent, *(figure.value for figure in (self._calls, self._trained, self._energy))]
        self._timer = WhileSeen(self, EVERY_MS, self.look)

    def set_stale(self, since: str) -> None:
        super().set_stale(since)
        self.plot.set_stale(bool(since))

    def look(self) -> None:
        """Ask the ledger for all that is shown."""
        if self._client.is_connected and self.isVisible():
            self._client.totals(self._take_totals, self._failed)
            self._client.series(question("seconds", "week", time.time(), None), self._take_week, self._failed)

    def _failed(self, error: HearthError) -> None:
        if self._client.is_connected:
            again = tr("Asks again in {seconds} s.", seconds=EVERY_MS // 1000)
            self._words.setText(f"{told(error.notice)} {again}")

    def _take_totals(self, totals: Totals) -> None:
        self.told.emit(totals)
        today = totals.today.amounts
        self.lent.setText(LENT.write(today.seconds))
        gpu = on_gpus(totals.today)
        words = tr("shared, {time} of it on the GPU", time=LENT.write(gpu)) if gpu else tr("shared since midnight")
        self._words.setText(words)
        self.lent.setAccessibleName(f"{LENT.write(today.seconds)} {self._words.text()}")
        self._set(self._calls, KINDS["peer_calls"], today.peer_calls)
        self._show_trained(today, totals.all.amounts)
        self._energy.set_label(tr("Energy, about") if is_estimate(today) else tr("Energy"))
        self._set(self._energy, KINDS["kwh"], today.kwh)

    def _show_trained(self, today: Amounts, ever: Amounts) -> None:
        """Of two kinds of run, the figure is that of the pictures, and what was trained of text stands behind it."""
        metrics = trained(today) or trained(ever)[-1:] or ["samples"]
        if len(metrics) == 2:
            self._trained.set_label(tr("Samples + tokens"))
            text = KINDS["tokens"].short(today.tokens)
            self._trained.set(KINDS["samples"].short(today.samples), f"+ {text}")
        else:
            self._trained.set_label(tr("Tokens") if metrics == ["tokens"] else tr("Samples"))
            value, _, unit = count(getattr(today, metrics[0]), SHORTENED).partition(" ")
            self._trained.set(value, unit)

    def _set(self, figure: Figure, kind: Kind, amount: float) -> None:
        value, _, unit = kind.short(amount).partition(" ")
        figure.set(value, unit)

    def _take_week(self, series: Series) -> None:
        shown = bars(LENT, [Answer(series, series)], "all", "week", {}, [])
        if shown != self.plot.bars:  # a plot that is drawn anew costs as much as a changed one
            self.plot.set_empty(tr(NOTHING_YET))
            self.plot.set_bars(tr("Compute time by day"), shown, LENT.write, LENT.scale, tight)
