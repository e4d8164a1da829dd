"""The first-run benchmark: when it measures, what it keeps, and when that no longer holds."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch

from core.compute import benchmark
from core.compute.benchmark import FILE, Benchmark
from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.runtime.device import CPU, open_device
from core.runtime.kernel_gate import KernelGate
from core.runtime.threads import team
from tests.unit.fake_cuda import ID, FakeCuda
from tests.workers import PATIENCE_S

DIGITS = manifests.load("digits")
LARGE = msgspec.structs.replace(DIGITS, model=msgspec.structs.replace(DIGITS.model, width=256, hidden=1024))
"""Its experts are large enough for several threads."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(benchmark, "EACH_S", 0.01)
    monkeypatch.setattr(benchmark, "ALL_S", 600.0)  # all is measured on a busy machine as well
    threads = team.threads
    yield
    team.resize(threads)


def measured(folder: Path, manifest: Manifest = DIGITS, threads: int = 1) -> Benchmark:
    found = Benchmark(folder, manifest, _on())
    asyncio.run(found.measure(threads))
    return found


def _on() -> KernelGate:
    kernel_gate = KernelGate()
    kernel_gate.open()
    return kernel_gate


def test_what_is_measured_is_kept_and_holds_at_the_next_start(tmp_path: Path) -> None:
    first = Benchmark(tmp_path, DIGITS, _on())
    assert not first.holds(1) and first.time == 0.0
    asyncio.run(first.measure(1))
    assert first.holds(1) and first.by_device(1)["cpu"] > 0
    again = Benchmark(tmp_path, DIGITS, KernelGate())
    assert again.holds(1) and again.speeds == first.speeds and again.time == first.time


def test_small_experts_are_measured_on_one_thread_and_large_ones_on_several(tmp_path: Path) -> None:
    assert [speed.threads for speed in measured(tmp_path / "s", threads=3).speeds] == [1]
    large = measured(tmp_path / "l", LARGE, threads=3)
    assert [speed.threads for speed in large.speeds] == [1, 2, 3]
    assert large.by_device(3)["cpu"] == large.speeds[-1].samples_per_s
    assert not large.holds(4) and large.by_device(8)["cpu"] == large.speeds[-1].samples_per_s
    assert large.by_device(1)["cpu"] < measured(tmp_path / "s", threads=1).by_device(1)["cpu"]


def test_a_pc_that_was_busy_when_it_was_measured_counts_as_fast_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, busy, now = random.Random(0), 0.0, 0.0

    def clock() -> float:
        """Each kernel takes a millisecond, and many a one waits for the processor."""
        nonlocal now
        now += 0.05 if chance.random() < busy else 0.001
        return now

    monkeypatch.setattr(benchmark, "time", SimpleNamespace(perf_counter=clock, time=time.time))
    monkeypatch.setattr(benchmark, "PASSES", 40)
    at_rest = measured(tmp_path / "at rest").by_device(1)
    busy = 0.2
    assert measured(tmp_path / "busy").by_device(1) == pytest.approx(at_rest)


def test_the_runs_random_numbers_go_on_as_if_nothing_had_been_measured(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    measured(tmp_path)
    assert bool((torch.get_rng_state() == state).all())


def test_where_nothing_can_be_written_what_was_measured_counts_all_the_same(tmp_path: Path) -> None:
    assert measured(tmp_path / "missing").holds(1) and not list(tmp_path.iterdir())


def test_nothing_is_measured_while_the_pc_may_not_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel asks the gate, as those of training do: between two of them the user may come back."""
    kernels, run = 0, benchmark._timed

    def counted(*arguments: Any) -> float:
        nonlocal kernels
        kernels += 1
        return run(*arguments)

    monkeypatch.setattr(benchmark, "_timed", counted)

    async def scenario() -> None:
        kernel_gate = KernelGate()
        asked = 0

        def come_back() -> None:
            nonlocal asked
            asked += 1
            if asked == 5:
                kernel_gate.close()

        kernel_gate.poll = come_back
        found = Benchmark(tmp_path, DIGITS, kernel_gate)
        task = asyncio.create_task(found.measure(1))
        await _turns()
        assert kernels == 0
        kernel_gate.open()
        await _turns()
        assert (asked, kernels) == (5, 4) and kernel_gate.last_kernel_end > 0.0
        assert not task.done() and not found.holds(1)
        kernel_gate.open()
        await asyncio.wait_for(task, PATIENCE_S)
        assert found.holds(1)

    asyncio.run(scenario())


async def _turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "name", ["processor", "cores", "memory_gb", "hearth", "torch", "expert", "width", "hidden", "version"]
)
def test_a_change_of_the_pc_or_a_version_makes_it_measure_anew(tmp_path: Path, name: str) -> None:
    measured(tmp_path)
    document = json.loads((tmp_path / FILE).read_text())
    part = document if name == "version" else document["subject"]
    part[name] = part[name] + 1 if isinstance(part[name], int) else "another"
    (tmp_path / FILE).write_text(json.dumps(document))
    assert not Benchmark(tmp_path, DIGITS, KernelGate()).holds(1)
    measured(tmp_path)
    assert Benchmark(tmp_path, DIGITS, KernelGate()).holds(1)


@pytest.mark.parametrize(
    "spoilt",
    [
        b"", b"\xff\xfe", b"[]", b"{", b"[" * 100_000,
        b'"speeds":[{"threads":1,"samples_per_s":-5.0}]',
        b'"speeds":[{"threads":0,"samples_per_s":5.0}]',
        b'"speeds":[]', b'"time":-1.0',
    ],
)  # fmt: skip
def test_a_damaged_file_is_measured_anew(tmp_path: Path, spoilt: bytes) -> None:
    measured(tmp_path)
    path = tmp_path / FILE
    if spoilt.startswith(b'"'):
        document = json.loads(path.read_text()) | json.loads(b"{" + spoilt + b"}")
        spoilt = json.dumps(document).encode()
    path.write_bytes(spoilt)
    found = Benchmark(tmp_path, DIGITS, _on())
    assert not found.holds(1)
    asyncio.run(found.measure(1))
    assert Benchmark(tmp_path, DIGITS, KernelGate()).holds(1)


async def _measure_card(found: Benchmark, kernel_gate: KernelGate) -> None:
    kernel_gate.device = open_device(ID)
    await asyncio.wait_for(found.measure(4), PATIENCE_S)


def test_each_device_is_measured_by_itself(tmp_path: Path) -> None:
    with FakeCuda() as card:
        kernel_gate = _on()
        found = Benchmark(tmp_path, LARGE, kernel_gate)
        asyncio.run(found.measure(2))
        asyncio.run(_measure_card(found, kernel_gate))
        assert found.holds(2) and found.holds(4), "threads mean nothing to a card"
        assert card.operations > 0 and card.used == 0
        again = Benchmark(tmp_path, LARGE, kernel_gate)
        assert again.holds(1) and again.speeds == found.speeds
    assert [(speed.device, speed.threads, speed.label) for speed in found.speeds] == [
        (ID, 1, "Fake RTX"),
        ("cpu", 1, ""),
        ("cpu", 2, ""),
    ]
    assert found.by_device(2).keys() == {"cpu", ID}
    kernel_gate.device = CPU
    assert found.holds(2) and not found.holds(4)


def test_a_device_that_is_given_back_is_not_measured_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "EACH_S", 0.2)
    with FakeCuda() as card:
        kernel_gate = _on()
        found, asked = Benchmark(tmp_path, DIGITS, kernel_gate), 0

        def come_back() -> None:
            nonlocal asked
            asked += 1
            if asked == 7:
                kernel_gate.leave("cpu")
                operations.append(card.operations)

        operations: list[int] = []
        kernel_gate.poll = come_back
        asyncio.run(_measure_card(found, kernel_gate))
        assert operations == [card.operations], "a kernel began on a card that had been given back"
    assert {speed.device for speed in found.speeds} == {"cpu"}


def test_where_a_card_has_no_room_the_processor_is_measured(tmp_path: Path) -> None:
    with FakeCuda() as card:
        kernel_gate = _on()
        found = Benchmark(tmp_path, LARGE, kernel_gate)
        card.total = 1 << 20
        asyncio.run(_measure_card(found, kernel_gate))
    assert [speed.device for speed in found.speeds] == ["cpu"]
