"""`hearth run`: the runs of this PC, and how they share its time."""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from core.commands import common, manifests, publish, run_status
from core.contracts.build import hearth_command, this_build
from core.contracts.control import JoinRunParams, LeaveRunParams, RunLinked, RunParams, WeightParams
from core.contracts.errors import CheckpointError, ComputeError, NotRunning, SettingsError
from core.contracts.export import Collected, CollectParams, ExportAnswer, Exported, ExportJob, form_of
from core.contracts.kinds import TASKS
from core.contracts.manifest import built_in_runs, is_path, load
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails, details_of
from core.contracts.run_link import is_link, parse_link
from core.contracts.status import RunStatus, Status
from core.contracts.telemetry import NoticeParams
from core.contracts.words import counted

COLLECT_S = 600.0
"""For fetching the states of all parts from other peers."""
TRIES = 3
"""States are replaced by newer ones while training goes on."""

LET_IN = "The link's token lets this PC in."
KEPT = "The link's token is kept: it lets this PC in when the organiser closes the run to those without one."
NOT_LET_IN = (
    "The link has no token: the run's other peers let this PC in once you have joined by one that has. Send the "
    "organiser what `hearth address` prints here."
)
FETCH_S = 60.0
"""For the manifest of a link, and for a run that is begun anew."""


def run(options: argparse.Namespace) -> int | None:
    """What is wanted of which run."""
    return {
        "list": _list,
        "join": _join,
        "leave": _leave,
        "weight": _weight,
        "check": manifests.check,
        "sign": manifests.sign,
        "notice": _notice,
        "publish": publish.publish,
        "status": run_status.status,
        "show": _show,
        "link": _link,
        "export": _export,
    }[options.what](options)


OLDER_READERS = 512
"""Experts in a layer."""


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
    name = _known_to_the_worker(options)
    with common.client(options) as client:
        goes_by = None
        if name not in built_in_runs():
            found = client.call("run_details", RunParams(name), RunDetails, FETCH_S)
            for line in manifests.described(found):
                print(line)
            if not _agrees(options):
                print("Nothing was joined.")
                return
            goes_by = found.manifest.revision if found.joined else None
        joined = client.call("join_run", JoinRunParams(name, options.weight or 1), RunStatus, FETCH_S)
    if goes_by is not None:
        print(f"{joined.id} ({joined.title}) now uses revision {goes_by} of its manifest.")
    else:
        print(f"Joined {joined.id} ({joined.title}) with weight {joined.weight}.")
    if is_link(name):
        has_token, needs_one = bool(parse_link(name).token), found.manifest.access == "tokens"
        if has_token or needs_one:
            print(NOT_LET_IN if not has_token else LET_IN if needs_one else KEPT)


def _agrees(options: argparse.Namespace) -> bool:
    """Whether somebody wants to join what was shown.

    Raises:
        SettingsError: nobody can be asked.
    """
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise SettingsError("There is no terminal here to ask whether to join this run: add --yes.")
    return input("Join this run? [y/N] ").strip().lower() in ("y", "yes")


def _show(options: argparse.Namespace) -> None:
    name = _known_to_the_worker(options)
    try:
        with common.client(options) as client:
            found = client.call("run_details", RunParams(name), RunDetails, FETCH_S)
    except NotRunning:
        if is_link(name):
            raise
        found = details_of(load(name))
    if options.json:
        common.print_json(found)
        return
    for line in manifests.described(found, everything=True):
        print(line)


def _link(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        print(client.call("run_link", RunParams(common.named_run(options)), RunLinked).link)


def _notice(options: argparse.Namespace) -> None:
    if not options.text:
        raise SettingsError("Which text? For example: hearth run notice digits --text 'Thank you all.'")
    with common.client(options) as client:
        client.call("run_notice", NoticeParams(common.named_run(options), options.text), dict[str, str])
    print("Everybody who has joined gets it; those who are away, when they are back.")


def _known_to_the_worker(options: argparse.Namespace) -> str:
    """How the worker, which has another current folder, knows what was named.

    Raises:
        RunError: a link is none, be there a worker or not.
    """
    name = common.named_run(options)
    if is_link(name):
        parse_link(name)
    return str(Path(name).absolute()) if is_path(name) else name


def _leave(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        left = client.call("leave_run", LeaveRunParams(common.named_run(options)), RunStatus, 60.0)
        others = ", ".join(one.id for one in client.call("status", {}, Status).runs)
    print(f"Left {left.id} ({left.title}). What was trained stays in the data folder. This PC is still in {others}.")


def _weight(options: argparse.Namespace) -> None:
    if options.weight is None:
        raise SettingsError("Which weight? For example: hearth run weight digits 3")
    with common.client(options) as client:
        run = client.call("weight", WeightParams(common.named_run(options), options.weight), RunStatus)
    print(f"{run.id} has weight {run.weight}.")


def _export(options: argparse.Namespace) -> None:
    out, done = _written(options)
    if options.json:
        common.print_json(done)
        return
    bits = f" ({done.bits:.3f} bits per byte)" if done.bits else ""
    judged = f"loss {done.loss:.4f}{bits}, {done.accuracy:.1%} right on held-out data"
    print(f"Wrote {out}: {done.samples:,} samples, {judged}.")
    missing, whole = done.experts - done.trained, counted(done.experts, "expert")
    if done.kept is not None:
        _say_what_is_left_out(done, whole)
    elif missing:
        print(f"{missing:,} of {whole} as they began: not trained yet, or nobody gave the state.")
    if (out / "model.py").exists():
        python = "python3" if this_build().frozen else sys.executable  # a package's own runs nothing but Hearth
        print(f"Try it: {python} {out / 'model.py'}")


def _say_what_is_left_out(done: Exported, whole: str) -> None:
    """Of a model that other programs read."""
    print(f"It has {done.kept:,} experts in each layer; {done.trained:,} of {whole} were trained and could be had.")
    if done.loss_of_all is not None:
        print("The least used were left out, as each layer must have equally many: ", end="")
        print(f"the loss was {done.loss_of_all:.4f} with them.")
    if done.kept and done.kept > OLDER_READERS:
        print(f"Older versions of llama.cpp read at most {OLDER_READERS} experts in a layer.")


def _written(options: argparse.Namespace) -> tuple[Path, Exported]:
    """The folder with the run's model, and what was written there.

    Raises:
        HearthError: none was.
    """
    name = common.named_run(options)
    if options.type and options.format != "gguf":
        raise SettingsError("--type is for a gguf file: add --format gguf, or leave it out.")
    params, again, fault = CollectParams(name), True, notice("export.failed", status=0)
    if options.format:  # to collect the states of a large run takes minutes
        with common.client(options) as client:
            form_of(
                client.call("run_details", RunParams(name), RunDetails, FETCH_S).manifest.model.kind, options.format
            )
    for _ in range(TRIES):
        if not again:
            break
        with common.client(options) as client:
            print("Collecting the newest state of each part, also from other peers ...", file=sys.stderr)
            collected = client.call("collect", params, Collected, COLLECT_S)
        out = (options.out or Path(collected.run)).resolve()
        print(f"Writing and evaluating {counted(collected.experts, 'expert')} ...", file=sys.stderr)
        job = msgspec.json.encode(ExportJob(collected, str(out), options.format, options.type or "f16"))
        process = subprocess.run(hearth_command("write-model"), input=job, stdout=subprocess.PIPE, check=False)
        if process.returncode:
            raise ComputeError(notice("export.failed", status=process.returncode))
        answer = msgspec.json.decode(process.stdout, type=ExportAnswer)
        if answer.done is not None:
            return out, answer.done
        again, fault = answer.again, answer.fault or fault
    raise CheckpointError(fault)
