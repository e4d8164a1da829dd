"""A connection to a D-Bus message bus, for one source: every call is bounded in time and size.

jeepney makes and parses the messages; the socket is used here, as jeepney's own connections take messages of any size.
"""

import contextlib
import dataclasses
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from jeepney import DBusAddress, HeaderFields, Message, MessageFlag, MessageType, Parser, new_method_call
from jeepney.bus import get_connectable_addresses
from jeepney.io.blocking import prep_socket

from core.contracts.notices import Notice, notice
from core.policy.signals.reading import AbsentError, SourceError

CALL_S = 1.0
MESSAGE_BYTES = 1 << 20
FLOOD_S = 0.02
"""Pause after events, so that a service that floods us with them costs little."""
CHUNK_BYTES = 4096

Which = Literal["session", "system"]
_ABSENT = ("ServiceUnknown", "NameHasNoOwner", "Disconnected", "NoReply")
_STRANGE = ("UnknownMethod", "UnknownInterface", "UnknownObject", "UnknownProperty", "InvalidArgs")


@dataclasses.dataclass(frozen=True)
class Object:
    """One interface of one object of a service."""

    label: str
    """What the user reads: "UPower"."""
    service: str
    path: str
    interface: str

    @classmethod
    def main(cls, label: str, service: str) -> "Object":
        """The object and interface that have the name of their service, as is usual."""
        return cls(label, service, f"/{service.replace('.', '/')}", service)

    def at(self, path: str, interface: str) -> "Object":
        """Another object of the same service."""
        return Object(self.label, self.service, path, interface)


_BUS = Object.main("The bus", "org.freedesktop.DBus")
_PROPERTIES = "org.freedesktop.DBus.Properties"


def address(which: Which) -> str:
    """Path of the bus's socket; an abstract one starts with a zero byte.

    Raises:
        SourceError: there is no such bus.
    """
    if which == "system":
        said = os.environ.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/run/dbus/system_bus_socket"
    else:
        said = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
        usual = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent", "bus")
        if not said and usual.exists():
            return str(usual)
        if not said:
            raise SourceError(notice("bus.none"))
    try:
        return next(get_connectable_addresses(said))  # type: ignore[no-any-return]
    except (RuntimeError, ValueError, KeyError):
        raise SourceError(notice("bus.bad_address", bus=which)) from None


class Bus:
    """A connection. Used by one thread; events are told in another, its own.

    Raises:
        SourceError: there is no bus, or it does not answer. So do all methods but `close`.
    """

    def __init__(self, which: Which) -> None:
        self._which = which
        try:
            self._socket = prep_socket(address(which), timeout=CALL_S)
        except FileNotFoundError:
            raise SourceError(notice("bus.missing", bus=which)) from None
        except (OSError, ValueError) as error:
            raise SourceError(notice("bus.unreachable", bus=which, why=_short(error))) from None
        seconds, rest = divmod(CALL_S, 1)
        limit = struct.pack("ll", int(seconds), int(rest * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._serial = 0
        self._ended: Notice | None = None
        self._replies: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._listeners: list[tuple[tuple[str, str, str], Callable[[tuple[Any, ...]], None]]] = []
        threading.Thread(target=self._receive, name=f"{which} bus", daemon=True).start()
        try:
            self.call(_BUS, "Hello", returns="s")
        except SourceError:
            self.close()
            raise

    def call(
        self, target: Object, method: str, signature: str = "", args: tuple[Any, ...] = (), returns: str = ""
    ) -> tuple[Any, ...]:
        """Call a method; nothing is started for it. `returns` is the signature that the answer must have."""
        address = DBusAddress(target.path, bus_name=target.service, interface=target.interface)
        message = new_method_call(address, method, signature or None, args)
        message.header.flags |= MessageFlag.no_auto_start
        reply = self._reply_to(message, target.label)
        fields = reply.header.fields
        if reply.header.message_type is MessageType.error:
            raise _refusal(target.label, str(fields.get(HeaderFields.error_name)), reply.body)
        if fields.get(HeaderFields.signature, "") != returns:
            raise SourceError(notice("bus.odd_answer", service=target.label, method=method))
        return tuple(reply.body)

    def get(self, target: Object, name: str, signature: str) -> Any:
        """A property, which must have this signature."""
        properties = target.at(target.path, _PROPERTIES)
        found, value = self.call(properties, "Get", "ss", (target.interface, name), returns="v")[0]
        if found != signature:
            raise SourceError(notice("bus.odd_type", service=target.label, property=name))
        return value

    def listen(self, target: Object, signal: str, told: Callable[[tuple[Any, ...]], None]) -> None:
        """Call `told` with the arguments of each such event, in the connection's own thread."""
        self._listeners.append(((target.path, target.interface, signal), told))
        rule = (
            f"type='signal',sender='{target.service}',path='{target.path}',"
            f"interface='{target.interface}',member='{signal}'"
        )
        self.call(_BUS, "AddMatch", "s", (rule,))

    def listen_to_properties(self, target: Object, wake: Callable[[], None]) -> None:
        """Call `wake` whenever a property of the object changes."""
        self.listen(target.at(target.path, _PROPERTIES), "PropertiesChanged", lambda args: wake())

    def close(self) -> None:
        """Never waits, never raises."""
        self._ended = self._ended or notice("source.closed")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # the receiving thread wakes, and closes it

    def _reply_to(self, message: Message, label: str) -> Message:
        deadline = time.monotonic() + CALL_S
        self._serial += 1
        if self._ended:
            raise SourceError(self._ended)
        try:
            self._socket.sendall(message.serialise(serial=self._serial))
        except OSError:
            self.close()
            raise SourceError(notice("bus.silent", bus=self._which)) from None
        while True:
            try:
                reply = self._replies.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise SourceError(notice("signal.quiet", source=label)) from None
            if reply is None:
                raise SourceError(self._ended)
            if reply.header.fields.get(HeaderFields.reply_serial) == self._serial:
                return reply

    # in the connection's own thread

    def _receive(self) -> None:
        parser = Parser()
        try:
            while chunk := self._socket.recv(CHUNK_BYTES):
                if self._take(parser, chunk):
                    time.sleep(FLOOD_S)
            self._ended = self._ended or notice("bus.gone", bus=self._which)
        except SourceError as error:
            self._ended = self._ended or error.notice
        except Exception as error:  # what jeepney raises for damaged messages is not documented
            self._ended = self._ended or notice("bus.nonsense", bus=self._which, why=_short(error))
        self._replies.put(None)
        self._socket.close()

    def _take(self, parser: Parser, chunk: bytes) -> bool:
        """Whether events were among the bytes."""
        parser.add_data(chunk)
        events = False
        while True:
            if parser.buf.bytes_buffered >= 16 and parser.bytes_desired() > MESSAGE_BYTES:
                raise SourceError(notice("bus.too_long", bus=self._which, most=MESSAGE_BYTES >> 20))
            message = parser.get_next_message()
            if message is None:
                return events
            if message.header.message_type in (MessageType.method_return, MessageType.error):
                self._replies.put(message)
            elif message.header.message_type is MessageType.signal:
                events = True
                fields = message.header.fields
                key = tuple(fields.get(f) for f in (HeaderFields.path, HeaderFields.interface, HeaderFields.member))
                for wanted, told in self._listeners:
                    if wanted == key:
                        told(tuple(message.body))


class OnBus:
    """A source, or a part of one, that has a connection of its own. Closed if its making fails."""

    bus: Which = "system"
    watched: Object | None = None
    """Whose properties it tells of, whenever they change."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._bus = Bus(self.bus)
        try:
            self._begin(wake)
        except BaseException:
            self._bus.close()
            raise

    def _begin(self, wake: Callable[[], None]) -> None:
        if self.watched:
            self._bus.listen_to_properties(self.watched, wake)

    def close(self) -> None:
        """Let go of the connection."""
        self._bus.close()


def _short(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__)[:100]


def _refusal(label: str, name: str, body: Any) -> SourceError:
    kind = name.rpartition(".")[2]
    if kind in _ABSENT:
        return AbsentError(notice("bus.not_running", service=label))
    if kind in _STRANGE:
        return SourceError(notice("bus.not_offered", service=label))
    said = next((part for part in body or () if isinstance(part, str)), kind)
    return SourceError(notice("bus.refuses", service=label, why=said[:100]))
