"""Telemetry under load: thousands of simulated volunteers at a real Mosquitto, and what the board beside it takes.

The volunteers are real connections with real signatures, in this process; the backbone peer with its board, and
Mosquitto, are the shipped programs.
"""

import asyncio
import contextlib
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiomqtt
import msgspec
import psutil

from core.community import payloads, signing
from core.community.rules import rules_of
from core.contracts import manifest as manifests
from core.contracts.credit import TOTALS_FILE, Bundle, Entry, Sheet, SignedTotals, day_of, days_of, week_of
from core.contracts.manifest import Manifest
from core.contracts.telemetry import (
    CREDIT,
    CREDIT_S,
    PRESENCE,
    PROGRESS,
    PROGRESS_S,
    Presence,
    Progress,
    login,
    topic_in,
)
from core.identity import Identity, peer_text
from core.store.data_folder import data_folder
from tests.mqtt import password_line
from tests.store_servers import free_port
from tests.workers import PATIENCE_S, ROOT, wait_until

VOLUNTEERS, QUICK_VOLUNTEERS = 2000, 200
SECONDS, QUICK_SECONDS = 420.0, 60.0
"""Under load, after all have connected: each volunteer shows its credit twice at least in the former."""
TRAINERS, HELPED = 200, 10
"""Of the run, and of these those that each volunteer computed for."""
CONNECTS = 100
"""At once."""
MOST_CORES, MOST_MB = 1.0, 300


class Load(NamedTuple):
    """What was sent."""

    connected_s: float
    progress: int
    credit: int
    dropped: int
    """Connections that were lost meanwhile."""


class Volunteer:
    """One simulated peer."""

    def __init__(self, run: Manifest, broker: str, trainers: list[Identity], chance: random.Random) -> None:
        self.identity = Identity.generate()
        self._run, self._broker = run.run_id, broker
        self._trainers = chance.sample(trainers, HELPED)
        self._chance = chance
        self.work = 0
        """That each of the trainers has signed for, today."""
        self.password = self.identity.sign(login(broker)).hex()
        self.progress = self.credit = self.dropped = 0

    def bundle(self) -> tuple[str, bytes]:
        """What it shows now: more than before."""
        self.work += self._chance.randrange(1, 10**6)
        today = day_of(time.time())
        week = week_of(today)
        work = tuple(self.work if day == today else 0 for day in days_of(week))
        entries = []
        for trainer in self._trainers:
            sheet = Sheet(self._run, trainer.peer, self.identity.peer, week, work, work)
            entries.append(Entry(trainer.peer, work, work, signing.sign(trainer, sheet).signature))
        shown = Bundle(self._run, self.identity.peer, week, "a volunteer", "", tuple(entries), ())
        signed = signing.sign_bundle(self.identity, shown, False, None)
        return self._topic(CREDIT[week % len(CREDIT)]), payloads.encode(signed)

    def _topic(self, leaf: str) -> str:
        return topic_in(self._run, peer_text(self.identity.peer), leaf)

    async def take_part(
        self, room: asyncio.Semaphore, began: asyncio.Event, end: asyncio.Event, rates: tuple[float, float]
    ) -> None:
        """Connect, and tell at the normal rate until the end."""
        host, _, port = self._broker.removeprefix("mqtt://").rpartition(":")
        me, now = self.identity, time.time()
        client = aiomqtt.Client(
            host, int(port), username=peer_text(me.peer), password=self.password, keepalive=20, timeout=60.0,
            protocol=aiomqtt.ProtocolVersion.V311, will=aiomqtt.Will(self._topic(PRESENCE), b"gone", 1, retain=True),
        )  # fmt: skip
        async with contextlib.AsyncExitStack() as stack:
            async with room:
                await stack.enter_async_context(client)
            there = payloads.sealed(me, Presence(self._run, me.peer, now, True, "a volunteer"))
            await client.publish(self._topic(PRESENCE), there, qos=1, retain=True)
            began.set()
            every = {self._tell_progress: rates[0], self._tell_credit: rates[1]}
            try:
                await asyncio.gather(*(self._repeat(client, what, rest, end) for what, rest in every.items()))
            except aiomqtt.MqttError:
                self.dropped += 1

    async def _repeat(self, client: aiomqtt.Client, what: Any, rest: float, end: asyncio.Event) -> None:
        wait = self._chance.uniform(0.0, rest)
        while not end.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await end.wait()
                    break
            wait = rest
            await what(client)

    async def _tell_progress(self, client: aiomqtt.Client) -> None:
        self.progress += 1
        told = Progress(self._run, self.identity.peer, time.time(), self.progress * 1000, 16.0, 4, 2.5)
        await client.publish(self._topic(PROGRESS), payloads.sealed(self.identity, told), qos=1, retain=True)

    async def _tell_credit(self, client: aiomqtt.Client) -> None:
        topic, payload = self.bundle()
        await client.publish(topic, payload, qos=1, retain=True)
        self.credit += 1


def measure(quick: bool) -> dict[str, Any]:
    """Run the benchmark; `quick` has fewer volunteers, for a shorter time, that show their credit more often."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with tempfile.TemporaryDirectory() as folder:
            return asyncio.run(_measured(Path(folder), quick))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _measured(folder: Path, quick: bool) -> dict[str, Any]:
    count, seconds = (QUICK_VOLUNTEERS, QUICK_SECONDS) if quick else (VOLUNTEERS, SECONDS)
    rates = (PROGRESS_S, QUICK_SECONDS / 3 if quick else CREDIT_S)
    port, broker = free_port(), f"mqtt://127.0.0.1:{free_port()}"
    key = peer_text(Identity.load_or_create(data_folder(folder / "backbone")).peer)
    run = msgspec.structs.replace(manifests.load("digits"), bootstrap=(f"{key}@127.0.0.1:{port}",), brokers=(broker,))
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    trainers, chance = [Identity.generate() for _ in range(TRAINERS)], random.Random(1)
    volunteers = [Volunteer(run, broker, trainers, chance) for _ in range(count)]
    known = [password_line(one.identity.peer, one.password) for one in volunteers]
    (folder / "backbone" / "mosquitto").mkdir()
    (folder / "backbone" / "mosquitto" / "passwords").write_text("".join(known))
    with _backbone(folder, port, broker) as process:
        load, used = await _under_load(process, volunteers, seconds, rates)
        totals = await asyncio.to_thread(_whole, folder, run, volunteers)
    return {
        "volunteers": count,
        "seconds": seconds,
        "sent": load._asdict(),
        **used,
        **totals,
        "under_one_core": used["board"]["cores"] < MOST_CORES,
        "under_300_mb": used["board"]["mb"] < MOST_MB,
    }


@contextlib.contextmanager
def _backbone(folder: Path, port: int, broker: str) -> Iterator[psutil.Process]:
    listen = broker.removeprefix("mqtt://")
    command = [sys.executable, "-m", "core", "backbone", "--data-dir", str(folder / "backbone"), "--run"]
    command += [str(folder / "run.json"), "--listen", f"127.0.0.1:{port}", "--broker", broker, "--mosquitto"]
    command += ["--broker-listen", listen, "--board", str(folder / "board")]
    null = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, stdin=null, stdout=null, stderr=null) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


async def _under_load(
    process: psutil.Process, volunteers: list[Volunteer], seconds: float, rates: tuple[float, float]
) -> tuple[Load, dict[str, Any]]:
    mosquitto = await asyncio.to_thread(wait_until, lambda: _serving(process), "Mosquitto")
    room, end = asyncio.Semaphore(CONNECTS), asyncio.Event()
    started, events = time.monotonic(), [asyncio.Event() for _ in volunteers]
    tasks = [
        asyncio.create_task(one.take_part(room, event, end, rates))
        for one, event in zip(volunteers, events, strict=True)
    ]
    for event in events:
        async with asyncio.timeout(PATIENCE_S):
            await event.wait()
    connected = time.monotonic() - started
    print(f"{len(volunteers)} connected after {connected:.1f} s", file=sys.stderr)
    before, most = [_cpu(one) for one in (process, mosquitto)], [0.0, 0.0]
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(1.0)
        most = [max(mb, one.memory_info().rss / 2**20) for mb, one in zip(most, (process, mosquitto), strict=True)]
    took = time.monotonic() - began
    cores = [(_cpu(one) - was) / took for one, was in zip((process, mosquitto), before, strict=True)]
    end.set()
    await asyncio.gather(*tasks)
    load = Load(round(connected, 1), *(sum(getattr(one, what) for one in volunteers) for what in Load._fields[1:]))
    names = "board", "mosquitto"
    return load, {
        name: {"cores": round(share, 3), "mb": round(mb)} for name, share, mb in zip(names, cores, most, strict=True)
    }


def _serving(process: psutil.Process) -> psutil.Process | None:
    """Mosquitto, once it listens."""
    with contextlib.suppress(psutil.Error):
        for one in process.children():
            if one.name() == "mosquitto" and one.net_connections("tcp"):
                return one
    return None


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _whole(folder: Path, run: Manifest, volunteers: list[Volunteer]) -> dict[str, Any]:
    """Whether the board has all that was shown last, to the unit of work."""
    shown = [one for one in volunteers if one.credit]
    wanted, flops = sum(HELPED * one.work for one in shown), rules_of(run).flops
    found = 0

    def is_there() -> bool:
        nonlocal found
        with contextlib.suppress(OSError):
            totals = msgspec.json.decode((folder / "board" / TOTALS_FILE).read_bytes(), type=SignedTotals).totals
            found = round(sum(line.verified + sum(line.pending.values()) for line in totals.lines) / flops)
        return found >= wanted

    with contextlib.suppress(AssertionError):
        wait_until(is_there, "all records", PATIENCE_S)
    return {"records": HELPED * len(shown), "work_shown": wanted, "work_at_the_board": found, "lost": wanted - found}
