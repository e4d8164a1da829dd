"""Data, then words: codes with arguments cross the borders, and each code has a sentence in every language."""

import json
import re
import time

import msgspec
import pytest

from core.contracts.control import ErrorInfo
from core.contracts.errors import CallRefused, HearthError, NetworkError, SettingsError
from core.contracts.notices import DEPTH, MOST_TEXT, PLACE, Language, Notice, english, notice, plain
from tests.translations import codes, sentences

NOW = 1_767_340_800.0  # Friday, 2 January 2026
SENTENCES = {
    "free": ("Only {free:size} of {what} are free.",),
    "what": ("memory",),
    "experts": ("{n} expert", "{n} experts"),
    "retry": ("It is tried again in {at:countdown}.",),
    "why": ("It stopped ({cause:phrase}).",),
    "list": ("Stops for {names}",),
    "told": ("Nobody: {why:sentences} Ask.",),
    "list.more": ("{names} and {more} more",),
    "apart": ("{by:signed} s apart",),
}


def _find(code: str, number: int | None) -> str | None:
    forms = SENTENCES.get(code)
    return None if forms is None else forms[0 if number == 1 else -1]


say = Language(_find, {})


def test_placeholders_say_how_an_argument_is_written() -> None:
    assert say(notice("free", free=300 << 20, what=notice("what"))) == "Only 300 MB of memory are free."
    assert [say(notice("experts", n=n)) for n in (1, 2, 2500)] == ["1 expert", "2 experts", "2,500 experts"]
    assert say(notice("retry", at=NOW + 130), NOW) == "It is tried again in 2:10."
    assert say(notice("why", cause=notice("retry", at=NOW)), NOW) == "It stopped (It is tried again in 0:00)."
    assert [say(notice("apart", by=by)) for by in (1.25, -0.04)] == ["+1.2 s apart", "+0.0 s apart"]
    assert say.phrase([notice("what"), plain("It burns.")]) == "memory It burns"


def test_a_long_list_says_how_many_more() -> None:
    assert say(notice("list", names=["a", "b"])) == "Stops for a, b"
    assert say(notice("list", names=list("abcdef"))) == "Stops for a, b, c and 3 more"
    assert say(notice("told", why=[plain("It burns."), plain("It is away.")])) == "Nobody: It burns. It is away. Ask."


def test_whatever_a_newer_or_a_lying_worker_says_is_shown_somehow() -> None:
    assert say(notice("nobody.knows", x=1)) == "nobody.knows"
    assert say(notice("free", free="much")) == "Only much of {what} are free."
    assert say(notice("retry", at=float("inf")), NOW) == "It is tried again in inf."
    deep = notice("why", cause="end")
    for _ in range(3 * DEPTH):
        deep = notice("why", cause=deep)
    assert "It stopped (why" in say(deep)


def test_notices_cross_a_border_whole_and_within_limits() -> None:
    said = notice("free", free=1, what=notice("what"), on=True, share=0.5, names=["a", notice("what")])
    assert msgspec.json.decode(msgspec.json.encode(said), type=Notice) == said
    assert len(str(plain("x" * 3 * MOST_TEXT))) == MOST_TEXT
    for wrong in (
        {"code": "No Code"},
        {"code": "a", "args": {"x": "y" * (MOST_TEXT + 1)}},
        {"code": "a", "args": {f"x{at}": 1 for at in range(100)}},
        {"code": "a", "args": {"x": ["y"] * 1000}},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(json.dumps(wrong), type=Notice)


def test_errors_are_notices_in_english_for_logs_and_terminals() -> None:
    wrong = SettingsError(notice("control.other_version", worker=2, client=1))
    assert str(wrong).startswith("This worker speaks version 2 of the control protocol")
    assert ErrorInfo(wrong.code, wrong.notice).error().notice == wrong.notice
    assert str(HearthError("Foreign words")) == "Foreign words" and str(HearthError()) == ""
    assert type(ErrorInfo("refused", plain("Busy.")).error()) is CallRefused
    assert isinstance(ErrorInfo("record", plain("Forged.")).error(), NetworkError)
    assert type(ErrorInfo("of the future", plain("?")).error()) is HearthError


def test_english_needs_a_moment_only_once() -> None:
    english(notice("list.more", names="a", more=1))
    start = time.thread_time()
    for _ in range(1000):
        english(notice("list.more", names="a", more=1))
    assert time.thread_time() - start < 0.5


def test_every_code_of_the_sources_has_a_sentence_and_every_sentence_its_code() -> None:
    patterns, known = [re.compile(code) for code in codes()], sentences("en")
    used = {code for code in known if any(pattern.fullmatch(code) for pattern in patterns)}
    lacking = sorted(one.pattern for one in patterns if not any(one.fullmatch(code) for code in known))
    assert lacking == [], "these codes have no sentence in resources/translations/en.ts"
    assert sorted(set(known) - used) == [], "nothing says these"


def test_both_languages_have_the_same_sentences_with_the_same_arguments() -> None:
    one, other = sentences("en"), sentences("de")
    assert set(one) == set(other)
    for code, forms in one.items():
        assert all(other[code]), f"{code} is not translated"
        assert len(other[code]) == len(forms), f"{code} has other plural forms"
        for form in (*forms, *other[code]):
            expected = set(PLACE.findall(forms[-1]))
            lost = expected - set(PLACE.findall(form))
            assert set(PLACE.findall(form)) <= expected and {name for name, _ in lost} <= {"n"}, f"{code}: {form}"
            assert (form[-1] in ".?") == (forms[-1][-1] in ".?"), f"{code}: only one is a sentence"
