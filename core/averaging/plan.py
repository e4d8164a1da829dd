"""Who sends gradients and who reduces how much of the vector, so that most steps are made in a given time.

DeDLOC (Diskin et al., 2021), section 3.2 and appendix B. Its eq. 5 gives each peer i the speeds a_ij at which it sends
gradients to reducer j, and g_ij at which it returns means to j, and a c_i that is 1 if its gradients count; by eq. 6
its share of the vector is in proportion to min_j g_ij. Here it is solved in two steps, because of two gaps in it:
- What g_ij is above min_j g_ij is lost in eq. 6, which is not even defined where all minima are 0. So all g_ij of a
  reducer are one number from the start: eq. 6 holds with equality, a_ij = g_jk = rate * share_j, and where it is known
  who sends, the program has one variable a peer.
- A c_i between 0 and 1 counts samples without sending, so that the relaxed program favours fast processors behind slow
  lines. It ranks the senders, as two simpler measures do, and the number of senders is found by exact programs.

Every peer comes to the same bytes from the same measurements: peers go by key, measured speeds are rounded, shares and
the rate are whole numbers, and no link carries more than it can even so. Peers with other builds of the solver may
come to other bytes; they have to be compared before a round.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import scipy
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, eye_array, vstack

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SOLVER = f"scipy {scipy.__version__}"
"""What plans are made by."""
Key = bytes
"""By which peers are ordered."""
UNITS = 1 << 16
"""Into which a vector is divided among its reducers."""
DIGITS = 7
"""Of a share that the solver's rounding does not reach."""
BITS = 8
"""Of a measured speed that count, rounded down; peers that are as good as equal get equal shares."""
SLACK = 1e-7
"""Part of the best speed that is given up for an even division among the reducers."""
FASTEST = 1 << 44
"""Bytes per second: no network has more."""
REDUCED = 64.0
"""The greatest speed of reducing, by the greatest bandwidth: what one peer keeps to itself costs nothing."""

Speed = Annotated[int, msgspec.Meta(ge=0, le=FASTEST)]
"""Bytes per second."""


class Member(msgspec.Struct, frozen=True):
    """What a peer that takes part can do."""

    key: Key
    samples_per_s: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    """Of whose losses it computes gradients; 0: it only helps to reduce, and needs no mean."""
    upload: Speed
    download: Speed
    reduces: bool = True
    """Whether others can reach it; a peer that only dials out has no share."""


Links = Mapping[tuple[Key, Key], Speed]
"""How fast the first can send to the second, where something between two is slower than both; 0: not at all."""


class Plan(msgspec.Struct, frozen=True):
    """Who does what. Everything is in the order of `members`."""

    members: tuple[Key, ...]
    """Ascending."""
    trains: tuple[bool, ...]
    """Who gets the mean."""
    sends: tuple[bool, ...]
    """Whose gradients count (c_i = 1); a peer that trains but does not send drops its own."""
    shares: tuple[int, ...]
    """Of `UNITS`: what each reduces."""
    rate: int
    """Bytes per second of the whole vector that everybody sends and gets if no link carries more than it can."""

    def sent(self, source: int, target: int) -> int:
        """Bytes per second of its gradients that one peer sends to another (a_ij).

        Args:
            source: a place among the members.
            target: another.
        """
        return self.sends[source] * self.shares[target] * self.rate // UNITS

    def returned(self, source: int, target: int) -> int:
        """Bytes per second of the mean that one peer sends to another (g_ij).

        Args:
            source: a place among the members.
            target: another.
        """
        return self.trains[target] * self.shares[source] * self.rate // UNITS

    def cut(self, numbers: int) -> tuple[int, ...]:
        """How many numbers of a vector each member reduces; all of it together.

        Args:
            numbers: the vector's length.
        """
        ends = [0]
        for share in self.shares:
            ends.append(ends[-1] + share)
        places = [end * numbers // UNITS for end in ends]
        return tuple(last - first for first, last in itertools.pairwise(places))


def plan(members: Iterable[Member], links: Links, vector_bytes: int, batch: int) -> Plan | None:
    """The plan with the most global steps in a given time.

    Args:
        members: all that take part, each key once, in any order; at least one trains.
        links: between them, and perhaps others.
        vector_bytes: what is averaged, as it is on the wire.
        batch: samples of one global step.

    Returns:
        None if there is nobody whom all that train can reach: then they cannot average as one group.
    """
    swarm = _Swarm(members, links, vector_bytes, batch)
    sends = swarm.trains
    if swarm.averaged(sends) < swarm.computed(sends):  # else leaving somebody's gradients out gains nothing
        sends = max(sends, swarm.selected(), key=swarm.expected)
    best = swarm.fastest(sends)
    return best if best.rate else None


class _Swarm:
    """The constants of the programs, over the members in the order of their keys."""

    def __init__(self, members: Iterable[Member], links: Links, vector_bytes: int, batch: int) -> None:
        """As `plan`."""
        ordered = sorted(members, key=lambda member: member.key)
        self.keys = tuple(member.key for member in ordered)
        self.samples = np.array([member.samples_per_s for member in ordered])
        self.trains = self.samples > 0
        self.reduces = np.array([member.reduces for member in ordered])
        places = {key: place for place, key in enumerate(self.keys)}
        upload = rounded(np.array([member.upload for member in ordered]))
        self.download = rounded(np.array([member.download for member in ordered]))
        self.bandwidth = np.minimum(upload, self.download)
        limited = [
            (places[source], places[target], speed)
            for (source, target), speed in links.items()
            if source in places and target in places
        ]
        pairs = np.array(sorted(limited), np.int64).reshape(-1, 3)
        slower = pairs[:, 2] < np.minimum(upload[pairs[:, 0]], self.download[pairs[:, 1]])
        self.source, self.target, between = pairs[slower].T  # others are no limits
        self.limits = np.concatenate([upload, self.download, rounded(between)])
        self.vector_bytes, self.batch = vector_bytes, batch
        self.unit = float(max(1, self.limits.max()))
        """The solver's unit of speed."""
        self.known: dict[bytes, float] = {}
        """Averages per second by who sends."""

    def computed(self, sends: Flags) -> float:
        """Steps per second that those who send have samples for.

        Args:
            sends: [members] whose samples count.
        """
        return float(self.samples[sends].sum()) / self.batch

    def loads(self, sends: Flags) -> Whole:
        """What reducing one unit, or at a speed of one, costs: [uploads, then downloads, then limited links; members].

        Args:
            sends: [members] whose gradients are averaged.
        """
        others = 1 - np.eye(len(self.keys), dtype=np.int64)
        upload = sends[:, None] * others + np.diag(others @ self.trains)
        download = self.trains[:, None] * others + np.diag(others @ sends)
        links = np.zeros((len(self.source), len(self.keys)), np.int64)
        rows = np.arange(len(links))
        links[rows, self.target] = sends[self.source]
        links[rows, self.source] = self.trains[self.target]
        return np.concatenate([upload, download, links])

    def rate(self, loads: Whole, shares: Whole) -> int:
        """Bytes per second of the whole vector, exactly: nothing carries more than it can.

        Args:
            loads: as `loads` gives them.
            shares: [members] of `UNITS`.
        """
        if not shares.any() or shares[~self.reduces].any():
            return 0
        used = loads @ shares
        return int((self.limits[used > 0] * UNITS // used[used > 0]).min(initial=FASTEST))

    def fastest(self, sends: Flags) -> Plan:
        """The plan by which the mean is with everybody soonest; never slower than equal shares or a single reducer.

        Args:
            sends: [members] whose gradients are averaged.
        """
        loads = self.loads(sends)
        single = UNITS * np.eye(len(self.keys), dtype=np.int64)
        candidates = [apportioned(self.even(loads)), apportioned(self.reduces.astype(float)), *single]
        rates = [self.rate(loads, shares) for shares in candidates]
        best = int(np.argmax(rates))
        shares = tuple(candidates[best].tolist())
        return Plan(self.keys, tuple(self.trains.tolist()), tuple(sends.tolist()), shares, rates[best])

    def speeds(self, loads: Whole) -> Floats:
        """[members] the speeds of reducing with the greatest sum: eq. 5 where it is known who sends.

        Args:
            loads: as `loads` gives them.
        """
        return solved(-np.ones(len(self.keys)), loads, self.limits / self.unit, self.reduces * REDUCED)

    def even(self, loads: Whole) -> Floats:
        """[members] of the speeds with the greatest sum those that take the smallest part of anybody's bandwidth.

        Args:
            loads: as `loads` gives them.
        """
        count = len(self.keys)
        total = self.speeds(loads).sum() * (1 - SLACK)
        parts = np.hstack([np.eye(count), -self.bandwidth[:, None] / self.unit])
        matrix = np.vstack([np.pad(loads, ((0, 0), (0, 1))), parts, [*-np.ones(count), 0.0]])
        limits = np.concatenate([self.limits / self.unit, np.zeros(count), [-total]])
        highest = np.append(self.reduces * REDUCED, np.inf)
        return solved(np.eye(count + 1)[-1], matrix, limits, highest)[:count]

    def selected(self) -> Flags:
        """[members] whose gradients are averaged, for the most steps in a given time: the best choice of three."""
        importance = np.round(self.relaxed(), DIGITS)
        everybody = np.flatnonzero(self.trains)
        reached = self.best_first(everybody, self.reach())
        choices = [
            self.best_first(everybody, importance),
            reached,
            self.best_first(np.flatnonzero(reached), self.samples),  # those whom the others would wait for are gone
        ]
        return max(choices, key=self.expected)

    def best_first(self, places: Whole, merit: Floats) -> Flags:
        """[members] who sends if those with the most merit do, as many as make the most steps.

        The more send, the more is computed and the less averaged: the best number is where the two meet.

        Args:
            places: of the members to choose from.
            merit: [members] of each.
        """
        ranked = sorted(places, key=lambda place: (-merit[place], -self.samples[place], place))
        tried = []
        low, high = 1, len(ranked)
        while low <= high:
            middle = (low + high) // 2
            sends = np.isin(np.arange(len(self.keys)), ranked[:middle])
            tried.append(sends)
            low, high = (low, middle - 1) if self.averaged(sends) < self.computed(sends) else (middle + 1, high)
        return max(tried, key=self.expected)

    def expected(self, sends: Flags) -> float:
        """Steps per second with the best shares.

        Args:
            sends: [members] whose gradients are averaged.
        """
        return min(self.computed(sends), self.averaged(sends))

    def averaged(self, sends: Flags) -> float:
        """Averages per second with the best shares.

        Args:
            sends: [members] whose gradients are averaged.
        """
        found = self.known.get(key := sends.tobytes())
        if found is None:
            found = self.known[key] = float(self.speeds(self.loads(sends)).sum()) * self.unit / self.vector_bytes
        return found

    def reach(self) -> Floats:
        """[members] how fast each can send to all reducers together."""
        count = len(self.keys)
        between = np.where(np.eye(count), 0.0, np.inf)
        between[self.source, self.target] = self.limits[2 * count :]
        reach: Floats = np.minimum(self.limits[:count], between[:, self.reduces].sum(axis=1))
        return reach

    def relaxed(self) -> Floats:
        """[members] c of eq. 5, between 0 and 1.

        The variables: r, c, a_ki for each sender k and another peer i that reduces, and the speed of the whole vector:
        xi of the paper times `vector_bytes`. Where c_k is 0, eq. 4 has to leave r_i free; what i can return at most is
        enough for that, and it is a closer bound than the d_i of the paper.
        """
        count, unit = len(self.keys), self.unit
        senders, reducers = np.nonzero(np.outer(self.trains, self.reduces) & ~np.eye(count, dtype=bool))
        pairs = len(senders)
        if not pairs:
            return self.trains.astype(float)
        gradients = np.arange(pairs)
        means = self.loads(np.zeros(count, bool))
        carries = coo_array((np.ones(pairs), (senders, gradients)), (count, pairs))
        takes = coo_array((np.ones(pairs), (reducers, gradients)), (count, pairs))
        column = np.full((count, count), -1)
        column[senders, reducers] = gradients
        over = column[self.source, self.target]
        limited = np.flatnonzero(over >= 0)
        links = coo_array((np.ones(len(limited)), (limited, over[limited])), (len(over), pairs))
        returned = np.maximum(self.trains.sum() - self.trains, 1)
        free = np.minimum(self.download, self.limits[:count] / returned)[reducers] / unit
        slowest = [
            coo_array((np.ones(pairs), (gradients, reducers)), (pairs, count)),
            coo_array((free, (gradients, senders)), (pairs, count)),
            -eye_array(pairs),
            None,
        ]
        rows = [
            slowest,
            [coo_array(means), None, vstack([carries, takes, links]), None],
            [None, coo_array(-self.samples[None] * self.vector_bytes / self.batch / unit), None, coo_array([[1.0]])],
            [coo_array(-np.ones((1, count))), None, None, coo_array([[1.0]])],
        ]
        limits = np.concatenate([free, self.limits / unit, [0.0, 0.0]])
        highest = np.concatenate([self.reduces * REDUCED, self.trains, np.full(pairs + 1, np.inf)])
        objective = np.zeros(2 * count + pairs + 1)
        objective[-1] = -1.0
        return solved(objective, block_array(rows, format="csr"), limits, highest)[count : 2 * count]


def rounded(speeds: Whole) -> Whole:
    """Speeds with `BITS` bits that count, none above what it was.

    Args:
        speeds: any number of them, whole.
    """
    exponents = np.maximum(np.frexp(speeds)[1] - BITS, 0)
    result: Whole = speeds >> exponents << exponents
    return result


def apportioned(parts: Floats) -> Whole:
    """Whole numbers in proportion to some parts, with the sum `UNITS`; all 0 if there is none.

    What rounding down leaves goes to the greatest: it could be far more than a small one can carry.

    Args:
        parts: none negative; what their last digits are does not matter.
    """
    if not parts.any():
        return np.zeros(len(parts), np.int64)
    exact = np.round(parts / parts.sum(), DIGITS)
    whole: Whole = np.floor(exact * UNITS).astype(np.int64)
    whole[np.argsort(-exact, kind="stable")[: UNITS - whole.sum()]] += 1
    return whole


def solved(objective: Floats, matrix: Any, limits: Floats, highest: Floats) -> Floats:
    """The variables, from 0 to `highest`, with the least objective of all for which matrix @ variables <= limits.

    Args:
        objective: [variables].
        matrix: [limits, variables].
        limits: [limits].
        highest: [variables].
    """
    bounds = np.stack([np.zeros(len(highest)), highest], axis=1)
    found = linprog(objective, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs-ds", options={"presolve": False})
    return np.zeros(len(highest)) if found.x is None else np.maximum(found.x, 0.0)
