"""A server with a thread for each request, and few of them: the library's own waits for ever for who connects and says
nothing."""

import contextlib
import socket
import socketserver
import threading
import time
from typing import Any

AT_ONCE = 8
"""Requests; with a further one the oldest ends. So who opens many keeps nobody out who asks and reads at once."""
END_S = 1.0
"""For that to happen."""
LONGEST_S = 10.0
"""For a request and its answer."""


class FewAtOnce(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Use as `with FewAtOnce(...)`, mixed into the library's; serves in a thread of its own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, handler: type[socketserver.BaseRequestHandler]) -> None:
        """Listen.

        Args:
            host: address of an interface.
            port: the port there.
            handler: answers a request.

        Raises:
            OSError, OverflowError: it cannot.
        """
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._since: dict[socket.socket, float] = {}
        """When each request that is under way began, the oldest first."""
        self._slots = threading.Semaphore(2 * AT_ONCE)
        """Also of those that are just ending, or may take long."""
        super().__init__((host, port), handler)
        self._thread = threading.Thread(target=self.serve_forever, name=type(self).__name__, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def may_take_long(self, request: socket.socket) -> None:
        """Let a request end when it ends; the caller sees to it that there are no more than `AT_ONCE`."""
        self._since.pop(request, None)

    # what replaces the library's

    def process_request(self, request: Any, client_address: Any) -> None:
        for one in [*self._since.copy()][: 1 - AT_ONCE]:
            end(one)
        if not self._slots.acquire(timeout=END_S):  # they wait for answers, and not for who asked
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
                end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has gone."""


def end(request: socket.socket) -> None:
    """Its thread waits for it no more."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
