"""`hearth worker` on a PC whose wall clock is wrong by what a file says, in seconds, worker and compute alike.

CLOCK=FILE python -m tests.swarm.jumping_clock worker --data-dir ...
"""

import os
import sys
import time
from pathlib import Path

from core.pipe import worker_end as link

VARIABLE = "CLOCK"


def _command() -> list[str]:
    return [sys.executable, "-m", "tests.swarm.jumping_clock", "compute"]


def _jump() -> None:
    path, now = Path(os.environ[VARIABLE]), time.time

    def wrong() -> float:
        return now() + float(path.read_text())

    time.time = wrong


def main() -> int:
    """The command line of `core`, with a wrong clock."""
    _jump()
    if sys.argv[1:] != ["compute"]:
        link.command = _command
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
