"""`hearth devices`: what computes, how hot it is, and what it uses."""

import argparse

from core.commands import common
from core.contracts.notices import english
from core.contracts.status import DeviceStatus, EnergyStatus, EnergyUse, Status
from core.contracts.words import counted, electricity


def show(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        status = client.call("status", {}, Status)
    if options.json:
        common.print_json({"devices": status.devices, "energy": status.energy})
    else:
        print(describe(status))


def describe(status: Status) -> str:
    """Each device with its figures, then the electricity."""
    lines = [line for device in status.devices for line in _device(device)]
    return "\n".join([*lines, *([] if status.energy is None else [f"Energy: {energy_line(status.energy)}"])])


def _device(device: DeviceStatus) -> list[str]:
    parts = [] if device.load is None else [f"{device.load:.0%} used by Hearth"]
    if device.others is not None:
        # the two are not measured over the same second: together they are no more than all of it
        others = min(device.others, 1.0 - (device.load or 0.0))
        parts.append(f"{max(0.0, others):.0%} by other programs")
    parts.append("temperature unknown" if device.celsius is None else f"{device.celsius:.0f} °C")
    parts.append("power unknown" if device.watts is None else f"{device.watts:.0f} W")
    if device.memory_bytes is not None:
        free = "" if device.memory_free_bytes is None else f"{device.memory_free_bytes / 2**30:.1f} GB free of "
        parts.append(f"{free}{device.memory_bytes / 2**30:.1f} GB")
    if device.taken_bytes:
        parts.append(f"{device.taken_bytes / 2**30:.1f} GB taken by Hearth")
    if device.experts:
        parts.append(counted(device.experts, "expert"))
    word = "on" if device.on else "off"
    why = f" {english(device.why)}" if device.why else ""
    return [f"{device.name} ({device.id}): {word}.{why}", f"  {', '.join(parts)}"]


def energy_line(energy: EnergyStatus) -> str:
    """What today and this month took, and how sure that is."""
    return f"{_use(energy.today)} today, {_use(energy.month)} this month"


def _use(use: EnergyUse) -> str:
    extra = [] if use.cost is None else [f"costs {use.cost:.2f}"]
    if use.co2_kg is not None:
        extra.append(f"{use.co2_kg:.2f} kg CO₂")
    about = "" if use.measured > 0.99 else "about "
    inside = f" ({', '.join(extra)})" if extra else ""
    return f"{about}{electricity(use.kwh)}{inside}"
