"""A pass of held-out samples in which some experts are somewhere else: what a state or a host is worth shows in it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from torch import Tensor

from core.experts.calls import ExpertHost
from core.experts.directory import Directory
from core.experts.gating import Gate
from core.experts.layer import DMoELayer, Passed, Run
from core.training.data.stream import Stream
from core.training.models.network import Network
from core.training.tasks.task import Task


class Tried(NamedTuple):
    """What became of some samples."""

    losses: Tensor
    """[rows], nats."""
    passed: list[Passed]
    """Of each DMoE layer."""


class TrialPass:
    """Of one trainer."""

    def __init__(
        self, network: Network, layer: Callable[..., DMoELayer], stream: Stream, task: Task[Any], run: Run
    ) -> None:
        """
        Args:
            network: that is passed.
            layer: makes a layer of its number and gate, with a directory and hosts.
            stream: whose held-out samples are used.
            task: by which they are judged.
            run: runs the kernels.
        """
        self._network, self._layer, self._stream, self._task, self._run = network, layer, stream, task, run

    async def __call__(self, rows: int, directory: Directory, hosts: Mapping[str, ExpertHost]) -> Tried:
        """The first samples. It counts as training: it waits while the machine is given back.

        Args:
            rows: of the DMoE layers, at most; at least one sample.
            directory: who hosts the experts.
            hosts: how these are asked.

        Raises:
            ComputeError: a layer has no expert.
        """
        inputs, labels = self._stream.held_out
        count = max(1, rows * len(labels) // labels.numel())
        h, network = inputs[:count], self._network
        beside, passes = network.beside(h), list[Passed]()
        for index, (segment, gate) in enumerate(zip(network.segments, network.gates, strict=False)):
            given = await self._run(segment, h, *beside)
            layer = self._layer(index, cast(Gate, gate), directory=directory, hosts=hosts)
            y, passed = await layer.forward(network.into_layer(given).flatten(0, -2), self._run)
            h = network.after_layer(given, y)
            passes.append(passed)
        outputs = await self._run(network.segments[-1], h, *beside)
        return Tried(self._task.losses(outputs, labels[:count]), passes)
