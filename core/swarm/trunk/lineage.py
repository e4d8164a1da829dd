"""Which trunk is that of the run, by what trainers tell of theirs: pure functions. All who know the same decide alike.

A trainer tells the digests of the trunks that it came to last. Trainers that follow each other by some steps name some
of the same, so that who is ahead speaks for those behind it, too. One alone cannot move two others.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from core.averaging.mean import BELIEVED, JUDGED
from core.contracts.trunk import Reached
from core.contracts.trunk_rounds import Standing


def by_most(values: Collection[int]) -> int:
    """What more than half of some peers have reached, both of two; 0 if there are none.

    Args:
        values: how far each is.
    """
    return sorted(values, reverse=True)[len(values) // 2] if values else 0


def countable(samples: Collection[int], target: int) -> int:
    """Of how many samples a trainer is believed for a step, as in the mean: where three or more gather, of no more than
    some times what most of them have. Else one that says that it has all would make every batch tiny.

    Args:
        samples: that each says it has.
        target: of all together.
    """
    return min(target, BELIEVED * by_most(samples)) if len(samples) >= JUDGED else target


def newest(standings: Sequence[Standing]) -> Reached | None:
    """The newest trunk that at least half of the trainers came to.

    Only who has agreed with others since it came is asked: newcomers and who was away cannot outvote the one that has
    gone on alone. If there is none such, as after a power cut, the newest trunk of all counts.

    Args:
        standings: of all trainers, this one's included.

    Returns:
        None if nobody has taken a step.
    """
    told = [standing for standing in standings if standing.trunks]
    settled = [standing for standing in told if standing.settled]
    votes = Counter(trunk for standing in settled or told for trunk in {*standing.trunks})
    broad = [trunk for trunk, count in votes.items() if 2 * count >= len(settled)] or [*votes]
    best = max(broad, key=lambda trunk: (trunk[0], votes[trunk], trunk[1]), default=None)
    return best and Reached(*best)


def is_away(trunks: Mapping[int, bytes], version: int, found: Reached | None, *, trusts: bool) -> bool:
    """Whether a trainer has to go on from another's trunk, as the means of rounds do not lead from its own to theirs.

    Args:
        trunks: digests of those that it came to last, by version.
        version: of the newest one.
        found: the newest trunk of the run.
        trusts: whether it knows that it has taken the same steps as the others. Then another digest of the same version
            is due to another processor's rounding, which is no reason to fetch anything.
    """
    if found is None:
        return False
    own = trunks.get(found.version)
    if own is not None:
        return own != found.digest and not trusts
    return found.version > version or not trusts


def names(standings: Collection[Standing], version: int) -> Counter[bytes]:
    """How many trainers name each digest of the trunk of a version.

    Args:
        standings: the trainers.
        version: of the trunk.
    """
    told = (dict(standing.trunks).get(version) for standing in standings)
    return Counter(digest for digest in told if digest is not None)
