"""A run with a backbone peer, its broker and a board; killed and started again."""

import functools
import re
import urllib.request
from pathlib import Path

import msgspec
import psutil
import pytest

from core.contracts import manifest as manifests
from core.contracts.network_status import Finding
from core.contracts.telemetry import Told
from core.identity import Identity, peer_text
from core.store.checkpoint_files import BLOBS
from core.store.data_folder import data_folder
from tests.mqtt import KINDS
from tests.store_servers import free_port
from tests.workers import HERE, RunningWorker, codes, hearth, wait_until

MB = 2**20
MOST_MB = 200
NO_TORCH = "raise ImportError('there is no torch on this server')\n"


class Backbone(RunningWorker):
    """`hearth backbone`."""

    command = "backbone"


def the_run(folder: Path, address: str, broker: str) -> Path:
    """A signed manifest that names a backbone peer; its organiser's data folder is `organiser`."""
    plain = msgspec.structs.replace(manifests.load("digits"), bootstrap=(address,), brokers=(broker,))
    path = folder / "run.json"
    path.write_bytes(msgspec.json.encode(plain))
    assert hearth(folder / "organiser", "run", "sign", str(path)).returncode == 0
    return folder / "run.signed.json"


def told(running: RunningWorker) -> Told:
    return running.ask("telemetry", {}, Told)


def connected(running: RunningWorker) -> bool:
    return told(running).brokers[0].connected


def metric(address: str, name: str) -> float:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1]) if found else -1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_backbone_peer_tells_keeps_and_comes_back(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port, mqtt, figures = free_port(), free_port(), f"127.0.0.1:{free_port()}"
    key = peer_text(Identity.load_or_create(data_folder(tmp_path / "backbone")).peer)
    run = the_run(tmp_path, f"{key}@127.0.0.1:{port}", f"mqtt://127.0.0.1:{mqtt}")
    board = tmp_path / "board"
    arguments = ["--run", str(run), "--listen", f"127.0.0.1:{port}", "--broker", f"mqtt://127.0.0.1:{mqtt}"]
    arguments += ["--broker-listen", f"127.0.0.1:{mqtt}", "--metrics", figures, "--board", str(board)]
    arguments += ["--mosquitto"] if kind == "mosquitto" else []

    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(NO_TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    backbone = Backbone(tmp_path / "backbone", *arguments)
    monkeypatch.delenv("PYTHONPATH")
    volunteer = RunningWorker(tmp_path / "volunteer", "--run", str(run), "--listen", HERE, share=30)
    organiser = RunningWorker(tmp_path / "organiser", "--run", str(run), "--listen", HERE, "--role", "backbone")
    try:
        for one in (volunteer, organiser):
            wait_until(functools.partial(connected, one), "a connection to the broker")
        wait_until(lambda: metric(figures, "hearth_run_peers") == 2.0 + 1.0, "all of them at the board")
        wait_until(lambda: metric(figures, "hearth_run_samples_per_second") > 0, "the volunteer's progress")
        assert backbone.compute() is None
        memory = psutil.Process(backbone.process.pid).memory_info().rss / MB
        assert memory < MOST_MB, f"{memory:.0f} MB"
        print(f"{kind}: {memory:.0f} MB")

        kept = tmp_path / "backbone" / "runs"
        wait_until(lambda: [*kept.glob(f"*/{BLOBS}/*.safetensors")], "copies of the volunteer's checkpoints")

        # the organiser, and nobody else, speaks to all
        assert "Only the organiser" in hearth(volunteer.folder, "run", "notice", "digits", "--text", "I").stderr
        said = hearth(organiser.folder, "run", "notice", "digits", "--text", "Thank you all.")
        assert said.returncode == 0, said.stderr
        volunteer.until(lambda status: "run.organiser_says" in codes(tuple(status.attention)), "the notice")
        wait_until(lambda: told(volunteer).boards, "the board's sums")
        assert (board / "index.html").exists()
        organiser.close()

        # it is killed, and started again; Mosquitto ends with it
        backbone.process.kill()
        wait_until(lambda: not connected(volunteer), "the end of the broker")
        assert any(one.good is False for one in volunteer.ask("doctor", {}, list[Finding]) if one.name == "broker")
        backbone.process.communicate()
        backbone = Backbone(tmp_path / "backbone", *arguments)
        wait_until(functools.partial(connected, volunteer), "the connection, anew")
        wait_until(lambda: metric(figures, "hearth_run_samples_per_second") > 0, "the volunteer's progress, anew")
        late = RunningWorker(tmp_path / "late", "--run", str(run), "--listen", HERE, share=10)
        try:
            found = wait_until(lambda: told(late).notices, "the organiser's notice, though that one is away")
            assert found[0].text == "Thank you all." and found[0].by.hex() == manifests.load(str(run)).organiser
        finally:
            late.close()
    finally:
        for one in (volunteer, organiser, backbone):
            one.close()
