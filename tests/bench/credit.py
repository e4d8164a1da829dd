"""Credit: what a board verifies in a second, what a pair of peers spends on it in a minute, and what cheaters gain."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from core.community import signing
from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.community.rules import records_of
from core.contracts.credit import FORWARD, Bundle, Entry, Sheet, SignedBundle, week_of
from core.identity import Identity
from tests.cheaters import CHEATS, RUN, TODAY, outcome

HOSTS, TRAINERS, QUICK_HOSTS = 100, 50, 20
EXCHANGES, QUICK_EXCHANGES = 2000, 300
NEEDED = 10_000
"""Records a second."""


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` verifies and signs less."""
    hosts = QUICK_HOSTS if quick else HOSTS
    full, young = _verified(hosts, 7), _verified(hosts, 1)
    return {
        "verified_a_second": {"records_of_a_whole_week": full, "records_of_a_monday": young},
        "over_10000_records": full["records"] >= NEEDED,
        "a_pair_and_minute": _exchange(QUICK_EXCHANGES if quick else EXCHANGES),
        "cheaters": {name: outcome(cheat)._asdict() for name, cheat in CHEATS.items()},
    }


def _verified(hosts: int, days: int) -> dict[str, float]:
    """By one core: bundles of fifty trainers each, whose sheets hold so many days."""
    bundles, records = _bundles(hosts, days), 0
    began = time.process_time()
    for one in bundles:
        records += len(records_of(signing.opened(one)))
    took = time.process_time() - began
    return {"records": round(records / took), "sheets": round(hosts * TRAINERS / took), "verified": records}


def _bundles(hosts: int, days: int) -> list[SignedBundle]:
    trainers = [Identity.generate() for _ in range(TRAINERS)]
    work = tuple(10**6 + day if day < days else 0 for day in range(7))
    found = []
    for _ in range(hosts):
        host, entries = Identity.generate(), []
        for trainer in trainers:
            sheet = Sheet(RUN.run_id, trainer.peer, host.peer, week_of(TODAY), work, work)
            entries.append(Entry(trainer.peer, work, work, signing.sign(trainer, sheet).signature))
        bundle = Bundle(RUN.run_id, host.peer, week_of(TODAY), "", "", tuple(entries), ())
        found.append(signing.sign_bundle(host, bundle, False, None))
    return found


def _exchange(times: int) -> dict[str, float]:
    """A trainer that signs for one host once a minute, and what comes between: two reports of compute a second."""
    with tempfile.TemporaryDirectory() as name:
        sides = {}
        for side in ("trainer", "host"):
            folder = Path(name) / side
            folder.mkdir()
            sides[side] = CreditBook(Ledger(folder), Identity.generate())
        trainer, host = sides["trainer"], sides["host"]
        spent = {"counting_trainer_ms": 0.0, "counting_host_ms": 0.0, "trainer_ms": 0.0, "host_ms": 0.0}
        sent = received = 0

        def timed(what: str, work: Callable[[], Any]) -> Any:
            began = time.process_time()
            answer = work()
            spent[what] += 1000 * (time.process_time() - began)
            return answer

        def count() -> None:
            for _ in range(120):
                trainer.add(RUN.run_id, "got", host.me, 1000 * FORWARD, 900)

        def count_served() -> None:
            for _ in range(120):
                host.add(RUN.run_id, "gave", trainer.me, 1000 * FORWARD)

        for _ in range(times):
            timed("counting_trainer_ms", count)
            timed("counting_host_ms", count_served)
            [(_, offered)] = timed("trainer_ms", partial(trainer.owed, RUN.run_id))
            answer = timed("host_ms", partial(host.offered, RUN.run_id, trainer.me, offered))
            timed("trainer_ms", partial(trainer.answered, offered, answer))
            sent += len(msgspec.msgpack.encode(offered))
            received += len(msgspec.msgpack.encode(answer))
        for book in sides.values():
            book._ledger.close()
    return {
        **{what: round(ms / times, 3) for what, ms in spent.items()},
        "bytes_to_host": round(sent / times),
        "bytes_to_trainer": round(received / times),
    }
