"""The policy at work: signals and the user's wishes in, decisions out, and compute told at once."""

import dataclasses
import time
from collections.abc import Callable, Collection
from typing import Literal

import psutil

from core.contracts.control import Liftable
from core.contracts.notices import notice
from core.contracts.settings import Settings, cores
from core.contracts.status import Resource, RuleStatus
from core.policy.decide import Decision, decide
from core.policy.hysteresis import Held, hold
from core.policy.inputs import Machine, Usage, Wishes
from core.policy.signals.reading import Signals
from core.policy.signals.watch import Watch
from core.store.small_files import Files
from core.worker.runs import Runs

WISHES_FILE = "wishes.json"


class Policy:
    """Decides for one worker, and remembers what hysteresis and the user's wishes need.

    Args:
        files: those of the data folder.
        settings: the first ones.
        runs: what is told to compute or to stop.
        networked, computes: as in `Machine`.
        changed: called when the user wished for something else.
        notice: called from any thread when a signal changed so that `decide` cannot wait.
        pids: of Hearth's own processes.
    """

    def __init__(
        self,
        files: Files,
        settings: Settings,
        runs: Runs,
        *,
        networked: bool,
        computes: bool,
        changed: Callable[[], None],
        notice: Callable[[], None],
        pids: Callable[[], Collection[int]],
    ) -> None:
        self._files, self._changed = files, changed
        self.settings = settings
        self.usage = Usage()
        """What Hearth itself has used; kept by those who measure it."""
        self.wishes = _load_wishes(files)
        self._runs = runs
        self._machine = Machine(cores(), psutil.virtual_memory().total, computes, networked)
        self._held = Held()
        self._hurries: bool | None = None
        self._watch = Watch(notice, files.folder, pids)
        self.signals = self._watch.read()
        """As last decided by."""
        self.decision = self.decide()

    def decide(self, cause: float | None = None) -> Decision:
        """Decide anew and tell the runs.

        Args:
            cause: time.monotonic() of what led to it, for the measured promise; None: what the signals say.
        """
        now, lifts = time.time(), self.wishes.lifts
        self.wishes = self.wishes.at(now)
        ended = [end for rule, end in lifts.items() if rule not in self.wishes.lifts]
        if cause is None and ended:
            cause = time.monotonic() - max(0.0, now - max(ended))  # until then nothing had to stop it
        self.signals = signals = self._watch.read()
        self._held = hold(signals, self.settings, self._held, now)
        machine = dataclasses.replace(self._machine, uses_gpus=self._runs.can_use_gpus)
        self.decision = decision = decide(
            signals, self.settings, self.wishes, self._runs.view(now), self.usage, self._held, now, machine
        )
        self._runs.want(decision.train, _cause(decision, signals, "cpu") if cause is None else cause)
        if decision.train:
            share = self.settings.gpu_memory_percent / 100
            self._runs.want_device(decision.device, share, _cause(decision, signals, "gpu"))
        gpu_leaves = decision.device != "cpu" and not self.settings.gpu_in_use
        hurries = decision.train and (self.settings.idle_only or gpu_leaves)
        if hurries != self._hurries:
            self._hurries = hurries
            self._watch.hurry(hurries)
        return decision

    def set_settings(self, settings: Settings) -> None:
        """What the new settings say holds at once; a change of the theme starts nothing while others are busy."""
        self.settings = settings
        self._held = self._held.under(settings, self.signals)
        self.decide()

    def pause(self, seconds: float | None, cause: float) -> None:
        """Stop until resumed or for `seconds`; `cause` is the time.monotonic() of the request.

        What was lifted or started is so again after it, as far as its time is not over by then.
        """
        until = None if seconds is None else time.time() + seconds
        self._wish(dataclasses.replace(self.wishes, paused=True, paused_until=until), cause)

    def pause_gpu(self, cause: float) -> None:
        """Leave the graphics processors until resumed; `cause` as in `pause`."""
        self._wish(dataclasses.replace(self.wishes, gpu_paused=True), cause)

    def resume(self) -> None:
        """End every pause."""
        wishes = dataclasses.replace(self.wishes, paused=False, paused_until=None, gpu_paused=False)
        self._wish(wishes, time.monotonic())

    def start_now(self, seconds: float) -> None:
        """Compute for `seconds` although the user is not away."""
        until = time.time() + seconds
        wishes = dataclasses.replace(self.wishes, paused=False, paused_until=None, start_now_until=until)
        self._wish(wishes, time.monotonic())

    def lift(self, rule: Liftable, seconds: float) -> None:
        """Compute for `seconds` although this rule says otherwise."""
        lifted = {**self.wishes.lifted, rule: time.time() + seconds}
        self._wish(dataclasses.replace(self.wishes, lifted=lifted), time.monotonic())

    def end_lift(self, rule: Liftable | Literal["choice"]) -> None:
        """Let a rule hold again; "choice": all that "Start now" has lifted."""
        lifted = {name: end for name, end in self.wishes.lifted.items() if name != rule}
        start = None if rule == "choice" else self.wishes.start_now_until
        self._wish(dataclasses.replace(self.wishes, lifted=lifted, start_now_until=start), time.monotonic())

    def quit(self) -> None:
        self.wishes = dataclasses.replace(self.wishes, quitting=True)
        self.decide(time.monotonic())

    def why(self) -> list[RuleStatus]:
        """Every rule of the last decision, for those who ask why this PC is or is not running."""
        return [
            RuleStatus(*(getattr(one, name) for name in RuleStatus.__struct_fields__)) for one in self.decision.rules
        ]

    def close(self) -> None:
        self._watch.close()

    def _wish(self, wishes: Wishes, cause: float) -> None:
        self.wishes = wishes
        self.decide(cause)
        self._changed()
        self._files.notes.pop(WISHES_FILE, None)  # the user has chosen anew
        self._files.save(WISHES_FILE, wishes, notice("file.loss_choice"))


def _cause(decision: Decision, signals: Signals, resource: Resource) -> float:
    """When the user came back, if that is what stops compute there; else now."""
    stopping = next((rule.rule for rule in decision.rules if resource in rule.stops), None)
    idle = signals.idle_s.value if stopping in ("user", "gpu_user") else None
    return time.monotonic() - (idle or 0.0)


def _load_wishes(files: Files) -> Wishes:
    """What the user asked for outlives a restart, as far as its time is not over."""
    wishes = files.read(WISHES_FILE, Wishes, notice("file.loss_wishes"))
    return dataclasses.replace(wishes, quitting=False)
