"""Times as the policy's sentences tell them."""

import time


def clock(moment: float, now: float) -> str:
    """Local time of day of a unix time, with the day if that is 20 hours away or more."""
    local = time.localtime(moment)
    return time.strftime("%H:%M" if abs(moment - now) < 20 * 3600 else "%a %H:%M", local)


def countdown(seconds: float) -> str:
    """2:10, or 1:02:10."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def duration(seconds: float) -> str:
    """40 s, 24 min, 3 h 12 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes))
