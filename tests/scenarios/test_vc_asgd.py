"""Real workers train one trunk by VC-ASGD: one of them is the parameter server, and goes on from its file."""

import base64
import json
import time
from contextlib import ExitStack, closing
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from core.contracts import manifest as manifests
from core.contracts.ledger import Totals
from core.contracts.status import Status
from core.contracts.trunk import VcAsgd
from core.contracts.trunk_status import ForTrunk, TrunkStatus
from core.identity import Identity
from core.swarm.trunk.parameter_server import ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore
from core.swarm.trunk.vc_asgd import FILE
from core.swarm.trunk.work_generator import Work
from tests.workers import HERE, RunningWorker, codes, hearth, wait_until, worker

PATIENCE_S = 240.0


@pytest.mark.timeout(600)
def test_the_built_in_run_without_experts_trains_is_shown_and_answers(tmp_path: Path) -> None:
    with worker(tmp_path, "--run", "digits-vc", "--listen", HERE, share=100) as running:
        told = running.until(lambda status: status.step >= 100 and status.accuracy, "steps, and an evaluation")
        assert told.state == "contributing" and not told.attention
        assert "run.training_whole" in codes(told.reason)
        assert (told.layers, told.grid, told.experts) == (0, (), [])
        wait_until(lambda: running.ask("trunk", {}, TrunkStatus).parts, "an agreement")
        assert "Experts  none: every PC that trains holds the whole model" in hearth(tmp_path, "status").stdout
        wait_until(lambda: running.ask("trunk", {}, TrunkStatus).parts[0].version, "a result that is mixed in")
        said = hearth(tmp_path, "trunk").stdout
        assert "trainers agree by vc_asgd on the whole trunk." in said and "agreement 0" not in said
        pixels = base64.b64encode(bytes([0, 255, 255, 0] * 16)).decode()
        answer = running.call("predict", {"width": 8, "height": 8, "pixels": pixels})
        assert len(answer["probabilities"]) == 10 and answer["experts"] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", ["peer", "alone"])
def test_a_run_ends_when_its_model_is_as_accurate_as_the_manifest_wants(tmp_path: Path, place: str) -> None:
    network = ("--listen", HERE) if place == "peer" else ()
    document = json.loads(files("resources").joinpath("runs", "digits-vc.json").read_bytes())
    document["trunk"] |= {"parts": 4, "batches": 8, "accuracy": 0.5}
    path = tmp_path / "digits-vc.json"
    path.write_text(json.dumps(document))

    def is_over(status: Status) -> bool:
        return status.state == "limited" and codes(status.reason) == ["run.reached"]

    with worker(tmp_path / "peer", "--run", str(path), *network, share=100) as running:
        told = running.until(is_over, "an accuracy of 0.5")
        assert told.accuracy is not None and told.accuracy >= 0.5 and not told.attention
        assert "as accurate as its organiser wants" in hearth(running.folder, "status").stdout
        assert hearth(running.folder, "run", "join", "digits").returncode == 0
        running.until(lambda status: status.state == "contributing", "training of the other run")
        assert [run.reached for run in running.status().runs] == [True, False]
        listed = hearth(running.folder, "run", "list").stdout
        assert listed.count("The run has reached its goal") == 1
        assert hearth(running.folder, "status").stdout.count("Goal     The run has reached its goal") == 1
        assert running.ask("trunk", {}, TrunkStatus).reached
        assert hearth(running.folder, "run", "leave", "digits").returncode == 0
    with worker(tmp_path / "peer", "--run", str(path), *network) as running:
        assert running.until(is_over, "the same after a restart").step >= told.step


@pytest.mark.timeout(900)
def test_peers_of_a_run_without_named_servers_train_one_network_and_outlive_their_server(tmp_path: Path) -> None:
    known: list[str] = []
    with ExitStack() as stack:

        def start(name: str) -> RunningWorker:
            running = RunningWorker(tmp_path / name, "--run", "digits-vc", "--listen", HERE, *known, share=100)
            stack.callback(running.close)
            return running

        swarm = [start("first")]
        known += ["--bootstrap", hearth(swarm[0].folder, "address").stdout.strip()]
        swarm += [start("second"), start("third")]

        def agreed(running: RunningWorker) -> TrunkStatus:
            return running.ask("trunk", {}, TrunkStatus)

        def server() -> str | None:
            names = {reducer.peer for running in swarm for reducer in agreed(running).reducers}
            trained = all(any(part.samples for part in agreed(running).parts) for running in swarm)
            return names.pop() if len(names) == 1 and trained else None

        serves = wait_until(server, "one server of all")
        [dying] = [running for running in swarm if agreed(running).me == serves]
        wait_until(lambda: len(agreed(dying).givers) == len(swarm), "results of all three")
        swarm.remove(dying)
        before = max(part.samples for running in swarm for part in agreed(running).parts)
        for process in [*psutil.Process(dying.process.pid).children(recursive=True), psutil.Process(dying.process.pid)]:
            process.kill()
        dying.process.wait()
        began = time.monotonic()
        heir = wait_until(lambda: (name := server()) != serves and name, "another server of both")
        print(f"Adopted after {time.monotonic() - began:.1f} s.")
        assert heir in {agreed(running).me for running in swarm}
        wait_until(
            lambda: all(agreed(one).parts[0].samples > before for one in swarm), "training beyond what was accepted"
        )
        assert {running.status().state for running in swarm} == {"contributing"}


def manifest(folder: Path, server: str) -> str:
    """The path of one whose subtasks are short."""
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["training"] |= {"batch": 16, "in_flight": 2, "evaluate_every": 1000}
    document["trunk"] = {"strategy": "vc_asgd", "servers": [server], "parts": 4, "batches": 4, "timeout_s": 20.0}
    path = folder / "digits.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.timeout(600)
def test_two_workers_share_the_work_and_the_server_goes_on_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    server = Identity.load_or_create(tmp_path / "first").peer.hex()
    path = manifest(tmp_path, server)
    run = manifests.load(path)
    assert isinstance(run.trunk, VcAsgd)
    rules = run.trunk

    def work() -> Work:
        [file] = (tmp_path / "first").rglob(FILE)
        with closing(SqliteStore(file)) as store:
            return ParameterServer(rules, 1, store).work()

    def has_returned(clients: int, subtasks: int) -> bool:
        if not [*(tmp_path / "first").rglob(FILE)]:
            return False
        now = work()
        return now.done >= subtasks and sum(client.returned >= 2 for client in now.clients.values()) >= clients

    with ExitStack() as stack:

        def start(name: str, *known: str) -> RunningWorker:
            running = RunningWorker(tmp_path / name, "--run", path, "--listen", HERE, *known, share=100)
            stack.callback(running.close)
            return running

        first = start("first")
        known = ("--bootstrap", hearth(first.folder, "address").stdout.strip())
        start("second", *known)
        wait_until(lambda: has_returned(2, 8), "work done by both", PATIENCE_S)
        first.close()
        before = work()
        assert before.samples >= 16 * before.done
        again = start("first", *known)
        wait_until(lambda: work().done >= before.done + 4, "work after a restart", PATIENCE_S)

        def counted() -> ForTrunk | None:
            done = again.ask("trunk", {}, TrunkStatus).done
            return done if done.accepted and done.reduced else None

        done = wait_until(counted, "a result of its own that counts, and one that it mixed in", PATIENCE_S)

        def is_kept() -> bool:
            kept = again.ask("totals", {}, Totals).all.amounts
            return bool(kept.accepted >= done.accepted and kept.reduced >= done.reduced)

        wait_until(is_kept, "the same in the ledger", PATIENCE_S)
        told = again.ask("totals", {}, Totals).all
        assert told.runs[run.run_id].reduced == told.amounts.reduced
        assert "In the common trunk" in (said := hearth(again.folder, "stats").stdout)
        assert "combined today" in said
    assert work().done > before.done
