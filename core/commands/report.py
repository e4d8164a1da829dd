"""What the worker and its files tell: status, log."""

import argparse
import io
import math
import sys
import time

from core import logs
from core.commands import common
from core.commands.devices import energy_line
from core.contracts.attention import labelled
from core.contracts.control import StatusParams
from core.contracts.errors import DataFolderError, NetworkError
from core.contracts.kinds import TASKS
from core.contracts.network_status import NetworkParams, NetworkStatus
from core.contracts.notices import english, notice
from core.contracts.status import STATE_WORD, ProcessStatus, Status
from core.regular_files import open_regular
from core.store.data_folder import data_path


def status(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        status = client.call("status", {}, Status)
        more = [] if options.json else status.runs[1:]
        others = [client.call("status", StatusParams(run.id), Status) for run in more]
        try:
            network = client.call("network", NetworkParams(0, 0), NetworkStatus)
        except NetworkError:  # it works alone
            network = None
    if options.json:
        common.print_json(status)
    else:
        print(describe(status, others, network))


def describe(status: Status, others: list[Status], network: NetworkStatus | None) -> str:
    """The status of a PC in words.

    Args:
        status: of the PC, with the first of its runs.
        others: the same with each other run.
        network: None: it was started without one.
    """
    rows = [("State", f"{STATE_WORD[status.state]}: {english(status.reason)} {english(status.until)}")]
    at_goal = {run.id for run in status.runs if run.reached}
    rows += [row for one in (status, *others) for row in _run(one, one.run_id in at_goal)]
    rows += [("Peers", _peers(network)), ("Memory", ", ".join(map(_memory, status.processes)))]
    if status.energy is not None:
        rows += [("Energy", energy_line(status.energy))]
    if status.line is not None:
        rows += [("Upload", str(status.line.upload.why)), ("Download", str(status.line.download.why))]
    return "\n".join(
        [
            *(f"{name:8} {text}" for name, text in rows),
            *(f"{word}: {said}" for word, said in labelled(status.attention)),
        ]
    )


def _peers(network: NetworkStatus | None) -> str:
    if network is None:
        return "none: this PC works alone, as its settings say or as it was started without --join"
    return f"{network.connected:,} connected" if network.connected else "none is connected: this PC is alone"


def _memory(process: ProcessStatus) -> str:
    of = f" for {process.run}" if process.run else ""
    return f"{process.name}{of} {process.memory_mb:.0f} MB"


def _run(status: Status, reached: bool) -> list[tuple[str, str]]:
    task = TASKS[status.task]
    unit, unseen = task.unit, f"the next {task.unit[:-1]} of unseen text" if task.in_tokens else "unseen samples"
    accuracy = "not measured yet" if status.accuracy is None else f"{status.accuracy:.1%} on {unseen}"
    loss = "-" if status.loss is None else f"{status.loss:.3f}"
    if status.loss is not None and task.unit == "bytes":
        loss += f" ({status.loss / math.log(2):.2f} bits per byte)"
    hosted = f"{len(status.experts)} here, {sum(expert.updates for expert in status.experts):,} updates"
    return [
        ("Run", f"{status.run} ({status.run_title}), step {status.step:,}; the model saw {status.samples:,} {unit}"),
        ("Speed", f"{status.samples_per_s:,.0f} {unit}/s, {status.calls_per_s:,.0f} expert calls/s on {status.device}"),
        ("Model", f"accuracy {accuracy}, training loss {loss}"),
        ("Experts", hosted if status.layers else "none: every PC that trains holds the whole model"),
        *([("Goal", english(notice("run.reached")))] if reached else []),
    ]


def log(options: argparse.Namespace) -> None:
    path = data_path(options.data_dir) / logs.FILE
    if not path.exists():
        print(f"There is no log yet in {path}.", file=sys.stderr)
        return
    try:
        file = io.TextIOWrapper(open_regular(path), encoding="utf-8", errors="replace")
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
