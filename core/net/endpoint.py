"""The transport: a thin wrapper of iroh, so thin that another one could take its place.

Nothing of iroh is seen by other modules; its errors become `PeerUnreachable`.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple

import iroh

from core.contracts.errors import NetworkError, PeerUnreachable, PortInUse
from core.contracts.net import ANYWHERE
from core.contracts.notices import notice
from core.identity import PeerId
from core.net import fast_binding, heap, limits

ALPN = b"hearth/1"
PACKET_HEADERS = 28
"""Bytes."""
SENT_HEADERS = 1.04
"""What they add to what is sent, as packets of all sizes come."""
LOOPBACK = ("127.0.0.1:0", "[::1]:0")


BLOCK = 64 * limits.KIB
"""Bytes read at once where frames begin: many small ones."""


class PathInfo(NamedTuple):
    """How a connection runs now."""

    address: str | None
    """Where the peer is seen: "ip:port"."""
    rtt_ms: float
    bytes_in: int
    bytes_out: int


def _is_taken(address: str) -> bool:
    """Whether another program has the port, which the transport's error does not tell."""
    host, _, port = address.rpartition(":")
    try:
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as tried:
            tried.bind((host.strip("[]"), int(port)))
    except (OSError, ValueError, OverflowError) as error:
        return isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    return False


def kept(sockets: Sequence[str]) -> tuple[str, ...]:
    """What to listen on to be found where one was before: `ANYWHERE`, on those of its ports that are still free.

    Args:
        sockets: those of last time, "0.0.0.0:port" and "[::]:port".
    """
    before = {address.rpartition(":")[0]: address for address in sockets if not _is_taken(address)}
    return tuple(before.get(address.rpartition(":")[0], address) for address in ANYWHERE)


def _broken(error: iroh.IrohError) -> PeerUnreachable:
    return PeerUnreachable(f"The connection broke: {error.message()}")


@contextlib.contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except iroh.IrohError as error:
        raise _broken(error) from error


class SendStream:
    """The sending end of a one-way stream."""

    ended = False
    """Whether nothing more can be sent by it, though the connection is there."""
    _begun: tuple[Coroutine[Any, Any, None], Awaitable[object]] | None = None
    """A write that waits for room, and the news it waits for."""

    def __init__(self, stream: iroh.SendStream) -> None:
        self._stream = stream

    async def write(self, data: bytes | memoryview) -> None:
        """Send all of `data`; waits while the peer does not read.

        Raises:
            PeerUnreachable: the connection broke or the peer stopped the stream.
        """
        try:  # here and in `read` without `_mapped`, which takes longer than it looks
            await self._stream.write_all(data)  # type: ignore[arg-type]  # a view spares a copy
        except iroh.IrohError as error:
            raise _broken(error) from error

    async def write_frame(self, head: bytes, data: bytes | memoryview) -> None:
        """Send the head of a frame and what follows it, which is not copied.

        Raises:
            PeerUnreachable: as `write`.
        """
        await self.write(head)
        await self.write(data)

    def begin(self, data: bytes) -> bool:
        """Send `data` at once, without a task; False: not all of it yet, and `rest` comes before all else.

        Raises:
            PeerUnreachable: as `write`.
        """
        writing = self.write(data)
        try:
            self._begun = writing, writing.send(None)
        except StopIteration:
            return True
        return False

    async def rest(self) -> None:
        """Send the rest of what was begun, if there is any.

        Raises:
            PeerUnreachable: as `write`.
        """
        if self._begun is None:
            return
        (writing, news), self._begun = self._begun, None
        try:
            while True:
                await news
                news = writing.send(None)
        except StopIteration:
            pass
        finally:
            writing.close()

    async def first(self) -> None:
        """Send this stream's data before that of others."""
        with _mapped():
            await self._stream.set_priority(1)

    async def reset(self) -> None:
        """Give up the stream; what was not sent yet is dropped."""
        with contextlib.suppress(iroh.IrohError):
            await self._stream.reset(1)

    def end(self) -> None:
        """The connection has ended."""


class ReceiveStream:
    """The receiving end of a one-way stream."""

    block = BLOCK
    """Bytes to read at once where a frame begins."""
    broken = False
    """Whether it ended as no peer would end it: what the peer believes to have sent may be lost."""
    ahead: float = limits.RECEIVE_WINDOW
    """Bytes beyond those that were read that the peer may believe to have sent. `math.inf`: nobody knows how many, and
    the stream is never stopped: frames that the peer believes to have sent after this one would be lost."""

    def __init__(self, stream: iroh.RecvStream) -> None:
        self._stream = stream

    async def read(self, most: int) -> bytes:
        """The next bytes, at most `most`; empty at the end.

        Raises:
            PeerUnreachable: the connection broke or the peer reset the stream.
        """
        try:
            return await self._stream.read(most)
        except iroh.IrohError as error:
            raise _broken(error) from error

    async def read_exactly(self, size: int) -> bytes:
        """The next `size` bytes.

        Raises:
            PeerUnreachable: the stream ended before.
        """
        with _mapped():
            return await self._stream.read_exact(size)

    async def stop(self) -> None:
        """Tell the peer to send no more on this stream."""
        with contextlib.suppress(iroh.IrohError):
            await self._stream.stop(1)

    def close(self) -> None:
        """Nobody reads it any more."""

    def hold(self, window: int) -> None:
        """Let the peer send no more than about `window` bytes before they are read."""


class Connection:
    """An authenticated, encrypted connection to one peer.

    Attributes:
        peer: whom the other side proved to be.
        outgoing: whether this side dialled.
    """

    relay: PeerId | None = None
    """The peer inside whose connection its bytes travel; None: they come directly."""
    came_from = ""
    """Where the first packet of a peer that dialled came from; the paths may lead elsewhere by now."""

    def __init__(self, connection: iroh.Connection, outgoing: bool) -> None:
        self._connection = connection
        self.peer = PeerId(connection.remote_id().to_bytes())
        self.outgoing = outgoing
        connection.set_max_concurrent_bi_streams(0)
        connection.set_max_concurrent_uni_streams(limits.LANES + 1)
        connection.set_receive_window(limits.RECEIVE_WINDOW)

    def hold(self, window: int) -> None:
        """Let the peer send no more than `window` bytes before they are read."""
        self._connection.set_receive_window(window)

    async def open(self) -> SendStream:
        """A new stream to the peer, who sees it with its first byte."""
        with _mapped():
            return SendStream(await self._connection.open_uni())

    async def accept(self) -> ReceiveStream:
        """The next stream that the peer opened.

        Raises:
            PeerUnreachable: the connection is closed; the message says why.
        """
        with _mapped():
            return ReceiveStream(await self._connection.accept_uni())

    def path(self) -> PathInfo:
        """How the connection runs now."""
        paths = self._connection.paths()
        # at first none is selected, and of those that are tried some lead nowhere
        chosen = max(paths, key=lambda path: (path.is_selected, path.stats.udp_rx_bytes), default=None)
        return PathInfo(
            chosen.remote_addr if chosen is not None and chosen.is_ip else None,
            float(chosen.rtt_ms) if chosen is not None else 0.0,
            sum(path.stats.udp_rx_bytes for path in paths),
            sum(path.stats.udp_tx_bytes for path in paths),
        )

    @property
    def closed(self) -> bool:
        return self._connection.close_reason() is not None

    def close(self, reason: str) -> None:
        """End the connection at once; the peer is told the reason."""
        with contextlib.suppress(iroh.IrohError):
            self._connection.close(0, reason.encode()[:100])


class Incoming:
    """Somebody dials us, and has proved nothing yet."""

    def __init__(self, incoming: iroh.Incoming) -> None:
        self._incoming = incoming

    async def address(self) -> str:
        """Where the first packet came from."""
        address = await self._incoming.remote_addr()
        return str(getattr(address, "addr", None) or "")

    async def accept(self) -> Connection:
        """Shake hands.

        Raises:
            PeerUnreachable: the other side failed to.
        """
        came_from = await self.address()
        with _mapped():
            accepting = await self._incoming.accept()
            connection = Connection(await accepting.connect(), outgoing=False)
        connection.came_from = came_from
        return connection

    async def is_validated(self) -> bool:
        """Whether somebody at that address has answered us; the first packet may have come from anywhere."""
        return bool(await self._incoming.remote_addr_validated())

    async def ask_again(self) -> None:
        """Have it dial once more, with what we tell that address: nothing is kept here meanwhile."""
        with contextlib.suppress(iroh.IrohError):
            await self._incoming.retry()

    async def refuse(self) -> None:
        with contextlib.suppress(iroh.IrohError):
            await self._incoming.refuse()


class Endpoint:
    """One UDP port for all connections, dialled and accepted."""

    def __init__(self, endpoint: iroh.Endpoint) -> None:
        self._endpoint = endpoint

    @classmethod
    async def bind(cls, seed: bytes, listen: Sequence[str] = ANYWHERE) -> "Endpoint":
        """Open the sockets: `listen` has one "ip:port" for each family; port 0 picks a free one.

        A family that this PC does not have is left out, as long as another remains.

        Raises:
            PortInUse: another program has the port.
            NetworkError: an address cannot be used for another reason.
        """
        fast_binding.apply()
        heap.keep_small()
        failure: iroh.IrohError | None = None
        for addresses in (list(listen), list(listen[:1])):
            builder = iroh.EndpointBuilder()  # type: ignore[no-untyped-call]
            builder.apply_minimal()
            builder.secret_key(seed)
            builder.alpns([ALPN])
            builder.relay_mode(iroh.RelayMode.disabled())
            try:
                for address in addresses:
                    builder.bind_addr(address)
                return cls(await builder.bind())
            except iroh.IrohError as error:
                failure = error
        for address in listen:
            if _is_taken(address):
                raise PortInUse(notice("network.port_in_use", address=address)) from failure
        why = failure.message() if failure else ""
        raise NetworkError(notice("network.address_unusable", addresses=", ".join(listen), why=why)) from failure

    @property
    def sockets(self) -> list[str]:
        """The bound sockets: "ip:port"."""
        return list(self._endpoint.bound_sockets())

    def moved(self) -> tuple[int, int]:
        """Bytes received and sent since the start, with the headers of UDP and IPv4 (of what was sent, about)."""
        counters = {name: counter.value for name, counter in self._endpoint.stats().items()}
        received = counters.get("socket:recv_data_ipv4", 0) + counters.get("socket:recv_data_ipv6", 0)
        sent = counters.get("socket:send_ipv4", 0) + counters.get("socket:send_ipv6", 0)
        return received + PACKET_HEADERS * counters.get("socket:recv_datagrams", 0), int(sent * SENT_HEADERS)

    def addresses(self) -> list[str]:
        """Addresses of this PC's own interfaces."""
        return list(self._endpoint.addr().direct_addresses())

    async def dial(self, peer: PeerId, addresses: Sequence[str], deadline_s: float = limits.DIAL_S) -> Connection:
        """Connect to the peer at any of `addresses`; all are tried at once.

        Raises:
            PeerUnreachable: nobody with this key answered within the deadline.
        """
        try:
            with _mapped():
                target = iroh.EndpointAddr(iroh.EndpointId.from_bytes(peer), None, list(addresses))
                async with asyncio.timeout(deadline_s):
                    return Connection(await self._endpoint.connect(target, ALPN), outgoing=True)
        except TimeoutError as error:
            raise PeerUnreachable(
                f"Peer {peer.hex()[:8]} did not answer at {', '.join(addresses)} within {deadline_s:.0f} s."
            ) from error

    async def accept(self) -> Incoming | None:
        """The next one who dials us; None once the endpoint is closed."""
        with _mapped():
            incoming = await self._endpoint.accept_next()
        return None if incoming is None else Incoming(incoming)

    async def close(self) -> None:
        """Close every connection and socket. Peers are told at once; the silence of dead ones is not waited for."""
        with contextlib.suppress(iroh.IrohError, TimeoutError):
            async with asyncio.timeout(limits.CLOSE_S):
                await self._endpoint.close()
