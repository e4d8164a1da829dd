"""A ledger after a year of work on several devices."""

from pathlib import Path

from core.community import schema
from core.community.calendar import DAY, HOUR, MINUTE
from core.community.ledger import KEPT

DEVICES = ("cpu", "GPU-0", "GPU-1", "", "network.expert", "network.file", "network.dht", "network.other")
RUNS = ("digits", "text")
DAYS = 366


def write(folder: Path, end: int) -> int:
    """Fill a new ledger with a year up to `end` (unix time), without a pause; the number of its rows of amounts."""
    connection = schema.open_to_write(folder / schema.FILE)
    marks = ", ".join("?" * (4 + len(schema.METRICS)))
    lengths = {MINUTE: KEPT[MINUTE], HOUR: KEPT[HOUR], DAY: DAYS}
    rows = (
        (width, end - end % width - number * width, run, device, *[width] * len(schema.METRICS))
        for width, count in lengths.items()
        for number in range(count)
        for run in RUNS
        for device in DEVICES
    )
    with connection:
        connection.execute("BEGIN")
        connection.executemany(f"INSERT INTO amounts VALUES ({marks})", rows)
    (count,) = connection.execute("SELECT COUNT(*) FROM amounts").fetchone()
    connection.close()
    return int(count)
