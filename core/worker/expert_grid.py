"""What this PC knows of a layer of the grid, for people to look at; nobody is asked for it."""

from collections.abc import Sequence

import msgspec

from core.contracts.status import CELLS, CellStatus, ExpertStatus, GridStatus
from core.experts.grid import Coords, Grid, Uid
from core.worker.places import SwarmPlace


def overview(
    grid: Grid,
    layer: int,
    here: Sequence[ExpertStatus],
    load: float,
    swarm: SwarmPlace,
) -> GridStatus:
    """The hosted experts of a layer.

    Args:
        grid: the run's.
        layer: which one.
        here: the experts hosted here, of all layers.
        load: of compute.
        swarm: knows who else hosts what, and which of their experts were called from here.
    """
    mine = {Uid.parse(expert.uid): expert for expert in here}
    cells = {
        uid.coords: CellStatus(place(uid.coords, grid.shape), True, expert.updates, load, 0, expert.calls)
        for uid, expert in mine.items()
        if uid.layer == layer
    }
    mirror = None
    if layer < grid.layers:
        mirror, remembered = swarm.mirror(layer), swarm.remembered(layer)
        for coords in remembered if mirror is None else mirror:
            infos = remembered.get(coords, ())
            if coords in cells:
                cells[coords] = msgspec.structs.replace(cells[coords], hosts=len(infos))
                continue
            best = infos[0] if infos else None
            cells[coords] = CellStatus(
                place(coords, grid.shape),
                False,
                None if best is None else best.version,
                None if best is None else best.load,
                len(infos) or None,
                swarm.calls[str(Uid(grid.run, layer, coords))],
            )
    told = sorted(cells.values(), key=lambda cell: (not cell.here, cell.cell))[:CELLS]
    return GridStatus(layer, grid.layers, tuple(grid.shape), mirror is not None, told)


def place(coords: Coords, shape: Sequence[int]) -> int:
    """A cell's number in its layer, row by row."""
    number = 0
    for u, size in zip(coords, shape, strict=True):
        number = number * size + u
    return number
