"""The status: all figures of this PC and one of its runs, as clients get them. Asking for it changes nothing."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from core.contracts.control import PROTOCOL
from core.contracts.line import LineStatus
from core.contracts.notices import Notice, notice
from core.contracts.settings import Settings
from core.contracts.status import ProcessStatus, RuleStatus, Status
from core.policy.decide import Decision
from core.version import VERSION
from core.worker.compute.yields import Yields
from core.worker.devices import Devices
from core.worker.energy import Energy
from core.worker.events import Events
from core.worker.policy import Policy
from core.worker.run import Run
from core.worker.runs import Runs
from core.worker.windows import Windows


class Report:
    """Knows where each figure is."""

    def __init__(
        self,
        folder: Path,
        runs: Runs,
        policy: Policy,
        windows: Windows,
        energy: Energy,
        devices: Devices,
        yields: Yields,
        notes: Callable[[], list[Notice]],
        line: Callable[[], LineStatus | None],
        events: Events,
    ) -> None:
        """
        Args:
            folder: the data folder.
            runs: those of this PC.
            policy: what was decided last.
            windows: Hearth's processes beside compute.
            energy: what was used.
            devices: what computes.
            yields: how fast the PC was given back.
            notes: sentences about what is wrong with no run in particular.
            line: the limits of bandwidth in force.
            events: what happened.
        """
        self._folder, self._runs, self._policy, self._windows = folder, runs, policy, windows
        self._energy, self._devices, self._yields, self._notes = energy, devices, yields, notes
        self._line, self._events = line, events

    def status(self, run: Run, settings: Settings) -> Status:
        """All figures, as of the last decision.

        Args:
            run: of which the run's figures are.
            settings: those in use.
        """
        decision, signals, compute = self._policy.decision, self._policy.signals, run.compute
        told, progress, idle = compute.figures, compute.progress, signals.idle_s
        return Status(
            version=VERSION,
            protocol=PROTOCOL,
            **_decided(decision),
            run=run.manifest.run,
            run_title=run.manifest.title,
            step=progress.step,
            samples=progress.samples,
            samples_per_s=told.report.samples_per_s,
            calls_per_s=told.report.calls_per_s,
            in_flight=told.report.in_flight,
            slowest_step_s=told.report.slowest_step_s,
            blocked_s=told.report.blocked_s,
            lost_batches=told.report.lost,
            loss=progress.loss,
            accuracy=progress.accuracy,
            experts=[*run.hosted.experts],
            grid=run.manifest.model.grid,
            layers=run.manifest.model.layers,
            processes=self._processes(),
            device=compute.accelerator.label or told.device or "cpu",
            threads=told.report.threads or settings.threads or max(1, (os.cpu_count() or 2) // 2),
            idle_only=settings.idle_only,
            idle_s=idle.value,
            idle_source=idle.source,
            yields=self._yields.status(),
            checkpoint_step=progress.checkpoint_step,
            checkpoint_time=progress.checkpoint_time,
            attention=self._attention(),
            data_dir=str(self._folder),
            time=time.time(),
            task=run.manifest.task.name,
            why=[*(_of_run(row, run) for row in self._policy.why()), *_trunk(run, alone=len(self._runs) == 1)],
            devices=self._devices.status(
                decision, signals, settings, self._energy.load, [one.compute for one in self._runs]
            ),
            energy=self._energy.status(settings),
            front=signals.front.value.kind if signals.front.value else None,
            locked=signals.locked.value,
            mains=signals.power.value.mains if signals.power.value else None,
            run_id=run.id,
            runs=[one.status() for one in self._runs],
            line=self._line(),
            events=self._events.newest,
            chat=run.manifest.chat is not None,
        )

    def _processes(self) -> list[ProcessStatus]:
        several = len(self._runs) > 1
        computes = {run.compute.pid: run.manifest.title if several else None for run in self._runs if run.compute.pid}
        return self._windows.status(computes)

    def _attention(self) -> list[Notice]:
        """What is wrong; notices of one run of several say of which."""
        if len(self._runs) == 1:
            return self._notes() + self._runs.first.attention
        return self._notes() + [
            note if note.args.get("run") == title else notice("run.says", run=title, what=note)
            for run, title in ((run, run.manifest.title) for run in self._runs)
            for note in (*run.attention, *([notice("run.stuck")] if run.compute.stuck else ()), run.no_room)
            if note
        ]


def _decided(decision: Decision) -> dict[str, Any]:
    """What the status tells of a decision as it is."""
    names = "state", "reason", "until", "until_time", "cpu", "gpu", "start_now", "network"
    return {name: getattr(decision, name) for name in names}


def _of_run(row: RuleStatus, run: Run) -> RuleStatus:
    """A row of *Why* as it is for a run, which may have no room on the disk where others have."""
    if row.rule != "own_disk" or row.stops or run.no_room is None:
        return row
    return replace(row, live=run.no_room, stops=("training",), until=(notice("own_disk.until"),))


def _trunk(run: Run, *, alone: bool) -> list[RuleStatus]:
    """The row of *Why* that tells what the trainer here waits for, in a run whose trainers agree on one trunk.

    Args:
        run: that run.
        alone: the PC has no other run; else the row says of which it is.
    """
    known = run.swarm.trunk()
    if known is None:
        return []
    row = RuleStatus("trunk", notice("trunk.goes_on"), notice("trunk.wants"))
    if known.waits is not None and known.ends is not None and run.compute.at_work:
        row = replace(row, live=known.waits, stops=("training",), until=(known.ends,))
    return [row if alone else replace(row, live=notice("run.says", run=run.manifest.title, what=row.live))]
