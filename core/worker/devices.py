"""The devices of this PC as the user sees them: what each does, how hot it is, and why it is used or not."""

import time

import msgspec

from core.contracts.control import DeviceStatus
from core.contracts.settings import Settings
from core.hardware import processor
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.signals.reading import Gpu, Signals
from core.worker.compute.supervisor import ComputeSupervisor

NO_GPUS = "The installed PyTorch computes on the processor only."
NOT_KNOWN = "Whether it can be used shows when compute has been started."


class Devices:
    """Built once: the processor's name does not change."""

    def __init__(self, memory_bytes: int) -> None:
        """Args: this PC's memory."""
        self._name, self._memory_bytes = processor(), memory_bytes

    def status(
        self,
        decision: Decision,
        signals: Signals,
        settings: Settings,
        load: float | None,
        compute: ComputeSupervisor,
    ) -> list[DeviceStatus]:
        """The processor first, then the graphics processors that NVIDIA's driver tells of.

        Args: what is decided now, of which signals and settings; share of all cores that Hearth uses; who computes.
        """
        stop = next((rule.reason for rule in decision.rules if "cpu" in rule.stops), "")
        experts, used = len(compute.hosted.experts), compute.accelerator.device
        cpu = DeviceStatus(
            id=CPU,
            name=self._name,
            kind="cpu",
            on=decision.cpu,
            why="" if decision.cpu else stop,
            load=load,
            others=signals.cpu_others.value,
            celsius=signals.celsius.value,
            watts=signals.watts.value,
            memory_bytes=self._memory_bytes,
            memory_free_bytes=signals.memory_free.value,
            experts=experts if used == CPU else compute.accelerator.left_behind,
        )
        gpus = [_gpu(gpu, _why_off(gpu, decision, settings, compute)) for gpu in signals.gpus.value or ()]
        there = {"experts": experts - cpu.experts, "taken_bytes": compute.accelerator.taken_bytes}
        return [cpu, *(msgspec.structs.replace(gpu, **there) if gpu.id == used else gpu for gpu in gpus)]


def _why_off(gpu: Gpu, decision: Decision, settings: Settings, compute: ComputeSupervisor) -> str:
    """A sentence; empty: it is to compute."""
    accelerator = compute.accelerator
    if gpu.id in settings.gpus_off:
        return "You switched it off in Settings."
    if not accelerator.present:
        return NO_GPUS if compute.device else NOT_KNOWN
    if gpu.id == decision.device:
        return ""
    if failure := accelerator.failures(time.time()).get(gpu.id):
        return failure.why
    if stop := next((rule.reason for rule in decision.rules if "gpu" in rule.stops), ""):
        return stop
    which = "The processor is faster for this run" if decision.device == CPU else "Another graphics processor computes"
    return f"{which}."


def _gpu(gpu: Gpu, why: str) -> DeviceStatus:
    return DeviceStatus(
        id=gpu.id,
        name=gpu.name,
        kind="gpu",
        on=not why,
        why=why,
        load=gpu.own,
        others=gpu.others,
        celsius=gpu.celsius,
        watts=gpu.watts,
        memory_bytes=gpu.memory_bytes,
        memory_free_bytes=gpu.memory_free_bytes,
    )
