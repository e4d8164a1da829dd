"""Two hundred kills at random moments: three workers of a network, of which each process is killed again and again.

After each kill every file is what it should be, at most half a minute of work is lost, and in the end all three train.
"""

import os
import socket
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.long.hostile.kills import Kill, Victim
from tests.workers import answers, hearth, wait_until

KILLS = int(os.environ.get("HEARTH_KILLS", "200"))
SEED = 20
LOST_S = 30.0
LEARNT = 0.9
NAMES = "first", "second", "third"


def free_port() -> int:
    """A port that a worker can have again and again; another program could take it meanwhile."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _kill(victim: Victim, times: int) -> list[Kill]:
    for _ in range(times):
        victim.kill_once()
        print(victim.folder.name, victim.kills[-1])
    return victim.kills


@pytest.mark.timeout(2 * 3600)
def test_no_file_is_spoilt_and_half_a_minute_lost_at_most(tmp_path: Path) -> None:
    with ExitStack() as stack:
        victims: list[Victim] = []
        for number, name in enumerate(NAMES):
            known = [
                part for victim in victims for part in ("--bootstrap", hearth(victim.folder, "address").stdout.strip())
            ]
            roles = "host,train,backbone" if not number else "host,train"
            listen = ("--listen", f"127.0.0.1:{free_port()}", "--role", roles, *known)
            victims.append(Victim(tmp_path / name, listen, SEED + number))
            stack.callback(victims[-1].close)
        began = time.monotonic()
        with ThreadPoolExecutor(len(victims)) as threads:
            share = [KILLS // len(victims) + (number < KILLS % len(victims)) for number in range(len(victims))]
            kills = [kill for done in threads.map(_kill, victims, share) for kill in done]
        _tell(kills, time.monotonic() - began)
        print("told to need attention:", sorted(set().union(*(victim.attention for victim in victims))))
        for victim in victims:
            worst = max(victim.kills, key=lambda kill: max(kill.lost_s.values()))
            assert max(worst.lost_s.values()) < LOST_S, worst
            wait_until(lambda folder=victim.folder: answers(folder), "an answer")  # type: ignore[misc]
            step = victim.running.until(lambda status: status.step > 0, "the step").step
            victim.running.until(
                lambda status: status.step > step and (status.accuracy or 0) > LEARNT,  # noqa: B023
                "reading",
            )


def _tell(kills: list[Kill], seconds: float) -> None:
    print(f"{len(kills)} kills in {seconds:.0f} s: {dict(Counter(kill.killed for kill in kills))}")
    ages = sorted(kill.age_s for kill in kills)
    print(f"age at the kill: {ages[0]:.1f} to {ages[-1]:.1f} s, median {statistics.median(ages):.1f}")
    for what in kills[0].lost_s:
        lost = sorted(kill.lost_s[what] for kill in kills)
        usual, most = statistics.median(lost), lost[len(lost) * 95 // 100]
        print(f"lost of {what}: median {usual:.1f} s, 95% {most:.1f}, at most {lost[-1]:.1f}")
    print("worst:", *sorted(kills, key=lambda kill: max(kill.lost_s.values()))[-3:], sep="\n  ")
    answered = [kill.answered_s for kill in kills if kill.answered_s]
    print(f"first answer after {statistics.median(answered):.1f} s, at most {max(answered):.1f}")
