"""A terminal of a size of its own for a program under test (POSIX)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from tests.workers import PATIENCE_S, ROOT

ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"
"""What leads to a screen that leaves what was there before as it was, and back."""


def _as_a_terminal_starts_it() -> None:
    """Tests that run in the background may ignore Ctrl+C, and what they start would do likewise."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """Runs one command line; end it with `close`."""

    def __init__(self, folder: Path, *words: str, rows: int = 24, columns: int = 80) -> None:
        """Start it.

        Args:
            folder: the data folder.
            words: of the command line.
            rows, columns: of the terminal.
        """
        self._ours, self._its = pty.openpty()
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = self.modes()
        self.said = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "core", *words, "--data-dir", str(folder)],
            cwd=ROOT,
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm"},
            preexec_fn=_as_a_terminal_starts_it,
        )

    def modes(self) -> list[Any]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._its)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, words: str) -> None:
        """Read on until the program has said this since the last time, wherever its lines are broken."""
        deadline = time.monotonic() + PATIENCE_S
        heard = ""
        while words not in " ".join(plain(heard).split()):
            assert time.monotonic() < deadline, f"{words!r} did not come:\n{plain(heard)}"
            heard += self._read()

    def end(self) -> int:
        """Read to its end; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self._read()
        while self._read():
            pass
        return self.process.returncode

    def _read(self) -> str:
        if not select.select([self._ours], [], [], 0.2)[0]:
            return ""
        read = os.read(self._ours, 65_536).decode(errors="replace")
        self.said += read
        return read

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for end in (self._ours, self._its):
            os.close(end)


def plain(said: str) -> str:
    """Without what moves and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)
