"""The app's worker joins the swarm of its run by itself, and alone it works as if there were no network."""

import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from core import key_file
from core.contracts.control import Prediction
from core.contracts.net import ANYWHERE
from core.contracts.network_status import NetworkStatus
from core.contracts.status import Status
from core.net.endpoint import kept
from tests.workers import HERE, RunningWorker, hearth, wait_until, worker

EXPERTS = 32
PICTURE = {"width": 8, "height": 8, "pixels": b64encode(bytes([0] * 24 + [255] * 16 + [0] * 24)).decode()}


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[RunningWorker]:
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield running


def choose(folder: Path, **settings: object) -> Path:
    """Write a folder's settings."""
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"version": 3, "lan": False, **settings}))
    return folder


def network(running: RunningWorker) -> NetworkStatus:
    return running.ask("network", {}, NetworkStatus)


def port(running: RunningWorker) -> str:
    return network(running).address.rpartition(":")[2]


def whole(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0 and len(status.experts) == EXPERTS


def test_peers_that_the_manifest_names_are_joined_and_the_port_is_kept(tmp_path: Path, backbone: RunningWorker) -> None:
    known = hearth(backbone.folder, "address").stdout.strip()
    run = json.loads(files("resources").joinpath("runs", "digits.json").read_text())
    manifest = tmp_path / "run.json"
    manifest.write_text(json.dumps({**run, "bootstrap": [known]}))
    folder = choose(tmp_path / "app", run=str(manifest))
    with worker(folder, "--join") as joined:
        wait_until(lambda: [peer.peer for peer in network(joined).peers] == [known[:64]], "the backbone peer")
        assert network(joined).roles == ["host", "train"]
        joined.until(whole, "all experts, as nobody else hosts any")
        before = port(joined)
    with worker(folder, "--join") as joined:
        assert port(joined) == before
        wait_until(lambda: network(joined).peers, "the backbone peer again")


def test_without_any_peer_it_trains_pauses_and_answers_as_alone(tmp_path: Path) -> None:
    folder = choose(tmp_path / "app", memory_grace_s=0)
    with worker(folder, "--join") as joined:
        joined.until(whole, "training")
        joined.until(lambda status: status.accuracy, "an evaluation")
        joined.call("pause")
        wait_until(lambda: joined.compute() is None, "the end of the compute process")
        answer = joined.ask("predict", PICTURE, Prediction)
        assert answer.step == joined.status().step > 0 and all(expert.answered for expert in answer.experts)
        wait_until(lambda: joined.compute() is None, "the end of the compute process")
        joined.call("resume")
        again = joined.until(whole, "training")
        assert again.step >= answer.step and any(expert.updates for expert in again.experts)
        assert not again.attention


def test_who_wants_no_peers_has_no_network(tmp_path: Path) -> None:
    with worker(choose(tmp_path / "app", peers=False), "--join") as alone:
        done = hearth(alone.folder, "peers")
        assert done.returncode == 12 and "the settings say so" in done.stderr
        alone.until(whole, "training")
        assert not _has_loaded(alone, "iroh"), "memory that only peers are worth"
    with worker(choose(tmp_path / "other"), "--join") as joined:
        assert _has_loaded(joined, "iroh")


def _has_loaded(running: RunningWorker, library: str) -> bool:
    """Whether a file of this name is mapped into the worker's memory."""
    return any(library in Path(area.path).name for area in psutil.Process(running.process.pid).memory_maps())


def test_a_key_that_cannot_be_used_keeps_nobody_from_training(tmp_path: Path) -> None:
    folder = choose(tmp_path / "app")
    (folder / key_file.FILE).write_text("no key")
    (folder / key_file.FILE).chmod(0o600)
    with worker(folder, "--join") as alone:
        status = alone.until(whole, "training")
        assert any("works alone" in str(note) for note in status.attention), status.attention


def test_a_port_that_another_program_has_by_now_is_left_to_it() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", 0))
        taken = f"0.0.0.0:{other.getsockname()[1]}"
        assert kept([taken]) == ANYWHERE
    assert kept([taken]) == (taken, ANYWHERE[1])
    assert kept([]) == ANYWHERE
