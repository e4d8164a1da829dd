"""What people give a run's model, and what they get for it."""

import codecs
import contextlib
import secrets
import time
from collections.abc import Callable

from core.contracts.control import Answer, Choice, Continued, GenerateParams, Prediction, PredictParams
from core.contracts.errors import QuestionError
from core.contracts.notices import notice
from core.contracts.pipe import Generate, Written, WrittenToken
from core.worker.run import Run

Each = Callable[[str, list[Answer], float, Choice | None, list[Choice]], None]
"""Gets every byte's or token's text, experts, milliseconds, the byte itself, and the likeliest ones; as `Piece`."""


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
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    question = Generate(params.prompt.encode(), params.length, params.temperature, seed)
    start, count, step = time.monotonic(), 0, 0
    async with contextlib.aclosing(run.compute.questions.generate(question)) as told:
        async for piece in told:
            written = piece.answer
            if isinstance(written, Written):
                text, choice, best = bytes([written.choice.byte]), written.choice, written.best
            else:
                assert isinstance(written, WrittenToken)
                text, choice, best = written.text, None, []
            count, step = count + len(text), piece.step
            each(decoder.decode(text), piece.experts, piece.ms, choice, best)
    progress = run.compute.progress
    return Continued(count, time.monotonic() - start, step, seed, progress.bits, progress.learnt)


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
