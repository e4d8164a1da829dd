"""What this PC gave other peers and got from them, as the ledger's file has it. Loads nothing of the network."""

import time
from collections.abc import Mapping

import msgspec

from core.community.reading import Reader
from core.contracts.credit import Credit, Exchanged, SignedSheet, With, day_of, days_of

LISTED = 1000
"""Runs and days that are told."""
PEERS, WITH_PEERS = 8, 60
"""Peers that are told of each, and of how many."""
_decode = msgspec.msgpack.Decoder(SignedSheet).decode


def credit(reader: Reader, flops: Mapping[str, int]) -> Credit:
    """All that there is.

    Args:
        reader: of the ledger.
        flops: floating-point operations of a unit of work, by run.
    """
    found: dict[tuple[int, str, bool], dict[bytes, list[int]]] = {}
    for run, day, way, peer, work in reader.rows(
        "SELECT run, day, way, peer, work FROM credit_counts WHERE way <> 'saw' AND work > 0"
    ):
        found.setdefault((day, run, way == "gave"), {})[peer] = [work, 0, 0]
    for run, way, peer, raw in reader.rows("SELECT run, way, peer, signed FROM credit_sheets"):
        sheet = _decode(raw).sheet
        for day, work, audited in zip(days_of(sheet.week), sheet.work, sheet.audited, strict=True):
            if work:
                amounts = found.setdefault((day, run, way == "gave"), {}).setdefault(peer, [0, 0, 0])
                amounts[1:] = work, audited
    told = [
        _exchanged(key, peers, flops.get(key[1], 0), number < WITH_PEERS)
        for number, (key, peers) in enumerate(sorted(found.items(), key=lambda one: (-one[0][0], *one[0][1:])))
    ]
    given = [one for one in told if one.given]
    return Credit(
        day_of(time.time()),
        told[:LISTED],
        sum(one.verified for one in given),
        sum(one.pending for one in given),
        min((one.day for one in given), default=None),
    )


def _exchanged(key: tuple[int, str, bool], peers: dict[bytes, list[int]], flops: int, by_peer: bool) -> Exchanged:
    day, run, given = key
    of = [With(peer.hex(), counted, signed, verified) for peer, (counted, signed, verified) in peers.items()]
    of.sort(key=lambda one: (-one.verified - one.pending, one.peer))
    shown = of[:PEERS] if by_peer else []
    return Exchanged(
        run,
        day,
        given,
        flops,
        float(flops * sum(one.verified for one in of)),
        float(flops * sum(one.pending for one in of)),
        shown,
        len(of) - len(shown),
    )
