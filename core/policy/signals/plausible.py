"""Which values a signal can have at all: what a source says beyond them is nonsense and never believed."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from core.policy.signals.reading import Front, Gpu, Power

TEN_YEARS_S = 10 * 365.25 * 86400
BYTES = 1 << 60
PROGRAMS = 50_000
GPUS = 64
NAME_CHARACTERS = 300

Check = Callable[[Any], bool]


def number(low: float, high: float) -> Check:
    """Finite and between two bounds, both allowed."""

    def check(value: Any) -> bool:
        # bool is a subclass of int, and "True seconds" is a mistake
        return type(value) in (int, float) and math.isfinite(value) and low <= value <= high

    return check


share = number(0.0, 1.0)
idle_s = number(0.0, TEN_YEARS_S)
celsius = number(-50.0, 150.0)
watts = number(0.0, 10_000.0)


def flag(value: Any) -> bool:
    return type(value) is bool


def amount(value: Any) -> bool:
    """Bytes."""
    return type(value) is int and 0 <= value <= BYTES


def text(value: Any) -> bool:
    return type(value) is str and len(value) <= NAME_CHARACTERS


def front(value: Any) -> bool:
    return (
        type(value) is Front and value.kind in ("window", "fullscreen", "presentation", "game") and text(value.program)
    )


def power(value: Any) -> bool:
    return type(value) is Power and flag(value.mains) and (value.charge is None or share(value.charge))


def programs(value: Any) -> bool:
    return type(value) is frozenset and len(value) <= PROGRAMS and all(map(text, value))


_OF_A_GPU: dict[str, Check] = {
    "memory_bytes": amount,
    "memory_free_bytes": amount,
    "others": share,
    "own": share,
    "celsius": celsius,
    "watts": watts,
}


def gpus(value: Any) -> bool:
    """Each figure of each GPU may be missing, but none may be impossible, and no two GPUs have one id."""
    if type(value) is not tuple or len(value) > GPUS or any(type(gpu) is not Gpu for gpu in value):
        return False
    if len({gpu.id for gpu in value}) != len(value):
        return False
    return all(text(gpu.id) and gpu.id and text(gpu.name) and _figures(gpu) for gpu in value)


def _figures(gpu: Gpu) -> bool:
    figures = {name: getattr(gpu, name) for name in _OF_A_GPU}
    if gpu.memory_bytes is not None and (gpu.memory_free_bytes or 0) > gpu.memory_bytes:
        return False
    return all(figure is None or _OF_A_GPU[name](figure) for name, figure in figures.items())


def without_nonsense(gpu: Gpu) -> Gpu:
    """The same GPU; figures that are impossible become None. For a driver of which one function is broken."""
    wrong: dict[str, Any] = {
        name: None
        for name, check in _OF_A_GPU.items()
        if (figure := getattr(gpu, name)) is not None and not check(figure)
    }
    return dataclasses.replace(gpu, **wrong)
