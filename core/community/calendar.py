"""Stretches of local time, as people read a history: days begin at their midnight, also where one has 23 hours."""

import itertools
import math
import time
from datetime import datetime, timedelta

from core.contracts.errors import ProtocolError
from core.contracts.ledger import POINTS, Resolution
from core.contracts.notices import notice

MINUTE, HOUR, DAY = 60, 3600, 86_400
SECONDS: dict[Resolution, int] = {"minute": MINUTE, "hour": HOUR, "day": DAY}


def midnight(moment: float, days: int = 0) -> int:
    """Unix time at which the local day of `moment` begins, or the one so many days later.

    Where clocks are set at midnight, that is the first of two midnights, or the first moment after the missing one.
    """
    day = datetime.fromtimestamp(moment).replace(hour=0, minute=0, second=0, microsecond=0)
    return int((day + timedelta(days)).replace(fold=0).timestamp())


def borders(start: float, end: float, resolution: Resolution) -> list[int]:
    """The begins of all stretches that touch [start, end), and the end of the last of them; unix times.

    Raises:
        ProtocolError: there is nothing between the two, or more than is answered at once.
    """
    step = SECONDS[resolution]
    if end <= start:
        raise ProtocolError(notice("history.end_before_start"))
    if (end - start) / step > POINTS - 2:
        raise ProtocolError(notice("history.too_many", most=POINTS))
    if resolution != "day":
        offset = time.localtime(start).tm_gmtoff
        first = int((start + offset) // step * step - offset)
        return [first + step * number for number in range(math.ceil((end - first) / step) + 1)]
    found = [midnight(start)]
    for number in itertools.count(1):
        if found[-1] >= end:
            break
        if (border := midnight(start, number)) > found[-1]:  # Samoa had no 30 December 2011
            found.append(border)
    return found
