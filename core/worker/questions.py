"""Questions to the model that wait for compute: asked by clients, sent by the supervisor, answered over the pipe."""

import asyncio
import itertools
from array import array
from collections.abc import Callable, Iterator

from core.compute.messages import Predicted, Refused, Tensor
from core.control.messages import Prediction, PredictParams
from core.errors import ERRORS_BY_CODE, ComputeError, HearthError, PictureError, ProtocolError

ANSWER_S = 30.0
"""Compute may have to be started for a question first."""
WAITING = 16
"""Questions at once."""


class Questions:
    """`asked` is called whenever a question begins to wait."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self._asked = asked
        self._numbers = itertools.count(1)
        self._unsent: dict[int, PredictParams] = {}
        self._answers: dict[int, asyncio.Future[Prediction]] = {}

    def __bool__(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._answers)

    async def ask(self, picture: PredictParams) -> Prediction:
        """Wait for the model's answer.

        Raises:
            PictureError: the pixels do not fit the size, or there is nothing to recognise.
            ComputeError: no answer within `ANSWER_S`, too many questions, or compute died.
        """
        if len(picture.pixels) != picture.width * picture.height:
            raise PictureError(f"{len(picture.pixels)} pixels do not make {picture.width} x {picture.height}.")
        if len(self._answers) >= WAITING:
            raise ComputeError("Too many questions are waiting for an answer. Try again in a moment.")
        number = next(self._numbers)
        self._unsent[number] = picture
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._asked()
        try:
            async with asyncio.timeout(ANSWER_S):
                return await answer
        except TimeoutError:
            raise ComputeError(f"The model did not answer within {ANSWER_S:.0f} s. Try again.") from None
        finally:
            del self._answers[number]
            self._unsent.pop(number, None)

    def unsent(self) -> Iterator[tuple[int, PredictParams]]:
        """The questions that compute has not got yet, each once."""
        while self._unsent:
            number = next(iter(self._unsent))
            yield number, self._unsent.pop(number)

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

    def refused(self, message: Refused) -> None:
        if answer := self._waiting(message.id):
            answer.set_exception(ERRORS_BY_CODE.get(message.code, HearthError)(message.text))

    def fail(self, why: str) -> None:
        """Compute is gone: nobody will answer."""
        self._unsent.clear()
        for number in self._answers:
            if answer := self._waiting(number):
                answer.set_exception(ComputeError(f"{why} Try again in a moment."))

    def _waiting(self, number: int) -> "asyncio.Future[Prediction] | None":
        """The future of a question, unless nobody waits any more."""
        answer = self._answers.get(number)
        return None if answer is None or answer.done() else answer
