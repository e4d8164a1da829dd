"""What all tests share: processes that do not fight for the cores, each with a screen to itself, as many tests use the
keyboard and look at pixels."""

import contextlib
import os

import pytest

from tests import virtual_screen

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Torch's threads wait in a loop for each other, which takes ten times as long where other tests compute."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # one process: it runs on the screen that it was started on
        return
    screen = contextlib.ExitStack()
    config.add_cleanup(screen.close)
    environment = screen.enter_context(virtual_screen.desktop())
    os.environ.clear()
    os.environ.update(environment)
