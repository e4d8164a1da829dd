"""A connection to one broker, for telemetry. It is imported when the first broker is known: the library takes 3 MB.

A broker is a stranger's program. The library takes packets of 256 MB, keeps messages of QoS 2 until the broker lets
them go, and reads a packet that it cannot use again and again: the classes made of its own here do not.
"""

import asyncio
import contextlib
import hashlib
import logging
import random
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import urlsplit

import aiomqtt
from paho.mqtt.client import Client
from paho.mqtt.enums import MQTTErrorCode

from core.community import payloads
from core.community.lines import Joined, Moved, added
from core.contracts.errors import CreditError
from core.contracts.telemetry import MAX_PACKET, MOST_A_MINUTE, PRESENCE, TOP, Presence, Rights, login, topic_in
from core.identity import Identity

log = logging.getLogger(__name__)

AGAIN_S = 1.0, 4.0
"""Until a connection is tried again, at first and at most. Up to half of it is left out by chance, so that not all who
lost a broker come back at once."""
STEADY_S = 10.0
"""After a connection of that length it is tried anew as at first."""
LEFT_S = 300.0
"""For so long a broker is left alone that said what no broker says."""
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
QUEUED, QUEUED_BYTES = 20_000, 64 << 20
"""Messages that were received and not read yet, and their payloads; further ones are dropped."""
ANSWERS = 10_000
"""Packets that a broker has not taken yet, at most."""

HEADERS = 48
"""Bytes of a packet, or its acknowledgement, beside topic and payload: of TCP, IP and MQTT."""
QOS_2 = 0x34
"""The first byte of a message of QoS 2, without its flags; nobody has asked for one."""
logging.getLogger("mqtt").setLevel(logging.CRITICAL)  # lines for single packets, in which strangers may write


class FaultError(Exception):
    """A broker has said what no broker says."""


class _Queue(asyncio.Queue[aiomqtt.Message]):
    """Of messages; full by their bytes, too."""

    bytes = 0

    def full(self) -> bool:
        return self.bytes >= QUEUED_BYTES or super().full()

    def _put(self, item: aiomqtt.Message) -> None:
        self.bytes += len(item.payload)
        super()._put(item)

    def _get(self) -> aiomqtt.Message:
        item = super()._get()
        self.bytes -= len(item.payload)
        return item


class _Protocol(Client):
    """The library's, which ends when a broker says what no broker says."""

    fault = ""

    def _packet_read(self) -> MQTTErrorCode:
        try:
            return super()._packet_read()
        except Exception as error:  # whatever it says
            self.fault = str(error)
            return MQTTErrorCode.MQTT_ERR_PROTOCOL

    def _sock_recv(self, bufsize: int) -> bytes:
        if bufsize > MAX_PACKET:
            raise FaultError(f"A packet of {bufsize} bytes")
        return super()._sock_recv(bufsize)

    def _packet_handle(self) -> MQTTErrorCode:
        if self._in_packet["command"] & 0xF6 == QOS_2:
            raise FaultError("A message of QoS 2")
        if len(self._out_packet) > ANSWERS:
            raise FaultError("No answer is taken")
        return super()._packet_handle()


class Connection:
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
        self._fault = ""
        """What it said last that could not be used."""
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
            began, rest = time.monotonic(), 0.0
            try:
                async with self._client() as client:
                    await self._serve(client)
            except aiomqtt.MqttError as error:
                self._failed(error)
            except (OSError, ValueError) as error:  # a certificate that cannot be read
                self.trouble = str(error)
            except Exception as error:  # whatever a broker does to the library
                rest = LEFT_S
                self._leave_alone(error)
            finally:
                self.connected = False
            if time.monotonic() - began > STEADY_S:
                wait = AGAIN_S[0]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout((rest or wait) * random.uniform(0.5, 1.0)):
                    await self._stop.wait()
            wait = min(longest, 2 * wait)

    def _leave_alone(self, error: Exception) -> None:
        self.trouble = "".join(filter(str.isprintable, str(error)))[:200]
        if self.trouble != self._fault:
            log.warning("The broker %s is left alone for a while: %s", self.broker, self.trouble)
        self._fault = self.trouble

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
            queue_type=_Queue,
        )
        protocol = client._client
        protocol.__class__ = _Protocol  # the library makes it by itself
        try:
            async with client:
                try:
                    self._pending = {presence: payloads.sealed(self._identity, there), **self._told}
                    yield client
                finally:
                    with contextlib.suppress(aiomqtt.MqttError, TimeoutError):
                        async with asyncio.timeout(LEAVE_S if self.connected else 0):
                            await client.publish(presence, gone, qos=1, retain=True)
        finally:
            protocol._sock_close()  # it is left open where there was no greeting
            if isinstance(protocol, _Protocol) and protocol.fault:
                raise FaultError(protocol.fault)

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
                self.moved = added([self.moved, Moved(HEADERS, len(topic) + len(payload) + HEADERS)])
                if self._pending.get(topic) == payload:
                    del self._pending[topic]
            if not self._pending:
                await self._more.wait()

    async def _hear(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            topic = message.topic.value
            size = len(message.payload) if isinstance(message.payload, bytes) else 0
            self.moved = added([self.moved, Moved(len(topic) + size + HEADERS, HEADERS)])
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
