"""Times, sizes and counts as English writes them."""

import time
from collections.abc import Callable

Number = Callable[[float, int], str]
"""Writes a figure with so many decimals at most."""


def clock(moment: float, now: float) -> str:
    """Local time of day of a unix time, with the day if that is 20 hours away or more."""
    local = time.localtime(moment)
    return time.strftime("%H:%M" if abs(moment - now) < 20 * 3600 else "%a %H:%M", local)


def countdown(seconds: float) -> str:
    """2:10, or 1:02:10."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


WHOLE_HOURS = 100
"""From so many on, minutes are not told."""


def duration(seconds: float) -> str:
    """40 s, 24 min, 3 h 12 min, 1,204 h."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= WHOLE_HOURS:
        return f"{hours:,} h"
    return " ".join([f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes))


def date(moment: float) -> str:
    """The local day of a unix time: 1 December."""
    local = time.localtime(moment)
    return f"{local.tm_mday} {time.strftime('%B', local)}"


def rounded(value: float, decimals: int) -> str:
    """With so many decimals at most."""
    return f"{round(value, decimals):.10g}"


def size(amount: float, number: Number = rounded) -> str:
    """300 MB, 11.4 GB; MB of 2^20 bytes, as in the settings.

    Args:
        amount: bytes.
        number: writes the figure.
    """
    mb = amount / 2**20
    return f"{number(mb, 0)} MB" if mb < 1024 else f"{number(mb / 1024, 1)} GB"


def traffic(amount: float, number: Number = rounded, whole_from: int = 100) -> str:
    """812 B, 4.2 MB, 300 MB, 11.4 GB; MB of 10^6 bytes, as providers count.

    Args:
        amount: bytes.
        number: writes the figure.
        whole_from: the amount of a unit from which on there is no decimal.
    """
    unit = "B"
    for greater in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, greater
    return f"{number(amount, 0 if unit == 'B' or amount >= whole_from else 1)} {unit}"


def operations(flops: float, number: Number = rounded) -> str:
    """3.2 GFLOP, 1.75 TFLOP: floating-point operations, by thousands of thousands.

    Args:
        flops: how many.
        number: writes the figure.
    """
    units = (("EFLOP", 1e18), ("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9), ("MFLOP", 1e6))
    unit, size = next((one for one in units if flops >= one[1]), units[-1])
    amount = flops / size
    return f"{number(amount, 0 if not amount or amount >= 100 else 1 if amount >= 10 else 2)} {unit}"


def electricity(kwh: float, number: Number = rounded) -> str:
    """4.2 Wh, 0.41 kWh.

    Args:
        kwh: kilowatt-hours.
        number: writes the figure.
    """
    amount, unit = (kwh * 1000, "Wh") if kwh < 0.1 else (kwh, "kWh")
    return f"{number(amount, 0 if amount >= 100 else 1 if amount >= 10 else 2)} {unit}"


def counted(count: int, one: str, many: str = "") -> str:
    """1 peer, 2,500 peers."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
