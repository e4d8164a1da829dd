"""A volunteer alone: a real worker and its compute process train the run `digits`, stop, die, and go on."""

import gzip
import json
import signal
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from core import cli
from core.contracts.errors import ProtocolError
from core.contracts.ledger import Series, Session, Totals, Yield
from core.contracts.status import GridStatus, Status
from tests.workers import DIGITS, RunningWorker, hearth, start_paused, wait_until, worker


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    """A worker that has learned something. Each test finds and leaves it paused: it trains where that is looked at."""
    with worker(tmp_path_factory.mktemp("trained"), share=100) as running:
        running.until(lambda status: (status.accuracy or 0) >= 0.95, "an accuracy of 0.95")
        running.call("pause")
        yield running


def resumed(running: RunningWorker) -> Status:
    """The status of one that was paused, as soon as it trains."""
    running.call("resume")
    return running.until(training, "training")


def training(status: Status) -> bool:
    return status.state == "contributing" and status.samples_per_s > 0


def save_digit(path: Path, index: int) -> int:
    """Write a held-back scan of scikit-learn's digits as a PNG, dark on light; returns what it shows."""
    rows = gzip.decompress(files("sklearn.datasets.data").joinpath("digits.csv.gz").read_bytes()).decode().splitlines()
    *pixels, label = (int(float(number)) for number in rows[index].split(","))
    picture = Image.new("L", (8, 8))
    picture.putdata([255 - min(255, pixel * 16) for pixel in pixels])
    page = Image.new("L", (120, 140), 255)
    page.paste(picture.resize((80, 80), Image.Resampling.BICUBIC), (20, 30))
    page.save(path)
    return label


def test_every_expert_learns_and_the_status_tells(trained: RunningWorker) -> None:
    resumed(trained)
    # one that nobody chooses at first is brought in by the balancing loss, within some thousand steps
    status = trained.until(lambda status: all(expert.updates > 0 for expert in status.experts), "no dead expert")
    assert len(status.experts) == 32
    assert status.step > 0 and status.samples >= status.step and status.loss is not None
    assert {process.name for process in status.processes} == {"worker", "compute"}
    for layer in (0, 1):
        cells = trained.ask("grid", {"layer": layer}, GridStatus).cells
        assert len(cells) == 16 and all(cell.here and cell.calls > cell.version > 0 for cell in cells)  # type: ignore[operator]
        assert all(cell.load for cell in cells)
    trained.call("pause")


def test_the_model_reads_pictures_from_the_command_line(
    trained: RunningWorker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once by a process of its own, while it trains; then by this one, while it is paused."""
    resumed(trained)
    trained.until(lambda status: status.samples >= 20_000, "enough training")
    picture = tmp_path / "digit.png"
    ask = ["predict", "--json", str(picture), "--data-dir", str(trained.folder)]
    right = 0
    for index in range(20):
        label = save_digit(picture, index)
        if index == 0:
            done = hearth(trained.folder, *ask[:3])
            assert done.returncode == 0, done.stderr
            told = done.stdout
            trained.call("pause")
        else:
            assert cli.main(ask) == 0
            told = capsys.readouterr().out
        answer = json.loads(told)
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-4) and len(answer["seen"]) == 64
        right += answer["probabilities"].index(max(answer["probabilities"])) == label
    assert right >= 16
    weights = [sum(expert["weight"] for expert in answer["experts"] if expert["layer"] == layer) for layer in (0, 1)]
    assert weights == pytest.approx([1, 1], abs=1e-4)
    empty = Image.new("L", (20, 20), 255)
    empty.save(tmp_path / "empty.png")
    done = hearth(trained.folder, "predict", str(tmp_path / "empty.png"))
    assert done.returncode == 8 and "Traceback" not in done.stderr


def test_pausing_stops_compute_frees_its_memory_and_resuming_goes_on(trained: RunningWorker) -> None:
    trained.call("set_settings", {"changes": {"memory_grace_s": 1}})
    resumed(trained)
    compute = trained.compute()
    assert compute is not None
    yields = trained.status().yields.count
    trained.call("pause")
    stopped = trained.until(lambda status: status.yields.count > yields, "a measured stop")
    assert stopped.state == "paused" and stopped.yields.last_ms is not None
    wait_until(lambda: not compute.is_running(), "the end of the compute process")
    paused = trained.status()
    assert [process.name for process in paused.processes] == ["worker"]
    assert paused.checkpoint_step == paused.step > 0
    wait_until(lambda: not any(cell.load for cell in trained.ask("grid", {"layer": 0}, GridStatus).cells), "no load")
    assert resumed(trained).step >= paused.step
    trained.call("pause")


def test_a_paused_model_still_answers_and_stays_paused(trained: RunningWorker, tmp_path: Path) -> None:
    wait_until(lambda: trained.compute() is None, "the end of the compute process")
    before = trained.status().step
    save_digit(tmp_path / "digit.png", 0)
    done = hearth(trained.folder, "predict", str(tmp_path / "digit.png"))
    assert done.returncode == 0 and "Looks like a" in done.stdout
    wait_until(lambda: trained.compute() is None, "the end of the compute process")
    assert (trained.status().state, trained.status().step) == ("paused", before)


def test_a_killed_compute_process_is_started_again_and_goes_on(trained: RunningWorker) -> None:
    trained.until(lambda status: status.checkpoint_step == status.step, "a checkpoint")
    before = resumed(trained)
    compute = trained.compute()
    assert compute is not None
    compute.kill()
    trained.until(lambda status: status.state == "attention" and "signal 9" in str(status.reason[0]), "the reason")
    after = trained.until(training, "training")
    assert after.checkpoint_step is not None and after.step >= (before.checkpoint_step or 0)
    assert after.accuracy is None or after.accuracy > 0.9
    trained.call("pause")


def test_a_frozen_compute_process_is_ended_when_the_user_wants_the_machine(trained: RunningWorker) -> None:
    resumed(trained)
    compute = trained.compute()
    assert compute is not None
    compute.send_signal(signal.SIGSTOP)
    trained.call("pause")
    wait_until(lambda: not compute.is_running(), "the end of the frozen process")
    assert trained.status().state == "paused"


def test_pausing_while_compute_is_loading_ends_it_at_once(trained: RunningWorker) -> None:
    wait_until(lambda: trained.compute() is None, "the end of the compute process")
    trained.call("resume")
    compute = wait_until(trained.compute, "the start of the compute process")
    trained.call("pause")
    wait_until(lambda: not compute.is_running(), "its end")
    assert trained.status().state == "paused"
    resumed(trained)
    trained.call("pause")


def test_when_the_worker_is_killed_compute_does_not_stay_behind(trained: RunningWorker) -> None:
    resumed(trained)
    compute = trained.compute()
    assert compute is not None
    trained.process.kill()
    trained.process.wait()
    wait_until(lambda: not compute.is_running() or compute.status() == psutil.STATUS_ZOMBIE, "compute's end")


def test_quit_and_start_goes_on_where_it_was(trained: RunningWorker) -> None:
    trained.close()
    folder = trained.folder
    with worker(folder) as first:
        first.until(training, "training")
        assert hearth(folder, "quit").returncode == 0
    kept = json.loads((folder / "runs" / DIGITS / "progress.json").read_text())
    assert kept["checkpoint_step"] == kept["step"] > 0 and kept["accuracy"] > 0.8
    start_paused(folder)
    with worker(folder) as second:
        status = second.status()
        assert (status.step, status.samples, status.accuracy) == (kept["step"], kept["samples"], kept["accuracy"])
        second.call("resume")
        again = second.until(training, "training")
        assert again.step >= kept["step"]
        updates = {expert["uid"]: expert["updates"] for expert in kept["experts"]}
        assert all(expert.updates >= updates[expert.uid] for expert in again.experts)


def test_what_was_contributed_is_told_with_and_without_a_worker(tmp_path: Path) -> None:
    def stats() -> dict[str, Any]:
        done = hearth(tmp_path, "stats", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["all"]  # type: ignore[no-any-return]

    def work(told: dict[str, Any]) -> dict[str, float]:
        """Without electricity, which is measured for some seconds more."""
        return {metric: amount for metric, amount in told["amounts"].items() if not metric.startswith("kwh")}

    assert "Nothing yet" in hearth(tmp_path, "stats").stdout
    with worker(tmp_path) as running:
        running.until(lambda status: status.samples > 2000, "training")
        assert stats()["amounts"]["samples"] > 2000
        wait_until(
            lambda: running.ask("totals", {}, Totals).all.devices["cpu"].kwh > 0, "electricity: it is looked at seldom"
        )
        running.call("pause")
        status = running.until(lambda status: status.yields.count and status.checkpoint_step == status.step, "a stop")
        told = stats()
        assert told["amounts"]["samples"] == told["runs"][DIGITS]["samples"] == status.samples
        cpu = told["devices"]["cpu"]
        assert cpu["samples"] == status.samples and cpu["seconds"] > 0
        assert cpu["calls"] >= cpu["passes"] > 0 and cpu["rows"] > cpu["samples"] and cpu["peer_calls"] == 0
        assert told["amounts"]["yields"] == 1
        (session,) = running.ask("sessions", {}, list[Session])
        assert session.why == "paused" and session.run == DIGITS and session.end > session.start
        (measured,) = running.ask("yields", {"limit": 10}, list[Yield])
        assert measured.stop_ms == pytest.approx(status.yields.last_ms)
        asked = {"metric": "samples", "start": status.time - 60, "end": status.time + 60, "resolution": "hour"}
        series = running.ask("series", asked, Series)
        assert sum(series.values[""]) == status.samples
        with pytest.raises(ProtocolError):
            running.ask("series", {**asked, "metric": "x; DROP TABLE amounts"}, Series)
        with pytest.raises(ProtocolError):
            running.ask("series", {**asked, "end": 0}, Series)
    assert work(stats()) == work(told)
    words = hearth(tmp_path, "stats").stdout
    assert "Handwritten digits" in words and f"{status.samples:,}" in words and "Given back to you" in words
    with worker(tmp_path) as again:
        assert again.status().yields == status.yields
        assert work(stats()) == work(told)


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_used(tmp_path: Path) -> None:
    with worker(tmp_path) as first:
        first.until(lambda status: status.step > 20, "some steps")
        first.call("pause")
        one = first.until(lambda status: status.checkpoint_step == status.step, "a checkpoint").step
        first.call("resume")
        first.until(lambda status: status.step > one + 20, "more steps")
    checkpoints = tmp_path / "runs" / DIGITS / "checkpoints"
    newest = max(checkpoints.rglob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:100])
    with worker(tmp_path) as second:
        status = second.until(lambda status: status.attention, "a sentence")
        second.until(training, "training")
        assert "checkpoint" in str(status.attention[0]).lower()
        assert status.step >= one


def test_checkpoints_that_cannot_be_written_are_told_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "runs" / DIGITS).mkdir(parents=True)
    (tmp_path / "runs" / DIGITS / "checkpoints").write_text("in the way")
    with worker(tmp_path) as running:
        running.until(training, "training")
        running.call("pause")
        status = running.until(lambda status: status.attention, "a sentence")
        assert "not saved" in str(status.attention[0]) and status.checkpoint_step is None
        running.call("resume")
        running.until(lambda now: training(now) and now.step > status.step, "training")
        (tmp_path / "runs" / DIGITS / "checkpoints").unlink()
        running.call("pause")
        running.until(lambda status: status.checkpoint_step == status.step and not status.attention, "a checkpoint")


def test_a_compute_process_that_is_killed_while_it_saves_is_not_blamed_on_the_disk(tmp_path: Path) -> None:
    with worker(tmp_path, program="tests.swarm.slow_disk") as running:
        running.until(lambda status: status.step > 5, "training")
        running.call("pause")
        compute = running.compute()
        assert compute is not None
        compute.kill()
        (told,) = running.until(lambda status: status.attention, "a word about it").attention
        assert told.code == "compute.unsaved"
