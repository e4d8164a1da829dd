"""What a run's model is asked and judged by: encode what people give, judge outputs, decode what people get.

A task is one file of this package; its `TASK` is found by the file's name. What must be known of it without torch is
declared by the same name in `core.contracts.kinds`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.contracts.control import CHOICES, Choice
from core.contracts.errors import ComputeError
from core.contracts.kinds import TASKS, Ends
from core.contracts.pipe import Generate, Predicted, Written
from core.training.data.stream import Stream

Q = TypeVar("Q")


class Exchange(ABC):
    """One question and its answers, one for each pass through the network."""

    inputs: Tensor | None
    """What goes through the network next, [1, ...]; None: everything is answered."""

    @abstractmethod
    def decode(self, outputs: Tensor) -> Predicted | Written:
        """What people get for the last inputs; then `inputs` are the next ones.

        Args:
            outputs: the head's, [1, ..., classes].
        """


class Task(ABC, Generic[Q]):
    """What a model is for. The judge is that of classes: cross-entropy, and whether the best one is right."""

    def of(self, stream: Stream) -> "Task[Q]":
        """The task of a run.

        Args:
            stream: the run's data.
        """
        return self

    def sizes(self, labels: Tensor) -> Tensor:
        """Bytes of text in each row, [rows]; 0: it is none.

        Args:
            labels: [batch, ...].
        """
        return torch.zeros_like(labels.flatten())

    @abstractmethod
    def encode(self, question: Q, ends: Ends) -> Exchange:
        """Begin to answer what somebody gave.

        Args:
            question: of the task's own type.
            ends: what the network takes and gives.

        Raises:
            HearthError: it cannot be answered, and why.
        """

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Loss of each row [rows], nats; training sums those of the rows that an expert answered.

        Args:
            outputs: the head's, [batch, ..., classes].
            labels: [batch, ...].
        """
        return functional.cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none")

    def right(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether each row is told rightly, bool [rows]; their share is the accuracy.

        Args:
            outputs: the head's, [batch, ..., classes].
            labels: [batch, ...].
        """
        return outputs.argmax(-1).flatten() == labels.flatten()


def task_of(name: str, stream: Stream) -> Task[Any]:
    """The task of that name.

    Args:
        name: its.
        stream: the run's data.

    Raises:
        ManifestError: there is none.
    """
    task: Task[Any] = TASKS.module(__package__, name).TASK
    return task.of(stream)


def written(scores: Tensor, pieces: Sequence[bytes], how: Generate, chance: torch.Generator) -> tuple[int, Written]:
    """The next byte or token of a text, by its number, and what is told of it.

    Args:
        scores: [classes].
        pieces: the text of each class.
        how: it is drawn.
        chance: of the draw.

    Raises:
        ComputeError: the scores are not finite.
    """
    if not scores.isfinite().all():
        raise ComputeError("what the model gave is not finite.")
    scores = scores.double()
    token = (
        _drawn((scores / how.temperature).softmax(0), how.top_p, chance) if how.temperature else int(scores.argmax())
    )
    shares = scores.softmax(0)
    best = shares.topk(min(CHOICES, len(shares)))
    likeliest = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    told = Choice(pieces[token], float(shares[token])), [Choice(pieces[each], share) for each, share in likeliest]
    return token, Written(*told)


def _drawn(shares: Tensor, top_p: float, chance: torch.Generator) -> int:
    """One of the classes, from the likeliest that together have `top_p`."""
    if top_p < 1:
        best = shares.sort(descending=True)
        before = best.values.cumsum(0) - best.values
        shares[best.indices[before >= top_p]] = 0
    return int(torch.multinomial(shares, 1, generator=chance))


def loss_product(
    task: Task[Any], head: nn.Module, h: Tensor, labels: Tensor, alive: Tensor, *beside: Tensor
) -> tuple[float, Tensor, tuple[Tensor, ...]]:
    """Mean loss over the rows that are alive, and the gradients of its sum by `h` and the head's parameters.

    Args:
        task: what judges.
        head: makes outputs of `h`.
        h: [batch, ..., width]; whole numbers have no gradient, and come back as they are.
        labels: [batch, ...].
        alive: bool [rows]; what is said of other rows does not count.
        beside: what the head takes beside `h`.

    Raises:
        ComputeError: the loss is not finite.
    """
    with torch.enable_grad():
        h = h.detach().requires_grad_(h.is_floating_point())
        loss = (task.losses(head(h, *beside), labels) * alive).sum()
    mean = loss.item() / int(alive.sum())
    if not math.isfinite(mean):
        raise ComputeError("its loss is not finite.")
    if not h.requires_grad:
        return mean, h, torch.autograd.grad(loss, [*head.parameters()])
    by_h, *by_head = torch.autograd.grad(loss, [h, *head.parameters()])
    return mean, by_h, tuple(by_head)


def chance(labels: Tensor) -> float:
    """Mean loss, nats, of who knows no more than how frequent each label is: their entropy."""
    shares = labels.flatten().bincount().double() / labels.numel()
    return float(torch.special.entr(shares).sum())
