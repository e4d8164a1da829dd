"""The compute process over its real pipe: trains, stops, answers, saves, goes on, and never outlives its worker."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil
import pytest
import safetensors.torch
import torch

from core.contracts import manifest
from core.contracts import pipe as messages
from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import ExpertReply
from core.contracts.pipe import (
    Answered,
    AskSpace,
    Configure,
    Evaluated,
    Failed,
    Measure,
    Measured,
    Predict,
    Predicted,
    Progress,
    Quit,
    Ready,
    Refused,
    Saved,
    SetShare,
    SetThreads,
    Shape,
    Space,
    Stop,
    Stopped,
    Tensor,
    ToWorker,
    Train,
)
from core.pipe import worker_end as link
from core.pipe.worker_end import ComputeLink
from core.store.progress import Progress as Figures
from core.swarm.hosted import HostedExperts
from core.worker.compute.supervisor import ComputeSupervisor
from core.worker.compute.yields import Yields
from tests.disks import GRID, files_of

M = TypeVar("M", bound=ToWorker)
DEADLINE_S = 60.0
PICTURE = Tensor(Shape("uint8", (16, 16)), bytes(255 if 6 <= i % 16 <= 9 else 0 for i in range(256)))


SAVES_WHEN_ASKED = """
import sys
from core.compute import saving
saving.FIRST_S = saving.SAVE_S = 3600.0
from core.cli import main
sys.exit(main(["compute"]))
"""


@pytest.fixture(autouse=True)
def saves_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which checkpoint is the newest is up to the test."""
    monkeypatch.setattr(link, "command", lambda: [sys.executable, "-c", SAVES_WHEN_ASKED])


class Compute:
    """A compute process and what it has said so far."""

    def __init__(self, link: ComputeLink) -> None:
        self.link = link
        self.said: list[tuple[ToWorker, list[Tensor]]] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for item in self.link.received():
            if isinstance(item[0], AskSpace):
                self.link.post(Space(item[0].id, item[0].wanted))
            async with self._news:
                self.said.append(item)
                self._news.notify_all()

    async def next(self, kind: type[M], after: int = 0) -> M:
        """The first message of a kind among those after the first `after`."""
        async with asyncio.timeout(DEADLINE_S), self._news:
            while not (found := [message for message, _ in self.said[after:] if isinstance(message, kind)]):
                assert not self._reader.done(), f"the process ended: {self.said[-1:]}"
                await self._news.wait()
        return found[0]

    async def ask(self, message: object, answer: type[M], tensors: tuple[Tensor, ...] = ()) -> M:
        """Send a message and wait for the next of a kind."""
        said = len(self.said)
        await self.link.send(message, tensors)  # type: ignore[arg-type]
        return await self.next(answer, said)

    async def end(self) -> int:
        """Wait for the process to end by itself; its exit code."""
        await asyncio.wait_for(self._reader, DEADLINE_S)
        return await self.link.close(DEADLINE_S)


@contextlib.asynccontextmanager
async def started(folder: Path, threads: int = 1, **training: Any) -> AsyncIterator[Compute]:
    """A compute process at work.

    Args:
        folder: of its run.
        threads: that it computes on.
        training: what is different from the manifest of `digits`.
    """
    compute, run = Compute(await ComputeLink.start()), manifest.load("digits")
    try:
        run = msgspec.structs.replace(run, training=msgspec.structs.replace(run.training, **training))
        await compute.link.send(Configure(run, str(folder), threads))
        yield compute
    finally:
        await compute.link.close()
        await compute.end()


async def train(compute: Compute, batches: int) -> Progress:
    """Train for some batches more than at the start; what the process reported then."""
    ready = await compute.next(Ready)
    progress = await compute.ask(Train(), Progress)
    while progress.step < ready.step + batches:
        progress = await compute.next(Progress, len(compute.said))
    return progress


def newest(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, torch.Tensor]]]:
    """The newest checkpoint, read without Hearth's own reader."""
    path = max((folder / "checkpoints").glob("*.json"))
    checkpoint = msgspec.json.decode(path.read_bytes())
    blobs = {name: path.with_name(f"{blob['sha256']}.safetensors") for name, blob in checkpoint["parts"].items()}
    return checkpoint, {name: safetensors.torch.load(blob.read_bytes()) for name, blob in blobs.items()}


async def test_products_in_bf16_are_almost_the_same_and_fp32_is_exact(tmp_path: Path) -> None:
    answers = []
    for number, products in enumerate(("fp32", "fp32", "bf16")):
        async with started(tmp_path / str(number), products=products) as compute:
            await compute.next(Ready)
            await compute.ask(Predict(1), Predicted, (PICTURE,))
            [(_, tensors)] = [item for item in compute.said if isinstance(item[0], Predicted)]
            answers.append(torch.frombuffer(bytearray(tensors[0].data), dtype=torch.float32))
    exact, again, rounded = answers
    assert torch.equal(exact, again)
    assert torch.allclose(exact, rounded, rtol=0.02)
    able = torch.cpu.get_capabilities()
    assert torch.equal(exact, rounded) != (able.get("avx512_bf16") or able.get("bf16", False))


async def test_a_stop_is_not_held_up_by_what_is_on_its_way_before_it(tmp_path: Path) -> None:
    """Other peers' answers, by the hundred megabytes; compute reads between its kernels."""
    async with started(tmp_path) as compute:
        await train(compute, 10)
        large = Tensor(Shape("uint8", (4 << 20,)), bytes(4 << 20))
        for number in range(100):
            compute.link.post(Answered(10_000 + number, ExpertReply((True,))), [large])
        told = time.monotonic()
        compute.link.announce()
        stopped = await compute.ask(Stop(1), Stopped)
        took = time.monotonic() - told
        assert stopped.last_kernel_end - told < took / 3, "it went on until it had read all"
        progress = await compute.ask(Train(), Progress)  # and what was announced holds up nothing later
        while progress.step < 20:
            progress = await compute.next(Progress, len(compute.said))


async def test_this_pc_is_measured_once_before_it_trains(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await compute.next(Ready)
        await compute.ask(SetThreads(1), Progress)
        assert not any(isinstance(message, Measured) for message, _ in compute.said)  # it may not compute yet
        said = len(compute.said)
        await compute.link.send(Train())
        asked = time.monotonic()
        stopped = await compute.ask(Stop(1), Stopped)  # while it measures
        assert stopped.last_kernel_end - asked < 1.0
        await compute.link.send(Train())
        measured = await compute.next(Measured, said)
        assert measured.samples_per_s > 0 and [speed.threads for speed in measured.speeds] == [1]
        assert (await compute.ask(Measure(), Measured)).time > measured.time  # beside the training that goes on
        await compute.link.send(Quit())
        assert await compute.end() == 0
    async with started(tmp_path) as compute:
        await compute.next(Ready)
        first = [type(message) for message, _ in compute.said]
        assert first.index(Measured) < first.index(Ready)
        await compute.link.send(Quit())
        assert await compute.end() == 0


async def test_a_life(tmp_path: Path) -> None:
    """From an empty folder to Quit, and what each message brings."""
    async with started(tmp_path) as compute:
        ready = await compute.next(Ready)
        assert (ready.step, ready.samples, ready.notes) == (0, 0, ()) and ready.device
        process = psutil.Process(compute.link.pid)
        assert process.nice() == min(os.nice(0) + 10, 19)
        if sys.platform == "linux":
            assert process.ionice() == (psutil.IOPRIO_CLASS_BE, 7)

        progress = await train(compute, 100)
        assert (
            progress.threads == 1
            and progress.samples_per_s > 0
            and progress.calls_per_s > 0
            and progress.loss is not None
        )
        assert len(progress.experts) == 32 and sum(expert.updates for expert in progress.experts) > 0
        assert (await compute.next(Evaluated)).point.accuracy > 0
        assert not psutil.Process(compute.link.pid).net_connections("inet")

        asked = time.monotonic()
        stopped = await compute.ask(Stop(7), Stopped)
        assert stopped.id == 7 and stopped.last_kernel_end <= time.monotonic()
        assert stopped.last_kernel_end - asked < 2.0
        saved = await compute.next(Saved)
        assert saved.error is None and saved.step >= 100
        assert newest(tmp_path)[0]["step"] == saved.step

        still = await compute.ask(SetThreads(2), Progress)
        assert still.step == saved.step

        answer = await compute.ask(Predict(3), Predicted, (PICTURE,))
        probabilities, seen = next(tensors for message, tensors in compute.said if message is answer)
        assert answer.id == 3 and answer.step == saved.step and len(answer.experts) == 8
        assert abs(sum(array("f", bytes(probabilities.data))) - 1) < 1e-5
        assert probabilities.shape.dims == (10,) and seen.shape.dims == (8, 8)
        assert max(array("f", bytes(seen.data))) == 1.0

        went_on = await train(compute, int(saved.step) + 50)
        assert went_on.step > saved.step
        last = await compute.ask(Quit(), Saved)
        assert await compute.end() == 0
        assert newest(tmp_path)[0]["step"] == last.step >= went_on.step


async def test_after_a_kill_it_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 200)
        await compute.ask(Stop(1), Stopped)
        saved = await compute.next(Saved)
        before = await compute.ask(Predict(1), Predicted, (PICTURE,))
        told = next(tensors for message, tensors in compute.said if message is before)
        await compute.link.send(Train())
        while (await compute.next(Progress, len(compute.said))).step == saved.step:
            pass
        os.kill(compute.link.pid, signal.SIGKILL)
        assert await compute.end() == -signal.SIGKILL
    _, state = newest(tmp_path)
    assert all(tensor.any() for name, tensor in state["trunk"].items() if name.startswith("square.")), "Adam's moments"

    async with started(tmp_path) as compute:
        ready = await compute.next(Ready)
        assert (ready.step, ready.notes) == (saved.step, ())
        after = await compute.ask(Predict(1), Predicted, (PICTURE,))
        assert [bytes(t.data) for t in next(ts for m, ts in compute.said if m is after)] == [
            bytes(t.data) for t in told
        ]
        await compute.ask(Quit(), Saved)
        assert await compute.end() == 0
    # Saved again without a batch in between: weights, moments and counters are the same to the bit.
    _, again = newest(tmp_path)
    assert again.keys() == state.keys() and len(state) > 16
    for name, tensors in state.items():
        torch.testing.assert_close(again[name], tensors, rtol=0, atol=0)


async def test_a_damaged_checkpoint_is_told_of(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 20)
        await compute.ask(Quit(), Saved)
        await compute.end()
    checkpoint, _ = newest(tmp_path)
    blob = tmp_path / "checkpoints" / f"{checkpoint['parts']['trunk']['sha256']}.safetensors"
    blob.write_bytes(blob.read_bytes()[:-1])
    async with started(tmp_path) as compute:
        ready = await compute.next(Ready)
        assert "trunk" in ready.notes[0] and ready.step == 0


async def test_a_failed_save_is_told_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    async with started(tmp_path) as compute:
        await train(compute, 10)
        await compute.ask(Stop(1), Stopped)
        saved = await compute.next(Saved)
        assert saved.error and "was not saved" in saved.error
        assert (await train(compute, saved.step + 10)).step > saved.step
        (tmp_path / "checkpoints").unlink()
        assert (await compute.ask(Stop(2), Saved)).error is None


async def test_an_impossible_picture_is_refused(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await compute.next(Ready)
        blank = Tensor(Shape("uint8", (16, 16)), bytes(256))
        nothing = Tensor(Shape("uint8", (0, 16)), b"")
        floats = Tensor(Shape("float32", (2, 2)), bytes(16))
        for number, (tensors, code) in enumerate(
            [
                ((blank,), "picture"),
                ((nothing,), "picture"),
                ((), "protocol"),
                ((floats,), "protocol"),
                ((PICTURE, PICTURE), "protocol"),
            ]
        ):
            refused = await compute.ask(Predict(number), Refused, tensors)
            assert (refused.id, refused.code) == (number, code) and refused.text
        assert (await compute.ask(Predict(9), Predicted, (PICTURE,))).id == 9


async def test_an_unknown_model_is_told_and_ends_it(tmp_path: Path) -> None:
    known = manifest.load("digits")
    strange = msgspec.structs.replace(known, model=msgspec.structs.replace(known.model, kind="mystery"))
    compute = Compute(await ComputeLink.start())
    await compute.link.send(Configure(strange, str(tmp_path), 1))
    assert "mystery" in (await compute.next(Failed)).text
    assert await compute.end() == 2


@pytest.mark.parametrize("training", [False, True])
async def test_it_goes_with_its_worker(tmp_path: Path, training: bool) -> None:
    """The pipe closed: gone within 2 s, whatever it was doing."""
    async with started(tmp_path) as compute:
        await compute.next(Ready)
        if training:
            await train(compute, 10)
        compute.link._stdin.close()
        async with asyncio.timeout(2.0):
            await compute.link._process.exited


async def test_sigterm_saves(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        progress = await train(compute, 10)
        os.kill(compute.link.pid, signal.SIGTERM)
        assert (await compute.next(Saved)).step >= progress.step
        assert await compute.end() == 0


@pytest.mark.parametrize("rubbish", [b"\xff" * 64, b"\x04\0\0\0\0\0\0\0rubb", b"\x01\0\0\0\x02\0\0\0\xc0ab"])
async def test_rubbish_on_the_pipe_ends_it_and_says_why(rubbish: bytes) -> None:
    compute = Compute(await ComputeLink.start())
    compute.link._stdin.write(rubbish)
    failed = await compute.next(Failed)
    assert "pipe" in failed.text or "frame" in failed.text
    assert await compute.end() == ProtocolError.exit_code


async def test_many_stops_in_a_row_make_few_saves(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 10)
        for number in range(30):
            await compute.link.send(Train())
            await compute.link.send(Stop(number))
        await compute.link.send(Quit())
        assert await compute.end() == 0
        saves = [message for message, _ in compute.said if isinstance(message, Saved)]
        assert len(saves) < 15 and saves[-1].step == newest(tmp_path)[0]["step"]
        assert sum(isinstance(message, Stopped) for message, _ in compute.said) == 30


async def test_a_picture_that_breaks_the_model_does_not_end_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "picture.picture_to_input = lambda picture: 1 / 0"
    pretend(
        monkeypatch,
        f"from core.compute import process; from core.training.tasks import picture; {broken}; process.main()",
    )
    async with started(tmp_path) as compute:
        await train(compute, 5)
        refused = await compute.ask(Predict(7), Refused, (PICTURE,))
        assert refused.id == 7 and "ZeroDivisionError" in refused.text
        await compute.ask(Stop(1), Stopped)


def pretend(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Have a program take the place of the compute process."""
    monkeypatch.setattr(link, "command", lambda: [sys.executable, "-c", program])


async def test_a_process_that_talks_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "import sys\nwhile True: sys.stdout.buffer.write(bytes(1_000_000))")
    process = await ComputeLink.start()
    with pytest.raises(ProtocolError):
        await anext(process.received())
    async with asyncio.timeout(DEADLINE_S):
        assert await process.close() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"\xff" * 8, "over the limit"),
        (b"".join(messages.encode(Train())), "Train"),
        (b"".join(messages.encode(Predicted(1, [], 0, 1.0))), "two tensors"),
    ],
)
async def test_the_worker_survives_what_compute_should_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, says: str
) -> None:
    pretend(monkeypatch, f"import sys; sys.stdout.buffer.write({answer!r}); sys.stdout.flush(); sys.stdin.read()")
    failed = asyncio.Event()
    supervisor = ComputeSupervisor(
        manifest.load("digits"),
        tmp_path,
        1,
        Figures(),
        changed=lambda: failed.set() if supervisor.failure else None,
        evaluated=lambda point: None,
        yields=Yields(),
        hosted=HostedExperts(GRID),
        files=files_of(tmp_path),
    )
    supervisor.want(True, time.monotonic())
    running = asyncio.create_task(supervisor.run())
    async with asyncio.timeout(DEADLINE_S):
        await failed.wait()
        assert supervisor.failure and says in supervisor.failure
        supervisor.leave()
        await running


def test_what_prints_does_not_get_between_the_frames(tmp_path: Path) -> None:
    """A library that prints, in Python and below it, and reads stdin, right after the pipe was taken over."""
    noise = """
import os, sys
from core.compute import process
take_over = process.take_over
def noisy():
    streams = take_over()
    print("hello", flush=True)
    os.write(1, b"from below")
    assert sys.stdin.read() == ""
    return streams
process.take_over = noisy
process.main()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", noise], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin and process.stdout and process.stderr
        for message in (Configure(manifest.load("digits"), str(tmp_path), 1), Quit()):
            process.stdin.writelines(messages.encode(message))
        process.stdin.flush()
        out, noises = process.stdout.read(), process.stderr.read()
        assert process.wait(DEADLINE_S) == 0
    said = []
    while out:
        header, payload = messages.sizes(out[:8])
        said.append(messages.decode(out[8 : 8 + header], out[8 + header : 8 + header + payload])[0])
        out = out[8 + header + payload :]
    assert {Ready, Saved} <= {type(message) for message in said}
    assert b"hello" in noises and b"from below" in noises


async def test_it_takes_no_more_of_the_time_than_its_share(tmp_path: Path) -> None:
    """By the system's own account of its processor time."""
    async with started(tmp_path) as compute:
        await train(compute, 20)
        process, used = psutil.Process(compute.link.pid), {}
        for share in (1.0, 0.25):
            await compute.ask(SetShare(share), Progress)
            before, began = process.cpu_times(), time.monotonic()
            step = (await compute.next(Progress, len(compute.said))).step
            while time.monotonic() - began < 3.0:
                progress = await compute.next(Progress, len(compute.said))
            after, elapsed = process.cpu_times(), time.monotonic() - began
            used[share] = (after.user + after.system - before.user - before.system) / elapsed
            assert progress.step > step
        assert used[0.25] < 0.3
        said = len(compute.said)
        await compute.link.send(Stop(1))
        await compute.next(Stopped, said)  # at once, also in the middle of a rest
