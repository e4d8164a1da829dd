"""How the members of a group come to one result: who reduces what in each pass, and what the leader decides. Pure."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

from core.averaging.codecs import Numbers
from core.contracts.expert_calls import Codec, encoded_size
from core.contracts.trunk_rounds import CHUNK, PASSES, Averaged, Group, Report, Verdict
from core.identity import PeerId

SENDER, REDUCER, REPORTS = 0.5, 0.75, 0.25
"""Parts of a group's grace: see `core.swarm.trunk.round`."""
LEAST_RATE = 1 << 18
"""Bytes a second at which a member takes part at least: 2 Mbit/s."""
LEAST = 6
"""Chunks under way to all reducers: while some are sent others are averaged and come back, so that no line is idle."""

FEWEST, SHORTEST = 16, 8
"""A piece has so many chunks at least, unless they would be so many times smaller than usual. The mean of a chunk comes
back once all of it was sent, beside those for the other reducers: on a slow line a round takes longer by as much as
these take, with three of the usual ones at 10 Mbit/s by 0.3 s."""


class Limits(NamedTuple):
    """How long the members of a group wait for each other, in seconds."""

    first: float
    """More, for a first chunk: on a slow line others are on their way beside it."""
    silent: float
    """For a chunk of a sender that all others wait for."""
    sender: float
    """For all of one sender."""
    reducer: float
    """For an answer of a reducer."""
    held_up: float
    """One of them can keep another for so long from what it does ..."""
    reports: float
    """... and all wait so much longer for those who are nearly done."""
    whole: float
    """For all that a reducer answers, there and back."""


def limits_of(group: Group) -> Limits:
    """By the grace, and by what the least line takes for the vector.

    Args:
        group: of these members.
    """
    grace_s, size = group.grace_s, encoded_size(group.codec, sum(group.shares))
    beside = max(LEAST, sum(map(bool, group.shares))) * encoded_size(group.codec, CHUNK[group.codec])
    first, whole = min(size, beside) / LEAST_RATE, size / LEAST_RATE
    sender, reducer = SENDER * grace_s + whole, REDUCER * grace_s
    held_up = max(grace_s, first + sender)
    return Limits(
        first, SENDER * grace_s, sender, reducer, held_up, REPORTS * grace_s, first + sender + whole + reducer
    )


class Result(NamedTuple):
    """Of a round."""

    vector: Numbers | None
    """The mean; None for a member that only helps."""
    samples: int
    """In most of the mean; if a member fell out in mid-round, without it."""
    peers: int
    """Likewise."""
    counted: Mapping[PeerId, int]
    """Samples of each whose vector is in the parts that this member reduced; empty: it reduced none."""
    reduced: int
    """Bytes of the others' vectors in them."""
    late: frozenset[PeerId] = frozenset()
    """Members that did nothing, or too slowly."""


class Span(NamedTuple):
    """A chunk's numbers in the whole vector."""

    start: int
    stop: int


class Piece(NamedTuple):
    """A stretch of the vector, reduced by one member."""

    reducer: int
    span: Span


def first_pieces(group: Group) -> list[Piece]:
    """Of the first pass: the shares."""
    pieces, start = [], 0
    for reducer, share in enumerate(group.shares):
        if share:
            pieces.append(Piece(reducer, Span(start, start + share)))
        start += share
    return pieces


def pieces_again(group: Group, pieces: Sequence[Piece], verdict: Verdict) -> list[Piece]:
    """Of the second pass: what was lost, in equal parts among those who reduce and have lost nothing.

    Args:
        group: the group.
        pieces: of the first pass.
        verdict: on it.

    Returns:
        Empty if nobody is left to do it.
    """
    failed = {pieces[place].reducer for place in verdict.lost}
    able = [member for member in verdict.alive if group.shares[member] and member not in failed]
    again = []
    for place in verdict.lost if able else ():
        start, stop = pieces[place].span
        bounds = [start + (stop - start) * part // len(able) for part in range(len(able) + 1)]
        spans = map(Span, bounds, bounds[1:])
        again += [Piece(reducer, span) for reducer, span in zip(able, spans, strict=True) if span.start < span.stop]
    return again


def chunks_of(pieces: Sequence[Piece], codec: Codec) -> list[dict[int, Span]]:
    """For each piece its chunks, by numbers that no other chunk of the pass has."""
    found, number, most = [], 0, CHUNK[codec]
    for piece in pieces:
        start, stop = piece.span
        width = min(most, max(most // SHORTEST, math.ceil((stop - start) / FEWEST)))
        starts = range(start, stop, width)
        found.append({number + at: Span(begin, min(begin + width, stop)) for at, begin in enumerate(starts)})
        number += len(starts)
    return found


def leader_of(group: Group) -> int:
    """One of those whom the others can call, by the group's key: nobody leads round after round by what it says of its
    line. Who gathers chooses the key, and gathers one round of many."""
    able = [place for place, member in enumerate(group.members) if member.addresses] or range(len(group.members))
    return min(able, key=lambda place: hashlib.sha256(group.key + group.members[place].peer).digest())


def decide(group: Group, pieces: Sequence[Piece], attempt: int, reports: Mapping[int, Report]) -> Verdict:
    """What is done after a pass.

    A piece counts if all who report have the same of it. In the last pass, and if nobody would be left to do again what
    is missing, it is enough that most have, so that nobody can spoil round after round by saying that something did not
    come; the others fall behind. So do, at once, those who have something else than most of more than half of the
    pieces: else one of them could have a member do the work of all others.

    Args:
        group: the group.
        pieces: of the pass.
        attempt: number of the pass.
        reports: by member.
    """
    alive, key = tuple(sorted(reports)), group.digest()
    said = {member: reports[member].digests for member in alive if len(reports[member].digests) == len(pieces)}
    few = 2 * len(alive) <= len(group.members)  # two halves that do not reach each other must not both go on
    of_most = _agreed([*said.values()], len(pieces), all_agree=False)
    if attempt < PASSES - 1:
        apart = {member for member, digests in said.items() if _is_apart(digests, of_most)} - {leader_of(group)}
        alive = tuple(member for member in alive if member not in apart)  # without its leader there is no further pass
    told = [said[member] for member in alive if member in said]
    for all_agree in (True, False)[attempt == PASSES - 1 :]:
        digests = _agreed(told, len(pieces), all_agree=True) if all_agree else of_most
        lost = tuple(place for place, digest in enumerate(digests) if not digest)
        verdict = Verdict(key, attempt, False, alive, lost, digests)
        if not lost or (all_agree and pieces_again(group, pieces, verdict)):
            break
    else:
        few = True
    return Verdict(key, attempt, True, alive, (), ()) if few or not told else verdict


def _is_apart(digests: Sequence[bytes], of_most: Sequence[bytes]) -> bool:
    """Whether a member has something else than most of more than half of the pieces."""
    differ = [bool(best) and best != digest for best, digest in zip(of_most, digests, strict=True)]
    return 2 * sum(differ) > len(differ)


def _agreed(told: Sequence[Sequence[bytes]], count: int, *, all_agree: bool) -> tuple[bytes, ...]:
    """The digest of each piece that all, or most, have; empty: there is none."""
    digests = []
    for place in range(count):
        said = [digests_of[place] for digests_of in told]
        best = max(sorted(set(said) - {b""}), key=said.count, default=b"")
        agreed = len(set(said)) == 1 if all_agree else said.count(best) * 2 > len(said)
        digests.append(best if agreed else b"")
    return tuple(digests)


def least(one: Averaged, other: Averaged) -> Averaged:
    """Of two parts of a piece, what is in both: of how many samples and peers at least."""
    return Averaged(min(one.samples, other.samples), min(one.peers, other.peers))


def in_most(pieces: Sequence[Averaged]) -> Averaged:
    """Of how many samples and peers a vector is. Not what is in all its pieces: one who reduces could say that of its
    own there is next to nothing, and learning rates go by samples.

    Args:
        pieces: of the vector; all members know the same. Empty: it has not come here.
    """
    return Averaged(*median_low((each.samples, each.peers) for each in pieces or [Averaged(0, 0)]))


def can_be(verdict: Verdict, pieces: Sequence[Piece], alive: Sequence[int]) -> bool:
    """Whether a leader can have decided this.

    Args:
        verdict: that.
        pieces: of the pass.
        alive: who took part in it.
    """
    lost = tuple(place for place, digest in enumerate(verdict.digests) if not digest)
    whole = len(verdict.digests) == len(pieces) and verdict.lost == lost
    whole = whole and not (lost and verdict.attempt == PASSES - 1)  # there is no further pass
    return verdict.void or (whole and {*verdict.alive} <= {*alive})
