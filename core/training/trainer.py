"""The Trainer: walks batches through the network, many at once, and trains the trunk (paper, section 3.3)."""

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from core.contracts.errors import ComputeError
from core.contracts.kinds import Ends
from core.contracts.manifest import Manifest
from core.contracts.status import CurvePoint
from core.experts.calls import ExpertHost
from core.experts.directory import Directory
from core.experts.gathering import Rules
from core.experts.gating import Gate
from core.experts.grid import Grid
from core.experts.layer import DMoELayer, Passed, Run, tape_bytes
from core.experts.products import product
from core.experts.trust import Suspect, Vouch
from core.pipe.calls import Calls
from core.runtime.device import CPU, Device
from core.runtime.kernel_gate import KernelGate
from core.runtime.movable import Carry, Movable
from core.training.data.shuffle_buffer import without_place
from core.training.data.stream import Part, Stream, open_stream
from core.training.models.memory import Memory
from core.training.models.network import build
from core.training.tasks.task import Task, chance, loss_product, task_of
from core.training.timing import Timing
from core.training.trial_pass import TrialPass
from core.training.trunk.strategy import strategy_of
from core.training.window import Window

log = logging.getLogger(__name__)

RECENT = 64
"""Batches over which the training loss is averaged."""
EVALUATED_ROWS = 2048
"""Rows that an evaluation passes at once: its kernels must be as short as those of training."""
JUDGED = 0.5
"""The share of samples that an evaluation needs answers for: by a few it is chance, and can end a run."""
MEMORY = 256 << 20
"""Bytes that batches on the way may keep; the pipe's frames and the kernels' own come on top."""
LOST_DELAY_S = 0.5
"""Pause after nobody answered: a network without experts is asked twice a second, not for ever."""
TRIES = 4
"""A batch is passed through a layer so often before it is dropped."""


class Trainer(Movable):
    """Trains one network whose experts live elsewhere.

    A batch is a coroutine: while it waits for its experts, others go on. Parameters change in place meanwhile, so no
    graph outlives a kernel: the backward pass recomputes each segment and takes explicit vector-Jacobian products.
    """

    def __init__(
        self,
        manifest: Manifest,
        hosts: Mapping[str, ExpertHost],
        directory: Directory,
        kernel_gate: KernelGate,
        stream: Stream | None = None,
        on_evaluated: Callable[[CurvePoint], None] = lambda point: None,
        suspect: Suspect = lambda host, points, why: None,
        vouch: Vouch = lambda host, direction: None,
        queue_s: Callable[[], float] | None = None,
        calls: Calls | None = None,
    ) -> None:
        """Build the trunk, as the run's seed says.

        Args:
            manifest: the run's.
            hosts: where experts live.
            directory: who hosts which of them.
            kernel_gate: says when kernels may run, and where.
            stream: the run's data; None: those of the manifest, if they come with a package.
            on_evaluated: told of each evaluation.
            suspect: told of hosts whose answers were wrong.
            vouch: told of hosts that passed an audit.
            queue_s: for how long calls wait at the experts' peers; None: they always keep up.
            calls: to the worker, for what trainers agree on; None: there are no others.

        Raises:
            ManifestError: unknown kind of model or data set.
        """
        super().__init__()
        model, training = manifest.model, manifest.training
        self._training, self._directory, self.kernel_gate = training, directory, kernel_gate
        self._stream = open_stream(manifest) if stream is None else stream
        self.task: Task[Any] = task_of(manifest.task.name, self._stream)
        self._network = build(manifest, self._stream.ends)
        self._trunk = strategy_of(self._network, manifest, calls)
        grid = Grid(manifest.run, model.layers, model.grid)
        rules = Rules(training.k_min or max(1, model.k - 1), training.patience_s, training.audit)
        make = partial(DMoELayer, grid, k=model.k, balance=training.balance)
        self._layers = [
            make(index, cast(Gate, gate), directory=directory, hosts=hosts, rules=rules, suspect=suspect, vouch=vouch)
            for index, gate in enumerate(self._network.gates)
        ]
        tried = partial(make, rules=rules._replace(k_min=model.k, audit=0.0))
        self.trial = TrialPass(self._network, tried, self._stream, self.task, self._trunk, self._run)
        self._on_evaluated = on_evaluated
        self._judged = 0
        """The last step after which it was looked whether an evaluation is due."""
        self._losses: deque[float] = deque(maxlen=RECENT)
        self.window = Window(training.in_flight, training.patience_s, queue_s)
        self.timing = Timing(kernel_gate)
        self.trained = self.lost = 0
        """Samples trained on, and batches dropped, since the start; `samples` also counts those gone on from."""
        self.batch_bytes = 0
        """What a batch on the way keeps until its backward pass, as measured with the first one."""
        self._measured = asyncio.Event()
        self._hooks: list[RemovableHandle] = []

    async def run(self) -> None:
        """Train until cancelled, with `in_flight` batches on the way, or as many as `MEMORY` holds and peers serve."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._trunk.agree(partial(self._run, for_others=True), self._evaluate), name="trunk")
            group.create_task(self._keep_training(), name="batches 0")
            await self._measured.wait()
            for number in range(1, min(self._training.in_flight, MEMORY // self.batch_bytes)):
                group.create_task(self._keep_training(), name=f"batches {number}")

    async def _keep_training(self) -> None:
        while True:
            await self.kernel_gate.wait()
            await self._until_experts_are_known()
            await self.window.room()
            with self.window.batch():
                number = await self._trunk.next_batch()
                batch = self._stream[number]
                try:
                    with self.timing.batch() as timed:
                        timed.blocked_s = await self._train(number, batch)
                except ComputeError as error:
                    self._trunk.drop(number)
                    self._stream.drop(number)
                    self.lost += 1
                    if self.lost & (self.lost - 1) == 0:  # ever fewer, so that it cannot fill the log
                        log.warning("A batch was dropped (%d so far): %s", self.lost, error)
                    await asyncio.sleep(LOST_DELAY_S)
                else:
                    self._stream.done(number)
                    if self._is_due():
                        await self._evaluate()
            if not self._layers:  # nobody was waited for, and others of this process must have their turn
                await asyncio.sleep(0)

    async def _train(self, number: int, batch: Part) -> float:
        """One batch: forward, loss, backward, step.

        Returns:
            The seconds for which it waited for nobody but hosts that did not answer, and those asked in their place.

        Raises:
            ComputeError: no sample was answered by any expert, or something was not finite; the trunk is unchanged.
        """
        run = self._run
        h, alive, tape, blocked_s = await self._pass(batch.inputs, batch.labels.numel(), run, even=True)
        self.window.adapt(lost=False, serial=all(passed.alone and passed.full for _, passed in tape))
        if not self.batch_bytes:
            self.batch_bytes = max(1, tape_bytes(tape))
            self._measured.set()

        head, beside = self._network.segments[-1], self._network.beside(batch.inputs)
        loss, by_h, by_head = await run(loss_product, self.task, head, h, batch.labels, alive, *beside)
        gradients = dict(zip(head.parameters(), by_head, strict=True))
        for segment, layer in reversed(list(zip(self._network.segments, self._layers, strict=False))):
            h, passed = tape.pop()
            by_x, by_gate = await layer.backward(passed, by_h.flatten(0, -2), run)
            blocked_s += sum(passed.blocked_s)
            gradients.update(zip(layer.gate.parameters(), by_gate, strict=True))
            parameters = list(segment.parameters())
            by_given = self._network.by_given(by_h, by_x)
            by_h, by_segment = await run(product, segment, parameters, h, by_given, *beside)
            for one, by in zip(parameters, by_segment, strict=True):  # of tied ones the head has one, on its device
                gradients[one] = gradients[one].to(by.device) + by if one in gradients else by

        await run(self._step, number, gradients, int(alive.sum()))
        self._losses.append(loss)
        return blocked_s

    async def _pass(
        self, inputs: Tensor, rows: int, run: Run, even: bool = False
    ) -> tuple[Tensor, Tensor, list[tuple[Tensor, Passed]], float]:
        """What the head gets for these, which of its `rows` are alive, what went into each segment and what happened in
        the layer behind it, and the seconds for which it waited for nobody but hosts that did not answer.

        Raises:
            ComputeError: no sample was answered by any expert.
        """
        h, alive, blocked_s = inputs, torch.ones(rows, dtype=torch.bool), 0.0
        tape: list[tuple[Tensor, Passed]] = []
        network, beside = self._network, self._network.beside(inputs)
        for segment, layer in zip(network.segments, self._layers, strict=False):
            given = await run(segment, h, *beside)
            x = network.into_layer(given).flatten(0, -2)
            y, passed, waited_s = await self._forward(layer, x, alive, run, even)
            tape.append((h, passed))
            h, alive, blocked_s = network.after_layer(given, y), alive & passed.alive, blocked_s + waited_s
        return h, alive, tape, blocked_s

    async def _forward(
        self, layer: DMoELayer, x: Tensor, alive: Tensor, run: Run, even: bool
    ) -> tuple[Tensor, Passed, float]:
        """Through a layer; where nobody answered for any sample that is alive, or the layer's experts have gone since
        the batch began, again: so far nothing was done that would be lost, and peers that were all too slow or too
        busy have less to serve then. The third of what it returns are the seconds before that.

        Raises:
            ComputeError: no such sample was answered by any expert.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        for tried in range(1, TRIES + 1):
            start = loop.time()
            with contextlib.suppress(ComputeError):
                y, passed = await layer.forward(x, run, even=even)
                if (alive & passed.alive).any():
                    return y, passed, start - began
            self.window.adapt(lost=True)
            if tried < TRIES:
                await asyncio.sleep(LOST_DELAY_S)
                await self._until_experts_are_known()
        raise ComputeError("no expert answered for any of its samples.")

    def _step(self, number: int, gradients: dict[nn.Parameter, Tensor], samples: int) -> None:
        flat = torch.cat([gradients[p].to(p.device).flatten() for p in self._trunk.parameters])
        self._trunk.contribute(number, flat, samples)
        self.trained += samples

    async def _until_experts_are_known(self) -> None:
        """Every layer needs one; those of other peers are found within seconds, or when the first host comes."""
        layers = range(len(self._layers))
        while any(self._directory.mirror(layer) == () for layer in layers):  # noqa: ASYNC110  (a directory is no event)
            await asyncio.sleep(LOST_DELAY_S)

    def _is_due(self) -> bool:
        """Every so many steps, and at powers of two before that, so that the curve shows how it began."""
        step, before, every = self.step, self._judged, self._training.evaluate_every
        self._judged = step
        return step // every > before // every or (step < every and step.bit_length() > before.bit_length())

    async def _evaluate(self) -> float | None:
        """The accuracy as it is now, which is told; None: nobody answered."""
        try:
            point = await self.evaluate()
        except ComputeError as error:  # what was trained is not lost
            log.info("Not evaluated at step %d: %s", self.step, error)
            return None
        self._on_evaluated(point)
        return point.accuracy

    async def evaluate(self) -> CurvePoint:
        """Loss and accuracy on the held-out part, of the trunk that is agreed with others. Counts as training: it waits
        while the gate is closed.

        Raises:
            ComputeError: no expert answered for any sample of a part, or for too few of all.
        """
        step, samples, run = self.step, self.samples, partial(self._run, self._trunk.by_agreed)
        inputs, labels = self._stream.held_out
        each = max(1, EVALUATED_ROWS * len(labels) // labels.numel())
        loss = right = count = size = 0.0
        for x, wanted in zip(torch.split(inputs, each), torch.split(labels, each), strict=True):
            h, alive, _, _ = await self._pass(x, wanted.numel(), run)
            outputs = await run(self._network.segments[-1], h, *self._network.beside(x))
            loss += float((self.task.losses(outputs, wanted) * alive).sum())
            right += float((self.task.right(outputs, wanted) * alive).sum())
            count += float(alive.sum())
            size += float((self.task.sizes(wanted) * alive).sum())
        if count < JUDGED * labels.numel():
            raise ComputeError(f"experts answered for {count:.0f} of {labels.numel()} samples only.")
        bits = loss / math.log(2) / size if size else None
        return CurvePoint(step, samples, loss / count, right / count, chance=chance(labels), bits=bits)

    async def infer(self, inputs: Tensor, memory: Memory | None = None) -> tuple[Tensor, list[Passed]]:
        """The head's outputs [n, ..., classes] and what happened in each DMoE layer, by the trunk that is agreed with
        others; waits for nothing.

        Args:
            inputs: of the samples.
            memory: of what went through before of the one text that it is, where the network can use that; then the
                outputs are those of what is new.
        """
        run, passes, network = partial(self._run_at_once, self._trunk.by_agreed), [], self._network
        beside = network.beside(inputs)
        with memory.passing(inputs) if memory and network.remembers else contextlib.nullcontext(inputs) as h:
            for segment, layer in zip(network.segments, self._layers, strict=False):
                given = await run(segment, h, *beside)
                y, passed = await layer.forward(network.into_layer(given).flatten(0, -2), run, inference=True)
                h = network.after_layer(given, y)
                passes.append(passed)
            return await run(network.segments[-1], h, *beside), passes

    @property
    def step(self) -> int:
        """Batches whose gradients the trunk has applied."""
        return self._trunk.step

    @property
    def reached(self) -> bool:
        """Whether the trunk is as good as the manifest wants: no more batches are trained on."""
        return self._trunk.reached

    @property
    def samples(self) -> int:
        """Samples trained on: rows of the DMoE layers, such as the tokens of all sequences."""
        return self._trunk.samples

    @property
    def ends(self) -> Ends:
        """What a sample looks like to the network."""
        return self._stream.ends

    @property
    def loss(self) -> float | None:
        """Mean training loss of the last batches, nats."""
        return sum(self._losses) / len(self._losses) if self._losses else None

    def agreed_weights(self) -> dict[str, Tensor]:
        """A copy of the numbers of trunk and gates, as they are agreed with others."""
        network = self._network
        weights: dict[str, Tensor] = self._trunk.by_agreed(
            lambda: {name: numbers.detach().clone() for name, numbers in network.named_parameters()}
        )
        return weights

    def state(self) -> dict[str, Tensor]:
        """A copy of trunk, gates, optimizer state, counters and the place in the data."""
        return self._trunk.state() | self._stream.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Go on from a copy of this trainer's own, with the batches that follow.

        Args:
            state: as `state` gave it.

        Raises:
            CheckpointError: it does not fit; nothing has changed.
        """
        self._go_on(partial(self._trunk.load_state, without_place(state)))
        self._stream.load_state(state)

    def take_over(self, state: dict[str, Tensor]) -> None:
        """Go on from another trainer's copy.

        Args:
            state: as its `state` gave it.

        Raises:
            CheckpointError: it does not fit; nothing has changed.
        """
        self._go_on(partial(self._trunk.take_over, without_place(state)))

    def _go_on(self, load: Callable[[], None]) -> None:
        self.with_room(load)
        self._judged = self.step

    async def _run(self, kernel: Callable[..., Any], *arguments: Any, for_others: bool = False) -> Any:
        """Run one training kernel, on the processor if the trunk's device has no room for it (a `Run`); `for_others`:
        other trainers wait for it."""
        await self.kernel_gate.wait(for_others=for_others)
        self.go_to(self.kernel_gate.device)
        return self.kernel_gate.run_now(self.with_room, partial(kernel, *arguments))

    async def _run_at_once(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """The same for inference, which does not wait and stays where the trunk is."""
        with torch.no_grad():
            return self.with_room(partial(kernel, *arguments))

    def _carry(self, carry: Carry) -> None:
        """The trunk and its gates; what goes into each of their modules and comes out is in the processor's memory."""
        buffers = [(module, name, carry(buffer)) for module, name, buffer in _buffers(self._network)]
        self._trunk.move(carry)
        for module, name, buffer in buffers:
            setattr(module, name, buffer)

    def _move(self, device: Device) -> None:
        super()._move(device)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        if device is not CPU:
            for module in (*self._network.segments, *self._network.gates):
                self._hooks.append(module.register_forward_pre_hook(lambda _, inputs: tuple(map(device.put, inputs))))
                self._hooks.append(module.register_forward_hook(lambda _, __, outputs: device.take(outputs)))


def _buffers(network: nn.Module) -> list[tuple[nn.Module, str, Tensor]]:
    return [(module, name, b) for module in network.modules() for name, b in module.named_buffers(recurse=False)]
