"""Telemetry: a peer's connections to the brokers of its runs.

They live in a thread with a loop of its own, as the library wants to be told when sockets are ready, which Windows'
usual loop cannot. What is told is kept by topic, the newest of each: that is all that a connection has to tell when it
is made anew, so there is no other buffer.
"""

import asyncio
import contextlib
import hashlib
import logging
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiomqtt

from core.community import payloads
from core.contracts.credit import Bundle, SignedBundle
from core.contracts.errors import CreditError
from core.contracts.telemetry import (
    MOST_A_MINUTE,
    PRESENCE,
    TOP,
    Body,
    BrokerStatus,
    Presence,
    Rights,
    login,
    topic_in,
)
from core.identity import Identity

log = logging.getLogger(__name__)

AGAIN_S = 1.0, 4.0
"""Until a connection is tried again, at first and at most. Up to half of it is left out by chance, so that not all who
lost a broker come back at once."""
CONNECT_S = 5.0
ACKNOWLEDGE_S = 10.0
KEEP_ALIVE_S = 20
NOT_KNOWN = (134, 135)
"""Answers of a broker that does not take this peer: a wrong password, and no right."""
NOT_GIVEN = 128
"""Its answer to a subscription that it does not take."""
CANCEL_S = 0.2
END_S = 5.0
"""For a connection to end, which may be just being made."""
LEAVE_S = 2.0
"""For saying that this peer is gone."""
QUEUED = 20_000
"""Messages that were received and not read yet; further ones are dropped."""

HEADERS = 48
"""Bytes of a packet, or its acknowledgement, beside topic and payload: of TCP, IP and MQTT."""

Heard = Body | tuple[Bundle, SignedBundle]
Hear = Callable[[Heard, bytes], object]
Refused = Callable[[str, str], object]


class Moved(NamedTuple):
    """Bytes."""

    received: int
    sent: int


class Joined(NamedTuple):
    """A run, as telemetry knows it."""

    id: str
    rights: Rights
    brokers: Sequence[str]
    reads: bool
    """Whether this peer reads what others tell: it is a board."""
    hear: Hear
    """Called in the worker's loop with what somebody told and signed, and with the payload."""
    refused: Refused
    """Likewise, with a broker that does not know this peer, and the password for it."""


class Telemetry:
    """That of one PC. To be used by the worker's loop; the thread begins with the first run that names a broker."""

    def __init__(self, identity: Identity, named: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        """
        Args:
            identity: this PC's key.
            named: the name and the team that the user wishes to be shown.
        """
        self._identity, self._named = identity, named
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._runs: dict[str, list[_Connection]] = {}
        self._left: dict[str, Moved] = {}
        """Bytes of connections that have ended, by run."""

    def follow(self, run: Joined) -> None:
        """Connect to a run's brokers, and stay connected."""
        if not run.brokers:
            return
        if self._thread is None:
            self._loop = asyncio.SelectorEventLoop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="telemetry", daemon=True)
            self._thread.start()
        hear = _in_loop(asyncio.get_running_loop())
        made = [_Connection(self._identity, self._named, run, broker, hear) for broker in run.brokers]
        self._runs[run.id] = made
        for one in made:
            self._loop.call_soon_threadsafe(one.start)

    def tell(self, run: str, topic: str, payload: bytes) -> None:
        """Tell something now, and again to whoever is connected to later; it takes the place of what was told there.

        Args:
            run: the run's id; nothing happens if it names no broker.
            topic: one of the run's.
            payload: signed.
        """
        for one in self._runs.get(run, ()):
            self._loop.call_soon_threadsafe(one.tell, topic, payload)

    def status(self) -> list[BrokerStatus]:
        """All connections."""
        return [BrokerStatus(one.run.id, one.broker, one.connected, one.trouble) for one in self._all()]

    def leave(self, run: str) -> Coroutine[Any, Any, None]:
        """Tell a run's boards that this peer is gone, and let its brokers go; it can be followed anew at once."""
        connections = self._runs.pop(run, [])
        self._left[run] = _sum([self._left.get(run, Moved(0, 0)), *(one.moved for one in connections)])
        return self._end(connections)

    def moved(self) -> dict[str, Moved]:
        """Bytes since the start by run, with headers, about."""
        found = dict(self._left)
        for run, connections in self._runs.items():
            found[run] = _sum([found.get(run, Moved(0, 0)), *(one.moved for one in connections)])
        return found

    async def close(self) -> None:
        """Leave all runs and end the thread."""
        await self._end(self._all())
        self._runs.clear()
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)
            if not asyncio.all_tasks(self._loop):  # else the process ends with them
                self._loop.close()

    def _all(self) -> list["_Connection"]:
        return [one for connections in self._runs.values() for one in connections]

    async def _end(self, connections: Sequence["_Connection"]) -> None:
        await asyncio.gather(*(self._there(one.end()) for one in connections))

    async def _there(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class _Connection:
    """Of a run to one of its brokers; all of it but `connected` and `trouble` belongs to the thread."""

    def __init__(
        self,
        identity: Identity,
        named: Callable[[], tuple[str, str]],
        run: Joined,
        broker: str,
        deliver: Callable[..., object],
    ) -> None:
        self.run, self.broker = run, broker
        self.connected, self.trouble = False, ""
        self._identity, self._named, self._deliver = identity, named, deliver
        self._password = identity.sign(login(broker)).hex()
        self.moved = Moved(0, 0)
        self._told: dict[str, bytes] = {}
        self._pending: dict[str, bytes] = {}
        """What the broker has not acknowledged yet."""
        self._more = asyncio.Event()
        self._rights: Mapping[str, Rights] = {run.id: run.rights}
        self._minute, self._heard = 0, Counter[str]()
        """Messages of each peer in this minute."""
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def start(self) -> None:
        self._task = asyncio.create_task(self._stay(), name=f"broker {self.broker}")

    def tell(self, topic: str, payload: bytes) -> None:
        self._told[topic] = self._pending[topic] = payload
        self._more.set()

    async def end(self) -> None:
        """Its task is not cancelled: the library loses sockets, and at times the wish, of who is while it connects."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=END_S)

    async def _stay(self) -> None:
        """Connect again and again."""
        wait, longest = AGAIN_S
        while not self._stop.is_set():
            try:
                async with self._client() as client:
                    wait = AGAIN_S[0]
                    await self._serve(client)
            except aiomqtt.MqttError as error:
                self._failed(error)
            except (OSError, ValueError) as error:  # a certificate that cannot be read
                self.trouble = str(error)
            except Exception as error:  # whatever a broker does to the library, it is tried again
                log.exception("What the broker %s said could not be used", self.broker)
                self.trouble = str(error)[:200]
            finally:
                self.connected = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait * random.uniform(0.5, 1.0)):
                    await self._stop.wait()
            wait = min(longest, 2 * wait)

    def _failed(self, error: aiomqtt.MqttError) -> None:
        if self.connected:
            log.info("The broker %s is gone: %s", self.broker, error)
        self.trouble = str(error)[:200]
        if isinstance(error, aiomqtt.MqttCodeError) and getattr(error.rc, "value", error.rc) in NOT_KNOWN:
            self._deliver(self.run.refused, self.broker, self._password)

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[aiomqtt.Client]:
        """Connected, with a last will; who leaves by itself says so."""
        address, me = urlsplit(self.broker), self._identity.peer.hex()
        presence, now = topic_in(self.run.id, me, PRESENCE), time.time()
        gone = payloads.sealed(self._identity, Presence(self.run.id, self._identity.peer, now, online=False))
        there = Presence(self.run.id, self._identity.peer, now, True, *self._named())
        secret = hashlib.sha256(b"hearth mqtt client 1\n" + self._identity.seed + self.run.id.encode()).hexdigest()
        client = aiomqtt.Client(
            address.hostname or "",
            address.port or 0,
            username=me,
            password=self._password,
            identifier=secret[:23],  # of which nobody knows: who connects by another's name takes its place
            protocol=aiomqtt.ProtocolVersion.V311,
            will=aiomqtt.Will(presence, gone, qos=1, retain=True),
            clean_session=True,
            keepalive=KEEP_ALIVE_S,
            timeout=CONNECT_S,
            tls_context=ssl.create_default_context() if address.scheme == "mqtts" else None,
            max_queued_incoming_messages=QUEUED,
        )
        async with client:
            try:
                self._pending = {presence: payloads.sealed(self._identity, there), **self._told}
                yield client
            finally:
                with contextlib.suppress(aiomqtt.MqttError, TimeoutError):
                    async with asyncio.timeout(LEAVE_S if self.connected else 0):
                        await client.publish(presence, gone, qos=1, retain=True)

    async def _serve(self, client: aiomqtt.Client) -> None:
        for way in ("out", *(["in"] if self.run.reads else [])):
            topics = "/".join((*TOP, self.run.id, way, "#"))
            (given,) = await client.subscribe(topics, qos=1, timeout=ACKNOWLEDGE_S)
            if getattr(given, "value", given) == NOT_GIVEN:  # it lets this peer into another run, but not yet into this
                raise aiomqtt.MqttCodeError(NOT_KNOWN[1], "The broker does not let this peer read")
        self.connected, self.trouble = True, ""
        log.info("Connected to the broker %s for %s.", self.broker, self.run.id)
        work = self._send(client), self._hear(client), self._stop.wait()
        tasks = [asyncio.ensure_future(one) for one in work]
        done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while rest:  # Python 3.11 may overlook being cancelled just when what it waits for comes
            for task in rest:
                task.cancel()
            _, rest = await asyncio.wait(rest, timeout=CANCEL_S)
        errors = [one.exception() for one in done]
        if error := next(filter(None, errors), None):
            raise error

    async def _send(self, client: aiomqtt.Client) -> None:
        while True:
            self._more.clear()
            for topic, payload in [*self._pending.items()]:
                await client.publish(topic, payload, qos=1, retain=True, timeout=ACKNOWLEDGE_S)
                self.moved = _sum([self.moved, Moved(HEADERS, len(topic) + len(payload) + HEADERS)])
                if self._pending.get(topic) == payload:
                    del self._pending[topic]
            if not self._pending:
                await self._more.wait()

    async def _hear(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            topic = message.topic.value
            size = len(message.payload) if isinstance(message.payload, bytes) else 0
            self.moved = _sum([self.moved, Moved(len(topic) + size + HEADERS, HEADERS)])
            if not isinstance(message.payload, bytes) or not message.payload or self._is_too_much(topic):
                continue
            try:
                heard = payloads.opened(topic, message.payload, self._rights)
            except CreditError as error:
                log.debug("What was told at %s is dropped: %s", topic, error)
                continue
            self._deliver(self.run.hear, heard, message.payload)

    def _is_too_much(self, topic: str) -> bool:
        """Whether whoever may write there has written too often; a signature is not even looked at then."""
        if (minute := int(time.monotonic() // 60)) != self._minute:
            self._minute, self._heard = minute, Counter()
        writer = topic.rpartition("/")[0]
        self._heard[writer] += 1
        return self._heard[writer] > MOST_A_MINUTE


def _sum(parts: Sequence[Moved]) -> Moved:
    return Moved(sum(one.received for one in parts), sum(one.sent for one in parts))


def _in_loop(loop: asyncio.AbstractEventLoop) -> Callable[..., object]:
    """Calls in another thread's loop, as long as there is one."""

    def call(what: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(what, *arguments)

    return call
