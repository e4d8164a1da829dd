"""`hearth worker` on a disk that takes `FSYNC_S` for each file: what is saved is there long after it was asked for.

python -m tests.swarm.slow_disk worker --data-dir ... --listen ... --bootstrap ... --role host
"""

import os
import sys
import time

from core.pipe import worker_end as link

FSYNC_S = float(os.environ.get("FSYNC_S", "1.0"))


def _command() -> list[str]:
    return [sys.executable, "-m", "tests.swarm.slow_disk", "compute"]


def _slow_down() -> None:
    fsync = os.fsync

    def slow(file: int) -> None:
        time.sleep(FSYNC_S)
        fsync(file)

    os.fsync = slow  # type: ignore[assignment]


def main() -> int:
    """The command line of `core`, with a slow disk."""
    if sys.argv[1:] == ["compute"]:
        _slow_down()
    else:
        link.command = _command
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
