"""`hearth devices`: what computes, how hot it is, and what it uses."""

from core.control.messages import DeviceStatus, EnergyStatus, EnergyUse, Status


def describe(status: Status) -> str:
    """Each device with its figures, then the electricity."""
    lines = [line for device in status.devices for line in _device(device)]
    return "\n".join([*lines, *([] if status.energy is None else [f"Energy: {energy_line(status.energy)}"])])


def _device(device: DeviceStatus) -> list[str]:
    parts = [] if device.load is None else [f"{device.load:.0%} used by Hearth"]
    if device.others is not None:
        parts.append(f"{device.others:.0%} by other programs")
    parts.append("temperature unknown" if device.celsius is None else f"{device.celsius:.0f} °C")
    parts.append("power unknown" if device.watts is None else f"{device.watts:.0f} W")
    if device.memory_bytes is not None:
        free = "" if device.memory_free_bytes is None else f"{device.memory_free_bytes / 2**30:.1f} GB free of "
        parts.append(f"{free}{device.memory_bytes / 2**30:.1f} GB")
    if device.experts:
        parts.append(f"{device.experts:,} experts")
    word = "on" if device.on else "off"
    why = f" {device.why}" if device.why else ""
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
    amount = f"{use.kwh:.3g} kWh" if use.kwh >= 0.01 else f"{use.kwh * 1000:.2f} Wh"
    return f"{about}{amount}{inside}"
