"""The devices of this PC as the user sees them: what each does, how hot it is, and why it is used or not."""

from core.control.messages import DeviceStatus
from core.hardware import processor
from core.policy.decide import Decision
from core.policy.energy import CPU
from core.policy.signals.reading import Gpu, Signals
from core.settings import Settings

NO_GPUS = "This version of Hearth computes on the processor only."
"""Why no graphics processor is used (`core.policy.facts.Machine.uses_gpus`)."""


class Devices:
    """Built once: the processor's name does not change."""

    def __init__(self, memory_bytes: int) -> None:
        """Args: this PC's memory."""
        self._name, self._memory_bytes = processor(), memory_bytes

    def status(
        self, decision: Decision, signals: Signals, settings: Settings, load: float | None, experts: int
    ) -> list[DeviceStatus]:
        """The processor first, then the graphics processors that NVIDIA's driver tells of.

        Args: what is decided now, of which signals and settings; share of all cores that Hearth uses, experts here.
        """
        stop = next((rule.reason for rule in decision.rules if "cpu" in rule.stops), "")
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
            experts=experts,
        )
        return [cpu, *(_gpu(gpu, settings) for gpu in signals.gpus.value or ())]


def _gpu(gpu: Gpu, settings: Settings) -> DeviceStatus:
    return DeviceStatus(
        id=gpu.id,
        name=gpu.name,
        kind="gpu",
        on=False,
        why="You switched it off in Settings." if gpu.id in settings.gpus_off else NO_GPUS,
        load=gpu.own,
        others=gpu.others,
        celsius=gpu.celsius,
        watts=gpu.watts,
        memory_bytes=gpu.memory_bytes,
        memory_free_bytes=gpu.memory_free_bytes,
    )
