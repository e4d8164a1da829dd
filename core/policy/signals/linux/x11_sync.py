"""The X server's own alarm for the first input after a pause (SYNC extension), of which python-xlib knows nothing.

It goes by the same idle time as XScreenSaver's, so it knows every input that counts there: keys, buttons, touches, and
a pointer that a program moves.
"""

import struct
from typing import Any

from Xlib.protocol import rq

EXTENSION = "SYNC"
IDLE_TIME = "IDLETIME"
"""The server's counter of milliseconds without input."""
COUNTER = struct.Struct("=IiIH")
"""Of SYSTEMCOUNTER: id, resolution (two words), length of the name that follows, padded to four bytes in all."""
ALL_VALUES = 0x3F
ABSOLUTE = 0
NEGATIVE_TRANSITION = 1
"""Trigger whenever the counter falls to the value, again and again."""
ALARM_NOTIFY = 1


class _Initialize(rq.ReplyRequest):  # type: ignore[misc]
    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(0), rq.RequestLength(), rq.Card8("major"), rq.Card8("minor"), rq.Pad(2)
    )
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Pad(1), rq.Card16("sequence_number"), rq.ReplyLength(), rq.Card8("major"), rq.Pad(23)
    )


class _ListSystemCounters(rq.ReplyRequest):  # type: ignore[misc]
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(1), rq.RequestLength())
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Pad(1), rq.Card16("sequence_number"), rq.ReplyLength(),
        rq.Card32("count"), rq.Pad(20), rq.Binary("counters"),
    )  # fmt: skip


class _CreateAlarm(rq.Request):  # type: ignore[misc]
    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(8), rq.RequestLength(), rq.Card32("alarm"), rq.Card32("mask"),
        rq.Card32("counter"), rq.Card32("value_type"), rq.Int32("value_high"), rq.Card32("value_low"),
        rq.Card32("test"), rq.Int32("delta_high"), rq.Card32("delta_low"), rq.Card32("events"),
    )  # fmt: skip


def ask_for_returns(display: Any, away_ms: int) -> int | None:
    """Have the server send an event at the first input after each pause of `away_ms`.

    Returns:
        The type of that event; None: this server cannot.
    """
    found = display.query_extension(EXTENSION)
    if found is None:
        return None
    common = {"display": display.display, "opcode": found.major_opcode}
    _Initialize(**common, major=3, minor=0)
    counter = _counters(_ListSystemCounters(**common)).get(IDLE_TIME)
    if counter is None:
        return None
    _CreateAlarm(
        **common, alarm=display.display.allocate_resource_id(), mask=ALL_VALUES, counter=counter, value_type=ABSOLUTE,
        value_high=0, value_low=away_ms, test=NEGATIVE_TRANSITION, delta_high=0, delta_low=0, events=1,
    )  # fmt: skip
    display.sync()
    return int(found.first_event) + ALARM_NOTIFY


def _counters(reply: Any) -> dict[str, int]:
    data, at, found = bytes(reply.counters), 0, {}
    for _ in range(reply.count):
        counter, _, _, length = COUNTER.unpack_from(data, at)
        start = at + COUNTER.size
        found[data[start : start + length].decode("latin-1")] = counter
        at = (start + length + 3) // 4 * 4
    return found
