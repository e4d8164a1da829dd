"""A week of a run among honest volunteers and some who cheat, with the shipped signatures and rules.

Every honest peer trains and hosts; its work for each trainer depends on how near the two are. One trainer is trusted:
the organiser's. Cheaters do what `CHEATS` says. Answers how much credit each got, as a share of an honest peer's.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from statistics import mean
from typing import NamedTuple

from core.community import signing
from core.community.rules import Share, records_of, rules_of, shares, sights_of
from core.contracts import manifest
from core.contracts.credit import WEEK, Bundle, Entry, Seen, Sheet, SignedBundle, day_of, week_of
from core.identity import Identity

RUN = manifest.load("digits")
RULES = rules_of(RUN)
TODAY = day_of(1_795_262_400.0)
PEOPLE, CHEATERS = 45, 5
"""A tenth of all cheat."""
AUDITED = 0.98
SEEING = 8
"""Honest peers that see the samples of all trainers, some of them for a part of the week only."""
HUGE = 10**12


class Week:
    """What was done, and what is said of it."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        people = [Identity.generate() for _ in range(PEOPLE + CHEATERS)]
        self.honest, self.cheats = people[:PEOPLE], people[PEOPLE:]
        self.organiser = self.honest[0]
        self.samples = {peer.peer: self.dice.randint(50_000, 500_000) for peer in self.honest}
        self.work: dict[tuple[bytes, bytes], int] = {}
        """By trainer and host."""
        self.seen: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        """Samples by who saw them, and trainer."""
        self.again = 1
        """How often each bundle is shown."""
        for trainer in self.honest:
            self.train(trainer, self.honest)
        for place, peer in enumerate(self.honest[1 : 1 + SEEING]):
            part = 1.0 if place % 2 else 0.6
            self.seen[peer.peer] = {trainer: int(part * count) for trainer, count in self.samples.items()}

    def train(
        self, trainer: Identity, hosts: list[Identity], share: Callable[[Identity], float] = lambda _: 1.0
    ) -> None:
        """Have the experts of hosts called, by near ones more often than by far ones."""
        nearness = {host.peer: share(host) * self.dice.uniform(0.6, 1.4) for host in hosts if host is not trainer}
        whole = sum(nearness.values())
        for host, near in nearness.items():
            self.work[trainer.peer, host] = int(RULES.work * self.samples[trainer.peer] * near / whole)

    def trains_for_real(self, cheat: Identity) -> None:
        """A cheater's samples are accepted, and seen, as everybody's."""
        self.samples[cheat.peer] = 200_000
        for seen in list(self.seen.values()):
            seen[cheat.peer] = 200_000

    def bundles(self) -> list[SignedBundle]:
        """All that is shown."""
        people: dict[bytes, Identity] = {peer.peer: peer for peer in (*self.honest, *self.cheats)}
        entries: dict[bytes, list[Entry]] = defaultdict(list)
        for (trainer, host), work in self.work.items():
            days = _days(work)
            audited = tuple(int(AUDITED * one) for one in days)
            sheet = Sheet(RUN.run_id, trainer, host, week_of(TODAY), days, audited)
            entries[host].append(Entry(trainer, days, audited, signing.sign(people[trainer], sheet).signature))
        shown = []
        for host in people:
            seen = tuple(Seen(trainer, _days(count)) for trainer, count in self.seen[host].items())
            bundle = Bundle(RUN.run_id, host, week_of(TODAY), "", "", tuple(entries[host]), seen)
            shown.append(signing.sign_bundle(people[host], bundle, False, None))
        return shown * self.again

    def board(self) -> list[Share]:
        """What a board makes of it that trusts the organiser."""
        records, sights = [], []
        for one in self.bundles():
            bundle = signing.opened(one)
            records += records_of(bundle)
            sights += sights_of(bundle)
        return shares(records, sights, RULES.work, {self.organiser.peer}, {})


def _days(work: int) -> tuple[int, ...]:
    return (*[work // WEEK] * (WEEK - 1), work - work // WEEK * (WEEK - 1))


def sign_for_each_other(week: Week) -> None:
    """Two keys of one person: one signs for the other."""
    one, other = week.cheats[:2]
    week.work |= {(one.peer, other.peer): HUGE, (other.peer, one.peer): HUGE}


def invent_samples(week: Week) -> None:
    """A trainer of real samples signs for a hundred times as many, for friends that host nothing and
    say that they saw them all."""
    trainer, *friends = week.cheats
    week.trains_for_real(trainer)
    for friend in friends:
        week.work[trainer.peer, friend.peer] = 100 * RULES.work * week.samples[trainer.peer]
        week.seen[friend.peer][trainer.peer] = HUGE


def repeat(week: Week) -> None:
    """Everything is shown three times; a cheater hosts a fiftieth of what others do."""
    host = week.cheats[0]
    for trainer in week.honest:
        week.train(trainer, [*week.honest, host], lambda one: 0.02 if one is host else 1.0)
    week.again = 3


def answer_nothing(week: Week) -> None:
    """Cheaters train through others' experts, host nothing themselves, and sign nothing for those who helped them."""
    for cheat in week.cheats:
        week.trains_for_real(cheat)


def be_offline(week: Week) -> None:
    """Hosts that were never there, for which a friend signs; they show it when they come back."""
    trainer, *hosts = week.cheats
    week.trains_for_real(trainer)
    for host in hosts:
        week.work[trainer.peer, host.peer] = RULES.work * week.samples[trainer.peer] // len(hosts)


def collude(week: Week) -> None:
    """A tenth of all peers host a fiftieth of their part, and sign, audit and see for each other what they like. They
    do not train: else what they sign is paid for by work that they did (see `collude_and_train`)."""
    _host_a_little(week)
    for trainer in week.cheats:
        week.seen[trainer.peer] = {cheat.peer: HUGE for cheat in week.cheats}
        week.work |= {(trainer.peer, host.peer): HUGE for host in week.cheats if host is not trainer}


def collude_and_train(week: Week) -> None:
    """A tenth that trains for real signs for each other, instead of for those that helped it, what the rules let pass:
    as much as each of them did for others."""
    _host_a_little(week)
    done = Counter[bytes]()
    for (_, host), work in week.work.items():
        done[host] += work
    for cheat in week.cheats:
        week.trains_for_real(cheat)
        for friend in week.cheats:
            if friend is not cheat:
                week.work[cheat.peer, friend.peer] = done[friend.peer] // (CHEATERS - 1)


def redirect(week: Week) -> None:
    """A tenth that trains for real, through honest peers' experts, signs all of that for each other; none hosts."""
    for cheat in week.cheats:
        week.trains_for_real(cheat)
        for friend in week.cheats:
            if friend is not cheat:
                week.work[cheat.peer, friend.peer] = RULES.work * week.samples[cheat.peer] // (CHEATERS - 1)


def _host_a_little(week: Week) -> None:
    share = {cheat.peer: 0.02 for cheat in week.cheats}
    for trainer in week.honest:
        week.train(trainer, [*week.honest, *week.cheats], lambda one: share.get(one.peer, 1.0))


CHEATS: dict[str, Callable[[Week], None]] = {
    cheat.__name__: cheat
    for cheat in (
        sign_for_each_other,
        invent_samples,
        repeat,
        answer_nothing,
        be_offline,
        collude,
        collude_and_train,
        redirect,
    )
}


class Outcome(NamedTuple):
    """Of one cheat; shares of an honest peer's mean credit."""

    gain: float
    """The greatest that a cheater got beyond what it did."""
    honest: float
    """How much of what an honest host did is verified, in the mean, ..."""
    least: float
    """... and of the one that came off worst."""


def outcome(cheat: Callable[[Week], None], seed: int = 1) -> Outcome:
    """What comes of a cheat."""
    week = Week(seed)
    cheat(week)
    verified = _by_host(week.board())
    honest = {peer.peer for peer in week.honest}
    done = Counter[bytes]()
    for (trainer, host), work in week.work.items():
        done[host] += work if trainer in honest else 0
    usual = mean(verified[peer] for peer in honest)
    kept = [verified[peer] / done[peer] for peer in honest]
    gains = [max(0.0, verified[cheater.peer] - done[cheater.peer]) / usual for cheater in week.cheats]
    return Outcome(max(gains), mean(kept), min(kept))


def _by_host(board: Iterable[Share]) -> Counter[bytes]:
    found = Counter[bytes]()
    for share in board:
        found[share.record.host] += round(share.verified)
    return found
