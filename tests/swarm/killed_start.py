"""The command line of `core` in a process that is killed, as by kill -9, right before it does something the nth time.

DIES_AT=os.rename:2 python -m tests.swarm.killed_start worker --data-dir ...

What it may do at that moment is named as Python's audit events are.
"""

import os
import signal
import sys

EVENT, _, COUNT = os.environ["DIES_AT"].partition(":")
left = int(COUNT)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    global left
    if event == EVENT:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """The command line, watched from the moment when all is imported."""
    from core.cli import main as cli
    from core.worker import peer  # noqa: F401

    sys.addaudithook(_watch)
    return cli()


if __name__ == "__main__":
    sys.exit(main())
