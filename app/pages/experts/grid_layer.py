"""A layer of the run's grid as the worker told it last: its cells, what happened in them since, and their words."""

import math

from app.formats import percent
from app.language import tr
from core.contracts.status import CellStatus, GridStatus

EVERY_MS = 2000
"""Between two looks at the grid, while the page is seen."""
WHOLE = 4096
"""Cells of a layer that are shown as its grid; of a larger one, mostly empty, only the experts."""


class Layer:
    """The newest answer about a layer, and what has changed since the one before."""

    def __init__(self) -> None:
        self.cells: dict[int, CellStatus] = {}
        self.places: list[int] = []
        """Cells of the grid in the order in which they are drawn; empty: all, in their own order."""
        self.called: frozenset[int] = frozenset()
        """Where something happened, as drawn: a call was answered, or an update taken, which takes a call."""
        self.updated: frozenset[int] = frozenset()
        """Of these, those that gradients changed."""
        self.shape: tuple[int, ...] = ()
        self.old = False
        """The worker has been away since that answer."""

    def take(self, grid: GridStatus) -> None:
        new = {cell.cell: cell for cell in grid.cells}
        old, self.cells, self.shape = {} if self.old else self.cells, new, grid.shape
        self.old = False
        self.places = sorted(new) if math.prod(grid.shape) > WHOLE else []
        index = {place: at for at, place in enumerate(self.places)} if self.places else range(self.count)
        called, updated = set(), set()
        for place in new.keys() & old.keys():
            if place not in index:  # a worker of another version may tell anything
                continue
            before, now = old[place], new[place]
            # Fewer calls are those of a process that began anew, an older version is that of a checkpoint.
            if before.version is not None and now.version is not None and now.version > before.version:
                updated.add(index[place])
            elif now.calls > before.calls:
                called.add(index[place])
        self.called, self.updated = frozenset(called | updated), frozenset(updated)

    def at(self, drawn: int) -> int:
        """The cell of the grid that is drawn at a place."""
        return self.places[drawn] if self.places else drawn

    @property
    def columns(self) -> int:
        if self.places or len(self.shape) < 2:
            return max(1, math.ceil(math.sqrt(self.count)))
        return self.shape[-1]

    @property
    def count(self) -> int:
        return len(self.places) or math.prod(self.shape)


def uid_of(run: str, layer: int, cell: int, shape: tuple[int, ...]) -> str:
    """ "text.0.3.14" of a cell's number."""
    coords: list[int] = []
    for size in reversed(shape):
        cell, u = divmod(cell, size)
        coords.append(u)
    return ".".join((run, str(layer), *map(str, reversed(coords))))


def words_about(uid: str, cell: CellStatus | None) -> str:
    """All that is known of a cell."""
    if cell is None:
        return f"{uid}: {tr('no expert is hosted in this cell')}."
    parts = [tr("hosted here")] if cell.here else []
    if cell.hosts:
        parts.append(tr("hosted by %Ln other peer(s)", cell.hosts))
    if not parts:
        parts.append(tr("hosted by another peer"))
    parts.append(tr("version not known yet") if cell.version is None else tr("%Ln update(s)", cell.version))
    if cell.load is not None:
        parts.append(tr("{share} load", share=percent(min(1.0, cell.load))))
    if cell.calls:
        parts.append(tr("%Ln call(s)", cell.calls))
    return f"{uid}: {', '.join(parts)}"
