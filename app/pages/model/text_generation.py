"""A text that the model goes on with: asked for, collected byte by byte, and ended with a sentence."""

import time
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from app.language import mark, told, tr
from app.pages.model.digit_question import EXPLAIN_MS
from app.worker.client import WorkerClient
from core.contracts.control import Answer, Choice, Continued, GenerateParams, Piece
from core.contracts.errors import HearthError
from core.logs import printable

SHOW_MS = 50
"""Bytes that come faster are shown together."""
EXPLANATION = mark("The compute process is starting; the text begins when it is ready.")


class Byte(NamedTuple):
    """One byte or token of a continuation."""

    start: int
    """Where its character begins in the continuation, in the units of `QString`."""
    text: str
    """Its character, or all its token's; empty while its character is not complete."""
    experts: list[Answer]
    ms: float
    shown: str
    """What appears with it: its character, after what turned out to be no character before it."""
    sure: float | None
    """The probability that the model gave its character so far; None: the worker does not tell."""
    choice: Choice | None
    best: list[Choice]
    """Itself, and what the model found likeliest."""


class TextGeneration(QObject):
    """One text at a time.

    Args:
        client: the worker.
        unit: what comes one by one, "bytes" or "tokens".
    """

    grown = Signal()
    """Bytes have come, or the text begins or ends; at most every `SHOW_MS`."""
    told = Signal(str)
    """What is awaited, or "" as soon as it came."""
    failed = Signal(str)
    over = Signal()
    """The text has ended, in whichever way."""

    def __init__(self, client: WorkerClient, unit: str) -> None:
        super().__init__()
        self._client, self._unit = client, unit
        self._request: int | None = None
        self._params: GenerateParams | None = None
        self._round = 0
        """Answers to an earlier text do not count."""
        self.running = False
        self.text = ""
        self.bytes: list[Byte] = []
        self.wanted = 0
        self.ended = False
        """Whether the model ended the text before it was as long as was wanted."""
        self._began = self._newest = 0.0
        self._units, self._sure = 0, 1.0
        """Where the next character begins, and how sure the model was of those of its bytes that have come."""
        self._show = QTimer(self, singleShot=True, interval=SHOW_MS)
        self._show.timeout.connect(self.grown)
        self._patience = QTimer(self, singleShot=True, interval=EXPLAIN_MS)
        self._patience.timeout.connect(lambda: self.told.emit(tr(EXPLANATION)))

    @property
    def rate(self) -> float | None:
        """Bytes a second since the first one; None before the second."""
        seconds = self._newest - self._began  # none between two that come together, by a clock that ticks slowly
        return (len(self.bytes) - 1) / seconds if seconds > 0 else None

    def start(self, params: GenerateParams) -> None:
        """Forget the text so far and begin another."""
        self.clear()
        self._round += 1
        self.running, self.wanted, self._params = True, params.length, params
        this = self._round
        self._patience.start()
        self.grown.emit()
        self._request = self._client.generate(
            params,
            lambda piece: self._add(this, piece),
            lambda continued: self._ended(this, continued),
            lambda error: self._ended(this, error),
        )

    def clear(self) -> None:
        """Stop, and forget the text."""
        self.stop()
        self.text, self.bytes, self.wanted, self.ended = "", [], 0, False
        self._units, self._sure = 0, 1.0

    @property
    def stops(self) -> bool:
        """Whether the text was to end at one that the user chose."""
        return self._params is not None and bool(self._params.stop)

    def stop(self) -> None:
        """What has come stays."""
        if self.running and self._request is not None:
            self._client.stop(self._request)
        if self.running:
            self._end()

    def _add(self, this: int, piece: Piece) -> None:
        if this != self._round or not self.running:
            return
        self._newest = time.monotonic()
        if not self.bytes:
            self._began = self._newest
            self._patience.stop()
            self.told.emit("")
        text = printable(piece.text)
        if self._params is not None and self._params.messages and not self.text:
            text = text.lstrip()  # what stands between the name of who speaks and the answer
        # Bytes before it that are no character become known as such with it.
        earlier, own = (text[:-1], text[-1:]) if self._unit == "bytes" else ("", text)
        self._units += units(earlier)
        sure = None if piece.choice is None else piece.choice.share * self._sure
        self._sure = 1.0 if own or sure is None else sure
        byte = Byte(self._units, own, piece.experts, piece.ms, text, sure, piece.choice, piece.best)
        self.bytes.append(byte)
        self.text += text
        self._units += units(own)
        if not self._show.isActive():
            self._show.start()

    def _ended(self, this: int, end: Continued | HearthError) -> None:
        if this != self._round or not self.running:
            return
        self.ended = isinstance(end, Continued) and end.ended
        if isinstance(end, Continued) and end.rest and self.bytes:
            rest, last = printable(end.rest), self.bytes[-1]
            self.bytes[-1] = last._replace(text=last.text + rest, shown=last.shown + rest)
            self.text += rest
        self._end()
        if isinstance(end, HearthError):
            count = len(self.bytes)
            many = tr(
                "The text ends after %Ln byte(s)." if self._unit == "bytes" else "The text ends after %Ln token(s).",
                count,
            )
            after = many if count else ""
            self.failed.emit(f"{told(end.notice)} {after}".strip())

    def _end(self) -> None:
        self.running, self._request = False, None
        self._patience.stop()
        self._show.stop()
        self.told.emit("")
        self.over.emit()
        self.grown.emit()


def units(text: str) -> int:
    """How long Qt takes a text to be: in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2
