"""Boxes of widgets, written as they are seen: `hbox(icon, (label, 1), button, spacing=look.S)`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.theme import theme

Box = TypeVar("Box", bound=QBoxLayout)
STRETCH = -1
"""Takes the room that is left."""
Part = QWidget | QLayout | int | tuple[QWidget | QLayout, int | Qt.AlignmentFlag]
"""A widget or layout, alone or with its stretch or alignment; a number is a gap of so many pixels."""
Margins = tuple[int, int, int, int] | None
"""Left, top, right, bottom; None: those of Qt's style."""
NO_MARGINS = (0, 0, 0, 0)


def add(box: QBoxLayout, *parts: Part) -> None:
    """Add parts at the end of a box."""
    for part in parts:
        if isinstance(part, int):
            if part == STRETCH:
                box.addStretch(1)
            else:
                box.addSpacing(part)
            continue
        what, how = part if isinstance(part, tuple) else (part, 0)
        aligned = isinstance(how, Qt.AlignmentFlag)
        if isinstance(what, QLayout):
            box.addLayout(what, 0 if aligned else int(how))
        else:
            box.addWidget(what, 0 if aligned else int(how))
        if isinstance(how, Qt.AlignmentFlag):
            box.setAlignment(what, how)


def hbox(
    *parts: Part, spacing: int | None = None, margins: Margins = NO_MARGINS, within: QWidget | None = None
) -> QHBoxLayout:
    """Parts side by side.

    Args:
        parts: from where lines begin.
        spacing: between them, pixels; None: that of Qt's style.
        margins: round all of them.
        within: the widget that they fill.
    """
    return _filled(QHBoxLayout(within) if within else QHBoxLayout(), parts, spacing, margins)


def vbox(
    *parts: Part, spacing: int | None = None, margins: Margins = NO_MARGINS, within: QWidget | None = None
) -> QVBoxLayout:
    """Parts one below the other; arguments as of `hbox`."""
    return _filled(QVBoxLayout(within) if within else QVBoxLayout(), parts, spacing, margins)


def _filled(box: Box, parts: tuple[Part, ...], spacing: int | None, margins: Margins) -> Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    add(box, *parts)
    return box


def holding(layout: QLayout) -> QWidget:
    """A widget that shows a layout, without margins."""
    holder = QWidget()
    layout.setContentsMargins(*NO_MARGINS)
    holder.setLayout(layout)
    return holder


def grid_box(
    across: int,
    down: int,
    *,
    stretch: Mapping[int, int] | None = None,
    margins: tuple[int, int, int, int] = NO_MARGINS,
    within: QWidget | None = None,
) -> QGridLayout:
    """An empty grid.

    Args:
        across: pixels between columns.
        down: pixels between rows.
        stretch: of those columns that share the room that is left.
        margins: round all of it.
        within: the widget that it fills.
    """
    grid = QGridLayout(within) if within else QGridLayout()
    grid.setContentsMargins(*margins)
    grid.setHorizontalSpacing(across)
    grid.setVerticalSpacing(down)
    for column, share in (stretch or {}).items():
        grid.setColumnStretch(column, share)
    return grid


def items_of(layout: QLayout) -> Iterator[QLayoutItem]:
    """What a layout holds, in its order; each is to be used before the next one is taken.

    Qt deletes an item with its widget, but PySide keeps what it has made of it, and would take whatever comes to lie at
    that address for it.
    """
    for at in range(layout.count()):
        if (item := layout.itemAt(at)) is not None:
            yield item
            if not isinstance(item, QLayout):
                shiboken6.invalidate(item)


def discard(widgets: Iterable[QWidget]) -> None:
    """Take widgets out of sight at once, and out of their layout a little later."""
    for widget in widgets:
        parent = widget.parentWidget()
        _forget_items(parent.layout() if parent else None)
        widget.hide()
        widget.deleteLater()


def _forget_items(layout: QLayout | None) -> None:
    """Those that PySide has made itself, of a layout that was added to another one."""
    for item in items_of(layout) if layout else ():
        _forget_items(item.layout())


def scrolling(content: QWidget) -> QScrollArea:
    """What scrolls where there is too little room for it; the focus goes to what is in it."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(content)
    for part in (content, area.viewport()):
        part.setAutoFillBackground(False)
    theme().set_sheet(area.verticalScrollBar(), "scroll_bar")
    theme().set_sheet(area.horizontalScrollBar(), "scroll_bar")
    return area
