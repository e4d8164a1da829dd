"""What a rule of the policy looks at, and what several rules share."""

import dataclasses

from core.contracts import schedule
from core.contracts.settings import Settings
from core.contracts.words import clock, countdown, listed, sentence
from core.policy.hysteresis import Held, counts, names, number, running
from core.policy.inputs import Compute, Machine, Resource, Usage, Verdict, Wishes
from core.policy.signals.reading import Reading, Signals

COMPUTE: frozenset[Resource] = frozenset({"cpu", "gpu"})
GPU: frozenset[Resource] = frozenset({"gpu"})


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
    def idle_obstacle(self) -> str:
        """Sentences: why nobody can tell how long the user has been away."""
        reading, words = self.signals.idle_s, "It cannot be measured how long you have been away."
        if reading.value is not None or not reading.source:
            return words
        said = sentence(reading.source)
        return said if "cannot be measured" in said else f"{words} {said}"

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

    def gone(self, name: str, end: str) -> tuple[str, float | None]:
        """What ends a condition: `end`, or a countdown if it is already gone."""
        moment = self.held.ends(name)
        if moment is None or moment <= self.now:
            return end, None
        return f"Goes on in {countdown(moment - self.now)} if it stays so.", moment


def value_words(reading: Reading[object], words: str | None) -> tuple[str, bool]:
    """A live value in words, and whether it is unknown: then the words of its source."""
    return (reading.source.removesuffix(".") or "Unknown", True) if words is None else (words, False)


def hours_rule(case: Case, rule: str, title: str, text: str, stops: frozenset[Resource], what: str) -> Verdict:
    table = schedule.parse(text)
    on, change = table.on(case.now), table.next_change(case.now)
    at = "" if change is None else clock(change, case.now)
    live = "Any time"
    if not table.always:
        live = (f"On until {at}" if at else "On") if on else (f"Off until {at}" if at else "Off")
    row = Verdict(rule, title, live, text or "Any time", until_time=None)
    if on:
        return row
    reason, until = (
        f"It is not one of the times that you chose for {what}.",
        f"Starts at {at}." if at else ("Starts when you choose other times in Settings."),
    )
    return dataclasses.replace(row, stops=stops, reason=reason, until=until, until_time=change)


def programs_rule(case: Case, rule: str, title: str, chosen: tuple[str, ...], stops: frozenset[Resource]) -> Verdict:
    runs = running(case.signals, chosen)
    live, unknown = "None chosen", False
    if chosen:
        known = None if case.signals.programs.value is None else f"{runs} runs" if runs else "None of them runs"
        live, unknown = value_words(case.signals.programs, known)
    named = listed(list(names(chosen).values()))
    wants = f"Stops for {named}" if stops is COMPUTE else f"The GPU stops for {named}"
    row = Verdict(rule, title, live, wants if chosen else "Stops for programs that you choose", unknown=unknown)
    if not chosen or not case.stops(rule):
        return row
    whole = "this PC" if stops is COMPUTE else "the GPU"
    reason = (
        f"{runs} runs, which is to have {whole} to itself."
        if runs
        else (f"A program that is to have {whole} to itself ran a moment ago.")
    )
    until, moment = case.gone(rule, f"Goes on when {runs} has ended.")
    return dataclasses.replace(row, stops=stops, until=until, until_time=moment, state="yielding", reason=reason)
