"""A layer of the run's grid as the worker told it last: its cells, what happened in them since, and their words."""

import math
import time
from collections import deque

from app.formats import percent, rate
from app.language import tr
from core.contracts.status import CellStatus, GridStatus

EVERY_MS = 2000
"""Between two looks at the grid, while the page is seen."""
MINUTE_S, NOTED_S = 60.0, 10.0
"""Over which calls are counted, and between two counts that are kept."""
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
        self.adopted: frozenset[int] = frozenset()
        """Cells, as drawn, whose expert somebody has taken on since: this PC or, where it or nobody had it, a peer."""
        self.shape: tuple[int, ...] = ()
        self.old = False
        """The worker has been away since that answer."""
        self.per_minute: dict[int, float] = {}
        """Calls a minute by cell, over the last minute of looks; a cell without calls is left out."""
        self.counted = False
        """Whether they are known: this is not the first look."""
        self._counts: deque[tuple[float, dict[int, int]]] = deque()
        """Calls so far by cell, at moments of the last minute, oldest first."""

    def take(self, grid: GridStatus, now: float | None = None) -> None:
        """Show what the worker told.

        Args:
            grid: The layer.
            now: When that was, time.monotonic() seconds.
        """
        new = {cell.cell: cell for cell in grid.cells}
        old, self.cells, self.shape = {} if self.old else self.cells, new, grid.shape
        self.old = False
        self._count(old, time.monotonic() if now is None else now)
        self.places = sorted(new) if math.prod(grid.shape) > WHOLE else []
        index = {place: at for at, place in enumerate(self.places)} if self.places else range(self.count)
        called, updated = set(), set()
        for place in new.keys() & old.keys():
            if place not in index:  # a worker of another version may tell anything
                continue
            before, after = old[place], new[place]
            # Fewer calls are those of a process that began anew, an older version is that of a checkpoint.
            if before.version is not None and after.version is not None and after.version > before.version:
                updated.add(index[place])
            elif after.calls > before.calls:
                called.add(index[place])
        taken = (place for place, cell in new.items() if place not in old or cell.here != old[place].here)
        self.adopted = frozenset(index[place] for place in taken if old and place in index)
        self.called, self.updated = frozenset(called | updated), frozenset(updated)

    def _count(self, old: dict[int, CellStatus], now: float) -> None:
        calls = {place: cell.calls for place, cell in self.cells.items() if cell.calls}
        if not old:
            self._counts.clear()
        while len(self._counts) > 1 and now - self._counts[1][0] >= MINUTE_S:
            self._counts.popleft()
        for place, total in calls.items():
            if place not in old or total < old[place].calls:  # new, or of a process that began anew
                for _, kept in self._counts:
                    kept[place] = total
        minutes = (now - self._counts[0][0]) / 60 if self._counts else 0.0
        self.counted = minutes > 0
        if self.counted:
            before = self._counts[0][1]
            more = {place: total - before.get(place, 0) for place, total in calls.items()}
            self.per_minute = {place: of / minutes for place, of in more.items() if of > 0}
        else:
            self.per_minute = {}
        if not self._counts or now - self._counts[-1][0] >= NOTED_S:
            self._counts.append((now, calls))

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


def words_about(uid: str, cell: CellStatus | None, per_minute: float = 0.0) -> str:
    """All that is known of a cell.

    Args:
        uid: Its name.
        cell: What the worker told; None: nobody hosts an expert in it.
        per_minute: Calls a minute of late.
    """
    if cell is None:
        return f"{uid}: {tr('no expert is hosted in this cell')}."
    parts = [tr("hosted here")] if cell.here else []
    if cell.hosts:
        parts.append(tr("hosted by %Ln other peer(s)", cell.hosts))
    if not parts:
        parts.append(tr("hosted by another peer"))
    parts.append(tr("version not known yet") if cell.version is None else tr("%Ln update(s)", cell.version))
    if cell.load is not None:
        parts.append(tr("its host {share} busy", share=percent(min(1.0, cell.load), 0)))
    if cell.calls:
        calls = tr("%Ln call(s)", cell.calls) if cell.here else tr("%Ln call(s) from this PC", cell.calls)
        parts.append(tr("{calls} ({rate} a minute)", calls=calls, rate=rate(per_minute)))
    return f"{uid}: {', '.join(parts)}"
