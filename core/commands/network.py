"""This peer and the others: peers, address, doctor, dht, identity."""

import argparse
import sys
import time

import msgspec

from core.commands import common
from core.contracts.errors import SettingsError
from core.contracts.network_status import DhtRecord, DhtStatus, Finding, MeetParams, Met, NetworkParams, NetworkStatus
from core.contracts.peer_names import called
from core.contracts.status import Status
from core.contracts.words import counted, duration
from core.identity import Identity, peer_text
from core.logs import printable
from core.store.data_folder import data_folder, data_path

MEET_S = 30.0
"""For a peer that is dialled, through others if need be."""


def peers(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        if options.add:
            met = client.call("meet", MeetParams(options.add), Met, MEET_S)
            print(f"Connected to {called(met.peer)}.")
            return
        status = client.call("network", {}, NetworkStatus)
        peers = list(status.peers)
        while len(peers) < status.connected:
            more = client.call("network", NetworkParams(len(peers)), NetworkStatus).peers
            if not more:
                break  # some have gone meanwhile
            peers += more
        status = msgspec.structs.replace(status, peers=peers)
        line = client.call("status", {}, Status).line
    if options.json:
        common.print_json(status)
        return
    print(f"This PC  {called(status.peer)}  {status.reachability} ({status.step})  roles {', '.join(status.roles)}")
    for way, limit in (("Upload", line.upload), ("Download", line.download)) if line else ():
        print(f"{way:8} {limit.why}")
    for peer in status.peers:
        traffic = f"{peer.bytes_in / 1e6:.1f} MB in, {peer.bytes_out / 1e6:.1f} MB out"
        since = duration(time.time() - peer.since)
        name = called(peer.peer, printable(peer.name))
        print(f"{name}  {peer.path}  {peer.address}  {peer.rtt_ms:.1f} ms  {traffic}  for {since}")
    if not status.peers:
        print("No peer is connected.")


def address(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        print(client.call("network", {}, NetworkStatus).address)


def doctor(options: argparse.Namespace) -> int:
    """Exit code 1 if something should be done."""
    with common.client(options) as client:
        findings = client.call("doctor", {}, list[Finding])
    for finding in findings:
        mark = {True: "ok", False: "LOOK", None: "?"}[finding.good]
        print(f"{mark:4}  {finding.title!s:16} {finding.what}")
        if not finding.good:
            print(f"      {'':16} {finding.remedy}")
    return int(any(finding.good is False for finding in findings))


def dht(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        if options.what == "stats":
            stats = client.call("dht_stats", {}, DhtStatus)
            print(
                f"{counted(stats.contacts, 'peer')}, {counted(stats.keys, 'key')}, "
                f"{counted(stats.records, 'record')} of {stats.bytes} bytes"
            )
            if stats.experts is not None:
                print(f"{counted(stats.experts, 'expert is', 'experts are')} active in the run")
            offset = round(stats.clock_apart_s, 1)
            clocks = f"{abs(offset):.1f} s {'ahead' if offset > 0 else 'behind'}" if offset else "the same as this PC's"
            known = f"other clocks are {clocks}" if stats.contacts else "no other clock is known"
            print(f"{counted(stats.own, 'record')} of this PC; {known}")
            return
        if not options.key:
            raise SettingsError("Which key? For example: hearth dht get digits.0.1.3")
        records = client.call("dht_get", {"key": options.key}, list[DhtRecord], 30.0)
        if not records:
            print(f"Nobody has stored “{printable(options.key)}”.")
        for record in records:
            left = duration(max(0.0, record.expires - time.time()))
            print(f"{printable(record.subkey) or '-'}  by {called(record.peer)}  for {left}  {record.value[:80]}")


def identity(options: argparse.Namespace) -> None:
    if options.what == "import":
        folder = data_folder(options.data_dir)
        print("Type the 24 recovery words and press Enter:", file=sys.stderr)
        identity = Identity.from_words(sys.stdin.readline())
        kept = identity.replace_in(folder)
        print(f"This PC is now peer {peer_text(identity.peer)}." + (f" The old key is kept as {kept}." if kept else ""))
        return
    if options.what == "export":  # also before the first start of a worker, which makes the key
        identity = Identity.load_or_create(data_folder(options.data_dir))
    else:
        identity = Identity.load(data_path(options.data_dir))
    print(identity.words() if options.what == "export" else peer_text(identity.peer))
