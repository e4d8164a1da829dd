"""What commands share."""

import argparse
from typing import Any

import msgspec

from core.control.client import ControlClient
from core.store.data_folder import data_path


def client(options: argparse.Namespace) -> ControlClient:
    """The worker of the data folder that was named."""
    return ControlClient(data_path(options.data_dir))


def print_json(answer: Any) -> None:
    """An answer as one JSON document, indented."""
    print(msgspec.json.format(msgspec.json.encode(answer)).decode())
