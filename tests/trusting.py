"""Compute's end of a pipe that finds every trunk good, or says what a test wants: where trials are not tested."""

from collections.abc import Callable

from core.contracts.taking_on import COMPARE_TRUNKS, Compared, CompareTrunks, Verdict
from core.pipe.calls import Calls
from tests.joined_calls import join


def good(asked: CompareTrunks) -> list[Verdict]:
    """All of them are."""
    return ["good"] * len(asked.states)


def trust(compute: Calls, verdicts: Callable[[CompareTrunks], list[Verdict]] = good) -> None:
    """Answer what the worker asks of trunks that others give.

    Args:
        compute: its end.
        verdicts: on each state.
    """
    compute.register_carrier(COMPARE_TRUNKS, lambda asked, payload, call: (Compared(verdicts(asked)), b""))


def trusting(verdicts: Callable[[CompareTrunks], list[Verdict]] = good) -> Calls:
    """The worker's end of such a pipe.

    Args:
        verdicts: on each state.
    """
    worker, compute = Calls(), Calls()
    trust(compute, verdicts)
    join(worker, compute)
    return worker
