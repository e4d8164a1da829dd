"""Questions to the model, asked by clients: compute is started for them if need be."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from core.contracts.control import Prediction, PredictParams
from core.contracts.errors import CallTimeout, ComputeError, PictureError
from core.contracts.notices import Notice, notice
from core.contracts.pipe import QUESTION, Answered, Generate, Predict, Predicted
from core.pipe.calls import Calls
from core.store.progress import Progress
from core.worker.compute.life import START_S

ANSWER_S = 30.0
"""For the next piece of an answer, once compute runs."""
WAITING = 16
"""Questions at once."""


class Questions:
    """Those that wait for an answer."""

    def __init__(self, calls: Calls, progress: Progress, asked: Callable[[int], None]) -> None:
        """
        Args:
            calls: to compute, where the answers come from.
            progress: the run's figures, of which an answer tells the accuracy.
            asked: is called with 1 for each question, and with -1 when nobody waits for its answer any more; a
                ComputeError that it raises refuses the question.
        """
        self._calls, self._progress, self._asked = calls, progress, asked
        self._count = 0
        self._starting: set[asyncio.Future[None]] = set()
        """Questions that wait for compute."""
        self._is_ready = False

    @property
    def waits(self) -> bool:
        """Whether somebody waits for an answer."""
        return self._count > 0

    def ready(self) -> None:
        """Compute can be asked now."""
        self._is_ready = True
        for question in self._starting:
            if not question.done():
                question.set_result(None)

    def ended(self, why: Notice | None) -> None:
        """Compute cannot be asked any more; `why` tells whoever waited for it, if there is anything to tell."""
        self._is_ready = False
        if why:
            self._refuse(notice("question.ended", why=why))

    def quit(self) -> None:
        """Compute is not started any more."""
        self._refuse(notice("question.quitting"))

    def _refuse(self, why: Notice) -> None:
        for question in self._starting:
            if not question.done():
                question.set_exception(ComputeError(why))

    async def predict(self, picture: PredictParams) -> Prediction:
        """Wait for what the model reads in a picture.

        Raises:
            PictureError: the pixels do not fit the size, or there is nothing to recognise.
            ComputeError: no answer in time, too many questions, or compute died or is to end.
        """
        if len(picture.pixels) != picture.width * picture.height:
            raise PictureError(
                notice("question.odd_pixels", pixels=len(picture.pixels), width=picture.width, height=picture.height)
            )
        question = Predict(picture.height, picture.width, picture.pixels)
        async with (
            self._asking(),
            contextlib.aclosing(self._calls.stream(QUESTION, question, ANSWER_S)) as answers,
        ):
            told = await anext(answers)
        read = told.answer
        assert isinstance(read, Predicted)
        progress = self._progress
        experts, step, ms = told.experts, told.step, told.ms
        return Prediction(read.probabilities, read.seen, experts, step, progress.accuracy, ms, progress.learnt)

    async def generate(self, text: Generate) -> AsyncGenerator[Answered, None]:
        """The bytes of a text as they come. To be closed if nobody reads on.

        Raises:
            ComputeError: no byte in time, too many questions, or compute died or is to end.
        """
        async with self._asking(), contextlib.aclosing(self._calls.stream(QUESTION, text, ANSWER_S)) as pieces:
            async for piece in pieces:
                yield piece

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        """Within it compute is needed; entered when it is ready."""
        if self._count >= WAITING:
            raise ComputeError(notice("question.too_many"))
        self._asked(1)
        self._count += 1
        try:
            async with asyncio.timeout(within := START_S):
                await self._ready_to_answer()
            within = ANSWER_S
            yield
        except (TimeoutError, CallTimeout):
            raise ComputeError(notice("question.too_late", within=within)) from None
        finally:
            self._count -= 1
            self._asked(-1)

    async def _ready_to_answer(self) -> None:
        if self._is_ready:
            return
        question: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._starting.add(question)
        try:
            await question
        finally:
            self._starting.discard(question)
