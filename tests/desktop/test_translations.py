"""The translations are complete, and what the worker says is understood in whatever way it is put together."""

import re
import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QApplication

from app.formats import count, number, percent
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
    told,
    tr,
    tr_setting,
    use,
)
from core.contracts.words import clock
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
    assert [count(n) for n in (0, 9_999, 12_345, 99_960)] == ["0", "9,999", "12.3k", "100k"]
    assert [count(n) for n in (999_499, 999_500, 1_240_000, 3e9)] == ["999k", "1.0M", "1.2M", "3.0G"]
    speak("de")
    assert tr("%Ln expert(s)", 1) == "1 Experte" and tr("%Ln expert(s)", 1204) == "1.204 Experten"
    assert tr("%Ln expert(s)", 4096**4) == "281.474.976.710.656 Experten", "more than Qt counts"
    assert (number(1234.5, 1), percent(0.972)) == ("1.234,5", "97,2\N{NO-BREAK SPACE}%")
    assert tr_setting("Language") == "Sprache" and tr(mark("Home")) == "Übersicht"
    assert is_spoken("de") and not is_spoken("en")
    speak("en")
    assert locale() == BRITISH


@pytest.mark.parametrize("text", ["a, " * 2000, "x and " * 1000, "a (b) " * 1000, "a: b, " * 1000])
def test_what_no_worker_would_say_holds_up_nobody(text: str) -> None:
    speak("de")
    start = time.monotonic()
    assert told(text) == text
    assert time.monotonic() - start < 0.5  # it took minutes, and ended with a RecursionError
    speak("en")


def test_values_are_put_in_as_they_are() -> None:
    assert fill("{one} and {other}", {"one": "{other}", "other": 2}) == "{other} and 2"
    assert tr("Saved as {path}.", path="/tmp/{path}%Ln") == "Saved as /tmp/{path}%Ln."


@pytest.mark.parametrize(
    "english,german",
    [
        ("You are back. Compute is stopping.", "Du bist zurück. Das Rechnen hält an."),
        (
            "This PC is training 3 experts. It works without other peers: this network is metered.",
            "Dieser PC trainiert 3 Experten. Es geht auch ohne andere Peers: dieses Netzwerk ist getaktet.",
        ),
        (
            "Stops as soon as you use the mouse or keyboard, otherwise at Fri 08:00.",
            "Hält an, sobald du Maus oder Tastatur benutzt, sonst um Fr 08:00.",
        ),
        ("A full screen (mpv) is in front.", "Ein Vollbild (mpv) ist im Vordergrund."),
        ("Only 512.5 MB of memory are free.", "Nur 512,5 MB Arbeitsspeicher sind frei."),
        ("Goes on with the new month, on 1 December.", "Geht mit dem neuen Monat weiter, am 1. Dezember."),
        ("This Wayland desktop does not tell idle time", "Diese Wayland-Oberfläche nennt keine Leerlaufzeit"),
        (
            "300 MB used; systemd ends compute beyond 4.0 GB (a control group)",
            "300 MB belegt; systemd beendet den Rechenprozess über 4,0 GB (eine Kontrollgruppe)",
        ),
        (
            "Worker stopped: it ended with exit code 3 (The key file /x cannot be used: it does not hold 64 "
            "hexadecimal digits). Restarting in 4 s.",
            "Worker gestoppt: er endete mit dem Exit-Code 3 (Die Schlüsseldatei /x ist nicht zu gebrauchen: sie "
            "enthält keine 64 hexadezimalen Ziffern). Neustart in 4 s.",
        ),
        ("A card (off), Another (failed)", "A card (aus), Another (ausgefallen)"),
        ("Nobody has heard this one. You are back.", "Nobody has heard this one. Du bist zurück."),
        ("", ""),
    ],
)
def test_the_workers_sentences_are_told_in_the_windows_language(english: str, german: str) -> None:
    assert told(english) == english
    speak("de")
    assert told(english) == german


def test_every_sentence_is_found_with_other_values_in_it() -> None:
    speak("de")
    unfilled = []
    for message, (form,) in ((one, forms) for one, forms in read("de").items() if one.context == WORKER):
        values = {str(at): f"Qx{at}" for at in range(9)}
        if told(fill(message.source, values)) != fill(form, values):
            unfilled.append((message.source, told(fill(message.source, values))))
    assert unfilled == []


def test_days_are_those_of_the_policy() -> None:
    speak("de")
    friday = 1_767_340_800.0  # 2 January 2026
    assert told(f"Starts at {clock(friday, friday - 86_400)}.").startswith("Startet um Fr ")


def test_a_language_read_from_the_right_turns_the_window_round(qapp: QApplication) -> None:
    use(Catalogue({Message("window", "Home"): ("بيت",)}), QLocale("ar"), "ar")
    assert tr("Home") == "بيت" and qapp.layoutDirection() is Qt.LayoutDirection.RightToLeft
    speak("en")
    assert qapp.layoutDirection() is Qt.LayoutDirection.LeftToRight
