"""Which experts this PC should host: pure functions of what it knows of the swarm.

Every peer decides for itself from the same records. Where these agree so do the peers, without a word between them;
where they do not yet, two may claim one expert, and `Plan.yields` settles that the same way on both sides.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from core.contracts.hosting import MOVES, Member
from core.contracts.status import ExpertStatus
from core.experts.grid import Uid

CLAIMS = 256
"""Experts taken on by one plan."""
TURN_S = 10.0
"""A cell that its first candidate leaves vacant for so long is the next one's as well, then that of the next two, then
of four: records of a thousand peers that are none keep an orphan from being adopted for less than two minutes."""


class View(NamedTuple):
    """What is known of the swarm, this peer included."""

    cells: Sequence[Uid]
    """Those that this peer looks at: all of a small grid."""
    members: Mapping[str, Member]
    """The living peers by key."""
    mine: Mapping[Uid, int]
    """The versions of the experts hosted here."""
    rivals: Mapping[Uid, Mapping[str, int]]
    """Others that host one of mine, with their versions as of now."""
    vacant: Mapping[Uid, float]
    """Cells that nobody hosts, and since when they may be claimed: who had one just now may still be saving it."""
    keepers: Mapping[Uid, Set[str]]
    """Of the vacant cells that have a checkpoint: who keeps the newest one."""


class Plan(NamedTuple):
    """What this peer should do now."""

    claims: Sequence[Uid] = ()
    """Host these, the most urgent first."""
    yields: Mapping[Uid, str] = {}
    """Another host has the better claim to these."""
    releases: Sequence[Uid] = ()
    """Save these and leave them to others."""
    ask: tuple[str, int] | None = None
    """Ask this host for so many of its experts."""


def capacity(memory_bytes: int, expert_bytes: int, samples_per_s: float) -> int:
    """How many experts a PC can host.

    Args:
        memory_bytes: that it may use for them.
        expert_bytes: that one expert takes.
        samples_per_s: of one expert, forward and backward.
    """
    return max(0, min(memory_bytes // max(1, expert_bytes), int(samples_per_s / NEEDED_SAMPLES_PER_S)))


NEEDED_SAMPLES_PER_S = 20.0
"""What an expert must be able to serve if all of its host's are asked at once: a batch of 32 within two seconds."""


def plan(view: View, me: str, now: float) -> Plan:
    """What `me` should do at `now` (of the clock of `View.vacant`)."""
    yields = {uid: winner for uid in view.mine if (winner := better(uid, view, me)) is not None}
    room = view.members[me].capacity - (len(view.mine) - len(yields))
    if room < 0:
        return Plan(yields=yields, releases=_least_missed(view, yields.keys(), -room))
    claims = _claims(view, me, now)[: min(room, CLAIMS)]
    if claims or yields:
        return Plan(claims, yields)
    if view.vacant:
        return _even_layers(view, now) if not room else Plan()
    return Plan(ask=_ask(view, me))


def surplus(view: View, me: str) -> int:
    """How many experts `me` may give to a peer that has fewer."""
    return max(0, len(view.mine) - math.ceil(min(view.members[me].capacity, _level(view))))


def to_give(mine: Iterable[Uid], count: int, peer: str) -> list[Uid]:
    """Which experts go to a peer that asked for `count`: of the layers that have most here."""
    left = sorted(mine, key=lambda uid: rank(uid, peer))
    layers = Counter(uid.layer for uid in left)
    given: list[Uid] = []
    for _ in range(min(count, len(left))):
        fullest = max(layers, key=lambda layer: (layers[layer], -layer))
        given.append(next(uid for uid in left if uid.layer == fullest))
        left.remove(given[-1])
        layers[fullest] -= 1
    return given


def better(uid: Uid, view: View, me: str) -> str | None:
    """The rival with the best claim to an expert, the highest version, if it beats mine; a tie goes by hash."""
    claims = {**view.rivals.get(uid, {}), me: view.mine[uid]}
    winner = max(claims, key=lambda peer: (claims[peer], rank(uid, peer)))
    return None if winner == me else winner


def _claims(view: View, me: str, now: float) -> list[Uid]:
    """The vacant cells whose turn it is for me, in the order in which they are needed.

    Rendezvous hashing with bounded loads: each cell goes to the first of its candidates that has room in its share,
    where those that keep its newest checkpoint come first.
    """
    loads = {peer: member.hosted for peer, member in view.members.items()}
    level = _level(view)
    shares = {peer: math.ceil(min(member.capacity, level)) for peer, member in view.members.items()}
    claims = []
    for uid in _by_need(view):
        keepers = view.keepers.get(uid, frozenset())
        candidates = sorted(
            (peer for peer, member in view.members.items() if loads[peer] < member.capacity),
            key=lambda peer: (loads[peer] >= shares[peer], peer not in keepers, rank(uid, peer)),
        )
        turn = math.floor((now - view.vacant[uid]) / TURN_S)
        if turn >= 0 and me in candidates[: 2 ** min(turn, 30)]:
            claims.append(uid)
            loads[me] += 1
        elif candidates:
            loads[candidates[0]] += 1
    return claims


def _by_need(view: View) -> list[Uid]:
    """Vacant cells: orphans first, then those of the layer with the fewest active experts."""
    active = _active(view)
    order: list[Uid] = []
    left = sorted(view.vacant, key=lambda uid: (uid not in view.keepers, rank(uid, "")))
    orphans = [uid for uid in left if uid in view.keepers]
    for group in (orphans, left[len(orphans) :]):
        by_layer: dict[int, list[Uid]] = {}
        for uid in reversed(group):
            by_layer.setdefault(uid.layer, []).append(uid)
        while by_layer:
            layer = min(by_layer, key=lambda layer: (active[layer], layer))
            order.append(by_layer[layer].pop())
            active[layer] += 1
            if not by_layer[layer]:
                del by_layer[layer]
    return order


def _active(view: View) -> Counter[int]:
    return Counter(uid.layer for uid in view.cells if uid not in view.vacant)


def _least_missed(view: View, without: Set[Uid], count: int) -> list[Uid]:
    active = _active(view)
    return sorted(view.mine.keys() - without, key=lambda uid: (-active[uid.layer], rank(uid, "")))[:count]


def _even_layers(view: View, now: float) -> Plan:
    """Nobody has room: give up one expert of the fullest layer for a vacant cell of the emptiest, if it is mine.

    Which expert goes follows from the set of active ones alone, so that only its host acts.
    """
    if any(member.hosted < member.capacity for member in view.members.values()):
        return Plan()
    active = _active(view)
    fullest = max(active, key=lambda layer: (active[layer], -layer), default=0)
    emptiest = min((uid.layer for uid in view.vacant), key=lambda layer: (active[layer], layer))
    goes = min(
        (uid for uid in view.cells if uid.layer == fullest and uid not in view.vacant),
        key=lambda uid: rank(uid, ""),
        default=None,
    )
    if goes is None or goes not in view.mine or active[fullest] - active[emptiest] < 2:
        return Plan()
    comes = next(uid for uid in _by_need(view) if uid.layer == emptiest)
    return Plan(claims=[comes], releases=[goes]) if view.vacant[comes] <= now else Plan()


def _ask(view: View, me: str) -> tuple[str, int] | None:
    """The most loaded host that has more than its share, if I have less than mine; and how many to ask it for."""
    level = _level(view)
    wanted = math.floor(min(view.members[me].capacity, level)) - len(view.mine)
    over = {
        peer: member.hosted - math.ceil(min(member.capacity, level))
        for peer, member in view.members.items()
        if peer != me
    }
    giver = max(over, key=lambda peer: (over[peer], rank(me, peer)), default=me)
    if wanted <= 0 or giver == me or over[giver] <= 0:
        return None
    return giver, min(wanted, over[giver], MOVES)


def _level(view: View) -> float:
    """How many experts each host has when all cells are shared evenly: those with less room fill it, others do more."""
    left, hosts = float(len(view.cells)), len(view.members)
    for room in sorted(member.capacity for member in view.members.values()):
        if room >= left / hosts:
            return left / hosts
        left, hosts = left - room, hosts - 1
    return math.inf


def rank(thing: object, peer: str) -> bytes:
    """Rendezvous hashing: a peer's place among the candidates for a thing, the same for everybody who asks."""
    return hashlib.blake2b(f"{thing} {peer}".encode(), digest_size=8).digest()


def least_needed(experts: Sequence[ExpertStatus], count: int, kept: int = 1) -> list[Uid]:
    """The experts to park: those that were trained least, of the layers that have most; each layer keeps `kept`."""
    samples: Mapping[Uid, int] = {Uid.parse(expert.uid): expert.samples for expert in experts}
    layers = Counter(uid.layer for uid in samples)
    left = sorted(samples, key=lambda uid: (samples[uid], uid))
    chosen: list[Uid] = []
    while len(chosen) < count:
        layer, most = max(layers.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        if most <= kept:
            break
        uid = next(uid for uid in left if uid.layer == layer)
        left.remove(uid)
        chosen.append(uid)
        layers[layer] -= 1
    return chosen
