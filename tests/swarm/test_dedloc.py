"""Real workers gather one batch and take the same steps; one is killed and comes back, another is frozen."""

import json
import signal
from collections import defaultdict
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from core.contracts.trunk_status import PartStatus, TrunkStatus
from tests.workers import HERE, RunningWorker, hearth, wait_until

PATIENCE_S = 300.0


def manifest(folder: Path) -> str:
    """The path of one whose steps are short."""
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["training"] |= {"batch": 16, "in_flight": 2, "evaluate_every": 1000}
    document["trunk"] = {"strategy": "dedloc", "target_samples": 256, "delayed": True}
    path = folder / "digits.json"
    path.write_text(json.dumps(document))
    return str(path)


def family(running: RunningWorker) -> list[psutil.Process]:
    worker = psutil.Process(running.process.pid)
    return [worker, *worker.children(recursive=True)]


class Swarm:
    """Workers whose trunks are looked at."""

    def __init__(self) -> None:
        self.trainers: dict[str, RunningWorker] = {}
        self.digests: defaultdict[int, dict[str, str]] = defaultdict(dict)
        """By version, then by trainer."""

    def part(self, name: str) -> PartStatus | None:
        parts = self.trainers[name].ask("trunk", {}, TrunkStatus).parts
        for version, digest in parts[0].lately if parts else ():
            self.digests[version][name] = digest
        return parts[0] if parts else None

    def version(self, name: str) -> int:
        part = self.part(name)
        return part.version if part else 0

    def together(self, *names: str, after: int) -> int:
        """The version after another one that all of these have had, as soon as there is one."""

        def met() -> int:
            for name in names:
                self.part(name)
            return max((v for v, told in self.digests.items() if v > after and {*names} <= told.keys()), default=0)

        found: int = wait_until(met, f"a common step of {', '.join(names)} after {after}", PATIENCE_S)
        same = {name: self.digests[found][name] for name in names}
        assert len({*same.values()}) == 1, f"trunks of step {found} differ: {same}"
        return found


@pytest.mark.timeout(900)
def test_trunks_stay_equal_though_trainers_are_killed_frozen_and_come_back(tmp_path: Path) -> None:
    run = manifest(tmp_path)
    known: list[str] = []
    swarm = Swarm()
    with ExitStack() as stack:

        def start(name: str, role: str = "host,train") -> RunningWorker:
            running = RunningWorker(tmp_path / name, "--run", run, "--listen", HERE, "--role", role, *known)
            stack.callback(running.close)
            if "train" in role:
                swarm.trainers[name] = running
            return running

        backbone = start("backbone", "backbone")
        known += ["--bootstrap", hearth(backbone.folder, "address").stdout.strip()]
        first = start("first")
        start("second")
        third = start("third")
        met = swarm.together("first", "second", "third", after=2)
        wait_until(lambda: (part := swarm.part("first")) and part.peers == 3, "a step of all three", PATIENCE_S)
        assert "trainers agree by dedloc" in hearth(first.folder, "trunk").stdout
        log = backbone.folder / "logs" / "hearth.log"
        wait_until(lambda: "Reduced for step" in log.read_text("utf8"), "help of a peer without compute", PATIENCE_S)
        assert backbone.compute() is None

        for process in family(third):  # with SIGKILL
            process.kill()
        third.process.wait()
        met = swarm.together("first", "second", after=met + 2)
        start("third")
        met = swarm.together("first", "second", "third", after=met + 1)

        frozen = family(swarm.trainers["second"])
        for process in frozen:
            process.send_signal(signal.SIGSTOP)
        try:
            met = swarm.together("first", "third", after=met + 3)
        finally:
            for process in frozen:
                process.send_signal(signal.SIGCONT)
        swarm.together("first", "second", "third", after=met + 1)
