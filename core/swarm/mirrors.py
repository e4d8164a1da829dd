"""Files by their hash from web servers that a run's manifest names.

A manifest is written by a stranger. So nothing that it names may have this PC knock at doors of its own network: only
public addresses are asked, as they are resolved here and now, and at ports of web servers; others only if the user has
named a peer there by hand. No more is read than the file has, nor for longer than it may take; a redirection is checked
like the first address, and what comes counts and is slowed as traffic with peers is.
"""

import asyncio
import contextlib
import http.client
import ipaddress
import logging
import re
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from core.contracts.errors import NetworkError
from core.net.shaping import Shaper
from core.swarm.fetching import Partial

log = logging.getLogger(__name__)

FILE_S, CONNECT_S = 60.0, 10.0
"""For one file, of 4 MB at most, from one server; what came by then stays. And for it to be reached."""
CHUNK = 64 << 10
REDIRECTED = (301, 302, 303, 307, 308)
MOST_REDIRECTIONS = 3
REST_S = 30.0, 3600.0
"""For which a server that failed is left alone: at first, and at most."""
RESTS = 256
"""Servers remembered."""
PORTS = (80, 443)
"""And all from 1024 up: none of another service that could be talked into something."""
FAULTS = (TimeoutError, NetworkError, http.client.HTTPException, ConnectionError, ssl.SSLError, ValueError)
"""Of a server; the last for an address that is none."""
AGENT, REQUEST = "hearth", 512
"""How a request names its sender, and about how many bytes it takes."""


class _Rest(NamedTuple):
    until: float
    next_s: float


class _Line(NamedTuple):
    socket: socket.socket
    host: str
    port: int


class Mirrors:
    """One for each PC."""

    def __init__(self, shaper: Shaper, by_hand: frozenset[str], hushed: Callable[[], bool]) -> None:
        """
        Args:
            shaper: how fast this PC may receive.
            by_hand: addresses of peers that the user has named.
            hushed: whether this PC may not use the network now.
        """
        self._shaper, self._by_hand, self._hushed = shaper, by_hand, hushed
        self.received = self.sent = 0
        """Bytes since the start."""
        self._rests: dict[str, _Rest] = {}

    async def fetch(self, sources: Sequence[str], sha256: str, file: Partial) -> None:
        """Put a file together from the first server that has it. What is there already is not fetched again.

        Args:
            sources: folders of servers.
            sha256: the file's hash, which is its name there.
            file: where it is put together.

        Raises:
            NetworkError: none gave it; what came so far stays.
            OSError: it cannot be written.
        """
        for source in sources:
            if (rest := self._rests.get(source)) and rest.until > time.monotonic():
                continue
            try:
                begun = file.offset
                await self._fetch_whole(f"{source.rstrip('/')}/{sha256}", file)
                if begun and file.digest.hexdigest() != sha256:  # what others gave was wrong, so it is not to blame
                    await asyncio.to_thread(file.begin_anew)
                    await self._fetch_whole(f"{source.rstrip('/')}/{sha256}", file)
                if file.digest.hexdigest() != sha256:
                    await asyncio.to_thread(file.begin_anew)
                    raise NetworkError("It gave something else.")
            except FAULTS as error:
                log.info("%s did not give the file %s: %s", source, sha256[:8], error or type(error).__name__)
                self._leave_alone(source)
            else:
                self._rests.pop(source, None)
                return
        raise NetworkError(f"No web server gave the file {sha256[:8]}.")

    def _leave_alone(self, source: str) -> None:
        rest = self._rests.pop(source, _Rest(0.0, REST_S[0]))
        self._rests[source] = _Rest(time.monotonic() + rest.next_s, min(2 * rest.next_s, REST_S[1]))
        while len(self._rests) > RESTS:
            del self._rests[next(iter(self._rests))]

    async def _fetch_whole(self, url: str, file: Partial) -> None:
        async with asyncio.timeout(FILE_S):
            await self._fetch_from(url, file)

    async def _fetch_from(self, url: str, file: Partial) -> None:
        """Follow redirections to the file, and read it."""
        for _ in range(1 + MOST_REDIRECTIONS):
            place = urlsplit(url)
            line = await self._connected(place)
            try:
                self.sent += REQUEST
                answer = await asyncio.to_thread(_asked, line, place, file.offset)
                if answer.status not in REDIRECTED:
                    await self._read(answer, file)
                    return
                url = urljoin(url, answer.headers.get("Location", ""))
                if place.scheme == "https" and urlsplit(url).scheme != "https":
                    raise NetworkError("It sends on to where nothing is encrypted.")
            finally:
                _hang_up(line)
        raise NetworkError("It sends on again and again.")

    async def _connected(self, place: SplitResult) -> "_Line":
        """A connection to one of the addresses that were checked, whatever the name resolves to a moment later.

        Raises:
            NetworkError: there is none that may be asked, or it cannot be reached.
            ValueError: the address is none.
        """
        host, port = place.hostname or "", place.port or (443 if place.scheme == "https" else 80)
        if place.scheme not in ("http", "https") or not host or not (port in PORTS or port >= 1024):
            raise NetworkError(f"{place.scheme}, port {port}, is nothing to fetch files from.")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise NetworkError(f"{host} is not known: {error}.") from error
        addresses = [str(address[0]) for *_, address in found]
        allowed = [address for address in addresses if address in self._by_hand or is_public(address)]
        if not allowed:
            raise NetworkError(f"{host} is in a private network, and none that the user has named a peer of.")
        try:
            return await asyncio.to_thread(_open, place.scheme, allowed[0], host, port)
        except OSError as error:
            raise NetworkError(f"{host} cannot be reached: {error}.") from error

    async def _read(self, answer: http.client.HTTPResponse, file: Partial) -> None:
        """Read what is left of the file, or all of it where the server cannot go on.

        Raises:
            NetworkError: it is not the file, or ends early.
        """
        if answer.status == 206:
            began = re.fullmatch(r"bytes (\d{1,12})-\d{1,12}/(\d{1,12}|\*)", answer.headers.get("Content-Range", ""))
            if not began or int(began[1]) != file.offset:
                raise NetworkError("It gives another part than was asked for.")
        elif answer.status == 200:
            if file.offset:
                await asyncio.to_thread(file.begin_anew)
        else:
            raise NetworkError(f"It answers {answer.status}.")
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise NetworkError("It gives the file in another encoding.")
        if answer.length is not None and answer.length != file.size - file.offset:
            raise NetworkError(f"It gives {answer.length} bytes, not {file.size - file.offset}.")
        while file.offset < file.size:
            if self._hushed():
                raise NetworkError("This PC may not use the network any more.")
            data = await asyncio.to_thread(answer.read1, min(CHUNK, file.size - file.offset))
            if not data:
                raise NetworkError("It ended too early.")
            self.received += len(data)
            await asyncio.to_thread(file.add, data)
            await self._shaper.received(len(data), large=True)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public Internet; what may lead back to a private one by a detour is not.

    Args:
        address: as text.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip not in GLOBAL or ip.sixtofour or ip.teredo:
            return False
    return ip.is_global and not ip.is_multicast


GLOBAL = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses that anybody was ever given: not those of a site, nor those that stand for IPv4 ones."""


def _open(scheme: str, address: str, host: str, port: int) -> _Line:
    made = socket.create_connection((address, port), CONNECT_S)
    try:
        if scheme == "https":
            made = ssl.create_default_context().wrap_socket(made, server_hostname=host)
    except OSError:
        made.close()
        raise
    return _Line(made, host, port)


def _asked(line: _Line, place: SplitResult, offset: int) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(line.host, line.port)
    connection.sock = line.socket
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity", "Connection": "close"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


def _hang_up(line: _Line) -> None:
    """Also under a thread that still waits for it."""
    with contextlib.suppress(OSError):
        line.socket.shutdown(socket.SHUT_RDWR)
    line.socket.close()
