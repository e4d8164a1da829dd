"""Tables on a terminal. Only commands that draw some import this: it takes 60 ms."""

import sys

from rich.console import Console, RenderableType
from rich.table import Table


def table() -> Table:
    """An empty one, as all look here: without lines, its heads less bright than what stands below."""
    return Table(box=None, pad_edge=False, header_style="dim")


def show(shown: RenderableType) -> None:
    """Print it, as wide as the terminal."""
    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(shown)
