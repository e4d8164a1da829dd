"""Peers of one trunk whose processes are killed at random: how far they go back, and when trunks are equal again.

Real processes on loopback: trainers, each a worker and its compute process, and a backbone peer that helps to reduce.
Any one of these processes is killed at a random moment, with SIGKILL. Who starts a worker anew is this benchmark; a
worker starts its compute process anew itself, and an orphaned one has to end by itself. The next kill comes when the
peer is in step and all trunks were equal once more. A peer's step is that which it tells while it is one of those
that made the last agreement: its checkpoint may be older, but nothing that is learnt on that counts.
"""

import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from core.contracts.errors import HearthError
from core.contracts.trunk_status import TrunkStatus
from tests.bench import plot
from tests.bench.machine import progress, spread
from tests.workers import HERE, RunningWorker, hearth, wait_until

KILLS = 100
BETWEEN_S = 3.0
"""From one kill to the next, at most."""
BACKBONE = "backbone"
SUBTASK = 8, 16
"""Batches, and samples of each."""
TRUNKS: dict[str, dict[str, Any]] = {
    "dedloc": {"strategy": "dedloc", "target_samples": 256},
    "diloco": {"strategy": "diloco", "inner_steps": 8, "fragments": 2, "grace_s": 5.0},
    "vc_asgd": {"strategy": "vc_asgd", "parts": 8, "batches": SUBTASK[0], "timeout_s": 20.0, "strong": True},
}
"""Whose rounds are short, but long enough to be seen one by one."""
SLOW = {"width": 512, "hidden": 512}, {"batch": 512}
"""Of a model and its training, for trainers that wait for nobody."""
CPU_SHARE = 20
"""Per cent: enough for these rounds, and it leaves the processor to those that start."""
PATIENCE_S = 300.0


class Look(NamedTuple):
    """What a trainer told of one part of its trunk."""

    moment: float
    step: int


class Kill(NamedTuple):
    """What one did."""

    moment_s: float
    """Since the first."""
    process: str
    rounds_back: int
    """Of the peer's own steps, as it told them afterwards; of several parts the most."""
    rounds_until_equal: int
    """From when it was in step until all trunks had one digest."""
    seconds: float
    """Until then."""
    step: int
    """The highest then."""


def measure(quick: bool, out: Path, strategies: Sequence[str] = tuple(TRUNKS), kills: int = 0) -> dict[str, Any]:
    """The figures, by strategy.

    Args:
        quick: fewer kills.
        out: where the plot is written.
        strategies: which of them.
        kills: of each strategy; 0: 100, or a few in a quick run.
    """
    made = {each: _measure(each, kills or (KILLS // 20 if quick else KILLS)) for each in strategies}
    figures = {each: figures_of(run, differ) for each, (run, differ) in made.items()}
    lines = [
        plot.Line(each, [k.moment_s for k in run], [float(k.step) for k in run]) for each, (run, _) in made.items()
    ]
    plot.draw([plot.Panel("rounds under churn", "s; each bend is a kill", "rounds", lines)], out / "restarts.png")
    return figures


def _measure(strategy: str, kills: int) -> tuple[list[Kill], int]:
    """What each kill did, and the versions of which two digests were told."""
    chance = random.Random(strategy)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        swarm = _Swarm(Path(folder), strategy, stack)
        swarm.wait("rounds of all", lambda: swarm.equal(after=Counter()))
        began, made = time.monotonic(), list[Kill]()
        for number in range(kills):
            until = time.monotonic() + chance.uniform(0.0, BETWEEN_S)
            swarm.wait("a moment", lambda until=until: time.monotonic() > until)
            name, worker = swarm.draw(chance)
            made.append(swarm.kill(name, worker=worker, began=began))
            progress(f"{strategy}: {number + 1} of {kills} kills, {name}: {made[-1]}")
        return made, swarm.differ()


def figures_of(kills: Sequence[Kill], differ: int) -> dict[str, Any]:
    """Of one strategy.

    Args:
        kills: at least one.
        differ: versions of which two digests were told.
    """
    back, equal = (Counter(getattr(kill, name) for kill in kills) for name in ("rounds_back", "rounds_until_equal"))
    return {
        "kills": Counter(kill.process for kill in kills),
        "rounds": kills[-1].step - kills[0].step,
        "rounds_back": {str(rounds): back[rounds] for rounds in sorted(back)},
        "rounds_until_equal": {str(rounds): equal[rounds] for rounds in sorted(equal)},
        "versions_with_two_digests": differ,
        "seconds_until_equal": spread([kill.seconds for kill in kills]),
    }


class _Swarm:
    """Peers that are started anew."""

    def __init__(self, folder: Path, strategy: str, stack: ExitStack) -> None:
        document = json.loads(files("resources").joinpath("runs", "digits-vc.json").read_bytes())
        document["training"] |= {"batch": SUBTASK[1], "in_flight": 1, "evaluate_every": 10_000}
        document["trunk"] = TRUNKS[strategy]
        if strategy == "diloco":
            document["model"] |= SLOW[0]
            document["training"] |= SLOW[1]
        self._folder, self._stack, self._known = folder, stack, list[str]()
        self._by_samples = strategy == "vc_asgd"
        self._run = folder / "run.json"
        self._run.write_text(json.dumps(document))
        self.peers: dict[str, RunningWorker] = {}
        self._listen: dict[str, str] = {}
        """Where each peer listens: again and again at the same port, as one does that others can join by."""
        for name in (BACKBONE, "first", "second", "third"):
            self._start(name)
            address = hearth(folder / name, "address").stdout.strip()
            self._known += ["--bootstrap", address]
            self._listen[name] = address.partition("@")[2]
        self._trainers = self.peers.keys() - {BACKBONE}
        self._looks: defaultdict[tuple[str, int], list[Look]] = defaultdict(list)
        """By trainer and part."""
        self._digests: defaultdict[tuple[int, int], dict[str, set[str]]] = defaultdict(dict)
        """By part and version, then by trainer."""

    def _start(self, name: str) -> None:
        folder, role = self._folder / name, "backbone" if name == BACKBONE else "host,train"
        folder.mkdir(exist_ok=True)
        if not (folder / "settings.json").exists():
            shares = {"cpu_share_in_use": CPU_SHARE, "cpu_share_idle": CPU_SHARE}
            (folder / "settings.json").write_text(json.dumps({"version": 2, **shares}))
        listen = self._listen.get(name, HERE)
        run = ("--run", str(self._run), "--listen", listen, "--role", role, *self._known)
        self.peers[name] = RunningWorker(folder, *run)
        self._stack.callback(self.peers[name].close)

    def draw(self, chance: random.Random) -> tuple[str, bool]:
        """A peer, and whether its worker is to be killed, not its compute process: all processes are equally likely."""
        processes = [(name, True) for name in sorted(self.peers)] + [(name, False) for name in sorted(self._trainers)]
        return chance.choice(processes)

    def _look(self, name: str, since: float = 0.0) -> bool:
        """Ask a trainer; whether it takes part in agreements, and has done so since a moment, unix time."""
        with suppress(HearthError):
            status = self.peers[name].ask("trunk", {}, TrunkStatus)
            gives = status.me in {giver.peer for giver in status.givers}
            for part in status.parts:
                step = part.samples // (SUBTASK[0] * SUBTASK[1]) if self._by_samples else part.version
                if gives and part.agreed is not None:  # else it is from the disk
                    self._looks[name, part.part].append(Look(time.monotonic(), step))
                told = [(part.samples, part.digest)] if self._by_samples else [(step, part.digest), *part.lately]
                for version, digest in told:
                    self._digests[part.part, version].setdefault(name, set()).add(digest)
            agreed = [part.agreed or 0.0 for part in status.parts]
            return gives and min(agreed, default=0.0) > since
        return False

    def wait(self, what: str, condition: Any) -> Any:
        """As `wait_until`, while all trainers are looked at."""

        def holds() -> Any:
            for name in self._trainers:
                self._look(name)
            return condition()

        return wait_until(holds, what, PATIENCE_S)

    def _now(self, name: str) -> Counter[int]:
        """The steps that a trainer told last, by part."""
        return Counter({part: looks[-1].step for (who, part), looks in self._looks.items() if who == name})

    def latest(self) -> Counter[int]:
        """The highest steps that were told, by part."""
        latest = Counter[int]()
        for (_, part), looks in self._looks.items():
            latest[part] = max(latest[part], max(look.step for look in looks))
        return latest

    def equal(self, after: Counter[int]) -> int | None:
        """Rounds after these steps until all trainers had one digest of each part; None: they have not yet."""
        parts = {part for _, part in self._looks}
        if self._by_samples:  # the parameters of each answer are others: one later result of each has to count
            went = all(self._now(name)[0] > after[0] for name in self._trainers)
            return 1 if parts and went else None
        common: defaultdict[int, list[int]] = defaultdict(list)
        for (part, version), told in self._digests.items():
            alike = told.keys() == self._trainers and len(set.union(*told.values())) == 1
            if alike and version > after[part]:
                common[part].append(version - after[part])
        return max(min(rounds) for rounds in common.values()) if parts and parts == common.keys() else None

    def differ(self) -> int:
        """Versions of which two digests were told."""
        return sum(len(set.union(*told.values())) > 1 for told in self._digests.values())

    def kill(self, name: str, *, worker: bool, began: float) -> Kill:
        """Kill a process of a peer, have it started anew and wait until all are in step.

        Args:
            name: of the peer.
            worker: its worker; else its compute process.
            began: when the first kill was possible.
        """
        running, compute = self.peers[name], None
        if name in self._trainers:
            compute = wait_until(running.compute, f"compute of {name}", PATIENCE_S)
            self._look(name)
        before, since, killed = self._now(name), time.monotonic(), time.time()
        if worker:
            running.process.kill()
            running.process.communicate()
            if compute is not None:
                with suppress(psutil.NoSuchProcess):
                    compute.wait(PATIENCE_S)
            self._start(name)
        elif compute is not None:
            compute.kill()
        if compute is not None:
            self._until_in_step(name, compute.pid, killed)
        after = self.latest()
        rounds = self.wait("equal trunks", lambda: self.equal(after))
        back = [
            before[part] - min(look.step for look in looks if look.moment > since)
            for (who, part), looks in self._looks.items()
            if who == name
        ]
        kind = "backbone" if name == BACKBONE else "worker" if worker else "compute"
        now = time.monotonic()
        return Kill(now - began, kind, max([0, *back]), rounds, now - since, max(self.latest().values()))

    def _until_in_step(self, name: str, pid: int, killed: float) -> None:
        """Until a trainer has another compute process, which has agreed with others, and is no more than a round behind
        them. Before that its worker tells of the one that was killed."""

        def anew() -> bool:
            now = self.peers[name].compute()
            return now is not None and now.pid != pid and self._look(name, killed)

        wait_until(anew, f"{name} to train again", PATIENCE_S)
        self.wait(f"{name} to be in step", lambda: max((self.latest() - self._now(name)).values(), default=0) <= 1)
