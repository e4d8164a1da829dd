"""Asks the model about a drawing while it grows: one question at a time, and the latest drawing wins."""

from collections.abc import Callable
from enum import Enum, auto

from PySide6.QtCore import QObject, QTimer, Signal

from app.language import told
from app.worker.client import WorkerClient
from core.contracts.control import Prediction, PredictParams
from core.contracts.errors import HearthError

DEBOUNCE_MS = 80
PLACEHOLDER_MS, EXPLAIN_MS, RETRY_MS = 200, 5_000, 15_000


class Wait(Enum):
    """How long the answer has been awaited, in what the page shows for it."""

    NONE = auto()
    PLACEHOLDER = auto()
    EXPLAIN = auto()
    RETRY = auto()


class DigitQuestion(QObject):
    """Sends pictures to the worker.

    Args:
        client: the worker.
        picture: called when it is time to ask; None if there is nothing to ask about.
    """

    answered = Signal(object)
    """A `Prediction` about the drawing, or about a recent state of it."""
    failed = Signal(str)
    waiting = Signal(object)
    """A `Wait`, when it changes."""

    def __init__(self, client: WorkerClient, picture: Callable[[], PredictParams | None]) -> None:
        super().__init__()
        self._client, self._picture = client, picture
        self._round = 0
        """Answers of earlier rounds (before Clear, before Retry) do not count."""
        self._in_flight = False
        self._stale = False
        self._wait = Wait.NONE
        self._debounce = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._debounce.timeout.connect(self._ask)
        self._patience = QTimer(self, singleShot=True)
        self._patience.timeout.connect(self._longer)

    def drawn(self) -> None:
        """The drawing has changed; ask soon."""
        self._stale = True
        if not self._debounce.isActive():
            self._debounce.start()

    def restart(self) -> None:
        """Forget what is on its way and ask anew; with nothing to ask about, be quiet."""
        self._round += 1
        self._in_flight = False
        self._debounce.stop()
        self._enter(Wait.NONE)
        self._stale = True
        self._ask()

    def _ask(self) -> None:
        if self._in_flight or not self._stale:
            return
        self._stale = False
        picture = self._picture()
        if picture is None:
            return
        self._in_flight = True
        if self._wait is Wait.NONE:
            self._patience.start(PLACEHOLDER_MS)
        number = self._round
        self._client.predict(
            picture,
            lambda prediction: self._done(number, prediction, None),
            lambda error: self._done(number, None, error),
        )

    def _done(self, number: int, prediction: Prediction | None, error: HearthError | None) -> None:
        if number != self._round:
            return
        self._in_flight = False
        self._enter(Wait.NONE)
        if prediction is not None:
            self.answered.emit(prediction)
        elif error is not None:
            self.failed.emit(told(error.notice))
        if self._stale and not self._debounce.isActive():
            self._ask()

    def _longer(self) -> None:
        following = {
            Wait.NONE: (Wait.PLACEHOLDER, EXPLAIN_MS - PLACEHOLDER_MS),
            Wait.PLACEHOLDER: (Wait.EXPLAIN, RETRY_MS - EXPLAIN_MS),
            Wait.EXPLAIN: (Wait.RETRY, 0),
        }
        wait, rest = following[self._wait]
        self._enter(wait)
        if rest:
            self._patience.start(rest)

    def _enter(self, wait: Wait) -> None:
        self._patience.stop()
        if wait is not self._wait:
            self._wait = wait
            self.waiting.emit(wait)
