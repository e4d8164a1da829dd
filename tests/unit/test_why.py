"""`hearth why`: the table of rules as it is printed."""

import io
from typing import Any

import pytest
from rich.console import Console

from core.commands.why import panel
from core.contracts.notices import plain
from core.contracts.status import RuleStatus, State, YieldStatus
from core.control.why import Why


def printed(*rules: RuleStatus) -> str:
    decides = next((rule.rule for rule in rules if "cpu" in rule.stops), None)
    answer = Why(
        "yielding", (plain("A game is in front."),), (plain("Runs again when it has left the screen."),), None,
        decides is None, False, False, True, list(rules), decides, YieldStatus(0, None, None), 0.0,
    )  # fmt: skip
    text = io.StringIO()
    Console(file=text, width=140).print(panel(answer))
    return text.getvalue()


def rule(name: str, *stops: Any) -> RuleStatus:
    return RuleStatus(name, plain("now"), plain("wanted"), stops, (plain("Soon."),) if stops else ())


@pytest.mark.parametrize(
    ("state", "heading"), [("contributing", "Why am I running?"), ("limited", "Why am I not running?")]
)
def test_its_heading_is_a_question_about_what_is_so(state: State, heading: str) -> None:
    yields = YieldStatus(0, None, None)
    answer = Why(state, (), (), None, True, False, False, True, [], None, yields, 0.0)
    text = io.StringIO()
    Console(file=text, width=140).print(panel(answer))
    assert text.getvalue().startswith(heading)


@pytest.mark.parametrize(
    ("rules", "allowed", "verdict"),
    [
        ([rule("game", "cpu", "gpu"), rule("gpu")], "CPU off, network on.", "stops the CPU\n"),
        ([rule("game", "gpu"), rule("gpu")], "CPU on, network on.", "fine\n"),
        (
            [rule("game", "cpu", "gpu"), rule("gpu_user"), rule("gpu")],
            "CPU off, GPU off, network on.",
            "CPU, the GPU\n",
        ),
    ],
)
def test_a_gpu_is_named_only_where_one_is_used(rules: list[RuleStatus], allowed: str, verdict: str) -> None:
    text = printed(*rules)
    assert f"Allowed now: {allowed}" in text
    (row,) = [line.rstrip() + "\n" for line in text.splitlines() if "Games" in line and "wanted" in line]
    assert row.endswith(verdict)
