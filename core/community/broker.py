"""The embedded broker: amqtt with the rights of telemetry, for a backbone peer.

The library lets a stranger do what it must not, and the class that is made of it here does not: a last will is
published wherever its sender wants; who connects is given what is retained for others' subscriptions; who is refused
stays in memory; a packet may take 256 MB; who says nothing is waited for.
"""

import asyncio
import contextlib
import errno
import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from amqtt.adapters import StreamReaderAdapter, StreamWriterAdapter
from amqtt.broker import Broker
from amqtt.contexts import Action, BrokerConfig, ListenerConfig
from amqtt.errors import AMQTTError, BrokerError, MQTTError
from amqtt.session import Session

from core.community.signing import signed_by
from core.contracts.errors import PortInUse, SettingsError
from core.contracts.notices import Notice, notice
from core.contracts.telemetry import MAX_PACKET, Admits, Rights, limit_of, login, may_read, may_write

GREET_S = 10.0
"""For the first packet of a connection."""
STOP_S = 5.0
CONNECTIONS, OF_A_HOST = 4096, 256
"""At once, of all and from one address; further ones are closed."""
LOOK_S = 5.0
"""Between two looks whether those who are connected may still be; what they say and hear is asked about each time."""
MESSAGES = 60
"""That a peer publishes in a minute; further ones are dropped. Five runs at the greatest rate that boards take."""
FILTERS = 64
"""That a session subscribes to: two for each run, of as many as a PC may have."""
RETAINED = 64 << 20
"""Bytes of all that is retained; beyond that the oldest goes. A peer tells it again when it connects."""
for _name in ("amqtt", "transitions"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)  # a line for each packet, in which strangers may write


class EmbeddedBroker(Broker):  # type: ignore[misc]
    """Use as `async with EmbeddedBroker(...)`."""

    def __init__(
        self,
        listen: str,
        names: frozenset[str],
        tls: tuple[str, str] | None,
        runs: Mapping[str, Rights],
        admits: Admits,
    ) -> None:
        """
        Args:
            listen: address and port.
            names: its addresses as in manifests: a password for another broker is none here.
            tls: files of certificate and key, for `mqtts`.
            runs: what it is there for; may change.
            admits: who may take part in these now.
        """
        listener = ListenerConfig(bind=listen)
        if tls:
            listener.ssl, listener.certfile, listener.keyfile = True, *tls
        super().__init__(BrokerConfig(listeners={"default": listener}, plugins={}))
        self._listen, self._names, self._runs, self._admits = listen, names, runs, admits
        self._looking: asyncio.Task[None] | None = None
        self._retained_bytes = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._hosts = Counter[str]()
        self._minute, self._published = 0, Counter[str]()
        """How much each peer has published in this minute."""
        self._filters = Counter[str]()
        """What each session has subscribed to."""

    async def __aenter__(self) -> "EmbeddedBroker":
        """Listen.

        Raises:
            PortInUse: another program has the port.
            SettingsError: it cannot.
        """
        try:
            await self.start()
        except (AMQTTError, BrokerError) as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE:
                raise PortInUse(notice("telemetry.broker_port_in_use", address=self._listen)) from error
            why = str(error.__cause__ or error)
            raise SettingsError(notice("telemetry.broker_fails", address=self._listen, why=why)) from error
        self._looking = asyncio.create_task(self._look(), name="broker's sessions")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for writer in [*self._writers]:  # else the library waits for what they say, at times for ever
            writer.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self.shutdown()
        for server in self._servers.values():  # if that took too long
            if server.instance is not None:
                server.instance.close()

    def update(self) -> None:
        """The runs have changed: they are looked at each time."""

    def enrol(self, peer: bytes, password: str) -> None:
        """Nothing is to be done: it checks signatures itself, and who asked for this has shown its token."""

    @property
    def notes(self) -> list[Notice]:
        """Nothing fails once it listens."""
        return []

    @property
    def connected(self) -> int:
        """How many peers are."""
        return len(self.sessions)

    def _runs_of(self, user: str) -> dict[str, Rights]:
        """The runs that a peer may take part in now."""
        try:
            peer = bytes.fromhex(user)
        except ValueError:  # it has not proved it yet, and will not
            return {}
        return {run: rights for run, rights in self._runs.items() if self._admits(peer, run)}

    async def _look(self) -> None:
        """End the sessions of those that may take part in no run any more."""
        while True:
            await asyncio.sleep(LOOK_S)
            for session, handler in [*self._sessions.values()]:
                if handler.writer is not None and not self._runs_of(session.username or ""):
                    handler.writer._writer.transport.abort()

    # what replaces the library's

    async def stream_connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listener_name: str
    ) -> None:
        host = str((writer.get_extra_info("peername") or ("",))[0])
        if self._hosts[host] >= OF_A_HOST or self._hosts.total() >= CONNECTIONS:
            writer.close()
            return
        self._hosts[host] += 1
        self._writers.add(writer)
        try:
            await self._client_connected(listener_name, _Bounded(reader), StreamWriterAdapter(writer))
        except (OSError, asyncio.IncompleteReadError):
            pass  # which is everybody's right
        finally:
            self._writers.discard(writer)
            self._hosts -= Counter([host])
            writer.close()

    async def _initialize_client_session(self, *arguments: Any) -> Any:
        try:
            async with asyncio.timeout(GREET_S):
                return await super()._initialize_client_session(*arguments)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, UnicodeDecodeError) as error:
            raise MQTTError(str(error)) from error

    async def _handle_client_session(self, reader: Any, writer: Any, client_session: Session, *arguments: Any) -> None:
        try:
            await super()._handle_client_session(reader, writer, client_session, *arguments)
        finally:
            self._filters.pop(client_session.client_id or "", None)
            kept, _ = self._sessions.get(client_session.client_id or "", (None, None))
            if kept is client_session:
                await self._cleanup_session(client_session.client_id or "")

    async def _delete_session(self, client_id: str) -> None:
        """A peer comes back before its old connection was missed: that one's will is not its wish any more."""
        session, handler = self._sessions.get(client_id, (None, None))
        await super()._delete_session(client_id)
        if session is not None and handler is not None and handler.writer is not None:
            session.will_flag = False
            handler.writer._writer.transport.abort()  # it may not read any more

    async def _authenticate(self, session: Session, _: ListenerConfig) -> bool:
        user, password, will = session.username or "", session.password or "", session.will_topic
        try:
            peer, signature = bytes.fromhex(user), bytes.fromhex(password)
        except ValueError:
            return False
        if len(peer) != 32 or user != peer.hex() or not session.clean_session or not self._runs_of(user):
            return False
        if will and not may_write(user, will, self._runs_of(user)):
            return False
        return any(signed_by(peer, login(name), signature) for name in self._names)

    async def _topic_filtering(self, session: Session, topic: str, action: Action) -> bool:
        user = session.username or ""
        runs = self._runs_of(user)
        if action == Action.SUBSCRIBE:
            self._filters[session.client_id or ""] += 1
            return self._filters[session.client_id or ""] <= FILTERS and may_read(user, topic, runs)
        if action != Action.PUBLISH:
            return may_read(user, topic, runs)
        if (minute := int(time.monotonic() // 60)) != self._minute:
            self._minute, self._published = minute, Counter()
        self._published[user] += 1
        return self._published[user] <= MESSAGES and may_write(user, topic, runs)

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        if any(one is session for one, _ in self._subscriptions.get(subscription[0], ())):
            await super()._publish_retained_messages_for_subscription(subscription, session)

    async def retain_message(
        self,
        source_session: Session | None,
        topic_name: str | None,
        data: bytes | bytearray | None,
        qos: int | None = None,
    ) -> None:
        size = len(data or b"")
        if topic_name is None or size > limit_of(topic_name):
            return
        before = self._retained_messages.pop(topic_name, None)
        self._retained_bytes += size - (len(before.data) if before else 0)
        await super().retain_message(source_session, topic_name, data, qos)
        while (
            self._retained_bytes > RETAINED and self._retained_messages
        ):  # what organisers and boards say stays: anybody can have many keys
            topics = self._retained_messages
            oldest = next((topic for topic in topics if "/in/" in topic), next(iter(topics)))
            self._retained_bytes -= len(topics.pop(oldest).data)


class _Bounded(StreamReaderAdapter):  # type: ignore[misc]
    """Takes no larger packet than telemetry has."""

    async def read(self, n: int = -1) -> bytes:
        if not 0 <= n <= MAX_PACKET:
            raise MQTTError("too large")
        content: bytes = await super().read(n)
        return content
