"""Large frames over TCP between peers near each other: on one PC, or in one local network.

There the network is faster than the processors, and QUIC, which this process does packet by packet, takes ten times as
much of them as TCP, which the kernel does. A peer asks the other, over their connection, for a ticket: a port, a name
and a key, good for one TCP connection and for a few seconds. It says the name there, and from then on sends records
that are sealed by AES-GCM under that key and a number that counts, so that nobody else can read, change, leave out,
repeat or reorder them. Each such connection is one lane in one direction. Where none can be made, as in most networks
further away, all frames go over QUIC as before.
"""

import asyncio
import contextlib
import logging
import math
import os
import socket
import struct
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from core.contracts.errors import UNREADABLE, CallRefused, NetworkError, PeerUnreachable, ProtocolError
from core.contracts.net import TCP_KEY, TCP_NAME, Ticket
from core.net import heap, limits
from core.net.addresses import host_of, is_near
from core.net.endpoint import ReceiveStream, SendStream
from core.net.limits import Newest
from core.net.link import Link
from core.net.metrics import Moved

log = logging.getLogger(__name__)

TAG = 16
SEND_BUFFER = 512 * limits.KIB
"""The system's own choice begins with so little that a sender often waits for a delayed acknowledgement."""
RECORD = limits.CHUNK + 2 * limits.KIB
"""Plain bytes of one at most: a chunk of a frame, most often with the frame's header."""
RECORD_S = limits.FRAME_S + RECORD / limits.FRAME_BYTES_PER_S
"""For a record, once its length is here; within a frame the link looks after that."""
TICKET_S = 20.0
"""For asking for a ticket, and for using it: PCs may be busy."""
ACCEPT_S = 1.0
"""After an error, as when too many files are open."""
_LENGTH = struct.Struct(">I")


class TcpSender(SendStream):
    """The sending end of a lane."""

    def __init__(self, sock: socket.socket, key: bytes, moved: Sequence[Moved], lost: Callable[[], None]) -> None:
        """
        Args:
            sock: connected, not blocking.
            key: of its records.
            moved: what it sends is counted in each.
            lost: called if it breaks, which may have lost what seemed to be sent; not if the peer has closed it.
        """
        self._sock, self._seal, self._moved, self._lost = sock, heap.ciphers().record_seal(key), moved, lost
        self._writing = False
        self._watching = asyncio.create_task(self._watch(), name="lane over TCP")
        self._watching.add_done_callback(lambda _: self._close())

    async def write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        self._writing = True
        try:
            for start in range(0, len(view), RECORD):
                sealed = self._seal.close(view[start : start + RECORD])
                record = b"".join((_LENGTH.pack(len(sealed)), sealed))
                await asyncio.get_running_loop().sock_sendall(self._sock, record)
                for moved in self._moved:
                    moved.sent += len(record)
        except OSError as error:
            self._fails(error)
            raise PeerUnreachable("The peer's TCP connection ended.") from error
        finally:
            self._writing = False
            self._close()

    async def write_frame(self, head: bytes, data: bytes | memoryview) -> None:
        await self.write(b"".join((head, data)))  # one record: a second takes longer than the copy

    async def reset(self) -> None:
        self.end()

    def end(self) -> None:
        """Send nothing more; whoever is sending fails."""
        self.ended = True
        self._watching.cancel()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    async def _watch(self) -> None:
        """The other side never writes: when it can be read, the lane has ended."""
        try:
            await asyncio.get_running_loop().sock_recv(self._sock, 1)
        except OSError as error:
            self._fails(error)
        self.ended = True

    @property
    def closed(self) -> bool:
        """As of `TcpReceiver`."""
        return self._sock.fileno() < 0

    def _close(self) -> None:
        """When neither direction is used any more."""
        if self._watching.done() and not self._writing:
            self._sock.close()

    def _fails(self, error: OSError) -> None:
        if not (self.ended or isinstance(error, ConnectionError)):  # those say that the peer has closed it
            self._lost()
        self.ended = True


class TcpReceiver(ReceiveStream):
    """The receiving end of a lane."""

    block = RECORD
    ahead = math.inf
    """Nobody knows the size of all buffers, and what is near comes fast."""

    def __init__(self, sock: socket.socket, key: bytes, moved: Sequence[Moved]) -> None:
        """
        Args:
            sock: connected, not blocking.
            key: of its records.
            moved: what comes is counted in each.
        """
        self._sock, self._seal, self._moved = sock, heap.ciphers().record_seal(key), moved
        self._plain = memoryview(b"")

    async def read(self, most: int) -> bytes:
        if not self._plain:
            try:
                self._plain = memoryview(await self._record(RECORD_S))
            except EOFError:
                return b""
        return self._take(most)

    async def read_exactly(self, size: int) -> bytes:
        parts = []
        try:
            while size:
                self._plain = self._plain or memoryview(await self._record())
                parts.append(self._take(size))
                size -= len(parts[-1])
        except EOFError as error:
            raise PeerUnreachable("The peer has ended its TCP connection.") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _take(self, most: int) -> bytes:
        taken, self._plain = self._plain[:most], self._plain[most:]
        whole = taken.obj
        return whole if isinstance(whole, bytes) and len(whole) == len(taken) else bytes(taken)

    async def _record(self, within_s: float | None = None) -> bytes:
        try:
            [size] = _LENGTH.unpack(await _exactly(self._sock, _LENGTH.size))
            if not TAG < size <= RECORD + TAG:
                raise ProtocolError(f"a record of {size} bytes")
            async with asyncio.timeout(within_s):
                sealed = await _exactly(self._sock, size)
            record: bytes = self._seal.open(sealed)
        except (OSError, ProtocolError) as error:
            self.broken = True
            why = str(error) or "a record did not arrive in time"
            raise PeerUnreachable(f"A TCP connection of the peer broke: {why}.") from error
        for moved in self._moved:
            moved.received += _LENGTH.size + size
        return record

    def close(self) -> None:
        self._sock.close()

    @property
    def closed(self) -> bool:
        """Whether it is of no use any more, and no file."""
        return self._sock.fileno() < 0

    def hold(self, window: int) -> None:
        with contextlib.suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)


async def _exactly(sock: socket.socket, size: int) -> bytearray:
    """So many bytes.

    Raises:
        EOFError: the other side has closed the connection.
        OSError: it broke.
    """
    data, got = bytearray(size), 0
    view = memoryview(data)
    while got < size:
        try:
            count = sock.recv_into(view[got:])
        except BlockingIOError:  # uvloop waits for what is there already, too
            count = await asyncio.get_running_loop().sock_recv_into(sock, view[got:])
        if not count:
            raise EOFError
        got += count
    return data


class Node(Protocol):
    """What the lanes ask of the node."""

    @property
    def sockets(self) -> list[str]:
        """ "ip:port" on which it listens."""

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run in the background."""

    async def ask_ticket(self, link: Link) -> Ticket:
        """Ask the peer of a link for a lane to it. Also raises TimeoutError, or what `UNREADABLE` has."""


class _Issued(NamedTuple):
    link: Link
    key: bytes
    until: float


class _Listening(socket.socket):
    """Remembers whom it accepted last: `sock_accept` loses it if it is cancelled in that moment."""

    last: socket.socket | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        self.last, address = super().accept()
        return self.last, address


class TcpLanes:
    """The lanes of one node: made to others, and taken from them."""

    def __init__(self, node: Node) -> None:
        """It listens from when the first peer asks.

        Args:
            node: whose lanes they are.
        """
        self._node = node
        self._listening: dict[str, _Listening] = {}
        self._issued = Newest[bytes, _Issued](limits.LANES * limits.CONNECTIONS)
        self._greeting: dict[socket.socket, asyncio.Task[None]] = {}
        self._senders = list[TcpSender]()
        self._receivers = dict[TcpReceiver, Link]()
        self._moved = Moved()

    def moved(self) -> tuple[int, int]:
        """Bytes received and sent since the start, with the headers of TCP, about."""
        return self._moved.on_the_wire()

    def close(self) -> None:
        """Listen no more."""
        for sock in self._listening.values():
            sock.close()
        self._listening.clear()

    # to others

    async def open(self, link: Link) -> TcpSender:
        """A new lane to the peer of a link.

        Raises:
            NetworkError: there is no way to it.
        """
        remote = near_host(link)
        self._senders = [lane for lane in self._senders if not lane.closed]
        if len(self._senders) >= limits.TCP_LANES:
            raise CallRefused("This PC has many TCP connections to peers already.")
        try:
            ticket = await self._node.ask_ticket(link)
        except (TimeoutError, *UNREADABLE) as error:
            raise PeerUnreachable(f"Peer {link.peer.hex()[:8]} gives no TCP connection.") from error
        sock = socket.socket(socket.AF_INET6 if ":" in remote else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            sock.bind((self._own_host(remote), 0))
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(TICKET_S):
                await loop.sock_connect(sock, (remote, ticket.port))
                await loop.sock_sendall(sock, ticket.name)
        except BaseException as error:
            sock.close()
            if isinstance(error, OSError):  # TimeoutError is one
                raise PeerUnreachable(f"No TCP connection to peer {link.peer.hex()[:8]}: {error}.") from error
            raise
        moved = self._moved, link.lanes.over_tcp
        self._senders.append(TcpSender(sock, ticket.key, moved, lambda: link.close("its TCP connection broke")))
        return self._senders[-1]

    def _own_host(self, remote: str) -> str:
        """The address of this PC on which a connection with a host begins or ends; "0.0.0.0" or "::": any."""
        hosts = [host_of(one) for one in self._node.sockets]
        fitting = [host for host in hosts if (":" in host) == (":" in remote)]
        if not fitting:
            raise NetworkError("This PC does not listen in that family of addresses.")
        return fitting[0]

    # from others

    def give_ticket(self, link: Link) -> Ticket:
        """Let the peer of a link make a lane.

        Raises:
            CallRefused: it is not near, or has enough of them.
        """
        now = time.monotonic()
        for name in [name for name, one in self._issued.items() if one.until < now]:
            del self._issued[name]
        self._receivers = {lane: of for lane, of in self._receivers.items() if not lane.closed}
        unused = sum(one.link is link for one in self._issued.values())
        used = sum(of is link for of in self._receivers.values())
        those = len(self._issued) + len(self._receivers)
        # While new lanes are made because a peer has moved, the old ones may be there yet.
        if unused >= limits.LANES or unused + used >= 2 * limits.LANES or those >= limits.TCP_LANES:
            raise CallRefused("There is no TCP connection for you now.")
        try:
            port = self._listen(self._own_host(near_host(link)))
        except OSError as error:
            raise CallRefused("This PC cannot listen on TCP.") from error
        ticket = Ticket(port, os.urandom(TCP_NAME), os.urandom(TCP_KEY))
        self._issued[ticket.name] = _Issued(link, ticket.key, now + TICKET_S)
        return ticket

    def _listen(self, host: str) -> int:
        """The port on which a host listens for lanes from now on."""
        sock = self._listening.get(host)
        if sock is None:
            made = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
            sock = self._listening[host] = _Listening(fileno=made.detach())
            sock.setblocking(False)
            self._node.start(self._accept(sock), "TCP lanes")
        return int(sock.getsockname()[1])

    async def _accept(self, listening: _Listening) -> None:
        while True:
            try:
                sock, address = await asyncio.get_running_loop().sock_accept(listening)
            except asyncio.CancelledError:
                if listening.last is not None:
                    listening.last.close()
                raise
            except OSError as error:
                if listening.fileno() < 0:
                    return
                log.warning("TCP connections are not accepted for a moment: %s", error)
                await asyncio.sleep(ACCEPT_S)
                continue
            if not is_near(address[0]):
                sock.close()
                continue
            if len(self._greeting) >= limits.HANDSHAKES:  # the oldest goes: who has a ticket names it at once
                self._greeting.pop(next(iter(self._greeting))).cancel()
            self._greeting[sock] = greeting = self._node.start(self._greet(sock), "TCP greeting")
            greeting.add_done_callback(partial(self._greeted, sock))
            await asyncio.sleep(0)  # whoever goes is gone before many others come

    def _greeted(self, sock: socket.socket, _: object) -> None:
        self._greeting.pop(sock, None)
        sock.close()

    async def _greet(self, sock: socket.socket) -> None:
        """Somebody has connected; it must name a ticket."""
        sock.setblocking(False)
        with contextlib.suppress(OSError, EOFError):
            async with asyncio.timeout(TICKET_S):
                issued = self._issued.pop(bytes(await _exactly(sock, TCP_NAME)), None)
            if issued is None or time.monotonic() > issued.until:
                return
            taken = socket.socket(fileno=sock.detach())
            taken.setblocking(False)
            lane = TcpReceiver(taken, issued.key, (self._moved, issued.link.lanes.over_tcp))
            if issued.link.take(lane):
                self._receivers[lane] = issued.link
            else:
                lane.close()


def near_host(link: Link) -> str:
    """Where the peer of a link is seen.

    Raises:
        CallRefused: it is not near.
    """
    address = link.connection.path().address
    if address is None or not is_near(host := host_of(address)):
        raise CallRefused("TCP serves only peers on this PC or in its local network.")
    return host
