"""What `hearth why` and the app's panel show: "Why am I (not) running?" rule by rule, and the measured promise."""

from collections.abc import Iterable

import msgspec

from core.contracts.notices import Notice, Sentences, notice
from core.contracts.status import RuleStatus, State, Status, YieldStatus

PROMISE_MS = 250
GPU_RULE = "gpu_user"
"""A rule that is told only where a graphics processor is used (`core.policy.rules.judge`)."""
FINE, UNKNOWN, LIFTED = "verdict.fine", "verdict.unknown", "verdict.lifted"
"""Codes of the verdicts of rules that stop nothing."""
FEW = 5
"""Fewer measurements say little."""


class Why(msgspec.Struct, frozen=True):
    """What `hearth why --json` prints."""

    state: State
    reason: Sentences
    until: Sentences
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


def verdict(rule: RuleStatus, gpus: bool) -> Notice:
    """What a rule says: which it stops, `LIFTED`, `FINE`, or `UNKNOWN`.

    Args:
        gpus: a graphics processor is used.
    """
    stops = [notice(f"verdict.{name}") for name in rule.stops if name != "gpu" or gpus]
    if stops:
        return notice("verdict.stops", what=stops)
    if rule.lifted_until is not None and rule.rule != "choice":
        return notice("verdict.lifted")
    return notice("verdict.unknown" if rule.unknown else "verdict.fine")


def promise(yields: YieldStatus) -> Notice:
    """How fast this PC came back to its user."""
    if yields.last_ms is None or yields.p95_ms is None:
        return notice("promise.none", target=PROMISE_MS)
    if yields.count < FEW:
        return notice("promise.kept", n=yields.count, last=yields.last_ms, target=PROMISE_MS)
    return notice("promise.kept_p95", count=yields.count, last=yields.last_ms, p95=yields.p95_ms, target=PROMISE_MS)
