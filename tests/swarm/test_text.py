"""The run `text` in a real worker: texts stream to whoever asks, and end when nobody reads them any more."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.contracts.control import Continued, GenerateParams, Request
from core.contracts.errors import QuestionError
from core.control.client import ControlClient
from core.logs import printable
from tests.workers import PATIENCE_S, ROOT, RunningWorker, hearth, start_paused, worker


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    folder = tmp_path_factory.mktemp("text")
    start_paused(folder)
    with worker(folder, "--run", "text", share=100) as running:
        yield running


def test_a_text_goes_on_in_the_terminal_also_while_paused(paused: RunningWorker) -> None:
    ask = ["generate", "The for statement", "--length", "30", "--seed", "5"]
    first, again = hearth(paused.folder, *ask), hearth(paused.folder, *ask)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("The for statement") and len(first.stdout) > 20
    assert first.stdout == again.stdout
    assert "30 bytes in" in first.stderr and "--seed 5" in first.stderr

    *pieces, end = map(json.loads, hearth(paused.folder, *ask, "--json").stdout.splitlines())
    text = "".join(piece["text"] for piece in pieces)
    assert printable(text) == first.stdout[len("The for statement") : -1]
    assert len(pieces) == end["bytes"] == 30
    for piece in pieces:
        assert [answer["layer"] for answer in piece["experts"]] == [0, 0, 1, 1, 2, 2]
        assert all(answer["answered"] and answer["host"] == "local" for answer in piece["experts"])


def test_it_ends_when_the_client_is_killed(paused: RunningWorker) -> None:
    ask = ["generate", "import", "--length", "10000", "--data-dir", str(paused.folder)]
    with subprocess.Popen([sys.executable, "-m", "core", *ask], cwd=ROOT, stdout=subprocess.PIPE) as client:
        assert client.stdout and client.stdout.read(20)
        paused.until(lambda status: status.calls_per_s > 0, "the experts are asked")
        client.kill()
    paused.until(lambda status: status.calls_per_s == 0, "compute left the text")


def test_it_ends_when_the_client_hangs_up(paused: RunningWorker) -> None:
    with ControlClient(paused.folder) as client:
        client._socket.settimeout(PATIENCE_S)
        client._write(Request(1, "generate", msgspec.Raw(b'{"prompt": "import", "length": 10000}')))
        assert b'"piece"' in client._lines.readline()
        paused.until(lambda status: status.calls_per_s > 0, "the experts are asked")
        client._socket.shutdown(socket.SHUT_WR)
        paused.until(lambda status: status.calls_per_s == 0, "compute left the text")


def test_what_cannot_be_asked_is_explained(paused: RunningWorker, tmp_path: Path) -> None:
    assert paused.status().task == "text"
    with ControlClient(paused.folder) as client, pytest.raises(QuestionError, match="continues text: hearth generate"):
        client.call("predict", {"width": 1, "height": 1, "pixels": b"x"}, dict)
    for wrong in (["--length", "0"], ["--temperature", "-1"], ["--length", "1000000"]):
        done = hearth(paused.folder, "generate", "x", *wrong)
        assert done.returncode == QuestionError.exit_code and "Traceback" not in done.stderr
    start_paused(tmp_path)
    with worker(tmp_path) as digits:
        done = hearth(tmp_path, "generate", "x")
        assert digits.status().task == "picture"
    assert done.returncode == QuestionError.exit_code and "hearth run join text" in done.stderr and not done.stdout


def test_it_trains_and_writes_at_once(paused: RunningWorker) -> None:
    paused.call("resume")
    with ControlClient(paused.folder) as client:
        before = paused.until(lambda status: status.step > 2, "the first batches").step
        done = client.call("generate", GenerateParams("import", 100), Continued, 40.0)
        assert done.bytes == 100
    status = paused.until(lambda status: status.step > before and status.accuracy is not None, "an evaluation")
    assert status.samples == status.step * 16 * 128
    assert "bits per byte" in hearth(paused.folder, "status").stdout


@pytest.mark.parametrize("end", ["stopped", "hung up"])
def test_training_is_held_while_a_text_is_written_and_goes_on_at_its_end(paused: RunningWorker, end: str) -> None:
    paused.call("resume")
    paused.until(lambda status: status.samples_per_s > 0, "training")
    with ControlClient(paused.folder) as client:
        client._socket.settimeout(PATIENCE_S)
        client._write(Request(1, "generate", msgspec.Raw(b'{"prompt": "import", "length": 10000}')))
        assert b'"piece"' in client._lines.readline()
        held = paused.until(lambda status: status.samples_per_s == 0, "training that gives way")
        assert held.state == "contributing" and held.calls_per_s > 0, "the experts are asked"
        if end == "stopped":
            client._write(Request(2, "stop", msgspec.Raw(b'{"request": 1}')))
            while b'"error"' not in client._lines.readline():
                pass
            paused.until(lambda status: status.samples > held.samples, "training again")
    paused.until(lambda status: status.samples > held.samples, "training again")
