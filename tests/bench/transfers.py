"""A simulator of transfers: how long a round of averaging takes at given bandwidths.

Event driven, without sockets and clocks. Each peer has an upload and a download; all transfers that go on at once share
them max-min fairly, as streams of TCP or QUIC do in the long run (Bertsekas and Gallager, Data Networks, 6.5.2). A
round is a butterfly: the vector is cut by shares and each share into chunks; a sender's chunks go to each reducer in
their order, and the mean of a chunk goes back as soon as all senders have delivered it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SAME = 1e-9
"""Moments and rates that differ by a smaller part are equal."""
CHUNKS = 128
"""About as many a vector; more change the times by less than 2%."""


class Averaging(NamedTuple):
    """A round: who can send how much, and who does."""

    upload: Sequence[float]
    """[peers] bytes per second."""
    download: Sequence[float]
    """[peers] bytes per second."""
    sends: Sequence[bool]
    """[peers] who has a vector."""
    receives: Sequence[bool]
    """[peers] who gets the mean."""
    shares: Sequence[int]
    """[peers] parts of the vector that each reduces."""


def seconds(round_: Averaging, vector_bytes: float, interleaved: bool = False) -> float:
    """How long a round takes until everybody has the mean.

    Args:
        round_: who does what.
        vector_bytes: the size of a vector on the wire.
        interleaved: a peer sends to all reducers at once in proportion to their shares, as is planned; otherwise each
            of its streams has as much as any other.
    """
    shares = np.array(round_.shares, float) / sum(round_.shares)
    pieces = np.where(shares > 0, np.maximum(1, np.rint(shares * CHUNKS)), 0).astype(np.int64)
    peers, reducers = range(len(shares)), np.flatnonzero(shares)
    gather = [(peer, reducer) for reducer in reducers for peer in peers if round_.sends[peer] and peer != reducer]
    scatter = [(reducer, peer) for reducer in reducers for peer in peers if round_.receives[peer] and peer != reducer]
    source, target = np.array(gather + scatter, np.int64).reshape(-1, 2).T
    back = np.arange(len(source)) >= len(gather)
    reducer = np.where(back, source, target)
    links = np.stack([source, target + len(shares)])
    capacity = np.concatenate([round_.upload, round_.download])
    weights = shares[reducer] if interleaved else np.ones(len(source))
    size = shares[reducer] * vector_bytes / pieces[reducer]
    done, left, now = np.zeros(len(source), np.int64), size.copy(), 0.0
    while True:
        delivered = pieces.copy()  # a reducer's own are there from the start
        np.minimum.at(delivered, reducer[~back], done[~back])
        active = done < np.where(back, delivered[reducer], pieces[reducer])
        if not active.any():
            return now
        rates = fair_rates(links, weights * active, capacity)
        times = np.divide(left, rates, out=np.full(len(left), math.inf), where=active)
        step = float(times.min())
        now += step
        left -= rates * step
        finished = times <= step + now * SAME
        done[finished] += 1
        left[finished] = size[finished]


def fair_rates(links: Whole, weights: Floats, capacity: Floats) -> Floats:
    """[flows] the max-min fair rates, by weight: none can have more but at the cost of one that has no more than it.

    Args:
        links: [2, flows] what each flow goes through.
        weights: [flows] 0: it has nothing to send.
        capacity: [links] per second.
    """
    left, rates = capacity.copy(), np.zeros(len(weights))
    open_ = weights > 0
    while open_.any():
        demand = np.zeros(len(left))
        for end in links:
            demand += np.bincount(end[open_], weights[open_], len(left))
        levels = np.divide(left, demand, out=np.full(len(left), math.inf), where=demand > 0)
        level = levels.min()
        stops = open_ & (levels <= level * (1 + SAME))[links].any(axis=0)
        rates[stops] = level * weights[stops]
        for end in links:
            left -= np.bincount(end[stops], rates[stops], len(left))
        np.maximum(left, 0.0, out=left)
        open_ &= ~stops
    return rates
