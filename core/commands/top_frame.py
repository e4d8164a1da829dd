"""One frame of `hearth top`: lines no wider than the terminal, and no more of them than it has."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from core.commands.tables import table
from core.commands.terminal import ATTENTION, STYLES
from core.contracts.attention import labelled
from core.contracts.errors import HearthError
from core.contracts.kinds import TASKS
from core.contracts.ledger import Amounts, Totals
from core.contracts.network_status import NetworkStatus, PeerStatus
from core.contracts.notices import english
from core.contracts.peer_names import called
from core.contracts.status import STATE_WORD, DeviceStatus, RunStatus, State, Status
from core.contracts.words import counted, duration, electricity, traffic
from core.logs import printable

MOST = 3
"""Runs, devices and warnings that are listed; of more it is said how many."""
HEAD_AND_MORE = 2
"""Lines of a table of peers beside them."""
END = "q or Ctrl+C ends this; Hearth keeps running."
NO_PEERS = "No peer is connected: this PC is alone."


class Seen(NamedTuple):
    """What the worker has told."""

    status: Status
    """Of the PC and its first run; calls are those of all runs."""
    totals: Totals
    network: NetworkStatus | None
    """None: it was started without a network."""


def waiting(error: HearthError, now: float) -> RenderableType:
    """The frame while there is nothing to show.

    Args:
        error: why.
        now: unix time.
    """
    return Group(
        _head("waiting", now), Text(f"{error} As soon as a worker answers, it is shown here."), Text(), _foot()
    )


def frame(seen: Seen, console: Console | None) -> RenderableType:
    """The frame, with as many peers as there is room for.

    Args:
        seen: what there is to show.
        console: where it is drawn; None: on lines that nobody counts, without a hint at the keys.
    """
    status, network = seen.status, seen.network
    peers, connected = (network.peers, network.connected) if network else ([], 0)
    reason = Text(f"{english(status.reason)} {english(status.until)}".strip())
    warnings = [Text(f"{word}: {said}", style=ATTENTION[word]) for word, said in labelled(status.attention)[:MOST]]
    above: list[RenderableType] = [
        Group(_head(status.state, status.time), reason, *warnings),
        _runs(status),
        _devices(status),
        _done(seen.totals),
        Text(_network(network, seen.totals.today.amounts), no_wrap=True, overflow="ellipsis"),
    ]
    spaced: list[RenderableType] = [part for one in above for part in (one, Text())][:-1]
    if console is None:
        return Group(*spaced, _peers(peers, connected))
    for parts in (spaced, above):
        taken = len(console.render_lines(Group(*parts, _foot()), console.options.update(height=None)))
        room = console.height - taken - HEAD_AND_MORE
        if room > 0:
            break
    return Group(*parts, _peers(peers[: max(0, room)], connected), _foot())


def _head(state: State, now: float) -> Table:
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(
        Text.assemble(("Hearth  ", "bold"), (STATE_WORD[state], STYLES.get(state, "bold"))),
        time.strftime("%H:%M:%S", time.localtime(now)),
    )
    return head


def _foot() -> Text:
    return Text(END, style="dim", no_wrap=True, overflow="ellipsis")


def _columns(first: str, *others: str) -> Table:
    """A table whose first column gives way."""
    shown = table()
    shown.expand = True
    shown.add_column(first, no_wrap=True, overflow="ellipsis", ratio=1)
    for name in others:
        shown.add_column(name, justify="right", no_wrap=True)
    return shown


def _more(shown: Table, left: int) -> None:
    if left > 0:
        shown.add_row(Text(f"and {left} more", style="dim"))


def _runs(status: Status) -> Table:
    """How far each run is, and how fast."""
    shown = _columns("Run", "rate/s", "model saw", "step", "loss", "accuracy", "experts")
    for run in status.runs[:MOST]:
        shown.add_row(*_run(run))
    _more(shown, len(status.runs) - MOST)
    return shown


def _run(run: RunStatus) -> Sequence[str]:
    in_bytes = TASKS[run.task].unit == "bytes"
    title = (
        f"{run.title}: {english.phrase(run.waits)}"
        if run.waits
        else f"{run.title}: goal reached"
        if run.reached
        else run.title
    )
    return (
        printable(title),
        traffic(run.samples_per_s) if in_bytes else f"{run.samples_per_s:,.0f}",
        traffic(run.samples) if in_bytes else f"{run.samples:,}",
        f"{run.step:,}",
        "-" if run.loss is None else f"{run.loss:.3f}",
        "-" if run.accuracy is None else f"{run.accuracy:.1%}",
        f"{run.experts:,}",
    )


def _devices(status: Status) -> Table:
    """What computes, and what Hearth takes of it."""
    shown = _columns("Device", "Hearth", "others", "heat", "power", "memory", "experts")
    for device in status.devices[:MOST]:
        shown.add_row(*_device(device, status), style="" if device.on else "dim")
    _more(shown, len(status.devices) - MOST)
    return shown


def _device(device: DeviceStatus, status: Status) -> Sequence[str]:
    megabytes = sum(one.memory_mb for one in status.processes) if device.kind == "cpu" else device.taken_bytes / 2**20
    return (
        printable(device.name) + ("" if device.on else " (off)"),
        "-" if device.load is None else f"{device.load:.0%}",
        "-" if device.others is None else f"{min(device.others, 1.0 - (device.load or 0.0)):.0%}",
        "-" if device.celsius is None else f"{device.celsius:.0f} °C",
        "-" if device.watts is None else f"{device.watts:.0f} W",
        f"{megabytes:,.0f} MB",
        f"{device.experts:,}",
    )


def _done(totals: Totals) -> Table:
    """What was done for others, and apart from that what for this PC, today and ever."""
    shown = table()
    shown.expand = True
    shown.add_column("Done", no_wrap=True)
    for name in ("today", "ever"):
        shown.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1)
    for name, words in (("for others", _for_others), ("for itself", _for_itself), ("in total", _in_total)):
        shown.add_row(name, *(words(period.amounts) for period in (totals.today, totals.all)))
    return shown


def _for_others(amounts: Amounts) -> str:
    return ", ".join(
        [f"{_short(amounts.peer_calls)} calls"] + [f"{traffic(amounts.reduced)} combined"] * bool(amounts.reduced)
    )


def _for_itself(amounts: Amounts) -> str:
    done = [f"{_short(amounts.calls - amounts.peer_calls)} calls"] * bool(amounts.calls)
    done += [f"{_short(amounts.samples)} samples"] * bool(amounts.samples or not amounts.tokens)
    return ", ".join(done + [f"{_short(amounts.tokens)} tokens"] * bool(amounts.tokens))


def _in_total(amounts: Amounts) -> str:
    return f"{duration(amounts.seconds)} of computing, {electricity(amounts.kwh)}"


def _short(count: int) -> str:
    """In little room: 9,999, 143 k, 1.24 M."""
    return f"{count:,}" if count < 100_000 else f"{count / 1e3:.0f} k" if count < 999_500 else f"{count / 1e6:,.2f} M"


def _network(network: NetworkStatus | None, today: Amounts) -> str:
    """How many peers there are, how they reach this PC, and today's traffic."""
    if network is None:
        return "Network: none; this PC was started to work alone."
    moved = f"today {traffic(today.bytes_out)} sent, {traffic(today.bytes_in)} received"
    return f"{counted(network.connected, 'peer')} connected; from outside {network.reachability}; {moved}"


def _peers(peers: Sequence[PeerStatus], connected: int) -> RenderableType:
    if not peers:
        return Text(NO_PEERS if not connected else "", style="dim")
    shown = _columns("Peer", "path", "round trip", "in", "out")
    for peer in peers:
        way = peer.path if peer.path == "direct" else "relayed"
        moved = traffic(peer.bytes_in), traffic(peer.bytes_out)
        shown.add_row(called(peer.peer, printable(peer.name)), way, f"{peer.rtt_ms:.1f} ms", *moved)
    _more(shown, connected - len(peers))
    return shown
