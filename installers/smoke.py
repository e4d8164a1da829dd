"""Tries an installed Hearth by its commands alone: `python -m installers.smoke HEARTH`, where HEARTH is its executable.

In a data folder of its own it agrees by starting a worker, trains, asks the model, quits, starts the app, quits again,
and deletes all data. What it found is printed as JSON.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil
from PIL import Image, ImageDraw

T = TypeVar("T")
PATIENCE_S = 240.0
"""How long anything may take on a busy machine."""
LOOK_S = 0.5
NO_WORKER = 3
"""The exit code of a command that needs one."""


class Smoke:
    """One trial.

    Args:
        hearth: the executable, or the words that stand for it.
        folder: for data and outputs; nothing is in it yet.
    """

    def __init__(self, hearth: Sequence[str], folder: Path) -> None:
        self._hearth, self._data, self._output = [*hearth], folder / "data", folder / "output.txt"

    def run(self, seconds: float) -> dict[str, Any]:
        """Do all of it.

        Args:
            seconds: to train for.

        Raises:
            RuntimeError: something is not as it should be.
        """
        version = json.loads(self._told("version", "--json"))
        before = self._command("status")
        self._check(
            before.returncode == NO_WORKER and not self._data.exists(), "something is there before it is agreed"
        )
        started = time.monotonic()
        with self._running("worker"):
            answered = time.monotonic() - started
            consent = json.loads((self._data / "consent.json").read_text())
            self._check(consent["given"] == "command line", "the consent is not noted")
            self._told("start")  # whatever else this PC does
            first = self._until(self._trained, "training")
            begun = time.monotonic()
            self._until(lambda: time.monotonic() - begun >= seconds, "the time to train")
            last = self._until(lambda: self._trained(first["step"]), "more training")
            answer = json.loads(self._told("predict", "--json", str(self._digit())))
            self._check(abs(sum(answer["probabilities"]) - 1) < 0.01, "the answer is none")
        with self._running("--in-tray"):  # where there is no display, that is a worker, too
            pass
        self._told("data", "purge", "--yes")
        self._check(not self._data.exists(), "data are left")
        self._check(not self._processes(), "processes are left")
        return {
            "version": version,
            "worker_s": round(answered, 1),
            "train_s": seconds,
            "steps": last["step"] - first["step"],
            "loss": [first["loss"], last["loss"]],
            "probabilities": answer["probabilities"],
        }

    @contextlib.contextmanager
    def _running(self, *words: str) -> Iterator[None]:
        """A process with all that it starts: at the end of the block it quits, and nothing may be left of it."""
        with self._output.open("ab") as output:
            command = [*self._hearth, *words, *self._in_folder(words)]
            process = psutil.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        family: list[psutil.Process] = [process]
        try:
            self._until(lambda: process.poll() is not None or self._command("status").returncode == 0, words[0])
            self._check(process.poll() is None, f"hearth {words[0]} ended with {process.returncode}")
            yield
            family += process.children(recursive=True)
            self._told("quit")
            _, alive = psutil.wait_procs(family, PATIENCE_S)
            self._check(not alive and process.returncode == 0, f"left {alive}, exit code {process.returncode}")
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                family += process.children(recursive=True)
            for one in [*family, *self._processes()]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
                    one.wait(PATIENCE_S)

    def _in_folder(self, words: Sequence[str]) -> list[str]:
        return [] if words[0] == "version" else ["--data-dir", str(self._data)]

    def _command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [*self._hearth, *words, *self._in_folder(words)]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )

    def _told(self, *words: str) -> str:
        """What a command prints that has to succeed."""
        done = self._command(*words)
        self._check(
            done.returncode == 0, f"hearth {' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
        return done.stdout

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            output = self._output.read_text("utf-8", "replace")[-4000:] if self._output.exists() else ""
            raise RuntimeError(f"{what}\n{output}")

    def _until(self, condition: Callable[[], T | None], what: str) -> T:
        until = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            self._check(time.monotonic() < until, f"{what}: not within {PATIENCE_S:.0f} s")
            time.sleep(LOOK_S)
        return found

    def _trained(self, than: int = 0) -> dict[str, Any] | None:
        """The status, once more steps than these are done."""
        status: dict[str, Any] = json.loads(self._told("status", "--json"))
        return status if status["step"] > than and status["loss"] is not None else None

    def _digit(self) -> Path:
        """A picture of a one."""
        image = Image.new("L", (64, 64), "white")
        ImageDraw.Draw(image).line((32, 8, 32, 56), "black", 8)
        path = self._output.with_name("one.png")
        image.save(path)
        return path

    def _processes(self) -> list[psutil.Process]:
        """Those that were told of the data folder."""
        all_there = psutil.process_iter(["cmdline"])
        return [process for process in all_there if str(self._data) in (process.info["cmdline"] or [])]


def main() -> int:
    """Try it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Tries an installed Hearth.")
    parser.add_argument("hearth", nargs="+", help="its executable")
    parser.add_argument("--seconds", type=float, default=30.0, help="to train for (30)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(Smoke(options.hearth, Path(folder)).run(options.seconds), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
