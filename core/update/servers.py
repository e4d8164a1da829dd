"""Web servers that updates and packs come from: none holds this PC up, whatever it does.

Sockets have a time-out for each read, so that a server could keep a check waiting by one byte at a time.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

CHUNK = 64 << 10
QUIET_S = 30.0
"""A server that says nothing for so long is given up, as is one whose answer has not begun by then, ..."""
LEAST = 30_000
"""... and one that gives fewer bytes in that time."""


class _Connection(HTTPConnection):
    asked: socket.socket | None = None
    """By which the last request went: an answer may be read from it when `sock` is gone already."""

    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]  # as urllib3 itself
        self.asked = self.sock
        with _within(self.asked):
            return super().getresponse()


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


@contextlib.contextmanager
def _within(asked: socket.socket | None) -> Iterator[None]:
    """Within it something is read to its end in time, or the connection is cut.

    Raises:
        HTTPError: it was cut.
    """
    late = threading.Event()

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError):
            if asked is not None:
                asked.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(QUIET_S, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            raise urllib3.exceptions.HTTPError(f"it kept us waiting for {QUIET_S:.0f} s")


def connections(retries: urllib3.Retry | bool = False) -> urllib3.PoolManager:
    """Connections to web servers that end with the `with` statement.

    Args:
        retries: how often a request is tried again; False: never.
    """
    pool = urllib3.PoolManager(timeout=QUIET_S, headers={"User-Agent": "hearth"}, retries=retries)
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}
    return pool


def pieces(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """What a server gives, as it comes.

    Args:
        answer: its answer, of which nothing was read yet.

    Raises:
        HTTPError: it breaks off, or is too slow.
    """
    until, size, asked = None, 0, getattr(answer.connection, "asked", None)
    while piece := _next(answer, asked):
        yield piece
        now, size = time.monotonic(), size + len(piece)
        if until is None or now > until:
            if until is not None and size < LEAST:
                raise urllib3.exceptions.HTTPError(f"it gave {size:,} bytes in {QUIET_S:.0f} s")
            until, size = now + QUIET_S, 0


def _next(answer: urllib3.BaseHTTPResponse, asked: socket.socket | None) -> bytes:
    with _within(asked):  # lengths of chunks may drip, too
        return answer.read1(CHUNK, decode_content=False)
