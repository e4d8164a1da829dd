"""What commands share."""

import argparse
from typing import TYPE_CHECKING, Any

from core.store.data_folder import data_path

if TYPE_CHECKING:
    from core.control.client import ControlClient


def client(options: argparse.Namespace) -> "ControlClient":
    """The worker of the data folder that was named."""
    from core.control.client import ControlClient

    return ControlClient(data_path(options.data_dir))


def print_json(answer: Any) -> None:
    """An answer as one JSON document, indented."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(answer)).decode())
