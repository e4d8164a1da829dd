"""`hearth worker` on a disk that finishes no write while a file exists, which the environment's STUCK names.

python -m tests.swarm.stuck_disk worker --data-dir FOLDER
"""

import os
import sys
import time
from pathlib import Path


def main() -> int:
    """The command line of `core`, with such a disk."""
    fsync, stuck = os.fsync, Path(os.environ["STUCK"])

    def slow(file: int) -> None:
        while stuck.exists():
            time.sleep(0.01)
        fsync(file)

    os.fsync = slow  # type: ignore[assignment]
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
