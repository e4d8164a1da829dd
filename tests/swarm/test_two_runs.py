"""Two runs: of one name in one network, and side by side on one PC. Real worker processes."""

import json
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import psutil

from core.contracts import manifest
from core.contracts.errors import RunError
from core.contracts.network_status import DhtRecord, NetworkStatus
from core.contracts.status import RunStatus
from tests.workers import DIGITS, HERE, RunningWorker, hearth, wait_until, worker


def small_text(folder: Path, width: int) -> str:
    """The path of a manifest that calls itself `text`, of a model that is trained in no time."""
    document = json.loads(files("resources").joinpath("runs", "text.json").read_bytes())
    document["model"] |= {"width": width, "hidden": 2 * width, "layers": 1, "grid": [2, 2], "heads": 2, "sequence": 32}
    document["training"] |= {"batch": 4, "in_flight": 2}
    path = folder / f"text-{width}.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_two_runs_of_one_name_never_meet(tmp_path: Path) -> None:
    paths = [small_text(tmp_path, width) for width in (32, 48)]
    ids = [manifest.load(path).run_id for path in paths]
    with ExitStack() as stack:
        first = stack.enter_context(worker(tmp_path / "first", "--run", paths[0], "--listen", HERE))
        known = hearth(first.folder, "address").stdout.strip()

        def another(name: str, path: str) -> RunningWorker:
            return stack.enter_context(worker(tmp_path / name, "--run", path, "--listen", HERE, "--bootstrap", known))

        pairs = [[first, another("second", paths[0])], [another("third", paths[1]), another("fourth", paths[1])]]
        peers = {pc.folder: network(pc).peer for pair in pairs for pc in pair}
        for pair, run_id in zip(pairs, ids, strict=True):
            for pc in pair:
                is_complete(pc, run_id, {peers[one.folder] for one in pair})
        sizes = [{path.stat().st_size for pc in pair for path in parts(pc)} for pair in pairs]
        assert all(sizes) and not sizes[0] & sizes[1], "a part of one run is among those of the other"
        for pair in pairs:
            for pc in pair:
                assert [path.name for path in pc.folder.glob("runs/*")] == [pc.status().run_id]
                assert all(peer.faults == 0 for peer in network(pc).peers)
                assert not [*pc.folder.glob("runs/*/*/*.bad")]


def is_complete(running: RunningWorker, run_id: str, pair: set[str]) -> None:
    """Wait until a PC of four trains, and knows all of its pair's experts and of no other host of them."""
    cells = [f"{run_id}.0.{row}.{column}" for row in range(2) for column in range(2)]
    running.until(lambda status: status.checkpoint_step and status.experts, "experts and a checkpoint")
    wait_until(lambda: len(network(running).peers) >= 3, "connections with all others")
    wait_until(
        lambda: set().union(*(told(running, cell) for cell in cells)) == pair, "hosts of the pair, and no others"
    )
    wait_until(lambda: [*running.folder.glob("runs/*/blobs/*.safetensors")], "copies of the pair's parts")


def network(running: RunningWorker) -> NetworkStatus:
    return running.ask("network", {}, NetworkStatus)


def told(running: RunningWorker, key: str) -> set[str]:
    """The peers that stored a key."""
    return {record.peer for record in running.ask("dht_get", {"key": key}, list[DhtRecord])}


def parts(running: RunningWorker) -> list[Path]:
    """Files of experts and trunks."""
    return [*running.folder.glob("runs/*/*/*.safetensors")]


def computes(running: RunningWorker) -> list[psutil.Process]:
    return [psutil.Process(one.pid) for one in running.status().processes if one.name == "compute"]


def runs(running: RunningWorker) -> dict[str, RunStatus]:
    return {run.id: run for run in running.status().runs}


def are_training(running: RunningWorker) -> bool:
    return all(run.phase == "training" for run in runs(running).values())


def test_a_pc_joins_and_leaves_runs_and_gives_both_back_at_once(tmp_path: Path) -> None:
    text = manifest.load(small_text(tmp_path, 32)).run_id
    with worker(tmp_path / "data") as running:
        joined = hearth(running.folder, "run", "join", str(tmp_path / "text-32.json"))
        assert joined.returncode == 0 and text in joined.stdout, joined.stderr
        assert hearth(running.folder, "run", "weight", "digits", "3").returncode == 0
        wait_until(lambda: len(computes(running)) == 2 and are_training(running), "two processes that train")
        assert running.call("status", {"run": "text"})["run_id"] == text
        assert "75%" in hearth(running.folder, "run", "list").stdout

        running.call("pause")
        wait_until(lambda: all(run.phase in ("stopped", "absent") for run in runs(running).values()), "both stopped")
        last = running.status().yields.last_ms
        assert last is not None and last < 250
        running.call("resume")
        wait_until(lambda: are_training(running), "both again")
        for number in (0, 1):
            killed = computes(running)[number]
            killed.kill()
            wait_until(lambda: not killed.is_running(), "its end")  # noqa: B023
            wait_until(lambda: len(computes(running)) == 2 and are_training(running), "a new process")

        assert hearth(running.folder, "run", "leave", "digits").returncode == RunError.exit_code
        assert hearth(running.folder, "run", "leave", text).returncode == 0
        wait_until(lambda: len(computes(running)) == 1 and set(runs(running)) == {DIGITS}, "one run")
        assert [*running.folder.glob(f"runs/{text}/checkpoints/checkpoint-*.json")], "what was trained is kept"
        assert hearth(running.folder, "run", "join", str(tmp_path / "text-32.json")).returncode == 0
        (tmp_path / "text-32.json").unlink()
    with worker(tmp_path / "data") as again:
        assert {run.id: run.weight for run in again.status().runs} == {DIGITS: 3, text: 1}
        assert runs(again)[text].step > 0
