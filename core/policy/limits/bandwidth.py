"""Which limits of bandwidth are in force: the user's, or those that hold until the user chooses one."""

from typing import NamedTuple

from core.contracts.line import LimitStatus, Line, LineStatus
from core.contracts.notices import notice
from core.contracts.settings import NO_LIMIT, Settings

PART = 4
"""Of the measured upload a PC whose user has chosen no limit takes so small a part at most."""
UNMEASURED = 125_000.0
"""Bytes a second that it sends before anything is measured: a quarter of a slow line's 4 Mbit/s."""
DOWN = 2.0
"""Lines receive faster than they send: so many times as much may be received."""


class Limits(NamedTuple):
    """Bytes a second up and down; 0: no limit."""

    all: tuple[float, float]
    """To and from all peers together."""
    far: tuple[float, float]
    """Within that, those beyond the local network."""
    told: LineStatus


def limits(settings: Settings, line: Line, last: float) -> Limits:
    """What may be moved.

    Args:
        settings: the user's.
        line: what was measured.
        last: bytes a second each way that are left of the month's traffic; 0: as many as the line takes.
    """
    usual = line.upload_bytes_s / PART if line.upload_bytes_s else UNMEASURED
    measured = notice("line.measured", rate=usual, measured=line.upload_bytes_s)
    why = measured if line.upload_bytes_s else notice("line.unmeasured", rate=usual)
    up = _limit(1000.0 * settings.upload_kb_s, LimitStatus(usual, True, why), last)
    twice = LimitStatus(DOWN * usual, True, notice("line.twice", rate=DOWN * usual))
    down = _limit(1000.0 * settings.download_kb_s, twice, last)
    told = LineStatus(up, down)
    return Limits((_all(up, last), _all(down, last)), (_far(up), _far(down)), told)


def _limit(chosen: float, usual: LimitStatus, last: float) -> LimitStatus:
    if last and last <= (chosen or usual.bytes_s):
        return LimitStatus(last, False, notice("line.quota", rate=last))
    if chosen >= 1000.0 * NO_LIMIT:
        return LimitStatus(0.0, False, notice("line.unlimited"))
    return LimitStatus(chosen, False, notice("line.chosen", rate=chosen)) if chosen else usual


def _all(one: LimitStatus, last: float) -> float:
    return last if one.far else one.bytes_s


def _far(one: LimitStatus) -> float:
    return one.bytes_s if one.far else 0.0
