"""Where experts and trunk are: on the processor, or on the graphics processor that the worker names."""

import asyncio
import logging
import operator
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from core.compute.hosting import Residents
from core.contracts.errors import DeviceError
from core.contracts.notices import Notice
from core.contracts.pipe import Placed, SetDevice, Work
from core.runtime import device as devices
from core.runtime.device import CPU, Device
from core.runtime.kernel_gate import KernelGate
from core.training.trainer import Trainer

log = logging.getLogger(__name__)


class Placing:
    """Moves what is trained from device to device."""

    def __init__(
        self,
        kernel_gate: KernelGate,
        residents: Residents,
        trainer: Trainer,
        count: Callable[[], Work],
        changed: Callable[[], None],
    ) -> None:
        """
        Args:
            kernel_gate: when and where kernels run.
            residents: the experts that are moved.
            trainer: the trunk that is moved.
            count: what this process has done so far.
            changed: is called when kernels run elsewhere.
        """
        self._kernel_gate, self._residents, self._trainer = kernel_gate, residents, trainer
        self._count, self._changed = count, changed
        self._opened = {CPU.id: CPU}
        self._shares: dict[str, float] = {}
        self._place = CPU
        """Where kernels are counted for."""
        self._done: dict[str, Work] = {}
        self._counted = Work()
        self._going: asyncio.Task[object] | None = None

    @property
    def device(self) -> Device:
        return self._kernel_gate.device

    @property
    def left_behind(self) -> int:
        """Experts that are on another device."""
        backends = self._residents.backends.values()
        return sum(backend.is_used and backend.device is not self.device for backend in backends)

    def work(self) -> dict[str, Work]:
        """What each device has done."""
        total = self._count()
        new, self._counted = total.since(self._counted), total
        if new != Work():
            before = self._done.get(self._place.id, Work())
            sums = map(operator.add, msgspec.structs.astuple(before), msgspec.structs.astuple(new))
            self._done[self._place.id] = Work(*sums)
        return dict(self._done)

    async def go(self, message: SetDevice) -> Placed:
        """Go to a device. To be called in a task, which is cancelled if there is a newer such call meanwhile."""
        if self._going:
            self._going.cancel()
        task = self._going = asyncio.current_task()
        try:
            return await self._go(message)
        finally:
            if self._going is task:
                self._going = None

    async def _go(self, message: SetDevice) -> Placed:
        origin, device = self._place, CPU
        why: Notice | None = None
        try:
            device = await self._open(message.device)
        except DeviceError as error:
            why = error.notice
            log.warning("%s The CPU computes instead.", why)
        if device is not CPU and message.memory_share != self._shares.get(device.id):
            await self._move(CPU)  # what is there already would stay
            device.limit(message.memory_share)
            self._shares[device.id] = message.memory_share
        await self._move(device)
        end = self._kernel_gate.ends.get(origin.id, time.monotonic())
        return Placed(device.id, device.label, end, why)

    async def _open(self, name: str) -> Device:
        """Raises:
        DeviceError: there is no such device, or it does not work.
        """
        if name not in self._opened:
            self._opened[name] = await _in_a_thread_of_its_own(lambda: devices.open_device(name))
        return self._opened[name]

    async def _move(self, device: Device) -> None:
        """One after the other, between kernels; what is used meanwhile goes at once."""
        self.work()
        kernel_gate, origin = self._kernel_gate, self._place
        self._place = kernel_gate.device = device
        if device is not origin:
            kernel_gate.meter()
            self._changed()
        for backend in list(self._residents.backends.values()):
            if backend.is_used:
                backend.go_to(device)
                await asyncio.sleep(0)
        self._trainer.go_to(device)


async def _in_a_thread_of_its_own(call: Callable[[], Device]) -> Device:
    """What a call returns. Nobody waits for this thread at the end of the process, as for those of the loop's pool: a
    driver that hangs keeps it."""
    return await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1, "device"), call)
