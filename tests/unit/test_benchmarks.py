"""The paper's benchmarks in miniature: their pieces work, and their figures mean what they say."""

import asyncio
import gzip
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
import torch

from core.contracts.manifest import decode
from core.experts.calls import Call
from core.experts.grid import Uid
from tests.bench import anchor, convergence, exchanges, latency_throughput, one_network, plot, scaling, workers
from tests.bench.__main__ import BENCHMARKS, main
from tests.workers import wait_until


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few pictures in MNIST's format that are easy to tell apart: each class has rows of its own in white."""
    monkeypatch.setattr(convergence, "HELD_OUT", 50)
    count = convergence.HELD_OUT + 200
    labels = torch.arange(count, dtype=torch.uint8) % 10
    pixels = torch.zeros(count, 28, 28, dtype=torch.uint8)
    for number, label in enumerate(labels.tolist()):
        pixels[number, 2 * label : 2 * label + 4] = 255
    folder = tmp_path / "mnist"
    folder.mkdir()
    (folder / convergence.IMAGES).write_bytes(gzip.compress(bytes(16) + pixels.numpy().tobytes()))
    (folder / convergence.LABELS).write_bytes(gzip.compress(bytes(8) + labels.numpy().tobytes()))
    return tmp_path


def test_every_benchmark_of_the_papers_has_its_name() -> None:
    assert {"convergence", "latency_throughput", "scaling"} <= BENCHMARKS.keys()


def test_held_out_images_are_not_trained_on_and_a_wrong_folder_is_named(data: Path, tmp_path: Path) -> None:
    mnist = convergence.mnist(data)
    assert mnist.train.inputs.shape == (200, 784)
    assert mnist.held_out.inputs.shape == (convergence.HELD_OUT, 784)
    assert sorted(set(mnist.train.labels.tolist())) == list(range(10))
    with pytest.raises(SystemExit, match="--data"):
        convergence.mnist(tmp_path / "nowhere")


def test_an_expert_does_a_quarter_of_the_work_of_a_block_of_the_ffn() -> None:
    ffn, moe = convergence.MODELS["FFN"], convergence.MODELS["DMoE-64"]
    assert ffn.width * ffn.hidden == 4 * moe.width * moe.hidden
    assert ffn.hidden**2 == 4 * moe.hidden**2
    assert (ffn.k, moe.k) == (1, 4)


def test_a_mixture_learns_though_its_experts_are_far_and_fail(data: Path) -> None:
    case = convergence.Case(4, 1.0, 0.1)
    outcome = convergence.run(convergence.Job("DMoE-16", case, seed=1, batches=32, data=data))
    assert len(outcome.curve) == convergence.EVALUATIONS
    assert outcome.accuracy > 0.5 > outcome.curve[0][1]
    assert outcome.lost == 0
    # Each batch waits about a second, up to two with the ticks, and four are on the way.
    assert 32 / 4 * 0.5 < outcome.simulated_s < 32 / 4 * 3


def test_the_report_names_what_64_trainers_cost(tmp_path: Path) -> None:
    jobs = [
        convergence.Job("FFN", case, seed, 32, tmp_path)
        for case in (convergence.CASES[0], convergence.CASES[2])
        for seed in (1, 2)
    ]
    accuracies = [0.95, 0.93, 0.90, 0.88]
    outcomes = [convergence.Outcome([(16, 0.5), (32, a)], a, a, 0, 1.0) for a in accuracies]
    figures = convergence.report(jobs, outcomes, tmp_path)
    assert figures["lost_by_64"] == {"FFN": pytest.approx(5.0)}
    assert figures["cases"]["64 trainers, 1 s"]["FFN"]["deviation"] == pytest.approx(1.41)  # unbiased
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG")


def test_many_batches_in_flight_hide_what_a_pipeline_waits_for() -> None:
    small = latency_throughput.Setting("small", "ffn", 8, 8, 2)

    def rate(in_flight: int) -> float:
        return asyncio.run(latency_throughput.samples_per_s(small, 50.0, in_flight, 0.5, seed=0))

    assert rate(16) > 1.5 * rate(1)


def test_a_modelled_host_serves_one_request_after_the_other() -> None:
    async def main() -> float:
        host = scaling.ModelledHost(0.01, 0.03)
        call = Call(Uid("digits", 0, (0,)), torch.zeros(2, 4))
        start = asyncio.get_running_loop().time()
        await asyncio.gather(*(host.forward([call], number, math.inf) for number in range(3)))
        assert host.worked() == pytest.approx(0.06)
        return asyncio.get_running_loop().time() - start

    assert asyncio.run(main()) >= 0.055


def test_the_mean_and_the_unbiased_deviation() -> None:
    assert plot.mean_and_deviation([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert plot.mean_and_deviation([7.0]) == (7.0, 0.0)


def test_a_driver_beside_ours_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    lines = (
        "import subprocess, sys, time",
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)",
        "open('child', 'w').write(str(child.pid))",
        "time.sleep(600)",
    )
    (tmp_path / "bench_slow.py").write_text("\n".join(lines))
    assert anchor.figures(Path(sys.executable), tmp_path, "slow", True, limit_s=6.0) is None
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: _gone(child), "the end of what the driver had started")


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # nobody waits for it
    except psutil.NoSuchProcess:
        return True


def test_a_driver_answers_with_the_figures_of_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "bench_fast.py").write_text("print('some words')\nprint('{\"figures\": {\"ms\": 3}}')")
    assert anchor.figures(Path(sys.executable), tmp_path, "fast", False) == {"ms": 3}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two texts that are short and unlike."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / one_network.TRAIN).parent.mkdir()
    (folder / one_network.TRAIN).write_text(" ".join(f"{number} is less than {number + 1}." for number in range(800)))
    (folder / one_network.TEST).write_text(" ".join(f"{number} is a number." for number in range(800)))
    return folder


def tiny(arm: str, texts: Path, monkeypatch: pytest.MonkeyPatch) -> one_network.Job:
    """A run of some seconds."""
    monkeypatch.setattr(one_network, "EVALUATIONS", 2)
    monkeypatch.setattr(one_network, "WINDOWS", 2)
    return one_network.Job(arm, 2, 1, one_network.SMALL, 40, texts)


def test_strategies_are_tuned_by_another_text_than_they_are_reported_by(texts: Path, tmp_path: Path) -> None:
    job = one_network.Job("one", 4, 1, one_network.SMALL, 2, texts)
    for_report, for_tuning = one_network.text(job), one_network.text(job._replace(split="validation"))
    trained = [data for shard, data in for_report if not shard.held_out]
    assert trained == [data for shard, data in for_tuning if not shard.held_out]
    tuned_by, reported_by = (
        b"".join(data for shard, data in parts if shard.held_out) for parts in (for_tuning, for_report)
    )
    assert b"".join(trained) + tuned_by == (texts / one_network.TRAIN).read_bytes()
    assert reported_by == (texts / one_network.TEST).read_bytes()
    with pytest.raises(SystemExit, match="--data"):
        one_network.text(job._replace(data=tmp_path))


def test_trunks_that_agree_are_set_beside_one_trainer_and_beside_trunks_that_do_not(
    tmp_path: Path, texts: Path
) -> None:
    def outcome(loss: float, moved: float) -> one_network.Outcome:
        curve = [one_network.Point(samples, loss, loss, 0.0, samples * moved) for samples in (1_000, 2_000)]
        return one_network.Outcome(curve, loss, loss, 0, 1.0, 512, 1.0)

    losses = {"one": 2.0, "own": 3.0, "dedloc": 2.02}
    jobs = [one_network.Job(arm, 4, seed, one_network.SMALL, 2, texts) for seed in (1, 2) for arm in losses]
    figures = one_network.report(
        jobs, [outcome(losses[job.arm] * job.seed, 500.0 * (job.arm == "dedloc")) for job in jobs], tmp_path
    )
    behind = {arm: found["behind_one_percent"] for arm, found in figures["trainers"]["4 trainers"].items()}
    assert behind == {"one": 0.0, "own": 50.0, "dedloc": 1.0}
    assert figures["trainers"]["4 trainers"]["dedloc"]["moved_mb_each"] == 1.0
    assert figures["trainers"]["4 trainers"]["dedloc"]["behind_one_percent_each"] == [1.0, 1.0]
    assert figures["trainers"]["4 trainers"]["own"]["times_less_than_every_step"] is None, "they send nothing"
    assert figures["trainers"]["4 trainers"]["dedloc"]["steps"] == 512
    assert (tmp_path / "one_network.png").read_bytes().startswith(b"\x89PNG")


def test_real_workers_are_set_beside_one_trainer_and_beside_trunks_that_do_not_meet() -> None:
    losses = {("local", 1): 2.0, ("local", 4): 3.0, ("dedloc", 4): 2.02}
    outcomes = {
        workers.Job(strategy, count, seed, 1000): workers.Outcome(
            [loss * seed], 1000, 9.0, 8, 100 * (strategy == "dedloc"), 500, 5_000, 0, 0, 0, [20.0] * count
        )
        for seed in (1, 2)
        for (strategy, count), loss in losses.items()
    }
    figures = workers.report(outcomes)["trainers"]
    assert figures["1 trainer"]["local"]["behind_one_percent"] == 0.0
    found = figures["4 trainers"]["dedloc"]
    assert found["behind_one_percent"] == 1.0 and found["behind_local_percent"] == -32.67
    assert found["times_less_than_synchronous"] == 50.0
    assert figures["4 trainers"]["local"]["times_less_than_synchronous"] is None


@pytest.mark.parametrize("strategy", list(workers.TRUNKS))
def test_the_runs_of_real_workers_are_possible_and_take_equally_large_batches(strategy: str) -> None:
    for count in workers.TRAINERS:
        rules = decode(json.dumps(workers.manifest(workers.Job(strategy, count, 1, 1000))).encode(), "a benchmark")
        assert rules.strategy == strategy
        assert rules.training.batch * count * (rules.model.sequence or 0) == workers.BATCH


@pytest.mark.parametrize("arm", ["one", "own", "dedloc", "diloco_sparse", "vc_asgd"])
def test_each_arm_trains_as_many_samples_and_only_trunks_that_agree_cause_traffic(
    arm: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tiny(arm, texts, monkeypatch)
    outcome = one_network.run(job)
    before, after = outcome.curve
    assert job.samples == 40 * 2 * 64 and job.samples <= after.samples <= job.samples + 2 * 64
    assert after.loss < before.loss and outcome.lost == 0
    assert after.spread > 0 or arm != "own", "the trunks are one and the same"
    assert (after.moved > 0) == (arm in exchanges.ARMS)
    assert arm != "dedloc" or after.own == pytest.approx(after.loss), "all of what they learn is agreed"
    assert arm != "diloco_sparse" or after.own != after.loss, "they have learnt since"
    assert outcome.steps >= 40 or arm == "dedloc", "a batch of each trainer is a step of its own"


def test_runs_of_one_seed_are_equal_however_slow_the_machine_is(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = tiny("diloco", texts, monkeypatch)._replace(steps=12)
    quick = one_network.run(job).curve
    now = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))  # each pass takes a second or more
    assert one_network.run(job).curve == quick


def test_the_command_line_trains_all_arms_on_as_many_samples_and_tells_what_is_left(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny("one", texts, monkeypatch)
    samples = 16 * 2 * 64
    command = ["convergence", "--quick", "--trunk", "dedloc", "--trainers", "1", "2", "--processes", "1"]
    command += ["--samples", str(samples)]
    monkeypatch.setattr(sys, "argv", ["bench", *command, "--data", str(texts), "--out", str(tmp_path)])
    assert main() == 0
    told = capsys.readouterr()
    found = msgspec.json.decode(told.out)
    assert found["split"] == "test" and found["samples"] == samples
    arms = found["trainers"]["2 trainers"]
    assert arms.keys() == {"one", "own", "dedloc"}
    trained = {arm["curves"][-1][-1][0] for arm in arms.values()}
    assert max(trained) < 1.1 * min(trained)
    assert "4 of 4: " in told.err and "0 min left" in told.err, "one trainer with a common batch is trained twice"
