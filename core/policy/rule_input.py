"""What a rule of the policy looks at, and what several rules share."""

import dataclasses

from msgspec.structs import replace

from core.contracts import schedule
from core.contracts.notices import Notice, Sentences, notice, plain
from core.contracts.settings import Settings
from core.contracts.status import Resource
from core.policy.hysteresis import Held, counts, names, number, running
from core.policy.inputs import Compute, Machine, Usage, Verdict, Wishes
from core.policy.signals.reading import Reading, Signals

COMPUTE: tuple[Resource, ...] = ("cpu", "gpu")
GPU: tuple[Resource, ...] = ("gpu",)


@dataclasses.dataclass(frozen=True)
class Case:
    """All that rules look at."""

    signals: Signals
    settings: Settings
    wishes: Wishes
    compute: Compute
    usage: Usage
    held: Held
    now: float
    machine: Machine

    @property
    def idle_s(self) -> float | None:
        """Seconds since the last input that was seen; None: unknown.

        While nothing can measure it, a user who was seen within the threshold is still here.
        """
        idle, last = number(self.signals.idle_s), self.held.last_input
        seen = None if last is None or last > self.now else self.now - last
        if idle is None:
            recent = seen is not None and seen < self.settings.idle_threshold_s
            return seen if recent and self.settings.idle_unknown == "run" else None
        return idle if seen is None else min(idle, seen)

    @property
    def idle_obstacle(self) -> Sentences:
        """Why nobody can tell how long the user has been away."""
        source, unmeasured = self.signals.idle_s.source, notice("user.unmeasured")
        if not isinstance(source, Notice):
            return (unmeasured,)
        return (source,) if "what" in source.args else (unmeasured, source)  # some name it themselves

    @property
    def nobody(self) -> bool:
        """Nobody can be here: there is no desktop to be at."""
        return self.signals.desktop.value is False

    @property
    def away(self) -> bool:
        """Nobody is here; where that is unknown, what the user chose to believe."""
        idle = self.idle_s
        if self.nobody:
            return True
        return self.settings.idle_unknown == "run" if idle is None else idle >= self.settings.idle_threshold_s

    @property
    def memory_bytes(self) -> int:
        """What all of Hearth may use now."""
        percent = self.settings.memory_idle_percent if self.away else self.settings.memory_in_use_percent
        return self.machine.memory_bytes * percent // 100

    def stops(self, name: str) -> bool:
        return counts(name, self.signals, self.settings, self.held)

    def gone(self, name: str, end: Notice) -> tuple[Sentences, float | None]:
        """What ends a condition: `end`, or a countdown if it is already gone."""
        moment = self.held.ends(name)
        if moment is None or moment <= self.now:
            return (end,), None
        return (notice("rule.again", at=moment),), moment


def live_value(reading: Reading[object], live: Notice | None) -> tuple[Notice, bool]:
    """A live value, and whether it is unknown: then what its source says instead."""
    if live is not None:
        return live, False
    return reading.source if isinstance(reading.source, Notice) else notice("rule.unknown"), True


def hours_rule(case: Case, rule: str, text: str, stops: tuple[Resource, ...]) -> Verdict:
    """Times of the week outside of which something stops.

    Args:
        rule: its name.
        text: the times, as `core.contracts.schedule` reads them.
        stops: what stops.
    """
    table = schedule.parse(text)
    on, change = table.on(case.now), table.next_change(case.now)
    live = notice("hours.on" if on else "hours.off")
    if table.always:
        live = notice("hours.any")
    elif change is not None:
        live = notice("hours.on_until" if on else "hours.off_until", at=change)
    row = Verdict(rule, live, plain(text) if text else notice("hours.any"))
    if on:
        return row
    until = notice("hours.never") if change is None else notice("hours.starts_at", at=change)
    reason = notice(f"{rule}.outside")
    return replace(row, stops=stops, reason=(reason,), until=(until,), until_time=change)


def programs_rule(case: Case, rule: str, chosen: tuple[str, ...], stops: tuple[Resource, ...]) -> Verdict:
    """Programs while which something stops.

    Args:
        rule: its name.
        chosen: the programs, as the user wrote them.
        stops: what stops.
    """
    runs = running(case.signals, chosen)
    live, unknown = notice("programs.none_chosen"), False
    if chosen:
        known = notice("programs.runs", program=runs) if runs else notice("programs.none_runs")
        live, unknown = live_value(case.signals.programs, None if case.signals.programs.value is None else known)
    named = list(names(chosen).values())
    wants = notice(f"{rule}.wants", names=named) if chosen else notice("programs.wants_none")
    row = Verdict(rule, live, wants, unknown=unknown)
    if not chosen or not case.stops(rule):
        return row
    reason = notice(f"{rule}.reason", program=runs) if runs else notice(f"{rule}.gone")
    end = notice("programs.until", program=runs) if runs else notice("programs.until_known")
    until, moment = case.gone(rule, end)
    return replace(row, stops=stops, until=until, until_time=moment, state="yielding", reason=(reason,))
