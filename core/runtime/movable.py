"""What moves between devices with all that belongs to it, and what happens where a device has no room."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

from core.runtime.device import CPU, Device, lacks_memory

T = TypeVar("T")
Carry = Callable[[Tensor], Tensor]
"""Bring a tensor from one device to another."""


class Movable(ABC):
    """Weights with their optimizer, on one device at a time: an expert, or the trunk."""

    def __init__(self) -> None:
        self.device: Device = CPU
        """Where it is."""
        self._asked: Device = CPU

    @abstractmethod
    def _carry(self, carry: Carry) -> None:
        """Have everything carried, or nothing if that fails."""

    def go_to(self, device: Device) -> bool:
        """Be on a device from now on; where there is no room, stay until another device is asked for.

        Returns:
            Whether that took time.
        """
        if device is self._asked:
            return False
        self._asked = device
        try:
            self._move(device)
        except RuntimeError as error:
            if not lacks_memory(error):
                raise
            device.tell_full()
        return True

    def give_up(self) -> None:
        """Leave a device that has no room, for the processor, until another device is asked for."""
        self.device.tell_full()
        self._move(CPU)

    def _move(self, device: Device) -> None:
        origin = self.device
        if device is not origin:
            self._carry(lambda tensor: device.put(origin.take(tensor)))
            self.device = device
            origin.free()

    def with_room(self, work: Callable[[], T]) -> T:
        """What `work` gives, on the processor if the device has no room for it. It must change nothing before it fails
        for that."""
        try:
            return work()
        except RuntimeError as error:
            if self.device is CPU or not lacks_memory(error):
                raise
        self.give_up()  # outside of the handler: the error's traceback holds what there was no room for
        return work()
