"""A stand-in for NVIDIA's library libnvidia-ml: the C functions that the bindings find in it, over made-up cards.

It takes the place of the loaded library within `pynvml`, so that the bindings themselves (buffers, structures, sizes,
return codes) are the real ones. What its functions return for a card that lacks one follows NVIDIA's documentation.
"""

import dataclasses
from typing import Any

import pynvml

SUCCESS, NOT_SUPPORTED, NOT_FOUND, TOO_SMALL, NOT_LOADED, LOST = 0, 3, 6, 7, 9, 15


@dataclasses.dataclass
class Card:
    """One card; a figure that is None is not supported by it."""

    uuid: str
    name: str = "NVIDIA GeForce RTX 3060"
    memory: tuple[int, int] | None = (12 << 30, 10 << 30)
    busy: int | None = 0
    celsius: int | None = 41
    milliwatts: int | None = 17_250
    shares: dict[int, int] | None = dataclasses.field(default_factory=dict)
    """Percent by process."""
    running: list[int] | None = dataclasses.field(default_factory=list)
    lost: bool = False
    handle: Any = None


class Library:
    """The functions by their exported names."""

    def __init__(self, *cards: Card) -> None:
        self.cards = list(cards)
        self.seen: list[Card] = []
        """Those that were there when the library was started: it finds no others."""
        self.init_code = SUCCESS
        self.inits = self.shutdowns = 0
        self.time_us = 1_000_000

    def nvmlInitWithFlags(self, flags: int) -> int:
        self.inits += 1
        self.seen = list(self.cards)
        return self.init_code

    def nvmlShutdown(self) -> int:
        self.shutdowns += 1
        return SUCCESS

    class _ErrorString:
        restype: Any = None

        def __call__(self, code: int) -> bytes:
            return b"Driver/library version mismatch"

    nvmlErrorString = _ErrorString()

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.seen)
        return SUCCESS

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, device: Any) -> int:
        card = self.seen[index.value]
        device._obj.contents = pynvml.struct_c_nvmlDevice_t()
        card.handle = device._obj
        return LOST if card.lost else SUCCESS

    def _card(self, handle: Any) -> Card:
        return next(card for card in self.seen if card.handle is handle)

    def _fill(self, handle: Any, figure: str, target: Any) -> int:
        card = self._card(handle)
        value = getattr(card, figure)
        if card.lost:
            return LOST
        if value is None:
            return NOT_SUPPORTED
        target._obj.value = value
        return SUCCESS

    def nvmlDeviceGetUUID(self, handle: Any, buffer: Any, size: Any) -> int:
        buffer.value = self._card(handle).uuid.encode()
        assert len(buffer) == size.value
        return SUCCESS

    def nvmlDeviceGetName(self, handle: Any, buffer: Any, size: Any) -> int:
        buffer.value = self._card(handle).name.encode()
        assert len(buffer) == size.value
        return SUCCESS

    def nvmlDeviceGetMemoryInfo(self, handle: Any, info: Any) -> int:
        card = self._card(handle)
        if card.lost:
            return LOST
        if card.memory is None:
            return NOT_SUPPORTED
        info._obj.total, info._obj.free = card.memory
        info._obj.used = card.memory[0] - card.memory[1]
        return SUCCESS

    def nvmlDeviceGetUtilizationRates(self, handle: Any, rates: Any) -> int:
        card = self._card(handle)
        if card.busy is None:
            return NOT_SUPPORTED
        rates._obj.gpu, rates._obj.memory = card.busy, 3
        return SUCCESS

    def nvmlDeviceGetTemperature(self, handle: Any, sensor: Any, celsius: Any) -> int:
        return self._fill(handle, "celsius", celsius)

    def nvmlDeviceGetPowerUsage(self, handle: Any, milliwatts: Any) -> int:
        return self._fill(handle, "milliwatts", milliwatts)

    def nvmlDeviceGetProcessUtilization(self, handle: Any, samples: Any, count: Any, since: Any) -> int:
        shares = self._card(handle).shares
        if shares is None:
            return NOT_SUPPORTED
        if not shares or since.value >= self.time_us:
            return NOT_FOUND
        if samples is None:
            count._obj.value = 2 * len(shares)
            return TOO_SMALL
        for sample, (pid, percent) in zip(samples, shares.items(), strict=False):
            sample.pid, sample.smUtil, sample.timeStamp = pid, percent, self.time_us
        count._obj.value = len(shares)
        return SUCCESS

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, infos: Any) -> int:
        running = self._card(handle).running
        if running is None:
            return NOT_SUPPORTED
        if infos is None:
            count._obj.value = len(running)
            return TOO_SMALL if running else SUCCESS
        for info, pid in zip(infos, running, strict=False):
            info.pid = pid
        count._obj.value = len(running)
        return SUCCESS
