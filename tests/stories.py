"""Whether a story that a model has told is one that the grammar of the run `stories` could tell."""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from core.store.stories import grammar, pronouns

ASKED = re.compile(r"Tell me a story about an? (\w+), an? ([\w ]+) and the (\w+)\.\n")
OPEN = {"day": ["days"], "trait": ["trait"], "missing": ["missing"], "Near": ["near"], "looks": ["colours", "sizes"]}
"""Words that nothing else in a story depends on, and where the grammar has them."""


def follows(story: str) -> bool:
    """Whether each sentence is one of the grammar's, in the order of one of its plots, and tells of who and what was
    asked for, with the same names and pronouns from the beginning to the end.

    Args:
        story: with what was asked in its first line.
    """
    asked = ASKED.match(story)
    if not asked:
        return False
    kind, thing, place = asked.groups()
    rules, told = grammar(), story[asked.end() :].strip()
    if kind not in rules["heroes"] or place not in rules["places"]:
        return False
    plots = [plot for plot in rules["plots"] if thing in rules["things"][plot["things"]]]
    people = [one for one in _people(rules["heroes"]) if one[0] == kind and one[2] in told]
    friends = [one for one in _people(rules["heroes"] | rules["helpers"]) if one[2] in told]
    for plot, (_, sex, hero), (fkind, fsex, friend) in itertools.product(plots, people, friends):
        fixed = {"hero": hero, "friend": friend, "fkind": fkind, "thing": thing, "place": f"the {place}"}
        fixed |= {"at": rules["places"][place], **pronouns(sex), **pronouns(fsex, "f")}
        slots = {name: re.escape(word) for name, word in fixed.items()} | _open(rules, kind, fkind, thing)
        if re.fullmatch(_pattern(rules, plot["steps"], slots), told):
            return True
    return False


def _open(rules: dict[str, Any], kind: str, fkind: str, thing: str) -> dict[str, str]:
    slots = {name: _any(word for part in parts for word in rules[part]) for name, parts in OPEN.items()}
    slots |= {f"a {name}": f"an? {re.escape(word)}" for name, word in (("kind", kind), ("fkind", fkind))}
    return slots | {"a thing": f"an? {slots['looks']} {re.escape(thing)}"}


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"


def _pattern(rules: dict[str, Any], steps: list[list[str]], slots: dict[str, str]) -> str:
    """What fits every story of a plot."""

    def line(choices: list[str]) -> str:
        return "(?:" + "|".join(_sentence(choice, slots) for choice in choices if choice) + ")"

    middle = "".join(f" {line(step)}" for step in steps)
    return f"{line(rules['begins'])}(?: {line(rules['traits'])})?{middle} {line(rules['ends'])}"


def _sentence(choice: str, slots: dict[str, str]) -> str:
    parts = re.split(r"\{([^}]+)\}", choice)
    return "".join(slots[part] if at % 2 else re.escape(part) for at, part in enumerate(parts))


def _people(kinds: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for kind, names in kinds.items():
        for sex, some in names.items():
            for name in some:
                yield kind, sex, name
