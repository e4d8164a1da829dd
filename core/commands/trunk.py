"""`hearth trunk`: what the trainers of a run have agreed on."""

import argparse
import time

from core.commands import common
from core.contracts.trunk_status import PartStatus, TrunkParams, TrunkStatus
from core.contracts.words import counted, duration


def show(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        status = client.call("trunk", TrunkParams(options.run), TrunkStatus)
    if options.json:
        common.print_json(status)
        return
    if status.strategy == "local":
        print(f"Each trainer of {status.run} has a trunk of its own.")
        return
    known = counted(len(status.parts), "part is", "parts are")
    print(f"{status.run}: trainers agree by {status.strategy}; {known} known here.")
    for part in status.parts:
        print(_line(part) + (_syncer(part) if status.strategy == "diloco" else ""))


def _line(part: PartStatus) -> str:
    ago = "" if part.agreed is None else f" {duration(max(0.0, time.time() - part.agreed))} ago"
    made = f"agreement {part.version:,} of {counted(part.peers, 'trainer')}{ago}"
    return f"part {part.part}  {part.numbers:,} numbers  {made}  {part.digest[:8]}"


def _syncer(part: PartStatus) -> str:
    return f"  synced by {part.syncer[:8]}" if part.syncer else "  nobody syncs it now"
