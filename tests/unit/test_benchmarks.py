"""The paper's benchmarks in miniature: their pieces work, and their figures mean what they say."""

import asyncio
import contextlib
import gzip
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch

from core.experts.calls import Call
from core.experts.grid import Uid
from tests.bench import anchor, convergence, exchanges, latency_throughput, one_network, plot, scaling
from tests.bench.__main__ import BENCHMARKS


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
    assert anchor.figures(Path(sys.executable), tmp_path, "slow", True, limit_s=3.0) is None
    child = int((tmp_path / "child").read_text())
    with contextlib.suppress(psutil.NoSuchProcess):  # a zombie whom nobody waits for is gone as well
        assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_driver_answers_with_the_figures_of_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "bench_fast.py").write_text("print('some words')\nprint('{\"figures\": {\"ms\": 3}}')")
    assert anchor.figures(Path(sys.executable), tmp_path, "fast", False) == {"ms": 3}


def test_trunks_that_agree_are_set_beside_one_trainer_and_beside_trunks_that_do_not(tmp_path: Path) -> None:
    def outcome(loss: float, moved: float) -> one_network.Outcome:
        curve = [one_network.Point(samples, loss, 0.0, samples * moved) for samples in (1_000, 2_000)]
        return one_network.Outcome(curve, loss, 0, 1.0, 512)

    losses = {"one": 2.0, "own": 3.0, "dedloc": 2.02}
    jobs = [one_network.Job(arm, 4, seed, one_network.SMALL, 2) for seed in (1, 2) for arm in losses]
    figures = one_network.report(
        jobs, [outcome(losses[job.arm] * job.seed, 500.0 * (job.arm == "dedloc")) for job in jobs], tmp_path
    )
    behind = {arm: found["behind_one_percent"] for arm, found in figures["trainers"]["4 trainers"].items()}
    assert behind == {"one": 0.0, "own": 50.0, "dedloc": 1.0}
    assert figures["trainers"]["4 trainers"]["dedloc"]["moved_mb_each"] == 1.0
    assert figures["trainers"]["4 trainers"]["dedloc"]["steps"] == 512
    assert (tmp_path / "one_network.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("arm", ["one", "own", "dedloc", "diloco_sparse", "vc_asgd"])
def test_each_arm_trains_as_many_samples_and_only_trunks_that_agree_cause_traffic(
    arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_network, "EVALUATIONS", 2)
    monkeypatch.setattr(one_network, "WINDOWS", 2)
    job = one_network.Job(arm, 2, 1, one_network.SMALL, 40)
    outcome = one_network.run(job)
    before, after = outcome.curve
    assert job.samples == 40 * 2 * 64 and job.samples <= after.samples <= job.samples + 2 * 64
    assert after.loss < before.loss and outcome.lost == 0
    assert after.spread > 0 or arm != "own", "the trunks are one and the same"
    assert (after.moved > 0) == (arm in exchanges.ARMS)
    assert outcome.steps >= 40 or arm == "dedloc", "a batch of each trainer is a step of its own"
