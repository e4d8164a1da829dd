"""`hearth credit`: what this PC computed for others and who signed for it; `hearth board`: the same of all peers."""

import argparse
import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from rich.console import RenderableType

from core.commands import common, tables
from core.community.board_page import REASONS
from core.community.credit_history import credit as credit_of
from core.community.reading import read_only
from core.community.rules import rules_of
from core.contracts import manifest as manifests
from core.contracts.credit import (
    DAY_S,
    BoardParams,
    CertificateParams,
    Credit,
    Exchanged,
    Leaderboard,
    Published,
    Ranking,
)
from core.contracts.errors import ManifestError, NotRunning
from core.contracts.peer_names import called
from core.contracts.telemetry import Told
from core.contracts.words import counted, operations
from core.control.client import ControlClient
from core.identity import parse_peer
from core.logs import printable
from core.store.data_folder import RUNS, data_path

CERTIFICATE = "hearth-certificate.json"
SMALL = 8
"""Peers: with fewer, what nobody trusted has audited hardly ever counts."""
BOARD_S = 300.0
"""The longest wait until all peers have been asked."""


def credit(options: argparse.Namespace) -> None:
    """Works also while no worker runs."""
    answer = _credit(data_path(options.data_dir))
    if options.json:
        common.print_json(answer)
    elif answer.exchanged:
        tables.show(_table(answer))
        print(f"Given: {operations(answer.verified)} verified, {operations(answer.pending)} pending, in total.")
    else:
        print("Nothing yet. Figures appear when other peers train with the experts of this PC, or it with theirs.")


def certificate(options: argparse.Namespace) -> None:
    """Have the worker write one."""
    path = Path(options.out or CERTIFICATE).absolute()
    with common.client(options) as client:
        client.call("certificate", CertificateParams(str(path)), dict[str, str], BOARD_S)
    print(f"{path} holds what trainers have signed for this PC. Anybody can check it: hearth credit verify FILE")


def leaderboard(options: argparse.Namespace) -> None:
    """What the runs' boards have told by their brokers; else what this PC itself has verified."""
    with common.client(options) as client:
        told = client.call("telemetry", {}, Told)
        mine = None if told.boards else client.call("leaderboard", {}, Leaderboard)
    if options.json:
        own = [{"ranked": mine}] if mine else []
        common.print_json([*({**msgspec.structs.asdict(one), "by": one.by.hex()} for one in told.boards), *own])
        return
    for one in told.boards:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.time))
        print(f"{one.run}, by the board {called(one.by.hex())}, {when}")
        print(
            f"{counted(one.online, 'peer is', 'peers are')} there, {one.samples_per_s:,.0f} samples/s; "
            f"{operations(one.verified)} verified, {operations(one.pending)} pending, of {counted(one.peers, 'peer')}."
        )
        _show(one.ranked)
    if mine:
        missing = "None of their boards has told anything yet" if told.brokers else "No run here names a broker"
        if mine.ever.best or mine.ever.others:
            print(f"{missing}. This is what this PC itself has verified so far, in all runs here.")
            _show(mine)
        else:
            print(f"{missing}, and this PC itself has verified nothing yet: there is no leaderboard.")


def _show(ranked: Leaderboard) -> None:
    for name, ranking in ("Today (UTC)", ranked.today), ("7 days", ranked.week), ("All time", ranked.ever):
        if ranking.best or ranking.others:
            tables.show(_ranked(name, ranking))


def _ranked(name: str, ranking: Ranking) -> RenderableType:
    shown = tables.table()
    for head in (name, "Name", "Team"):
        shown.add_column(head)
    shown.add_column("Verified", justify="right")
    for one in ranking.best:
        shown.add_row(str(one.place), printable(one.name) or "This PC", printable(one.team), operations(one.verified))
    if ranking.others:
        shown.add_row("", counted(ranking.others, "other"), "", operations(ranking.others_verified))
    return shown


def board(options: argparse.Namespace) -> None:
    """Ask all peers, verify, and write the page; again and again if the user wants it."""
    folder, trust = Path(options.out).absolute(), tuple(parse_peer(peer).hex() for peer in options.trust)
    while True:
        with common.client(options) as client:
            asked = BoardParams(str(folder), trust)
            done = client.call("board", asked, Published, BOARD_S)
        if options.json:
            common.print_json(done)
        else:
            print(
                f"{folder}: {counted(done.peers, 'peer')}, {counted(done.sheets, 'signed sheet')}; "
                f"{operations(done.verified)} verified, {operations(done.pending)} pending."
            )
            for line in _hints(done):
                print(line)
        if options.every is None:
            return
        time.sleep(options.every)


def _hints(done: Published) -> Iterator[str]:
    """What was refused, why the rest is pending, and what to do about that where the swarm is small."""
    for one in done.refused:
        yield f"Refused: {one}"
    for reason, amount in sorted(done.reasons.items(), key=lambda one: -one[1]):
        if amount:
            yield f"Pending, {operations(amount)}: {REASONS.get(reason, reason)}."
    if not done.sheets:
        yield (
            "No peer has shown any credit yet. There is some a few minutes after one PC has trained with experts that "
            "another one hosts (hearth peers, hearth credit)."
        )
    elif done.peers < SMALL and done.pending > done.verified:
        yield (
            "In a swarm of few PCs little counts by itself. This board believes the PC that it runs on, the run's "
            "organiser, peers in the manifest's bootstrap, and those that you name: --trust PEER. One must train."
        )


def _credit(folder: Path) -> Credit:
    try:
        with ControlClient(folder) as client:
            return client.call("credit", {}, Credit)
    except NotRunning:  # or it hangs, but the file is there
        return credit_of(read_only(folder), flops_of(folder))


def flops_of(folder: Path) -> Mapping[str, int]:
    """Of a unit of work, by run: of those that come with Hearth and those that were ever joined."""
    found = {}
    kept = sorted(str(path) for path in (folder / RUNS).glob("*/manifest.json"))
    for name in (*manifests.built_in_runs(), *kept):
        with contextlib.suppress(ManifestError):
            run = manifests.load(name)
            found[run.run_id] = rules_of(run).flops
    return found


def _table(answer: Credit) -> RenderableType:
    shown = tables.table()
    for head in ("Day (UTC)", "Run", "", "Peer"):
        shown.add_column(head)
    for head in ("Verified", "Pending"):
        shown.add_column(head, justify="right")
    for one in answer.exchanged:
        day = time.strftime("%Y-%m-%d", time.gmtime(one.day * DAY_S))
        amounts = operations(one.verified), operations(one.pending)
        shown.add_row(day, one.run, "given to" if one.given else "got from", _all(one), *amounts, style="bold")
        for peer in one.peers:
            of_peer = operations(one.flops * peer.verified), operations(one.flops * peer.pending)
            shown.add_row("", "", "", called(peer.peer), *of_peer)
    return shown


def _all(one: Exchanged) -> str:
    return counted(len(one.peers) + one.others, "peer")
