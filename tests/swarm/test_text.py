"""The run `text` in a real worker: texts stream to whoever asks, and end when nobody reads them any more."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.control.client import ControlClient
from core.control.messages import Continued, GenerateParams
from core.errors import QuestionError
from tests.workers import ROOT, RunningWorker, hearth, start_paused, wait_until, worker


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    folder = tmp_path_factory.mktemp("text")
    start_paused(folder)
    with worker(folder, "--run", "text") as running:
        yield running


def is_idle(running: RunningWorker) -> bool:
    """Whether the compute process does nothing for a while."""
    compute = running.compute()
    return compute is None or compute.cpu_percent(0.5) < 20


def test_a_text_goes_on_in_the_terminal_also_while_paused(paused: RunningWorker) -> None:
    ask = ["generate", "The for statement", "--length", "30", "--seed", "5"]
    first, again = hearth(paused.folder, *ask), hearth(paused.folder, *ask)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("The for statement") and len(first.stdout) > 20
    assert first.stdout == again.stdout
    assert "30 bytes in" in first.stderr and "--seed 5" in first.stderr

    *pieces, end = map(json.loads, hearth(paused.folder, *ask, "--json").stdout.splitlines())
    assert "".join(piece["text"] for piece in pieces) == first.stdout[len("The for statement") : -1]
    assert len(pieces) == end["bytes"] == 30
    for piece in pieces:
        assert [answer["layer"] for answer in piece["experts"]] == [0, 0, 1, 1, 2, 2]
        assert all(answer["answered"] and answer["host"] == "local" for answer in piece["experts"])


def test_it_ends_when_the_client_goes(paused: RunningWorker) -> None:
    command = [
        sys.executable,
        "-m",
        "core",
        "generate",
        "import",
        "--length",
        "10000",
        "--data-dir",
        str(paused.folder),
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as client:
        assert client.stdout and client.stdout.read(20)
        assert not is_idle(paused)
        client.kill()
    wait_until(lambda: is_idle(paused), "compute left the text")


def test_what_cannot_be_asked_is_explained(paused: RunningWorker, tmp_path: Path) -> None:
    assert paused.status().asks == "text"
    with ControlClient(paused.folder) as client, pytest.raises(QuestionError, match="continues text: hearth generate"):
        client.call("predict", {"width": 1, "height": 1, "pixels": b"x"}, dict)
    for wrong in (["--length", "0"], ["--temperature", "-1"], ["--length", "1000000"]):
        done = hearth(paused.folder, "generate", "x", *wrong)
        assert done.returncode == QuestionError.exit_code and "Traceback" not in done.stderr
    start_paused(tmp_path)
    with worker(tmp_path) as digits:
        done = hearth(tmp_path, "generate", "x")
        assert digits.status().asks == "picture"
    assert done.returncode == QuestionError.exit_code and "hearth worker --run text" in done.stderr


def test_it_trains_and_writes_at_once(paused: RunningWorker) -> None:
    paused.call("resume")
    with ControlClient(paused.folder) as client:
        before = paused.until(lambda status: status.step > 2, "the first batches").step
        done = client.call("generate", GenerateParams("import", 100), Continued, 40.0)
        assert done.bytes == 100
    status = paused.until(lambda status: status.step > before and status.accuracy is not None, "an evaluation")
    assert status.samples == status.step * 16 * 128
    assert "bits a byte" in hearth(paused.folder, "status").stdout
