"""What signed records are worth: pure functions from what peers signed to verified credit, and to what is pending, why.

Two keys cost nothing, so no signature counts by itself. A board trusts a few peers (its own PC, those that a run's
manifest names, those that it is told): their audits are samples of what each host does, and they see who trains. From
these the rest follows, in this order; each amount that does not count is pending, for the first reason that holds:

- `own`: trainer and host are one, or of one team. It never counts.
- `audited`: the trainer has not audited it as yet.
- `budget`: a trainer signs for no more than BACKWARD + FORWARD passes of k experts in each layer for every sample that
  others have seen go into what trainers agreed on. Where trainers agree on nothing (`local`) nobody sees any.
- `speed`: a host gets no more from all others together than `MARGIN` times what trusted trainers' audited work makes
  likely, by their share of all samples. Who never answered one of them gets nothing; trusted hosts have no limit.
- `quarter`: no trainer gives more than a quarter of a host's credit in a run.

What trusted trainers have signed and audited counts in full.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from core.contracts.credit import BACKWARD, FORWARD, Bundle, days_of, week_of
from core.contracts.kinds import EXPERTS
from core.contracts.manifest import Manifest

SLACK = 1.25
"""Beyond a trainer's budget: audits, spare experts, and batches that were dropped after hosts had answered."""
MARGIN = 2.0
"""How far a host's work for one trainer may differ from that for another, in a week: some are nearer."""
SEEN_BY = 0.25
"""A trainer's samples are as many as peers of this share of all weight have seen: a coordinator that is new has seen
fewer, and fewer than that may lie."""
PARTS = 4
"""A trainer gives one of so many equal parts of a host's credit at most."""

Reason = Literal["own", "audited", "budget", "speed", "quarter"]


class Record(NamedTuple):
    """What a trainer signed for a host on one day."""

    run: str
    trainer: bytes
    host: bytes
    day: int
    work: int
    audited: int


class Sight(NamedTuple):
    """How many samples of a trainer a peer saw accepted on one day."""

    run: str
    witness: bytes
    trainer: bytes
    day: int
    samples: int


class RunRules(NamedTuple):
    """What the manifest says."""

    work: int
    """Of one sample, at most."""
    flops: int
    """Of one unit of work."""


class Share(NamedTuple):
    """What a record is worth, in work."""

    record: Record
    verified: float
    pending: dict[Reason, float]


Trainer = tuple[bytes, int]
"""Key and day."""


def rules_of(manifest: Manifest) -> RunRules:
    """The rules of a run."""
    model = manifest.model
    flops = 2 * EXPERTS[model.expert].multiplications(model) if model.expert else 0
    return RunRules((FORWARD + BACKWARD) * model.k * model.layers, flops)


def records_of(bundle: Bundle) -> list[Record]:
    """The records of a bundle, those of days without work left out."""
    return [
        Record(bundle.run, entry.trainer, bundle.host, day, work, audited)
        for entry in bundle.entries
        for day, work, audited in zip(days_of(bundle.week), entry.work, entry.audited, strict=True)
        if work
    ]


def sights_of(bundle: Bundle) -> list[Sight]:
    """What the peer that shows a bundle has seen."""
    return [
        Sight(bundle.run, bundle.host, seen.trainer, day, samples)
        for seen in bundle.seen
        for day, samples in zip(days_of(bundle.week), seen.samples, strict=True)
        if samples
    ]


def newest(records: Iterable[Record]) -> list[Record]:
    """One record of each run, trainer, host and day: the one that says most. To repeat one gains nothing."""
    found: dict[tuple[str, bytes, bytes, int], Record] = {}
    for one in records:
        key = one[:4]
        if key not in found or (one.work, one.audited) > (found[key].work, found[key].audited):
            found[key] = one
    return [*found.values()]


def shares(
    records: Iterable[Record],
    sights: Iterable[Sight],
    work_of_sample: int,
    trusted: Collection[bytes],
    teams: Mapping[bytes, str],
) -> list[Share]:
    """What the records of one run are worth.

    Args:
        records: whose signatures were checked, of any hosts and days.
        sights: likewise.
        work_of_sample: see `RunRules.work`.
        trusted: peers that are believed.
        teams: by peer; those that have one.
    """
    worth = {one: _Worth(one) for one in newest(records)}
    for one in worth.values():
        record = one.record
        team = teams.get(record.host, "")
        if record.trainer == record.host or (team and team == teams.get(record.trainer, "")):
            one.cut("own", 0.0)
        one.pend("audited", record.work - record.audited)
    open_ones = [one for one in worth.values() if one.left]
    believed = [one for one in open_ones if one.record.trainer in trusted]
    others = [one for one in open_ones if one.record.trainer not in trusted]
    samples = _accepted(sights, believed, trusted)
    _within_budget(others, samples, work_of_sample)
    _within_speed(others, believed, samples, trusted)
    _by_quarters(others, believed)
    return [Share(one.record, one.left, one.pending) for one in worth.values()]


class _Worth:
    def __init__(self, record: Record) -> None:
        self.record, self.left = record, float(record.work)
        self.pending: dict[Reason, float] = {}

    def pend(self, reason: Reason, amount: float) -> None:
        if (amount := min(self.left, amount)) > 0.0:
            self.left -= amount
            self.pending[reason] = self.pending.get(reason, 0.0) + amount

    def cut(self, reason: Reason, factor: float) -> None:
        """Leave only this part of it."""
        if factor < 1.0:
            self.pend(reason, self.left * (1.0 - factor))


def _accepted(sights: Iterable[Sight], believed: list[_Worth], trusted: Collection[bytes]) -> dict[Trainer, float]:
    """The samples of each trainer and day, as trusted peers saw them, or others, by the work that trusted trainers have
    audited of these: to be many costs as much as to help so much."""
    weight: Counter[bytes] = Counter()
    for one in believed:
        weight[one.record.host] += one.record.audited
    by_day: dict[int, dict[bytes, Counter[bytes]]] = defaultdict(lambda: defaultdict(Counter))
    for sight in sights:
        seen = by_day[sight.day][sight.witness]
        seen[sight.trainer] = max(seen[sight.trainer], sight.samples)
    found = {}
    for day, witnesses in by_day.items():
        for trainer in set().union(*witnesses.values()):
            others = [peer for peer in witnesses if peer != trainer]
            told = sorted(((witnesses[peer][trainer], float(weight[peer])) for peer in others), reverse=True)
            known = max((witnesses[peer][trainer] for peer in witnesses if peer in trusted), default=0)
            found[trainer, day] = max(float(known), _reached(told, SEEN_BY * sum(part for _, part in told)))
    return found


def _reached(told: list[tuple[int, float]], needed: float) -> float:
    """The greatest number that those of so much weight have seen at least."""
    whole = 0.0
    for samples, weight in told:
        whole += weight
        if weight and whole >= needed:
            return float(samples)
    return 0.0


def _within_budget(others: list[_Worth], samples: Mapping[Trainer, float], work: int) -> None:
    signed: dict[Trainer, float] = defaultdict(float)
    for one in others:
        signed[one.record.trainer, one.record.day] += one.left
    for one in others:
        key = one.record.trainer, one.record.day
        one.cut("budget", SLACK * work * samples.get(key, 0.0) / signed[key])


def _within_speed(
    others: list[_Worth], believed: list[_Worth], samples: Mapping[Trainer, float], trusted: Collection[bytes]
) -> None:
    whole: Counter[int] = Counter()
    theirs: Counter[int] = Counter()
    for (trainer, day), count in samples.items():
        week = week_of(day)
        whole[week] += round(count)
        theirs[week] += round(count) if trainer in trusted else 0
    sampled: Counter[tuple[bytes, int]] = Counter()
    for one in believed:
        sampled[one.record.host, week_of(one.record.day)] += one.record.audited
    got: dict[tuple[bytes, int], float] = defaultdict(float)
    limited = [one for one in others if one.record.host not in trusted]
    for one in limited:
        got[one.record.host, week_of(one.record.day)] += one.left
    for one in limited:
        key = one.record.host, week_of(one.record.day)
        likely = sampled[key] * whole[key[1]] / theirs[key[1]] if theirs[key[1]] else 0.0
        if got[key] > 0.0:
            one.cut("speed", MARGIN * likely / got[key])


def _by_quarters(others: list[_Worth], believed: list[_Worth]) -> None:
    fixed: dict[bytes, float] = defaultdict(float)
    for one in believed:
        fixed[one.record.host] += one.left
    by_host: dict[bytes, dict[bytes, float]] = defaultdict(lambda: defaultdict(float))
    for one in others:
        by_host[one.record.host][one.record.trainer] += one.left
    most = {host: quarter(fixed[host], given.values()) for host, given in by_host.items()}
    for one in others:
        if given := by_host[one.record.host][one.record.trainer]:
            one.cut("quarter", most[one.record.host] / given)


def quarter(fixed: float, given: Iterable[float]) -> float:
    """What one trainer gives at most, so that it is a quarter of the sum and no more: the greatest c with
    fixed + sum(min(one, c)) = 4 c. Of fewer than four trainers that is nothing, unless something is fixed.

    Args:
        fixed: what counts in any case.
        given: what each trainer would give.
    """
    amounts = sorted(given)
    for cut in range(PARTS):
        rest = amounts[: len(amounts) - cut]
        most = (fixed + sum(rest)) / (PARTS - cut)
        if not rest or rest[-1] <= most:
            return most
    raise AssertionError("with three that are cut, the rest is at most what each of them gives")
