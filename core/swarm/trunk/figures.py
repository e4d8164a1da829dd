"""What a PC tells of the agreement on a trunk: who took part, who reduced how much, how near the next one is. Pure."""

from collections import defaultdict
from collections.abc import Mapping

from core.averaging.fragment import Fragment
from core.contracts.trunk_calls import Keeper
from core.contracts.trunk_rounds import Group
from core.contracts.trunk_status import GiverStatus, PartStatus, ProgressStatus, ReducerStatus
from core.identity import PeerId, peer_text
from core.swarm.trunk.agreement import Who
from core.swarm.trunk.leases import syncer_of


def alone(peer: str, samples: int) -> Who:
    """Of a step that a trainer took by itself."""
    return [GiverStatus(peer, samples, 1.0)], [ReducerStatus(peer, 1.0)]


def of_group(group: Group, counted: Mapping[PeerId, int]) -> Who:
    """Of an all-reduce.

    Args:
        group: who sent what to whom.
        counted: samples of those whose vectors are in the mean, as far as it was made here; empty: it was not.
    """
    givers = []
    for peer in map(PeerId, group.givers()):
        samples = counted.get(peer)
        share = float(samples is not None) if counted else None
        givers.append(GiverStatus(peer_text(peer), samples, share))
    whole = sum(group.shares)
    shares = zip(group.members, group.shares, strict=True)
    return givers, [ReducerStatus(peer_text(PeerId(member.peer)), share / whole) for member, share in shares if share]


def of_fragments(fragments: Mapping[int, Fragment], keepers: Mapping[str, Keeper]) -> Who:
    """Of the last round of each fragment.

    Args:
        fragments: as they are known here.
        keepers: the peers that have some, and who syncs which.
    """
    whole = sum(len(fragment.numbers) for fragment in fragments.values())
    given: defaultdict[str, int] = defaultdict(int)
    reduced: defaultdict[str, int] = defaultdict(int)
    for part, fragment in fragments.items():
        for giver, _ in fragment.rounds[-1].givers if fragment.rounds else ():
            given[peer_text(PeerId(giver))] += len(fragment.numbers)
        if syncer := syncer_of(part, keepers):
            reduced[syncer] += len(fragment.numbers)
    givers = [GiverStatus(peer, None, numbers / whole) for peer, numbers in sorted(given.items())]
    return givers, [ReducerStatus(peer, numbers / whole) for peer, numbers in sorted(reduced.items())]


def of_parts(
    fragments: Mapping[int, Fragment], keepers: Mapping[str, Keeper], heard: Mapping[int, float]
) -> list[PartStatus]:
    """What is agreed on each fragment.

    Args:
        fragments: as in `of_fragments`.
        keepers: as in `of_fragments`.
        heard: when each was agreed on, unix time.
    """
    return [
        PartStatus(
            part,
            fragment.version,
            fragment.line.hex(),
            fragment.samples,
            len(fragment.rounds[-1].givers) if fragment.rounds else 0,
            heard.get(part),
            syncer_of(part, keepers),
            len(fragment.numbers),
            [(version, line.hex()) for version, line in fragment.lately()],
        )
        for part, fragment in sorted(fragments.items())
    ]


def to_next_turn(step: int, every: int, parts: int) -> ProgressStatus:
    """Steps of a trainer since a fragment was due, and from that until the next one is.

    Args:
        step: that it has come to.
        every: steps in which each fragment is due once.
        parts: how many there are; each has its turn in a step of its own, as long as there are enough steps.
    """
    turns = {part * every // parts for part in range(parts)}
    before = min((step - turn) % every for turn in turns)
    after = min((turn - step - 1) % every + 1 for turn in turns)
    return ProgressStatus(before, before + after, "steps")
