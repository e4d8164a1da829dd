"""A year of history in the ledger: how long each question takes, and each write."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.community.calendar import DAY
from core.community.ledger import Ledger
from core.community.reading import Reader
from core.community.schema import FILE
from core.contracts.ledger import Amounts, SeriesParams
from tests import a_year
from tests.bench.machine import spread

TIMES, QUICK_TIMES = 50, 10
LIMIT_MS = 50.0


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` asks less often."""
    now = time.time()
    year = now - 365 * DAY
    questions: dict[str, Callable[[Reader], object]] = {
        "totals": lambda reader: reader.totals(now),
        "year_by_day": lambda reader: reader.series(SeriesParams("samples", year, now, "day")),
        "year_by_day_and_device": lambda reader: reader.series(SeriesParams("kwh", year, now, "day", "device")),
        "month_by_hour": lambda reader: reader.series(SeriesParams("calls", now - 30 * DAY, now, "hour")),
        "day_by_minute": lambda reader: reader.series(SeriesParams("rows", now - DAY, now, "minute")),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = a_year.write(folder, int(now))
        began = time.perf_counter()
        ledger = Ledger(folder)
        opened = 1000 * (time.perf_counter() - began)
        assert ledger._connection is not None
        times: dict[str, list[float]] = {question: [] for question in (*questions, "write")}
        for _ in range(QUICK_TIMES if quick else TIMES):
            for question, ask in questions.items():
                began = time.perf_counter()
                ask(Reader(ledger._connection, {}))
                times[question].append(1000 * (time.perf_counter() - began))
            for device in a_year.DEVICES:
                ledger.add("digits", device, Amounts(samples=1))
            began = time.perf_counter()
            ledger._write()
            times["write"].append(1000 * (time.perf_counter() - began))
        ledger.close()
        size = (folder / FILE).stat().st_size
    answers = {question: spread(found) for question, found in times.items()}
    return {
        "rows": rows,
        "file_mb": round(size / 2**20, 1),
        "open_ms": round(opened, 1),
        "ms": answers,
        "under_50_ms": max(answers[question]["p95"] for question in questions) < LIMIT_MS,
    }
