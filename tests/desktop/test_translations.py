"""The translations are complete, and what the worker says is understood in whatever way it is put together."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QApplication

from app.formats import count, data_size, number, percent
from app.language import (
    BRITISH,
    LANGUAGES,
    WORKER,
    Catalogue,
    Message,
    fill,
    is_spoken,
    locale,
    mark,
    read,
    speak,
    temperature,
    told,
    tr,
    tr_setting,
    use,
)
from app.pages.contribution.history import KINDS, tight
from core.contracts import notices
from core.contracts.notices import notice, plain
from core.contracts.words import clock, duration, electricity, traffic
from tests.translations import sentences, sources

PLACES = re.compile(r"\{\w+\}|%Ln")
OTHERS = [language for language in LANGUAGES if language != "en"]


@pytest.fixture(autouse=True)
def in_english(qapp: QApplication) -> Iterator[None]:
    speak("en")
    yield
    speak("system")


def test_the_files_hold_what_the_sources_say_and_nothing_else() -> None:
    said = sources()
    codes = {Message(WORKER, code) for code in sentences("en")}  # see tests/unit/test_notices.py
    assert set(read("en")) == {message for message, plural in said.items() if plural} | codes
    for language in OTHERS:
        assert set(read(language)) == set(said), "run python -m tests.translations, then translate what is unfinished"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_with_its_forms_and_placeholders(language: str) -> None:
    wrong = []
    said, codes = sources(), sentences(language)
    for message, forms in read(language).items():
        if message.source in codes:
            continue
        if len(forms) != (2 if said[message] else 1) or not all(forms):
            wrong.append(f"not finished: {message.source}")
        for form in forms:
            # One of something need not be counted out.
            needed = {"%Ln"} if "%Ln" in message.source and form is not forms[0] else set()
            places = set(PLACES.findall(form))
            if not needed <= places or places - {"%Ln"} != set(PLACES.findall(message.source)) - {"%Ln"}:
                wrong.append(f"placeholders: {message.source} / {form}")
            ends = [text.rstrip()[-1:] in ".?" for text in (message.source, form) if text.strip()]
            if len(set(ends)) > 1:
                wrong.append(f"the end of a sentence: {message.source} / {form}")
    assert wrong == []


def test_german_speaks_to_a_friend() -> None:
    polite = re.compile(r"\b(Ihnen|Ihren?|Ihrem)\b|(?<=[a-zäöü,] )Sie\b")
    assert [form for forms in read("de").values() for form in forms if polite.search(form)] == []


def test_numbers_plurals_and_figures_follow_the_language() -> None:
    assert tr("%Ln expert(s)", 1) == "1 expert" and tr("%Ln expert(s)", 1204) == "1,204 experts"
    assert (number(1234.5, 1), percent(0.972)) == ("1,234.5", "97.2%")
    assert [count(n) for n in (0, 9_999, 12_345, 99_960)] == ["0", "9,999", "12.3 k", "100 k"]
    assert [count(n) for n in (999_499, 999_500, 1_240_000, 3e9)] == ["999 k", "1.00 M", "1.24 M", "3.00 bn"]
    speak("de")
    assert tr("%Ln expert(s)", 1) == "1 Experte" and tr("%Ln expert(s)", 1204) == "1.204 Experten"
    assert tr("%Ln expert(s)", 4096**4) == "281.474.976.710.656 Experten", "more than Qt counts"
    assert (number(1234.5, 1), percent(0.972)) == ("1.234,5", "97,2\N{NO-BREAK SPACE}%")
    assert tr_setting("Language") == "Sprache" and tr(mark("Home")) == "Übersicht"
    assert is_spoken("de") and not is_spoken("en")
    speak("en")
    assert locale() == BRITISH


def test_temperatures_are_told_as_the_locale_has_them() -> None:
    said = notice("heat.wants_both", celsius=85, watts=65)
    assert told(said) == notices.english(said) == "Stays below 85 °C and 65 W"
    use(Catalogue({}), QLocale("en_US"))
    assert [temperature(celsius) for celsius in (0, 37.5, 85)] == ["32 °F", "100 °F", "185 °F"]
    speak("de")
    assert told(said) == "Bleibt unter 85 °C und 65 W"


def test_values_are_put_in_as_they_are() -> None:
    assert fill("{one} and {other}", {"one": "{other}", "other": 2}) == "{other} and 2"
    assert tr("Saved as {path}.", path="/tmp/{path}%Ln") == "Saved as /tmp/{path}%Ln."


FRIDAY = 1_767_340_800.0  # 2 January 2026


@pytest.mark.parametrize(
    "said,english,german",
    [
        (
            [notice("run.training", n=3), notice("run.without_peers"), notice("metered.reason")],
            "This PC is training 3 experts. It works without other peers for now. This network is metered.",
            "Dieser PC trainiert 3 Experten. Es geht vorerst ohne andere Peers. Dieses Netzwerk ist getaktet.",
        ),
        (
            notice("run.until_input_at", at=FRIDAY),
            "Stops as soon as you use the mouse or keyboard, otherwise at Fri {clock}.",
            "Hält an, sobald du Maus oder Tastatur benutzt, sonst um Fr {clock}.",
        ),
        (
            notice("game.reason", what=notice("game.fullscreen_of", program="mpv")),
            "A full screen (mpv) is in front.",
            "Ein Vollbild (mpv) ist im Vordergrund.",
        ),
        (
            notice("memory.reason", free=1.25 * 2**30),
            "Only 1.2 GB of memory is free.",
            "Nur 1,2 GB Arbeitsspeicher sind frei.",
        ),
        (
            notice("month.until", end=FRIDAY),
            "Runs again next month, on 2 January.",
            "Geht nächsten Monat weiter, am 2. Januar.",
        ),
        (
            notice("cpu_busy.reason", share=0.6),
            "Other programs use 60% of the CPU.",
            "Andere Programme brauchen 60\N{NO-BREAK SPACE}% der CPU.",
        ),
        (notice("quota.live", used=1_234_500_000), "1.2 GB this month", "1,2 GB in diesem Monat"),
        (notice("energy.live", used=0.4123), "0.41 kWh this month", "0,41 kWh in diesem Monat"),
        (
            notice("gpu.found", names=[notice("gpu.one_off", name="A card"), notice("gpu.one_failed", name="Another")]),
            "A card (off), Another (failed)",
            "A card (aus), Another (ausgefallen)",
        ),
        (plain("Nobody has heard this one."), "Nobody has heard this one.", "Nobody has heard this one."),
        (notice("of.a_newer_worker"), "of.a_newer_worker", "of.a_newer_worker"),
        ([], "", ""),
    ],
)
def test_the_workers_notices_are_told_in_the_windows_language(said: Any, english: str, german: str) -> None:
    at = clock(FRIDAY, FRIDAY)
    assert told(said, FRIDAY - 86_400) == notices.english(said, FRIDAY - 86_400) == english.format(clock=at)
    speak("de")
    assert told(said, FRIDAY - 86_400) == german.format(clock=at)


def test_a_language_read_from_the_right_turns_the_window_round(qapp: QApplication) -> None:
    use(Catalogue({Message("window", "Home"): ("بيت",)}), QLocale("ar"), "ar")
    assert tr("Home") == "بيت" and qapp.layoutDirection() is Qt.LayoutDirection.RightToLeft
    speak("en")
    assert qapp.layoutDirection() is Qt.LayoutDirection.LeftToRight


def test_one_thing_has_one_rounding_wherever_it_is_written() -> None:
    for seconds, words in {20.0: "20 s", 59.6: "1 min", 96.0: "2 min", 5400.0: "1 h 30 min", 4.3e6: "1,194 h"}.items():
        assert KINDS["seconds"].write(seconds) == KINDS["seconds"].short(seconds) == duration(seconds) == words
    bars = {20.0: "20 s", 96.0: "2 min", 5_940.0: "1:39 h", 36_180.0: "10:03 h", 4.3e6: "1,194 h"}
    assert [tight(seconds) for seconds in bars] == list(bars.values()), "as the figure beside them"
    assert [KINDS["samples"].short(many) for many in (154_272, 1_542_720)] == ["154,272", "1.54 M"]
    for size in (0, 812, 999.6, 4_249_000, 99_960_000, 155_700_000, 3.1e12):
        written = data_size(size)
        assert KINDS["reduced"].short(size) == KINDS["reduced"].write(size) == written
        assert traffic(size) == written.replace(".0 ", " ")
    for kwh in (0.0042, 0.41, 12.34, 512.0):
        assert KINDS["kwh"].short(kwh) == KINDS["kwh"].write(kwh)
        assert electricity(kwh) == electricity(kwh, number).replace(".00 ", " ").replace("0 Wh", " Wh").replace(
            ". ", " "
        )
    assert [count(value) for value in (9_999, 12_345, 999_600, 1_240_000, 2.05e9)] == [
        "9,999", "12.3 k", "1.00 M", "1.24 M", "2.05 bn",
    ]  # fmt: skip
    speak("de")
    assert count(2.05e9) == "2,05 Mrd" and data_size(4_249_000) == "4,2 MB"
