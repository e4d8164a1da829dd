"""Real worker processes for tests: start, ask, wait for a condition, end; nothing is left behind."""

import contextlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil

from core import consent, key_file, logs
from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.errors import NotRunning
from core.contracts.expert_calls import METHODS
from core.contracts.ledger import Amounts
from core.contracts.net import of_run
from core.contracts.notices import Sentences
from core.contracts.status import Status
from core.control.client import ControlClient
from core.swarm import work_gate

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
HERE = "127.0.0.1:0"
"""To listen to this machine alone."""
DIGITS = manifest.load("digits").run_id
"""The run that a worker trains unless told otherwise."""
DIGITS_CALLS = {direction: of_run(method, DIGITS) for direction, method in METHODS.items()}
PATIENCE_S = 240.0
"""How long a condition may take on a busy machine before the test fails; never how long it should take."""
LOOK_S = 0.02, 0.25
"""Between two looks whether it holds: at first, and after a while, or where a look takes long."""

LINES = 40
"""Of the log of each worker of a test that failed."""

usual_share = 100
"""Percent of the time for which compute works unless a test says how much; those with real workers lower it."""

_WORKED = itertools.cycle((ROOT / "tests" / "data" / "worked_keys.txt").read_text("ascii").splitlines())


def worked_key() -> tuple[bytes, bytes]:
    """The seed of a key and the work that it has cost (`core.puzzle`), done already: a second of a core each time."""
    seed, answer = map(bytes.fromhex, next(_WORKED).split())
    return seed, answer


def give_key(folder: Path) -> None:
    """Let the next worker in this folder have such a key, unless it has one."""
    if not (folder / key_file.FILE).exists():
        seed, answer = worked_key()
        with contextlib.suppress(OSError):  # some tests spoil the folder
            folder.mkdir(parents=True, exist_ok=True)
            if key_file.write_new(folder / key_file.FILE, seed):
                (folder / work_gate.FILE).write_text(answer.hex())


def hearth(folder: Path, *arguments: str, seconds: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
    """Run one command line to its end."""
    command = [sys.executable, "-m", "core", *arguments, "--data-dir", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)


def codes(said: Sentences) -> list[str]:
    """What is told, as codes."""
    return [one.code for one in said]


def wait_until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    """The first true value of `condition`, looked at ever more seldom as looks cost; fails after `seconds`."""
    start = time.monotonic()
    looked = start
    while not (value := condition()):
        now = time.monotonic()
        waited = now - start
        assert waited < seconds, f"{what} did not come true within {seconds:.0f} s"
        # Fine enough for a benchmark; a look that starts processes leaves the processor to what it waits for.
        time.sleep(min(LOOK_S[1], max(LOOK_S[0], waited / 50, 2 * (now - looked))))
        looked = time.monotonic()
    return value


class RunningWorker:
    """One `hearth worker` process."""

    command = "worker"

    def __init__(self, folder: Path, *arguments: str, program: str = "core", share: int | None = None) -> None:
        """Start it, and wait until it answers.

        Args:
            folder: its data folder.
            arguments: of `hearth worker`.
            program: the module that is run.
            share: percent of the time for which compute works, see `give`; None: `usual_share`.
        """
        self.folder = folder
        self._family: list[psutil.Process] | None = None
        """What there is to end, once the worker was asked to."""
        never_busy(folder, share)
        if {"--listen", "--bootstrap", "--role", "--join"} & {*arguments}:
            give_key(folder)
        command = [sys.executable, "-m", program, self.command, "--data-dir", str(folder), *arguments]
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=null, stdout=null, stderr=pipe, text=True)
        wait_until(self._answers, "the worker's control socket")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.process.communicate()[1]
        with contextlib.suppress(NotRunning), ControlClient(self.folder):
            return True
        return False

    def status(self) -> Status:
        with ControlClient(self.folder) as client:
            return client.call("status", {}, Status)

    def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        with ControlClient(self.folder) as client:
            return client.call(method, params or {}, Any, 40.0)

    def ask(self, method: str, params: dict[str, Any], result: type[T]) -> T:
        with ControlClient(self.folder) as client:
            return client.call(method, params, result, 40.0)

    def until(self, condition: Callable[[Status], Any], what: str, seconds: float = PATIENCE_S) -> Status:
        """The first status for which `condition` holds."""

        def check() -> Status | None:
            status = self.status()
            return status if condition(status) else None

        status: Status = wait_until(check, what, seconds)
        return status

    def compute(self) -> psutil.Process | None:
        """The compute process, if there is one."""
        pids = [process.pid for process in self.status().processes if process.name == "compute"]
        with contextlib.suppress(psutil.NoSuchProcess):  # it may have ended meanwhile
            return psutil.Process(pids[0]) if pids else None
        return None

    def log(self) -> str:
        """What it has written."""
        return (self.folder / logs.FILE).read_text("utf-8", "replace")

    def give(self, share: int) -> None:
        """Have compute work for so many percent of the time and rest in between, from now on: what a test waits for
        otherwise comes no later, and leaves the processor to other tests."""
        self.call("set_settings", {"changes": {"cpu_share_in_use": share, "cpu_share_idle": share}})

    def leave(self) -> None:
        """Ask the worker to end, in the friendly way."""
        if self.process.poll() is None and self._family is None:
            self._family = psutil.Process(self.process.pid).children(recursive=True)
            self.process.terminate()

    def close(self) -> None:
        """End the worker in the friendly way; whatever still lives then is a fault."""
        self.leave()
        family = self._family or []
        try:
            self.process.communicate(timeout=PATIENCE_S)
            _, alive = psutil.wait_procs(family, PATIENCE_S)
            assert not alive, f"left behind: {alive}"
        finally:
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            self.process.kill()


@contextlib.contextmanager
def worker(folder: Path, *arguments: str, program: str = "core", share: int | None = None) -> Iterator[RunningWorker]:
    running = RunningWorker(folder, *arguments, program=program, share=share)
    try:
        yield running
    finally:
        running.close()


class Workers(contextlib.ExitStack):
    """Several that end at once: if they did so one after the other, the last ones would train in the meantime. Where a
    test fails, it tells what each has written last."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[RunningWorker] = []

    def start(self, folder: Path, *arguments: str, program: str = "core", share: int | None = None) -> RunningWorker:
        """As `RunningWorker`."""
        running = RunningWorker(folder, *arguments, program=program, share=share)
        self._started.append(running)
        self.callback(running.close)
        self.callback(self._leave)  # which comes first
        return running

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            for running in self._started:
                with contextlib.suppress(OSError):  # some tests spoil the folder
                    print(f"--- {running.folder.name}:", *running.log().splitlines()[-LINES:], sep="\n")
        super().__exit__(kind, *rest)

    def _leave(self) -> None:
        for running in self._started:
            running.leave()


def never_busy(folder: Path, share: int | None = None) -> None:
    """Let the next worker in this folder compute for so many percent of the time, `usual_share` if it is None, also
    while other programs do, on a machine of tests, and look for nobody in the local network: other tests are there."""
    settings = folder / "settings.json"
    with contextlib.suppress(ValueError, OSError):  # some tests spoil the file or the folder
        chosen = json.loads(settings.read_text()) if settings.exists() else {"version": 2}
        folder.mkdir(parents=True, exist_ok=True)
        usual = {"busy_cpu_percent": 0, "cpu_celsius": 0, "lan": False}
        usual |= dict.fromkeys(("cpu_share_in_use", "cpu_share_idle"), usual_share if share is None else share)
        settings.write_text(json.dumps({**usual, **chosen}))


def contributed(folder: Path, amounts: Amounts, moment: float | None = None) -> None:
    """Let the ledger of a folder tell that the run `digits` did so much on the CPU, at a unix time or now."""
    ledger = Ledger(folder, time.time if moment is None else lambda: moment)
    ledger.add("digits", "cpu", amounts)
    ledger.close()


def agreed(folder: Path) -> None:
    """Let the app in this folder start its worker without asking, as after a first run."""
    folder.mkdir(parents=True, exist_ok=True)
    consent.give(folder, "app")
    never_busy(folder)


def answers(folder: Path) -> bool:
    """Whether a worker serves this folder."""
    try:
        with ControlClient(folder):
            return True
    except NotRunning:
        return False


def start_paused(folder: Path) -> None:
    """Let the next worker in this folder begin paused, so that it starts no compute."""
    folder.mkdir(exist_ok=True)
    (folder / "wishes.json").write_text(json.dumps({"paused": True}))
