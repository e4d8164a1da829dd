"""NVIDIA's graphics processors, by the driver's library NVML (nvidia-ml-py: `import pynvml`).

Cards and drivers leave functions out (GeForce, MIG, old drivers, vGPU), so each figure is asked for by itself.
"""

import contextlib
import ctypes
import importlib
import os
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from core.contracts.notices import notice
from core.policy.signals.plausible import without_nonsense
from core.policy.signals.reading import Gpu, SourceError

REOPEN_S = 10.0
"""After a GPU was lost, or none was found: how soon the library is started anew."""
SAMPLES_US = 2_000_000
"""How far back the shares of processes are asked for at first, microseconds."""
PCI = Path("/sys/bus/pci/devices")
NVIDIA, DISPLAY = "0x10de", "0x03"


def load() -> bool:
    """Whether the driver's library is there, asked before the bindings are imported: they take memory.

    Raises:
        SourceError: it is there but broken.
    """
    try:
        if sys.platform == "win32":
            folders = (
                os.environ.get("WINDIR", "C:/Windows") + "/System32",
                os.environ.get("PROGRAMFILES", "C:/Program Files") + "/NVIDIA Corporation/NVSMI",
            )
            return any(Path(folder, "nvml.dll").exists() for folder in folders)
        if sys.platform == "linux":
            ctypes.CDLL("libnvidia-ml.so.1")
            return True
    except OSError as error:
        why = error.__cause__ or error  # PyInstaller's Python puts another error around it
        if "cannot open shared object file: No such file" in str(why):
            return False
        raise SourceError(notice("gpus.nvidia_broken", why=str(why))) from None
    return False


def power_states(pci: Path = PCI) -> list[Path]:
    """The files that say whether NVIDIA's graphics processors are switched off to save power (laptops)."""
    found = []
    for device in pci.glob("*"):
        try:
            if (device / "vendor").read_text().strip() == NVIDIA and (device / "class").read_text().startswith(DISPLAY):
                found.append(device / "power" / "runtime_status")
        except OSError:
            continue
    return found


class Nvml:
    """All NVIDIA graphics processors; none where there is no driver."""

    name = "NVML"

    def __init__(
        self,
        pids: Callable[[], Collection[int]],
        present: Callable[[], bool] = load,
        pci: Path = PCI,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pids, self._pci, self._now = pids, pci, now
        self._nvml: Any = importlib.import_module("pynvml") if present() else None
        """The bindings; None: there is no driver."""
        self._states = power_states(pci) if self._nvml else []
        self._handles: dict[str, Any] = {}
        self._seen: dict[str, int] = {}
        """By GPU: the time stamp of the newest sample of processes' use."""
        self._last: tuple[Gpu, ...] = ()
        self._started = False
        self._due = float("-inf")
        """When to start the library (anew)."""

    def read(self) -> tuple[Gpu, ...]:
        if not self._nvml:
            return ()
        if self._asleep() and (not self._started or self._last):
            # nobody uses them; their temperature does not matter
            return tuple(Gpu(gpu.id, gpu.name, gpu.memory_bytes, others=0.0, own=0.0) for gpu in self._last)
        if self._now() >= self._due:
            self._restart()
        own = set(self._pids())
        found = [self._gpu(id_, own) for id_ in list(self._handles)]
        self._last = tuple(gpu for gpu in found if gpu is not None)
        return self._last

    def _asleep(self) -> bool:
        """Whether all are switched off: to ask the library wakes them."""
        try:
            return bool(self._states) and all(file.read_text().strip() == "suspended" for file in self._states)
        except OSError:  # unplugged
            return False

    def close(self) -> None:
        if self._started:
            self._started = False
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()

    def _restart(self) -> None:
        """Start the library, which finds the GPUs only then.

        Raises:
            SourceError: the driver is broken.
        """
        self.close()
        self._handles, self._states = {}, power_states(self._pci)
        self._due = self._now() + REOPEN_S
        try:
            self._nvml.nvmlInit()
            self._started = True
            for index in range(self._nvml.nvmlDeviceGetCount()):
                handle = self._ask("nvmlDeviceGetHandleByIndex", index)
                uuid = None if handle is None else self._ask("nvmlDeviceGetUUID", handle)
                if uuid is not None:
                    self._handles[uuid] = handle
        except self._nvml.NVMLError as error:
            if error.value in (self._nvml.NVML_ERROR_DRIVER_NOT_LOADED, self._nvml.NVML_ERROR_GPU_NOT_FOUND):
                return  # a driver without a card: perhaps it will be plugged in
            raise SourceError(notice("gpus.nvidia_fails", why=str(error))) from None
        if self._handles:
            self._due = float("inf")

    def _gpu(self, id_: str, own: set[int]) -> Gpu | None:
        """One GPU; None, and the library is started anew soon, if it is gone."""
        handle = self._handles[id_]
        try:
            memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
            others, ours = self._shares(id_, handle, own)
            milliwatts = self._ask("nvmlDeviceGetPowerUsage", handle)
            celsius = self._ask("nvmlDeviceGetTemperature", handle, self._nvml.NVML_TEMPERATURE_GPU)
            gpu = Gpu(
                id=id_,
                name=self._ask("nvmlDeviceGetName", handle) or "NVIDIA GPU",
                memory_bytes=None if memory is None else int(memory.total),
                memory_free_bytes=None if memory is None else int(memory.free),
                others=others,
                own=ours,
                celsius=None if celsius is None else float(celsius),
                watts=None if milliwatts is None else milliwatts / 1000,
            )
        except self._nvml.NVMLError:  # lost: `_ask` passes nothing else
            del self._handles[id_]
            self._due = min(self._due, self._now() + REOPEN_S)
            return None
        return without_nonsense(gpu)

    def _shares(self, id_: str, handle: Any, own: set[int]) -> tuple[float | None, float | None]:
        """Shares of its time that others and Hearth use.

        Where the card does not tell the processes' shares: all is the others', unless Hearth is on it too.
        """
        rates = self._ask("nvmlDeviceGetUtilizationRates", handle)
        if rates is None:
            return None, None
        busy = rates.gpu / 100
        if busy == 0.0:
            return 0.0, 0.0
        since = self._seen.get(id_, time.time_ns() // 1000 - SAMPLES_US)
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(handle, since)
        except self._nvml.NVMLError as error:
            if error.value == self._nvml.NVML_ERROR_GPU_IS_LOST:
                raise
            # not supported, or no sample is newer
            running = self._ask("nvmlDeviceGetComputeRunningProcesses", handle)
            if running is None or any(process.pid in own for process in running):
                return None, None
            return busy, 0.0
        if samples:
            self._seen[id_] = max(sample.timeStamp for sample in samples)
        ours = min(1.0, sum({s.pid: s.smUtil for s in samples if s.pid in own}.values()) / 100)
        return max(0.0, busy - ours), ours

    def _ask(self, function: str, *arguments: Any) -> Any:
        """The answer, or None if this card or driver has none.

        Raises:
            NVMLError: the GPU is gone.
        """
        try:
            return getattr(self._nvml, function)(*arguments)
        except self._nvml.NVMLError as error:
            if error.value in (self._nvml.NVML_ERROR_GPU_IS_LOST, self._nvml.NVML_ERROR_UNINITIALIZED):
                raise
            return None
        except UnicodeDecodeError:
            return None
