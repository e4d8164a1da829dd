"""Real workers train one trunk: what they agree on has the same bits on each, and goes on when a syncer is killed."""

import json
import time
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from core.contracts.network_status import NetworkStatus
from core.contracts.trunk_status import TrunkStatus
from tests.workers import HERE, RunningWorker, Workers, hearth, wait_until

FRAGMENTS = 3
WAITING = 10
"""Percent of the time for which trainers work while what they wait for is that a peer is known to be gone."""


def manifest(folder: Path) -> str:
    """The path of one whose trainers agree often."""
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["training"] |= {"batch": 16, "in_flight": 2, "evaluate_every": 256}
    document["trunk"] = {"strategy": "diloco", "inner_steps": 16, "fragments": FRAGMENTS, "grace_s": 5.0}
    path = folder / "digits.json"
    path.write_text(json.dumps(document))
    return str(path)


def agreed(running: RunningWorker) -> TrunkStatus:
    return running.ask("trunk", {}, TrunkStatus)


def versions(running: RunningWorker) -> list[int]:
    return [part.version for part in agreed(running).parts]


def all_are_told_of(peers: dict[str, RunningWorker]) -> None:
    """Each knows who takes part in the agreements, who brings them about, how near the next is, and what it cost."""

    seen: defaultdict[str, set[str]] = defaultdict(set)

    def all_have_taken_part() -> bool:
        for peer, running in peers.items():
            seen[peer] |= {giver.peer for giver in agreed(running).givers if giver.share}
        return all(seen[peer] == peers.keys() for peer in peers)

    wait_until(all_have_taken_part, "rounds of all three")
    for peer, running in peers.items():

        def told(running: RunningWorker = running) -> TrunkStatus | None:
            status = agreed(running)
            return status if sum(reducer.share for reducer in status.reducers) == pytest.approx(1.0) else None

        status = wait_until(told, "a syncer of each fragment")
        assert status.me == peer and status.trainers >= 1 and status.agreed is not None
        assert {reducer.peer for reducer in status.reducers} == {part.syncer for part in status.parts}
        assert status.progress and status.progress.unit == "steps" and status.progress.done < status.progress.target
        assert status.sent > 0 and status.received > 0
        shown = hearth(running.folder, "trunk").stdout
        assert shown.count(", this PC") >= 1 and "traffic" in shown
        (row,) = [rule for rule in running.status().why if rule.rule == "trunk"]
        assert row.live.code == "trunk.goes_on" and not row.stops


def family(running: RunningWorker) -> list[psutil.Process]:
    worker = psutil.Process(running.process.pid)
    return [worker, *worker.children(recursive=True)]


def kill(running: RunningWorker) -> None:
    for process in family(running):
        process.kill()
    running.process.wait()


def go_on_beside_a_frozen_one(swarm: list[RunningWorker], frozen: RunningWorker) -> None:
    """The others' rounds do not wait for it once they know, and it comes to the same agreements when it goes on."""
    others = [running for running in swarm if running is not frozen]
    for running in others:
        running.give(WAITING)
    before, processes = versions(others[0]), family(frozen)
    for process in processes:
        process.suspend()
    try:

        def others_go_on() -> bool:
            now = [versions(running) for running in others]
            return all(version > old + 4 for told in now for version, old in zip(told, before, strict=True))

        wait_until(others_go_on, "agreement without the frozen one")
    finally:
        for process in processes:
            process.resume()
    name, missed = frozen.ask("network", {}, NetworkStatus).peer, versions(others[0])

    def is_in_step() -> bool:
        told = agreed(others[0])
        caught_up = all(now >= then for now, then in zip(versions(frozen), missed, strict=True))
        return caught_up and any(giver.peer == name and giver.share for giver in told.givers)

    wait_until(is_in_step, "rounds with the one that was frozen")


def all_are_past(swarm: list[RunningWorker], before: list[int]) -> bool:
    """Whether each has agreed more than twice more on each fragment."""
    return all(
        len(now := versions(running)) == FRAGMENTS
        and all(version > old + 2 for version, old in zip(now, before, strict=True))
        for running in swarm
    )


@pytest.mark.timeout(600)
def test_workers_agree_bit_for_bit_and_a_dead_syncer_is_replaced(tmp_path: Path) -> None:
    run = manifest(tmp_path)
    known: list[str] = []
    with Workers() as workers:

        def start(name: str, roles: str) -> RunningWorker:
            return workers.start(tmp_path / name, "--run", run, "--listen", HERE, "--role", roles, *known, share=100)

        first = start("first", "host,train,backbone")
        known += ["--bootstrap", hearth(first.folder, "address").stdout.strip()]
        swarm = [first, start("second", "host,train"), start("third", "host,train")]
        digests: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        met: defaultdict[tuple[int, int], set[int]] = defaultdict(set)

        def look() -> None:
            for number, running in enumerate(swarm):
                for part in agreed(running).parts:
                    digests[part.part, part.version].add(part.digest)
                    met[part.part, part.version].add(number)

        def several_have_met() -> bool:
            look()
            together = {part for (part, version), who in met.items() if version > 4 and len(who) == len(swarm)}
            return together == set(range(FRAGMENTS))

        wait_until(several_have_met, "agreements of all three")
        assert all(len(one) == 1 for one in digests.values()), "the same version has other bits"
        status = agreed(first)
        assert status.strategy == "diloco" and all(part.syncer and part.digest for part in status.parts)
        peers = {running.ask("network", {}, NetworkStatus).peer: running for running in swarm}
        all_are_told_of(peers)

        go_on_beside_a_frozen_one(swarm, swarm[2])

        names = {peer: running for peer, running in peers.items() if running is not first}
        syncers = [part.syncer for part in agreed(first).parts if part.syncer in names]
        dying = names[str(syncers[0])] if syncers else swarm[1]
        told = [agreed(running).parts for running in swarm if running is not dying]
        before = versions(first)
        swarm = [running for running in swarm if running is not dying]
        for running in swarm:
            running.give(WAITING)
        kill(dying)
        began = time.monotonic()

        wait_until(lambda: all_are_past(swarm, before), "agreement without the dead one")
        print(f"Adopted after {time.monotonic() - began:.1f} s at most.")
        look()
        assert all(len(one) == 1 for one in digests.values()), "the same version has other bits"
        samples = {part.part: part.samples for part in agreed(first).parts}
        assert all(samples[part.part] > part.samples for parts in told for part in parts), "what was accepted is lost"
        done = versions(first)

        for running in swarm:
            running.leave()
        for running in swarm:
            running.close()
        again = start("first", "host,train,backbone")
        wait_until(lambda: len(versions(again)) == FRAGMENTS, "what was on the disk")
        assert all(now >= was - 1 for now, was in zip(versions(again), done, strict=True)), "it went back"
