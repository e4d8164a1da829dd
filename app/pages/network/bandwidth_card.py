"""What went to peers and came from them, by kind, over time; and the limits in force."""

import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise

from app.actions import Actions
from app.formats import data_size
from app.language import clock, mark, told, tr
from app.pages.contribution.history import SIZE
from app.theme import theme
from app.widgets.bar_plot import NOTHING, BarPlot, Bars, Part
from app.widgets.basics import Card, Label
from app.widgets.boxes import STRETCH, add, hbox
from app.widgets.buttons import Button, Segmented
from app.widgets.legend import Legend
from app.worker.client import WorkerClient
from core.community.calendar import HOUR, MINUTE
from core.contracts.errors import HearthError
from core.contracts.ledger import Metric, Resolution, Series, SeriesParams, traffic_kind
from core.contracts.line import LineStatus

WAYS: dict[str, tuple[str, Metric]] = {"sent": (mark("Sent"), "bytes_out"), "received": (mark("Received"), "bytes_in")}
SPANS: dict[str, tuple[str, Resolution, float, int]] = {
    "hour": (mark("1 hour"), "minute", MINUTE, 60),
    "day": (mark("24 hours"), "hour", HOUR, 24),
}
"""By key its word, and how long each bar and how many there are."""
PARTS: tuple[tuple[str, str | float, tuple[str, ...]], ...] = (
    ("expert", 0.85, ("expert",)),
    ("file", 0.5, ("file", "blob")),
    ("data", "peer_b", ("data",)),
    ("pack", "peer_a", ("pack",)),
    ("trunk", "peer_c", ("trunk",)),
    ("dht", "peer", ("dht",)),
    ("line", "warn", ("line",)),
    ("relay", "pause", ("relay",)),
    ("other", "peer_rest", ("other",)),
)
"""What bars are made of from the foot up: how it is called, its tone, and the ledger's kinds in it. The rest, such as
manifests, credit and telemetry, is little, and one."""
AGAIN_S = 10.0
NOTHING_YET = mark("Nothing has gone to other peers or come from them in this time.")


class BandwidthCard(Card):
    """Bars of a minute or an hour each, made of kinds of traffic."""

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        super().__init__(tr("Bandwidth"))
        self._client = client
        self.way = Segmented({key: tr(word) for key, (word, _) in WAYS.items()}, tr("Direction"))
        self.span = Segmented({key: tr(word) for key, (word, *_) in SPANS.items()}, tr("Time"))
        self.way.set_value("sent")
        self.span.set_value("hour")
        add(self.head, self.way, self.span)
        self.words, self.legend = Label("", "body", "text2", wrap=True), Legend()
        self.plot = BarPlot(tr("Traffic with peers"), tr(NOTHING_YET))
        self.plot.setMinimumHeight(theme().px(150))
        self.limits = Label("", "cap", "text2", wrap=True)
        change = Button(
            tr("Change the limits"), "link", "settings", clicked=lambda: actions.show_setting.emit("upload_kb_s")
        )
        add(self.body, self.words, self.legend, (self.plot, 1), self.limits, hbox(change, STRETCH))
        self._summary = ""
        self._asked_at = float("-inf")
        self.plot.picked.connect(lambda words: self.words.setText(words or self._summary))
        for choice in (self.way, self.span):
            choice.chosen.connect(self._look_again)

    def set_stale(self, stale: bool) -> None:
        """Grey: the figures are old, and nobody could answer."""
        self.plot.set_stale(stale)
        for choice in (self.way, self.span):
            choice.setEnabled(not stale)

    def show_limits(self, line: LineStatus | None) -> None:
        """The limits in force; None: this PC is alone."""
        self.limits.setVisible(line is not None)
        if line is not None:
            upload = tr("Upload: {limit}", limit=told(line.upload.why))
            self.limits.setText(f"{upload}\n{tr('Download: {limit}', limit=told(line.download.why))}")

    def _look_again(self, _: object = None) -> None:
        self._asked_at = float("-inf")
        self.look(lambda error: None)

    def look(self, failed: Callable[[HearthError], None]) -> None:
        """Ask the ledger, now and then.

        Args:
            failed: is told if it cannot be read.
        """
        if time.monotonic() - self._asked_at < AGAIN_S or not self._client.is_connected:
            return
        self._asked_at = time.monotonic()
        way, span, now = self.way.value(), self.span.value(), time.time()
        _, resolution, seconds, count = SPANS[span]
        question = SeriesParams(WAYS[way][1], now - (count - 1) * seconds, now, resolution, "device")

        def take(series: Series) -> None:
            if (way, span) == (self.way.value(), self.span.value()):  # else another one is on its way
                self._show(series)

        self._client.series(question, take, failed)

    def _show(self, series: Series) -> None:
        shown = bars(series)
        way, span = tr(WAYS[self.way.value()][0]), tr(SPANS[self.span.value()][0])
        self._summary = tr("{way} in {time}: {amount}", way=way, time=span, amount=data_size(sum(shown.sums())))
        self.plot.set_bars(f"{way}, {span}", shown, data_size, SIZE)
        self.legend.show_parts(shown.parts)
        if self.plot.at is None:
            self.words.setText(self._summary)


def bars(series: Series) -> Bars:
    """What the plot shows of the ledger's answer.

    Args:
        series: bytes by device, of which kinds of traffic are some.
    """
    times = [clock(datetime.fromtimestamp(moment)) for moment in series.times]
    count = len(times) - 1
    if count < 1:
        return NOTHING
    kinds = {name.removeprefix("network."): values for name, values in series.values.items() if "network." in name}
    parts = [
        Part(told(traffic_kind(name)), tone, _sum([kinds.pop(kind) for kind in group if kind in kinds], count))
        for name, tone, group in PARTS
    ]
    parts.append(Part(tr("All else"), "line", _sum([*kinds.values()], count)))
    names = [tr("{start} to {end}", start=start, end=end) for start, end in pairwise(times)]
    ends = tr("{start} to {end}", start=times[-2], end=tr("now"))
    return Bars([*times[: count - 1], tr("Now")], [*names[:-1], ends], [part for part in parts if any(part.values)])


def _sum(rows: list[list[float]], count: int) -> list[float]:
    return [sum(row[at] for row in rows) for at in range(count)]
