"""Five workers on loopback, left in peace or with peers that die, freeze, lie and join late.

Default settings; two trainers that host as well, a host that is killed, one that freezes, one that answers with noise
from the start, and one that joins when the others are gone. The trainers are judged more often than the runs say, as
one evaluation may be a point off. The held-out part of `text` is cut down to 8 KB, as judging all of it takes as long
as the training.
"""

import os
import signal
import statistics
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.contracts import manifest as manifests
from core.contracts.control import Snapshot
from core.contracts.manifest import Shard
from core.contracts.status import Status
from core.store.shards import local_text
from tests.workers import HERE, RunningWorker, Workers, hearth, wait_until

JUDGED = 0.75
"""The evaluations after this part of the steps are averaged."""
EVALUATE_EVERY = {"digits": 16, "text": 8}
ADOPTED_S = 120.0
BLOCKED_S = 2.0
"""The most that a step may wait longer for hosts that do not answer than in peace, where a crowded processor is the
reason, and by which it may take longer than twice the slowest one there."""
HELD_OUT = 8192
WAITING = 10
"""Percent of the time for which trainers work that have taken their steps, while experts are not adopted yet."""


def longest_s(steps: int) -> float:
    """For so many steps of both trainers."""
    return 300.0 + 2.0 * steps


def manifest(run: str, folder: Path, seed: int) -> str:
    """The path of a run's manifest with another seed, as `--run` takes it."""
    chosen = manifests.load(run)
    training = msgspec.structs.replace(chosen.training, evaluate_every=EVALUATE_EVERY[run], seed=seed)
    chosen = msgspec.structs.replace(chosen, training=training)
    if run == "text":
        text = local_text()
        parts = {text[:-HELD_OUT]: False, text[-HELD_OUT:]: True}
        shards = tuple(Shard(sha256(part).hexdigest(), len(part), held_out) for part, held_out in parts.items())
        chosen = msgspec.structs.replace(chosen, shards=shards)
    path = folder / f"{run}.json"
    path.write_bytes(msgspec.json.encode(chosen))
    return str(path)


class Orphans:
    """The experts of a host that is gone from now on."""

    def __init__(self, host: RunningWorker, others: list[RunningWorker]) -> None:
        self.uids, self.others = hosted([host]), others
        self.began = time.monotonic()
        self.adopted_s: float | None = None
        """Until others hosted all of them."""

    def look(self) -> None:
        """Note whether they are adopted."""
        if self.adopted_s is None and hosted(self.others) >= self.uids:
            self.adopted_s = time.monotonic() - self.began


class Moment(NamedTuple):
    """What the trainers say together."""

    lost: int
    """Batches that were dropped so far."""
    in_flight: int


class Swarm:
    """Five workers on loopback."""

    def __init__(self, folder: Path, run: str, seed: int, workers: Workers, noisy: bool) -> None:
        folder.mkdir()
        self._folder, self._run, self._workers = folder, manifest(run, folder, seed), workers
        self._known: list[str] = []
        self.trainers = [self.start("trainer 1", "host,train,backbone")]
        self._known = ["--bootstrap", hearth(self.trainers[0].folder, "address").stdout.strip()]
        self.killed, self.frozen = self.start("killed", "host"), self.start("frozen", "host")
        self.liar = self.start("liar", "host", "tests.swarm.noisy" if noisy else "core")
        self.trainers.append(self.start("trainer 2", "host,train"))
        self.orphans: list[Orphans] = []
        self.slowest = self.blocked = 0.0
        """Of all steps of all trainers that were seen: seconds, and those of them for hosts that did not answer."""

    def start(self, name: str, roles: str, program: str = "core") -> RunningWorker:
        arguments = ("--run", self._run, "--listen", HERE, "--role", roles, *self._known)
        return self._workers.start(self._folder / name, *arguments, program=program, share=100)

    def statuses(self) -> list[Status]:
        for orphans in self.orphans:
            orphans.look()
        statuses = [trainer.status() for trainer in self.trainers]
        self.slowest = max(self.slowest, *(status.slowest_step_s or 0.0 for status in statuses))
        self.blocked = max(self.blocked, *(status.blocked_s or 0.0 for status in statuses))
        return statuses

    def until_step(self, step: int, seconds: float) -> Moment:
        """Until both trainers have come so far."""
        come = f"step {step} of both trainers"
        wait_until(lambda: all(s.step >= step for s in self.statuses()), come, seconds)
        return self.moment()

    def until_adopted(self, seconds: float) -> list[float]:
        """Until all orphans are; how long each host's were without one."""

        def adopted() -> list[float]:
            self.statuses()
            found = [orphans.adopted_s for orphans in self.orphans if orphans.adopted_s is not None]
            return found if len(found) == len(self.orphans) else []

        times: list[float] = wait_until(adopted, "the adoption of all experts", seconds)
        return times

    def moment(self) -> Moment:
        statuses = self.statuses()
        return Moment(sum(s.lost_batches for s in statuses), sum(s.in_flight for s in statuses))

    def accuracy(self, steps: int) -> float:
        """Of both trainers' trunks, each with the swarm's experts, as they evaluated it last."""

        def last(trainer: RunningWorker) -> list[float]:
            curve = trainer.ask("subscribe", {}, Snapshot).curve
            return [point.accuracy for point in curve if point.step > JUDGED * steps]

        for trainer in self.trainers:
            wait_until(lambda t=trainer: last(t), "an evaluation")  # type: ignore[misc]
        return statistics.mean(statistics.mean(last(trainer)) for trainer in self.trainers)


def hosted(workers: list[RunningWorker]) -> set[str]:
    return {expert.uid for running in workers for expert in running.status().experts}


def pids(running: RunningWorker) -> list[int]:
    """Of the worker and its compute."""
    compute = running.compute()
    return [running.process.pid, *([compute.pid] if compute else [])]


def send(number: signal.Signals, processes: list[int]) -> None:
    for pid in processes:
        os.kill(pid, number)


class Outcome(NamedTuple):
    """Of a swarm at the end of its steps."""

    accuracy: float
    lost: int
    slowest_s: float
    blocked_s: float


def in_peace(folder: Path, run: str, seed: int, steps: int) -> Outcome:
    """A swarm in which nothing happens, after so many steps of each trainer."""
    with Workers() as workers:
        swarm = Swarm(folder, run, seed, workers, noisy=False)
        lost = swarm.until_step(steps, longest_s(steps)).lost
        assert not lost, "batches were lost although no host had died"
        return Outcome(swarm.accuracy(steps), lost, swarm.slowest, swarm.blocked)


def in_adversity(folder: Path, run: str, seed: int, steps: int) -> Outcome:
    """A swarm with a liar, whose other hosts die or freeze after one and two fifths of the steps.

    Checks that their experts are adopted in time, and that no batch is lost but those on their way at the kill.
    """
    patience_s = longest_s(steps)
    with Workers() as workers:
        swarm = Swarm(folder, run, seed, workers, noisy=True)
        victims = [swarm.killed, swarm.frozen]
        wait_until(lambda: all(hosted([victim]) for victim in victims), "experts at each victim", patience_s)
        swarm.until_step(steps // 5, patience_s)
        before = swarm.moment()
        alive = [*swarm.trainers, swarm.frozen]  # what the liar takes on is not adopted
        of_killed = Orphans(swarm.killed, alive)
        send(signal.SIGKILL, pids(swarm.killed))
        swarm.orphans.append(of_killed)
        after = swarm.until_step(2 * steps // 5, patience_s)
        frozen = pids(swarm.frozen)
        of_frozen = Orphans(swarm.frozen, alive)
        send(signal.SIGSTOP, frozen)
        alive.remove(swarm.frozen)
        try:
            alive.append(swarm.start("late", "host"))
            swarm.orphans.append(of_frozen)
            swarm.until_step(steps, patience_s)
            for trainer in swarm.trainers:
                trainer.give(WAITING)
            adopted_s = swarm.until_adopted(180)
            end = swarm.moment()
            outcome = Outcome(swarm.accuracy(steps), end.lost, swarm.slowest, swarm.blocked)
        finally:
            send(signal.SIGCONT, frozen)
    print(f"{run}, adversity: adopted after {adopted_s[0]:.0f} and {adopted_s[1]:.0f} s, {before=}, {after=}, {end=}")
    assert max(adopted_s) < ADOPTED_S
    assert before.lost == 0, "batches were lost although no host had died"
    assert after.lost - before.lost <= before.in_flight, "batches were lost that were not on their way at the kill"
    assert end.lost == after.lost, "batches were lost although no host had died"
    return outcome
