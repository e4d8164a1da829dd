"""`hearth trunk`: what the trainers of a run have agreed on, who took part, and how near the next time is."""

import argparse
import time

from core.commands import common
from core.contracts.notices import english, notice
from core.contracts.peer_names import called
from core.contracts.trunk_status import GiverStatus, PartStatus, TrunkParams, TrunkStatus
from core.contracts.words import counted, duration, traffic

NEXT = {"samples": "samples of all trainers", "steps": "steps of this trainer to the next part"}
"""What `ProgressStatus` counts."""


def show(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        status = client.call("trunk", TrunkParams(options.run), TrunkStatus)
    if options.json:
        common.print_json(status)
        return
    if status.strategy == "local":
        print(f"Each trainer of {status.run} has a trunk of its own.")
        return
    print(_head(status))
    for part in status.parts:
        print(_line(part, status.strategy) + (_syncer(part) if status.strategy == "diloco" else ""))
    for giver in status.givers:
        print(f"trainer {_name(giver.peer, status)}  {_given(giver)}")
    for reducer in status.reducers:
        print(f"reducer {_name(reducer.peer, status)}  {reducer.share:.1%} of the trunk")
    if status.progress:
        print(f"next    {status.progress.done:,} of {status.progress.target:,} {NEXT[status.progress.unit]}")
    print(f"traffic {traffic(status.sent)} sent, {traffic(status.received)} received for the trunk since the start")
    done = f"{status.done.accepted:,} samples of this PC counted, {traffic(status.done.reduced)} of others combined"
    print(f"done    {done} since the start")
    if status.reached:
        print(english(notice("run.reached")))
    elif status.waits and status.ends:
        print(f"{english(status.waits)}. {english(status.ends)}")


def _head(status: TrunkStatus) -> str:
    way = f"{status.run}: trainers agree by {status.strategy}"
    if not status.parts:
        return f"{way}; this PC knows of no agreement since its start."
    return (
        f"{way} on the whole trunk." if len(status.parts) == 1 else f"{way} on {len(status.parts)} parts of the trunk."
    )


def _name(peer: str, status: TrunkStatus) -> str:
    return called(peer) + (", this PC" if peer == status.me else "")


def _given(giver: GiverStatus) -> str:
    samples = "" if giver.samples is None else f", {giver.samples:,} samples"
    if giver.share == 0.0:
        return f"not counted{samples}"
    counted = "took part" if giver.share in (None, 1.0) else f"in {giver.share:.0%} of the trunk"
    return counted + samples


def _line(part: PartStatus, strategy: str) -> str:
    ago = "" if part.agreed is None else f" {duration(max(0.0, time.time() - part.agreed))} ago"
    by = f"of {counted(part.peers, 'trainer')}" if part.peers else "taken over"
    one = "step" if strategy == "dedloc" else "agreement"  # where a trainer that is alone takes steps, too
    made = f"{one} {part.version:,} {by}{ago}" if part.version else f"no {one} yet"
    return f"part {part.part}  {part.numbers:,} numbers  {made}  {part.digest[:8]}"


def _syncer(part: PartStatus) -> str:
    return f"  synced by {called(part.syncer)}" if part.syncer else "  nobody syncs it now"
