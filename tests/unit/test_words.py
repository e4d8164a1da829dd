"""Every sentence that people read is short, and one thing has one word, in the window, the commands and the help."""

import re
from collections import Counter

import pytest

from tests.texts import Text, everything, length, sentences, tables, window

MOST = 25
"""Words of a sentence."""
LISTS = ("Exit codes: ",)
"""What a line begins with that is a list and not a sentence."""

GLOSSARY = {
    "en": {
        r"processors?": "CPU",
        r"graphics (processor|card)s?": "GPU",
        r"(lend|lends|lent|lending)": "share",
        r"giv(e|es|ing) away|donat(e|es|ing|ion|ions)": "share",
        r"(go|goes|going|went|gone) on": "continue, or run",
        r"nodes?": "peer",
        r"computers?": "PC",
        r"organi[sz]ators?|organizers?": "organiser",
        r"anew": "again",
        r"bits a byte": "bits per byte",
        r"(colour|color) scheme": "theme",
        r"command prompt|console": "command line, or terminal",
        r"data (directory|dir)": "data folder",
    },
    "de": {
        r"Prozessor(en|s)?": "CPU",
        r"Grafik(karte|karten|prozessor|prozessoren)": "GPU",
        r"Teilnehmer(n|s)?|Knoten": "Peer",
        r"Organisator(s|en)?": "Veranstalter",
        r"Sicherungspunkt(e|en|s)?": "Checkpoint (Sicherung: ein Backup)",
        r"hostet|Gastgeber": "beherbergt, Host",
        r"signiert|Signaturen?": "unterschrieben, Unterschrift",
        r"Befehlszeile|Konsole": "Kommandozeile",
        r"Datenträgers?|Platte": "Festplatte",
        r"Plattenplatz": "Speicherplatz",
        r"Tafeln?|Boards?": "Ehrentafel",
        r"Proben|Samples": "Beispiele",
        r"ungesehen\w*": "unbekannt",
        r"Kennung(en)?": "ID",
        r"Eingabetaste": "Enter",
        r"(lokalen|zum|vom|das) Netz(?! wird geladen|, das)": "Netzwerk (Netz: das neuronale)",
        r"(verleih|leih|spende)\w*": "teilen",
        r"noch einmal|wieder versucht": "erneut",
        r"gescheitert|scheitert": "fehlgeschlagen",
        r"(ge)?sichert": "speichern (sichern: ein Backup machen)",
        r"Rechner|Computer": "PC",
        r"Datenverzeichnis\w*": "Datenordner",
        r"unterbr(ich|och)\w*": "pausieren",
        r"Klick(e|en)? an": "wählen",
    },
}
"""By language: what is not said, as a pattern, and what is said instead."""

REWRITTEN = (
    "What do you lend", "learns to write on from", "stays cool and hardly noticed", "at the next start of the worker",
    "once you tell your price", "can pass for this PC", "Quit ends everything at any time", "of which the large one",
    "You paused it", "Goes on whatever you do", "right on unseen samples", "The figures are old", "Hearth is leaving",
    "go before all else", "calm for 20 s", "tells no program how hot", "promised are", "Check of the connection",
    "has told yet how this PC is seen", "What showed it", "needs a look", "Ways between peers", "How long nobody must",
    "Not told", "Told once, if it lasts", "Start the worker anew", "not in force yet", "” is no day",
    "it goes on with what you type", "bits a byte", "Time of computing", "goes on in the tray",
    "what you type do not", "or does no longer",
)  # fmt: skip
"""What a new volunteer stumbled over; never to come back, wherever it stood."""
WHOLE = ("Own", "Yielding", "Gives all it has", "Eigen")
"""The same, where the word alone was the text."""


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    return everything()


def test_no_sentence_has_more_than_25_words(texts: list[Text]) -> None:
    rows = {row.text for row in tables()}
    prose = [text for text in texts if text.text not in rows and not text.text.startswith(LISTS)]
    long = {
        f"{text.place}: {sentence}" for text in prose for sentence in sentences(text.text) if length(sentence) > MOST
    }
    assert not long, "split it into plain sentences"


@pytest.mark.parametrize("language", GLOSSARY)
def test_one_thing_has_one_word(texts: list[Text], language: str) -> None:
    wrong = []
    for pattern, use in GLOSSARY[language].items():
        found = re.compile(rf"(?<![`\w.-])({pattern})(?![\w`])", re.IGNORECASE if language == "en" else 0)
        wrong += [
            f"{text.place}: “{match[0]}” (say: {use}): {text.text[:100]}"
            for text in texts
            if text.language == language and (match := found.search(re.sub(r"`[^`]*`|\{\w+[^}]*\}", "", text.text)))
        ]
    assert not wrong


def test_in_german_nobody_is_addressed_formally(texts: list[Text]) -> None:
    formal = re.compile(r"\w[,;]? (Sie|Ihnen|Ihr|Ihre[mnrs]?)\b")
    assert not [text for text in texts if text.language == "de" and formal.search(text.text)]


def test_what_a_volunteer_stumbled_over_was_rewritten(texts: list[Text]) -> None:
    said = [text for text in texts if any(words.lower() in text.text.lower() for words in REWRITTEN)]
    assert not said + [text for text in texts if text.text in WHOLE]


def test_the_window_names_commands_in_quotes_as_it_shows_backticks_as_they_are() -> None:
    assert not [text for text in window() if "`hearth" in text.text]


def test_sentences_are_found_as_people_read_them() -> None:
    assert sentences("Runs until 9:30. Stops then, e.g. at night. `hearth quit` ends it.") == [
        "Runs until 9:30.", "Stops then, e.g. at night.", "`hearth quit` ends it.",
    ]  # fmt: skip
    assert length("Type `hearth run list` - in the terminal of {name}:") == 7


def test_texts_of_every_kind_are_found(texts: list[Text]) -> None:
    places = Counter(text.place.partition(":")[0].split()[0] for text in texts)
    assert places["de.ts"] > 2000 and places["en.ts"] > 700 and places["hearth"] > 100, places
    assert {"README.md", "volunteers.md", "organisers.md", "de/volunteers.md", "credit.py", "run_page.py"} <= set(
        places
    )
    said = {text.text for text in texts}
    assert "Pause" in said and "Show the worker's log." in said
