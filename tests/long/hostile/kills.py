"""A worker whose processes are killed at random moments, and what its data folder holds after each kill."""

import contextlib
import json
import random
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from core.community import schema
from core.contracts.control import Snapshot
from core.contracts.errors import HearthError
from core.contracts.files import TRUNK, PartFile
from core.contracts.ledger import Totals
from core.contracts.status import Status
from core.store.checkpoint_files import copies_of, is_whole, manifests, path_of, read_manifest, sha256_of
from core.store.data_folder import RUNS
from core.store.progress import FILE, Progress
from tests.workers import DIGITS, RunningWorker, answers, wait_until

import msgspec  # isort: skip

Killed = Literal["worker", "compute", "both"]
LOOK_S = 0.3
LATEST_S = 45.0
"""The longest that it is left alone; half of the kills come in the first seconds of a start."""
EARLY_S = 6.0
SHARE = 20
"""Per cent of the time for which each computes: the rest is for starting."""
ORPHAN_S = 120.0
"""In which compute has to end after its worker; on a crowded machine it takes long until torch is there."""
SETTING = "price_kwh"


class Kill(NamedTuple):
    """One, and what it cost."""

    killed: Killed
    age_s: float
    """How long the worker, or its compute, had been there."""
    lost_s: dict[str, float]
    """Of the trunk, of the expert that lost most and of the ledger: seconds of work told that the folder has not."""
    answered_s: float
    """From the start that followed to the first answer; 0: only compute was killed, the worker answered."""


class Told(NamedTuple):
    """What a worker said of itself at a moment."""

    moment: float
    parts: dict[str, int]
    """Steps of its trunk and experts."""
    samples: int
    """Those for which the ledger counts this PC."""


class Starting(RunningWorker):
    """One that is not waited for: it may be killed before it answers."""

    def _answers(self) -> bool:
        return True


class Victim:
    """One worker in one folder, killed and started again."""

    def __init__(self, folder: Path, arguments: tuple[str, ...], seed: int) -> None:
        """Start it, and wait until it trains.

        Args:
            folder: its data folder.
            arguments: of `hearth worker`.
            seed: of the moments.
        """
        self.folder, self._arguments, self._random = folder, arguments, random.Random(seed)
        self.run = folder / RUNS / DIGITS
        self.running: RunningWorker = RunningWorker(folder, *arguments, share=SHARE)
        self.running.until(lambda status: status.step > 0, "training")
        self._key, self._price = (folder / "identity.key").read_bytes(), 0.0
        self._told: list[Told] = []
        """Since the last kill."""
        self._samples = 0
        self.kills: list[Kill] = []
        self.attention: set[str] = set()
        """Codes of what was told to need attention."""
        self._compute: psutil.Process | None = None

    def kill_once(self) -> None:
        """At a random moment, check what is left, and start again what does not come back by itself."""
        early = self._random.random() < 0.5
        wait_s = self._random.uniform(0.0, EARLY_S if early else LATEST_S)
        wanted: Killed = self._random.choice(["worker", "compute", "both"])
        self._watch(time.monotonic() + wait_s)
        worker = psutil.Process(self.running.process.pid)
        computes = [child for child in worker.children() if child.is_running()]
        killed: Killed = wanted if computes else "worker"
        victims = {"worker": [worker], "compute": computes, "both": [worker, *computes]}[killed]
        age_s = time.time() - victims[-1].create_time()
        for process in victims:
            process.kill()
        moment, answered_s = time.monotonic(), 0.0
        if killed == "compute":
            psutil.wait_procs(computes, ORPHAN_S)
            lost_s = self._left(moment)
        else:
            self.running.process.communicate()
            _, orphans = psutil.wait_procs(computes, ORPHAN_S)
            assert not orphans, f"compute outlives its worker: {orphans}"
            lost_s = self._left(moment)
            began = time.monotonic()
            self.running = Starting(self.folder, *self._arguments, share=SHARE)
            if self._random.random() < 0.7:  # else the next kill may come while it starts
                self._answers(began)
                answered_s = time.monotonic() - began
        self.kills.append(Kill(killed, age_s, lost_s, answered_s))

    def _answers(self, began: float) -> None:
        wait_until(lambda: answers(self.folder), f"an answer, {time.monotonic() - began:.0f} s after the start")
        price = self.running.ask("subscribe", {}, Snapshot).settings[SETTING]
        assert price == self._price, f"a setting was {self._price}, and is {price}"

    def close(self) -> None:
        """End it in the friendly way."""
        if self.running.process.poll() is None:
            wait_until(lambda: answers(self.folder), "an answer")
        self.running.close()

    # before a kill

    def _watch(self, until: float) -> None:
        """Note what it tells, and change a setting now and then."""
        while (now := time.monotonic()) < until:
            code = self.running.process.poll()
            assert code is None, f"the worker ended by itself with {code}: {self.running.process.communicate()[1]}"
            if answers(self.folder):
                self._note(now)
            time.sleep(max(0.0, min(LOOK_S, until - time.monotonic())))

    def _note(self, now: float) -> None:
        with contextlib.suppress(HearthError):  # it has just started
            status = self.running.status()
            samples = self.running.ask("totals", {}, Totals).all.amounts.samples
            if status.runs[0].phase == "training":  # else it tells of the process before, whose loss was counted
                self._told.append(Told(now, parts_of(status), samples))
            self.attention |= {note.code for note in status.attention}
            if self._random.random() < 0.1:
                price = round(self._random.uniform(0.1, 0.9), 3)
                self.running.call("set_settings", {"changes": {SETTING: price}})
                self._price = price

    # after it

    def _left(self, moment: float) -> dict[str, float]:
        """Check each file, and tell how many seconds of work are lost."""
        assert (self.folder / "identity.key").read_bytes() == self._key
        json.loads((self.folder / "settings.json").read_bytes())
        bad = [path for path in self.folder.rglob("*.bad*") if sha256_of(path) != path.name.partition(".")[0]]
        assert not bad, f"set aside: {bad}"  # but states of others that are whole, and of no use
        if (self.run / FILE).exists():
            msgspec.json.decode((self.run / FILE).read_bytes(), type=Progress)
        states, samples = self._states(), self._ledger()
        assert samples >= self._samples, "the ledger has forgotten what it had"
        told, self._told, self._samples = self._told, [], samples
        lost = {
            TRUNK: 0.0,
            "expert": 0.0,
            "ledger": behind(moment, [(one.moment, one.samples) for one in told], samples),
        }
        for part in told[-1].parts if told else ():
            what = TRUNK if part == TRUNK else "expert"
            steps = [(one.moment, one.parts.get(part, -1)) for one in told]
            lost[what] = max(lost[what], behind(moment, steps, states.get(part, 0)))
        return lost

    def _states(self) -> dict[str, int]:
        """The newest steps of each part; each file is what its name says."""
        found: dict[str, int] = {}
        checkpoints = self.run / "checkpoints"

        def see(folder: Path, file: PartFile) -> None:
            gone = self.running.process.poll() is None and not path_of(folder, file.sha256).exists()
            assert gone or is_whole(folder, file), f"damaged: {file}"  # a live worker removes what is superseded
            found[file.part] = max(found.get(file.part, 0), file.version)

        for path in manifests(checkpoints):
            with contextlib.suppress(FileNotFoundError):  # likewise
                for file in read_manifest(path).parts.values():
                    see(checkpoints, file)
        for file in copies_of("digits", self.run / "blobs"):
            see(self.run / "blobs", file)
        return found

    def _ledger(self) -> int:
        """Samples in a copy of the ledger, which is sound; Hearth shall mend its own."""
        copy = self.folder.with_name(f"{self.folder.name}-ledger")
        copy.mkdir(exist_ok=True)
        for path in self.folder.glob(f"{schema.FILE}*"):
            shutil.copy(path, copy / path.name)
        try:
            with contextlib.closing(sqlite3.connect(copy / schema.FILE)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'amounts'").fetchone():
                    return 0
                query = "SELECT COALESCE(SUM(samples), 0) FROM amounts WHERE width = 86400"
                return int(connection.execute(query).fetchone()[0])
        finally:
            shutil.rmtree(copy)


def behind(moment: float, told: list[tuple[float, int]], has: int) -> float:
    """For how many seconds before a moment more was told than there is.

    Args:
        moment: of the kill.
        told: when and how much, in order; what became less meanwhile had moved to a peer, or come anew from one.
        has: what there is now.
    """
    since = moment
    for (when, amount), (_, later) in reversed(
        [*zip(told, [*told[1:], (moment, told[-1][1])], strict=True)] if told else []
    ):
        if amount <= has or amount > later:
            break
        since = when
    return moment - since


def parts_of(status: Status) -> dict[str, int]:
    """Steps of the trunk and the experts of a worker."""
    return {TRUNK: status.step, **{expert.uid: expert.updates for expert in status.experts}}
