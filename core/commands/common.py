"""What commands share."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from core.control.client import ControlClient
from core.store.data_folder import data_path

if TYPE_CHECKING:  # 60 ms, for two commands only
    from rich.console import RenderableType


def client(options: argparse.Namespace) -> ControlClient:
    """The worker of the data folder that was named."""
    return ControlClient(data_path(options.data_dir))


def print_json(answer: Any) -> None:
    """An answer as one JSON document, indented."""
    print(msgspec.json.format(msgspec.json.encode(answer)).decode())


def print_rich(shown: "RenderableType") -> None:
    """A table, as wide as the terminal."""
    from rich.console import Console

    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(shown)
