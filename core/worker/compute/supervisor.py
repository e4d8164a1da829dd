"""Carries out what the table of a compute process's life says (`core.worker.compute.life`)."""

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import Any

from core.contracts import pipe
from core.contracts.errors import ComputeError, ProtocolError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.net.background import Background
from core.pipe.calls import Calls
from core.pipe.worker_end import ComputeLink, cause_of_death
from core.policy.inputs import Phase
from core.store.progress import Progress
from core.store.run_files import RunFiles
from core.swarm.hosted import HostedExperts
from core.swarm.incoming_calls import IncomingCalls
from core.worker.compute import life
from core.worker.compute.figures import Figures
from core.worker.compute.life import Command, Event, Life, News, Order
from core.worker.compute.orders import Orders
from core.worker.compute.owner import Owner
from core.worker.compute.questions import Questions
from core.worker.compute.terms import Terms

log = logging.getLogger(__name__)
compute_log = logging.getLogger("compute")


STUCK_S = 15.0
"""A trainer of which no batch got through for so long, and the time of two requests, reaches no host of some layer."""


class ComputeSupervisor(Orders):
    """Owns the compute process of one run."""

    def __init__(
        self,
        owner: Owner,
        calls: Calls,
        manifest: Manifest,
        folder: Path,
        hosted: HostedExperts,
        files: RunFiles,
        progress: Progress,
        *,
        threads: int = 0,
        memory_grace_s: float = 10.0,
        trains: bool = True,
        shuffle: int = 0,
    ) -> None:
        """
        Args:
            owner: who is told of everything.
            calls: to whichever process there is.
            manifest: what is trained.
            folder: the run's own one.
            hosted: what knows which experts compute has.
            files: those of the run; what gives room for checkpoints.
            progress: the run's figures so far; kept up to date.
            threads: how many compute may use; 0: half of the cores.
            memory_grace_s: how long a process that is not needed stays.
            trains: whether compute has a Trainer; without one it serves other peers only.
            shuffle: see `Configure`.
        """
        super().__init__(calls)
        self.hosted, self.progress, self.trains = hosted, progress, trains
        self.exhausted = 0
        """Processes that ended because they got no more memory."""
        self._owner, self._manifest, self._folder = owner, manifest, folder
        self._files, self._shuffle = files, shuffle
        self._life = Life(grace_s=memory_grace_s)
        self._link: ComputeLink | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._work, self._over = Background(), asyncio.Event()
        self._error: BaseException | None = None
        self._fault: Notice | None = None
        self.figures = Figures(owner, calls, hosted, progress, lambda: self.at_work)
        self.terms = Terms(owner, calls, self.figures, lambda: self._life, threads)
        self.accelerator = self.terms.accelerator
        self.questions = Questions(calls, progress, self._asked)
        self.incoming = IncomingCalls(calls, lambda: self.at_work)
        calls.listen(pipe.SAVED, self._saved)
        calls.listen(pipe.FAILED, self._failed)
        calls.register(pipe.SPACE, self._give_space)
        calls.listen(pipe.LOG, lambda line: compute_log.log(_LEVELS[line.level], "%s", line.text))

    # what the worker asks for

    def want(self, training: bool, cause: float) -> None:
        """Train or not.

        Args:
            training: whether.
            cause: time.monotonic() of what led to this, for the measured promise.
        """
        if training != self._life.wanted:
            self._happened(life.Wanted(training, cause))

    def set_memory_grace(self, seconds: float) -> None:
        """How long a process that is not needed stays."""
        if seconds != self._life.grace_s:
            self._happened(life.GraceSet(seconds))

    def exceed(self, trouble: Notice) -> None:
        """Have the process save and end, as it takes more than it may, and start again later.

        Args:
            trouble: what the user is told.
        """
        self._happened(life.Exceeded(trouble))

    def try_again(self) -> None:
        """Start a process at once where one failed for want of something that is here now."""
        self._happened(News.AGAIN)

    async def renew(self) -> None:
        """Have the process save and end; returns when it has. Another one begins if it is needed."""
        link = self._link
        self._happened(News.RENEW)
        if link is not None:
            await link.exited()

    def leave(self) -> None:
        """Save and end; `run` returns then."""
        self.questions.quit()
        self._happened(News.LEAVE)

    # what the worker reads

    @property
    def phase(self) -> Phase:
        return self._life.phase

    @property
    def life(self) -> int:
        """Number of the process: a new one hosts nothing that was ordered before."""
        return self._life.number

    @property
    def pid(self) -> int | None:
        return self._link.pid if self._link else None

    @property
    def wanted(self) -> bool:
        """Whether it shall train or serve."""
        return self._life.wanted and not self._life.leaving

    @property
    def at_work(self) -> bool:
        return self.phase == "training"

    @property
    def answering(self) -> bool:
        """Whether it was started to answer a question."""
        return self._life.answers

    @property
    def saving(self) -> bool:
        """Whether compute has stopped, and not saved yet what it had trained."""
        return self._life.unsaved

    @property
    def failure(self) -> Notice | None:
        """Why the last process ended, if it was not asked to; until the next one is ready."""
        return self._life.failure

    @property
    def retry_time(self) -> float | None:
        """Unix time of the next start after that."""
        return None if self._life.retry is None else _unix(self._life.retry)

    @property
    def memory_free_time(self) -> float | None:
        """Unix time at which the stopped process ends and its memory is free."""
        if self.phase != "stopped" or self._life.busy:
            return None
        return _unix(self._life.grace_end)

    @property
    def stuck(self) -> bool:
        """Whether no batch has got through for long: the hosts of some layer do not answer, as if they were frozen."""
        waited_s = self.figures.report.stuck_s * self.terms.share
        return self._owner.networked() and waited_s > STUCK_S + 2 * self._manifest.training.patience_s

    @property
    def reachable(self) -> bool:
        """Whether every layer of the run has an expert, here or, as far as the network knows, on a peer."""
        if not self._owner.networked() or self._owner.reachable():
            return True
        here = {expert.uid.split(".")[1] for expert in self.hosted.experts} if self.at_work else set()
        return len(here) == self._manifest.model.layers

    # the process's lives

    async def run(self) -> None:
        """Have processes run until `leave` is called."""
        self._happened(News.BEGIN)
        try:
            await self._over.wait()
            if self._error is not None:
                raise self._error
        finally:
            if self._alarm:
                self._alarm.cancel()
            await self._work.close()

    def _happened(self, event: Event) -> None:
        """Do what the table says, now and whenever it asks for."""
        before = self.phase
        self._life, commands = life.advance(self._life, event, time.monotonic())
        for command in commands:
            self._do(command)
        if self.phase == "stopped" != before:
            self.figures.stopped()
        self.terms.tell()
        self._set_alarm()
        if self._life.over:
            self._over.set()
        self._owner.changed()

    def _set_alarm(self) -> None:
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        if self._life.begun and (moment := life.deadline(self._life)) is not None:
            self._alarm = asyncio.get_running_loop().call_later(moment - time.monotonic(), self._look)

    def _look(self) -> None:
        self._happened(life.Passed(self._link.heard if self._link else 0.0))

    def _do(self, command: Command) -> None:
        match command:
            case Order.START:
                self._begin(self._live())
            case Order.SETTLE:
                self._begin(self._settle())
            case Order.TRAIN:
                self.calls.tell(pipe.TRAIN, None)
            case Order.STOP:
                self.incoming.refuse("This PC is given back to its user. Ask another peer.")
                self.calls.call(pipe.STOP, None).add_done_callback(self._stopped)
            case Order.QUIT:
                self.questions.ended(None)  # those asked from now on wait for the next process
                self.calls.tell(pipe.QUIT, None)
            case Order.KILL:
                if self._link:
                    self._link.kill()
            case life.GivenBack(cause, noticed, told, stopped):
                self._owner.yielded(cause, noticed, told, stopped)
                log.info("Compute stopped after %.0f ms.", 1000 * max(0.0, stopped - cause))
            case life.Lost(given_up):
                self.figures.save_error = notice("compute.unsaved_slow_disk" if given_up else "compute.unsaved")
            case life.Over(trouble, blamed):
                self._ended(trouble, blamed)

    def _begin(self, work: Any) -> None:
        self._work.start(work, "compute").add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
            self._over.set()

    async def _live(self) -> None:
        """One process, from its start to its end."""
        exhausted, self._fault, pack = self.exhausted, None, await self._owner.pack()
        try:
            self._link = link = await ComputeLink.start(self.calls, pack)
            self.hosted.computes = True
        except ComputeError as error:
            self._happened(life.Ended(error.notice, excused=True))
            return
        try:
            if self._life.dying:
                link.kill()
            else:
                self._begin(self._configure(link.pid))
            await link.ended()
        except (ComputeError, ProtocolError) as error:
            self._happened(life.Broken(error.notice))
        finally:
            code = await link.close(1.0)
            self._link, self.hosted.computes = None, False
        explained = None if link.killed else self._owner.explain(code)
        why = self._fault or explained or cause_of_death(code)
        excused = explained is not None or self.exhausted > exhausted
        if pack is not None and self._life.never_well(time.monotonic()) and not excused:
            await self._owner.give_up(pack, why)
        self._happened(life.Ended(why, code, link.killed, excused))

    async def _configure(self, pid: int) -> None:
        await self._owner.admit(pid)
        self.figures.begin()
        self.terms.begin()
        folder, experts, networked = str(self._folder), self.hosted.first(self._owner.alone()), self._owner.networked()
        threads, shuffle = self.terms.threads, self._shuffle
        what = pipe.Configure(self._manifest, folder, threads, self.trains, experts, networked, shuffle)
        with contextlib.suppress(ComputeError):  # it has ended, which is told elsewhere
            self._ready(await self.calls.call(pipe.CONFIGURE, what))

    async def _settle(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(life.SETTLE_S):
                await self._owner.settle()
        self._happened(News.SETTLED)

    def _ended(self, trouble: Notice | None, blamed: bool) -> None:
        self.figures.ended()
        self.accelerator.ended(trouble if blamed else None)
        self.incoming.refuse("This peer stopped computing. Ask another one.")
        self.questions.ended(trouble)
        self.calls.detach(ComputeError(notice("question.ended", why=trouble or notice("compute.has_ended"))))
        self._files.quota.end_save(self._files)
        if trouble:
            retry_s = (self._life.retry or 0.0) - time.monotonic()
            log.error("%s Compute starts again in %.0f s.", trouble, retry_s)

    def _asked(self, more: int) -> None:
        if more > 0 and self._life.leaving:
            raise ComputeError(notice("question.quitting"))
        self._happened(News.ASKED if more > 0 else News.ANSWERED)

    # what compute tells

    def _ready(self, message: pipe.Ready) -> None:
        self.figures.ready(message)
        self.accelerator.present = message.gpus
        self._happened(News.READY)
        self.questions.ready()

    def _stopped(self, answer: "asyncio.Future[float]") -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._happened(life.Stopped(answer.result()))

    def _saved(self, message: pipe.Saved) -> None:
        if message.error is None:
            self._files.saved(message.parts)
        else:
            self._files.quota.end_save(self._files)
        # a save that had begun before the stop may miss the last steps
        versions = {file.part: file.version for file in message.parts}
        late = any(expert.updates > versions.get(expert.uid, 0) for expert in self.hosted.experts)
        self._happened(life.Saved(complete=message.error is not None or not late))

    async def _give_space(self, ask: pipe.AskSpace) -> int:
        try:
            return await self._files.quota.grant(self._files, ask.part, ask.needed, ask.wanted, ask.superseded)
        except OSError as error:  # one file at a time, until it can be told again
            log.warning("What the files take is not known: %s", error)
            return ask.needed

    def _failed(self, message: pipe.Failed) -> None:
        self._fault = message.said
        self.exhausted += message.exhausted


_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def _unix(moment: float) -> float:
    return time.time() + moment - time.monotonic()
