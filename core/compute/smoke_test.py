"""Tries a pack before compute goes by it, in a process of its own: a kernel, and an expert's step as on the CPU.

`hearth try-pack CARD ...` is no command for people: `hearth pack install` starts it, with a time limit.
"""

import os
import sys
from pathlib import Path

import torch
from torch import Tensor

from core.contracts.build import PACK
from core.contracts.errors import DeviceError, HearthError
from core.contracts.manifest import load
from core.contracts.notices import last_words, notice
from core.experts.grid import Uid
from core.runtime import device
from core.runtime.backend import ExpertBackend
from core.runtime.device import CPU, Device

RUN = "digits"
"""One of its experts takes the step."""
TOLERANCE = 1e-2
"""Of the largest figure: a card adds up in another order, and Adam makes as much of the smallest gradient as of any."""


def main() -> int:
    """Try the pack on the cards that the command line names: one that computes rightly is enough."""
    cards = sys.argv[sys.argv.index("try-pack") + 1 :]
    try:
        if not Path(torch.__file__).is_relative_to(os.environ[PACK]):
            raise DeviceError(notice("pack.not_used", file=torch.__file__))
        _try_all(cards)
    except HearthError as error:
        print(last_words(error.notice, os.environ), file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


def _try_all(cards: list[str]) -> None:
    failure: DeviceError | None = None
    for card in cards:
        try:
            _try(device.open_device(card))
        except DeviceError as error:
            failure = failure or error
        else:
            return
    if failure:
        raise failure


def _try(card: Device) -> None:
    for here, there in zip(_step(CPU), _step(card), strict=True):
        largest = float(here.abs().max())
        if not torch.allclose(here, there, rtol=0.0, atol=TOLERANCE * largest):
            raise DeviceError(notice("device.computes_wrongly", name=card.label))


def _step(where: Device) -> list[Tensor]:
    """What an expert makes of samples, of their gradients, and of the samples again after its step."""
    manifest = load(RUN)
    expert = ExpertBackend(Uid(RUN, 0, (0,) * len(manifest.model.grid)), manifest.model, manifest.training)
    expert.go_to(where)
    chance = torch.Generator().manual_seed(manifest.training.seed)
    inputs, gradients = torch.randn(2, manifest.training.target_samples, *expert.input_shape, generator=chance)
    return [expert.forward(inputs), expert.backward(inputs, gradients), expert.forward(inputs)]
