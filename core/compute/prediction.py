"""Pictures that the model reads for clients of the worker."""

import logging
import time

import torch

from core.contracts.errors import HearthError, PictureError, ProtocolError
from core.contracts.notices import notice
from core.contracts.pipe import Predict, Predicted
from core.runtime.device import fault_of
from core.training.asking import ask
from core.training.trainer import Trainer

log = logging.getLogger(__name__)


async def read_picture(trainer: Trainer, request: Predict) -> Predicted:
    """What a trainer's model reads in a picture.

    Raises:
        ProtocolError: its pixels do not fill it.
        PictureError: there is nothing to be read in it.
    """
    start = time.monotonic()
    try:
        [read] = [piece async for piece in ask(trainer, _picture(request))]
    except HearthError:
        raise
    except Exception as error:  # whatever a picture does to the model, training must go on
        if fault_of(error):
            raise
        what = notice("question.failed_picture", kind=type(error).__name__, why=str(error))
        log.error("%s", what)
        raise PictureError(what) from error
    ms = (time.monotonic() - start) * 1000
    probabilities, seen = read.answer
    return Predicted(probabilities.tolist(), seen.flatten().tolist(), read.experts, trainer.step, ms)


def _picture(request: Predict) -> torch.Tensor:
    if len(request.pixels) != request.height * request.width:
        raise ProtocolError(
            notice("question.odd_pixels", pixels=len(request.pixels), width=request.width, height=request.height)
        )
    if not request.pixels:
        raise PictureError(notice("question.empty_picture"))
    return torch.frombuffer(bytearray(request.pixels), dtype=torch.uint8).view(request.height, request.width)
