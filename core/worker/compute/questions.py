"""Questions to the model that wait for compute: asked by clients, sent by the supervisor, answered over the pipe."""

import asyncio
import itertools
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator

from core.contracts.control import Prediction, PredictParams
from core.contracts.errors import ERRORS_BY_CODE, ComputeError, HearthError, PictureError, ProtocolError
from core.contracts.pipe import (
    Generate,
    Generated,
    GenerationEnded,
    Predict,
    Predicted,
    Refused,
    Shape,
    StopGenerating,
    Tensor,
)

ANSWER_S = 30.0
"""Compute may have to be started for a question first."""
WAITING = 16
"""Questions at once."""

Question = tuple[Predict | Generate | StopGenerating, list[Tensor]]
Piece = Generated | GenerationEnded | HearthError


class Questions:
    """`asked` is called whenever there is something to send."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self._asked = asked
        self._numbers = itertools.count(-1, -1)
        """Negative: `Refused` must not hit the requests of other peers, which count upwards."""
        self._unsent: dict[int, Question] = {}
        self._answers: dict[int, asyncio.Future[Prediction]] = {}
        self._texts: dict[int, asyncio.Queue[Piece]] = {}

    def __bool__(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._answers or self._texts)

    async def ask(self, picture: PredictParams) -> Prediction:
        """Wait for the model's answer.

        Raises:
            PictureError: the pixels do not fit the size, or there is nothing to recognise.
            ComputeError: no answer within `ANSWER_S`, too many questions, or compute died.
        """
        if len(picture.pixels) != picture.width * picture.height:
            raise PictureError(f"{len(picture.pixels)} pixels do not make {picture.width} x {picture.height}.")
        number = self._number()
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._send(number, Predict(number), [Tensor(Shape("uint8", (picture.height, picture.width)), picture.pixels)])
        try:
            async with asyncio.timeout(ANSWER_S):
                return await answer
        except TimeoutError:
            raise _late() from None
        finally:
            del self._answers[number]
            self._unsent.pop(number, None)

    async def generate(
        self, prompt: bytes, length: int, temperature: float, seed: int
    ) -> AsyncGenerator[Generated | GenerationEnded, None]:
        """The text's bytes as they come, then its end. To be closed if nobody reads on.

        Raises:
            ComputeError: no byte within `ANSWER_S`, too many questions, or compute died.
        """
        number = self._number()
        pieces = self._texts[number] = asyncio.Queue()
        self._send(number, Generate(number, prompt, length, temperature, seed), [])
        ended = False
        try:
            while not ended:
                async with asyncio.timeout(ANSWER_S):
                    piece = await pieces.get()
                ended = not isinstance(piece, Generated)
                if isinstance(piece, HearthError):
                    raise piece
                yield piece
        except TimeoutError:
            raise _late() from None
        finally:
            del self._texts[number]
            if self._unsent.pop(number, None) is None and not ended:
                self._send(number, StopGenerating(number), [])

    def _number(self) -> int:
        if len(self._answers) + len(self._texts) >= WAITING:
            raise ComputeError("Too many questions are waiting for an answer. Try again in a moment.")
        return next(self._numbers)

    def _send(self, number: int, message: Predict | Generate | StopGenerating, tensors: list[Tensor]) -> None:
        self._unsent[number] = (message, tensors)
        self._asked()

    def unsent(self) -> Iterator[Question]:
        """What compute has not got yet, each once."""
        while self._unsent:
            yield self._unsent.pop(next(iter(self._unsent)))

    def answered(self, message: Predicted, tensors: list[Tensor], accuracy: float | None) -> None:
        """Hand an answer to who waits for it.

        Raises:
            ProtocolError: it does not hold what `Predicted` says.
        """
        if [tensor.shape.dtype for tensor in tensors] != ["float32", "float32"]:
            raise ProtocolError("Compute answered a question with something else than two tensors of float32.")
        if answer := self._waiting(message.id):
            probabilities, seen = (array("f", bytes(tensor.data)).tolist() for tensor in tensors)
            answer.set_result(Prediction(probabilities, seen, message.experts, message.step, accuracy, message.ms))

    def generated(self, message: Generated | GenerationEnded) -> None:
        """Hand a piece of a text to who reads it."""
        if pieces := self._texts.get(message.id):
            pieces.put_nowait(message)

    def refused(self, message: Refused) -> None:
        self._failed(message.id, ERRORS_BY_CODE.get(message.code, HearthError)(message.text))

    def fail(self, why: str) -> None:
        """Compute is gone: nobody will answer."""
        self._unsent.clear()
        for number in [*self._answers, *self._texts]:
            self._failed(number, ComputeError(f"{why} Try again in a moment."))

    def _failed(self, number: int, error: HearthError) -> None:
        if answer := self._waiting(number):
            answer.set_exception(error)
        if pieces := self._texts.get(number):
            pieces.put_nowait(error)

    def _waiting(self, number: int) -> "asyncio.Future[Prediction] | None":
        """The future of a question, unless nobody waits any more."""
        answer = self._answers.get(number)
        return None if answer is None or answer.done() else answer


def _late() -> ComputeError:
    return ComputeError(f"The model did not answer within {ANSWER_S:.0f} s. Try again.")
