"""A pass of held-out samples in which some experts are somewhere else: what a state or a host is worth shows in it."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from core.experts.calls import ExpertHost
from core.experts.directory import Directory
from core.experts.gating import Gate
from core.experts.grid import Uid
from core.experts.layer import DMoELayer, Passed, Run, mixed_alone
from core.training.data.stream import Stream
from core.training.models.network import Network
from core.training.tasks.task import Task
from core.training.trunk.strategy import TrunkStrategy


class Tried(NamedTuple):
    """What became of some samples."""

    losses: Tensor
    """[rows], nats."""
    passed: list[Passed]
    """Of each DMoE layer."""
    whole: Tensor
    """[rows], whether all chosen experts that count answered for it."""
    asked: Tensor
    """[rows], whether it chose one of those that were to be alone."""


class TrialPass:
    """Of one trainer."""

    def __init__(
        self,
        network: Network,
        layer: Callable[..., DMoELayer],
        stream: Stream,
        task: Task[Any],
        trunk: TrunkStrategy,
        run: Run,
    ) -> None:
        """
        Args:
            network: that is passed.
            layer: makes a layer of its number and gate, with a directory and hosts.
            stream: whose held-out samples are used.
            task: by which they are judged.
            trunk: in charge of the network's parameters.
            run: runs the kernels.
        """
        self._network, self._layer, self._stream, self._task = network, layer, stream, task
        self.trunk, self._run = trunk, run

    async def __call__(
        self,
        rows: int,
        directory: Directory,
        hosts: Mapping[str, ExpertHost],
        weights: Tensor | None = None,
        alone: Collection[Uid] = (),
    ) -> Tried:
        """The first samples. It counts as training: it waits while the machine is given back.

        Args:
            rows: of the DMoE layers, at most; at least one sample.
            directory: who hosts the experts.
            hosts: how these are asked.
            weights: of the trunk, [all parameters], flat; None: as it is agreed.
            alone: no other experts of a layer count for a sample that chose one of these. What one of several is worth
                hardly shows beside the others.

        Raises:
            ComputeError: a layer has no expert.
        """
        inputs, labels = self._stream.held_out
        count = max(1, rows * len(labels) // labels.numel())
        h, network = inputs[:count], self._network
        beside, passes = network.beside(h), list[Passed]()
        whole, asked = torch.tensor(True), torch.tensor(False)
        run = partial(self._run, self.trunk.by_agreed if weights is None else partial(self.trunk.by, weights))
        for index, (segment, gate) in enumerate(zip(network.segments, network.gates, strict=False)):
            given = await run(segment, h, *beside)
            layer = self._layer(index, cast(Gate, gate), directory=directory, hosts=hosts)
            y, passed = await layer.forward(network.into_layer(given).flatten(0, -2), run)
            y, passed, of_these = await run(mixed_alone, passed, {uid.coords for uid in alone if uid.layer == index})
            whole, asked = whole & (of_these | (passed.weights > 0).all(1)), asked | of_these
            h = network.after_layer(given, y)
            passes.append(passed)
        outputs = await run(network.segments[-1], h, *beside)
        losses = self._task.losses(outputs, labels[:count])
        return Tried(losses, passes, whole.expand_as(losses), asked.expand_as(losses))  # also where there is no layer
