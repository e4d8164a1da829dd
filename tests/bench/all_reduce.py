"""Rounds of the all-reduce among real processes, beside hivemind's averager: even links, and one slow peer.

Every round is checked: the result has the same hash on every peer, and is the true mean as far as the codec rounds. The
slow peer has a tenth of the others' bandwidth, by HTB on the loopback of a private network namespace, in the very way
in which hivemind's driver has it.
"""

import ctypes
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from core.averaging.plan import Member, plan
from core.contracts.expert_calls import Codec
from core.contracts.net import PeerAddress
from core.contracts.trunk_rounds import Group
from tests.bench import anchor
from tests.bench.machine import progress
from tests.bench.network import Process
from tests.workers import ROOT

GRACE_S = 120.0
NAMESPACE = 0x40000000
"""CLONE_NEWNET."""
NEAR = {"fp32": 1e-5, "fp16": 1e-2, "int8": 0.2}
"""What a codec may deviate: the numbers are normally distributed."""


def measure(quick: bool, against: Path | None, anchors: Path | None) -> dict[str, Any]:
    """All figures; with `against`, the Python of hivemind's environment, also its figures and the ratios.

    Args:
        quick: smaller vectors, fewer rounds.
        against: as above.
        anchors: folder of hivemind's drivers; None: the usual one.
    """
    sizes, megabytes, rounds = ([4], 25.0, 2) if quick else ([4, 8], 100.0, 3)
    codecs: list[Codec] = ["fp32", "fp16", "int8"]
    even = [group_of(peers, megabytes, codec, rounds) for peers in sizes for codec in codecs]
    slow_codecs = codecs[:2] if quick else codecs
    slow = [
        json.loads(_apart(peers, shares, codec, rounds))
        for peers in sizes
        for shares in ("equal", "planned")
        for codec in slow_codecs
    ]
    figures: dict[str, Any] = {"even": even, "one_slow": slow}
    if against is not None:
        theirs = anchor.figures(against, anchors, "averaging", quick)
        figures |= {"hivemind": theirs, "times_faster": _ratios(figures, theirs)}
    return figures


def _ratios(ours: dict[str, Any], theirs: Any) -> dict[str, float]:
    """Like with like: their "none" is fp32; with a slow peer theirs is always that."""
    names = {"none": "fp32", "float16": "fp16"}
    found = {}
    for other in theirs["even"]:
        for mine in ours["even"]:
            if (mine["peers"], mine["codec"]) == (other["peers"], names[other["compression"]]):
                label = f"{mine['peers']} peers, {mine['codec']}"
                found[label] = other["allreduce_s"]["median"] / mine["round_s"]
    for other in theirs["one_slow"]:
        for mine in (each for each in ours["one_slow"] if each["peers"] == other["peers"]):
            label = f"one slow, {mine['shares']} shares, {mine['codec']}, declared there {other['declared']}"
            found[label] = other["allreduce_s"]["median"] / mine["round_s"]
    return {label: round(ratio, 2) for label, ratio in found.items()}


def group_of(
    peers: int, megabytes: float, codec: Codec, rounds: int, shares: Sequence[float] = (), names: Sequence[str] = ()
) -> dict[str, Any]:
    """Rounds of one group of processes.

    Args:
        peers: how many.
        megabytes: of each one's vector, in fp32.
        codec: on the wire.
        rounds: measured, after one that warms up.
        shares: of each peer, in any unit; empty: equal.
        names: hosts to listen on; empty: all on one.
    """
    numbers = int(megabytes * 1e6 / 4)
    parts = list(shares) or [1.0] * peers
    bounds = [round(numbers * sum(parts[:place]) / sum(parts)) for place in range(peers + 1)]
    hosts = list(names) or ["127.0.0.1"] * peers
    processes = [PeerProcess(place, numbers, f"{hosts[place]}:0") for place in range(peers)]
    try:
        members = acquainted(processes)
        seconds, sent, cpu, wrong = [], [], [], 0
        for turn in range(1 + rounds):
            widths = tuple(stop - start for start, stop in itertools.pairwise(bounds))
            group = Group(turn.to_bytes(32), members, (True,) * peers, widths, codec, GRACE_S)
            all_of(processes, "fill", turn)
            all_of(processes, "begin", msgspec.msgpack.encode(group).hex())
            answers = all_of(processes, "end")
            deviations = all_of(processes, "check", turn, peers)
            good = len({answer.get("digest") for answer in answers}) == 1 and max(deviations) < NEAR[codec]
            wrong += not (good and all(answer.get("peers") == peers for answer in answers))
            if turn and all("seconds" in answer for answer in answers):
                seconds.append(max(answer["seconds"] for answer in answers))
                sent.append(statistics.fmean(answer["sent_mb"] for answer in answers))
                cpu.append(sum(answer["cpu"] for answer in answers))
    finally:
        for process in processes:
            process.end()
    figures = {
        "peers": peers,
        "megabytes": megabytes,
        "codec": codec,
        "round_s": round(statistics.median(seconds), 3) if seconds else None,
        "slowest_s": round(max(seconds), 3) if seconds else None,
        "cpu_s_of_all": round(statistics.median(cpu), 2) if cpu else None,
        "sent_mb_per_peer": round(statistics.fmean(sent), 1) if sent else None,
        "rounds": 1 + rounds,
        "wrong_rounds": wrong,
    }
    progress(f"all_reduce: {figures}")
    return figures


def acquainted(processes: "Sequence[PeerProcess]") -> tuple[PeerAddress, ...]:
    """Connect all with all; where each is."""
    addresses = all_of(processes, "address")
    for process in processes:
        process.ask("meet", addresses)
    return tuple(msgspec.msgpack.decode(bytes.fromhex(text), type=PeerAddress) for text in addresses)


class PeerProcess(Process):
    """A peer that takes part in rounds."""

    def __init__(self, place: int, numbers: int, listen: str) -> None:
        super().__init__("all_reduce_peer", str(place), str(numbers), listen)

    def end(self) -> None:
        self.popen.kill()
        self.popen.communicate()


def all_of(processes: Sequence[PeerProcess], *words: Any) -> list[Any]:
    for process in processes:
        process.send(*words)
    return [process.answer() for process in processes]


# one slow peer


FAST_MBIT, SLOW_MBIT, MEGABYTES = 100, 10, 6.25


def _apart(peers: int, shares: str, codec: Codec, rounds: int) -> bytes:
    """In a process of its own, which leaves this machine's network for one of its own."""
    command = [sys.executable, "-m", "tests.bench.all_reduce", str(peers), shares, codec, str(rounds)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def shape(peers: int) -> bool:
    """Move this process to a private network: every peer's uploads are limited, the last one's downloads as well."""
    slow = f"127.0.0.{peers}"
    lines = ["qdisc add dev lo root handle 1: htb"]
    links = [(f"127.0.0.{place}", "src", FAST_MBIT) for place in range(1, peers)]
    for number, (address, side, mbit) in enumerate([(slow, "dst", SLOW_MBIT), (slow, "src", SLOW_MBIT), *links], 1):
        lines.append(f"class add dev lo parent 1: classid 1:{number} htb rate {mbit}mbit burst 128k")
        lines.append(f"qdisc add dev lo parent 1:{number} bfifo limit 512kb")
        match = f"u32 match ip {side} {address}"
        lines.append(f"filter add dev lo parent 1: protocol ip prio {number} {match} flowid 1:{number}")
    try:
        if ctypes.CDLL(None).unshare(NAMESPACE) != 0:
            return False
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")  # another way to the same peers, not shaped
        subprocess.run(["ip", "link", "set", "lo", "mtu", "1500", "up"], check=True, capture_output=True)
        subprocess.run(["tc", "-batch", "-"], input="\n".join(lines), text=True, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _one_slow(peers: int, shares: str, codec: Codec, rounds: int) -> dict[str, Any]:
    """By equal shares the slow line of one of four carries 1.5 times what it must; of one of eight, 1.75 times."""
    shaped = shape(peers)
    parts = [1] * peers if shares == "equal" else _planned(peers)
    names = [f"127.0.0.{place}" for place in range(1, peers + 1)]
    figures = group_of(peers, MEGABYTES, codec, rounds, parts, names)
    return {"shaped": shaped, "fast_mbit": FAST_MBIT, "slow_mbit": SLOW_MBIT, "shares": shares, **figures}


def _planned(peers: int) -> tuple[int, ...]:
    """The shares by plan, for the bandwidths to which the peers are shaped."""
    speeds = [125_000 * mbit for mbit in [FAST_MBIT] * (peers - 1) + [SLOW_MBIT]]
    members = [Member(place.to_bytes(32), 1.0, speed, speed) for place, speed in enumerate(speeds)]
    found = plan(members, {}, int(MEGABYTES * 1e6), batch=10**9)  # a batch that takes longer than a round: all send
    assert found is not None
    return found.shares


if __name__ == "__main__":
    print(json.dumps(_one_slow(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))))  # type: ignore[arg-type]
