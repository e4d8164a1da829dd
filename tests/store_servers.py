"""Redis and PostgreSQL for tests and benchmarks: real servers of installed packages, on loopback, gone afterwards."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POSTGRESQL = Path("/usr/lib/postgresql")
"""Where Debian and Ubuntu have its programs, by version."""
START_S = 60.0


def missing() -> str | None:
    """What is not installed; None: both are there."""
    if shutil.which("redis-server") is None:
        return "redis-server"
    return None if _programs() else "postgresql"


@contextmanager
def redis() -> Iterator[str]:
    """A server in memory; its address."""
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    with _running(command, lambda: _answers(port)):
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def postgresql() -> Iterator[str]:
    """A server with a database of its own; its address."""
    programs, port, user = _programs(), free_port(), _user()
    assert programs is not None
    with tempfile.TemporaryDirectory() as folder:  # not below a folder that is root's alone: it does not run as root
        if user is not None:
            shutil.chown(folder, user)
        begin = [str(programs / "initdb"), "-D", folder, "-U", "hearth", "--auth", "trust", "--no-sync"]
        subprocess.run(begin, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
        command = [str(programs / "postgres"), "-D", folder, "-p", str(port), "-h", "127.0.0.1", "-k", folder]
        ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        with _running(command, lambda: subprocess.run(ready, check=False).returncode == 0, user, folder):
            yield f"postgresql://hearth@127.0.0.1:{port}/postgres"


@contextmanager
def _running(
    command: list[str], ready: Callable[[], bool], user: str | None = None, folder: str | None = None
) -> Iterator[None]:
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=null, stderr=null, user=user, cwd=folder) as process:
        try:
            end = time.monotonic() + START_S
            while not ready():
                assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
                assert time.monotonic() < end, f"{command[0]} did not start within {START_S:.0f} s"
                time.sleep(0.05)
            yield
        finally:
            process.send_signal(signal.SIGINT)  # for PostgreSQL this means: without waiting for clients


def _programs() -> Path | None:
    found = sorted(POSTGRESQL.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


def _user() -> str | None:
    return "postgres" if os.name == "posix" and os.getuid() == 0 else None


def free_port() -> int:
    """One of loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True
