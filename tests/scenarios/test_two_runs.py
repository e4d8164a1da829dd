"""Two runs: of one name in one network, and side by side on one PC. Real worker processes."""

import json
import resource
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from core.contracts import manifest
from core.contracts.control import Request, Snapshot
from core.contracts.errors import QuestionError, RunError
from core.contracts.ledger import Totals
from core.contracts.network_status import DhtRecord, NetworkStatus
from core.contracts.status import RunStatus, Status
from core.control.client import ControlClient
from core.store import shards
from core.swarm.trunk.agreement import POINTS
from tests.swarm.test_full_disk import TINY, limit
from tests.workers import DIGITS, HERE, PATIENCE_S, RunningWorker, Workers, hearth, start_paused, wait_until, worker


def small_text(folder: Path, width: int, text: bytes = b"") -> str:
    """The path of a manifest that calls itself `text`, of a model that is trained in no time.

    Args:
        folder: where it comes.
        width: of the model: two of them make two runs.
        text: what is trained on; else the Python manual.
    """
    document = json.loads(files("resources").joinpath("runs", "text.json").read_bytes())
    document["model"] |= {"width": width, "hidden": 2 * width, "layers": 1, "grid": [2, 2], "heads": 2, "sequence": 32}
    document["training"] |= {"batch": 4, "in_flight": 2}
    if text:
        document["shards"] = msgspec.to_builtins(shards.cut(text))
    path = folder / f"text-{width}.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_two_runs_of_one_name_never_meet(tmp_path: Path) -> None:
    """Each pair has a text that only its first PC begins with; what they count tells of no other run, either."""
    texts = {width: b"".join(b"%d says %d. " % (width, number) for number in range(8000)) for width in (32, 48)}
    paths = [small_text(tmp_path, width, text) for width, text in texts.items()]
    ids = [manifest.load(path).run_id for path in paths]
    for name, path, text in zip(("first", "third"), paths, texts.values(), strict=True):
        give(tmp_path / name, path, text)
    with Workers() as workers:
        first = workers.start(tmp_path / "first", "--run", paths[0], "--listen", HERE)
        known = hearth(first.folder, "address").stdout.strip()

        def another(name: str, path: str) -> RunningWorker:
            return workers.start(tmp_path / name, "--run", path, "--listen", HERE, "--bootstrap", known)

        pairs = [[first, another("second", paths[0])], [another("third", paths[1]), another("fourth", paths[1])]]
        peers = {pc.folder: network(pc).peer for pair in pairs for pc in pair}
        for pair, path, run_id in zip(pairs, paths, ids, strict=True):
            for pc in pair:
                is_complete(pc, run_id, {peers[one.folder] for one in pair})
            here = {shard.sha256 for shard in manifest.load(path).shards}
            for pc in pair:
                assert {file.name for file in pc.folder.glob("runs/*/data/*")} == here
                for sha256 in here:
                    assert told(pc, f"{run_id}.data.{sha256}") <= {peers[one.folder] for one in pair}
        sizes = [{path.stat().st_size for pc in pair for path in parts(pc)} for pair in pairs]
        assert all(sizes) and not sizes[0] & sizes[1], "a part of one run is among those of the other"
        for pair, run_id in zip(pairs, ids, strict=True):
            for pc in pair:
                assert [path.name for path in pc.folder.glob("runs/*")] == [run_id]
                assert pc.ask("totals", {}, Totals).all.runs.keys() == {run_id}
                faults = [peer.faults for peer in network(pc).peers]
                # One whose fragment does worse has such a point, and may be honest.
                assert all(points < POINTS["unusual"] for points in faults), faults
                assert "it belongs to" not in pc.log(), "a part of the other run came"


def test_the_run_of_the_settings_can_be_left_as_well(tmp_path: Path) -> None:
    """The settings name another one then, one from an organiser's file as well; the last one cannot be left."""
    with worker(tmp_path / "data") as running:
        text = train_two(running, small_text(tmp_path, 32))
        (tmp_path / "text-32.json").unlink()
        left = hearth(running.folder, "run", "leave", "digits")
        assert left.returncode == 0 and f"still in {text}" in left.stdout, left.stderr
        assert set(runs(running)) == {text}
        refused = hearth(running.folder, "run", "leave", text)
        assert refused.returncode == RunError.exit_code and "Join another one first" in refused.stderr
    with worker(tmp_path / "data") as again:
        assert set(runs(again)) == {text} and not again.status().attention
        assert hearth(again.folder, "run", "join", "digits").returncode == 0
        assert hearth(again.folder, "run", "leave", text).returncode == 0
        assert json.loads((again.folder / "settings.json").read_text())["run"] == "digits"


def give(folder: Path, path: str, text: bytes) -> None:
    """Let a PC have the text of a run from the beginning."""
    run = manifest.load(path)
    at = 0
    for shard in run.shards:
        shards.accept(folder / "runs" / run.run_id, shard, text[at : at + shard.size])
        at += shard.size


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


@pytest.fixture(scope="module")
def shared_pc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    """A PC for several tests, as each of its processes takes a while to start."""
    with worker(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running


def train_two(running: RunningWorker, path: str) -> str:
    """Wait until a PC trains the digits and the text of a manifest, which it joins first if need be; the text's id."""
    text = manifest.load(path).run_id
    if text not in runs(running):
        joined = hearth(running.folder, "run", "join", path, "--yes")
        assert joined.returncode == 0, joined.stderr
    wait_until(lambda: len(computes(running)) == 2 and are_training(running), "two processes that train")
    return text


@pytest.fixture
def two_runs(shared_pc: RunningWorker) -> tuple[RunningWorker, str]:
    """A PC that trains the digits and a text, whatever was done to it before, and the id of the latter."""
    limit(shared_pc, resource.RLIM_INFINITY)
    shared_pc.call("resume")
    return shared_pc, train_two(shared_pc, small_text(shared_pc.folder.parent, 32))


def of_run(running: RunningWorker, run: str) -> Status:
    return running.ask("status", {"run": run}, Status)


def next_curve(client: ControlClient, run: str) -> str:
    """Subscribe to a run and wait for a point of its curve; the run of which the last status before it told."""
    seen: list[Any] = []

    def has_point() -> bool:
        client.call("log", {"lines": 1}, list[Any], each=seen.append)
        return any(isinstance(data, list) for data in seen)

    assert client.call("subscribe", {"run": run}, Snapshot).status.run_id == run
    wait_until(has_point, "a point of the curve")
    statuses = [data for data in seen if isinstance(data, dict) and "run_id" in data]
    assert {status["run_id"] for status in statuses} <= {run}
    (point, *_) = [data for data in seen if isinstance(data, list)]
    return str(point)


def test_who_subscribes_to_a_run_hears_of_that_one(two_runs: tuple[RunningWorker, str]) -> None:
    running, text = two_runs
    with ControlClient(running.folder) as client:
        for run in (text, DIGITS):
            point = next_curve(client, run)
            curve = running.ask("subscribe", {"run": run}, Snapshot).curve
            assert point in [str(msgspec.to_builtins(one)) for one in curve], "a point of another run's curve"
        with pytest.raises(RunError):
            client.call("subscribe", {"run": "nobody"}, Snapshot)
        client.call("subscribe", {"run": text}, Snapshot)
        assert hearth(running.folder, "run", "leave", text).returncode == 0
        heard: list[Any] = []

        def hears_of_the_first() -> bool:
            client.call("log", {"lines": 1}, list[Any], each=heard.append)
            return any(isinstance(data, dict) and data.get("run_id") == DIGITS for data in heard)

        wait_until(hears_of_the_first, "news of the run that is left")


def test_each_run_gives_way_to_a_person_who_asks_another(two_runs: tuple[RunningWorker, str]) -> None:
    running, text = two_runs
    wait_until(lambda: all(run.samples_per_s > 0 for run in runs(running).values()), "both train")
    with ControlClient(running.folder) as client:
        client._socket.settimeout(PATIENCE_S)
        asked = msgspec.json.encode({"prompt": "one", "length": 10_000, "run": text})
        client._write(Request(1, "generate", msgspec.Raw(asked)))
        assert b'"piece"' in client._lines.readline()
        wait_until(lambda: all(run.samples_per_s == 0 for run in runs(running).values()), "both give way")
        held = runs(running)
    for run, before in held.items():
        wait_until(lambda: runs(running)[run].samples > before.samples, "training again")  # noqa: B023


def test_each_yield_is_counted_for_its_own_run(two_runs: tuple[RunningWorker, str]) -> None:
    running, text = two_runs

    def counted() -> dict[str, int]:
        found = running.ask("totals", {}, Totals).all.runs
        return {run: found[run].yields if run in found else 0 for run in (DIGITS, text)}

    before, count = counted(), running.status().yields.count
    running.call("pause")
    wait_until(lambda: running.status().yields.count >= count + 2, "two yields")
    assert counted() == {run: yields + 1 for run, yields in before.items()}
    assert running.ask("totals", {}, Totals).all.runs.keys() == {DIGITS, text}


def test_what_was_joined_stays_so_beside_a_run_for_once(tmp_path: Path) -> None:
    start_paused(tmp_path / "data")  # nothing need be computed
    text = manifest.load(small_text(tmp_path, 32)).run_id
    with worker(tmp_path / "data") as running:
        assert hearth(running.folder, "run", "join", str(tmp_path / "text-32.json"), "--yes").returncode == 0
        assert hearth(running.folder, "run", "weight", text, "2").returncode == 0
    other = small_text(tmp_path, 48)
    with worker(tmp_path / "data", "--run", small_text(tmp_path, 64)) as once:
        assert hearth(once.folder, "run", "join", other, "--yes").returncode == 0
        assert hearth(once.folder, "run", "weight", once.status().run_id, "5").returncode == 0
    with worker(tmp_path / "data") as again:
        weights = {run.id: run.weight for run in again.status().runs}
        assert weights == {DIGITS: 1, text: 2, manifest.load(other).run_id: 1}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot set another process's limits")
def test_a_full_disk_costs_neither_run_anything(two_runs: tuple[RunningWorker, str]) -> None:
    running, text = two_runs
    ids = (DIGITS, text)
    limit(running, TINY)

    def is_new(run: str) -> bool:
        told = of_run(running, run)
        return told.step > (told.checkpoint_step or 0)

    wait_until(lambda: all(is_new(run) for run in ids), "something to be saved of both")
    running.call("pause")  # saves
    titles = {run.title for run in running.status().runs}

    def unsaved() -> set[Any]:
        """Titles of the runs of which it is said that they were not saved."""
        said = running.status().attention
        assert all("Free some space" in str(note) for note in said if "was not saved" in str(note))
        return {note.args.get("run") for note in said if "was not saved" in str(note)}

    wait_until(lambda: unsaved() == titles, "a sentence about each")
    running.call("resume")
    before = [of_run(running, run).step for run in ids]
    wait_until(
        lambda: all(of_run(running, run).step > step for run, step in zip(ids, before, strict=True)),
        "more training of both",
    )
    limit(running, resource.RLIM_INFINITY)
    running.call("pause")
    for run, step in zip(ids, before, strict=True):
        wait_until(lambda: of_run(running, run).checkpoint_step == of_run(running, run).step, "a checkpoint")  # noqa: B023
        assert of_run(running, run).step > step
    running.until(lambda status: not status.attention, "the end of the trouble")


def test_a_pc_joins_and_leaves_runs_and_gives_both_back_at_once(tmp_path: Path) -> None:
    text = manifest.load(small_text(tmp_path, 32)).run_id
    with worker(tmp_path / "data") as running:
        joined = hearth(running.folder, "run", "join", str(tmp_path / "text-32.json"), "--yes")
        assert joined.returncode == 0 and text in joined.stdout, joined.stderr
        assert hearth(running.folder, "run", "weight", "digits", "3").returncode == 0
        wait_until(lambda: len(computes(running)) == 2 and are_training(running), "two processes that train")
        assert running.call("status", {"run": "text"})["run_id"] == text
        listed = hearth(running.folder, "run", "list").stdout
        assert "75%" in listed and " samples/s" in listed and " bytes/s" in listed
        told = hearth(running.folder, "status").stdout
        assert all(f"Run      {name} (" in told for name in ("digits", "text")), told
        generated = hearth(running.folder, "generate", "The", "--length", "3")
        assert generated.returncode == 0 and generated.stdout.startswith("The"), "the run that continues text answers"
        wrong = hearth(running.folder, "generate", "The", "--run", "digits")
        assert wrong.returncode == QuestionError.exit_code and "hearth run join text" in wrong.stderr

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

        for run in ("digits", text):
            speed = json.loads(hearth(running.folder, "benchmark", "--run", run, "--json").stdout)
            assert speed["run"] == run.partition("-")[0]
        assert hearth(running.folder, "run", "leave", text).returncode == 0
        wait_until(lambda: len(computes(running)) == 1 and set(runs(running)) == {DIGITS}, "one run")
        assert [*running.folder.glob(f"runs/{text}/checkpoints/checkpoint-*.json")], "what was trained is kept"
        assert hearth(running.folder, "run", "join", str(tmp_path / "text-32.json"), "--yes").returncode == 0
        (tmp_path / "text-32.json").unlink()
    start_paused(tmp_path / "data")  # what it has to tell is on the disk
    with worker(tmp_path / "data") as again:
        assert {run.id: run.weight for run in again.status().runs} == {DIGITS: 3, text: 1}
        assert runs(again)[text].step > 0
