"""The text of the run `stories`: short stories that a grammar tells (`resources/stories/grammar.toml`).

Each begins with what somebody asked for: who and what is in it, and where. So a model of it can be asked for a story,
and for another one after it.
Chance comes from numbers that are the same in every Python, and the tokenizer is the one that comes with Hearth: so
every PC has the same shards, and nobody has to fetch them.
"""

import functools
import random
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar

from core.store.tokens import Tokens

T = TypeVar("T")
STORIES = 10_000
SEED = 20_261_126
ANOTHER = 0.15
"""How often another story follows."""


def tokenizer() -> bytes:
    """The file of the run's tokenizer."""
    return files("resources").joinpath("stories", "tokenizer.json").read_bytes()


def text() -> bytes:
    """All stories as the run's shards have them, one behind the other."""
    return b"".join(Tokens(tokenizer()).documents(conversations(stories(STORIES))))


def conversations(told: Iterable[bytes], seed: int = SEED) -> Iterator[bytes]:
    """Stories as a chat has them: one or more, each behind the one before.

    Args:
        told: the stories.
        seed: of the chance that there is another one.
    """
    chance, so_far = random.Random(seed), list[bytes]()
    for story in told:
        so_far.append(story)
        if chance.random() > ANOTHER:
            yield b"\n\n".join(so_far)
            so_far.clear()
    if so_far:
        yield b"\n\n".join(so_far)


def stories(count: int, seed: int = SEED) -> Iterator[bytes]:
    """Stories, UTF-8.

    Args:
        count: how many.
        seed: of their chance.
    """
    chance = random.Random(seed)
    for _ in range(count):
        yield _story(grammar(), chance).encode()


@functools.cache
def grammar() -> dict[str, Any]:
    """What the stories are about, and how they go."""
    return tomllib.loads(files("resources").joinpath("stories", "grammar.toml").read_text("utf-8"))


def _one(chance: random.Random, of: Sequence[T]) -> T:
    """Any of them, by the only number of `random` that no Python has changed."""
    return of[int(chance.random() * len(of))]


def _person(chance: random.Random, kinds: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[str, str, str]:
    """Kind, "he" or "she", and name."""
    kind = _one(chance, [*kinds])
    sex = _one(chance, [*kinds[kind]])
    return kind, sex, _one(chance, kinds[kind][sex])


def pronouns(sex: str, of: str = "") -> dict[str, str]:
    """By what sentences have in their place.

    Args:
        sex: "he" or "she".
        of: "" of the hero, "f" of the friend.
    """
    words = ("he", "him", "his") if sex == "he" else ("she", "her", "her")
    names = [f"{of}{word}" for word in ("he", "him", "his")]
    return dict(zip(names, words, strict=True)) | {n.title(): w.title() for n, w in zip(names, words, strict=True)}


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _story(rules: Mapping[str, Any], chance: random.Random) -> str:
    plot = _one(chance, rules["plots"])
    kind, sex, hero = _person(chance, rules["heroes"])
    fkind, fsex, friend = _person(chance, rules["heroes"] | rules["helpers"])
    while friend == hero or fkind == kind:
        fkind, fsex, friend = _person(chance, rules["heroes"] | rules["helpers"])
    thing, place = _one(chance, rules["things"][plot["things"]]), _one(chance, [*rules["places"]])
    looks = _one(chance, rules[_one(chance, ("colours", "sizes"))])
    words = {
        "hero": hero,
        "friend": friend,
        "fkind": fkind,
        "a kind": _a(kind),
        "a fkind": _a(fkind),
        "thing": thing,
        "a thing": _a(f"{looks} {thing}"),
        "place": f"the {place}",
        "at": rules["places"][place],
        "Near": _one(chance, rules["near"]),
        "day": _one(chance, rules["days"]),
        "trait": _one(chance, rules["trait"]),
        "missing": _one(chance, rules["missing"]),
        **pronouns(sex),
        **pronouns(fsex, "f"),
    }
    lines = [rules["begins"], rules["traits"], *plot["steps"], rules["ends"]]
    told = (_one(chance, line).format_map(words) for line in lines)
    asked = f"Tell me a story about {_a(kind)}, {_a(thing)} and the {place}."
    return f"{asked}\n" + " ".join(line for line in told if line)
