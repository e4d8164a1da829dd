"""The gate that gives the machine back: no training kernel starts while it is closed, rests, or people ask."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from core.runtime.device import CPU, Device
from core.runtime.duty_cycle import DutyCycle
from core.runtime.load import Load

FOR_OTHERS = 0.1
"""Of the time, while somebody asks the model: for the training kernels that other peers wait for."""
LINGER_S = 0.3
"""After an answer: who draws asks again, and would wait for a training kernel each time."""


class KernelGate:
    """Whether training kernels may start. Closed at first."""

    def __init__(self, poll: Callable[[], None] = lambda: None) -> None:
        """
        Args:
            poll: called before each training kernel: what has come meanwhile may close the gate.
        """
        self.is_open = False
        self._opened = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self.poll = poll
        self.load = Load()
        self.duty = DutyCycle()
        """It rests as this says, also while it is open."""
        self._for_others = DutyCycle(spent=lambda: self.load.seconds)
        """The same for what other peers wait for, while somebody asks the model."""
        self._resting: set[DutyCycle] = set()
        self._asking = 0
        self.is_held = False
        self._rested: list[Callable[[], None]] = []
        self.device: Device = CPU
        """Where kernels run: one has ended when this has done all that it was asked for."""
        self.ends: dict[str, float] = {}
        """The same as `last_kernel_end`, by device."""
        self.last_kernel_end = 0.0
        """time.monotonic() at the end of the last training kernel."""

    @property
    def is_aside(self) -> bool:
        """Whether somebody asks the model."""
        return self._asking > 0

    @property
    def resting(self) -> bool:
        """Whether it is open, but no training kernel may start before who listens to rests is called, or others ask."""
        return self.is_aside or self.duty in self._resting

    @property
    def share(self) -> float:
        """Of the time, how much training kernels that others wait for get."""
        return self.duty.share * self._for_others.share

    def may_start(self, for_others: bool = False) -> bool:
        """Whether a training kernel may start now. To be called from the loop's thread.

        Args:
            for_others: whether other peers wait for it.
        """
        if self.is_open:
            self.poll()
        if not self.is_open or self.is_held or self._rest(self.duty):
            return False
        return not self.is_aside or (for_others and not self._rest(self._for_others))

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Within it somebody waits for an answer of the model: training does, but for a little of what peers wait for.

        A byte of a text passes through all layers one after the other, and at each would wait for a training kernel.
        """
        self.step_aside()
        try:
            yield
        finally:
            self.step_back()

    def step_aside(self) -> None:
        """Begin what `aside` does. To be called from the loop's thread."""
        self._asking += 1
        if self._asking == 1:
            self._for_others.set(FOR_OTHERS)
            self.meter()

    def step_back(self) -> None:
        """End it in a moment. To be called from the loop's thread."""
        asyncio.get_running_loop().call_later(LINGER_S, self._step_back)

    def _step_back(self) -> None:
        self._asking -= 1
        if not self.is_aside:
            self._for_others.set(1.0)
            self.meter()
            self._tell_opened()

    def meter(self) -> None:
        """Count what is used from now on: processor time, but on other devices, and while somebody asks the model, that
        of the training kernels. Training rested for seconds else, to make up for an answer that it had waited for."""
        if self.device is CPU and not self.is_aside:
            self.duty.meter(time.process_time)
        else:
            self.duty.meter(lambda: self.load.seconds * self.duty.threads)

    def hold(self) -> None:
        """Let no kernel start until `release`: a word that matters is on its way. A signal's handler may call it."""
        self.is_held = True

    def release(self) -> None:
        """The word is here. To be called from the loop's thread after `hold`."""
        if self.is_held:
            self.is_held = False
            self._wake()

    def _rest(self, duty: DutyCycle) -> bool:
        """Whether it is time to rest; who waits is woken at the end of it, all in the order in which they came."""
        if duty not in self._resting and (rest_s := duty.rest_s()):
            self._resting.add(duty)
            asyncio.get_running_loop().call_later(rest_s, self._go_on, duty)
        return duty in self._resting

    def _go_on(self, duty: DutyCycle) -> None:
        self._resting.discard(duty)
        self._wake()

    def _wake(self) -> None:
        self._opened.set()
        for listener in self._rested:
            listener()

    def close(self) -> None:
        """Let no further kernel start. May be called from any thread."""
        self.is_open = False

    def leave(self, device: str) -> None:
        """Let no further kernel start on another device than this, but on the processor. May be called from any
        thread."""
        if self.device.id != device:
            self.device = CPU

    def open(self) -> None:
        """Let training go on. To be called from the loop's thread."""
        self.is_open = True
        self._tell_opened()

    def _tell_opened(self) -> None:
        self._opened.set()
        for listener in self._listeners:
            listener()

    def listen(self, listener: Callable[[], None], rests: bool = False) -> None:
        """Have `listener` called whenever the gate is opened, or nobody asks the model any more; and, if it wants, at
        the end of each rest."""
        self._listeners.append(listener)
        if rests:
            self._rested.append(listener)

    async def wait(self, for_others: bool = False) -> None:
        """Until `may_start`; does not give way to others if that is now."""
        while not self.may_start(for_others):
            self._opened.clear()
            await self._opened.wait()

    async def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run one training kernel, without autograd, as soon as the gate is open (a `core.experts.layer.Run`)."""
        await self.wait()
        return self.run_now(kernel, *arguments)

    def run_now(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        start, device = time.monotonic(), self.device
        try:
            with torch.no_grad():
                result = kernel(*arguments)
            device.synchronize()
            return result
        finally:
            self.last_kernel_end = self.ends[device.id] = time.monotonic()
            self.load.worked(self.last_kernel_end - start, self.last_kernel_end)
