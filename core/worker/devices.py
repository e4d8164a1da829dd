"""The devices of this PC as the user sees them: what each does, how hot it is, and why it is used or not."""

import time
from collections import Counter
from collections.abc import Sequence

import msgspec

from core.contracts.notices import Sentences, notice
from core.contracts.settings import Settings
from core.contracts.status import DeviceStatus
from core.hardware import processor
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.signals.reading import Gpu, Signals
from core.worker.compute.supervisor import ComputeSupervisor


class Devices:
    """Built once: the processor's name does not change."""

    def __init__(self, memory_bytes: int) -> None:
        """Look at the processor once.

        Args:
            memory_bytes: of this PC.
        """
        self._name, self._memory_bytes = processor(), memory_bytes

    def status(
        self,
        decision: Decision,
        signals: Signals,
        settings: Settings,
        load: float | None,
        computes: Sequence[ComputeSupervisor],
    ) -> list[DeviceStatus]:
        """The processor first, then the graphics processors that NVIDIA's driver tells of.

        Args:
            decision: what is decided now.
            signals: by which signals.
            settings: and by which settings.
            load: share of all cores that Hearth uses.
            computes: those of all runs.
        """
        stop = next((rule.reason for rule in decision.rules if "cpu" in rule.stops), ())
        experts, taken = Counter[str](), Counter[str]()
        for compute in computes:
            used, left = compute.accelerator.device, compute.accelerator.left_behind
            experts[used] += len(compute.hosted.experts) - left
            experts[CPU] += left
            taken[used] += compute.accelerator.taken_bytes
        cpu = DeviceStatus(
            id=CPU,
            name=self._name,
            kind="cpu",
            on=decision.cpu,
            why=() if decision.cpu else stop,
            load=load,
            others=signals.cpu_others.value,
            celsius=signals.celsius.value,
            watts=signals.watts.value,
            memory_bytes=self._memory_bytes,
            memory_free_bytes=signals.memory_free.value,
            experts=experts[CPU],
        )
        gpus = [_gpu(gpu, _why_off(gpu, decision, settings, computes[0])) for gpu in signals.gpus.value or ()]
        return [
            cpu,
            *(msgspec.structs.replace(gpu, experts=experts[gpu.id], taken_bytes=taken[gpu.id]) for gpu in gpus),
        ]


def _why_off(gpu: Gpu, decision: Decision, settings: Settings, compute: ComputeSupervisor) -> Sentences:
    """Empty: it is to compute."""
    accelerator = compute.accelerator
    if gpu.id in settings.gpus_off:
        return (notice("device.off"),)
    if not accelerator.present:
        return (notice("device.torch_has_none" if compute.figures.device else "device.not_known_yet"),)
    if gpu.id == decision.device:
        return ()
    if failure := accelerator.failures(time.time()).get(gpu.id):
        return (failure.why,)
    if stop := next((rule.reason for rule in decision.rules if "gpu" in rule.stops), ()):
        return stop
    return (notice("device.cpu_is_faster" if decision.device == CPU else "device.other_gpu"),)


def _gpu(gpu: Gpu, why: Sentences) -> DeviceStatus:
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
