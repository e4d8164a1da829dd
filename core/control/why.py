"""`hearth why` and the app's panel: "Why am I (not) running?" rule by rule, and the measured promise."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from core.contracts.control import RuleStatus, State, Status, YieldStatus

if TYPE_CHECKING:
    from rich.console import RenderableType

PROMISE_MS = 250
GPU_RULE = "gpu_user"
"""A rule that is told only where a graphics processor is used (`core.policy.rules.judge`)."""
FINE, UNKNOWN = "fine", "not known"
"""Verdicts of rules that stop nothing."""
FEW = 5
"""Fewer measurements say little."""


class Why(msgspec.Struct, frozen=True):
    """What `hearth why --json` prints."""

    state: State
    reason: str
    until: str
    until_time: float | None
    cpu: bool
    gpu: bool
    start_now: bool
    network: bool
    rules: list[RuleStatus]
    decides: str | None
    """The rule that decides: the first that stops what stands still; None: nothing stops it."""
    yields: YieldStatus
    time: float


def why(status: Status) -> Why:
    return Why(
        status.state, status.reason, status.until, status.until_time, status.cpu, status.gpu,
        status.start_now, status.network, status.why, _decides(status), status.yields, status.time,
    )  # fmt: skip


def _decides(status: Status) -> str | None:
    if status.cpu or status.gpu:
        return None
    return next((rule.rule for rule in status.why if "cpu" in rule.stops), None)


def gpu_is_paused(rules: Iterable[RuleStatus]) -> bool:
    """Whether the user paused the graphics processors only."""
    return any(rule.rule == "gpu_choice" and rule.stops for rule in rules)


def uses_gpus(rules: Iterable[RuleStatus]) -> bool:
    """Whether a graphics processor is used: otherwise nobody is told that one is stopped."""
    return any(rule.rule == GPU_RULE for rule in rules)


def verdict(rule: RuleStatus, gpus: bool) -> str:
    """What a rule says: "stops CPU, network", `FINE`, or `UNKNOWN`.

    Args:
        gpus: a graphics processor is used.
    """
    stops = [_NAMES[name] for name in rule.stops if name != "gpu" or gpus]
    if stops:
        return f"stops {', '.join(stops)}"
    return UNKNOWN if rule.unknown else FINE


def promise(yields: YieldStatus) -> str:
    """A line about how fast this PC came back to its user."""
    if yields.last_ms is None or yields.p95_ms is None:
        return f"No stop has been measured yet; promised are {PROMISE_MS} ms from your return to the last computation."
    times = "once" if yields.count == 1 else f"{yields.count} times"
    p95 = f"p95 {yields.p95_ms:.0f} ms, " if yields.count >= FEW else ""
    last = f"The last time compute stopped {yields.last_ms:.0f} ms after it had to"
    return f"{last} ({p95}measured {times}; promised are {PROMISE_MS} ms)."


def panel(answer: Why) -> "RenderableType":
    """The rule that decides comes first; then all in their order, also those that pass."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    running = answer.cpu or answer.gpu
    head = Text(f"Why am I {'' if running else 'not '}running?", style="bold")
    state = Text(f"{answer.state.capitalize()}. {answer.reason} {answer.until}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "Rule", "Now", "By your settings", "Verdict"):
        table.add_column(name, overflow="fold")
    rules = sorted(answer.rules, key=lambda rule: rule.rule != answer.decides)
    gpus = uses_gpus(rules)
    for rule in rules:
        says = verdict(rule, gpus)
        mark, style = {FINE: ("✓", ""), UNKNOWN: ("?", "dim")}.get(says, ("✗", "yellow"))
        table.add_row(
            mark, rule.title, rule.live, rule.wants, says, style="bold yellow" if rule.rule == answer.decides else style
        )
    uses = {"CPU": answer.cpu} | ({"GPU": answer.gpu} if gpus else {}) | {"network": answer.network}
    line = ", ".join(f"{name} {'on' if on else 'off'}" for name, on in uses.items())
    return Group(head, state, Text(f"Allowed now: {line}."), Text(), table, Text(), Text(promise(answer.yields)))


_NAMES = {"cpu": "CPU", "gpu": "GPU", "network": "network"}
