"""What a worker's attention is about: what is wrong, what has changed, and what an organiser says to all."""

from collections.abc import Sequence
from typing import NamedTuple

from core.contracts.notices import Notice

CHANGED = ("run.changed", "run.successor")
SAID = ("run.organiser_says",)


class Attention(NamedTuple):
    """Each in its order."""

    trouble: list[Notice]
    changed: list[Notice]
    """A run's new manifest: nothing is wrong, nothing is to be done."""
    said: list[Notice]
    """What organisers have written."""


def apart(attention: Sequence[Notice]) -> Attention:
    """The kinds of `Status.attention`; a run's note is told of by what it says, whichever of several runs it is of."""
    found = Attention([], [], [])
    for note in attention:
        what = note.args.get("what") if note.code == "run.says" else note
        code = what.code if isinstance(what, Notice) else note.code
        (found.changed if code in CHANGED else found.said if code in SAID else found.trouble).append(note)
    return found


def labelled(attention: Sequence[Notice]) -> list[tuple[str, Notice]]:
    """The same for a terminal, each with the word that stands before it; what is wrong comes first."""
    kinds = apart(attention)
    words = ("Attention", kinds.trouble), ("Changed", kinds.changed), ("Notice", kinds.said)
    return [(word, note) for word, notes in words for note in notes]
