"""What the worker and its files tell: status, why, devices, stats, benchmark, log."""

import argparse
import math
import sys
import time
from typing import TYPE_CHECKING

from core.commands import common
from core.contracts.errors import DataFolderError
from core.contracts.kinds import declarations
from core.store.data_folder import data_path

if TYPE_CHECKING:
    from rich.console import RenderableType

    from core.contracts.control import Status


def status(options: argparse.Namespace) -> None:
    from core.contracts.control import Status

    with common.client(options) as client:
        status = client.call("status", {}, Status)
    if options.json:
        common.print_json(status)
    else:
        print(describe(status))


def describe(status: "Status") -> str:
    """A status in words."""
    task = declarations.task(status.task)
    unit, unseen = task.unit, "the next byte of unseen text" if task.in_tokens else "unseen samples"
    accuracy = "not measured yet" if status.accuracy is None else f"{status.accuracy:.1%} on {unseen}"
    loss = "-" if status.loss is None else f"{status.loss:.3f}"
    if status.loss is not None and task.in_tokens:
        loss += f" ({status.loss / math.log(2):.2f} bits a byte)"
    memory = ", ".join(f"{process.name} {process.memory_mb:.0f} MB" for process in status.processes)
    rows = {
        "State": f"{status.state}: {status.reason} {status.until}",
        "Run": f"{status.run} ({status.run_title}), step {status.step:,}, {status.samples:,} {unit}",
        "Speed": f"{status.samples_per_s:,.0f} {unit}/s, {status.calls_per_s:,.0f} expert calls/s on {status.device}",
        "Model": f"accuracy {accuracy}, training loss {loss}",
        "Experts": f"{len(status.experts)} here, {sum(expert.updates for expert in status.experts):,} updates",
        "Memory": memory,
    }
    if status.energy is not None:
        from core.control.devices import energy_line

        rows["Energy"] = energy_line(status.energy)
    lines = [f"{name:8} {text}" for name, text in rows.items()]
    return "\n".join([*lines, *(f"Attention: {text}" for text in status.attention)])


def why(options: argparse.Namespace) -> None:
    from core.contracts.control import Status
    from core.control.why import panel, why

    with common.client(options) as client:
        answer = why(client.call("status", {}, Status))
    if options.json:
        common.print_json(answer)
        return
    _print(panel(answer))


def devices(options: argparse.Namespace) -> None:
    from core.contracts.control import Status
    from core.control.devices import describe

    with common.client(options) as client:
        status = client.call("status", {}, Status)
    answer = {"devices": status.devices, "energy": status.energy}
    if options.json:
        common.print_json(answer)
    else:
        print(describe(status))


def stats(options: argparse.Namespace) -> None:
    """Works also while no worker runs."""
    from core.control.stats import table, totals

    answer = totals(data_path(options.data_dir))
    if options.json:
        common.print_json(answer)
    else:
        _print(table(answer))


def benchmark(options: argparse.Namespace) -> None:
    from core.control.benchmark import ask, describe

    with common.client(options) as client:
        answer, note = ask(client, options.again)
    if options.json:
        common.print_json(answer)
    else:
        print(describe(answer, note))
    if options.json and note:
        print(note, file=sys.stderr)


def log(options: argparse.Namespace) -> None:
    from core import logs

    path = data_path(options.data_dir) / logs.FILE
    if not path.exists():
        print(f"There is no log yet in {path}.", file=sys.stderr)
        return
    try:
        file = path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataFolderError(f"The log {path} cannot be read: {error.strerror}.") from error
    with file:
        lines = file.readlines()  # at most logs.FILE_BYTES
        print("".join(lines[-max(0, options.lines) :] if options.lines > 0 else []), end="", flush=True)
        while options.follow:
            if line := file.readline():
                print(line, end="", flush=True)
            elif path.exists() and path.stat().st_size < file.tell():  # rotated
                return log(argparse.Namespace(data_dir=options.data_dir, lines=options.lines, follow=True))
            else:
                time.sleep(0.25)


def _print(shown: "RenderableType") -> None:
    from rich.console import Console

    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(shown)
