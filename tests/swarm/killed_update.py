"""The command line, killed as by kill -9 right before it does something with files the nth time (DIES_AT), or telling
how often it did (COUNTS_TO)."""

import os
import signal
import sys
from pathlib import Path

EVENTS = {
    "open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod", "shutil.rmtree",
    "socket.connect", "subprocess.Popen", "os.truncate", "sqlite3.connect",
}  # fmt: skip
"""As Python's audit events are called."""
DIES_AT = int(os.environ.get("DIES_AT", "0"))
count = 0


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    global count
    if event in EVENTS:
        count += 1
        if count == DIES_AT:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """The command line, watched from the moment when all is imported."""
    from core.cli import main as cli
    from core.commands import update  # noqa: F401

    sys.addaudithook(_watch)
    code = cli()
    if to := os.environ.get("COUNTS_TO"):
        done = count
        Path(to).write_text(str(done))
    return code


if __name__ == "__main__":
    sys.exit(main())
