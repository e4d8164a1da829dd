"""The switch that gives the machine back: no training kernel starts while it is off."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import torch

from core.runtime.load import Load


class Switch:
    """Whether training kernels may start. Off at first."""

    def __init__(self) -> None:
        self._on = False
        self._turned_on = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self.look: Callable[[], None] = lambda: None
        """Called before each training kernel: what has come meanwhile may turn the switch off."""
        self.load = Load()
        self.last_kernel_end = 0.0
        """time.monotonic() at the end of the last training kernel."""

    @property
    def is_on(self) -> bool:
        return self._on

    def may_start(self) -> bool:
        """Whether a training kernel may start now."""
        if self._on:
            self.look()
        return self._on

    def off(self) -> None:
        """Let no further kernel start. May be called from any thread."""
        self._on = False

    def on(self) -> None:
        """Let training go on. To be called from the loop's thread."""
        self._on = True
        self._turned_on.set()
        for listener in self._listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have `listener` called whenever the switch is turned on."""
        self._listeners.append(listener)

    async def wait(self) -> None:
        """Until the switch is on; does not give way to others if it is."""
        while not self.may_start():
            self._turned_on.clear()
            await self._turned_on.wait()

    async def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run one training kernel, without autograd, as soon as the switch is on (a `core.experts.layer.Run`)."""
        await self.wait()
        return self.run_now(kernel, *arguments)

    def run_now(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        start = time.monotonic()
        try:
            with torch.no_grad():
                return kernel(*arguments)
        finally:
            self.last_kernel_end = time.monotonic()
            self.load.worked(self.last_kernel_end - start, self.last_kernel_end)
