"""The compute process over its real pipe: trains, stops, answers, saves, goes on, and never outlives its worker."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil
import pytest
import safetensors.torch
import torch

from core.contracts import manifest, pipe
from core.contracts.errors import ComputeError, PictureError, ProtocolError
from core.contracts.pipe import (
    CONFIGURE,
    EVALUATED,
    FAILED,
    MEASURE,
    MEASURED,
    PROGRESS,
    QUESTION,
    QUIT,
    SAVED,
    SHARE,
    SPACE,
    STOP,
    THREADS,
    TRAIN,
    Answered,
    Configure,
    Failed,
    Measured,
    Predict,
    Predicted,
    Progress,
    Ready,
    Saved,
    Tell,
)
from core.contracts.remote_experts import SERVE, SUSPECT, ExpertCall
from core.contracts.status import CurvePoint
from core.pipe import frames
from core.pipe import worker_end as link
from core.pipe.calls import Calls
from core.pipe.frames import Frames, Kind
from core.pipe.worker_end import ComputeLink
from core.worker.compute.owner import Owner
from tests.disks import supervisor as supervised

M = TypeVar("M")
Q = TypeVar("Q")
DEADLINE_S = 240.0
GONE_S, TRIES = 2.0, 5
PICTURE = Predict(16, 16, bytes(255 if 6 <= i % 16 <= 9 else 0 for i in range(256)))


SAVES_WHEN_ASKED = """
import gc, sys
gc.disable()  # to search what is imported for garbage is a quarter of the start, as in `core.compute.process`
from core.compute import saving
gc.freeze()
gc.enable()
saving.FIRST_S = saving.SAVE_S = 3600.0
from core.cli import main
sys.exit(main(["compute"]))
"""
AS_IT_IS = link.command


@pytest.fixture(autouse=True)
def saves_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which checkpoint is the newest is up to the test."""
    pretend(monkeypatch, SAVES_WHEN_ASKED)


def read_of(answer: Answered) -> Predicted:
    assert isinstance(answer.answer, Predicted)
    return answer.answer


class Compute:
    """A compute process and what it has told so far."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.link: ComputeLink
        self.ready: asyncio.Future[Ready]
        self.said: list[Any] = []
        self._news = asyncio.Event()
        tells: tuple[Tell[Any], ...] = (PROGRESS, EVALUATED, MEASURED, SAVED, FAILED)
        for tell in tells:
            self.calls.listen(tell, self._heard)
        self.calls.listen(pipe.LOG, lambda line: None)
        self.calls.listen(SUSPECT, lambda report: None)
        self.calls.register(SPACE, lambda question: question.wanted)

    def _heard(self, message: object) -> None:
        self.said.append(message)
        self._news.set()

    async def start(self, configure: Configure) -> None:
        self.link = await ComputeLink.start(self.calls)
        self.ready = self.calls.call(CONFIGURE, configure)

    async def next(self, kind: type[M], after: int = 0) -> M:
        """The first message of a kind among those after the first `after`."""
        async with asyncio.timeout(DEADLINE_S):
            while not (found := [message for message in self.said[after:] if isinstance(message, kind)]):
                self._news.clear()
                await self._news.wait()
        return found[0]

    async def tell(self, tell: Tell[Q], message: Q, answer: type[M]) -> M:
        """Tell it something and wait for the next message of a kind."""
        said = len(self.said)
        self.calls.tell(tell, message)
        return await self.next(answer, said)

    async def read(self, picture: Predict) -> Answered:
        async with contextlib.aclosing(self.calls.stream(QUESTION, picture, DEADLINE_S)) as answers:
            return await anext(answers)

    async def stop(self) -> float:
        return await asyncio.wait_for(self.calls.call(STOP, None), DEADLINE_S)

    async def end(self) -> int:
        """Wait for the process to end by itself; its exit code."""
        await asyncio.wait_for(self.link.ended(), DEADLINE_S)
        code = await self.link.close(DEADLINE_S)
        self.calls.detach(ComputeError("It has ended."))
        return code


@contextlib.asynccontextmanager
async def started(folder: Path, threads: int = 1, **training: Any) -> AsyncIterator[Compute]:
    """A compute process at work.

    Args:
        folder: of its run.
        threads: that it computes on.
        training: what is different from the manifest of `digits`.
    """
    compute, run = Compute(), manifest.load("digits")
    run = msgspec.structs.replace(run, training=msgspec.structs.replace(run.training, **training))
    await compute.start(Configure(run, str(folder), threads))
    try:
        yield compute
    finally:
        await compute.link.close()
        await compute.end()
        if not compute.ready.cancelled():
            compute.ready.exception()


async def train(compute: Compute, batches: int) -> Progress:
    """Train for some batches more than at the start; what the process reported then."""
    ready = await compute.ready
    progress = await compute.tell(TRAIN, None, Progress)
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
            await compute.ready
            answers.append(torch.tensor(read_of(await compute.read(PICTURE)).probabilities))
    exact, again, rounded = answers
    assert torch.equal(exact, again)
    assert torch.allclose(exact, rounded, rtol=0.02)
    able = torch.cpu.get_capabilities()
    assert torch.equal(exact, rounded) != (able.get("avx512_bf16") or able.get("bf16", False))


async def test_a_stop_is_not_held_up_by_what_is_on_its_way_before_it(tmp_path: Path) -> None:
    """Other peers' calls, by the hundred megabytes; compute reads between its kernels."""
    async with started(tmp_path) as compute:
        await train(compute, 10)
        answers = []
        for number in range(100):
            call = ExpertCall("aa" * 32, "forward", msgspec.msgpack.encode(number))
            answers.append(compute.calls.exchange(SERVE, call, bytes(4 << 20)))
        told = time.monotonic()
        stopped = await compute.stop()
        took = time.monotonic() - told
        assert stopped - told < took / 3, "it went on until it had read all"
        await asyncio.gather(*answers, return_exceptions=True)
        progress = await compute.tell(TRAIN, None, Progress)  # and what was announced holds up nothing later
        while progress.step < 20:
            progress = await compute.next(Progress, len(compute.said))


async def test_this_pc_is_measured_once_before_it_trains(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await compute.ready
        await compute.tell(THREADS, 1, Progress)
        assert not any(isinstance(message, Measured) for message in compute.said)  # it may not compute yet
        said = len(compute.said)
        compute.calls.tell(TRAIN, None)
        asked = time.monotonic()
        assert await compute.stop() - asked < 1.0  # while it measures
        compute.calls.tell(TRAIN, None)
        measured = await compute.next(Measured, said)
        assert measured.samples_per_s > 0 and [speed.threads for speed in measured.speeds] == [1]
        assert (await compute.tell(MEASURE, None, Measured)).time > measured.time  # beside the training that goes on
        compute.calls.tell(QUIT, None)
        assert await compute.end() == 0
    async with started(tmp_path) as compute:
        await compute.ready
        assert any(isinstance(message, Measured) for message in compute.said)
        compute.calls.tell(QUIT, None)
        assert await compute.end() == 0


async def test_a_life(tmp_path: Path) -> None:
    """From an empty folder to Quit, and what each message brings."""
    async with started(tmp_path, evaluate_every=16) as compute:
        ready = await compute.ready
        assert (ready.step, ready.samples, ready.notes) == (0, 0, ()) and ready.device
        process = psutil.Process(compute.link.pid)
        assert process.nice() == min(os.nice(0) + 10, 19)
        if sys.platform == "linux":
            assert process.ionice() == (psutil.IOPRIO_CLASS_BE, 7)

        progress = await train(compute, 20)
        assert (
            progress.threads == 1
            and progress.samples_per_s > 0
            and progress.calls_per_s > 0
            and progress.loss is not None
        )
        assert len(progress.experts) == 32 and sum(expert.updates for expert in progress.experts) > 0
        assert (await compute.next(CurvePoint)).accuracy > 0
        assert not psutil.Process(compute.link.pid).net_connections("inet")

        asked = time.monotonic()
        stopped = await compute.stop()
        assert stopped <= time.monotonic() and stopped - asked < 2.0
        saved = await compute.next(Saved)
        assert saved.error is None and saved.step >= 20
        assert newest(tmp_path)[0]["step"] == saved.step

        still = await compute.tell(THREADS, 2, Progress)
        assert still.step == saved.step

        answer = await compute.read(PICTURE)
        assert answer.step == saved.step and len(answer.experts) == 8
        read = read_of(answer)
        assert len(read.probabilities) == 10 and abs(sum(read.probabilities) - 1) < 1e-5
        assert len(read.seen) == 64 and max(read.seen) == 1.0

        went_on = await train(compute, int(saved.step) + 10)
        assert went_on.step > saved.step
        last = await compute.tell(QUIT, None, Saved)
        assert await compute.end() == 0
        assert newest(tmp_path)[0]["step"] == last.step >= went_on.step


async def test_after_a_kill_it_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 20)
        await compute.stop()
        saved = await compute.next(Saved)
        told = await compute.read(PICTURE)
        compute.calls.tell(TRAIN, None)
        while (await compute.next(Progress, len(compute.said))).step == saved.step:
            pass
        os.kill(compute.link.pid, signal.SIGKILL)
        assert await compute.end() == -signal.SIGKILL
    _, state = newest(tmp_path)
    assert all(tensor.any() for name, tensor in state["trunk"].items() if name.startswith("square.")), "Adam's moments"

    async with started(tmp_path) as compute:
        ready = await compute.ready
        assert (ready.step, ready.notes) == (saved.step, ())
        after = await compute.read(PICTURE)
        assert after.answer == told.answer
        await compute.tell(QUIT, None, Saved)
        assert await compute.end() == 0
    # Saved again without a batch in between: weights, moments and counters are the same to the bit.
    _, again = newest(tmp_path)
    assert again.keys() == state.keys() and len(state) > 16
    for name, tensors in state.items():
        torch.testing.assert_close(again[name], tensors, rtol=0, atol=0)


async def test_a_damaged_checkpoint_is_told_of(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 20)
        await compute.tell(QUIT, None, Saved)
        await compute.end()
    checkpoint, _ = newest(tmp_path)
    blob = tmp_path / "checkpoints" / f"{checkpoint['parts']['trunk']['sha256']}.safetensors"
    blob.write_bytes(blob.read_bytes()[:-1])
    async with started(tmp_path) as compute:
        ready = await compute.ready
        assert "trunk" in str(ready.notes[0]) and ready.step == 0


async def test_a_failed_save_is_told_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    async with started(tmp_path) as compute:
        await train(compute, 10)
        await compute.stop()
        saved = await compute.next(Saved)
        assert saved.error and saved.error.code == "checkpoint.not_written"
        assert (await train(compute, saved.step + 10)).step > saved.step
        (tmp_path / "checkpoints").unlink()
        said = len(compute.said)
        await compute.stop()
        assert (await compute.next(Saved, said)).error is None


async def test_an_impossible_picture_is_refused(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await compute.ready
        for picture, error in (
            (Predict(16, 16, bytes(256)), PictureError),
            (Predict(0, 16, b""), PictureError),
            (Predict(16, 16, b""), PictureError),
            (Predict(2, 2, bytes(16)), ComputeError),
        ):
            with pytest.raises(error, match=r"\w"):
                await compute.read(picture)
        assert read_of(await compute.read(PICTURE)).probabilities


async def test_an_unknown_model_is_told_and_ends_it(tmp_path: Path) -> None:
    known = manifest.load("digits")
    strange = msgspec.structs.replace(known, model=msgspec.structs.replace(known.model, kind="mystery"))
    compute = Compute()
    await compute.start(Configure(strange, str(tmp_path), 1))
    assert "mystery" in str((await compute.next(Failed)).said)
    assert await compute.end() == 2
    with pytest.raises(ComputeError):
        await compute.ready


@pytest.mark.parametrize("training", [False, True])
async def test_it_goes_with_its_worker(tmp_path: Path, training: bool) -> None:
    """The pipe closed: gone within 2 s, whatever it was doing; judged by the quickest of some, as the machine may be
    busy."""
    took = list[float]()
    while min(took, default=GONE_S) >= GONE_S:
        assert len(took) < TRIES, took
        async with started(tmp_path) as compute:
            await compute.ready
            if training:
                await train(compute, 10)
            compute.link._stdin.close()
            closed = time.monotonic()
            async with asyncio.timeout(DEADLINE_S):
                await compute.link._exited.wait()
            took.append(time.monotonic() - closed)


async def test_sigterm_saves(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        progress = await train(compute, 10)
        os.kill(compute.link.pid, signal.SIGTERM)
        assert (await compute.next(Saved)).step >= progress.step
        assert await compute.end() == 0


RUBBISH = [
    b"\xff" * 64,
    b"".join(frames.encode(Kind.CALL, 1, b"rubb", method=CONFIGURE.key)),
    b"".join(frames.encode(Kind.CALL, 1, b"\xc0", b"ab", b"what")),
]


@pytest.mark.parametrize("rubbish", RUBBISH)
async def test_rubbish_on_the_pipe_ends_it_and_says_why(rubbish: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "command", AS_IT_IS)  # which comes so far without torch
    compute = Compute()
    compute.link = await ComputeLink.start(compute.calls)
    compute.link._stdin.write(rubbish)
    failed = await compute.next(Failed)
    assert "pipe" in str(failed.said) or "frame" in str(failed.said)
    assert await compute.end() == ProtocolError.exit_code


async def test_many_stops_in_a_row_make_few_saves(tmp_path: Path) -> None:
    async with started(tmp_path) as compute:
        await train(compute, 10)
        stops = []
        for _ in range(30):
            compute.calls.tell(TRAIN, None)
            stops.append(compute.calls.call(STOP, None))
        compute.calls.tell(QUIT, None)
        assert await compute.end() == 0
        saves = [message for message in compute.said if isinstance(message, Saved)]
        assert len(saves) < 15 and saves[-1].step == newest(tmp_path)[0]["step"]
        assert len(await asyncio.gather(*stops)) == 30


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
        with pytest.raises(ComputeError, match="ZeroDivisionError"):
            await compute.read(PICTURE)
        await compute.stop()


def pretend(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Have a program take the place of the compute process."""
    monkeypatch.setattr(link, "command", lambda: [sys.executable, "-c", program])


async def test_a_process_that_talks_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "import sys\nwhile True: sys.stdout.buffer.write(bytes(1_000_000))")
    process = await ComputeLink.start(Calls())
    with pytest.raises(ProtocolError):
        await process.ended()
    async with asyncio.timeout(DEADLINE_S):
        assert await process.close() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"\xff" * frames.HEAD.size, "over the limit"),
        (b"".join(frames.encode(Kind.TELL, 0, b"\xc0", method=TRAIN.key)), "train"),
        (b"".join(frames.encode(Kind.TELL, 0, b"\xc0", method=PROGRESS.key)), "Expected"),
        (b"".join(frames.encode(Kind.REPLY, 1, b"\xc0")), "Expected"),
    ],
)
async def test_the_worker_survives_what_compute_should_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, says: str
) -> None:
    program = "sys.stdin.buffer.read(1); sys.stdout.buffer.write({!r}); sys.stdout.flush(); sys.stdin.read()"
    pretend(monkeypatch, f"import sys; {program.format(answer)}")
    failed = asyncio.Event()

    class Watching(Owner):
        def changed(self) -> None:
            if supervisor.failure:
                failed.set()

    supervisor = supervised(manifest.load("digits"), tmp_path, owner=Watching())
    supervisor.want(True, time.monotonic())
    running = asyncio.create_task(supervisor.run())
    async with asyncio.timeout(DEADLINE_S):
        await failed.wait()
        assert supervisor.failure and says in str(supervisor.failure)
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
        configure = msgspec.msgpack.encode(Configure(manifest.load("digits"), str(tmp_path), 1))
        process.stdin.writelines(frames.encode(Kind.CALL, 1, configure, method=CONFIGURE.key))
        process.stdin.writelines(frames.encode(Kind.TELL, 0, b"\xc0", method=QUIT.key))
        process.stdin.flush()
        out, noises = process.stdout.read(), process.stderr.read()
        assert process.wait(DEADLINE_S) == 0
    said = list(Frames().feed(out))
    assert {Kind.TELL, Kind.REPLY} <= {frame.kind for frame in said} and SAVED.key in {frame.method for frame in said}
    assert b"hello" in noises and b"from below" in noises


async def test_it_takes_no_more_of_the_time_than_its_share(tmp_path: Path) -> None:
    """By the system's own account of its processor time."""
    async with started(tmp_path) as compute:
        await train(compute, 20)
        process, used = psutil.Process(compute.link.pid), {}
        for share in (1.0, 0.25):
            await compute.tell(SHARE, share, Progress)
            before, began = process.cpu_times(), time.monotonic()
            step = (await compute.next(Progress, len(compute.said))).step
            while time.monotonic() - began < 3.0:
                progress = await compute.next(Progress, len(compute.said))
            after, elapsed = process.cpu_times(), time.monotonic() - began
            used[share] = (after.user + after.system - before.user - before.system) / elapsed
            assert progress.step > step
        assert used[0.25] < 0.3
        await compute.stop()  # at once, also in the middle of a rest
