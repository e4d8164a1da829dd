"""The gate that gives the machine back: no training kernel starts while it is closed, or while it rests."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import torch

from core.runtime.device import CPU, Device
from core.runtime.duty_cycle import DutyCycle
from core.runtime.load import Load


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
        self.duty = DutyCycle()
        """It rests as this says, also while it is open."""
        self.is_held = self._resting = False
        self._rested: list[Callable[[], None]] = []
        self.load = Load()
        self.device: Device = CPU
        """Where kernels run: one has ended when this has done all that it was asked for."""
        self.ends: dict[str, float] = {}
        """The same as `last_kernel_end`, by device."""
        self.last_kernel_end = 0.0
        """time.monotonic() at the end of the last training kernel."""

    @property
    def resting(self) -> bool:
        """Whether it is open, but no training kernel may start before the end of a rest."""
        return self._resting

    def may_start(self) -> bool:
        """Whether a training kernel may start now. To be called from the loop's thread."""
        if self.is_open:
            self.poll()
        return self.is_open and not self.is_held and not self._rest()

    def hold(self) -> None:
        """Let no kernel start until `release`: a word that matters is on its way. A signal's handler may call it."""
        self.is_held = True

    def release(self) -> None:
        """The word is here. To be called from the loop's thread after `hold`."""
        if self.is_held:
            self.is_held = False
            self._wake()

    def _rest(self) -> bool:
        """Whether it is time to rest; who waits is woken at the end of it, all in the order in which they came."""
        if not self._resting and (rest_s := self.duty.rest_s()):
            self._resting = True
            asyncio.get_running_loop().call_later(rest_s, self._go_on)
        return self._resting

    def _go_on(self) -> None:
        self._resting = False
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
        self._opened.set()
        for listener in self._listeners:
            listener()

    def listen(self, listener: Callable[[], None], rests: bool = False) -> None:
        """Have `listener` called whenever the gate is opened and, if it wants, at the end of each rest."""
        self._listeners.append(listener)
        if rests:
            self._rested.append(listener)

    async def wait(self) -> None:
        """Until the gate is open; does not give way to others if it is."""
        while not self.may_start():
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
