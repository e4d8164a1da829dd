"""What people give a run's model, and what they get for it."""

import codecs
import contextlib
import secrets
import time
from collections.abc import Callable

from core.contracts.chat import Chat
from core.contracts.control import Answer, Choice, Continued, GenerateParams, Prediction, PredictParams
from core.contracts.errors import QuestionError
from core.contracts.notices import notice
from core.contracts.pipe import Generate, Written
from core.worker.run import Run

Each = Callable[[str, list[Answer], float, Choice | None, list[Choice]], None]
"""Gets every byte's or token's text, experts, milliseconds, itself, and the likeliest ones; as `Piece`."""


async def predict(run: Run, picture: PredictParams) -> Prediction:
    """What a run's model reads in a picture.

    Raises:
        QuestionError: it continues text instead.
        PictureError, ComputeError: as `Questions.predict`.
    """
    if run.manifest.task.takes != "picture":
        raise _other_question(run)
    return await run.compute.questions.predict(picture)


async def generate(run: Run, params: GenerateParams, each: Each) -> Continued:
    """Go on with a text.

    Raises:
        QuestionError: the run's model reads pictures instead.
        ComputeError: as `Questions.generate`.
    """
    if run.manifest.task.takes != "text":
        raise _other_question(run)
    seed = secrets.randbelow(2**31) if params.seed is None else params.seed
    prompt, text = params.prompt, Text(params.stop)
    if params.messages:
        chat = run.manifest.chat or Chat()
        prompt = chat.text((said.role, said.content) for said in params.messages)
        text = Text((*params.stop, chat.stop))
    # What a client sent may hold halves of characters, which no text has.
    asked = prompt.encode("utf-8", "replace")
    question = Generate(asked, params.length, params.temperature, seed, params.top_p, bool(params.messages))
    start, read, written, count, step = time.monotonic(), 0, 0, 0, 0
    async with contextlib.aclosing(run.compute.questions.generate(question)) as told:
        async for piece in told:
            answer = piece.answer
            assert isinstance(answer, Written)
            read, written, step = read or piece.read, written + 1, piece.step
            count += len(answer.choice.text)
            each(text.add(answer.choice.text), piece.experts, piece.ms, answer.choice, answer.best)
            if text.stopped:
                break
    progress, took = run.compute.progress, time.monotonic() - start
    ended = text.stopped or written < params.length
    unit, learnt, bits = run.manifest.task.unit, progress.learnt, progress.bits
    return Continued(count, took, step, seed, bits, learnt, unit, written, read, ended, text.held)


class Text:
    """A text that comes in bytes, up to a stop."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stopped = False
        self.held = ""
        """What a stop may begin with: it is shown when it is known that it does not."""

    def add(self, more: bytes) -> str:
        """What can be shown now."""
        text = self.held + self._decoder.decode(more)
        if places := [place for stop in self._stops if (place := text.find(stop)) >= 0]:
            self.stopped, self.held = True, ""
            return text[: min(places)]
        kept = max((_begun(text, stop) for stop in self._stops), default=0)
        self.held = text[len(text) - kept :]
        return text[: len(text) - kept]


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of a text may be the beginning of a stop."""
    return next((size for size in range(len(stop) - 1, 0, -1) if text.endswith(stop[:size])), 0)


def _other_question(run: Run) -> QuestionError:
    """What people can ask instead."""
    takes, name, title = run.manifest.task.takes, run.manifest.run, run.manifest.title
    return QuestionError(
        notice(
            "question.run_continues_text"
            if takes == "text"
            else "question.run_reads_pictures"
            if takes == "picture"
            else "question.run_answers_nothing",
            run=name,
            title=title,
        )
    )
