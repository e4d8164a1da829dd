"""Plots of benchmarks as PNG files, drawn by the app's plotting library without a screen."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

PEN_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")
WIDTH, HEIGHT = 460, 340
"""Pixels of one panel."""


class Line(NamedTuple):
    """One curve and, if there are several runs, how far they spread."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    deviation: Sequence[float] = ()
    """Standard deviation of each y."""
    dashed: bool = False


class Panel(NamedTuple):
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    least: float | None = 0.0
    """Lower end of the y axis; None: as the curves need."""
    legend: Literal["middle", "bottom"] = "bottom"
    """Where it stands, on the right."""


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Panels side by side, with a legend each."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import pyqtgraph as pg
    from PySide6.QtCore import Qt

    app = pg.mkQApp()
    pg.setConfigOptions(background="w", foreground="k", antialias=True)
    view = pg.GraphicsLayoutWidget(size=(WIDTH * len(panels), HEIGHT))
    for column, panel in enumerate(panels):
        plot = view.addPlot(0, column, title=panel.title)
        plot.setLabels(bottom=panel.x_label, left=panel.y_label)
        plot.showGrid(x=True, y=True, alpha=0.2)
        legend = plot.addLegend(brush="#ffffffc0", labelTextSize="8pt")
        at = (1, 1) if panel.legend == "bottom" else (1, 0.5)
        legend.anchor(at, at, offset=(-10, -10))
        if panel.least is not None:
            plot.setYRange(panel.least, max(max(line.y) for line in panel.lines) * 1.05, padding=0)
        for number, line in enumerate(panel.lines):
            colour = PEN_COLOURS[number % len(PEN_COLOURS)]
            style = Qt.PenStyle.DashLine if line.dashed else Qt.PenStyle.SolidLine
            plot.plot(line.x, line.y, name=line.name, pen=pg.mkPen(colour, width=2, style=style))
            if line.deviation:
                shade = pg.mkColor(colour)
                shade.setAlpha(40)
                edges = [
                    pg.PlotDataItem(line.x, [y + sign * d for y, d in zip(line.y, line.deviation, strict=True)])
                    for sign in (-1, 1)
                ]
                plot.addItem(pg.FillBetweenItem(*edges, brush=shade))
    app.processEvents()
    path.parent.mkdir(parents=True, exist_ok=True)
    view.grab().save(str(path))
    view.close()


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and unbiased standard deviation; that of a single value is 0."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
