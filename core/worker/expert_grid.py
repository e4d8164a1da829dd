"""What this PC knows of a layer of the grid, for people to look at; nobody is asked for it."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.contracts.control import CELLS, CellStatus, ExpertStatus, GridStatus
from core.experts.grid import Coords, Grid, Uid

if TYPE_CHECKING:  # a worker that is alone does not pay for the network's modules
    from core.experts.dht_directory import DHTDirectory


def overview(
    grid: Grid,
    layer: int,
    here: Sequence[ExpertStatus],
    load: float,
    calls: Counter[str],
    directory: "DHTDirectory | None",
) -> GridStatus:
    """The hosted experts of a layer.

    Args: the run's grid, the layer, the experts hosted here (of all layers) and their load, this PC's calls to others'
        experts by uid, and who else hosts what (None: this PC is alone).
    """
    mine = {Uid.parse(expert.uid): expert for expert in here}
    cells = {
        uid.coords: CellStatus(place(uid.coords, grid.shape), True, expert.updates, load, 0, expert.calls)
        for uid, expert in mine.items()
        if uid.layer == layer
    }
    mirror = None
    if directory is not None and layer < grid.layers:
        mirror, remembered = directory.mirror(layer), directory.remembered(layer)
        for coords in remembered if mirror is None else mirror:
            infos = remembered.get(coords, ())
            if coords in cells:
                cells[coords] = _with_hosts(cells[coords], len(infos))
                continue
            best = infos[0] if infos else None
            cells[coords] = CellStatus(
                place(coords, grid.shape),
                False,
                None if best is None else best.version,
                None if best is None else best.load,
                len(infos) or None,
                calls[str(Uid(grid.run, layer, coords))],
            )
    told = sorted(cells.values(), key=lambda cell: (not cell.here, cell.cell))[:CELLS]
    return GridStatus(layer, grid.layers, tuple(grid.shape), mirror is not None, told)


def _with_hosts(cell: CellStatus, hosts: int) -> CellStatus:
    return CellStatus(cell.cell, cell.here, cell.version, cell.load, hosts, cell.calls)


def place(coords: Coords, shape: Sequence[int]) -> int:
    """A cell's number in its layer, row by row."""
    number = 0
    for u, size in zip(coords, shape, strict=True):
        number = number * size + u
    return number
