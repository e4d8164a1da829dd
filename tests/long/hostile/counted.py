"""`hearth worker` whose processes count what cannot be seen of them from outside: asyncio tasks, and Python's objects.

COUNTS=FOLDER python -m tests.long.hostile.counted worker --data-dir ...
"""

import asyncio
import gc
import os
import sys
import threading
import time
from pathlib import Path

from core.pipe import worker_end as link

VARIABLE = "COUNTS"
EVERY_S = 10.0
LONG_S, USUAL_S = 1.0, sys.getswitchinterval()
"""For which one thread may keep the others waiting: while it holds all objects, and otherwise."""


def _command() -> list[str]:
    return [sys.executable, "-m", "tests.long.hostile.counted", "compute"]


def _count() -> None:
    """For ever: into a file with the process's number as its name."""
    path = Path(os.environ[VARIABLE], str(os.getpid()))
    while True:
        time.sleep(EVERY_S)
        # Nobody else may go on meanwhile: a tuple that a thread was about to make is among the objects, and if somebody
        # else holds it when it is done Python raises SystemError.
        sys.setswitchinterval(LONG_S)
        time.sleep(2 * USUAL_S)  # until nobody waits for the shorter time
        objects = gc.get_objects()
        # not isinstance, which asks objects that pretend to be others
        tasks = sum(issubclass(type(one), asyncio.Task) and not one.done() for one in objects)
        text = f"{tasks} {len(objects)}"
        del objects
        sys.setswitchinterval(USUAL_S)
        partial = path.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(path)


def counts(folder: Path, pid: int) -> tuple[int, int] | None:
    """Tasks that are not done and objects of a process, as it counted last; None: not yet.

    Args:
        folder: where processes write them.
        pid: of the process.
    """
    try:
        tasks, objects = map(int, (folder / str(pid)).read_text().split())
    except OSError:
        return None
    return tasks, objects


def main() -> int:
    """The command line of `core`, counted."""
    threading.Thread(target=_count, daemon=True).start()
    if sys.argv[1:] != ["compute"]:
        link.command = _command
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
