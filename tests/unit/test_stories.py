"""The stories that come with Hearth, and what is made of them."""

import re
from pathlib import Path

from core.contracts import manifest as manifests
from core.store import shards, stories
from core.store.tokens import Tokens
from tests.stories import follows

STORIES = manifests.load("stories")


def test_the_shards_are_those_of_the_manifest_and_nobody_has_to_fetch_them(tmp_path: Path) -> None:
    assert shards.prepare(STORIES, tmp_path) == []
    assert STORIES.tokenizer is not None and shards.read(tmp_path, STORIES.tokenizer) == stories.tokenizer()
    text, unseen = shards.open_text(STORIES, tmp_path)
    tokens, number = Tokens(stories.tokenizer()), 2
    first = text.read(0, 2000)
    told = b"".join(tokens.pieces[int.from_bytes(first[at : at + number], "little")] for at in range(0, 2000, number))
    assert told.startswith(next(stories.stories(1)))
    assert 0 <= len(text) - 7 * len(unseen) < 128


def test_stories_begin_with_what_was_asked_and_keep_to_it() -> None:
    for story in stories.stories(300, seed=7):
        assert follows(story.decode()), story.decode()


def test_what_does_not_keep_to_it_is_found() -> None:
    story = next(stories.stories(1, seed=8)).decode()
    asked, _, told = story.partition("\n")
    other = "about a bear," if " bear," not in asked else "about a girl,"
    assert not follows(re.sub("about an? [a-z]+,", other, story, count=1)), "somebody else"
    assert not follows(f"{asked}\n{told.rpartition('. ')[0]}."), "no end"
    assert not follows(f"{asked}\n{told} {told}"), "told twice"


def test_one_asks_for_another_story_after_the_first() -> None:
    told = [*stories.stories(500, seed=9)]
    talks = [*stories.conversations(told)]
    assert b"\n\n".join(talks) == b"\n\n".join(told)
    assert 400 < len(talks) < 450


def test_ten_thousand_stories_are_ten_thousand() -> None:
    told = [*stories.stories(stories.STORIES)]
    assert len({*told}) > 0.999 * len(told)
    assert max(map(len, told)) < 1200
