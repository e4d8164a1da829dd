"""What holds for all tests together: whatever they start has ended when they have."""

import contextlib
import gc
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest

from tests.virtual_screen import desktop
from tests.workers import PATIENCE_S

os.environ["OMP_NUM_THREADS"] = "1"
"""Before torch reads it; compute has one as well. On a busy machine threads that share an operation spin until the last
of them is done: up to ten times the processor time of one."""
gc.disable()  # until all tests are found: what they import is searched for garbage thousands of times meanwhile
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")
"""How long inputs take to make on a busy machine is no fault of theirs."""
MARK = "HEARTH_TESTS"
"""In the environment of every process that this one starts, and of whatever those start in turn."""
LINES = 15
"""Of a failure that are told at once."""
SHORT = 2
"""Files of short tests after each file of long ones."""


screens = contextlib.ExitStack()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give each of the processes that share the tests a screen of its own: on a common one they move each other's
    pointer, and cover each other's windows."""
    if os.environ.get("DISPLAY"):
        node.workerinput["screen"] = screens.enter_context(desktop())["DISPLAY"]


@pytest.hookimpl(trylast=True)  # the reporter is there
def pytest_configure(config: pytest.Config) -> None:
    """Take the screen that was made for this process, or tell of those who share the tests."""
    if screen := getattr(config, "workerinput", {}).get("screen"):
        os.environ["DISPLAY"] = screen
    if (reporter := config.pluginmanager.get_plugin("terminalreporter")) is not None:
        config.pluginmanager.register(AtOnce(reporter))


class AtOnce:
    """Tells of each failure when it happens: a run that is cut off on a slow machine tells of none at its end."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._reporter.ensure_newline()
            self._reporter.write_line(f"{report.nodeid} ({report.when}, {report.duration:.0f} s)")
            self._reporter.write_line("\n".join(report.longreprtext.splitlines()[-LINES:]))


def pytest_unconfigure() -> None:
    """End the screens."""
    screens.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let files that take long begin first, so that none is left over when all else is done: the swarms, and whatever
    has a time limit of its own, the largest files first. Unit tests among them wait for each other's peers and need no
    processor, so they go beside the swarms. Short ones follow each, as a pool of swarms alone would keep one another
    waiting."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [
        path
        for path, tests in files.items()
        if path.parent.name in ("swarm", "scenarios") or any(test.get_closest_marker("timeout") for test in tests)
    ]
    long.sort(key=lambda path: -path.stat().st_size)
    short = iter([path for path in files if path not in long])
    busy, waiting = ([path for path in long if (path.parent.name == "unit") is unit] for unit in (False, True))
    long = [path for pair in itertools.zip_longest(busy, waiting) for path in pair if path is not None]
    order = [path for one in long for path in (one, *itertools.islice(short, SHORT))]
    items[:] = [item for path in (*order, *short) for item in files[path]]


def pytest_collection_finish() -> None:
    """Let no test search what was imported for garbage; it stays until the end, and so does the garbage in it."""
    gc.freeze()
    gc.enable()


def marked(process: psutil.Process, mark: str) -> bool:
    """Whether the tests of this mark have started a process; nobody else's environment may be read."""
    try:
        return process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """Fails the run if a process that a test started outlives it, whoever is its parent by then."""
    os.environ[MARK] = mark = f"{os.getpid()} {time.time()}"
    yield
    started = {*psutil.Process().children(recursive=True), *(one for one in psutil.process_iter() if marked(one, mark))}
    _, alive = psutil.wait_procs(started, PATIENCE_S)
    told = [f"{process.pid}: {process.cmdline()}" for process in alive if process.is_running()]
    for process in alive:
        process.kill()
    assert not alive, f"left behind: {told}"
