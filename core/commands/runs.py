"""`hearth run`: the runs of this PC, and how they share its time."""

import argparse
from pathlib import Path

from core.commands import common
from core.contracts.control import JoinRunParams, LeaveRunParams, WeightParams
from core.contracts.errors import SettingsError
from core.contracts.kinds import TASKS
from core.contracts.notices import notice
from core.contracts.status import RunStatus, Status


def run(options: argparse.Namespace) -> None:
    """What is wanted of which run."""
    {"list": _list, "join": _join, "leave": _leave, "weight": _weight}[options.what](options)


def _list(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        runs = client.call("status", {}, Status).runs
    if options.json:
        common.print_json(runs)
        return
    whole = sum(one.weight for one in runs)
    for one in runs:
        phase = "not running" if one.phase == "absent" else one.phase
        step = f"{phase}, step {one.step:,}, {one.samples_per_s:,.0f} {TASKS[one.task].unit}/s"
        print(f"{one.id}  {one.title}  weight {one.weight} ({one.weight / whole:.0%} of the time)  {step}")
        for said in filter(None, (one.waits, notice("run.reached") if one.reached else None)):
            print(f"    {said}")


def _join(options: argparse.Namespace) -> None:
    name = _named(options)
    path = str(Path(name).absolute()) if name.endswith(".json") else name
    with common.client(options) as client:
        joined = client.call("join_run", JoinRunParams(path, options.weight or 1), RunStatus)
    print(f"Joined {joined.id} ({joined.title}) with weight {joined.weight}.")


def _leave(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        left = client.call("leave_run", LeaveRunParams(_named(options)), RunStatus, 60.0)
        others = ", ".join(one.id for one in client.call("status", {}, Status).runs)
    print(f"Left {left.id} ({left.title}). What was trained stays in the data folder. This PC still trains {others}.")


def _weight(options: argparse.Namespace) -> None:
    if options.weight is None:
        raise SettingsError("Which weight? For example: hearth run weight digits 3")
    with common.client(options) as client:
        run = client.call("weight", WeightParams(_named(options), options.weight), RunStatus)
    print(f"{run.id} has weight {run.weight}.")


def _named(options: argparse.Namespace) -> str:
    if not options.run:
        raise SettingsError(f"Which run? For example: hearth run {options.what} text")
    return str(options.run)
