"""`hearth run publish`: all that an organiser does with a manifest until others can join: sign it, have this PC train
it, see that the peers which it names give it to others, and print the link."""

import argparse
import sys
import time
from pathlib import Path

from core.commands import common, manifests
from core.contracts.control import JoinRunParams, RunLinked, RunParams
from core.contracts.errors import HearthError, NetworkError, NotRunning
from core.contracts.manifest import Manifest, check
from core.contracts.network_status import NetworkParams, NetworkStatus
from core.contracts.notices import Notice, english
from core.contracts.peer_names import called
from core.contracts.run_details import RunDetails
from core.contracts.run_link import RunLink
from core.contracts.status import RunStatus, Status
from core.control.client import ControlClient

FETCH_S = 60.0
TOKENS = (
    "By it alone nobody is let in: each volunteer needs a link with a token. They send you what `hearth address` "
    "prints there, and you send them what this prints: hearth access grant {run} ADDRESS --name NAME"
)
HEARS_S = 120.0
"""A peer that has the run asks another one for a newer manifest every 10 s; that one may have to hear of it, too."""
BEGINS_S = 10.0
"""For a peer that has just heard of it and begins the run anew: it does not answer meanwhile."""
AGAIN_S = 2.0


def publish(options: argparse.Namespace) -> int:
    """Do all of it, and say each step.

    Raises:
        HearthError: a step failed; those before it are done.
    """
    path = Path(common.named_run(options))
    manifest, wrong = check(path)
    if manifest is None:
        return manifests.refuse(str(path), wrong)
    out, signed = _signed(manifest, path, options)
    try:
        with common.client(options) as client:
            _join(client, out, signed)
            answers = _asked(client, signed)
            link = client.call("run_link", RunParams(signed.run_id), RunLinked).link
    except NotRunning:
        folder = f" --data-dir {options.data_dir}" if options.data_dir else ""
        print("No worker runs here: start one in another terminal, then publish again.", file=sys.stderr)
        print(f"    hearth worker --run {out} --listen 0.0.0.0:4401{folder}", file=sys.stderr)
        raise
    if silent := [called(peer) for peer, said in answers.items() if said]:
        print(f"Join it also on {', '.join(silent)}: type hearth run join LINK there. Then publish it here again.")
    print("The link for volunteers. Keep this PC running until others have all data:")
    print(link)
    if signed.access == "tokens":
        print(TOKENS.format(run=signed.run))
    return NetworkError.exit_code if answers and all(answers.values()) else 0


def _signed(manifest: Manifest, path: Path, options: argparse.Namespace) -> tuple[Path, Manifest]:
    """A run that is signed stays its organiser's, whoever publishes it."""
    if manifest.organiser:
        print(f"{path} is signed: {manifest.run_id}, revision {manifest.revision}.")
        return path, manifest
    out, signed = manifests.signed_form(manifest, path, options)
    print(f"Signed {out}: {signed.run_id}, revision {signed.revision}.")
    return out, signed


def _join(client: ControlClient, out: Path, signed: Manifest) -> None:
    """Have the worker train the run, by this manifest."""
    runs = client.call("status", {}, Status).runs
    here = signed.run_id in {one.id for one in runs}
    before = client.call("run_details", RunParams(signed.run_id), RunDetails, FETCH_S).manifest if here else None
    if before is None or before.revision < signed.revision:
        client.call("join_run", JoinRunParams(str(out.absolute())), RunStatus, FETCH_S)
        print(f"This PC now uses revision {signed.revision}." if here else "This PC trains it from now on.")
    else:
        print("This PC trains it.")
    for one in runs:
        if one.name == signed.run and one.id != signed.run_id:
            print(f"It also trains {one.id}, another run of that name. To stop that: hearth run leave {one.id}")


def _asked(client: ControlClient, signed: Manifest) -> dict[str, str]:
    """Ask each peer that the manifest names for it, as a newcomer would: why not, or nothing if it gives it."""
    me = client.call("network", NetworkParams(0, 0), NetworkStatus).peer
    answers = {}
    for address in signed.bootstrap:
        if (peer := address.partition("@")[0]) != me:
            print(f"Asking peer {called(peer)} for it.", flush=True)
            said = answers[peer] = _silence(client, signed, address)
            said = said.replace(f"Peer {called(peer)}", "it")
            told = f"does not give it to others: {said}" if said else f"gives revision {signed.revision} to others."
            print(f"Peer {called(peer)} {told}", flush=True)
    if not answers:
        print("Its manifest names no other peer (bootstrap): volunteers join through this PC alone.")
    return answers


def _silence(client: ControlClient, signed: Manifest, address: str) -> str:
    """Why a peer does not give this manifest; empty: it does."""
    link = RunLink(signed.run_id, str(signed.organiser), (address,))
    before, asked = 0, 0.0
    while True:
        try:
            found = client.call("run_details", RunParams(str(link)), RunDetails, FETCH_S).manifest.revision
        except HearthError as error:
            why = error.notice.args.get("why") if error.notice.code == "run.link_nobody" else None
            alone = [one for one in why if isinstance(one, Notice)] if isinstance(why, list) else []
            said = english(alone or error.notice)  # the link names this peer only
        else:
            if found >= signed.revision:
                return ""
            said = f"it still has revision {found}."
            if not before:
                peer = called(address.partition("@")[0])
                print(f"Waiting up to {HEARS_S:.0f} s for peer {peer}, which still has revision {found}.", flush=True)
            before = found
        asked = asked or time.monotonic()  # the first time may have taken long
        if time.monotonic() - asked > (HEARS_S if before else BEGINS_S):
            return said
        time.sleep(AGAIN_S)
