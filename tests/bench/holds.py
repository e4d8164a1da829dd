"""What must hold of trainers that agree on a trunk, read off the figures of `bench trunk`. Pure.

Each line has a name, what was measured, what is wanted, and whether it holds; None for both where it was not measured.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

KILLS, ROUNDS_BACK = 100, 1
BEHIND_PERCENT = 2.0
TIMES_LESS = 50.0
OF_THE_PAPER = 0.1
PLAN_MS = 50.0
EVEN, SLOW, SHARES = 1.5, 3.0, 1.5
"""Times faster than hivemind, the same with one slow peer, and than equal shares then."""
LATE = 0.15
"""By which the time of work from which clients go away may differ from what the paper expects."""
VARYING, WORST, FAST = "e/(e+1)", "0.999", "0.7"
Figures = Mapping[str, Any]


class Line(NamedTuple):
    name: str
    wanted: str
    measured: Any = None
    holds: bool | None = None


def rows(figures: Figures) -> list[dict[str, Any]]:
    """All lines, each with the name of its part, in the issue's order.

    Args:
        figures: of the parts of `bench trunk`, by their names; some may be missing.
    """
    found = []
    for part, (lines, missing) in PARTS.items():
        known = figures.get(part)
        found += [{"part": part, **line._asdict()} for line in (known and [*lines(known)]) or missing]
    return found


def _losses(where: str) -> Callable[[Figures], Iterator[Line]]:
    def lines(figures: Figures) -> Iterator[Line]:
        for trainers, arms in figures.get("trainers", {}).items():
            alone = arms.get("own", arms.get("local"))
            for strategy, arm in arms.items():
                behind = arm.get("behind_one_percent")
                if strategy not in ("dedloc", "diloco", "diloco_sparse") or behind is None:
                    continue
                name = f"{where}, {trainers}, {strategy}"
                wanted = f"at most {BEHIND_PERCENT:g}% above one trainer"
                yield Line(f"loss, {name}", wanted, f"{behind:+.1f}%", behind <= BEHIND_PERCENT)
                if alone:
                    less = arm["loss"] < alone["loss"]
                    yield Line(f"control, {name}", f"below {alone['loss']:.3f} of trunks apart", arm["loss"], less)

    return lines


def _traffic(figures: Figures) -> Iterator[Line]:
    for wire in ("sparse", "dense"):
        times = figures[wire]["times_less"]
        wanted = f"{TIMES_LESS:g} times less than fp16 of each step"
        yield Line(f"traffic of diloco, {wire}", wanted, round(times, 1), times >= TIMES_LESS)


def _plan(figures: Figures) -> Iterator[Line]:
    for setup, found in figures["table"].items():
        mine, theirs = found["ratio"], found["ratio_of_the_paper"]
        near = abs(mine / theirs - 1) <= OF_THE_PAPER
        yield Line(f"averaging in setup {setup}", f"{theirs:g} of the better special case, within 10%", mine, near)
    slowest = max(kind["p95"] for kind in figures["milliseconds"].values())
    yield Line("a plan for 24 peers, p95 in ms", f"less than {PLAN_MS:g}", slowest, slowest < PLAN_MS)


def _all_reduce(figures: Figures) -> Iterator[Line]:
    slow = {(each["shares"], each["peers"], each["codec"]): each["round_s"] for each in figures["one_slow"]}
    for (shares, peers, codec), took in slow.items():
        equal = slow.get(("equal", peers, codec))
        if shares == "planned" and took and equal:
            wanted = f"{SHARES:g} times as fast as equal shares"
            yield Line(f"one slow of {peers} peers, {codec}", wanted, round(equal / took, 2), equal / took >= SHARES)
    wrong = sum(each["wrong_rounds"] for each in [*figures["even"], *figures["one_slow"]])
    yield Line("rounds that were not exact", "none", wrong, not wrong)
    for name, times in figures.get("times_faster", {}).items():
        if "equal shares" not in name:
            most = SLOW if name.startswith("one slow") else EVEN
            yield Line(f"all-reduce, {name}", f"{most:g} times as fast as hivemind", times, times >= most)


def _tests(figures: Any) -> Iterator[Line]:
    for check in figures:
        yield Line(check["what"], "its tests pass", check["said"], check["passed"])


def _vc_asgd(figures: Figures) -> Iterator[Line]:
    arms = {name: arm for name, arm in figures["mnist"].items() if isinstance(arm, Mapping)}
    first = {name: arm["accuracy_percent_by_epoch"] for name, arm in arms.items()}
    starts = {name: next(iter(by_epoch.values())) for name, by_epoch in first.items()}
    ends = {name: list(by_epoch.values())[-1] for name, by_epoch in first.items()}
    spreads = {name: arm["deviation_at_the_end"] for name, arm in arms.items()}
    fixed = {name: value for name, value in starts.items() if name != VARYING}
    learners = {name: value for name, value in spreads.items() if name != WORST}
    yield Line("VC-ASGD on MNIST: epoch 1", f"a = {FAST} leads of the fixed", starts, _most(fixed) == FAST)
    yield Line("at the end, per cent", f"a = {WORST} is worst", ends, _least(ends) == WORST)
    yield Line("at the end", f"{VARYING} is best", ends, _most(ends) == VARYING)
    wanted = f"{VARYING} has the smallest but for {WORST}, which hardly moves"
    yield Line("spread at the end", wanted, spreads, _least(learners) == VARYING)
    for row in figures["lost_clients"]:
        ratio = row["of_expected"]
        name = f"time with {100 * row['lost']:g}% of the clients killed, each subtask done once"
        yield Line(name, f"n t_e + n p t_o within {100 * LATE:g}%", ratio, abs(ratio - 1) <= LATE)
    stores = {name: it for name, it in figures["updates"].items() if isinstance(it, Mapping)}
    lost = {name: it["eventual"]["lost_of"] for name, it in stores.items()}
    yield Line("updates lost of so many, by store", "counted side by side for three stores", lost, len(stores) == 3)
    none = {name: it["strong"]["lost_of"][0] for name, it in stores.items()}
    yield Line("updates lost with `strong`", "none", none, not any(none.values()))


def _most(values: Mapping[str, float]) -> str:
    return max(values, key=lambda name: values[name])


def _least(values: Mapping[str, float]) -> str:
    return min(values, key=lambda name: values[name])


def _restarts(figures: Figures) -> Iterator[Line]:
    for strategy, found in figures.items():
        kills = sum(found["kills"].values())
        back, equal = (max(map(int, found[name])) for name in ("rounds_back", "rounds_until_equal"))
        name = f"{strategy}, processes killed at random"
        yield Line(name, f"{KILLS} kills", kills, kills >= KILLS)
        yield Line(f"{name}: rounds back", f"at most {ROUNDS_BACK}", back, back <= ROUNDS_BACK)
        if strategy != "vc_asgd":
            yield Line(f"{name}: rounds until all trunks are equal", "1", equal, equal <= 1)
        differ = found["versions_with_two_digests"]
        yield Line(f"{name}: versions of which two trunks were told", "none", differ, not differ)


Lines = Callable[[Any], Iterator[Line]]
PARTS: dict[str, tuple[Lines, list[Line]]] = {
    "workers": (
        _losses("real workers on shaped links"),
        [Line("same samples, real workers", "within 2% of one trainer")],
    ),
    "convergence": (_losses("simulated time"), [Line("same samples, simulated", "within 2% of one trainer")]),
    "diloco": (_traffic, [Line("traffic of diloco", f"{TIMES_LESS:g} times less than fp16 of each step")]),
    "plan": (_plan, [Line("the linear program", "the paper's table within 10%")]),
    "all_reduce": (_all_reduce, [Line("all-reduce", f"{EVEN:g} times as fast as hivemind, each round exact")]),
    "tests": (_tests, [Line("faults and liars", "their tests pass")]),
    "vc_asgd": (_vc_asgd, [Line("VC-ASGD", "the paper's order on MNIST, and its time with clients killed")]),
    "restarts": (_restarts, [Line("restart of every process", f"at most {ROUNDS_BACK} round back, trunks equal")]),
}
"""By part: what reads its lines, and what stands for them where it was not measured."""
