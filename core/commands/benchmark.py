"""`hearth benchmark`: what this PC can do for its run, waiting for it while it is being measured."""

import argparse
import sys
import time

from core.commands import common
from core.contracts.control import BenchmarkParams
from core.contracts.notices import english
from core.contracts.status import BenchmarkStatus, Status
from core.contracts.words import clock, counted, size
from core.control.client import ControlClient

PATIENCE_S = 60.0
"""For a measurement that has begun; under a low share of the processor's time it takes longer."""
POLL_S = 0.2


def show(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        answer, note = ask(client, options.again, options.run)
    if not options.json:
        print(describe(answer, note))
        return
    common.print_json(answer)
    if note:
        print(note, file=sys.stderr)


def ask(client: ControlClient, again: bool, run: str | None = None) -> tuple[BenchmarkStatus, str]:
    """The figures, and a sentence about why there are none yet, or none that are newer.

    It never computes against the user's settings: while the PC may not compute, there is nothing to wait for.

    Args:
        client: asks the worker.
        again: measure anew.
        run: name or id; None: the run that is shown first.
    """
    before = client.call("benchmark", BenchmarkParams(again, run), BenchmarkStatus)
    answer, deadline = before, time.monotonic() + PATIENCE_S
    while answer.time is None or (again and answer.time == before.time):
        status = client.call("status", {}, Status)
        if not status.cpu:
            return (
                answer,
                f"It is measured as soon as this PC may compute. {english(status.reason)} {english(status.until)}",
            )
        if time.monotonic() > deadline:
            return answer, f"It is still being measured. {english((*status.reason, *status.until))}"
        time.sleep(POLL_S)
        answer = client.call("benchmark", BenchmarkParams(run=run), BenchmarkStatus)
    return answer, ""


def describe(answer: BenchmarkStatus, note: str) -> str:
    """The figures in words."""
    measured = "not measured yet"
    if answer.time is not None:
        days = (time.time() - answer.time) / 86_400
        measured = f"measured at {clock(answer.time, time.time())}" if days < 7 else f"measured {days:.0f} days ago"
    cores = f"{answer.cores} core{'' if answer.cores == 1 else 's'}"
    lines = [f"{answer.device}, {cores}, run {answer.run}: {measured}."]
    for speed in answer.speeds:
        where = speed.gpu or f"{speed.threads} thread{'' if speed.threads == 1 else 's'}"
        lines.append(f"  one expert on {where}: {speed.samples_per_s:,.0f} samples/s, forward and backward")
    if answer.expert_bytes is not None:
        lines.append(f"  memory of an expert: {size(answer.expert_bytes)}")
    if answer.capacity is not None:
        lines.append(f"  room for {counted(answer.capacity, 'expert')} of {answer.run}")
    if answer.upload_bytes_s is not None or answer.download_bytes_s is not None:
        up, down = (rate or 0.0 for rate in (answer.upload_bytes_s, answer.download_bytes_s))
        seen = f"up {up / 1000:,.0f} KB/s, down {down / 1000:,.0f} KB/s"
        lines.append(f"  network, the most used so far (the line may be faster): {seen}")
    return "\n".join([*lines, *([note] if note else [])])
