"""Holds a temperature or a power by the share of the time that is computed: a controller without a clock of its own.

A proportional-integral controller in velocity form (Astrom and Hagglund, "Advanced PID Control", 2006): the share is
all that it remembers, so nothing winds up while it is at an end of its range, or while something else holds it lower.
Gains are for what PCs are like: some 15 to 70 degrees between rest and full load, time constants of seconds (a laptop's
chip) to minutes (a large cooler), sensors that are seconds late and tell whole degrees.
"""

import dataclasses
import math

GAIN = 0.025
"""Share for each degree that the temperature changes."""
PER_S = 0.0003
"""Share a second for each degree between temperature and target."""
DEAD_BAND = 0.6
"""Degrees: a sensor that tells whole ones flickers by as much."""
SMOOTH_S = 6.0
"""Over which readings are averaged, as they come in steps."""
RISE_PER_S = 0.01
"""A share grows no faster: a cooler that follows slowly is not surprised, nor is its fan."""
LEAST = 0.05
"""Resting more than this is standing still."""
TOO_HOT = 8.0
"""Degrees over the target at which, even at the least share, it has to stop; also `STUCK_S` at the least share."""
STUCK_S = 30.0
WORST = 15.0
"""Degrees over the target at which it stops at once, at any share."""
COOL = 6.0
"""Degrees under the target at which it may go on after a stop."""
LONGEST_S = 10.0
"""Between two readings, as far as the controller believes: the PC may have slept."""
WATTS_AS_DEGREES = 40.0
"""A limit of power is treated like a target so many degrees above rest."""


@dataclasses.dataclass(frozen=True)
class Heat:
    """What the controller remembers of one sensor."""

    share: float = 1.0
    """The most that may be computed, of the time."""
    smooth: float = math.nan
    """The reading, averaged; NaN: there was none."""
    at: float = 0.0
    """When, by the clock of the readings."""
    stop: bool = False
    """Resting does not suffice."""
    stuck_since: float = math.inf


FREE = Heat()


def follow(heat: Heat, reading: float | None, target: float, used: float, now: float) -> Heat:
    """What to remember after one more reading; `Heat.share` is the answer.

    Args:
        reading: degrees, or None while it is not known: there is no control then.
        target: degrees; 0: none is wanted.
        used: the share that was really allowed meanwhile, as something else may hold it lower.
        now: seconds, of any clock that only grows.
    """
    if reading is None or target <= 0 or not math.isfinite(reading):
        return FREE
    if math.isnan(heat.smooth):
        return Heat(share=max(LEAST, used), smooth=reading, at=now, stop=reading > target + WORST)
    seconds = min(max(0.0, now - heat.at), LONGEST_S)
    smooth = heat.smooth + (reading - heat.smooth) * -math.expm1(-seconds / SMOOTH_S)
    error = target - smooth
    if abs(error) < DEAD_BAND:
        error = 0.0
    change = PER_S * error * seconds - GAIN * (smooth - heat.smooth)
    share = min(heat.share, max(LEAST, used) + RISE_PER_S * LONGEST_S)  # what was not used shows nothing of its heat
    share = min(1.0, max(LEAST, share + min(change, RISE_PER_S * seconds)))
    return _judge(Heat(share, smooth, now, heat.stop, heat.stuck_since), reading - target)


def _judge(heat: Heat, over: float) -> Heat:
    """Whether it has to stop, or may go on again."""
    if heat.stop:
        return heat if over > -COOL else dataclasses.replace(heat, stop=False, stuck_since=math.inf)
    since = math.inf if heat.share > LEAST or over < TOO_HOT else min(heat.stuck_since, heat.at)
    return dataclasses.replace(heat, stuck_since=since, stop=over > WORST or heat.at - since > STUCK_S)


def follow_power(heat: Heat, watts: float | None, limit: float, used: float, now: float) -> Heat:
    """The same for a limit of power, whose answer to the share has no inertia worth mentioning."""
    if watts is None or limit <= 0:
        return FREE
    return follow(heat, WATTS_AS_DEGREES * watts / limit, WATTS_AS_DEGREES, used, now)
