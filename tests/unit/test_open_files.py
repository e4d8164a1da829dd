"""A process that may open no file more goes on, and a worker begins with as many as the system lets it have."""

import os
import subprocess
import sys

import pytest

from tests.workers import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no such limit")

NO_FILE_IS_LEFT = """
import os, resource
from core.net import addresses
from core.worker.memory import _taken
from core.worker.windows import Windows
own = {*addresses.of_interfaces()}
addresses._of_interfaces.cache_clear()
assert own and _taken(os.getpid()) and Windows().memory()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
opened = []
try:
    while True:
        opened.append(open(os.devnull))
except OSError:
    pass
assert _taken(os.getpid()) == Windows().memory() == 0
assert Windows().status({}) == []
assert {*addresses.of_interfaces()} == own
"""

ALLOWED = """
import resource
from core.control.start import FILES, allow_files
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
allow_files()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(FILES, {hard}), {hard})
"""


def succeeds(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_read_as_no_file_is_left_ends_nothing() -> None:
    succeeds(NO_FILE_IS_LEFT)


@pytest.mark.parametrize("hard", [512, 10_000])
def test_a_worker_may_have_more_files_open_than_a_program_of_the_desktop(hard: int) -> None:
    succeeds(ALLOWED.format(hard=hard))
