"""`hearth worker` that saves once a second, or every `SAVE_S` of the environment, and whose disk refuses to write while
a file exists, which the environment's REFUSED names: with the error whose number is in it.

REFUSED=FILE python -m tests.swarm.busy_disk worker --data-dir ...
"""

import os
import sys
from pathlib import Path

from core.pipe import worker_end as link

SAVE_S = float(os.environ.get("SAVE_S", "1.0"))


def _command() -> list[str]:
    return [sys.executable, "-m", "tests.swarm.busy_disk", "compute"]


def _refuse() -> None:
    fsync, refused = os.fsync, Path(os.environ.get("REFUSED", os.devnull + "/none"))

    def write(file: int) -> None:
        try:
            number = int(refused.read_text())
        except (OSError, ValueError):
            fsync(file)
        else:
            raise OSError(number, os.strerror(number))

    os.fsync = write  # type: ignore[assignment]


def main() -> int:
    """The command line of `core`, on such a disk."""
    _refuse()
    if sys.argv[1:] == ["compute"]:
        from core.compute import saving

        saving.SAVE_S = SAVE_S
    else:
        from core.swarm import keeping as copies
        from core.worker import limits, no_network

        link.command = _command
        copies.UPLOAD_BYTES_PER_S = 64.0 * (1 << 20)
        no_network.COME_BACK_S, limits.DISK_S, limits.DISK_REST = 0.0, 1.0, 20
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
