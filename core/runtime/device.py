"""Where tensors live and passes run: the processor, or a graphics processor.

What this process gets from others and gives to them is in the processor's memory; a pass on a graphics processor begins
with `put` and ends with `take`. Everything else asks only for memory like that of a tensor that is there already, so
that the same code runs on every device.
"""

import logging
import re
import sys

import torch
from torch import Tensor

from core.contracts.errors import DeviceError
from core.contracts.notices import notice
from core.runtime.out_of_memory import causes

log = logging.getLogger(__name__)

FAULTS = re.compile(r"\b(CUDA|CUBLAS|CUDNN|HIP|MPS)")
"""In an error's text: the device or its driver failed, and what it holds may be lost."""
CUDA_PREFIX = "GPU-"
"""NVML's names of cards begin with it; what follows is the number that torch knows too."""


class Device:
    """The processor, and what all devices can be asked for. Methods raise what torch raises: see `lacks_memory` and
    `fault_of`."""

    id = "cpu"
    """As the settings and `DeviceStatus` name it."""
    label = "the CPU"
    _is_full = False

    def put(self, tensor: Tensor) -> Tensor:
        """The tensor in this device's memory: itself if it is there, else a copy. Autograd can follow it."""
        return tensor

    def take(self, tensor: Tensor) -> Tensor:
        """A tensor of this device in the processor's memory, likewise, once it is computed."""
        return tensor

    def synchronize(self) -> None:
        """Wait until all that was asked of it is done."""

    def free(self) -> None:
        """Give memory that no tensor uses back to the system."""

    def limit(self, memory_share: float) -> None:
        """Use no more than this share of a graphics processor's memory, over 0 and at most 1. What is there stays."""

    def tell_full(self) -> None:
        """Tell, once, that it had no room, and give back what no tensor uses."""
        self.free()
        if not self._is_full:
            self._is_full = True
            log.warning("The memory of %s that Hearth may use is full: the CPU does part of the work.", self.label)

    @property
    def used_bytes(self) -> int:
        """What this process has taken of a graphics processor's memory; 0 for the processor's."""
        return 0


CPU = Device()


class Cuda(Device):
    """An NVIDIA card (or AMD's, in a build of torch for those)."""

    def __init__(self, id_: str) -> None:
        """A card that is there.

        Args:
            id_: NVML's name.

        Raises:
            DeviceError: PyTorch does not find it.
        """
        cards = {
            f"{CUDA_PREFIX}{torch.cuda.get_device_properties(n).uuid}": n for n in range(torch.cuda.device_count())
        }
        if id_ not in cards:
            raise DeviceError(notice("device.not_found", id=id_))
        self._number = cards[id_]
        self._device = torch.device("cuda", self._number)
        self.id, self.label = id_, torch.cuda.get_device_name(self._number)
        self._done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]

    def limit(self, memory_share: float) -> None:
        torch.cuda.set_per_process_memory_fraction(memory_share, self._number)

    def put(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device)

    def take(self, tensor: Tensor) -> Tensor:
        self.synchronize()
        return tensor.to("cpu")

    def synchronize(self) -> None:
        """By an event that sleeps: a copy or torch.cuda.synchronize would spin on one of the user's cores."""
        self._done.record(torch.cuda.current_stream(self._device))
        self._done.synchronize()

    def free(self) -> None:
        with torch.cuda.device(self._number):
            torch.cuda.empty_cache()

    @property
    def used_bytes(self) -> int:
        return torch.cuda.memory_reserved(self._number)


class Mps(Device):
    """Apple's graphics processor, whose memory is the processor's; the limit is a share of what the system recommends
    to use at most."""

    id, label = "mps", "Apple GPU"

    def limit(self, memory_share: float) -> None:
        torch.mps.set_per_process_memory_fraction(memory_share)

    def put(self, tensor: Tensor) -> Tensor:
        return tensor.to("mps")

    def take(self, tensor: Tensor) -> Tensor:
        return tensor.to("cpu")

    def synchronize(self) -> None:
        torch.mps.synchronize()

    def free(self) -> None:
        torch.mps.empty_cache()

    @property
    def used_bytes(self) -> int:
        return torch.mps.driver_allocated_memory()


def can_use_gpus() -> bool:
    """Whether the installed torch was built for graphics processors; wakes none."""
    built: bool = torch.backends.cuda.is_built()  # type: ignore[no-untyped-call]
    return built or (sys.platform == "darwin" and torch.backends.mps.is_available())


def open_device(id_: str) -> Device:
    """Start to use a device, and try it: what cannot compute is better found out before experts are there.

    It may take seconds, or not return at all where a driver hangs.

    Raises:
        DeviceError: there is none of that name, or it does not work.
    """
    if id_ == CPU.id:
        return CPU
    try:
        device = Mps() if id_ == Mps.id else Cuda(id_)
        ones = device.put(torch.ones(64, 64))
        if not bool((device.take(ones @ ones) == 64.0).all()):
            raise DeviceError(notice("device.computes_wrongly", name=device.label))
    except (RuntimeError, AssertionError, AttributeError, ValueError) as error:  # whatever a broken driver leads to
        raise DeviceError(notice("device.unusable", id=id_, why=first_line(error))) from error
    return device


def lacks_memory(error: BaseException) -> bool:
    """Whether an error of torch says that a graphics processor has no room for what was asked."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in text or "alloc_failed" in text)
    )


def fault_of(error: BaseException) -> BaseException | None:
    """What in an error, or in what caused it, says that a graphics processor failed, or cannot do what a pass needs."""
    for one in causes(error):
        if isinstance(one, DeviceError | torch.AcceleratorError):
            return one
        if isinstance(one, RuntimeError) and FAULTS.search(str(one)):
            return one
    return None


def first_line(error: BaseException) -> str:
    """Of what torch says, which goes on for a page."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__
