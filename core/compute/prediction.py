"""Pictures that the model reads for clients of the worker."""

import logging
import time

import torch

from core.contracts.errors import HearthError, PictureError, ProtocolError
from core.contracts.notices import notice
from core.contracts.pipe import Predict, Predicted, Refused, Shape, Tensor
from core.pipe.compute_end import Pipe
from core.runtime.device import fault_of
from core.training.asking import Piece, ask
from core.training.trainer import Trainer

log = logging.getLogger(__name__)


async def answer(pipe: Pipe, trainer: Trainer, message: Predict, tensors: list[Tensor]) -> None:
    """Answer by `Predicted` or `Refused`."""
    start = time.monotonic()
    try:
        read: Piece = await anext(ask(trainer, _picture(tensors)))
    except HearthError as error:
        pipe.send(Refused(message.id, error.code, str(error)))
        return
    except Exception as error:  # whatever a picture does to the model, training must go on
        if fault_of(error):
            raise
        what = f"The model could not read this picture ({type(error).__name__}: {error}). Try another."
        log.error("%s", what)
        pipe.send(Refused(message.id, PictureError.code, what))
        return
    ms = (time.monotonic() - start) * 1000
    probabilities, seen = read.answer
    pipe.send(Predicted(message.id, read.experts, trainer.step, ms), [_to_wire(probabilities), _to_wire(seen)])


def _picture(tensors: list[Tensor]) -> torch.Tensor:
    if len(tensors) != 1 or tensors[0].shape.dtype != "uint8" or len(tensors[0].shape.dims) != 2:
        raise ProtocolError("A prediction needs one picture: uint8 [height, width].")
    if not tensors[0].data:
        raise PictureError(notice("question.empty_picture"))
    return torch.frombuffer(bytearray(tensors[0].data), dtype=torch.uint8).view(tensors[0].shape.dims)


def _to_wire(tensor: torch.Tensor) -> Tensor:
    return Tensor(Shape("float32", tuple(tensor.shape)), tensor.float().contiguous().numpy().tobytes())
