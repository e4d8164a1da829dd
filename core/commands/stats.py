"""`hearth stats`: what this PC contributed, from its worker or, while none runs, from the ledger's file."""

import argparse
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rich.console import Group, RenderableType

from core.commands import common, tables
from core.community.reading import read_only
from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError, NotRunning
from core.contracts.ledger import Amounts, Totals, traffic_kind
from core.contracts.notices import english
from core.contracts.words import counted, duration, electricity, traffic
from core.control.client import ControlClient
from core.store.data_folder import MANIFEST_FILE, RUNS, data_path

NOTHING = Amounts()


def show(options: argparse.Namespace) -> None:
    """Works also while no worker runs."""
    folder = data_path(options.data_dir)
    answer = totals(folder)
    if options.json:
        common.print_json(answer)
    else:
        tables.show(table(answer, titles(folder, answer.all.runs)))


def totals(folder: Path) -> Totals:
    """What was contributed with this data folder.

    Raises:
        DataFolderError: the ledger cannot be read.
        ProtocolError: the worker is of another version.
    """
    try:
        with ControlClient(folder) as client:
            return client.call("totals", {}, Totals)
    except NotRunning:  # or it hangs, but the file is there
        return read_only(folder).totals(time.time())


def titles(folder: Path, runs: Iterable[str]) -> dict[str, str]:
    """How people know runs: by their titles, of which two may be the same; by the id where no manifest was kept.

    Args:
        folder: the data folder.
        runs: their ids.
    """
    known = {run.run_id: run.title for run in map(manifests.load, manifests.built_in_runs())}
    for run in set(runs) - known.keys():
        with contextlib.suppress(ManifestError):
            known[run] = manifests.load(str(folder / RUNS / run / MANIFEST_FILE)).title
    times = Counter(known.values())
    named = {run: title if times[title] == 1 else f"{title} ({run})" for run, title in known.items()}
    return {run: named.get(run, f"Run {run}") for run in runs}


def table(answer: Totals, titles: Mapping[str, str]) -> RenderableType:
    """All there is, then by run and by device; what is nothing anywhere is not shown.

    Args:
        answer: the sums.
        titles: of its runs, by id.
    """
    if answer.since is None:
        return "Nothing yet. Figures appear within a minute after this PC has begun to compute."
    local = time.localtime(answer.since)
    shown = tables.table()
    shown.add_column(f"Since {local.tm_mday} {time.strftime('%B %Y', local)}")
    for name in ("Today", "7 days", "Ever"):
        shown.add_column(name, justify="right")
    periods = (answer.today, answer.week, answer.all)
    groups = [("All", [period.amounts for period in periods])]
    groups += [(titles[run], [period.runs.get(run, NOTHING) for period in periods]) for run in answer.all.runs]
    groups += [
        (_device(device), [period.devices.get(device, NOTHING) for period in periods]) for device in answer.all.devices
    ]
    for name, amounts in groups:
        shown.add_row(name, style="bold")
        for row in _rows(amounts):
            shown.add_row(*row)
    told = ", ".join(
        f"{for_others(period.amounts)} {when}" for period, when in ((answer.today, "today"), (answer.all, "in total"))
    )
    return Group(f"For others: {told}.", "", shown)


def for_others(amounts: Amounts) -> str:
    """What was done for other peers, apart from the training of this PC."""
    calls = counted(amounts.peer_calls, "expert call")
    return f"{calls} and {traffic(amounts.reduced)} combined" if amounts.reduced else calls


def _device(device: str) -> str:
    kind = device.removeprefix("network.")
    if kind != device:
        return f"Network: {english(traffic_kind(kind))}"
    return {"": "This PC", "cpu": "CPU"}.get(device, f"GPU {device}")


def _rows(amounts: list[Amounts]) -> list[list[str]]:
    """Label and figures of each line that is not nothing."""
    lines: list[tuple[str, Callable[[Amounts], float], Callable[[Amounts], str]]] = [
        ("Expert calls for others", lambda a: a.peer_calls, lambda a: f"{a.peer_calls:,}"),
        ("Combined for others' trunk", lambda a: a.reduced, lambda a: traffic(a.reduced)),
        ("Expert calls for itself", lambda a: a.calls - a.peer_calls, lambda a: f"{a.calls - a.peer_calls:,}"),
        ("Samples trained here", lambda a: a.samples, lambda a: f"{a.samples:,}"),
        ("Tokens trained here", lambda a: a.tokens, lambda a: f"{a.tokens:,}"),
        ("In the common trunk", lambda a: a.accepted, lambda a: f"{a.accepted:,}"),
        ("Compute time", lambda a: a.seconds, lambda a: duration(a.seconds)),
        ("Received from peers", lambda a: a.bytes_in, lambda a: traffic(a.bytes_in)),
        ("Sent to peers", lambda a: a.bytes_out, lambda a: traffic(a.bytes_out)),
        ("Electricity", lambda a: a.kwh, _electricity),
        ("Given back to you", lambda a: a.yields, lambda a: counted(a.yields, "time")),
    ]
    return [
        [f"  {label}", *(words(one) if amount(one) else "-" for one in amounts)]
        for label, amount, words in lines
        if any(map(amount, amounts))
    ]


def _electricity(amounts: Amounts) -> str:
    about = "" if amounts.kwh_measured > 0.99 * amounts.kwh else "about "
    return f"{about}{electricity(amounts.kwh)}"
