"""A ledger as a volunteer's would be after eleven weeks: evenings and nights, weekends, a week away."""

import math
import random
import time
from pathlib import Path

from core.community.calendar import HOUR, midnight
from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.ledger import Amounts, Yield

DAYS = 79
DIGITS, TEXT = (manifest.load(name).run_id for name in ("digits", "text"))


def write(folder: Path, now: float, gpu: str = "GPU-1") -> None:
    """Fill a new ledger up to `now` (unix time)."""
    chance, moment = random.Random(4), 0.0
    ledger = Ledger(folder, lambda: moment)
    for day in range(DAYS):
        start = midnight(now, day - DAYS + 1)
        away = 28 <= day <= 33 or DAYS - 20 <= day <= DAYS - 18
        for hour in range(24):
            moment = start + hour * HOUR + 1
            if moment > now:
                break
            weekday = time.localtime(moment).tm_wday
            likely = 0.95 if hour < 7 else 0.15 if weekday < 5 and hour < 18 else 0.45
            swing = 0.65 + 0.35 * math.sin(day / 5)
            if away or chance.random() > likely * swing:
                continue
            seconds = HOUR * chance.uniform(0.3, 1.0) * swing
            text = day >= DAYS - 12
            run = TEXT if text else DIGITS
            samples = round(seconds * (1500 if not text else 9000))
            calls = round(samples / 6)
            trained = (0, samples) if text else (samples, 0)
            ledger.add(run, "cpu", Amounts(*trained, calls, calls // 5, 4 * samples, calls // 2, seconds * 0.4))
            ledger.add(run, "cpu", Amounts(kwh=seconds / HOUR * 0.045))
            ledger.add(run, gpu, Amounts(calls=calls // 3, rows=samples, seconds=seconds * 0.6))
            ledger.add(run, gpu, Amounts(kwh=seconds / HOUR * 0.11, kwh_measured=seconds / HOUR * 0.11))
            for kind, share in (("expert", 0.8), ("blob", 0.1), ("dht", 0.04), ("other", 0.06)):
                size = seconds * 40_000 * share
                ledger.add(run, f"network.{kind}", Amounts(bytes_in=round(size), bytes_out=round(size * 0.8)))
            ledger.begin(run)
            if chance.random() < 0.3:
                ledger.yielded(run, Yield(moment, chance.uniform(20, 140), 3.0, 4.0))
            ledger.end(run, "paused" if day in (27, DAYS - 21) else "user")
    ledger.close()
