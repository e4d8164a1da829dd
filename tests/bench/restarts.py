"""Workers that train one trunk and are killed at random moments: how far they go back, and whether trunks stay equal.

Real processes on loopback. Now the whole worker of a trainer is killed and started anew, now its compute process alone,
which the worker starts again.
"""

import json
import random
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from core.contracts.errors import HearthError
from core.contracts.trunk_status import TrunkStatus
from tests.bench.machine import progress
from tests.workers import HERE, RunningWorker, hearth, wait_until

TRAINERS = 4
KILLS = 100
BETWEEN_S = 1.0, 6.0
"""From one kill to the next, at random."""
TRUNKS: dict[str, dict[str, Any]] = {
    "dedloc": {"strategy": "dedloc", "target_samples": 256},
    "diloco": {"strategy": "diloco", "inner_steps": 16, "fragments": 3, "grace_s": 5.0},
}
"""Whose rounds are short."""
PATIENCE_S = 300.0


class Look(NamedTuple):
    """What a trainer told of one part of its trunk."""

    moment: float
    version: int
    digest: str


def measure(quick: bool) -> dict[str, Any]:
    """The figures, by strategy.

    Args:
        quick: fewer kills.
    """
    return {strategy: _measure(strategy, KILLS // 20 if quick else KILLS) for strategy in TRUNKS}


def _measure(strategy: str, kills: int) -> dict[str, Any]:
    chance = random.Random(strategy)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        swarm = _Swarm(Path(folder), strategy, stack)
        swarm.wait("rounds of all", lambda: swarm.met(after=1))
        back: list[int] = []
        for number in range(kills):
            until = time.monotonic() + chance.uniform(*BETWEEN_S)
            while time.monotonic() < until:
                swarm.look()
                time.sleep(0.1)
            name = chance.choice(sorted(swarm.trainers))
            back += swarm.kill(name, whole=chance.random() < 0.5)
            progress(f"{strategy}: {number + 1} of {kills} kills, at most {max(back, default=0)} rounds back")
        began, last = time.monotonic(), swarm.latest()
        swarm.wait("one more round of all", lambda: swarm.met(after=last))
        return {
            "kills": kills,
            "rounds": last,
            "rounds_back": {str(n): back.count(n) for n in sorted({*back})},
            "versions_with_two_digests": swarm.differ(),
            "equal_again_s": time.monotonic() - began,
        }


class _Swarm:
    """Trainers that are started anew."""

    def __init__(self, folder: Path, strategy: str, stack: ExitStack) -> None:
        document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
        document["training"] |= {"batch": 16, "in_flight": 2, "evaluate_every": 1000}
        document["trunk"] = TRUNKS[strategy]
        self._folder, self._stack, self._known = folder, stack, list[str]()
        self._run = folder / "digits.json"
        self._run.write_text(json.dumps(document))
        backbone = self._start("backbone", "backbone")
        self._known += ["--bootstrap", hearth(backbone.folder, "address").stdout.strip()]
        self.trainers = {name: self._start(name, "host,train") for name in "abcd"[:TRAINERS]}
        self.looks: defaultdict[tuple[str, int], list[Look]] = defaultdict(list)
        """By trainer and part."""

    def _start(self, name: str, role: str) -> RunningWorker:
        run = ("--run", str(self._run), "--listen", HERE, "--role", role, *self._known)
        running = RunningWorker(self._folder / name, *run)
        self._stack.callback(running.close)
        return running

    def look(self) -> None:
        """Ask each trainer for its trunk."""
        for name in self.trainers:
            self._look(name)

    def _look(self, name: str) -> bool:
        """Ask a trainer; whether it tells of a trunk."""
        with suppress(HearthError):
            parts = self.trainers[name].ask("trunk", {}, TrunkStatus).parts
            for part in parts:
                self.looks[name, part.part].append(Look(time.monotonic(), part.version, part.digest))
            return bool(parts)
        return False

    def wait(self, what: str, condition: Any) -> None:
        def holds() -> bool:
            self.look()
            return bool(condition())

        wait_until(holds, what, PATIENCE_S)

    def latest(self) -> int:
        """The highest version that was told."""
        return max(look.version for looks in self.looks.values() for look in looks)

    def met(self, after: int) -> bool:
        """Whether all trainers tell one digest of each part, of a version after that."""
        now: defaultdict[int, set[tuple[int, str]]] = defaultdict(set)
        for (_, part), looks in self.looks.items():
            now[part].add((looks[-1].version, looks[-1].digest))
        names = {name for name, _ in self.looks}
        together = all(len(one) == 1 and next(iter(one))[0] > after for one in now.values())
        return names == self.trainers.keys() and together

    def differ(self) -> int:
        """Versions of which two digests were told."""
        digests: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        for (_, part), looks in self.looks.items():
            for look in looks:
                digests[part, look.version].add(look.digest)
        return sum(len(one) > 1 for one in digests.values())

    def kill(self, name: str, *, whole: bool) -> list[int]:
        """Kill a trainer, start it anew and wait until it is in step; how many rounds its parts went back meanwhile.

        Args:
            name: of the trainer.
            whole: its worker and all children; else compute alone.
        """
        running = self.trainers[name]
        compute = running.compute()
        self._look(name)
        before = {part: looks[-1].version for (who, part), looks in self.looks.items() if who == name}
        if whole:
            worker = psutil.Process(running.process.pid)
            for process in [worker, *worker.children(recursive=True)]:
                process.kill()
            running.process.communicate()
            running = self.trainers[name] = self._start(name, "host,train")
        elif compute is not None:
            compute.kill()
            compute.wait()
        pid, since = compute.pid if compute else 0, time.monotonic()

        def anew() -> bool:
            now = running.compute()
            return now is not None and now.pid != pid and self._look(name)

        wait_until(anew, f"{name} to train again", PATIENCE_S)
        self.wait(f"{name} to be in step", lambda: self.latest() - 1 <= self._now(name))
        return [
            max(0, version - min(look.version for look in self.looks[name, part] if look.moment > since))
            for part, version in before.items()
        ]

    def _now(self, name: str) -> int:
        """The version of a trainer that was told last, of the part that is farthest behind."""
        return min(looks[-1].version for (who, _), looks in self.looks.items() if who == name)
