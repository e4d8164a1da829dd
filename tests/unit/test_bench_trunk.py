"""What `bench trunk` says must hold is read off its figures, and a part that fails costs the others nothing."""

import math
from pathlib import Path
from typing import Any

from tests.bench import holds, restarts, trunk
from tests.bench.averaging_plan import SETUPS, compared

PLAN = {"table": {name: compared(setup) for name, setup in SETUPS.items()}, "milliseconds": {"all": {"p95": 12.0}}}


def told(figures: dict[str, Any]) -> dict[str, bool | None]:
    return {line["name"]: line["holds"] for line in holds.rows(figures)}


def test_what_was_not_measured_neither_holds_nor_fails() -> None:
    assert {*told({}).values()} == {None} and len(told({})) == len(holds.PARTS)


def test_the_plan_is_judged_by_the_papers_table_and_its_time() -> None:
    lines = told({"plan": PLAN})
    assert [holding for name, holding in lines.items() if "setup" in name] == [True] * len(SETUPS)
    assert lines["a plan for 24 peers, p95 in ms"] is True
    slow = told({"plan": {**PLAN, "milliseconds": {"all": {"p95": 51.0}}}})
    assert slow["a plan for 24 peers, p95 in ms"] is False


def test_one_kill_that_leads_back_too_far_does_not_hold() -> None:
    def kills(back: int) -> dict[str, Any]:
        made = [restarts.Kill(float(n), "worker", back if n == 9 else 0, 1, 2.0, n) for n in range(100)]
        return {"restarts": {"dedloc": restarts.figures_of(made, differ=0)}}

    assert {*told(kills(1)).values()} == {True, None}
    assert [name for name, holding in told(kills(2)).items() if holding is False] == [
        "dedloc, processes killed at random: rounds back"
    ]


def test_a_strategy_is_judged_by_one_trainer_and_by_trunks_apart() -> None:
    arms = {"one": {"loss": 1.0}, "own": {"loss": 1.2}, "dedloc": {"loss": 1.01, "behind_one_percent": 1.0}}
    arms["diloco"] = {"loss": 1.21, "behind_one_percent": 21.0}
    lines = told({"convergence": {"trainers": {"4 trainers": arms}}})
    assert [lines[f"{kind}, simulated time, 4 trainers, dedloc"] for kind in ("loss", "control")] == [True, True]
    assert [lines[f"{kind}, simulated time, 4 trainers, diloco"] for kind in ("loss", "control")] == [False, False]


def test_exactness_and_speed_of_rounds_are_judged_together_with_hivemind() -> None:
    slow = [
        {"shares": shares, "peers": peers, "codec": "fp32", "round_s": took, "wrong_rounds": 0}
        for shares, peers, took in (("equal", 4, 9.0), ("planned", 4, 3.0), ("equal", 8, 4.0), ("planned", 8, 3.0))
    ]
    figures = {
        "even": [{"wrong_rounds": 1}],
        "one_slow": slow,
        "times_faster": {"4 peers, fp32": 1.6, "one slow, planned shares, fp32, declared there True": 2.9},
    }
    lines = told({"all_reduce": figures})
    assert lines["one slow of 4 peers, fp32"] is True and lines["one slow of 8 peers, fp32"] is False
    assert lines["rounds that were not exact"] is False
    assert lines["all-reduce, 4 peers, fp32"] is True
    assert lines["all-reduce, one slow, planned shares, fp32, declared there True"] is False


def test_vc_asgd_is_judged_by_the_papers_order_in_which_what_hardly_moves_spreads_least() -> None:
    def figures(ends: dict[str, float], spreads: dict[str, float]) -> dict[str, Any]:
        arms = {
            name: {"accuracy_percent_by_epoch": {1: 80 - end, 40: end}, "deviation_at_the_end": spreads[name]}
            for name, end in ends.items()
        }
        return {"vc_asgd": {"mnist": {"seeds": 3, **arms}, "lost_clients": [], "updates": {}}}

    spreads = {"0.7": 0.4, "0.95": 0.2, "0.999": 0.1, "e/(e+1)": 0.15}
    lines = told(figures({"0.7": 60.0, "0.95": 61.0, "0.999": 40.0, "e/(e+1)": 62.0}, spreads))
    assert lines["at the end, per cent"] and lines["at the end"] and lines["spread at the end"]
    lines = told(figures({"0.7": 63.0, "0.95": 61.0, "0.999": 62.0, "e/(e+1)": 62.0}, {**spreads, "e/(e+1)": 0.3}))
    assert not (lines["at the end, per cent"] or lines["at the end"] or lines["spread at the end"])


def test_parts_that_fail_are_named_and_the_document_is_whole(tmp_path: Path) -> None:
    options = trunk.Options(
        True, None, None, tmp_path, tmp_path, [], [], None, None, ["trunk", "--quick", "--no-such-option"]
    )
    document = trunk.measure(options, ["plan", "diloco"])
    assert document["failed"].keys() == {"plan", "diloco"} and not document["figures"]
    assert len(document["holds"]) == len(holds.PARTS)


def test_a_part_in_a_process_of_its_own_gives_its_figures(tmp_path: Path) -> None:
    figures = trunk.apart("plan", ["trunk", "--quick", "--keep", "--out", str(tmp_path)], math.inf)
    assert figures["table"].keys() == SETUPS.keys()
