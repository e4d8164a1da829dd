"""Keeps a compute process alive while it is needed, stops it at once when it is not, frees its memory after the grace.

Phases (`core.policy.inputs.Phase`): absent -> starting -> stopped -> training -> stopping -> stopped -> leaving.
A process that dies or hangs is started again with back-off.
"""

import asyncio
import contextlib
import itertools
import logging
import math
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from core.contracts.control import CurvePoint, Prediction, PredictParams
from core.contracts.errors import CallRefused, ComputeError, ProtocolError
from core.contracts.manifest import Manifest
from core.contracts.pipe import (
    Ask,
    AskSpace,
    Cancel,
    Configure,
    Evaluated,
    Failed,
    FindSuffixes,
    Forget,
    Generated,
    GenerationEnded,
    Hosted,
    Locate,
    LogText,
    Measure,
    Measured,
    Placed,
    Predicted,
    Quit,
    Ready,
    Refused,
    Saved,
    Serve,
    Served,
    SetShare,
    SetThreads,
    Space,
    Stop,
    Stopped,
    Suspect,
    Tensor,
    ToCompute,
    ToWorker,
    Train,
    Work,
)
from core.contracts.pipe import Progress as ComputeProgress
from core.pipe.worker_end import ComputeLink
from core.policy.inputs import Phase
from core.store.progress import Progress
from core.store.run_files import RunFiles
from core.swarm.hosted import HostedExperts
from core.swarm.incoming_calls import Visitors
from core.worker.compute.accelerator import Accelerator
from core.worker.compute.hosting_orders import Orders
from core.worker.compute.questions import Questions
from core.worker.compute.yields import Yields, recent

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.swarm.outgoing_calls import Asking

log = logging.getLogger(__name__)
compute_log = logging.getLogger("compute")

START_S = 120.0
"""A process that is not ready by then hangs (importing torch from a slow disk takes 20 s)."""
SETTLE_S = 5.0
"""For what must be known before compute trains: longer only where a disk hangs."""
LIFE_SIGN_S = 20.0
"""Compute reports at least once a second."""
STOP_S = 2.0
"""A process that has not stopped by then is killed: the user comes first."""
QUIT_S = 60.0
"""To save a checkpoint and end, on the slowest disk, ..."""
SILENT_S = 15.0
"""... as long as there is a life sign."""
SHARE_STEP = 0.005
"""A smaller change of the share of time is not worth a message."""
BACK_OFF_S = (1.0, 60.0)
FOR_PEERS = Served | Refused | Ask | Forget | Locate | FindSuffixes
"""What compute says to other peers."""
HEALTHY_S = 60.0
"""A process that lived for so long starts the back-off anew."""


class ComputeSupervisor:
    """Owns the compute process of one run. `changed` is called after each change of what can be read here."""

    def __init__(
        self,
        manifest: Manifest,
        folder: Path,
        threads: int,
        progress: Progress,
        changed: Callable[[], None],
        evaluated: Callable[[CurvePoint], None],
        yields: Yields,
        hosted: HostedExperts,
        files: RunFiles,
    ) -> None:
        self.hosted, self._files = hosted, files
        self.phase: Phase = "absent"
        self.progress = progress
        self.yields = yields
        """Measured promise: from the cause of each stop to the end of the last kernel."""
        self.samples_per_s = self.calls_per_s = 0.0
        self.in_flight = 0
        self.slowest_step_s: float | None = None
        self.blocked_s: float | None = None
        self.lost = 0
        self.load = 0.0
        """0 idle, 1 busy without pause; above that, the seconds of work that wait."""
        self.device = ""
        self.threads = threads
        self.threads_used: int | None = None
        self.share = 1.0
        """Of the time that it computes."""
        self.memory_grace_s = 10.0
        self.shuffle = 0
        """See `Configure`."""
        self.trains = True
        """Whether compute has a Trainer; without one it serves other peers only."""
        self.asking: Asking | None = None
        """What reaches other peers' experts; None: there is no network, and all of the run's experts are here."""
        self.lonely: Callable[[], bool] = lambda: True
        """Whether nobody else is known who could host experts: a process then begins with all of the run's."""
        self.failure: str | None = None
        self.retry_time: float | None = None
        self.save_error: str | None = None
        self.notes: tuple[str, ...] = ()
        self.answering = False
        self._manifest, self._folder = manifest, folder
        self._changed, self._evaluated = changed, evaluated
        self._wanted = self._leaving = False
        self._exceeded = ""
        self.exhausted = 0
        """Processes that ended because the system gave them no more memory."""
        self._cause = 0.0
        self._noticed = self._told = 0.0
        self._link: ComputeLink | None = None
        self._wake = asyncio.Event()
        self.accelerator = Accelerator(yields, self._wake.set)
        self._stops = itertools.count(1)
        self._questions = Questions(self._wake.set)
        self.visitors = Visitors(self._serve)
        self.orders = Orders(self.send)
        self.life = 0
        """Number of the process: a new one hosts nothing that was ordered before."""
        self.fell_back = False
        """Compute began without a trunk, or something of its checkpoints was damaged."""
        self.measured: Measured | None = None
        """How fast this PC is; None: not known yet."""
        self._to_measure = False
        self.worked: Callable[[str, Work], None] = lambda device, work: None
        """Told what each device has done since it was told last."""
        self._work: dict[str, Work] = {}
        self.admit: Callable[[int], Awaitable[None]] = _nothing
        """Awaited with the pid of each process before it is told anything: until then it takes next to no memory."""
        self.explain: Callable[[int], str | None] = lambda code: None
        """Why a process ended with this code, if that is known better than here."""
        self.settle: Callable[[], Awaitable[None]] = _settled
        """Awaited before each process trains for the first time, for `SETTLE_S` at most."""
        self._settled = False
        self._answers: set[asyncio.Task[None]] = set()
        self.saving = False
        """Whether compute has stopped, and not saved yet what it had trained."""
        self._threads_sent, self._share_sent = threads, 1.0
        self._life_sign = self._phase_since = 0.0
        self._failed_text: str | None = None
        self._back_off_s = BACK_OFF_S[0]

    # what the worker asks for

    def want(self, training: bool, cause: float) -> None:
        """Train or not; `cause` is the time.monotonic() of what led to this, for the measured promise."""
        if training != self._wanted:
            self._noticed = time.monotonic()
            self._wanted, self._cause = training, recent(cause, self._noticed)
            self._wake.set()

    def set_threads(self, threads: int) -> None:
        if threads != self.threads:
            self.threads = threads
            self._wake.set()

    def set_share(self, share: float) -> None:
        """Compute for this share of the time."""
        if abs(share - self.share) > SHARE_STEP or (share != self.share and share == 1.0):
            self.share = share
            self._wake.set()

    def exceed(self, trouble: str) -> None:
        """Have the process save and end, as it takes more than it may, and start again later.

        Args: what the user is told.
        """
        self._exceeded = trouble
        self._wake.set()

    def leave(self) -> None:
        """Save and end; `run` returns then."""
        self._leaving = True
        self._wake.set()

    async def predict(self, picture: PredictParams) -> Prediction:
        """Ask the model, starting compute for it if need be.

        Raises:
            PictureError, ComputeError: as `Questions.ask`.
        """
        if self._leaving:
            raise ComputeError("Hearth is quitting and answers no more questions.")
        return await self._questions.ask(picture)

    def generate(
        self, prompt: bytes, length: int, temperature: float, seed: int
    ) -> AsyncGenerator[Generated | GenerationEnded, None]:
        """Have the model go on with a text, starting compute for it if need be.

        Raises:
            ComputeError: as `Questions.generate`.
        """
        if self._leaving:
            raise ComputeError("Hearth is quitting and answers no more questions.")
        return self._questions.generate(prompt, length, temperature, seed)

    # what the worker reads

    @property
    def pid(self) -> int | None:
        return self._link.pid if self._link else None

    @property
    def wanted(self) -> bool:
        """Whether it shall train or serve."""
        return self._wanted and not self._leaving

    @property
    def measuring(self) -> bool:
        """Whether it must find out first how fast this PC is."""
        return self.at_work and self.measured is None

    @property
    def expert_samples_per_s(self) -> float:
        """What one expert alone gets through here; 0: not measured yet."""
        return self.measured.samples_per_s if self.measured else 0.0

    @property
    def reachable(self) -> bool:
        """Whether every layer of the run has an expert, here or, as far as is known, on a peer."""
        if self.asking is None or self.asking.reachable:
            return True
        here = {expert.uid.split(".")[1] for expert in self.hosted.experts} if self.at_work else set()
        return len(here) == self._manifest.model.layers

    def measure(self) -> None:
        """Measure this PC anew, as soon as it may compute."""
        self._to_measure = True
        self._wake.set()

    @property
    def at_work(self) -> bool:
        return self.phase == "training"

    @property
    def memory_free_time(self) -> float | None:
        """Unix time at which the stopped process ends and its memory is free."""
        if self.phase != "stopped" or self._busy():
            return None
        return time.time() + self._grace_end() - time.monotonic()

    # the process's lives

    async def run(self) -> None:
        """Serve until `leave` is called."""
        while not self._leaving:
            if self._busy():
                await self._live()
            else:
                await self._woken(None)

    async def _live(self) -> None:
        """One life of a process, from its start to its end, and the back-off if it ended unasked."""
        self._enter("starting")
        self._failed_text = None
        born, exhausted = time.monotonic(), self.exhausted
        try:
            self._link = link = await ComputeLink.start()
            self.hosted.computes = True
        except ComputeError as error:
            await self._back_off(str(error), born)
            return
        trouble: str | None = None
        explained: str | None = None
        link.handle(self._at_once)
        reader = asyncio.create_task(self._read(link), name="compute reader")
        driver = asyncio.create_task(self._drive(link), name="compute driver")
        try:
            done, _ = await asyncio.wait({reader, driver}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (ComputeError, ProtocolError) as error:
            trouble = str(error)
        finally:
            for task in (reader, driver):
                task.cancel()
            await asyncio.gather(reader, driver, return_exceptions=True)
            asked = self.phase == "leaving"
            code = await link.close(1.0)
            self._link = None
            self.hosted.computes = False
            if self.phase == "stopping":
                self._yielded(time.monotonic())
            if self.saving:
                self.save_error = _unsaved(link.killed)
            self._ended()
        exceeded, self._exceeded = self._exceeded, ""
        if asked and (code == 0 or link.killed):
            self.accelerator.ended(exceeded)  # its driver takes memory of the PC's, too
            if exceeded and not self._leaving:
                await self._back_off(exceeded, born)
            return
        if trouble is None or (code != 0 and not link.killed):
            explained = self.explain(code)
            trouble = self._failed_text or explained or _cause_of_death(code)
        self.accelerator.ended("" if explained or self.exhausted > exhausted else trouble)
        await self._back_off(trouble, born)

    def _ended(self) -> None:
        self.samples_per_s = self.calls_per_s = self.load = 0.0
        self.in_flight = 0
        self.slowest_step_s = self.blocked_s = None
        self.answering = False
        self.visitors.fail("This peer stopped computing. Ask another one.")
        if self.asking:
            self.asking.ended()
        self.orders.fail("Compute has ended.")
        self._enter("absent")

    async def _back_off(self, trouble: str, born: float) -> None:
        if time.monotonic() - born > HEALTHY_S:
            self._back_off_s = BACK_OFF_S[0]
        self._questions.fail(trouble)
        log.error("%s Compute starts again in %.0f s.", trouble, self._back_off_s)
        self.failure = trouble
        self.retry_time = time.time() + self._back_off_s
        self._enter("absent")
        end = time.monotonic() + self._back_off_s
        self._back_off_s = min(2 * self._back_off_s, BACK_OFF_S[1])
        while not self._leaving and time.monotonic() < end:
            await self._woken(end)
        self.retry_time = None

    async def _drive(self, link: ComputeLink) -> None:
        """Tell the process what to do until it was told to quit and its time for that is over."""
        await self.admit(link.pid)
        self._threads_sent, self._share_sent = self.threads, 1.0
        self.life += 1
        self._settled = False
        self._work = {}
        self.accelerator.begin()
        experts = self.hosted.first(self.lonely())
        networked = self.asking is not None
        configure = Configure(
            self._manifest, str(self._folder), self.threads, self.trains, experts, networked, self.shuffle
        )
        await link.send(configure)
        while True:
            now = time.monotonic()
            await self._instruct(link, now)
            deadline = self._deadline(now)
            if self.phase == "leaving" and now >= deadline:
                return
            await self._woken(deadline)

    async def _instruct(self, link: ComputeLink, now: float) -> None:
        match self.phase:
            case "starting" if now - self._phase_since > START_S:
                _end(link, f"Compute was not ready after {START_S:.0f} s.")
            case "stopping" if now - self._phase_since > STOP_S:
                _end(link, f"Compute did not stop within {STOP_S:.0f} s and was ended.")
            case "training" | "stopped" if now - self._life_sign > LIFE_SIGN_S:
                _end(link, f"Compute gave no sign of life for {LIFE_SIGN_S:.0f} s and was ended.")
        if self.phase == "starting" and (self._leaving or not self._busy()):
            self._enter("leaving")
            link.kill()  # there is nothing to save yet
        if self.phase in ("starting", "leaving"):
            return
        if (
            self._leaving
            or self._exceeded
            or (self.phase == "stopped" and not self._busy() and now >= self._grace_end())
        ):
            self._enter("leaving")
            link.announce()
            await link.send(Quit())
            return
        if self.threads != self._threads_sent:
            self._threads_sent = self.threads
            await link.send(SetThreads(self.threads))
        if self.share != self._share_sent:
            self._share_sent = self.share
            await link.send(SetShare(self.share))
        if self.measured and (device := self.accelerator.unsent(self.at_work)):  # the processor is measured first
            link.announce()
            await link.send(device)
        if self._to_measure:
            self._to_measure = False
            await link.send(Measure())
        if self._wanted and self.phase == "stopped" and not self._settled:
            self._settled = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    await self.settle()
        if self._wanted and self.phase == "stopped":
            self._enter("training")
            await link.send(Train())
        elif not self._wanted and self.phase == "training":
            self._enter("stopping")
            self._told = time.monotonic()
            self.visitors.fail("This PC is given back to its user. Ask another peer.")
            link.announce()
            await link.send(Stop(next(self._stops)))
        for message, tensors in self._questions.unsent():
            await link.send(message, tensors)

    def _serve(self, message: Serve | Cancel, tensors: Sequence[Tensor]) -> None:
        """Give another peer's expert calls to compute, if it is at work.

        Raises:
            CallRefused: it is not.
        """
        if self._link is None or self.phase != "training":
            raise CallRefused("This peer does not compute now. Ask another one.")
        self._link.post(message, tensors)

    async def send(self, message: ToCompute, tensors: Sequence[Tensor]) -> None:
        """Hand a frame to compute.

        Raises:
            ComputeError: there is no compute process, or it does not take messages.
        """
        if self._link is None:
            raise ComputeError("There is no compute process now.")
        await self._link.send(message, tensors)

    def _busy(self) -> bool:
        return self._wanted or bool(self._questions)

    def _grace_end(self) -> float:
        return self._phase_since + self.memory_grace_s

    def _deadline(self, now: float) -> float:
        """When `_instruct` must look again even if nothing happens, time.monotonic()."""
        match self.phase:
            case "starting":
                return self._phase_since + START_S + 0.1
            case "stopping":
                return self._phase_since + STOP_S + 0.05
            case "leaving":
                return min(self._phase_since + QUIT_S, self._life_sign + SILENT_S)
            case "stopped" if not self._busy():
                return self._grace_end()
            case _:
                return now + LIFE_SIGN_S / 4

    async def _woken(self, deadline: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if deadline is None else max(0.0, deadline - time.monotonic())):
                await self._wake.wait()
        self._wake.clear()

    def _enter(self, phase: Phase) -> None:
        self.saving = phase in ("stopping", "stopped", "leaving") and (self.saving or self.phase == "training")
        self.phase = phase
        self._phase_since = self._life_sign = time.monotonic()
        self._changed()

    async def _read(self, link: ComputeLink) -> None:
        async for message, tensors in link.received():
            self._life_sign = time.monotonic()
            self._received(message, tensors)
            self._changed()

    def _at_once(self, message: ToWorker, tensors: list[Tensor]) -> bool:
        """Pass on what other peers wait for; it changes nothing of what is shown here."""
        if not isinstance(message, FOR_PEERS):
            return False
        self._life_sign = time.monotonic()
        self._received(message, tensors)
        return True

    def _received(self, message: ToWorker, tensors: list[Tensor]) -> None:
        match message:
            case Ready():
                self._ready(message)
            case Placed():
                self.accelerator.placed(message)
            case Measured():
                self.measured = message
            case ComputeProgress():
                self._progressed(message)
            case Evaluated(point=point) if math.isfinite(point.loss):  # JSON has no other
                self.progress.add(point)
                self.progress.step = max(self.progress.step, point.step)  # figures never lag behind the curve
                self._evaluated(point)
            case Stopped():
                self._stopped(message)
            case Saved():
                self._saved(message)
            case AskSpace() if self._link:
                answer = asyncio.create_task(self._give_space(message, self._link), name="disk space")
                self._answers.add(answer)
                answer.add_done_callback(self._answers.discard)
            case Predicted():
                self._questions.answered(message, tensors, self.progress.accuracy)
                self._keep_memory()
            case Generated() | GenerationEnded():
                self._questions.generated(message)
                self._keep_memory()
            case Hosted():
                self.orders.hosted(message)
            case Served():
                self.visitors.served(message, tensors)
            case Refused():
                self._questions.refused(message)
                self.visitors.refused(message)
                self._keep_memory()
            case Ask() | Forget() | Locate() | FindSuffixes() | Suspect():
                if self.asking:
                    self.asking.received(message, tensors)
            case Failed():
                self._failed_text = message.text
                self.exhausted += message.exhausted
            case LogText(level=level, text=text):
                compute_log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)

    def _ready(self, message: Ready) -> None:
        self.device, self.notes = message.device, message.notes
        self.fell_back = not message.step or bool(message.notes)
        for note in message.notes:
            log.warning("%s", note)
        self.failure = None
        self.hosted.expert_bytes = message.expert_bytes
        self.accelerator.present = message.gpus
        self.progress.step, self.progress.samples = message.step, message.samples
        self.progress.resume_at(message.step)
        self.answering = not self._wanted
        if self.asking:
            self.asking.started()
        self._enter("stopped")
        self._wake.set()

    def _progressed(self, message: ComputeProgress) -> None:
        self.progress.step, self.progress.samples = message.step, message.samples
        self.hosted.report(message.experts)
        if message.loss is not None:
            self.progress.loss = message.loss
        training = self.phase == "training"
        self.samples_per_s = message.samples_per_s if training else 0.0
        self.calls_per_s = message.calls_per_s
        self.in_flight, self.load = message.in_flight, message.load
        self.slowest_step_s, self.blocked_s = message.slowest_step_s, message.blocked_s
        self.lost = message.lost
        self.threads_used = message.threads
        self.accelerator.reported(message)
        for device, work in message.work.items():
            before, self._work[device] = self._work.get(device, Work()), work
            if work != before:
                self.worked(device, work.since(before))

    def _stopped(self, message: Stopped) -> None:
        if self.phase != "stopping":
            return
        self._yielded(message.last_kernel_end)
        self.samples_per_s = self.calls_per_s = self.load = 0.0
        self._enter("stopped")
        self._wake.set()

    def _yielded(self, end: float) -> None:
        """Note how long it took; `end` is that of the last kernel, if need be that of the process."""
        self.yields.add(self._cause, self._noticed, self._told, end)
        log.info("Compute stopped after %.0f ms.", self.yields.recent[-1].stop_ms)

    def _saved(self, message: Saved) -> None:
        self.save_error = message.error
        if self.saving:  # a save that had begun before the stop may miss the last steps
            saved = {file.part: file.version for file in message.parts}
            late = any(expert.updates > saved.get(expert.uid, 0) for expert in self.hosted.experts)
            self.saving = message.error is None and late
        if message.error is None:
            self.progress.checkpoint_step, self.progress.checkpoint_time = message.step, message.time
            self._files.saved(message.parts)
        else:
            log.error("%s", message.error)

    async def _give_space(self, question: AskSpace, link: ComputeLink) -> None:
        try:
            space = await self._files.grant(question.needed, question.wanted, question.superseded)
        except OSError as error:  # one file at a time, until it can be told again
            log.warning("What the files take is not known: %s", error)
            space = question.needed
        with contextlib.suppress(ComputeError):  # it ended meanwhile
            await link.send(Space(question.id, space))

    def _keep_memory(self) -> None:
        """The process keeps its memory for another grace time after an answer."""
        if self.phase == "stopped":
            self._phase_since = time.monotonic()
            self._wake.set()


async def _nothing(pid: int) -> None:
    pass


async def _settled() -> None:
    pass


def _end(link: ComputeLink, text: str) -> NoReturn:
    link.kill()
    raise ComputeError(text)


def _unsaved(given_up: bool) -> str:
    """Args: whether it had all the time that it may take."""
    lost = "Compute ended before all that it trained was saved; it goes on from its last checkpoint."
    return f"{lost} Is the disk slow, or full?" if given_up else lost


def _cause_of_death(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"Compute was killed (signal {-code}, {name})."
    return f"Compute ended unexpectedly (exit code {code})."
