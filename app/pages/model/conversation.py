"""A conversation with a model: what was said so far, how it is shown, and what of it the model is told."""

from collections.abc import Sequence
from typing import Literal

from app.language import tr
from app.pages.model.text_block import Part
from core.contracts.control import Said

MOST, MOST_CHARACTERS = 100, 1 << 15
"""Turns and characters that are sent to the worker; no model sees further back."""
LONGEST = 1 << 16
"""Characters of a turn, as `Said` takes them."""


def said(role: Literal["user", "assistant"], text: str) -> Said:
    """What one side says; halves of characters, which a field may hold, are no text."""
    return Said(role, text.encode("utf-8", "replace").decode()[:LONGEST])


def recent(turns: Sequence[Said]) -> tuple[Said, ...]:
    """The last turns, as many as a model is told; the newest one always."""
    found: list[Said] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns[-MOST:]):
        room -= len(turn.content)
        if found and room < 0:
            break
        found.append(turn)
    return tuple(reversed(found))


def parts(turns: Sequence[Said], answer_follows: bool = False) -> list[Part]:
    """The turns as they are read, each below the name of who says it.

    Args:
        turns: of user and model.
        answer_follows: whether the model's next answer will stand behind them.
    """
    found: list[Part] = []
    for turn in turns:
        mine = turn.role == "user"
        found.append(Part(f"{tr('You') if mine else tr('Model')}\n", "text3", strong=True))
        found.append(Part(f"{turn.content.strip()}\n\n", "text2" if mine else "text"))
    if answer_follows:
        found.append(Part(f"{tr('Model')}\n", "text3", strong=True))
    elif found:
        found[-1] = found[-1]._replace(text=found[-1].text.rstrip("\n"))
    return found
