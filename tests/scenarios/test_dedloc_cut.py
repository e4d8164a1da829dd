"""Real workers take steps together, each in a network namespace; the link of one is cut for a while."""

from pathlib import Path

import pytest

from core.contracts.status import Status
from tests.swarm.namespaces import Internet
from tests.swarm.nat_workers import WorkerPeer
from tests.swarm.trunks import PATIENCE_S, Log, Trunks, lost, manifest
from tests.workers import wait_until

NAMES = ("first", "second", "third")
ALONE = 100
"""Steps of the one that is cut off, of a batch each: by its own data its trunk is better than the others' is then."""


def steps(trainer: WorkerPeer) -> int:
    """That a trainer has taken, with others or alone."""
    [run] = trainer.ask("status", Status).runs
    return run.step


@pytest.mark.usefixtures("namespaces")
@pytest.mark.timeout(900)
def test_one_that_is_cut_off_costs_the_others_a_round_at_most_and_is_in_step_when_it_is_back(tmp_path: Path) -> None:
    run = manifest(tmp_path)
    trunks = Trunks()
    with Internet() as internet:
        backbone = WorkerPeer(internet.host("backbone"), tmp_path / "backbone", "--run", run, "--role", "backbone")
        trainers = {
            name: WorkerPeer(
                internet.host(name), tmp_path / name, "--run", run, "--role", "host,train", via=backbone, computes=True
            )
            for name in NAMES
        }
        trunks.ask = {name: trainer.trunk for name, trainer in trainers.items()}
        trunks.joined(*NAMES, after=2)
        trunks.all_take_part()

        logs = {name: Log(trainer.folder) for name, trainer in trainers.items()}
        trainers["third"].host.cut()
        met = max(map(trunks.version, NAMES))
        for _ in range(3):
            met = trunks.together("first", "second", after=met)
        assert lost({trainers[name].name[:8]: logs[name] for name in ("first", "second")}) <= 1
        for name in ("first", "second"):
            assert logs[name].waited()[trainers["third"].name[:8]] <= 1, "it was waited for in more than one round"

        log, begun = Log(trainers["third"].folder), steps(trainers["third"])
        wait_until(lambda: steps(trainers["third"]) > begun + ALONE, "many small steps alone", PATIENCE_S)
        trainers["third"].host.mend()
        met = trunks.joined(*NAMES, after=met)
        trunks.together(*NAMES, after=met + 1)
        trunks.all_take_part()
        assert log.taken_over() <= 2, f"it fell behind again and again: {log.new()}"
