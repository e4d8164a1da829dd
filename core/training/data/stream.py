"""Training data without end: batches by their number, or one after the other; a restart goes on where it was.

A data set is one file of this package; its `STREAM` makes the stream of a run. What must be known of it without torch
is declared by the same name in `core.contracts.kinds`.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from core.contracts.kinds import DATA, Ends
from core.contracts.manifest import Manifest
from core.contracts.pipe import Reading
from core.store.tokens import Tokens


class Part(NamedTuple):
    """Some samples."""

    inputs: Tensor
    """[n, inputs]: float32, or int64 if the inputs are classes themselves."""
    labels: Tensor
    """int64 [n], or [n, inputs] where each input has its own."""


class Stream(ABC):
    """Batches in an order that is a pure function of the seed and a batch's number, on every machine; where shards come
    over the network meanwhile, also of the order in which they come."""

    def __init__(self, ends: Ends, held_out: Part, batch: int, seed: int, samples: int) -> None:
        """What all streams have.

        Args:
            ends: what a sample looks like to a model.
            held_out: what is never trained on, the same on every machine.
            batch: samples of a batch; fewer if there are not so many.
            seed: of the order.
            samples: there are to train on, over which one pass after the other goes.
        """
        self.ends, self.held_out, self.samples = ends, held_out, samples
        self.tokens: Tokens | None = None
        """By which its text became tokens, if it did."""
        self.batch = min(batch, samples)
        self._seed = seed

    def __getitem__(self, number: int) -> Part:
        """Batch `number`, counted from 0 without end: inputs [batch, ...] and labels [batch, ...]."""
        epoch, place = divmod(number, self.samples // self.batch)
        return self._batch(number, epoch, place * self.batch)

    def done(self, number: int) -> None:  # noqa: B027  (most streams are a function of the number)
        """A batch was trained on."""

    def drop(self, number: int) -> None:  # noqa: B027
        """A batch was not trained on: a stream that gives none by its number again gives its samples later."""

    def state(self) -> dict[str, Tensor]:
        """Where the stream is, for a checkpoint; nothing where a batch's number says all."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:  # noqa: B027
        """Go on from there.

        Args:
            state: as `state` gave it, maybe with more; one of another stream without places leaves it as it is.

        Raises:
            CheckpointError: it is of other data.
        """

    @abstractmethod
    def _batch(self, number: int, epoch: int, first: int) -> Part:
        """The batch's samples.

        Args:
            number: the batch's, for what varies its samples.
            epoch: the pass over the data.
            first: how many of its samples came before in this pass.
        """

    def _random(self, what: str, number: int) -> torch.Generator:
        """A generator of its own for everything that is drawn; torch uses 32 bits of a seed."""
        digest = hashlib.sha256(f"{self._seed}:{what}:{number}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))


def as_it_is(inputs: Tensor, generator: torch.Generator) -> Tensor:
    """Varies nothing."""
    return inputs


class Table(Stream):
    """Data that fit into memory, shuffled anew in every pass over them."""

    def __init__(
        self,
        train: Part,
        held_out: Part,
        classes: int,
        batch: int,
        seed: int,
        vary: Callable[[Tensor, torch.Generator], Tensor] = as_it_is,
    ) -> None:
        """A stream of these samples.

        Args:
            train: the samples to train on.
            held_out: those that are not.
            classes: between which the model chooses.
            batch: samples of a batch.
            seed: of the order.
            vary: gives a batch's inputs as they might have been as well, at random.
        """
        super().__init__(Ends(train.inputs.shape[1], classes), held_out, batch, seed, len(train.labels))
        self.train = train
        self._vary = vary
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def _batch(self, number: int, epoch: int, first: int) -> Part:
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = torch.randperm(self.samples, generator=self._random("epoch", epoch))
        rows = self._order[first : first + self.batch]
        return Part(self._vary(self.train.inputs[rows], self._random("batch", number)), self.train.labels[rows])


def unheard(reading: Reading) -> None:
    """Tells nobody."""


def open_stream(
    manifest: Manifest,
    folder: Path | None = None,
    shuffle: int = 0,
    told: Callable[[Reading], None] = unheard,
) -> Stream:
    """The data of a run.

    Args:
        manifest: the run's.
        folder: the run's, where data are that do not come with a package.
        shuffle: added to the run's seed for the order: trainers go through the data in orders of their own.
        told: hears which shards are read, where they are not all needed at once.

    Raises:
        ManifestError: there is no data set of that name, its package is damaged, or the manifest does not fit it.
        DataError: a part is missing.
    """
    stream: Stream = DATA.module(__package__, manifest.data).STREAM(manifest, folder, shuffle, told)
    return stream
