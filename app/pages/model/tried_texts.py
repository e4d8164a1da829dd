"""What somebody tried with models, kept on this PC: prompts with what was added to them, and conversations."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from PySide6.QtCore import QObject, Signal

from app.language import told
from core.contracts.control import Said
from core.contracts.notices import notice
from core.contracts.status import Text, Time
from core.store.small_files import Files

FILE = "tried.json"
"""In the data folder."""
MOST, MOST_TURNS = 100, 200
"""Texts, and turns of one of them; the oldest go."""
MOST_CHARACTERS = 2_000_000
"""Of all texts together."""


class Tried(msgspec.Struct, frozen=True):
    """A prompt with its continuation, or a conversation."""

    began: Time
    """Unix time, by which it is known."""
    run: Text
    """Id of the run whose model it is from."""
    title: Text
    """Of the run."""
    turns: Annotated[tuple[Said, ...], msgspec.Meta(min_length=1, max_length=MOST_TURNS)]
    """What the user and the model wrote, in turn."""
    chat: bool
    """A conversation; else there are two turns."""

    @property
    def size(self) -> int:
        """Characters."""
        return sum(len(turn.content) for turn in self.turns)


class Kept(msgspec.Struct):
    """The file."""

    version: Literal[1] = 1
    keeps: bool = True
    """Whether what is tried from now on is kept."""
    texts: Annotated[list[Tried], msgspec.Meta(max_length=MOST)] = []
    """Oldest first."""


class TriedTexts(QObject):
    """Those of one data folder.

    Args:
        folder: the data folder.
    """

    changed = Signal()

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._files = Files(folder)
        self._kept = self._files.read(FILE, Kept, notice("file.loss_tried"))

    @property
    def newest(self) -> list[Tried]:
        """All of them, the newest first."""
        return self._kept.texts[::-1]

    @property
    def keeps(self) -> bool:
        """Whether what is tried is kept."""
        return self._kept.keeps

    @property
    def trouble(self) -> str:
        """A sentence about a file that could not be read; "": there was none."""
        return told(self._files.notes[FILE]) if FILE in self._files.notes else ""

    def put(self, text: Tried) -> None:
        """Keep a text, or what has become of one that is kept, as the newest; unless nothing shall be kept."""
        if not self.keeps:
            return
        texts = [*(one for one in self._kept.texts if one.began != text.began), text][-MOST:]
        while len(texts) > 1 and sum(one.size for one in texts) > MOST_CHARACTERS:
            del texts[0]
        self._save(texts)

    def keep(self, on: bool) -> None:
        """Say whether what is tried from now on is kept."""
        self._kept.keeps = on
        self._save(self._kept.texts)

    def delete(self, text: Tried) -> None:
        """Keep a text no more."""
        self._save([one for one in self._kept.texts if one.began != text.began])

    def delete_all(self) -> None:
        """Keep none of them any more."""
        self._save([])

    def flush(self) -> None:
        """Wait until the file has all of that."""
        self._files.flush()

    def _save(self, texts: list[Tried]) -> None:
        self._kept.texts = texts
        self._files.save(FILE, self._kept)
        self.changed.emit()
