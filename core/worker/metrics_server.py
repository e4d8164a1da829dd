"""An HTTP server for Prometheus. The library's own waits for ever, in a thread for each, for who connects and says
nothing."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

AT_ONCE = 8
"""Requests; with a further one the oldest ends. So who opens many keeps nobody out who asks and reads at once."""
END_S = 1.0
"""For that to happen."""
LONGEST_S = 10.0
"""For a request and its answer."""
HEAD_BYTES = 16 << 10
"""Of a request; what follows is not read."""


class MetricsServer(socketserver.ThreadingMixIn, WSGIServer):
    """Use as `with MetricsServer(...)`; serves in a thread of its own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, app: Callable[..., Any]) -> None:
        """Listen.

        Args:
            host: address of an interface.
            port: the port there.
            app: answers (WSGI).

        Raises:
            OSError, OverflowError: it cannot.
        """
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._since: dict[socket.socket, float] = {}
        """When each request that is under way began, the oldest first."""
        self._slots = threading.Semaphore(2 * AT_ONCE)
        """Also of those that are just ending."""
        super().__init__((host, port), _Handler)
        self.set_app(app)
        self._thread = threading.Thread(target=self.serve_forever, name="metrics", daemon=True)

    def __enter__(self) -> "MetricsServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    # what replaces the library's

    def process_request(self, request: Any, client_address: Any) -> None:
        for one in [*self._since.copy()][: 1 - AT_ONCE]:
            _end(one)
        if not self._slots.acquire(timeout=END_S):  # they wait for figures, and not for who asked
            super().shutdown_request(request)
            return
        self._since[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._since.pop(request, None)
        self._slots.release()
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called twice a second."""
        for request, began in self._since.copy().items():
            if time.monotonic() - began > LONGEST_S:
                _end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has gone."""


def _end(request: socket.socket) -> None:
    """Its thread waits for it no more."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(WSGIRequestHandler):
    def setup(self) -> None:
        super().setup()
        self._head, self._left = self.rfile.readline, HEAD_BYTES
        self.rfile.readline = self._readline  # type: ignore[method-assign]

    def _readline(self, size: int | None = -1) -> bytes:
        line = self._head(min(self._left, size if size is not None and size >= 0 else self._left))
        self._left -= len(line)
        return line

    def log_message(self, *_: Any) -> None:
        """Nothing is logged of requests."""
