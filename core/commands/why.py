"""`hearth why`: every rule with its live value, and the measured promise."""

import argparse

from rich.console import Group, RenderableType
from rich.text import Text

from core.commands import common, tables
from core.contracts.notices import english
from core.contracts.status import STATE_WORD, Status
from core.control.why import FINE, LIFTED, UNKNOWN, Why, promise, uses_gpus, verdict, why

MARKS = {FINE: ("✓", ""), UNKNOWN: ("?", "dim"), LIFTED: ("-", "")}
"""Sign and style of a verdict; one that stops something gets the cross."""


def show(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        answer = why(client.call("status", {}, Status))
    if options.json:
        common.print_json(answer)
    else:
        tables.show(panel(answer))


def panel(answer: Why) -> RenderableType:
    """The rule that decides comes first; then all in their order, also those that pass."""

    running = answer.state in ("contributing", "preparing")
    head = Text(f"Why am I {'' if running else 'not '}running?", style="bold")
    state = Text(f"{STATE_WORD[answer.state]}. {english(answer.reason)} {english(answer.until)}")
    table = tables.table()
    for name in ("", "Rule", "Now", "By your settings", "Verdict"):
        table.add_column(name, overflow="fold")
    rules = sorted(answer.rules, key=lambda rule: rule.rule != answer.decides)
    gpus = uses_gpus(rules)
    for rule in rules:
        says = verdict(rule, gpus)
        mark, style = MARKS.get(says.code, ("✗", "yellow"))
        table.add_row(
            mark, *(english.phrase(said) for said in (rule.title, rule.live, rule.wants, says)),
            style="bold yellow" if rule.rule == answer.decides else style,
        )  # fmt: skip
    uses = {"CPU": answer.cpu} | ({"GPU": answer.gpu} if gpus else {}) | {"network": answer.network}
    line = ", ".join(f"{name} {'on' if on else 'off'}" for name, on in uses.items())
    return Group(
        head, state, Text(f"Allowed now: {line}."), Text(), table, Text(), Text(english(promise(answer.yields)))
    )
