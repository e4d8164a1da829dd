"""What commands share."""

import argparse
from typing import Any

import msgspec

from core.contracts.errors import SettingsError
from core.control.client import ControlClient
from core.store.data_folder import data_path


def client(options: argparse.Namespace) -> ControlClient:
    """The worker of the data folder that was named."""
    return ControlClient(data_path(options.data_dir))


def print_json(answer: Any) -> None:
    """An answer as one JSON document, indented."""
    print(msgspec.json.format(msgspec.json.encode(answer)).decode())


def in_one_line(answer: Any) -> str:
    """An answer as JSON."""
    return msgspec.json.encode(answer).decode()


def named_run(options: argparse.Namespace) -> str:
    """The run, or the file of its manifest, that a command of `hearth run` is about.

    Raises:
        SettingsError: none was named.
    """
    if not options.run:
        example = {"check": "mine.toml", "sign": "mine.toml", "publish": "mine.toml", "link": "mine"}.get(
            options.what, "text"
        )
        raise SettingsError(f"Which run? For example: hearth run {options.what} {example}")
    return str(options.run)
